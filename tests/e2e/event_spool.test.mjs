// event_spool.test.mjs - events that are kept on this machine while the server is away, and are
// delivered later: each once, and in order.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, statSync, truncateSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { fixes } from './lib/git.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const OUTAGE = 10_000;
const CORRELATION = '01a1e111-4280-788b-8f9d-658fd086a1f4';
const CAUSE = '01a1e111-4280-788b-8f9d-658fd086a1f5';
const room = makeDirectory();
let server;

before(async () => {
    server = await start({ args: ['--workers', '1'] });
});
after(async () => server.discard());

// A spool of its own, and the program with it.
function client(more = {}) {
    const root = mkdtempSync(join(room, 'spool-'));
    const env = { DROVER_SPOOL: root, DROVER_URL: server.url, DROVER_TOKEN: server.token, ...more };
    const begin = (args, input) => {
        const run = launch(['event', ...args], env, input === undefined ? 'ignore' : 'pipe');
        if (input !== undefined) run.child.stdin.on('error', () => {}).end(input);
        return run;
    };
    const drover = (args, input) => begin(args, input).ended;
    return {
        root, begin, drover,
        append: (type, data, ...args) =>
            drover(['append', '--type', type, ...args, JSON.stringify(data)]),
        async flush(...args) {
            const ended = await drover(['flush', '--json', ...args]);
            return { ...ended, json: ended.out ? JSON.parse(ended.out) : null };
        },
        async spools() {
            const { out } = await drover(['spool', '--json']);
            return JSON.parse(out).items;
        },
        records() {
            const [key] = readdirSync(root);
            const dir = join(root, key, 'waiting');
            return join(dir, readdirSync(dir).find((name) => name.startsWith('records.')));
        },
    };
}

const stored = (type) => server.list(`/v1/events?type=${type}&limit=200`);
const numbers = async (type) => (await stored(type)).map(({ data }) => data.n);
const upTo = (count) => Array.from({ length: count }, (_, n) => n);

describe('while the server is away', () => {
    it('events are kept, and the next append delivers them before its own', async () => {
        const { append, spools, root } = client();
        await server.stop();
        for (const n of [0, 1]) {
            const ended = await append('com.example.kept', { n }, '--subject', 'build 7',
                '--correlation', CORRELATION, '--causation', CAUSE);
            assert.equal(ended.code, 0, ended.err);
            assert.match(ended.out, /Kept in .*; [12] wait for the server/);
        }
        const [spool] = await spools();
        assert.deepEqual([spool.server, spool.waiting, spool.oldest.data, spool.refused],
            [server.url, 2, { n: 0 }, []]);
        assert.equal(spool.failure.code, 'SERVER_UNREACHABLE');
        for (const path of [root, ...readdirSync(root, { recursive: true })
            .map((name) => join(root, name))]) {
            const { mode } = statSync(path);
            assert.equal(mode & 0o077, 0, path);
        }
        await server.startAgain();
        const ended = await append('com.example.kept', { n: 2 });
        assert.equal(ended.code, 0, ended.err);
        assert.match(ended.out, /in the log, with what waited before it: 3 new/);
        const events = await stored('com.example.kept');
        assert.deepEqual(events.map(({ data }) => data.n), [0, 1, 2]);
        assert.deepEqual([events[0].subject, events[0].correlationid, events[0].causationid],
            ['build 7', CORRELATION, CAUSE]);
        assert.ok(Date.parse(events[0].time) <= Date.parse(events[0].recordedtime));
        const [empty] = await spools();
        assert.deepEqual([empty.waiting, empty.oldest, empty.failure], [0, null, null]);
    });

    it('nothing is kept with --no-spool, and not what is wrong', async () => {
        const { append, spools } = client();
        await server.stop();
        assert.equal((await append('com.example.none', {}, '--no-spool')).code, 5);
        assert.equal((await append('no spaces', {})).code, 4);
        assert.equal((await append('com.example.none', 'x'.repeat(70_000))).code, 4);
        assert.deepEqual(await spools(), []);
        await server.startAgain();
    });

    it(`${OUTAGE} events are delivered later, each once and in order`, async () => {
        const { drover, append, flush, spools } = client();
        await server.stop();
        const lines = upTo(OUTAGE).map((n) => JSON.stringify({ type: 'com.example.outage',
            data: { n } }));
        let ended = await drover(['append', '--lines', '--json'], `${lines.join('\n')}\n`);
        assert.equal(ended.code, 0, ended.err);
        assert.deepEqual([JSON.parse(ended.out).kept, JSON.parse(ended.out).waiting],
            [OUTAGE, OUTAGE]);
        // Other processes go on at the same time; of one process the order holds.
        await Promise.all(upTo(4).map(async (writer) => {
            for (const n of upTo(5)) {
                ended = await append('com.example.writers', { writer, n });
                assert.equal(ended.code, 0, ended.err);
            }
        }));
        assert.equal((await spools())[0].waiting, OUTAGE + 20);
        await server.startAgain();
        const all = await Promise.all([flush('--wait'), flush('--wait'), flush('--wait')]);
        const sum = (key) => all.reduce((total, { json }) => total + json[key], 0);
        assert.deepEqual(all.map(({ code }) => code), [0, 0, 0], JSON.stringify(all));
        assert.deepEqual([sum('accepted'), sum('duplicates'), sum('refused')],
            [OUTAGE + 20, 0, 0]);
        assert.deepEqual(await numbers('com.example.outage'), upTo(OUTAGE));
        const events = await stored('com.example.writers');
        for (const writer of upTo(4))
            assert.deepEqual(events.filter(({ data }) => data.writer === writer)
                .map(({ data }) => data.n), upTo(5));
    });

    it('flush --wait delivers as soon as it is back', async () => {
        const { append, begin, flush } = client();
        await server.stop();
        await append('com.example.patient', { n: 0 });
        assert.equal((await flush()).code, 5);
        assert.equal((await flush('--wait', '--timeout', '1s')).code, 5);
        const waiting = begin(['flush', '--wait', '--json']);
        await server.startAgain();
        const ended = await waiting.ended;
        assert.equal(ended.code, 0, ended.err);
        assert.equal(JSON.parse(ended.out).accepted, 1);
        assert.deepEqual(await numbers('com.example.patient'), [0]);
    });
});

