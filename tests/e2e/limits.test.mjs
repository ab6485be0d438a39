// limits.test.mjs - clients and agents that want too much: the server stays responsive and bounded
// in memory, of which a sanitizer takes its own.
// The figures are printed as diagnostics.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const SANITIZED = /\/san\//.test(process.env.DROVER_BIN ?? '');
const CONNECTIONS = 5000;
const COMMANDS = 100_000;
const PER_CALL = 10; // Jobs; each call is one command.
const RSS_MAX_MB = SANITIZED ? 1500 : 200;

const config = `workers: 0
log: {level: error}
limits: {connections: ${CONNECTIONS + 200}, requestSeconds: 2}
`;

describe('a server under', () => {
    let server;
    before(async () => (server = await start({ config })));
    after(() => server.discard());

    const rssMb = () => {
        const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
        return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
    };

    const connect = () => new Promise((resolve, reject) => {
        const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
        socket.on('connect', () => resolve(socket));
        socket.on('error', reject);
    });

    const postHead = () => 'POST /v1/tasks HTTP/1.1\r\nHost: x\r\n'
        + `Authorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n`;

    // Everybody else is still served, and memory is within bounds.
    async function assertWell(t, what) {
        const began = process.hrtime.bigint();
        assert.equal((await server.call('GET', '/v1/tasks')).status, 200);
        const ms = Number(process.hrtime.bigint() - began) / 1e6;
        const rss = rssMb();
        t.diagnostic(`${what}: ${rss.toFixed(1)} MB resident, a request takes ${ms.toFixed(1)} ms`);
        assert.ok(rss < RSS_MAX_MB, `${rss} MB`);
    }

    it('a client that sends a byte every half second cuts it off', async (t) => {
        const socket = await connect();
        const closed = new Promise((resolve) => socket.on('close', resolve));
        socket.on('error', () => {});
        const text = 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ';
        let sent = 0;
        const timer = setInterval(() => socket.write(text[sent++] ?? 'a'), 500);
        await closed;
        clearInterval(timer);
        assert.ok(sent < text.length + 1, `${sent} bytes were waited for`);
        await assertWell(t, 'a slow client');
    });

    it(`${CONNECTIONS} connections serves everybody`, async (t) => {
        const sockets = [];
        for (let i = 0; i < CONNECTIONS; i++) sockets.push(await connect());
        await assertWell(t, `${CONNECTIONS} idle connections`);
        for (const socket of sockets) socket.destroy();
    });

    it('a body of 1 GB refuses it at once', async (t) => {
        const before = rssMb();
        const socket = await connect();
        let answer = '';
        socket.on('data', (part) => (answer += part));
        socket.on('error', () => {});
        socket.write(`${postHead()}Content-Length: 1000000000\r\n\r\n`);
        await until('the refusal', () => answer.startsWith('HTTP/1.1 413'));
        socket.destroy();
        // A sanitizer keeps what is freed for a while, such as the connections of before.
        if (!SANITIZED) assert.ok(rssMb() - before < 20);
        await assertWell(t, 'a body of 1 GB');
    });

    it('a body without an end cuts it off', async (t) => {
        const socket = await connect();
        let open = true;
        socket.on('close', () => (open = false));
        socket.on('error', () => {});
        socket.on('data', () => {});
        socket.write(`${postHead()}Transfer-Encoding: chunked\r\n\r\n`);
        const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
        let sent = 0;
        while (open && sent < 1e9) {
            sent += chunk.length;
            if (!socket.write(chunk))
                await Promise.race([new Promise((r) => socket.once('drain', r)),
                    new Promise((r) => socket.once('close', r))]);
        }
        assert.ok(!open, 'it was still listening after 1 GB');
        await assertWell(t, `an endless body, cut off after ${(sent / 1e6).toFixed(1)} MB`);
    });

    it('a reader that never reads its stream, and a flood of commands', async (t) => {
        const stuck = await connect();
        stuck.write(`GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n`
            + `Authorization: Bearer ${server.token}\r\n\r\n`);
        stuck.pause();
        const jobs = Array.from({ length: PER_CALL }, () =>
            ({ queue: 'flood', type: 't', payload: { a: 'x'.repeat(100) } }));
        let peak = 0, busy = 0, sent = 0;
        const flood = async () => {
            while (sent < COMMANDS / PER_CALL) {
                sent++;
                const { status } = await server.call('POST', '/v1/jobs', { body: { jobs } });
                if (status === 503) busy++;
                else assert.equal(status, 201);
                if (sent % 500 === 0) peak = Math.max(peak, rssMb());
            }
        };
        await Promise.all(Array.from({ length: 64 }, flood));
        t.diagnostic(`${COMMANDS} jobs in ${sent} calls on 64 connections: ${busy} told to come `
            + `again, at most ${peak.toFixed(1)} MB resident`);
        await assertWell(t, 'after the flood');
        stuck.destroy();
    });
});

describe('a server whose agent', () => {
    it('prints 1 GB is none the worse for it', async (t) => {
        const server = await start({ args: ['--workers', '1'] });
        try {
            const repo = await server.repository('acme/loud',
                `head -c 1000000000 /dev/zero\n${fixes}`);
            const { runId } = await server.finish(repo.name, 'completed');
            const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
            const peakMb = Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024;
            t.diagnostic(`at most ${peakMb.toFixed(1)} MB resident`);
            assert.ok(peakMb < (SANITIZED ? RSS_MAX_MB : 150), `${peakMb} MB`);
            assert.ok((await server.events(runId)).length < 200);
        } finally {
            await server.discard();
        }
    });
});
