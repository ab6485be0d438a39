// mcp_ways.mjs - a client of the Model Context Protocol by hand, in both eras and over both
// transports, behind one interface:
//
//     const client = await openClient({ era: 'modern', transport: 'stdio' }, server, token);
//     await client.request(method, params)   the result; throws on an error of the protocol
//     await client.tool(name, args)          structured content; throws when the tool failed
//     client.begin(method, params)           {id, done, cancel()}: a request under way
//     client.notes                           notifications that came, in order
//     await client.close(), client.kill()
import assert from 'node:assert/strict';
import http from 'node:http';
import { Bridge, MODERN, meta } from './mcp_stdio.mjs';

const LEGACY = '2025-11-25';
export const WAYS = ['legacy', 'modern'].flatMap((era) =>
    ['HTTP', 'stdio'].map((transport) => ({ era, transport, name: `${era} over ${transport}` })));

export async function openClient({ era, transport }, server, token = server.token) {
    const line = transport === 'HTTP' ? new Posts(server, token) : new Lines(server, token);
    const client = new Client(era, line);
    try {
        await greet(client, line);
        return client;
    } catch (error) {
        await client.close();
        throw error;
    }
}

async function greet(client, line) {
    if (client.era === 'legacy') {
        client.about = await client.request('initialize', { protocolVersion: LEGACY,
            capabilities: {}, clientInfo: { name: 'test', version: '1' } });
        line.opened?.(client.about.protocolVersion);
        await line.send({ jsonrpc: '2.0', method: 'notifications/initialized' }).done;
    } else {
        client.about = await client.request('server/discover', {});
    }
}

export class ProtocolError extends Error {
    constructor(error) {
        super(`${error.code}: ${error.message}`);
        this.code = error.code;
        this.data = error.data;
    }
}

class Client {
    constructor(era, line) {
        this.era = era;
        this.line = line;
        this.notes = [];
        line.onNote = (note) => this.notes.push(note);
        this.lastId = 0;
    }

    begin(method, params = {}) {
        const id = ++this.lastId;
        const own = this.era === 'modern' ? { ...params, _meta: meta(params._meta) } : params;
        const { done, cancel } = this.line.send({ jsonrpc: '2.0', id, method, params: own });
        const result = done.then((answer) => {
            if (answer?.error) throw new ProtocolError(answer.error);
            return answer?.result;
        });
        result.catch(() => {});
        return { id, done: result, cancel };
    }

    request(method, params) {
        return this.begin(method, params).done;
    }

    beginTool(name, args, _meta) {
        const params = { name, arguments: args, ...(_meta ? { _meta } : {}) };
        const { done, ...rest } = this.begin('tools/call', params);
        const content = done.then((result) => {
            assert.notEqual(result.isError, true, JSON.stringify(result.content));
            return result.structuredContent;
        });
        content.catch(() => {});
        return { done: content, ...rest };
    }

    tool(name, args, _meta) {
        return this.beginTool(name, args, _meta).done;
    }

    close() {
        return this.line.close();
    }

    // As if the client were killed: nothing under way is waited for.
    kill() {
        this.line.kill();
    }
}

// Over `drover mcp`.
class Lines {
    constructor({ url }, token) {
        this.bridge = new Bridge(['--url', url], { DROVER_TOKEN: token });
    }

    set onNote(take) {
        this.bridge.onNote = take;
    }

    send(message) {
        const { bridge } = this;
        bridge.write(`${JSON.stringify(message)}\n`);
        if (message.id === undefined) return { done: Promise.resolve() };
        const cancel = () => bridge.send({ method: 'notifications/cancelled',
            params: { requestId: message.id } });
        return { done: bridge.response(message.id), cancel };
    }

    close() {
        return this.bridge.close();
    }

    kill() {
        this.bridge.child.kill('SIGKILL');
    }
}

// Over HTTP: a request for each message.
class Posts {
    constructor({ url }, token) {
        this.url = new URL(`${url}/mcp`);
        this.token = token;
        this.agent = new http.Agent({ keepAlive: true });
        this.own = {};
    }

    opened(version) {
        this.own = { 'mcp-protocol-version': version, 'mcp-session-id': this.session };
    }

    headersOf({ method, params }) {
        const named = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri',
            'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' }[method];
        const modern = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
        if (!modern) return this.own;
        return { 'mcp-protocol-version': MODERN, 'mcp-method': method,
            ...(named ? { 'mcp-name': params[named] } : {}) };
    }

    send(message) {
        const own = Object.entries(this.headersOf(message)).filter(([, value]) => value);
        const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json',
            accept: 'application/json, text/event-stream', ...Object.fromEntries(own) };
        let req;
        const done = new Promise((resolve, reject) => {
            req = http.request(this.url, { method: 'POST', headers, agent: this.agent }, (res) =>
                this.take(res, message).then(resolve, reject));
            req.on('error', reject);
            req.end(JSON.stringify(message));
        });
        return { done, cancel: () => req.destroy() };
    }

    async take(res, { id }) {
        this.session ??= res.headers['mcp-session-id'];
        const streams = /^text\/event-stream/.test(res.headers['content-type']);
        let text = '', answer;
        for await (const part of res.setEncoding('utf8')) {
            text += part;
            for (let end; streams && (end = text.indexOf('\n\n')) >= 0;
                text = text.slice(end + 2)) {
                const data = text.slice(0, end).split('\n').filter((line) => /^data:/.test(line));
                if (data.length === 0) continue;
                const message = JSON.parse(data.map((line) => line.slice(5)).join('\n'));
                if (message.method) this.onNote(message);
                else answer = message;
            }
        }
        if (streams) return answer ?? assert.fail('the stream ended before the answer');
        if (id === undefined) return assert.equal(res.statusCode, 202, text);
        const parsed = JSON.parse(text);
        assert.equal(parsed.jsonrpc, '2.0', `${res.statusCode} ${text}`);
        return parsed;
    }

    close() {
        this.agent.destroy();
    }

    kill() {
        this.agent.destroy();
    }
}
