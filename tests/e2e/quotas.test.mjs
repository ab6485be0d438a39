// quotas.test.mjs - what one tenant may take of memory, disk and log, so that others get theirs.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertProblem, rawExchange, rawStatus } from './lib/http.mjs';
import { BIN, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const MIB = 1024 * 1024;
const BYTES = { 'content-type': 'application/octet-stream' };
const sha256Of = (bytes) => createHash('sha256').update(bytes).digest('hex');
const sanitized = /san/.test(BIN);

const CONFIG = `
limits:
  maxRunEvents: 300
  eventBytesPerSecond: 65536
  eventBytesBurst: 262144
  spoolBytes: 268435456
  requestSeconds: 600
`;

let server, token;

function rss() {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)[1]) * 1024;
}

// A request of which only some bytes come, and then one byte a second where it trickles.
function unfinished(head, { bearer, sent = 0, trickles = false }) {
    const { hostname, port } = new URL(server.url);
    const socket = net.connect(Number(port), hostname);
    const upload = { socket, answer: '' };
    socket.on('error', () => {});
    socket.on('data', (part) => { upload.answer += part.toString('latin1'); });
    socket.write(`${head}\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\n\r\n`);
    if (sent > 0) socket.write(Buffer.alloc(sent, 'x'));
    const timer = trickles ? setInterval(() => socket.write('x'), 1000) : undefined;
    upload.closed = new Promise((resolve) => {
        socket.on('close', () => {
            clearInterval(timer);
            resolve();
        });
    });
    return upload;
}

const unfinishedPut = (bytes, options) => unfinished(
    `PUT /v1/artifacts/${'0'.repeat(64)} HTTP/1.1\r\nContent-Length: ${bytes}`, options);

async function spoolMetric(name) {
    const { text } = await server.call('GET', '/metrics');
    return Number(new RegExp(`^drover_spool_${name} (\\d+)$`, 'm').exec(text)[1]);
}

const putSmall = (bearer) => server.call('PUT',
    `/v1/artifacts/${sha256Of(Buffer.alloc(100_000))}`,
    { body: Buffer.alloc(100_000), headers: { ...BYTES, connection: 'close' }, token: bearer });

// In chunks of odd sizes, as the stream gives them.
function putChunked(path, content) {
    return new Promise((resolve, reject) => {
        const req = http.request(server.url + path, { method: 'PUT', agent: server.agent,
            headers: { authorization: `Bearer ${token}`, ...BYTES } });
        req.on('error', reject);
        req.on('response', (res) => {
            res.resume();
            res.on('end', () => resolve({ status: res.statusCode }));
        });
        for (let at = 0, size = 1; at < content.length; at += size, size = size * 3 + 1)
            req.write(content.subarray(at, at + size));
        req.end();
    });
}

async function leaseFar(name, runs = 1) {
    const queue = name.replace('/', '-');
    await server.repository(name, '', { agent: { compute: 'pull', queue } });
    const tasks = [];
    for (let i = 0; i < runs; i++) tasks.push(await server.submit(name));
    const body = { queues: [queue], worker: 'far', max: 1, waitMs: 5000, leaseMs: 600_000 };
    const job = await until(`work in ${queue}`, async () =>
        (await server.post('/v1/jobs/lease', body)).jobs[0]);
    return { job, ...tasks[0] };
}

const messages = (count, text = 'x') => Array.from({ length: count },
    () => ({ type: 'agent.step.recorded', data: { text } }));