describe('an append', () => {
    it('that is killed at any moment leaves whole events, and those it has acknowledged',
        async () => {
            const { begin, append, spools, flush, records } = client();
            await server.stop();
            for (const n of upTo(3)) await append('com.example.cut', { n });
            let next = 3;
            for (let i = 0; i < 3; i++) {
                const before = statSync(records()).size;
                const one = begin(['append', '--lines'], upTo(6000)
                    .map((n) => JSON.stringify({ type: 'com.example.cut', data: { n: next + n } }))
                    .join('\n'));
                await until('it to write', () => statSync(records()).size > before);
                one.child.kill('SIGKILL');
                await one.ended;
                next = (await spools())[0].waiting;
                assert.equal((await append('com.example.cut', { n: next++ })).code, 0);
            }
            await server.startAgain();
            assert.equal((await flush()).json.accepted, next);
            assert.deepEqual(await numbers('com.example.cut'), upTo(next));
        });
});

describe('a delivery', () => {
    it('that is killed at any moment delivers nothing twice', async () => {
        const { drover, begin, flush } = client();
        await server.stop();
        const lines = upTo(3000).map((n) => JSON.stringify({ type: 'com.example.killed',
            data: { n } }));
        await drover(['append', '--lines'], lines.join('\n'));
        await server.startAgain();
        let delivered = 0;
        for (let i = 0; i < 4; i++) {
            const one = begin(['flush']);
            // Between two calls, or in one: as soon as the log has more than before.
            await until('the log to have some', async () => {
                const { items } = await server.get(`/v1/events?type=com.example.killed&limit=1`);
                return items.length > 0 || one.child.exitCode !== null;
            });
            one.child.kill('SIGKILL');
            await one.ended;
            const now = (await numbers('com.example.killed')).length;
            assert.ok(now >= delivered);
            delivered = now;
        }
        assert.equal((await flush()).code, 0);
        assert.deepEqual(await numbers('com.example.killed'), upTo(3000));
    });

    it('sets aside what the server refuses for good, and delivers the rest', async () => {
        const { drover, flush, spools, append } = client();
        await server.ok('PUT', '/v1/schemas/com.example.strict', { type: 'object',
            properties: { n: { type: 'integer' } }, required: ['n'] });
        await server.stop();
        const lines = upTo(700).map((n) => JSON.stringify({ type: 'com.example.strict', id: `s${n}`,
            data: n % 100 === 50 ? { wrong: n } : { n } }));
        await drover(['append', '--lines'], lines.join('\n'));
        await server.startAgain();
        const ended = await flush();
        assert.equal(ended.code, 4);
        assert.deepEqual([ended.json.accepted, ended.json.refused, ended.json.waiting],
            [693, 7, 0]);
        assert.deepEqual(await numbers('com.example.strict'),
            upTo(700).filter((n) => n % 100 !== 50));
        const [{ key, refused }] = await spools();
        assert.deepEqual(refused.map(({ event, code }) => [event.id, code]),
            upTo(7).map((i) => [`s${i * 100 + 50}`, 'SCHEMA_MISMATCH']));
        const shown = await drover(['spool', key]);
        assert.match(shown.out, /Refused +com\.example\.strict s50: .*/);
        await drover(['spool', key, '--forget']);
        assert.deepEqual((await spools())[0].refused, []);
        assert.equal((await append('agent.x', {})).code, 4, 'at once, as without a spool');
    });

    it('waits for a token that is valid, and keeps all of them', async () => {
        const { append, spools, root } = client();
        await server.stop();
        await append('com.example.token', { n: 0 });
        await server.startAgain();
        const other = client({ DROVER_SPOOL: root, DROVER_TOKEN: 'not-a-token-of-this-server' });
        const ended = await other.flush();
        assert.equal(ended.code, 4, ended.err);
        const [{ waiting, failure }] = await spools();
        assert.deepEqual([waiting, failure.code], [1, 'TOKEN_UNKNOWN']);
        assert.equal((await append('com.example.token', { n: 1 })).code, 0);
        assert.deepEqual(await numbers('com.example.token'), [0, 1]);
    });

    it('of another address takes its events to this one', async () => {
        const { append, spools, root } = client({ DROVER_URL: 'http://127.0.0.1:9' });
        await append('com.example.moved', { n: 0 });
        const [{ key }] = await spools();
        const here = client({ DROVER_SPOOL: root });
        assert.equal((await here.flush()).json.accepted, 0);
        assert.equal((await here.flush('--from', key)).json.accepted, 1);
        assert.equal((await here.flush('--from', '0123456789abcdef')).code, 3);
        assert.deepEqual(await numbers('com.example.moved'), [0]);
    });

    it('passes over a record that was cut short', async () => {
        const { append, records, flush } = client();
        await server.stop();
        for (const n of [0, 1]) await append('com.example.torn', { n });
        const file = records();
        truncateSync(file, statSync(file).size - 5);
        await append('com.example.torn', { n: 2 });
        await server.startAgain();
        assert.equal((await flush()).json.accepted, 2);
        assert.deepEqual(await numbers('com.example.torn'), [0, 2]);
    });

    it('does not ask a server again and again that does not answer', async () => {
        const sockets = new Set();
        const silent = http.createServer(() => {});
        silent.on('connection', (socket) => sockets.add(socket));
        await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
        const { append, spools } = client({
            DROVER_URL: `http://127.0.0.1:${silent.address().port}` });
        assert.equal((await append('com.example.silent', { n: 0 })).code, 0);
        const count = sockets.size;
        for (const n of [1, 2]) assert.equal((await append('com.example.silent', { n })).code, 0);
        assert.equal(sockets.size, count);
        const [{ waiting, failure }] = await spools();
        assert.deepEqual([waiting, failure.code], [3, 'SERVER_TIMEOUT']);
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => silent.close(resolve));
    });
});

