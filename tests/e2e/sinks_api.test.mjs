// sinks_api.test.mjs - sinks that the API makes while the server runs, and webhooks: what becomes
// of events when the receiver is away, refuses or answers garbage, and when servers are killed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { clusterUrl } from './lib/cluster.mjs';
import { makeDatabase } from './lib/database.mjs';
import { fixes } from './lib/git.mjs';
import { assertNowhere } from './lib/nowhere.mjs';
import { assertComplete, distinct, isSigned, Receiver } from './lib/receiver.mjs';
import { discardAll, makeDirectory, Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const EVENTS = process.env.DROVER_LONG ? 100_000 : 2000;
const LONG_MS = 3600_000; // For as many as that.
const KEYS = 20;

// Runs a test with servers and receivers that it names; each is discarded at the end.
function withServers(name, body) {
    it(name, async (t) => {
        const servers = [], receivers = [];
        const make = (options) => {
            servers.push(new Server(options));
            return servers.at(-1);
        };
        const listen = async (judge) => {
            receivers.push(await new Receiver(judge).open());
            return receivers.at(-1);
        };
        try {
            await body(make, listen, t);
            await discardAll(servers);
        } finally {
            for (const each of servers) each.killNow();
            for (const each of receivers) each.close();
        }
    });
}

const put = (server, name, document) => server.ok('PUT', `/v1/sinks/${name}`, document);
const sinkOf = (server, name) => server.get(`/v1/sinks/${name}`);
const logOf = (server) => server.list('/v1/events?limit=200');
const linesOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n')
    .slice(0, -1).map((line) => JSON.parse(line));

function untilSink(server, name, what, pleases, ...patience) {
    return until(`the sink ${name} to ${what}`, async (note) => {
        const sink = note(await sinkOf(server, name));
        return pleases(sink) ? sink : null;
    }, ...patience);
}
const untilCaughtUp = (server, name, ...patience) => untilSink(server, name, 'have everything',
    ({ state, lag }) => state === 'running' && lag === 0, ...patience);

let number = 0;
const eventOf = (key, more = {}) => ({ specversion: '1.0', id: `e-${++number}`,
    source: 'https://ci.example.com', type: 'com.example.build.finished', subject: `key-${key}`,
    data: { number }, ...more });
const append = (server, event) => server.post('/v1/events', event);

// Appends many, whatever happens to the server meanwhile; done() says how many are in the log.
// An event is sent again until a server has it: the log has each one once.
function flood(count, serverOf) {
    const events = Array.from({ length: count }, (_, i) => eventOf(i % KEYS));
    let next = 0, done = 0;
    const work = async () => {
        while (next < count) {
            const event = events[next++];
            await until('the event to be taken', async () => {
                const res = await serverOf().call('POST', '/v1/events', { body: event })
                    .catch(() => null);
                return res?.status === 202;
            });
            done++;
        }
    };
    return { done: () => done, ended: Promise.all(Array.from({ length: 16 }, work)) };
}

async function metric(server, name, sink) {
    const { text } = await server.call('GET', '/metrics');
    const line = text.split('\n').find((each) => each.startsWith(`${name}{sink="${sink}"} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

describe('a sink made by the API', { concurrency: 3 }, () => {
    withServers('is a webhook that gets signed events at once, and keeps its secrets',
        async (make, listen) => {
            const key = Buffer.from('a key that only two of them have');
            const old = 'the key that was used until yesterday';
            const env = { HOOK_KEY: `whsec_${key.toString('base64')}`, HOOK_OLD: old,
                HOOK_TOKEN: 'bearer-of-the-receiver' };
            const server = make({ env });
            const receiver = await listen();
            await server.start();
            const repo = await server.repository('acme/hooked', fixes);
            const sink = await put(server, 'ci', { type: 'webhook', url: receiver.url,
                secretEnv: 'HOOK_KEY', oldSecretEnv: 'HOOK_OLD', tokenEnv: 'HOOK_TOKEN' });
            assert.deepEqual([sink.name, sink.type, sink.target, sink.origin],
                ['ci', 'webhook', receiver.url, 'api']);
            const { runId } = await server.finish(repo.name, 'completed');
            await server.untilCleaned(runId);
            await untilCaughtUp(server, 'ci');
            assertComplete(receiver.events, await logOf(server));
            for (const { headers, text } of receiver.requests) {
                assert.match(headers['content-type'], /^application\/cloudevents\+json/);
                assert.equal(headers.authorization, 'Bearer bearer-of-the-receiver');
                assert.ok(isSigned(headers, text, key) && isSigned(headers, text, old));
                assert.ok(Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) < 600);
            }
            const { config, delivered } = await sinkOf(server, 'ci');
            assert.deepEqual([config.secretEnv, delivered],
                ['HOOK_KEY', receiver.events.length]);
            await assertNowhere(server, [runId], env.HOOK_KEY, old, env.HOOK_TOKEN);
        });

    withServers('can be changed and removed while the server runs, and is there after a restart',
        async (make, listen) => {
            const server = make(), other = await listen(), receiver = await listen();
            await server.start();
            await append(server, eventOf(1));
            const sink = await put(server, 'ci', { type: 'webhook', url: receiver.url,
                mode: 'binary', from: 'end', types: ['com.example.>'] });
            assert.equal(sink.lag, 0);
            const [first, second, third, fourth] = [2, 3, 4, 5].map((key) => eventOf(key));
            await append(server, first);
            await append(server, eventOf(2, { type: 'org.example.other' }));
            await untilCaughtUp(server, 'ci');
            assert.deepEqual(receiver.events.map(({ id, data }) => [id, data]),
                [[first.id, first.data]]);
            await put(server, 'ci', { type: 'webhook', url: other.url, mode: 'batch' });
            await append(server, second);
            await until('the new receiver to get it', () => other.events.length > 0);
            assert.deepEqual(distinct(other.events).map(({ id }) => id), [second.id]);
            await server.stop();
            await server.start();
            await append(server, third);
            await until('the sink of before to get it', () => other.events.length > 1);
            await untilCaughtUp(server, 'ci');
            await server.ok('DELETE', '/v1/sinks/ci');
            await append(server, fourth);
            assert.equal((await server.call('GET', '/v1/sinks/ci')).status, 404);
            assert.deepEqual(await server.list('/v1/sinks'), []);
            await put(server, 'ci', { type: 'webhook', url: receiver.url, from: 3 });
            await untilCaughtUp(server, 'ci'); // A new one, from that place on.
            assertComplete(receiver.events.slice(1),
                (await logOf(server)).filter(({ logseq }) => Number(logseq) >= 3));
            assert.ok(!other.events.some(({ id }) => id === fourth.id));
        });

    withServers('is refused when it cannot be, and one of the configuration stays as it is',
        async (make) => {
            const dir = makeDirectory();
            const server = make({ config: 'workers: 0\nsinks:\n' +
                `  - {name: audit, type: file, path: ${join(dir, 'audit')}}\n` });
            await server.start();
            const refused = async (name, document, status, pattern) => {
                const res = await server.call('PUT', `/v1/sinks/${name}`, { body: document });
                assert.equal(res.status, status, res.text);
                assert.match(res.json.detail, pattern);
            };
            const file = (path) => ({ type: 'file', path });
            await refused('audit', file(join(dir, 'x')), 409, /configuration: change it there/);
            await refused('b', file(join(dir, 'audit')), 422, /same place/);
            await refused('b', file(join(server.data, 'drover.db')), 422, /drover's own files/);
            symlinkSync(join(server.data, 'drover.db'), join(dir, 'link'));
            await refused('b', file(join(dir, 'link')), 422, /drover's own files/);
            await refused('b', { ...file(join(dir, 'c')), from: 1e15 }, 422, /the log ends at/);
            await refused('b', { ...file(join(dir, 'c')), types: ['agent.run*'] }, 422,
                /one whole segment/);
            await refused('b', { type: 'webhook' }, 422, /url, or urlEnv/);
            await refused('b', { type: 'webhook', url: 'https://u:p@x/' }, 422, /urlEnv/);
            await refused('b', { type: 'webhook', url: 'https://x/', secret: 'x' }, 422, /secret/);
            await refused('b%20c', file(join(dir, 'x')), 400, /letters, digits/);
            const gone = await server.call('DELETE', '/v1/sinks/audit');
            assert.deepEqual([gone.status, gone.json.code], [409, 'SINK_CONFIGURED']);
            assert.equal((await server.call('DELETE', '/v1/sinks/b')).status, 404);
            await put(server, 'b', file(join(dir, 'b')));
            await refused('c', file(join(dir, 'b')), 409, /same place/);
            assert.deepEqual((await server.list('/v1/sinks')).map(({ name, origin }) =>
                [name, origin]), [['audit', 'configuration'], ['b', 'api']]);
            await untilCaughtUp(server, 'audit');
            const { token } = await server.post('/v1/tokens', { name: 'op', role: 'operator' });
            const as = (method, path, body) => server.call(method, path, { token, body });
            assert.equal((await as('PUT', '/v1/sinks/b', file(join(dir, 'c')))).status, 403);
            assert.equal((await as('DELETE', '/v1/sinks/b')).status, 403);
            assert.equal((await as('POST', '/v1/sinks/audit/pause', {})).json.state, 'paused');
            assert.equal((await as('POST', '/v1/sinks/audit/resume', {})).status, 200);
            for (let i = 0; i < 15; i++) await put(server, `n${i}`, file(join(dir, `n${i}`)));
            await refused('n15', file(join(dir, 'n15')), 409, /remove one first/);
        });

    withServers('that is paused stays so over a restart, and then catches up',
        async (make, listen) => {
            const server = make(), receiver = await listen();
            await server.start();
            await put(server, 'ci', { type: 'webhook', url: receiver.url });
            await append(server, eventOf(1));
            await untilCaughtUp(server, 'ci');
            assert.equal((await server.post('/v1/sinks/ci/pause')).state, 'paused');
            await until('the batch under way to end', async () => {
                const before = receiver.requests.length;
                await append(server, eventOf(2));
                return receiver.requests.length === before;
            });
            await server.crash();
            await server.start();
            const count = receiver.events.length;
            await append(server, eventOf(3));
            const sink = await sinkOf(server, 'ci');
            assert.deepEqual([sink.state, sink.lag > 0], ['paused', true]);
            assert.equal(await metric(server, 'drover_sink_paused', 'ci'), 1);
            assert.equal(receiver.events.length, count);
            await server.post('/v1/sinks/ci/resume');
            await untilCaughtUp(server, 'ci');
            assertComplete(receiver.events, await logOf(server));
        });

    withServers('whose receiver is away falls behind, alone, and catches up',
        async (make, listen) => {
            const dir = makeDirectory();
            const server = make(), receiver = await listen();
            await server.start();
            await put(server, 'ci', { type: 'webhook', url: receiver.url });
            await put(server, 'file', { type: 'file', path: join(dir, 'all') });
            await append(server, eventOf(1));
            await untilCaughtUp(server, 'ci');
            receiver.close();
            for (let i = 0; i < 10; i++) await append(server, eventOf(i));
            const failing = await untilSink(server, 'ci', 'fail', ({ retries }) => retries > 1);
            assert.match(failing.lastError, /127\.0\.0\.1/);
            await until('the lag to show', async () =>
                await metric(server, 'agent_outbox_lag_seconds', 'ci') >= 1);
            assert.equal(await metric(server, 'drover_sink_lag', 'ci'), 10);
            await untilCaughtUp(server, 'file');
            assert.equal(await metric(server, 'drover_sink_lag', 'file'), 0);
            await receiver.open(receiver.port);
            await server.post('/v1/sinks/ci/resume'); // Not after the pause that is under way.
            await untilCaughtUp(server, 'ci');
            assert.equal(await metric(server, 'agent_outbox_lag_seconds', 'ci'), 0);
            assert.equal(await metric(server, 'drover_sink_delivered_total', 'ci'), 11);
            assertComplete(receiver.events, await logOf(server));
        });

    withServers('has dead letters of what is refused for good: to look at, replay and discard',
        async (make, listen) => {
            let fixed = false;
            const server = make();
            const receiver = await listen((event) =>
                (event.type === 'com.example.bad' && !fixed ? 422 : 204));
            await server.start();
            await put(server, 'ci', { type: 'webhook', url: receiver.url });
            const bad = [3, 4].map((key) => eventOf(key, { type: 'com.example.bad' }));
            for (const event of [eventOf(1), bad[0], eventOf(3), bad[1], eventOf(4)])
                await append(server, event);
            const sink = await untilCaughtUp(server, 'ci');
            assert.deepEqual([sink.deadLetters, sink.refused, sink.delivered, sink.lastError],
                [2, 2, 3, null]);
            const letters = await server.list('/v1/sinks/ci/dead-letters');
            assert.deepEqual(letters.map(({ sequence, eventType, code, replay }) =>
                [sequence, eventType, code, replay]), [2, 4].map((seq) =>
                [seq, 'com.example.bad', 'WEBHOOK_STATUS', false]));
            const dead = await callDrover(server, ['sink', 'dead', 'ci']);
            assert.match(dead.stdout, /^ *2 +com\.example\.bad .*answered 422/m);
            const inbox = await callDrover(server, ['inbox', '--kind', 'sink_letters']);
            assert.match(inbox.stdout, /ci: .*answered 422 \(2\) +drover sink replay ci --all/);
            fixed = true;
            assert.deepEqual(await server.post('/v1/sinks/ci/dead-letters/replay',
                { sequences: [2] }), { replayed: 1 });
            await untilSink(server, 'ci', 'replay it', ({ deadLetters }) => deadLetters === 1);
            assert.equal(receiver.events.at(-1).id, bad[0].id);
            const drop = await callDrover(server, ['sink', 'discard', 'ci', '--all']);
            assert.match(drop.stdout, /^1 dead letter is discarded/);
            assert.deepEqual(await server.list('/v1/sinks/ci/dead-letters'), []);
            const neither = await server.call('POST', '/v1/sinks/ci/dead-letters/replay',
                { body: {} });
            assert.equal(neither.status, 422);
            await append(server, eventOf(5));
            await untilCaughtUp(server, 'ci');
            assert.equal(receiver.events.some(({ id }) => id === bad[1].id), false);
        });

    withServers('survives a receiver that answers garbage or hangs up', async (make, listen) => {
        const server = make();
        let turn = 0;
        const odd = [(res) => res.socket.end('what is HTTP?\r\n\r\n'),
            (res) => res.socket.destroy(),
            (res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
            (res) => res.writeHead(503, { 'retry-after': '0' }).end()];
        const receiver = await listen(() => (turn++ % 5 === 1 ? odd[(turn - 2) / 5 % 4] : 204));
        await server.start();
        await put(server, 'ci', { type: 'webhook', url: receiver.url, connections: 4 });
        for (let i = 0; i < 20; i++) await append(server, eventOf(i % 3));
        const sink = await untilCaughtUp(server, 'ci');
        assert.ok(sink.retries >= 4, JSON.stringify(sink));
        assertComplete(receiver.events, await logOf(server));
    });

    withServers('can be made, shown and removed from the command line', async (make, listen) => {
        const server = make(), receiver = await listen();
        await server.start();
        const file = join(server.dir, 'ci.yaml');
        writeFileSync(file, `type: webhook\nurl: ${receiver.url}\ntypes: [com.example.*]\n`);
        const call = async (...words) => {
            const answer = await callDrover(server, words);
            assert.equal(answer.status, 0, answer.stderr);
            return answer.stdout;
        };
        assert.match(await call('sink', 'set', 'ci', '--config', file), /^Made by +the API$/m);
        assert.match(await call('sink', 'pause', 'ci'), /^State +paused$/m);
        assert.match(await call('sinks'), /^ci +webhook +\S+\/events +paused +0 /m);
        assert.match(await call('sink', 'resume', 'ci'), /^State +running$/m);
        assert.equal(JSON.parse(await call('sink', 'show', 'ci', '--json')).config.url,
            receiver.url);
        assert.match(await call('sink', 'remove', 'ci'), /removed/);
        const missing = await callDrover(server, ['sink', 'show', 'ci']);
        assert.equal(missing.status, 3);
        assert.match(missing.stderr, /drover sinks/);
        const bad = await callDrover(server, ['sink', 'set', 'ci']);
        assert.match(bad.stderr, /--config FILE is missing/);
    });
});

// The two sinks: a file and a webhook.
async function makeBoth(server, receiver, path) {
    await put(server, 'file', { type: 'file', path });
    await put(server, 'ci', { type: 'webhook', url: receiver.url });
}

async function assertBoth(server, receiver, path) {
    await untilCaughtUp(server, 'file', LONG_MS);
    await untilCaughtUp(server, 'ci', LONG_MS);
    const log = await logOf(server);
    assert.ok(log.length >= EVENTS);
    assertComplete(linesOf(path), log);
    assertComplete(receiver.events, log);
}

describe('every event arrives, in order of its key, at two sinks', { concurrency: 1 }, () => {
    withServers('when the server is killed again and again', async (make, listen) => {
        const path = join(makeDirectory(), 'all');
        const server = make(), receiver = await listen();
        await server.start();
        await makeBoth(server, receiver, path);
        const load = flood(EVENTS, () => server);
        for (const part of [0.2, 0.4, 0.6, 0.8]) {
            await until('events to arrive', () => load.done() > part * EVENTS &&
                receiver.events.length > part * EVENTS / 2, LONG_MS);
            await server.crash();
            await server.start();
        }
        await load.ended;
        await assertBoth(server, receiver, path);
    });

    withServers('when the node that relays them is killed, and another takes over',
        async (make, listen) => {
            const path = join(makeDirectory(), 'all');
            const db = makeDatabase(clusterUrl());
            const nodes = [make({ db }), make({ db })], receiver = await listen();
            await Promise.all(nodes.map((node) => node.start()));
            await makeBoth(nodes[0], receiver, path);
            const relaysOf = (node, name) => new RegExp(`"lease":"sink/${name}"`).test(node.said());
            const owner = (name) => until(`a node to relay ${name}`,
                () => nodes.find((node) => relaysOf(node, name)));
            const victim = await owner('ci');
            await owner('file');
            const other = nodes.find((node) => node !== victim);
            const load = flood(EVENTS, () => other);
            await until('events to arrive', () => load.done() > EVENTS / 4 &&
                receiver.events.length > EVENTS / 20, LONG_MS);
            await victim.crash();
            await until('the other node to take over', () => relaysOf(other, 'ci'));
            await load.ended;
            await assertBoth(other, receiver, path);
            await victim.start();
        });
});
