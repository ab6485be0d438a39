// clients.mjs - the official clients of the Model Context Protocol, each over HTTP and over stdio
// (`drover mcp`), behind one interface:
//
//     const client = await CLIENTS[name](server, token);
//     await client.tools()               the tools that it sees
//     await client.call(tool, args)      what the tool returns as structured content
//     await client.close()
//
// SDK clients also have `sdk`, the client itself, and take {onprogress, signal, timeout} as a third
// argument of call().
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, makeDirectory, plainEnv } from '../../e2e/lib/server.mjs';
import { load, programOf } from './packages.mjs';

export const MODERN = '2026-07-28';
const ABOUT = { name: 'drover-test', version: '1.0.0' };

// An SDK throws on an error of the protocol; a tool's own error is in the result.
function wrap(sdk) {
    return {
        sdk,
        tools: async () => (await sdk.listTools()).tools,
        call: (name, args, options) => callTool(sdk, name, args, options),
        close: () => sdk.close(),
    };
}

async function callTool(sdk, name, args, options) {
    const params = { name, arguments: args };
    const result = await (sdk.isOlder ? sdk.callTool(params, undefined, options)
        : sdk.callTool(params, options));
    assert.notEqual(result.isError, true, JSON.stringify(result.content));
    return result.structuredContent;
}

const stdioOf = ({ url }, token) =>
    ({ command: BIN, args: ['mcp', '--url', url], env: plainEnv({ DROVER_TOKEN: token }) });
const httpOf = ({ url }, token) => [new URL(`${url}/mcp`),
    { requestInit: { headers: { authorization: `Bearer ${token}` } } }];

// The versions before 2026-07-28.
async function older(transport) {
    const { Client } = await load('sdk', 'dist/esm/client/index.js');
    const sdk = new Client(ABOUT, { capabilities: {} });
    sdk.isOlder = true;
    await sdk.connect(transport);
    return wrap(sdk);
}

async function newer(transport, mode) {
    const { Client } = await load('client', 'dist/index.mjs');
    const sdk = new Client(ABOUT, { capabilities: {}, versionNegotiation: { mode } });
    await sdk.connect(transport);
    return wrap(sdk);
}

async function olderHttp(server, token) {
    const { StreamableHTTPClientTransport: Http } =
        await load('sdk', 'dist/esm/client/streamableHttp.js');
    return older(new Http(...httpOf(server, token)));
}
async function olderStdio(server, token) {
    const { StdioClientTransport: Stdio } = await load('sdk', 'dist/esm/client/stdio.js');
    return older(new Stdio(stdioOf(server, token)));
}
async function newerHttp(server, token, mode = { pin: MODERN }) {
    const { StreamableHTTPClientTransport: Http } = await load('client', 'dist/index.mjs');
    return newer(new Http(...httpOf(server, token)), mode);
}
async function newerStdio(server, token, mode = { pin: MODERN }) {
    const { StdioClientTransport: Stdio } = await load('client', 'dist/stdio.mjs');
    return newer(new Stdio(stdioOf(server, token)), mode);
}

// The inspector: a process for every call, configured by a file.
function inspector(era, transport) {
    return async (server, token) => {
        const file = join(makeDirectory(), 'mcp.json');
        const { command, args, env } = stdioOf(server, token);
        const at = transport === 'stdio'
            ? { type: 'stdio', command, args, env: { DROVER_TOKEN: env.DROVER_TOKEN } }
            : { type: 'streamable-http', url: `${server.url}/mcp`,
                headers: { Authorization: `Bearer ${token}` } };
        const drover = { ...at, protocolEra: era };
        writeFileSync(file, JSON.stringify({ mcpServers: { drover } }));
        const ask = (...words) => inspect(['--config', file, '--server', 'drover',
            '--stored-auth-only', '--format', 'json', ...words]);
        return {
            tools: async () => (await ask('--method', 'tools/list')).tools,
            call: async (name, values) => (await ask('--method', 'tools/call', '--tool-name', name,
                '--tool-args-json', JSON.stringify(values))).structuredContent,
            close() {},
        };
    };
}

function inspect(words) {
    const args = [programOf('inspector'), '--cli', ...words];
    return new Promise((resolve, reject) => {
        execFile(process.execPath, args, { env: plainEnv({ HOME: makeDirectory() }) },
            (error, out, err) => {
                if (error) reject(new Error(`inspector ${words.join(' ')}: ${out} ${err}`));
                else resolve(JSON.parse(out).result);
            });
    });
}

export const CLIENTS = {
    'SDK 1 over HTTP': olderHttp,
    'SDK 1 over stdio': olderStdio,
    'SDK 2 over HTTP': newerHttp,
    'SDK 2 over stdio': newerStdio,
    'SDK 2 over HTTP, which asks for the version': (server, token) =>
        newerHttp(server, token, 'auto'),
    'SDK 2 over stdio, which asks for the version': (server, token) =>
        newerStdio(server, token, 'auto'),
    'the inspector over HTTP': inspector('legacy', 'http'),
    'the inspector over HTTP, 2026-07-28': inspector('modern', 'http'),
    'the inspector over stdio': inspector('legacy', 'stdio'),
    'the inspector over stdio, 2026-07-28': inspector('modern', 'stdio'),
};