describe('lines of events', () => {
    it('are appended with what each of them has, in one call', async () => {
        const { drover } = client();
        const lines = [{ type: 'com.example.lines', id: 'l1', source: 'urn:a', data: { n: 0 } },
            { id: 'l2', subject: 'own', data: { n: 1 } }, { id: 'l2', data: { n: 2 } }];
        const ended = await drover(['append', '--lines', '--type', 'com.example.lines',
            '--subject', 'all', '--json'], lines.map((line) => JSON.stringify(line)).join('\n\n'));
        assert.equal(ended.code, 0, ended.err);
        const { accepted, duplicates } = JSON.parse(ended.out);
        assert.deepEqual([accepted, duplicates], [2, 1]);
        assert.deepEqual((await stored('com.example.lines')).map(({ id, source, subject, data }) =>
            [id, source, subject, data.n]),
        [['l1', 'urn:a', 'all', 0], ['l2', 'drover-cli', 'own', 1]]);
    });

    for (const [what, text, pattern] of [
        ['no JSON', '{"type":"com.example.bad"}\n{', /line 2/],
        ['no object', '[]', /line 1: a line is one JSON object/],
        ['no type', '{}', /line 1/],
    ])
        it(`are refused: ${what}`, async () => {
            const { drover, spools } = client();
            const ended = await drover(['append', '--lines'], text);
            assert.notEqual(ended.code, 0);
            assert.match(ended.err, pattern);
            assert.deepEqual(await spools(), []);
        });
});

describe('an agent in its sandbox', () => {
    it('appends over its socket, and keeps what it cannot deliver', async () => {
        const drover = 'drover event';
        const repo = await server.repository('acme/spool', `
set -e
${drover} append --type com.example.agent '{"n": 0}'
SOCKET="$DROVER_SOCKET"
export DROVER_SOCKET="$SOCKET.gone"
${drover} append --type com.example.agent '{"n": 1}'
${drover} append --type com.example.agent '{"n": 2}'
export DROVER_SOCKET="$SOCKET"
KEY=$(basename "$HOME"/.local/state/drover/event-spool/*)
${drover} flush --from "$KEY"
${drover} append --type com.example.agent '{"n": 3}'
${fixes}`);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilTask(taskId, 'completed');
        const events = await stored('com.example.agent');
        assert.deepEqual(events.map(({ data, runid, source }) => [data.n, runid, source]),
            upTo(4).map((n) => [n, runId, `runs/${runId}/drover-cli`]));
    });
});
