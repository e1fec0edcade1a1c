// lark.js: Lark's own client for Node answers what it hears, over the long
// connection.
const lark = require('@larksuiteoapi/node-sdk');
const app = { appId: process.env.LARK_APP_ID, appSecret: process.env.LARK_APP_SECRET, domain: process.env.LARK_API, loggerLevel: lark.LoggerLevel.error };
const client = new lark.Client(app);
const eventDispatcher = new lark.EventDispatcher({ loggerLevel: lark.LoggerLevel.error }).register({
  'im.message.receive_v1': async ({ message }) => {
    const content = JSON.stringify({ text: 're: ' + JSON.parse(message.content).text });
    await client.im.message.reply({ path: { message_id: message.message_id }, data: { content, msg_type: 'text', reply_in_thread: true, uuid: 'k' } });
  },
});
new lark.WSClient(app).start({ eventDispatcher });
