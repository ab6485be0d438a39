// mcp_stdio.test.mjs - `drover mcp`: lines to HTTP and back, many at once, whatever the server or
// the client does.  The server is a stand-in, so that it can do all of it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStandIn } from './lib/mcp_stand_in.mjs';
import { Bridge, MODERN, meta } from './lib/mcp_stdio.mjs';
import { makeDirectory } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const MIB = 1024 * 1024;
const held = new Map(); // By id: the reply to a request that waits for the test.
let open = false; // None waits.

// What the stand-in does for a method; all others have an empty result.
const acts = {
    initialize: ({ message }, reply) => reply.json(
        { result: { protocolVersion: message.params.protocolVersion, capabilities: {} } }, 200,
        { 'mcp-session-id': `s-${message.id}` }),
    hold({ message: { id } }, reply) {
        held.set(id, reply);
        if (open) reply.json({ result: { released: id } });
    },
    big: ({ message }, reply) => reply.json({ result: { text: 'x'.repeat(message.params.bytes) } }),
    progress({ message: { params } }, reply) {
        const stream = reply.stream();
        stream.write(Buffer.from(': a comment\n\nid: 1\ndata:\n\n')); // As in 2025-11-25.
        for (const progress of [1, 2])
            stream.write({ method: 'notifications/progress', params: { progress } });
        stream.respond({ result: { text: 'y'.repeat(params.bytes) } });
        stream.end();
    },
    async pieces({ message: { id } }, reply) { // An event on two lines, one byte at a time.
        const rest = `"id":"${id}","result":{"a":"größer"}}`;
        const text = `data: {"jsonrpc":"2.0",\r\ndata: ${rest}\r\n\r\n`;
        const stream = reply.stream();
        for (const byte of Buffer.from(text)) {
            stream.write(Buffer.of(byte));
            await new Promise(setImmediate);
        }
        stream.end();
    },
    short: (request, reply) => reply.stream().end(),
    broken(request, reply) {
        const stream = reply.stream();
        stream.write({ method: 'notifications/progress', params: { progress: 7 } });
        setImmediate(stream.break);
    },
    hangup: (request, reply) => reply.break(),
    foreign: (request, reply) => reply.raw(200, { 'content-type': 'application/json' },
        '{"jsonrpc":"2.0","id":"of-another","result":{}}'),
    status: ({ message: { params } }, reply) => reply.raw(params.status,
        { 'content-type': params.type ?? 'application/problem+json' }, params.body),
};
const sessions = { lost: new Set(), streams: [], busy: 0 };
function answer(request, reply) {
    const { message, headers: { 'mcp-session-id': session } } = request;
    if (sessions.lost.has(session)) return reply.raw(404, {}, '');
    if (request.method === 'GET' && sessions.busy > 0)
        return reply.raw([409, 503][--sessions.busy], {}, '');
    if (request.method === 'GET') return sessions.streams.push(reply.stream());
    if (message.id === undefined || message.method === undefined) return reply.accepted();
    return (acts[message.method] ?? (() => reply.json({ result: {} })))(request, reply);
}

let standIn, bridge;
const seen = (id) => until(`request ${id}`, () =>
    standIn.requests.find(({ message }) => message?.id === id));
const release = async (id) => (await until(`${id} is held`, () => held.get(id)))
    .json({ result: { released: id } });

