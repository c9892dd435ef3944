// Drives a server with the official TypeScript client and prints what it saw, as JSON.
//
// usage: client.mjs PEERS auto|default URL
//        client.mjs PEERS auto|default COMMAND [ARGUMENT ...]

import { createRequire } from 'node:module';

const [peers, mode, ...words] = process.argv.slice(2);
const require = createRequire(`${peers}/`);
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const transport = words[0].startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(words[0]))
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });

const client = new Client(
    { name: 'mcp-client', version: '1.0.0' },
    {
        capabilities: { elicitation: {} },
        ...(mode === 'auto' ? { versionNegotiation: { mode } } : {}),
    },
);
client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: { name: 'Alice' },
}));

const fails = attempt => attempt.then(() => null, error => error.code);
const sorted = (items, key) => items.map(item => item[key]).sort();
const saw = {};

await client.connect(transport);
saw.version = client.getNegotiatedProtocolVersion();
saw.server = client.getServerVersion().name;
saw.tools = sorted((await client.listTools()).tools, 'name');

const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
const stats = await call('text.stats', { text: 'hello' });
saw.stats = stats.structuredContent;
saw.stats_text = JSON.parse(stats.content[0].text);
const wrong = await call('text.stats', { txet: 'hello' });
saw.wrong = { is_error: wrong.isError, error: JSON.parse(wrong.content[0].text) };
saw.unknown_tool = await fails(call('no.such_tool', {}));

// The client forgets a token as soon as it reads the answer, and with it whatever progress
// came in the same breath; a handler of our own hears all of it. The option still has to be
// there, because it makes the client send a token.
saw.progress = [];
client.setNotificationHandler('notifications/progress', async ({ params }) => {
    saw.progress.push([params.progress, params.total]);
});
await call('test_tool_with_progress', {}, { onprogress: () => {} });
saw.logged = [];
client.setNotificationHandler('notifications/message', async ({ params }) => {
    saw.logged.push(params.data);
});
await client.callTool({
    name: 'test_logging_tool',
    arguments: {},
    _meta: { 'io.modelcontextprotocol/logLevel': 'info' },
});
saw.asked = (await call('test_input_required_result_elicitation', {})).content[0].text;
saw.image = (await call('test_image_content', {})).content[0].mimeType;

saw.resources = sorted((await client.listResources()).resources, 'uri');
const read = await client.readResource({ uri: 'test://template/7/data' });
saw.read = JSON.parse(read.contents[0].text);
saw.unknown_resource = await fails(client.readResource({ uri: 'test://nowhere' }));
saw.prompts = sorted((await client.listPrompts()).prompts, 'name');
const prompt = await client.getPrompt({
    name: 'test_prompt_with_arguments',
    arguments: { arg1: 'one', arg2: 'two' },
});
saw.prompt = prompt.messages[0].content.text;

const watched = 'test://watched-resource';
saw.told = [];
for (const kind of ['resources/updated', 'tools/list_changed']) {
    client.setNotificationHandler(`notifications/${kind}`, async () => {
        if (!saw.told.includes(kind)) saw.told.push(kind);
    });
}
// The newer version has one stream for all changes, the older tells of lists unasked.
const subscription = saw.version >= '2026'
    ? await client.listen({ toolsListChanged: true, resourceSubscriptions: [watched] })
    : await client.subscribeResource({ uri: watched }).then(() => undefined);
setTimeout(() => {
    console.error(`only ${JSON.stringify(saw.told)} was told`);
    process.exit(1);
}, 20_000).unref();
const pause = () => new Promise(resolve => setTimeout(resolve, 50));
while (saw.told.length < 1) {
    await call('test_trigger_resource_update', {});
    await pause();
}
await call('test_trigger_tool_change', {});
while (saw.told.length < 2) await pause();
const names = (await client.listTools()).tools.map(tool => tool.name);
saw.changed = names.includes('test_changing_tool');
await subscription?.close();
await client.close();

console.log(JSON.stringify(saw));
process.exit(0);