describe('quotas', { concurrency: 1 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '2'], config: CONFIG });
        ({ token } = await server.post('/v1/tokens', { name: 'far', role: 'worker' }));
    });
    after(() => server.discard());

    it('keeps memory flat under unfinished uploads, and their space within a budget', async () => {
        const { token: other } = await server.post('/v1/tokens', { name: 'other', role: 'worker' });
        const { token: third } = await server.post('/v1/tokens', { name: 'third', role: 'worker' });
        const before = rss();
        // Of 256 MiB a quarter is for admins.  One token gets half of the rest, the next one half
        // of what that leaves.
        const open = [];
        const fill = async (size, bearer) => {
            for (let i = 0; i < 3; i++)
                open.push(unfinishedPut(size, { bearer, sent: size - 65_000, trickles: true }));
            const sum = (size === 32 * MIB ? 96 : 144) * MIB;
            await until('all of it to be reserved', async () =>
                await spoolMetric('reserved_bytes') === sum);
        };
        await fill(32 * MIB, token);
        await fill(16 * MIB, other);
        if (!sanitized) assert.ok(rss() - before < 32 * MIB, `grew by ${rss() - before}`);
        const full = await putSmall(token);
        assertProblem(full, 429, { code: 'UPLOAD_QUOTA' });
        assert.ok(Number(full.headers['retry-after']) > 0);
        assertProblem(await putSmall(other), 503, { code: 'SPOOL_FULL' });
        assert.equal((await putSmall(third)).status, 201, 'a third token has a share');
        assert.equal((await putSmall(server.token)).status, 201, 'the admin has a share');
        const growing = unfinished(`PUT /v1/artifacts/${'0'.repeat(64)} HTTP/1.1\r\n` +
            'Transfer-Encoding: chunked', { bearer: other });
        growing.socket.write('5\r\nhello\r\n');
        await growing.closed;
        assert.equal(rawStatus(growing.answer), 503, growing.answer);
        assert.match(growing.answer, /^retry-after: \d/im);
        for (const { socket } of open) socket.destroy();
        await until('all of it to be free', async () => (await putSmall(other)).status === 201);
        assert.deepEqual(readdirSync(join(server.data, 'spool')), []);
    });

    it('reserves no space for announced bytes, and ends uploads that bring none', async () => {
        const open = [];
        for (const name of ['bound-1', 'bound-2']) {
            const { token: bearer } = await server.post('/v1/tokens',
                { name, role: 'worker', queues: ['some'] });
            for (let i = 0; i < 2; i++) open.push(unfinishedPut(64 * MIB, { bearer }));
        }
        await until('the heads to be read', async () => await spoolMetric('files') === 4);
        assert.equal((await putSmall(token)).status, 201);
        assert.equal((await putSmall(server.token)).status, 201);
        for (const { closed } of open) await closed;
        for (const { answer } of open) assert.equal(rawStatus(answer), 408, answer);
        assert.equal(await spoolMetric('files'), 0);
    });

    it('spools nothing for a path or a method that takes no body', async () => {
        const { token: bearer } = await server.post('/v1/tokens', { name: 'eye', role: 'viewer' });
        const length = `Content-Length: ${MIB}`;
        for (const [line, status] of [['POST /v1/nowhere', 404], ['PATCH /v1/tasks', 413],
            ['GET /v1/tasks', 413], ['GET /healthz', 413], ['POST /v1/tasks', 403]]) {
            for (const as of [bearer, server.token]) {
                if (status === 403 && as === server.token) continue;
                const text = await rawExchange(server.url, `${line} HTTP/1.1\r\nHost: x\r\n` +
                    `Authorization: Bearer ${as}\r\n${length}\r\n\r\n`);
                assert.equal(rawStatus(text), status, `${line}: ${text}`);
            }
        }
        const chunked = (line) => `${line} HTTP/1.1\r\nTransfer-Encoding: chunked`;
        const silent = unfinished(chunked('POST /v1/nowhere'), { bearer });
        const body = `4000\r\n${'x'.repeat(0x4000)}\r\n0\r\n\r\n`;
        const text = await rawExchange(server.url, `${chunked('POST /v1/nowhere')}\r\nHost: x\r\n` +
            `Authorization: Bearer ${bearer}\r\n\r\n${body}`);
        assert.equal(rawStatus(text), 413, text);
        assert.equal(await spoolMetric('files'), 0);
        silent.socket.write('1\r\nx\r\n0\r\n\r\n');
        await until('its answer', () => rawStatus(silent.answer) === 404);
        silent.socket.destroy();
    });

    it('stores what went through a file, with a length and chunked', async () => {
        for (const chunked of [false, true]) {
            const content = randomBytes(3 * MIB + 17);
            const path = `/v1/artifacts/${sha256Of(content)}`;
            const put = chunked ? putChunked : (to, body) =>
                server.call('PUT', to, { body, headers: BYTES, token });
            assert.equal((await put(path, content)).status, 201);
            const back = await server.call('GET', path, { token });
            assert.ok(back.bytes.equals(content));
            assert.equal((await put(path, content)).status, 201, 'again is fine');
            const wrong = await put(`/v1/artifacts/${'1'.repeat(64)}`, content);
            assert.equal(wrong.status, 422);
        }
    });

    it('refuses a malformed chunked body and goes on', async () => {
        const text = await rawExchange(server.url,
            `PUT /v1/artifacts/${'0'.repeat(64)} HTTP/1.1\r\nHost: x\r\n` +
            `Authorization: Bearer ${token}\r\nTransfer-Encoding: chunked\r\n\r\nfrog\r\n`);
        assert.equal(rawStatus(text), 400, text);
    });

    it('bounds the events of a run, and counts turns beyond', async () => {
        const { job, runId } = await leaseFar('acme/loud');
        const tell = async (events) => (await server.post('/v1/jobs/progress',
            { jobs: [{ id: job.id, epoch: job.epoch, events }] })).jobs[0];
        assert.equal((await tell(messages(200))).code, undefined);
        const over = await tell(messages(200));
        assert.deepEqual([over.ok, over.code], [true, 'EVENT_BUDGET']);
        for (let i = 0; i < 5; i++) await tell(messages(200, 'y'.repeat(1000)));
        const turn = { type: 'agent.model.turn.completed', data: { turns: 9, costUsd: 0.5 } };
        assert.equal((await tell([turn])).code, 'EVENT_BUDGET');
        const types = (await server.events(runId)).map(({ type }) => type);
        const count = (type) => types.filter((each) => each === type).length;
        assert.equal(count('agent.step.recorded'), 300);
        assert.equal(count('agent.events.truncated'), 1);
        const run = await server.run(runId);
        assert.deepEqual([run.turns, run.costUsd], [9, 0.5]);
        const done = await server.post('/v1/jobs/complete', { jobs: [{ id: job.id,
            epoch: job.epoch, result: { status: 'error', error: 'enough' } }] });
        assert.equal(done.jobs[0].ok, true);
    });

    it('bounds the bytes of events that a token reports', async () => {
        const { job } = await leaseFar('acme/fast');
        const body = { jobs: [{ id: job.id, epoch: job.epoch,
            events: messages(60, 'z'.repeat(1000)) }] };
        let limited;
        for (let i = 0; i < 50 && !limited; i++) {
            const res = await server.call('POST', '/v1/jobs/progress', { body, token });
            if (res.status !== 200) limited = res;
        }
        assertProblem(limited, 429, { code: 'EVENT_QUOTA' });
        assert.ok(Number(limited.headers['retry-after']) >= 1);
        assert.ok(limited.json.retryAfterMs > 0);
        const beat = { worker: 'far', leases: [{ id: job.id, epoch: job.epoch }] };
        const other = await server.call('POST', '/v1/jobs/heartbeat', { body: beat, token });
        assert.equal(other.status, 200, 'what stores nothing is not metered');
        const admin = await server.call('POST', '/v1/jobs/progress', { body });
        assert.equal(admin.status, 200, 'the admin is not metered');
        await until('the bucket to fill', async () =>
            (await server.call('POST', '/v1/jobs/progress', { body, token })).status === 200);
    });

    it('lists with a filter that matches nothing in bounded steps', async () => {
        const jobs = Array.from({ length: 100 },
            () => ({ queue: 'bulk', type: 'one', payload: {} }));
        for (let i = 0; i < 101; i++) await server.post('/v1/jobs', { jobs });
        const path = '/v1/jobs?type=absent';
        const first = await server.get(path);
        assert.deepEqual(first.items, []);
        assert.ok(first.cursor, 'it says where to go on');
        let cursor = first.cursor, steps = 1;
        for (; cursor && steps < 20; steps++)
            ({ cursor } = await server.get(`${path}&cursor=${cursor}`));
        assert.equal(cursor, null);
        assert.equal(steps, 2);
    });
});
