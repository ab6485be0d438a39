// flood.test.mjs - one client that holds all it can get keeps no other client out: connections,
// streams, requests and memory are bounded per token, per source and for the agents' socket.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { on } from './lib/database.mjs';
import { fixes } from './lib/git.mjs';
import { assertProblem, request } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { openStream } from './lib/sse.mjs';
import { until } from './lib/wait.mjs';
import { HandWorker } from './lib/worker.mjs';

const SANITIZED = /\/san\//.test(process.env.DROVER_BIN ?? '');
const RSS_MAX_MB = 100;
const SOCKETS = 3000;
const EVENT_BYTES = 12_000;

const rssMb = (server, field = 'VmRSS') => {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)[1]) / 1024;
};

// Sockets that are opened and kept, with bytes sent on each.
class Crowd {
    // reads: all that comes; else the first bytes of the answer only.
    constructor(to, bytes = '', { reads = false } = {}) {
        this.to = to;
        this.bytes = bytes;
        this.reads = reads;
        this.sockets = [];
        this.answers = new Map(); // Status to count.
        this.closed = 0;
    }

    // Resolves when the connection is made or refused.
    #open() {
        return new Promise((resolve) => {
            const socket = net.connect(this.to);
            socket.on('error', resolve);
            socket.on('close', () => {
                this.closed++;
                resolve();
            });
            socket.once('data', (head) => {
                const status = head.toString('latin1').slice(9, 12);
                this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
                if (this.reads) socket.resume();
                else socket.pause();
            });
            socket.on('connect', () => {
                if (this.bytes) socket.write(this.bytes);
                resolve();
            });
            this.sockets.push(socket);
        });
    }

    async open(count, atOnce = 100) {
        for (let left = count; left > 0; left -= atOnce)
            await Promise.all(Array.from({ length: Math.min(left, atOnce) }, () => this.#open()));
        return this;
    }

    get(status) {
        return this.answers.get(String(status)) ?? 0;
    }

    leave() {
        for (const socket of this.sockets) socket.destroy();
    }
}

const head = (path, token) => `GET ${path} HTTP/1.1\r\nHost: x\r\n`
    + (token ? `Authorization: Bearer ${token}\r\n` : '') + '\r\n';

async function makeToken(server, name, role) {
    return server.post('/v1/tokens', { name, role });
}

// A connection of its own for each: a newcomer.
const fresh = (server, method, path, { token, body } = {}) => request(server.url + path,
    { method, body, headers: token ? { authorization: `Bearer ${token}` } : {}, agent: false });

const progress = (server, job, count) => server.post('/v1/jobs/progress', { jobs: [{
    id: job.id, epoch: job.epoch, events: Array.from({ length: count }, (_, i) => (
        { type: 'agent.tool.call.completed', data: { i, text: 'x'.repeat(EVENT_BYTES) } })) }] });

describe('an agent', () => {
    let server, worker, job, agentToken, workerToken, runId;

    before(async () => {
        server = await start({ args: ['--workers', '0'], config: 'log: {level: error}\n' });
        const repo = await server.repository('acme/flood', fixes);
        ({ runId } = await server.submit(repo.name));
        workerToken = (await makeToken(server, 'fleet', 'worker')).token;
        worker = new HandWorker(server, 'hand', workerToken);
        await worker.walkTo('agent', runId);
        job = await worker.take('agent', runId, 600_000);
        const { id, epoch } = job;
        agentToken = (await worker.post('/v1/jobs/run-token', { id, epoch })).token;
    });
    after(() => server.discard());

    const socketPath = () => join(server.data, 'drover.sock');

    async function assertOthersAreServed() {
        assert.equal((await fresh(server, 'GET', '/healthz')).status, 200);
        assert.equal((await fresh(server, 'GET', '/readyz')).status, 200);
        const tasks = await fresh(server, 'GET', '/v1/tasks', { token: server.token });
        assert.equal(tasks.status, 200, tasks.text);
        const body = { worker: 'hand', leases: [{ id: job.id, epoch: job.epoch }],
            extendMs: 600_000 };
        const beat = await fresh(server, 'POST', '/v1/jobs/heartbeat',
            { token: workerToken, body });
        assert.equal(beat.status, 200, beat.text);
        assert.equal(beat.json.leases[0].ok, true, 'the lease is not lost');
    }

    it(`that opens ${SOCKETS} sockets keeps no one out`, async (t) => {
        const idle = await new Crowd(socketPath()).open(SOCKETS);
        await assertOthersAreServed();
        const own = await new Promise((resolve, reject) => http.get({ socketPath: socketPath(),
            path: `/v1/runs/${runId}`, headers: { authorization: `Bearer ${agentToken}` } },
        resolve).on('error', reject));
        own.resume();
        assert.equal(own.statusCode, 200, 'the socket still answers');
        t.diagnostic(`${idle.closed} of ${SOCKETS} were closed, ${rssMb(server).toFixed(1)} MB`);
        idle.leave();
    });

    it('that opens 900 streams gets as many as it may, and 429 for the others', async (t) => {
        await progress(server, job, 80);
        const streams = new Crowd(socketPath(), head(`/v1/runs/${runId}/stream`, agentToken));
        await streams.open(900, 60);
        await until('the streams to be refused', () => streams.get(429) > 0);
        for (let i = 0; i < 8; i++) await progress(server, job, 80);
        await assertOthersAreServed();
        assert.ok(streams.get(200) <= 32, `${streams.get(200)} streams`);
        t.diagnostic(`${streams.get(200)} streams, ${streams.get(429)} refused, `
            + `peak ${rssMb(server, 'VmHWM').toFixed(1)} MB`);
        if (!SANITIZED) assert.ok(rssMb(server, 'VmHWM') < RSS_MAX_MB);
        streams.leave();
    });

    it('that does not read its answers cannot pile them up', async (t) => {
        const path = `/v1/runs/${runId}/events?limit=200`;
        const askers = new Crowd(socketPath(), head(path, agentToken));
        await askers.open(200, 20);
        await until('answers to be refused', () => askers.get(429) > 0);
        await assertOthersAreServed();
        t.diagnostic(`${askers.get(200)} answered, ${askers.get(429)} refused, `
            + `peak ${rssMb(server, 'VmHWM').toFixed(1)} MB`);
        if (!SANITIZED) assert.ok(rssMb(server, 'VmHWM') < RSS_MAX_MB);
        askers.leave();
    });

    it('that sends heads without an end holds little memory', async () => {
        const bytes = `GET / HTTP/1.1\r\nX-Long: ${'x'.repeat(15_000)}`;
        const crowd = await new Crowd(socketPath(), bytes).open(SOCKETS / 3);
        await assertOthersAreServed();
        if (!SANITIZED) assert.ok(rssMb(server) < RSS_MAX_MB, `${rssMb(server)} MB`);
        crowd.leave();
    });

    it("aside, a viewer's 900 slow streams are few, and each later gets every event", async (t) => {
        const { token } = await makeToken(server, 'slow', 'viewer');
        const path = `/v1/runs/${runId}/stream`;
        const slow = await openStream(server.url + path, { token });
        slow.pause();
        const crowd = new Crowd({ port: Number(new URL(server.url).port), host: '127.0.0.1' },
            head(path, token));
        await crowd.open(900, 100);
        for (let i = 0; i < 4; i++) await progress(server, job, 80);
        await assertOthersAreServed();
        assert.ok(crowd.get(200) <= 64, `${crowd.get(200)} streams`);
        t.diagnostic(`${crowd.get(200)} streams, peak ${rssMb(server, 'VmHWM').toFixed(1)} MB`);
        if (!SANITIZED) assert.ok(rssMb(server, 'VmHWM') < RSS_MAX_MB);
        crowd.leave();
        const listed = await server.events(runId);
        slow.resume();
        const seen = await slow.upTo(listed.length);
        slow.close();
        assert.deepEqual(seen.map((event) => event.data.id), listed.map((event) => event.id));
    });
});

describe('a server whose connections are all taken', () => {
    const CONNECTIONS = 40;
    let server;
    before(async () => {
        const config = `workers: 0\nlimits: {connections: ${CONNECTIONS},`
            + ` perToken: {connections: 100, requests: 100}}\n`;
        server = await start({ config });
    });
    after(() => server.discard());

    const port = () => ({ port: Number(new URL(server.url).port), host: '127.0.0.1' });

    it('by clients without a request closes the oldest of them for a newcomer', async () => {
        const idle = await new Crowd(port()).open(2 * CONNECTIONS);
        const { token } = await makeToken(server, 'reader', 'viewer');
        for (let i = 0; i < 5; i++)
            assert.equal((await fresh(server, 'GET', '/v1/tasks', { token })).status, 200);
        await until('the oldest to be closed', () => idle.closed >= CONNECTIONS);
        idle.leave();
    });

    it('by requests in flight answers health, workers and admins', async () => {
        const { token: greedy } = await makeToken(server, 'greedy', 'operator');
        const { token: reader } = await makeToken(server, 'late', 'viewer');
        const { token: fleet } = await makeToken(server, 'fleet', 'worker');
        server.agent.destroy(); // Its idle connections would be kept.
        const text = JSON.stringify({ queues: ['empty'], worker: 'w', waitMs: 30_000 });
        const polls = new Crowd(port(), 'POST /v1/jobs/lease HTTP/1.1\r\nHost: x\r\n'
            + `Authorization: Bearer ${greedy}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
        await polls.open(CONNECTIONS);
        const metric = async () => (await fresh(server, 'GET', '/metrics', { token: server.token }))
            .text;
        // A look is a newcomer: it may close a poll that was not read yet, which comes again.
        await until('the polls to wait', async (note) => {
            const [, parked] = /^drover_committer_parked (\d+)$/m.exec(await metric());
            note(parked);
            if (Number(parked) < CONNECTIONS - 1) await polls.open(1);
            return Number(parked) >= CONNECTIONS - 1;
        });
        assert.equal((await fresh(server, 'GET', '/healthz')).status, 200);
        assert.equal((await fresh(server, 'GET', '/readyz')).status, 200);
        const lease = await fresh(server, 'POST', '/v1/jobs/lease', { token: fleet,
            body: { queues: ['empty'], worker: 'v' } });
        assert.equal(lease.status, 200, lease.text);
        const late = await until('a newcomer to be refused', async () => {
            await polls.open(1);
            const res = await fresh(server, 'GET', '/v1/tasks', { token: reader });
            return res.status === 503 && res;
        });
        assertProblem(late, 503, { code: 'TOO_MANY_CONNECTIONS' });
        polls.leave();
    });
});

describe('a token', () => {
    let server;
    before(async () => {
        const caps = '{connections: 8, streams: 3, requests: 2}';
        server = await start({ config: `workers: 0\nlimits: {perToken: ${caps}}\n` });
    });
    after(() => server.discard());

    // Of a type that none has: tokens that are made and revoked are events too, and a stream that
    // starts from now on may still get those of a moment ago.
    const QUIET = 'v1/events/stream?type=com.example.none';
    const open = (token) => openStream(`${server.url}/${QUIET}`, { token });
    const poll = (token, waitMs = 30_000) => fresh(server, 'POST', '/v1/jobs/lease',
        { token, body: { queues: ['empty'], worker: 'w', waitMs } });

    it('has at most so many streams, and one more when one has ended', async () => {
        const { token } = await makeToken(server, 'streams', 'viewer');
        const streams = [await open(token), await open(token), await open(token)];
        const res = await fresh(server, 'GET', '/v1/events/stream', { token });
        assertProblem(res, 429, { code: 'TOO_MANY_STREAMS' });
        assert.equal(res.headers['retry-after'], '1');
        streams.pop().close();
        const again = await until('room for one more', async () => {
            const stream = await open(token);
            return stream.status === 200 ? stream : stream.close();
        });
        for (const stream of [...streams, again]) stream.close();
    });

    it('has at most so many requests in flight', async () => {
        const { token } = await makeToken(server, 'polls', 'worker');
        const polls = [poll(token), poll(token)].map((one) => one.catch(() => null));
        await server.untilParked(2);
        const res = await poll(token);
        assertProblem(res, 429, { code: 'TOO_MANY_REQUESTS' });
        assert.equal((await poll(server.token, 0)).status, 200, 'others are not held up');
        const { items } = await server.get('/v1/tokens');
        const { id } = items.find((item) => item.name === 'polls');
        await server.ok('DELETE', `/v1/tokens/${id}`);
        assert.deepEqual(await Promise.all(polls), [null, null], 'revoked: its polls end');
    });

    it('has at most so many connections: its own idle ones are closed', async () => {
        const { token } = await makeToken(server, 'sockets', 'viewer');
        const to = { port: Number(new URL(server.url).port), host: '127.0.0.1' };
        const crowd = new Crowd(to, head('/v1/version', token), { reads: true });
        await crowd.open(30);
        await until('the oldest to be closed', () => crowd.closed >= 30 - 8);
        assert.equal((await fresh(server, 'GET', '/v1/version', { token })).status, 200);
        crowd.leave();
    });

    on('postgres', it)('that is revoked has its streams on other nodes ended too', async () => {
        const node = await start({ config: 'workers: 0\n', db: server.db });
        const { id, token } = await makeToken(server, 'roamer', 'viewer');
        const stream = await until('the other node to know the token', async () => {
            const one = await openStream(`${node.url}/${QUIET}`, { token });
            return one.status === 200 ? one : one.close();
        });
        await server.ok('DELETE', `/v1/tokens/${id}`);
        assert.deepEqual(await stream.all(), []);
        await node.discard();
    });

    it('that expires has its open stream ended', async () => {
        const expiresAt = new Date(Date.now() + 5000).toISOString();
        const { token } = await server.post('/v1/tokens',
            { name: 'guest', role: 'viewer', expiresAt });
        const stream = await open(token);
        assert.deepEqual(await stream.all(), []);
    });

    it('that is revoked has its open stream ended', async () => {
        const { id, token } = await makeToken(server, 'leaver', 'viewer');
        const { token: other } = await makeToken(server, 'stayer', 'viewer');
        const [stream, stays] = [await open(token), await open(other)];
        await server.ok('DELETE', `/v1/tokens/${id}`);
        assert.deepEqual(await stream.all(), []);
        assert.equal(stays.closed, false);
        stays.close();
    });

    it('that is revoked has every kind of stream and wait ended', async () => {
        const { id, token } = await makeToken(server, 'everywhere', 'admin');
        await server.ok('PUT', '/v1/repositories/acme%2Fx',
            { url: '/nowhere.git', agent: { command: ['true'] } });
        const { runId } = await server.post('/v1/tasks',
            { repository: 'acme/x', description: 'waits for a worker' });
        await server.ok('PUT', '/v1/subscriptions/nobody', { pattern: 'asked.*', queue: 'nobody' });
        const stream = await openStream(`${server.url}/v1/runs/${runId}/stream`, { token });
        const waits = [
            poll(token),
            fresh(server, 'POST', '/v1/topics/asked.this/request',
                { token, body: { payload: 1, timeoutMs: 30_000 } }),
        ].map((one) => one.then((res) => res.status, () => 'ended'));
        await server.untilParked(2);
        await server.ok('DELETE', `/v1/tokens/${id}`);
        assert.deepEqual(await Promise.all(waits), ['ended', 'ended']);
        await until('the stream to end', () => stream.closed);
    });
});
