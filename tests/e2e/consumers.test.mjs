// consumers.test.mjs - durable consumers of the log: next, ack, seek, lag, and what survives.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover, launch } from './lib/cli.mjs';
import { makeDatabase, on, PSQL } from './lib/database.mjs';
import { assertProblem } from './lib/http.mjs';
import { withServer } from './lib/own.mjs';
import { discardAll, Server, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const NO_WORKERS = { args: ['--workers', '0'] };
const LONG = process.env.DROVER_LONG === '1';
let server;
let count = 0;

before(async () => {
    server = await start(NO_WORKERS);
});
after(() => server.discard());

async function append(type = 'com.example.built', node = server, data = {}) {
    const id = `e${++count}`;
    await node.post('/v1/events', { specversion: '1.0', id, source: '/ci', type, data });
    return id;
}

async function appendMany(number, type, node) {
    const ids = [];
    for (let i = 0; i < number; i++) ids.push(await append(type, node));
    return ids;
}

const path = (name, what = '') => `/v1/consumers/${name}${what}`;
const next = (name, query = '', node = server) => node.get(path(name, `/next?${query}`));
const ack = (name, cursor, node = server) => node.post(path(name, '/ack'), { cursor });
const tryAck = (name, cursor) => server.call('POST', path(name, '/ack'), { body: { cursor } });
// On PostgreSQL the end of the log is known when all transactions have ended that had begun, those
// of other tests on the same cluster too: until then a call is refused as STORE_BUSY.
const place = (method, where, body, node) => until(`${method} ${where}`, async (note) => {
    const res = note(await node.call(method, where, { body }));
    if (res.status === 503 && res.json.code === 'STORE_BUSY') return null;
    assert.ok(res.status < 300, `${method} ${where}: ${res.status} ${res.text}`);
    return res.json;
});
const seek = (name, to, node = server) => place('POST', path(name, '/seek'), { to }, node);
const put = (name, body = {}) => place('PUT', path(name), body, server);
const idsOf = ({ events }) => events.map(({ id }) => id);

// The page with so many events or more.  For the same reason next gives none before a gap in the
// log, which a transaction leaves that is rolled back.
const some = (name, count, query = '', node = server) =>
    until(`${count} events for ${name}`, async (note) => {
        const page = note(await next(name, query, node));
        return page.events.length >= count && page;
    });

// All that is there, acknowledged page by page.
async function drain(name, query = 'max=50', node = server) {
    const ids = [];
    for (;;) {
        const page = await next(name, query, node);
        ids.push(...idsOf(page));
        await ack(name, page.cursor, node);
        if (page.events.length === 0 && (await node.get(path(name))).lag === 0) return ids;
    }
}

const waiting = (wanted, node = server) => until(`${wanted} calls to wait`, async (note) => {
    const { text } = await node.call('GET', '/metrics');
    return note(Number(/^drover_http_event_waits (\d+)$/m.exec(text)[1])) === wanted;
});

describe('a consumer', () => {
    it('is made by its first next, and has all events from the start', async () => {
        const mine = await appendMany(3);
        assert.deepEqual((await drain('first')).slice(-3), mine);
        const { json } = await server.call('GET', path('first'));
        assert.deepEqual([json.lag, json.lagSeconds, json.types], [0, 0, []]);
    });

    it('gets the same events until it acknowledges them', async () => {
        await put('repeats', { from: 'end' });
        const [a, b, c] = await appendMany(3);
        const page = await some('repeats', 2, 'max=2');
        assert.deepEqual(idsOf(page), [a, b]);
        assert.deepEqual(await some('repeats', 2, 'max=2'), page);
        await ack('repeats', page.cursor);
        await ack('repeats', page.cursor); // The answer was lost, say.
        assert.deepEqual(idsOf(await some('repeats', 1)), [c]);
    });

    it('goes forward by acknowledgement only', async () => {
        await put('forward', { from: 'end' });
        await put('beside', { from: 'end' });
        await appendMany(2);
        const early = await some('forward', 1, 'max=1');
        const late = await some('forward', 2);
        await ack('forward', late.cursor);
        assertProblem(await tryAck('forward', early.cursor), 409, { code: 'CURSOR_STALE' });
        assertProblem(await tryAck('beside', late.cursor), 422,
            { code: 'CURSOR_FOREIGN', field: 'cursor' });
        for (const cursor of ['', '17', 'AAAA', late.cursor.slice(0, -4)])
            assert.equal((await tryAck('beside', cursor)).status, 422, cursor);
        const [kind, epoch, , name] = /^(.)(\d+)\.(\d+)\.(.*)$/
            .exec(Buffer.from(late.cursor, 'base64url').toString()).slice(1);
        const forged = Buffer.from(`${kind}${epoch}.999999999.${name}`).toString('base64url');
        assertProblem(await tryAck('forward', forged), 422, { code: 'INVALID_CURSOR' });
        assert.deepEqual(idsOf(await next('forward')), []);
    });

    it('has only the types that it wants; an empty answer has a cursor too', async () => {
        await put('picky', { types: ['com.example.one', 'com.example.two.*'], from: 'end' });
        const [, one, , two] = [await append(), await append('com.example.one'), await append(),
            await append('com.example.two.b'), await append('com.example.two')];
        const page = await some('picky', 2);
        assert.deepEqual(idsOf(page), [one, two]);
        await ack('picky', page.cursor);
        const empty = await next('picky');
        assert.deepEqual(empty.events, []);
        await ack('picky', empty.cursor);
        assert.equal((await server.get(path('picky'))).lag, 0);
        await put('picky', { types: ['com.example.other'] });
        await append('com.example.one');
        const other = await append('com.example.other');
        assert.deepEqual(idsOf(await some('picky', 1)), [other]);
    });

    it('can be moved: to the start, the end, an event, a time', async () => {
        const all = await server.list('/v1/events?limit=200');
        const [a, b] = await appendMany(2, 'com.example.moved');
        const [first] = (await server.list('/v1/events?type=com.example.moved'))
            .sort((x, y) => Number(x.logseq) - Number(y.logseq));
        await seek('moves', 'start');
        assert.equal(idsOf(await some('moves', 1, 'max=1'))[0], all[0].id);
        const old = await some('moves', 1, 'max=1');
        await seek('moves', Number(first.logseq));
        assert.deepEqual(idsOf(await some('moves', 2)).slice(0, 2), [a, b]);
        assertProblem(await tryAck('moves', old.cursor), 409, { code: 'CURSOR_STALE' });
        await seek('moves', String(Number(first.logseq) + 1));
        assert.equal(idsOf(await some('moves', 1))[0], b);
        await seek('moves', first.time);
        assert.ok(idsOf(await some('moves', 1)).includes(a));
        await seek('moves', '2001-01-01T00:00:00Z');
        assert.equal(idsOf(await some('moves', 1, 'max=1'))[0], all[0].id);
        await seek('moves', 'end');
        assert.deepEqual(idsOf(await next('moves')), []);
        await seek('moves', '2101-01-01T00:00:00Z');
        const c = await append();
        assert.deepEqual(idsOf(await some('moves', 1)), [c]);
    });

    for (const to of [0, -1, 1e9, 'later', '', true, null, '2026-13-01T00:00:00Z'])
        it(`is not moved to ${JSON.stringify(to)}`, async () => {
            const res = await server.call('POST', path('moves', '/seek'), { body: { to } });
            assertProblem(res, 422, { field: 'to' });
        });

    it('is listed with its lag', async () => {
        await put('lags', { from: 'end' });
        await appendMany(4);
        const all = await server.list('/v1/consumers?limit=2');
        const row = all.find(({ name }) => name === 'lags');
        assert.equal(row.lag, 4);
        assert.ok(row.lagSeconds >= 0 && row.lagSeconds < 3600, JSON.stringify(row));
        assert.equal(row.lastAckAt, null);
        const { text } = await server.call('GET', '/metrics');
        assert.match(text, /^drover_consumer_lag\{consumer="lags"\} 4$/m);
        await drain('lags');
        const now = await server.get(path('lags'));
        assert.deepEqual([now.lag, now.lagSeconds], [0, 0]);
        assert.ok(Math.abs(Date.parse(now.lastAckAt) - Date.now()) < 3_600_000);
    });

    it('is for operators; viewers see it', async () => {
        const { token } = await server.post('/v1/tokens', { name: 'looks', role: 'viewer' });
        const as = (method, where, body) => server.call(method, where, { token, body });
        assert.equal((await as('GET', '/v1/consumers')).status, 200);
        for (const [method, what, body] of [['GET', '/next'], ['POST', '/ack', { cursor: 'x' }],
            ['POST', '/seek', { to: 'end' }], ['PUT', '', {}], ['DELETE', ''],
            ['POST', '/processed', { eventIds: [] }]])
            assert.equal((await as(method, path('first', what), body)).status, 403, method + what);
    });

    it('is refused what is not right', async () => {
        const bad = (method, where, body) => server.call(method, where, { body });
        assertProblem(await bad('GET', path('a%20b', '/next')), 400, { code: 'INVALID_NAME' });
        assertProblem(await bad('GET', path('x'.repeat(101), '/next')), 400,
            { code: 'INVALID_NAME' });
        assertProblem(await bad('GET', path('first', '/next?max=501')), 400, {});
        assertProblem(await bad('GET', path('first', '/next?waitMs=30001')), 400, {});
        assertProblem(await bad('POST', path('none', '/ack'), { cursor: 'Yw' }), 422, {});
        assertProblem(await bad('GET', path('none')), 404, { code: 'CONSUMER_NOT_FOUND' });
        assertProblem(await bad('DELETE', path('none')), 404, { code: 'CONSUMER_NOT_FOUND' });
        for (const route of ['', '/next', '/stream'])
            assertProblem(await bad('GET', `/v1/events${route}?type=agent.run*`), 400,
                { code: 'INVALID_PARAMETER', field: 'type' });
        assertProblem(await bad('PUT', path('none'), { types: [''] }), 422, {});
        assertProblem(await bad('PUT', path('none'), { types: ['agent.run*'] }), 422,
            { code: 'INVALID_FIELD', field: 'types' });
        assertProblem(await bad('PUT', path('none'), { types: Array(13).fill('a.b') }), 422, {});
    });
});

describe('a consumer that waits', () => {
    it('is woken by the commit of an event that it wants', async () => {
        await put('sleeps', { types: ['com.example.wanted'], from: 'end' });
        const page = next('sleeps', 'waitMs=30000');
        await waiting(1);
        await append('com.example.unwanted');
        await waiting(1);
        const id = await append('com.example.wanted');
        assert.deepEqual(idsOf(await page), [id]);
        await waiting(0);
    });

    it('is answered with none when its time is over', async () => {
        await put('waits', { from: 'end' });
        const page = await next('waits', 'waitMs=100');
        assert.deepEqual(page.events, []);
        await ack('waits', page.cursor);
    });

    it('ends with its client', async () => {
        await put('leaves', { from: 'end' });
        const agent = new http.Agent({ keepAlive: false });
        const calls = Array.from({ length: 10 }, () => {
            const req = http.get(`${server.url}${path('leaves', '/next?waitMs=30000')}`,
                { headers: { authorization: `Bearer ${server.token}` }, agent });
            req.on('error', () => {});
            return req;
        });
        await waiting(10);
        for (const req of calls) req.destroy();
        await waiting(0);
    });

    it('gives all that share its name the same events', async () => {
        await put('shared', { from: 'end' });
        const pages = [1, 2, 3].map(() => next('shared', 'waitMs=30000'));
        await waiting(3);
        const id = await append();
        const got = await Promise.all(pages);
        for (const page of got) assert.deepEqual(idsOf(page), [id]);
        for (const { cursor } of got) await ack('shared', cursor);
    });

    it('is told when it was removed meanwhile', async () => {
        await put('goes', { from: 'end' });
        const call = server.call('GET', path('goes', '/next?waitMs=30000'));
        await waiting(1);
        await server.ok('DELETE', path('goes'));
        await append();
        assertProblem(await call, 404, { code: 'CONSUMER_NOT_FOUND' });
    });

    it('does not keep the server from stopping', async () => {
        const other = await start(NO_WORKERS);
        await drain('stops', 'max=50', other);
        const page = next('stops', 'waitMs=30000', other);
        await waiting(1, other);
        other.ending = true;
        other.child.kill('SIGTERM'); // Its stop() would close the connection.
        assert.deepEqual((await page).events, []);
        assert.deepEqual(await other.exit, { code: 0, signal: null });
        await new Promise(setImmediate); // Its end is noted.
        await other.discard();
    });
});

describe('events that a handler has processed', () => {
    const processed = (name, eventIds) => server.post(path(name, '/processed'), { eventIds });

    it('are new once for each consumer', async () => {
        await put('handles');
        await put('handles-too');
        assert.deepEqual(await processed('handles', ['a', 'b']),
            { new: ['a', 'b'], duplicates: [] });
        assert.deepEqual(await processed('handles', ['b', 'c', 'c']),
            { new: ['c'], duplicates: ['b', 'c'] });
        assert.deepEqual((await processed('handles-too', ['a'])).new, ['a']);
        await server.ok('DELETE', path('handles'));
        assertProblem(await server.call('POST', path('handles', '/processed'),
            { body: { eventIds: ['a'] } }), 404, { code: 'CONSUMER_NOT_FOUND' });
        await put('handles');
        assert.deepEqual((await processed('handles', ['a'])).new, ['a']);
    });

    it('are new for one of many that ask at the same time', async () => {
        const all = await Promise.all(Array.from({ length: 20 }, () =>
            processed('handles', ['raced'])));
        assert.equal(all.filter((answer) => answer.new.length === 1).length, 1);
    });
});

describe('the place of a consumer', () => {
    withServer('survives kill -9', NO_WORKERS, async (own) => {
        const ids = await appendMany(6, undefined, own);
        await seek('durable', 'start', own);
        const seen = [];
        while (!seen.includes(ids[2])) {
            const page = await some('durable', 1, 'max=1', own);
            await ack('durable', page.cursor, own);
            seen.push(...idsOf(page));
        }
        const unacknowledged = await some('durable', 1, 'max=1', own);
        await own.crash();
        await own.start();
        const again = await some('durable', 1, 'max=1', own);
        assert.deepEqual(again, unacknowledged);
        await ack('durable', unacknowledged.cursor, own); // Of the server before.
        assert.deepEqual(await drain('durable', 'max=2', own), ids.slice(4));
    });
});

describe('drover consumer', () => {
    const drover = async (...args) => callDrover(server, ['consumer', ...args]);
    const settled = (...args) => until(`drover consumer ${args.join(' ')}`, async (note) => {
        const { status, stderr } = note(await drover(...args));
        assert.ok(status === 0 || /transactions are open/.test(stderr), stderr);
        return status === 0;
    });

    it('lists, moves, shows and acknowledges', async () => {
        await settled('set', 'cli', '--type', 'com.example.cli', '--from', 'end');
        const id = await append('com.example.cli');
        const shown = await drover('next', 'cli');
        assert.deepEqual(shown.stdout.trim().split('\n').map((line) => JSON.parse(line).id), [id]);
        const [, cursor] = /drover consumer ack cli (\S+)/.exec(shown.stderr);
        assert.match((await drover('ack', 'cli', cursor)).stdout, /has acknowledged/);
        const none = await drover('next', 'cli');
        assert.equal(none.stdout, '');
        assert.match(none.stderr, /^No events; .*\n {2}drover consumer ack cli \S+\n$/);
        assert.equal((await drover('ack', 'cli', 'rubbish')).status, 4);
        assert.match((await drover('list')).stdout, /cli +\d+ +0 .*com\.example\.cli/);
        await settled('seek', 'cli', '1h');
        assert.match((await drover('next', 'cli', '--max', '1')).stdout, new RegExp(id));
        assert.match((await drover('remove', 'cli')).stdout, /is removed/);
        assert.equal((await drover('remove', 'cli')).status, 3);
    });

    it('feeds a command, and acknowledges what it has taken', async () => {
        const file = join(server.dir, 'fed');
        await put('fed', { types: ['com.example.fed'], from: 'end' });
        const ids = await appendMany(5, 'com.example.fed');
        const run = (...args) => launch(['consumer', 'run', 'fed', '--drain', ...args],
            { DROVER_DATA: server.data }).ended;
        const failed = await run('--', 'sh', '-c', 'cat >&2; exit 7');
        assert.equal(failed.code, 1);
        assert.match(failed.err, /status 7/);
        const fed = await run('--max', '2', '--', 'sh', '-c', `cat >>${file}; echo done`);
        assert.deepEqual([fed.code, fed.out], [0, 'done\n'.repeat(3)], fed.err);
        const lines = readFileSync(file, 'utf8').trim().split('\n');
        assert.deepEqual(lines.map((line) => JSON.parse(line).id), ids);
        assert.equal((await server.get(path('fed'))).lag, 0);
    });
});

on('postgres', describe)('on two nodes', () => {
    let a, b;
    before(async () => {
        const db = makeDatabase();
        [a, b] = [new Server({ ...NO_WORKERS, db }), new Server({ ...NO_WORKERS, db })];
        await Promise.all([a.start(), b.start()]);
    });
    after(() => discardAll([a, b]));

    const INSERT = 'INSERT INTO event_log (id, type, version, time_us, run_seq, actor_type,'
        + ' actor_id, data) VALUES (gen_random_uuid()::text, \'com.example.held\', 1,'
        + ' extract(epoch from now()) * 1000000, 0, \'user\', \'admin\', \'{}\');';

    // A transaction that has a place in the log and is still open; end: what ends it.
    async function hold() {
        const child = spawn(PSQL, ['-qXAt', a.db], { stdio: ['pipe', 'pipe', 'inherit'] });
        const said = new Promise((resolve) => child.stdout.once('data', resolve));
        child.stdin.write(`BEGIN; ${INSERT} SELECT 'inserted';\n`);
        await said;
        return async (end) => {
            const exit = new Promise((resolve) => child.on('exit', resolve));
            child.stdin.end(`${end};\n`);
            await exit;
        };
    }

    it('skips no event, whichever node is asked', async () => {
        await seek('both', 'end', a);
        const wanted = LONG ? 2000 : 200;
        const sent = Promise.all([a, b].map((node) => appendMany(wanted / 2, undefined, node)));
        const got = [];
        await until('all events', async (note) => {
            const node = got.length % 2 === 0 ? a : b;
            const page = await next('both', 'max=7&waitMs=1000', node);
            await ack('both', page.cursor, node === a ? b : a);
            got.push(...page.events);
            return note(got.length) >= wanted;
        });
        const ids = (await sent).flat();
        assert.deepEqual(got.map(({ id }) => id).sort(), ids.sort());
        const places = got.map(({ logseq }) => Number(logseq));
        assert.deepEqual(places, places.toSorted((x, y) => x - y));
    });

    for (const end of ['COMMIT', 'ROLLBACK'])
        it(`does not pass a transaction that is open, until its ${end}`, async () => {
            await seek('held', 'end', a);
            const finish = await hold();
            const ids = await appendMany(3, undefined, b);
            const page = next('held', 'waitMs=30000', a);
            const short = await next('held', 'waitMs=300', b);
            assert.deepEqual(short.events, []);
            await finish(end);
            const got = await page;
            const rest = [...got.events];
            await ack('held', got.cursor, b);
            while (rest.length < ids.length + (end === 'COMMIT' ? 1 : 0)) {
                const more = await next('held', 'waitMs=30000', b);
                await ack('held', more.cursor, a);
                rest.push(...more.events);
            }
            assert.deepEqual(rest.map(({ type }) => type), [
                ...(end === 'COMMIT' ? ['com.example.held'] : []),
                ...ids.map(() => 'com.example.built')]);
        });
});
