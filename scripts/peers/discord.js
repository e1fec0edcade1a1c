// discord.js URL TOKEN: a bot of the official library, driven by lines of JSON on
// standard input, which says on standard output what it hears and what came of it.
const { Client, GatewayIntentBits, Partials, ButtonBuilder, ButtonStyle, ActionRowBuilder, MessageFlags } = require('discord.js');
const [url, token] = process.argv.slice(2);
const say = (kind, data) => console.log(JSON.stringify({ kind, ...data }));
const I = GatewayIntentBits;
const bot = new Client({
  intents: [I.Guilds, I.GuildMessages, I.GuildMessageReactions, I.MessageContent],
  partials: [Partials.Message, Partials.Channel, Partials.Reaction], rest: { api: url + '/api' },
});
const told = m => ({ id: m.id, text: m.content, place: m.channelId, thread: !!m.channel?.isThread?.(), parent: m.channel?.parentId ?? '', who: m.author?.username ?? '',
  bot: !!m.author?.bot, reply: m.reference?.messageId ?? '', called: m.mentions.users.has(bot.user.id), files: m.attachments.map(a => a.name), edited: !!m.editedTimestamp });
bot.on('clientReady', () => say('ready', { id: bot.user.id, places: bot.channels.cache.map(c => c.name) }));
bot.on('messageCreate', m => say('message', told(m)));
bot.on('messageUpdate', (_, m) => say('edit', told(m)));
bot.on('messageDelete', m => say('deleted', { id: m.id }));
bot.on('messageDeleteBulk', ms => say('bulk', { ids: [...ms.keys()] }));
bot.on('threadCreate', t => say('thread', { id: t.id, parent: t.parentId, text: t.name }));
bot.on('shardResume', (_, n) => say('resumed', { n }));
bot.on('interactionCreate', async i => { await i.deferUpdate(); say('click', { id: i.id, text: i.customId, who: i.user.username }); });
bot.on('error', e => say('error', { text: String(e) }));
const at = id => bot.channels.fetch(id);
const verbs = {
  async post({ place, text, nonce, reply }) {
    const m = await (await at(place)).send({ content: text, nonce, enforceNonce: !!nonce, allowedMentions: { parse: [] }, flags: MessageFlags.SuppressEmbeds,
      reply: reply ? { messageReference: reply } : undefined });
    return { id: m.id };
  },
  async card({ place, text }) {
    const row = new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId('approve:1').setLabel('Approve').setStyle(ButtonStyle.Primary));
    return { id: (await (await at(place)).send({ content: text, components: [row] })).id };
  },
  async thread({ place, id, text }) { return { id: (await (await (await at(place)).messages.fetch(id)).startThread({ name: text })).id }; },
  async edit({ place, id, text }) { return { text: (await (await (await at(place)).messages.fetch(id)).edit(text)).content }; },
  async react({ place, id, text }) { await (await (await at(place)).messages.fetch(id)).react(text); return {}; },
  async typing({ place }) { await (await at(place)).sendTyping(); return {}; },
  async history({ place, after }) { return { ids: [...(await (await at(place)).messages.fetch({ after, limit: 100 })).keys()].reverse() }; },
  async active({ place }) { return { ids: [...(await (await at(place)).threads.fetchActive()).threads.keys()] }; },
  async archived({ place }) { return { ids: [...(await (await at(place)).threads.fetchArchived()).threads.keys()] }; },
  async end() { await bot.destroy(); process.exit(0); },
};
require('readline').createInterface({ input: process.stdin }).on('line', async line => {
  const ask = JSON.parse(line);
  try { say('did', { text: '', ...(await verbs[ask.do](ask)) }); } catch (e) { say('failed', { text: String(e), n: e.code ?? 0 }); }
});
bot.login(token).catch(e => { say('failed', { text: String(e) }); process.exit(1); });
