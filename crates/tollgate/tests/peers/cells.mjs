// Makes the calls of a plan with one of the official TypeScript clients and prints a line of JSON
// for each.
//
// usage: cells.mjs PEERS v1|v2 PLAN URL
//        cells.mjs PEERS v1|v2 PLAN COMMAND [ARGUMENT ...]
//
// The plan is what `cells.py` describes.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [peers, sdk, plan, ...words] = process.argv.slice(2);
const require = createRequire(`${peers}/`);

const info = { name: 'mcp-client', version: '1.0.0' };
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
let asked = [];
let progress = [];
const answers = {
    'sampling/createMessage': ({ params }) => {
        asked.push('sampling');
        const text = `sampled: ${params.messages[0].content.text}`;
        return { role: 'assistant', content: { type: 'text', text }, model: 'none' };
    },
    'elicitation/create': ({ params }) => {
        // A question for consent is dismissed, as clients do that nobody looks at.
        if ('decision' in params.requestedSchema.properties) {
            asked.push('consent');
            return { action: 'decline' };
        }
        asked.push('elicitation');
        return { action: 'accept', content: { name: 'Ada' } };
    },
    'roots/list': () => {
        asked.push('roots');
        return { roots: [{ uri: 'file:///matrix', name: 'matrix' }] };
    },
};

// What the two libraries name differently.
const versions = {
    v1: () => {
        const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
        const http = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
        const types = require('@modelcontextprotocol/sdk/types.js');
        const schemas = {
            'sampling/createMessage': types.CreateMessageRequestSchema,
            'elicitation/create': types.ElicitRequestSchema,
            'roots/list': types.ListRootsRequestSchema,
        };
        const client = new Client(info, { capabilities });
        return {
            client,
            StdioClientTransport,
            HttpTransport: http.StreamableHTTPClientTransport,
            handle: (method, answer) => client.setRequestHandler(schemas[method], answer),
            hear: act => client.setNotificationHandler(types.ProgressNotificationSchema, act),
            // Of a list in pages this library knows the tools of the last one only.
            list: async () => {
                const tools = [];
                let cursor;
                do {
                    const page = await client.listTools(cursor && { cursor });
                    tools.push(...page.tools);
                    cursor = page.nextCursor;
                } while (cursor);
                client.cacheToolMetadata(tools);
                return tools;
            },
            call: (params, options) => client.callTool(params, undefined, options),
        };
    },
    v2: () => {
        const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
        const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
        const client = new Client(info, { capabilities, versionNegotiation: { mode: 'auto' } });
        return {
            client,
            StdioClientTransport,
            HttpTransport: StreamableHTTPClientTransport,
            handle: (method, answer) => client.setRequestHandler(method, answer),
            hear: act => client.setNotificationHandler('notifications/progress', act),
            list: async () => (await client.listTools(undefined, { cacheMode: 'refresh' })).tools,
            call: (params, options) => client.callTool(params, options),
        };
    },
};

const { client, StdioClientTransport, HttpTransport, handle, hear, list, call } = versions[sdk]();
for (const [method, answer] of Object.entries(answers)) handle(method, async it => answer(it));
const transport = words[0].startsWith('http')
    ? new HttpTransport(new URL(words[0]))
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });
let version;
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = negotiated => {
    version = negotiated;
    told?.(negotiated);
};
await client.connect(transport);

// The client forgets a token as soon as it reads the answer, and with it whatever progress came
// in the same breath; a handler of our own hears all of it.
let began = () => {};
hear(async ({ params }) => {
    progress.push([params.progress, params.total]);
    began();
});

// Servers behind the gateway start on their own, and their tools are listed once they run. After
// that the client validates what it gets.
const cells = JSON.parse(readFileSync(plan, 'utf8'));
const wanted = cells.flatMap(({ through, tool }) => (through ? ['tools.call', tool] : [tool]));
const names = {};
while (!wanted.every(name => name in names)) {
    for (const tool of await list()) names[tool._meta?.['tollgate/name'] ?? tool.name] = tool.name;
    await new Promise(resolve => setTimeout(resolve, 100));
}

// How often a server has been told to cancel something.
const cancelled = file => readFileSync(file, 'utf8').split('notifications/cancelled').length - 1;
const pause = () => new Promise(resolve => setTimeout(resolve, 20));

async function make({ tool, arguments: given, through, cancel, read }) {
    const params = through
        ? { name: names['tools.call'], arguments: { name: tool, arguments: given } }
        : { name: names[tool], arguments: given };
    const stop = new AbortController();
    const before = cancel ? cancelled(cancel) : 0;
    if (cancel) began = () => stop.abort('enough');
    let result;
    try {
        result = await call(params, { onprogress: () => {}, signal: stop.signal });
    } catch (error) {
        if (!stop.signal.aborted) throw error;
        // A gateway whose client leaves at once ends the server instead.
        while (cancelled(cancel) === before) await pause();
        return { cancelled: true };
    } finally {
        began = () => {};
    }
    const saw = { result };
    if (read) {
        saw.read = [];
        for (const { type, uri } of result.content) {
            if (type !== 'resource_link') continue;
            saw.read.push((await client.readResource({ uri })).contents[0].text);
        }
    }
    return saw;
}

console.log(JSON.stringify({ version }));
for (const cell of cells) {
    [asked, progress] = [[], []];
    const saw = await make(cell).catch(error => ({ thrown: `${error}` }));
    console.log(JSON.stringify({ ...saw, id: cell.id, asked, progress }));
}
await client.close();
process.exit(0);
