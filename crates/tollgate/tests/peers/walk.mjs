// Walks a guided session with the official TypeScript client and prints each answer, as JSON.
//
// usage: walk.mjs PEERS begin QUESTION STEP ... -- URL|COMMAND ...
//        walk.mjs PEERS SESSION_ID STEP ... -- URL|COMMAND ...
//
// A step is the id of an option, or `=` and the user's own words.

import { createRequire } from 'node:module';

const [peers, ...words] = process.argv.slice(2);
const border = words.indexOf('--');
const server = words.slice(border + 1);
let [session, ...steps] = words.slice(0, border);
const require = createRequire(`${peers}/`);
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const transport = server[0].startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(server[0]))
    : new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env });
const client = new Client({ name: 'mcp-client', version: '1.0.0' });
await client.connect(transport);

const answers = [];
const call = async (name, args) => {
    const { content, structuredContent } = await client.callTool({ name, arguments: args });
    answers.push(structuredContent ?? JSON.parse(content[0].text));
    return answers.at(-1);
};
if (session === 'begin') {
    const question = steps.shift();
    session = (await call('initiate_session', { user_query: question })).session_id;
}
for (const step of steps) {
    const given = step.startsWith('=')
        ? { selected_option_id: 'provide_more_info', user_input: step.slice(1) }
        : { selected_option_id: step };
    await call('navigate_session', { session_id: session, ...given });
}
await client.close();
console.log(JSON.stringify({ session, answers }));
process.exit(0);
