// mcp.mjs - a client of the Model Context Protocol by hand, of either era.
//
//     const mcp = await Mcp.open(server, { era: 'legacy', token, can: { elicitation: {} } });
//     const { structuredContent } = await mcp.call('list_tasks', { limit: 1 });
import assert from 'node:assert/strict';
import http from 'node:http';
import { request } from './http.mjs';
import { PATIENCE_MS, within } from './wait.mjs';

export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';
export const TASKS = 'io.modelcontextprotocol/tasks';
const META = 'io.modelcontextprotocol/';
const NAMES = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri',
    'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' };

export class Mcp {
    // can: the client's capabilities.
    static async open(server, { era = 'modern', token = server.token, can = {} } = {}) {
        const mcp = new Mcp();
        Object.assign(mcp, { server, era, token, can, next: 1 });
        if (era === 'legacy') await mcp.initialize();
        return mcp;
    }

    async initialize(version = LEGACY) {
        const res = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize',
            params: { protocolVersion: version, capabilities: this.can,
                clientInfo: { name: 'test', version: '1' } } });
        assert.equal(res.status, 200, res.text);
        this.session = res.headers['mcp-session-id'];
        this.about = res.json.result;
        const noted = await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
        assert.deepEqual([noted.status, noted.text], [202, '']);
        return this.about;
    }

    // A whole message; headers of null are left out.
    headers(message, more = {}) {
        const all = { authorization: `Bearer ${this.token}`,
            accept: 'application/json, text/event-stream' };
        if (this.era === 'modern') {
            const name = message.params?.[NAMES[message.method]];
            Object.assign(all, { 'mcp-protocol-version': MODERN, 'mcp-method': message.method });
            if (name !== undefined) all['mcp-name'] = name;
        } else if (this.session) {
            Object.assign(all, { 'mcp-protocol-version': LEGACY, 'mcp-session-id': this.session });
        }
        const given = { ...all, ...more };
        return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
    }

    message(method, params = {}, { id = this.next++, meta = {} } = {}) {
        const own = this.era === 'modern' ? { [`${META}protocolVersion`]: MODERN,
            [`${META}clientCapabilities`]: this.can } : {};
        const _meta = { ...own, ...meta };
        const all = Object.keys(_meta).length ? { ...params, _meta } : params;
        return { jsonrpc: '2.0', id, method, params: all };
    }

    post(message, headers = {}) {
        return request(`${this.server.url}/mcp`, { method: 'POST', body: message,
            headers: this.headers(message, headers), agent: this.server.agent });
    }

    // The response, out of JSON or of a stream, and what came before it.
    async exchange(method, params, { headers, ...options } = {}) {
        const message = this.message(method, params, options);
        const res = await this.post(message, headers);
        const all = res.json ? [res.json] : eventsOf(res.text);
        const body = all.at(-1);
        if (body !== undefined) assert.deepEqual(body.id, message.id, res.text);
        return { ...res, before: all.slice(0, -1), body };
    }

    async ask(method, params, options) {
        const { body, text } = await this.exchange(method, params, options);
        assert.ok(body?.result, `${method}: ${text}`);
        if (this.era === 'modern') {
            assert.equal(typeof body.result.resultType, 'string', text);
            assert.equal(body.result._meta[`${META}serverInfo`].name, 'drover');
        } else {
            assert.ok(!('resultType' in body.result), text);
        }
        return body.result;
    }

    async refused(code, method, params, options) {
        const { body, status, text } = await this.exchange(method, params, options);
        assert.equal(body?.error?.code, code, `${method}: ${status} ${text}`);
        return { status, ...body.error };
    }

    tool(name, args = {}, options) {
        return this.ask('tools/call', { name, arguments: args }, options);
    }

    // A call that must succeed; its result fits what the tool promises.
    async call(name, args, options) {
        const result = await this.tool(name, args, options);
        assert.equal(result.isError, false, `${name}: ${result.content?.[0].text}`);
        assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
        this.tools ??= (await this.ask('tools/list')).tools;
        const { outputSchema } = this.tools.find((tool) => tool.name === name);
        fits(outputSchema, result.structuredContent, name);
        return result.structuredContent;
    }

    // A call that must fail: its text.
    async fails(name, args, options) {
        const result = await this.tool(name, args, options);
        assert.equal(result.isError, true, `${name}: ${JSON.stringify(result)}`);
        return result.content[0].text;
    }

    // A request whose answer is read as it comes.
    stream(method, params, { headers, ...options } = {}) {
        const message = this.message(method, params, options);
        return new Reader(`${this.server.url}/mcp`, { method: 'POST',
            headers: this.headers(message, { 'content-type': 'application/json', ...headers }) },
        JSON.stringify(message));
    }

    // The stream of a legacy session.
    listen() {
        return new Reader(`${this.server.url}/mcp`, { method: 'GET', headers: this.headers({}) });
    }
}

function eventsOf(text) {
    return text.split('\n\n').filter((frame) => /^data: /m.test(frame)).map((frame) =>
        JSON.parse(frame.split('\n').filter((line) => line.startsWith('data: '))
            .map((line) => line.slice(6)).join('\n')));
}

class Reader {
    constructor(url, options, body) {
        this.messages = [];
        this.taken = 0;
        this.waiting = [];
        this.text = '';
        this.req = http.request(url, { ...options, agent: false });
        this.head = new Promise((resolve, reject) => {
            this.req.on('error', (error) => {
                this.#end();
                reject(error);
            });
            this.req.on('response', (res) => {
                this.res = res;
                resolve(res);
                res.setEncoding('utf8');
                res.on('data', (part) => this.#take(part));
                res.on('close', () => this.#end());
            });
        });
        this.head.catch(() => {});
        this.req.end(body);
    }

    #take(part) {
        this.text += part;
        if (!/event-stream/.test(this.res.headers['content-type'])) return;
        this.messages = eventsOf(this.text.slice(0, this.text.lastIndexOf('\n\n') + 2));
        this.#wake();
    }

    #end() {
        this.ended = true;
        this.#wake();
    }

    #wake() {
        for (const wake of this.waiting.splice(0)) wake();
    }

    // The next message; undefined: the stream has ended.
    async take() {
        while (this.taken === this.messages.length && !this.ended)
            await within(PATIENCE_MS, 'a message', new Promise((wake) => {
                this.waiting.push(wake);
            }));
        return this.messages[this.taken++];
    }

    // The next one that pleases.
    async until(pleases) {
        for (;;) {
            const message = await this.take();
            assert.ok(message, `the stream has ended: ${this.text}`);
            if (pleases(message)) return message;
        }
    }

    close() {
        this.req.destroy();
    }
}

// As much of JSON Schema as the tools use.
export function fits(schema, value, path) {
    const types = [schema.type ?? []].flat();
    const type = value === null ? 'null' : Array.isArray(value) ? 'array'
        : Number.isInteger(value) ? 'integer' : typeof value;
    assert.ok(types.length === 0 || types.includes(type) ||
        (type === 'integer' && types.includes('number')), `${path} is ${type}, not ${types}`);
    if (schema.enum) assert.ok(schema.enum.includes(value), `${path} is ${value}`);
    if (type === 'array')
        value.forEach((item, i) => fits(schema.items ?? {}, item, `${path}[${i}]`));
    if (type !== 'object') return;
    for (const key of schema.required ?? []) assert.ok(key in value, `${path}.${key} is missing`);
    for (const [key, member] of Object.entries(value)) {
        const known = schema.properties?.[key];
        if (known) fits(known, member, `${path}.${key}`);
        else assert.notEqual(schema.additionalProperties, false, `${path}.${key} is not known`);
    }
}
