// queue_flood.test.mjs - more than can be done at once: what is urgent goes first, and a backlog
// drains at the rate that was set.
//
// Order and rate are judged by the server's own clock, as it stands in the jobs: nothing here
// depends on how fast the machine is.  The numbers for people are printed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DONE, consume } from './lib/consumer.mjs';
import { ENGINE } from './lib/database.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

// On PostgreSQL the same with less.
const LESS = ENGINE === 'postgres' ? 5 : 1;
const FLOOD = (process.env.DROVER_LONG ? 100_000 : 20_000) / LESS;
const BACKLOG = 10_000 / LESS;
const RATE = 2_500 / LESS;
const CONSUMERS = 8;
const LEASE_MS = 30_000;
const CRITICAL = 0;
const LOW = 500;

let server;

const ms = (time) => Date.parse(time);
// When the server gave it out.
const leasedMs = (job) => ms(job.leaseUntil) - LEASE_MS;
const percentile = (sorted, part) => sorted[Math.floor((sorted.length - 1) * part)];

async function enqueue(queue, from, count, priority) {
    const jobs = Array.from({ length: count }, (_, i) =>
        ({ queue, type: 'call', payload: { n: from + i, at: Date.now() }, priority }));
    return (await server.post('/v1/jobs', { jobs })).jobs.map(({ id }) => id);
}

async function enqueueMany(queue, count, priority) {
    const ids = [];
    for (let i = 0; i < count; i += 1000)
        ids.push(...await enqueue(queue, i, Math.min(1000, count - i), priority));
    return ids;
}

// Consumers that note each job and when they had it, until so many were done.
function drain(queue, total, max) {
    const seen = [];
    const work = (job) => {
        seen.push({ ...job, hadMs: Date.now() });
        return DONE;
    };
    const done = consume(server, queue, CONSUMERS, { work, max, leaseMs: LEASE_MS },
        () => seen.length >= total());
    return { seen, done };
}

describe('more than can be done at once', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('does not hold up what is critical', async (t) => {
        const queue = 'flood';
        await enqueue(queue, 0, 1000, LOW); // There is always more than they can do.
        const critical = [];
        let total = FLOOD;
        const { seen, done } = drain(queue, () => total, 20);
        let failed = false;
        done.catch(() => (failed = true));
        const began = Date.now();
        const flood = enqueueMany(queue, FLOOD - 1000, LOW);
        while (seen.length < FLOOD * 0.8 && !failed) {
            critical.push(...await enqueue(queue, critical.length, 1, CRITICAL));
            total++;
            await sleep(5);
        }
        await Promise.all([flood, done]);
        const seconds = (Date.now() - began) / 1000;
        assert.equal(seen.length, total);
        assert.equal(new Set(seen.map(({ id }) => id)).size, total, 'each of them once');

        const wanted = new Set(critical);
        const urgent = seen.filter(({ id }) => wanted.has(id));
        // Several writers at once do not see each other: there is no one order to hold them to.
        if (ENGINE === 'sqlite')
            await assertFirst(urgent, seen.filter(({ id }) => !wanted.has(id)));
        const waits = urgent.map(({ hadMs, payload }) => hadMs - payload.at).sort((a, b) => a - b);
        t.diagnostic(`${FLOOD} low at ${Math.round(FLOOD / seconds)}/s; ` +
            `${urgent.length} critical among them: p50 ${percentile(waits, 0.5)} ms, ` +
            `p99 ${percentile(waits, 0.99)} ms`);
    });

    it('drains after an outage at the rate that was set', async (t) => {
        const queue = 'backlog';
        await server.ok('PUT', `/v1/queues/${queue}`, { ratePerSecond: RATE });
        const ids = await enqueueMany(queue, BACKLOG, 100);
        await server.crash();
        await server.startAgain();
        const began = Date.now();
        const { seen, done } = drain(queue, () => BACKLOG, 100);
        await done;
        const seconds = (Date.now() - began) / 1000;
        assert.equal(seen.length, BACKLOG);
        assert.deepEqual(seen.map(({ id }) => id).sort(), [...ids].sort(), 'each of them once');
        await until('all to be done', async (note) =>
            note(await server.get(`/v1/queues/${queue}`)).jobs.succeeded === BACKLOG);
        assertRate(seen.map(leasedMs), RATE, RATE / 10);
        t.diagnostic(`${BACKLOG} drained at ${Math.round(BACKLOG / seconds)}/s; ` +
            `the rate is ${RATE}/s`);
    });
});

// No other one was given out after an urgent one had come and before that was given out.
async function assertFirst(urgent, others) {
    const times = others.map(leasedMs);
    for (const job of urgent) {
        const cameMs = ms((await server.get(`/v1/jobs/${job.id}`)).createdAt);
        const between = times.filter((at) => at > cameMs && at < leasedMs(job));
        assert.equal(between.length, 0, `${between.length} went before ${job.id}`);
    }
}

// In no stretch of time more than the rate allows in it, and a burst.  Times are cut to the
// millisecond, so that a stretch may be one longer than it seems.
function assertRate(times, rate, burst) {
    const sorted = times.sort((a, b) => a - b);
    let least = Infinity; // Of i - rate * time, over all beginnings.
    sorted.forEach((at, i) => {
        least = Math.min(least, i - rate * at / 1000);
        const most = i + 1 - rate * at / 1000 - least; // Beyond the rate, in the worst stretch.
        assert.ok(most <= burst + rate / 1000 + 1, `${most} beyond the rate at ${at}`);
    });
}