describe('drover mcp', { concurrency: false }, () => {
    before(async () => {
        standIn = await openStandIn(answer);
        bridge = new Bridge(['--url', `${standIn.url}/mcp`], { DROVER_TOKEN: 't0k3n' });
    });
    after(async () => {
        await bridge.close();
        await standIn.close();
    });

    it('sends the headers of 2026-07-28 from what the message holds', async () => {
        const table = [
            ['tools/call', { name: 'create_task' }, 'create_task'],
            ['prompts/get', { name: 'größer' }, '=?base64?Z3LDtsOfZXI=?='],
            ['prompts/get', { name: '=?base64?x?=' }, '=?base64?PT9iYXNlNjQ/eD89?='],
            ['resources/read', { uri: 'drover://runs/1' }, 'drover://runs/1'],
            ['tasks/get', { taskId: 'task-7' }, 'task-7'],
            ['tools/list', {}, undefined],
        ];
        for (const [method, params, name] of table) {
            const id = `h-${method}-${name}`;
            await bridge.call(method, { ...params, _meta: meta() }, id);
            const { url, method: verb, headers, message } = await seen(id);
            assert.equal(`${verb} ${url}`, 'POST /mcp');
            assert.equal(headers.accept, 'application/json, text/event-stream');
            assert.equal(headers['content-type'], 'application/json');
            assert.equal(headers.authorization, 'Bearer t0k3n');
            assert.equal(headers['mcp-protocol-version'], MODERN);
            assert.equal(headers['mcp-method'], method);
            assert.equal(headers['mcp-name'], name);
            assert.equal(headers['mcp-session-id'], undefined);
            assert.deepEqual(message.params, { ...params, _meta: meta() });
        }
    });

    it('names version and session of initialize, for which other messages wait', async () => {
        const old = new Bridge(['--url', standIn.url], {});
        old.send({ id: 'i1', method: 'initialize',
            params: { protocolVersion: '2025-06-18', capabilities: {} } });
        old.send({ method: 'notifications/initialized' });
        old.send({ id: 'l1', method: 'tools/list' });
        old.send({ id: 'r1', result: { action: 'accept' } }); // To a request of the server.
        assert.equal((await old.response('i1')).result.protocolVersion, '2025-06-18');
        assert.deepEqual((await old.response('l1')).result, {});
        const opening = await seen('i1');
        assert.equal(opening.headers['mcp-protocol-version'], undefined);
        assert.equal(opening.headers.authorization, undefined);
        for (const request of [await seen('l1'), await seen('r1')]) {
            assert.equal(request.headers['mcp-protocol-version'], '2025-06-18');
            assert.equal(request.headers['mcp-session-id'], 's-i1');
            assert.equal(request.headers['mcp-method'], undefined);
        }
        old.send({ method: 'notifications/cancelled', params: { requestId: 'none' } });
        await until('a server with sessions is told of it', () => standIn.requests.some(
            ({ message }) => message?.method === 'notifications/cancelled'));
        assert.deepEqual(await old.close(), { code: 0, rest: '' });
        assert.deepEqual(old.messages, []); // Neither notification nor response has an answer.
    });

    it('listens in a session, and opens another in the place of one that is lost', async () => {
        const old = new Bridge(['--url', standIn.url]);
        const changed = { method: 'notifications/tools/list_changed' };
        const at = sessions.streams.length;
        await old.result('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
        for (const i of [at, at + 1]) { // The bridge comes back after the end of a stream.
            await until('it listens', () => sessions.streams.length > i);
            sessions.streams[i].write(changed);
            await old.next(({ method }) => method === changed.method);
            sessions.streams[i].end();
        }
        const { headers: first } = standIn.requests.findLast(({ method }) => method === 'GET');
        assert.equal(first['mcp-session-id'], 's-c1');
        assert.equal(first.accept, 'text/event-stream');
        sessions.lost.add('s-c1');
        acts.initialize = ((usual) => (request, reply) => { // Its next session has another name.
            acts.initialize = usual;
            reply.json({ result: { protocolVersion: '2025-06-18' } }, 200,
                { 'mcp-session-id': 's2' });
        })(acts.initialize);
        const calls = ['k1', 'k2', 'k3'];
        for (const id of calls) old.send({ id, method: 'tools/list' });
        for (const id of calls) assert.deepEqual((await old.response(id)).result, {});
        const third = standIn.requests.findLast(({ message }) => message?.id === 'k3');
        assert.equal(third.headers['mcp-session-id'], 's2');
        assert.equal(third.headers['mcp-protocol-version'], '2025-06-18');
        const told = standIn.requests.filter(({ headers }) => headers['mcp-session-id'] === 's2');
        assert.ok(told.some(({ message }) => message?.method === 'notifications/initialized'));
        await until('it listens there', () => standIn.requests.some(({ method, headers }) =>
            method === 'GET' && headers['mcp-session-id'] === 's2'));
        assert.deepEqual(await old.close(), { code: 0, rest: '' });
        assert.deepEqual(old.messages, []);
    });

    it('keeps what a client has subscribed to when its stream or session is lost', async () => {
        const old = new Bridge(['--url', standIn.url]);
        const changed = { method: 'notifications/resources/updated' };
        const first = sessions.streams.length, from = standIn.requests.length;
        sessions.lost.clear(); // Names of sessions follow ids, which begin anew.
        const listens = (count) => until(`stream ${count}`, () => sessions.streams[first + count]);
        const subscribed = (session) => standIn.requests.slice(from)
            .filter(({ message, headers }) => message?.method === 'resources/subscribe' &&
                headers['mcp-session-id'] === session).map(({ message }) => message.params.uri);
        await old.result('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
        for (const uri of ['a:1', 'a:2', 'a:2', 'a:3']) await old.result('resources/subscribe',
            { uri });
        await old.result('resources/unsubscribe', { uri: 'a:1' });
        const { headers: { 'mcp-session-id': session } } = standIn.requests.at(-1);
        // The server is away, and has not noticed that the connection was cut when it is back.
        sessions.busy = 2;
        (await listens(0)).break();
        (await listens(1)).write(changed);
        await old.next(({ method }) => method === changed.method);
        await until('it subscribes again', () =>
            subscribed(session).slice(-2).sort().join() === 'a:2,a:3');
        // Nothing but the stream says that the session is lost.
        sessions.lost.add(session);
        acts.initialize = ((usual) => (request, reply) => {
            acts.initialize = usual;
            reply.json({ result: { protocolVersion: '2025-11-25' } }, 200,
                { 'mcp-session-id': 's-next' });
        })(acts.initialize);
        sessions.streams[first + 1].end();
        (await listens(2)).write(changed);
        await old.next(({ method }) => method === changed.method);
        await until('it subscribes there', () =>
            subscribed('s-next').sort().join() === 'a:2,a:3');
        assert.deepEqual(await old.close(), { code: 0, rest: '' });
        assert.deepEqual(old.messages, []);
    });

    it('puts what comes back on one line each, from JSON and from streams', async () => {
        assert.deepEqual((await bridge.call('tools/list', {})).result, {}); // The stand-in indents.
        const streamed = await bridge.call('progress', { bytes: 3 * MIB });
        assert.equal(streamed.result.text.length, 3 * MIB);
        for (const progress of [1, 2])
            await bridge.next((each) => each.params?.progress === progress);
        assert.equal((await bridge.call('pieces', {})).result.a, 'größer');
        assert.equal((await bridge.call('big', { bytes: 20 * MIB })).result.text.length, 20 * MIB);
        assert.deepEqual(bridge.messages, []);
    });

    it('holds up no message for another, and closes what is cancelled', async () => {
        bridge.send({ id: 1, method: 'hold' });
        bridge.send({ id: '1', method: 'hold' });
        await Promise.all([seen(1), seen('1')]);
        assert.deepEqual((await bridge.call('ping')).result, {});
        bridge.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
        await until('the request is closed', async () => (await seen(1)).closed);
        await release('1'); // An id that is a text is another one.
        assert.deepEqual(await bridge.response('1'),
            { jsonrpc: '2.0', id: '1', result: { released: '1' } });
        assert.equal(bridge.messages.some((each) => each.id === 1), false);
        held.clear();
    });

    it('bounds what is under way, lets more wait, and refuses the rest', async () => {
        const ids = Array.from({ length: 330 }, (_, i) => `b${i}`);
        for (const id of ids) bridge.send({ id, method: 'hold', params: { _meta: meta() } });
        const refused = await bridge.response('b329');
        assert.equal(refused.error.code, 429);
        assert.match(refused.error.message, /too many messages are under way/);
        for (let i = 320; i < 329; i++)
            assert.equal((await bridge.response(`b${i}`)).error.code, 429);
        await until('64 are under way', () => held.size === 64);
        bridge.send({ method: 'notifications/cancelled', params: { requestId: 'b100' } }); // Waits.
        bridge.send({ method: 'notifications/cancelled', params: { requestId: 'b3' } });
        await until('another one has its place', () => held.has('b64'));
        const wanted = ids.slice(0, 320).filter((id) => id !== 'b100' && id !== 'b3');
        open = true;
        for (const [id, reply] of [...held])
            if (id !== 'b3') reply.json({ result: { released: id } });
        for (const id of wanted) assert.equal((await bridge.response(id)).result.released, id);
        assert.equal(held.has('b100'), false);
        open = false;
        held.clear();
    });

    it('answers what is no message with an error, and goes on', async () => {
        const table = [
            ['nonsense', -32700, null], ['{"jsonrpc":"2.0","id":1,', -32700, null],
            ['\xff\xfe', -32700, null], [`"${'z'.repeat(17 * MIB)}"`, -32700, null],
            [`[${'1,'.repeat(2 * MIB)}1]`, -32700, null],
            ['[]', -32600, null], ['7', -32600, null],
            ['{"id":5,"method":"ping"}', -32600, null],
            ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null],
            ['{"jsonrpc":"2.0","id":"p","method":"ping","params":[]}', -32600, 'p'],
        ];
        bridge.write('\n \r\n');
        for (const [line, code, id] of table) {
            bridge.child.stdin.write(Buffer.from(`${line}\n`, 'latin1'));
            const { error } = await bridge.response(id);
            assert.equal(error.code, code, line.slice(0, 60));
            assert.ok(error.message.length > 0);
        }
        assert.deepEqual((await bridge.call('ping')).result, {});
        assert.deepEqual(bridge.messages, []);
    });

    it('says clearly what the server refused, and why an answer is missing', async () => {
        const problem = JSON.stringify({ title: 'no', detail: 'the token is not known' });
        const rpc = (id) => JSON.stringify({ jsonrpc: '2.0', ...id,
            error: { code: -32022, message: 'version', data: { supported: ['a'] } } });
        const table = [
            [{ status: 401, body: problem }, 401, /the token is not known.*401.*DROVER_TOKEN/],
            [{ status: 403, body: problem }, 403, /not known.*403.*not allowed/],
            [{ status: 404, body: '<html>', type: 'text/html' }, 404, /404.*drover server/],
            [{ status: 500, body: '' }, 500, /status 500/],
            [{ status: 400, body: rpc({}) }, -32022, /^version$/],
            [{ status: 400, body: rpc({ id: null }) }, -32022, /^version$/],
            [{ status: 200, body: '<html>', type: 'text/html' }, 502, /is it a drover/],
            [{ status: 202, body: '' }, 502, /is it a drover/],
        ];
        for (const [params, code, text] of table) {
            const { error } = await bridge.call('status', params);
            assert.equal(error.code, code, JSON.stringify(params));
            assert.match(error.message, text);
        }
        for (const [method, code, text] of [['short', 502, /ended the stream before/],
            ['broken', 503, /broke.*may have been carried out/],
            ['hangup', 503, /broke.*may have been carried out/],
            ['foreign', 502, /is it a drover/]]) {
            const { error } = await bridge.call(method, {});
            assert.equal(error.code, code, method);
            assert.match(error.message, text);
        }
        await bridge.next((each) => each.params?.progress === 7);
        assert.match(bridge.err, /^drover: .*401/m); // People read it on stderr.
        assert.deepEqual(bridge.messages, []);
    });

    it('keeps all answers for a client that reads late', async () => {
        bridge.child.stdout.pause();
        const ids = Array.from({ length: 60 }, (_, i) => `late${i}`);
        for (const id of ids) bridge.send({ id, method: 'big', params: { bytes: MIB / 8 } });
        await until('the server has answered', () => standIn.requests.length > 0 &&
            ids.some((id) => standIn.requests.some(({ message }) => message?.id === id)));
        bridge.child.stdout.resume();
        for (const id of ids) assert.equal((await bridge.response(id)).result.text.length, MIB / 8);
    });
});

describe('drover mcp and the end of things', { concurrency: 4 }, () => {
    it('lives on while the server is away, and works once it is back', async () => {
        let far = await openStandIn(answer);
        const { port, url } = far;
        const lonely = new Bridge(['--server', url]);
        assert.deepEqual((await lonely.call('ping')).result, {});
        await far.close();
        for (let i = 0; i < 3; i++) {
            const { error } = await lonely.call('ping');
            assert.equal(error.code, 503);
            assert.match(error.message, /cannot reach .*refused.*drover serve|broke/);
        }
        far = await openStandIn(answer, port);
        assert.deepEqual((await lonely.call('ping')).result, {});
        assert.equal((await lonely.close()).code, 0);
        await far.close();
    });

    it('finds a server that is started after it, with its token', async () => {
        const data = makeDirectory();
        const early = new Bridge(['--data', data]);
        const own = await openStandIn(answer);
        try {
            // 401: a server of others is on the usual port of this machine.
            assert.match(`${(await early.call('ping')).error.code}`, /^(503|401)$/);
            writeFileSync(join(data, 'server.json'), JSON.stringify({ url: own.url }));
            writeFileSync(join(data, 'admin.token'), 'own-token\n');
            assert.deepEqual((await early.call('ping')).result, {});
            assert.equal(own.requests[0].headers.authorization, 'Bearer own-token');
        } finally {
            await early.close();
            await own.close();
        }
    });

    for (const [how, end, code] of [
        ['stdin is closed', (each) => each.child.stdin.end(), 0],
        ['SIGTERM comes', (each) => each.child.kill('SIGTERM'), 0],
        ['SIGINT comes', (each) => each.child.kill('SIGINT'), 130],
        ['stdout is closed', (each) => {
            each.child.stdout.destroy();
            each.send({ id: 'last', method: 'ping' });
        }, 0],
    ]) {
        it(`ends when ${how}, and closes its requests`, async () => {
            const far = await openStandIn(answer);
            const last = new Bridge(['--url', far.url]);
            const id = `end-${how}`;
            last.send({ id, method: 'hold' });
            const request = await until('it is held', () => far.requests[0]);
            end(last);
            assert.deepEqual(await last.ended, { code, rest: '' });
            assert.deepEqual(last.messages, []);
            await until('the request is closed', () => request.closed);
            await far.close();
        });
    }

    it('writes its last errors to a client that has closed stdin', async () => {
        const last = new Bridge(['--url', 'http://127.0.0.1:9']);
        last.write('nonsense\n');
        assert.deepEqual(await last.close(), { code: 0, rest: '' });
        assert.equal(last.messages[0].error.code, -32700);
    });

    it('refuses an address that is none', async () => {
        const wrong = new Bridge(['--url', 'nowhere']);
        assert.equal((await wrong.ended).code, 2);
        assert.match(wrong.err, /nowhere/);
    });
});
