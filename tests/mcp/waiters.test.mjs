// waiters.test.mjs - 10,000 agents that wait in get_next_task cost memory, little of it, and no
// time of the processor; and all of them are still there when work comes.
//
// DROVER_WAITERS=1000 makes it smaller.  It needs that many open files, twice.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pullRepository, queueOf } from '../e2e/lib/mcp_work.mjs';
import { meta } from '../e2e/lib/mcp_stdio.mjs';
import { start } from '../e2e/lib/server.mjs';
import { until } from '../e2e/lib/wait.mjs';

const WAITERS = Number(process.env.DROVER_WAITERS ?? 10_000);
const MEMORY_MB_MAX = 120;
const WAIT_MS = 30_000; // The longest that a server lets a client wait.
const WINDOW_MS = 10_000;
const AT_ONCE = 200;
const TICKS_PER_SECOND = 100;

let server, repo;

// A connection that is kept: ask() sends a request on it, `text` has what came.
class Waiter {
    static async open(url) {
        const { hostname, port } = new URL(url);
        const waiter = new Waiter();
        waiter.socket = net.connect(Number(port), hostname);
        await new Promise((resolve, reject) =>
            waiter.socket.once('connect', resolve).once('error', reject));
        waiter.text = '';
        waiter.socket.setEncoding('utf8').on('data', (text) => (waiter.text += text));
        waiter.socket.on('error', () => {});
        return waiter;
    }

    ask(method, params) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method,
            params: { ...params, _meta: meta() } });
        const name = params.name ? `Mcp-Name: ${params.name}\r\n` : '';
        this.socket.write(`POST /mcp HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\n` +
            `Authorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n` +
            'Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n' +
            `Mcp-Method: ${method}\r\n${name}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n` +
            body);
    }
}

async function openAll() {
    const all = [];
    for (let left = WAITERS; left > 0; left -= AT_ONCE)
        all.push(...await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) },
            () => Waiter.open(server.url))));
    return all;
}

const parked = async () => Number(/^drover_committer_parked (\d+)/m.exec(
    (await server.call('GET', '/metrics')).text)[1]);

// What the server takes: memory in MB, and ticks of the processor so far.
function costs() {
    const { pid } = server.child;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return { megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024,
        ticks: Number(fields[11]) + Number(fields[12]) };
}

describe(`${WAITERS} agents that wait`, () => {
    before(async () => {
        const config = `limits: {connections: ${WAITERS + 500}}\n`;
        server = await start({ args: ['--workers', '1'], config });
        repo = await pullRepository(server, 'acme/idle');
    });
    after(() => server.discard());

    it('cost little memory and no time, and the first of them is woken', async (t) => {
        const before = costs();
        const waiters = await openAll();
        t.after(() => waiters.forEach(({ socket }) => socket.destroy()));
        const args = { queue: queueOf(repo.name), waitMs: WAIT_MS, leaseMs: 60_000 };
        const params = { name: 'get_next_task', arguments: args };
        const rest = await parked();
        const begun = Date.now();
        waiters.forEach((waiter) => waiter.ask('tools/call', params));
        await until('all wait', async (note) => note(await parked()) - rest >= WAITERS);
        const full = Date.now() - begun;
        const first = costs();
        const from = Date.now();
        await sleep(Math.max(1000, Math.min(WINDOW_MS, WAIT_MS - full - 3000)));
        const last = costs();
        const seconds = (Date.now() - from) / 1000;
        const percent = (last.ticks - first.ticks) / TICKS_PER_SECOND / seconds * 100;
        t.diagnostic(`${before.megabytes.toFixed(1)} MB alone, ${last.megabytes.toFixed(1)} MB ` +
            `with ${WAITERS} waiters (${full} ms until all waited), ` +
            `${percent.toFixed(2)} % of a processor in ${seconds.toFixed(1)} s`);
        assert.ok(waiters.every(({ text }) => text === ''), 'all still wait');
        assert.ok(last.megabytes <= MEMORY_MB_MAX, `${last.megabytes} MB`);
        assert.ok(percent < 1, `${percent} %`);
        const { taskId } = await server.submit(repo.name);
        const got = () => waiters.filter(({ text }) => text.includes(taskId));
        await until('one has the task', () => {
            // On a slow machine their time is over before: agents ask again.
            for (const waiter of waiters.filter(({ text }) => text.includes('"claim":null'))) {
                waiter.text = '';
                waiter.ask('tools/call', params);
            }
            return got().length > 0;
        });
        assert.equal(got().length, 1);
        await server.post(`/v1/tasks/${taskId}/cancel`);
    });
});
