// slack.js: Slack's own client for Node answers what it hears, over Socket Mode.
const { SocketModeClient } = require('@slack/socket-mode');
const { WebClient } = require('@slack/web-api');
const slackApiUrl = process.env.SLACK_API;
const web = new WebClient(process.env.SLACK_BOT_TOKEN, { slackApiUrl });
const client = new SocketModeClient({ appToken: process.env.SLACK_APP_TOKEN, clientOptions: { slackApiUrl } });
client.on('connected', () => console.log('connected'));
client.on('message', async ({ event, ack }) => {
  await ack();
  if (event.bot_id || event.subtype) return;
  await web.chat.postMessage({ channel: event.channel, thread_ts: event.ts, text: 're: ' + event.text, metadata: { event_type: 'tri_reply', event_payload: { key: 'k' } } });
});
client.start();
