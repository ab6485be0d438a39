// queue_chaos.test.mjs - failures, crashes of consumers and of the server: every message ends where
// its dice say, with its whole history, and in order where order was asked for.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { RFC3339 } from './lib/cloudevents.mjs';
import { CRASH, DONE, consume } from './lib/consumer.mjs';
import { dice } from './lib/dice.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const LONG = Boolean(process.env.DROVER_LONG);
const SEED = Number(process.env.DROVER_SEED ?? (LONG ? randomInt(1e9) : 20261116));
const MESSAGES = LONG ? 3000 : 600;
const KEYS = LONG ? 80 : 40;
const PER_KEY = LONG ? 50 : 25;
const CONSUMERS = 16;
const ATTEMPTS = 5;
const RULES = { maxAttempts: ATTEMPTS, backoff: { baseMs: 10, maxMs: 80, jitterMs: 20 } };

let server;

// What happens to message n at this attempt or lease: the same whenever it is asked.
const roll = (n, what) => dice(SEED ^ Math.imul(n + 1, 0x9e3779b1) ^ Math.imul(what, 0x85ebca6b))();

// One in five fails, four in five of these for a while only.
function failureOf(n, attempt) {
    const drawn = roll(n, attempt);
    if (drawn >= 0.2) return null;
    const retryable = drawn < 0.16;
    const code = retryable ? 'connection_reset' : 'bad_address';
    return { code, message: `attempt ${attempt} of message ${n}`, retryable };
}

// How it has to end, by the dice.
function endOf(n) {
    const dead = (deadReason, attempt) => ({ state: 'dead_letter', deadReason, attempt });
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const failure = failureOf(n, attempt);
        if (!failure) return { state: 'succeeded', deadReason: null, attempt };
        if (!failure.retryable) return dead('non_retryable', attempt);
    }
    return dead('max_attempts', ATTEMPTS);
}

const crashes = (job) => roll(job.payload.n, 1000 + job.epoch) < 0.04;

async function enqueue(jobs) {
    const ids = [];
    for (let i = 0; i < jobs.length; i += 1000) {
        const answer = await server.post('/v1/jobs', { jobs: jobs.slice(i, i + 1000) });
        ids.push(...answer.jobs.map(({ id }) => id));
    }
    return ids;
}

async function countsOf(queue) {
    return (await server.get(`/v1/queues/${queue}`)).jobs;
}

const settled = (jobs) => jobs.succeeded + jobs.dead_letter;

// The server dies when a third is done; ends when all of it is.
async function killInTheMiddle(queue, total) {
    await until('a third of them', async () => settled(await countsOf(queue)) > total / 3);
    await server.crash();
    await server.startAgain();
    await until(`${total} to be settled`,
        async (note) => settled(note(await countsOf(queue))) === total, 60_000, 50);
}

// Consumers at work while the server is killed once; the jobs as they ended, in order.
async function storm(queue, ids, work) {
    let over = false;
    const consuming = consume(server, queue, CONSUMERS, { work }, () => over);
    try {
        await killInTheMiddle(queue, ids.length);
    } finally {
        over = true;
        await consuming;
    }
    const jobs = [];
    for (let i = 0; i < ids.length; i += 50)
        jobs.push(...await Promise.all(ids.slice(i, i + 50).map((id) =>
            server.get(`/v1/jobs/${id}`))));
    return jobs;
}

// One entry for every lease that it had, in order, each with its times, the bad ones with a reason.
function assertHistory({ id, epoch, attempt, lost, state, attempts }) {
    const where = `${id}: ${JSON.stringify(attempts)}`;
    const epochs = Array.from({ length: epoch }, (_, i) => i + 1);
    assert.deepEqual(attempts.map((each) => each.epoch), epochs, where);
    for (const entry of attempts) {
        assert.match(entry.startedAt, RFC3339, where);
        assert.match(entry.endedAt, RFC3339, where);
        assert.equal(entry.error === null, entry.outcome === 'succeeded', where);
    }
    const count = (outcome) => attempts.filter((each) => each.outcome === outcome).length;
    const succeeded = state === 'succeeded' ? 1 : 0;
    assert.equal(count('lost'), lost, where);
    assert.equal(count('failed'), attempt - succeeded, where);
    assert.equal(count('succeeded'), succeeded, where);
}

describe(`queues in a storm (seed ${SEED})`, () => {
    before(async () => {
        const config = 'workers: 0\nlease: {leaseMs: 500, heartbeatMs: 200}\n';
        server = await start({ config });
    });
    after(() => server.discard());

    it('every message ends done or dead, as its dice say, with its whole history', async (t) => {
        const queue = 'chaos';
        await server.ok('PUT', `/v1/queues/${queue}`, RULES);
        const ids = await enqueue(Array.from({ length: MESSAGES }, (_, n) =>
            ({ queue, type: 'call', payload: { n } })));
        const jobs = await storm(queue, ids, (job) =>
            crashes(job) ? CRASH : failureOf(job.payload.n, job.attempt) ?? DONE);
        const dead = new Set();
        let lost = 0;
        jobs.forEach((job, n) => {
            assert.deepEqual({ n: job.payload.n, state: job.state, deadReason: job.deadReason,
                attempt: job.attempt }, { n, ...endOf(n) }, `message ${n}: ${JSON.stringify(job)}`);
            assertHistory(job);
            for (const each of job.attempts.filter(({ outcome }) => outcome === 'failed'))
                assert.equal(each.error.message, `attempt ${each.attempt} of message ${n}`);
            if (job.state === 'dead_letter') dead.add(job.id);
            lost += job.lost;
        });
        const letters = await server.list(`/v1/dead-letters?queue=${queue}&limit=200`);
        assert.deepEqual(new Set(letters.map(({ id }) => id)), dead);
        assert.ok(lost > 0, 'consumers did crash');
        t.diagnostic(`${MESSAGES} messages: ${MESSAGES - dead.size} done, ${dead.size} dead ` +
            `(${(100 - dead.size * 100 / MESSAGES).toFixed(1)} %, 95.2 % by the odds); ` +
            `${lost} leases lost, the server killed once`);
    });

    it('messages of a key are done in order by 16 that compete and crash', async (t) => {
        const queue = 'ordered';
        await server.ok('PUT', `/v1/queues/${queue}`, { ...RULES, maxAttempts: 50 });
        const total = KEYS * PER_KEY;
        const ids = await enqueue(Array.from({ length: total }, (_, n) =>
            ({ queue, type: 'call', payload: { n }, orderingKey: `key-${n % KEYS}` })));
        const effects = []; // In the order in which they were had.
        const jobs = await storm(queue, ids, (job) => {
            if (crashes(job)) return CRASH;
            if (roll(job.payload.n, job.attempt) < 0.1)
                return { code: 'connection_reset', message: 'again', retryable: true };
            effects.push({ n: job.payload.n, epoch: job.epoch });
            return DONE;
        });
        jobs.forEach(assertHistory);
        assert.ok(jobs.every(({ state }) => state === 'succeeded'));
        // What a lease did that was lost before it could say so, another one does again.
        const counted = effects.filter(({ n, epoch }) => jobs[n].epoch === epoch);
        const again = effects.length - counted.length;
        const lost = jobs.reduce((sum, job) => sum + job.lost, 0);
        assert.equal(counted.length, total);
        assert.ok(again <= lost, `${again} repeats, ${lost} leases lost`);
        for (let key = 0; key < KEYS; key++)
            assert.deepEqual(counted.map(({ n }) => n).filter((n) => n % KEYS === key),
                Array.from({ length: PER_KEY }, (_, i) => key + i * KEYS), `order of key ${key}`);
        t.diagnostic(`${KEYS} keys of ${PER_KEY}: ${lost} leases lost, ${again} done again`);
    });
});

describe('a thousand at once', () => {
    const queue = 'bulk';
    const refs = (jobs) => jobs.map(({ id, epoch }) => ({ id, epoch }));
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('are taken in one durable commit, kept, and settled in one call', async () => {
        const ids = await enqueue(Array.from({ length: 1000 }, (_, n) =>
            ({ queue, type: 'call', payload: { n } })));
        await server.crash(); // They were acknowledged.
        await server.startAgain();
        assert.equal((await countsOf(queue)).queued, 1000);
        const { jobs } = await server.post('/v1/jobs/lease',
            { queues: [queue], worker: 'w', max: 1000, leaseMs: 60_000 });
        assert.deepEqual(jobs.map(({ id }) => id), ids);
        const { leases } = await server.post('/v1/jobs/heartbeat',
            { worker: 'w', leases: refs(jobs), extendMs: 60_000 });
        assert.equal(leases.filter(({ ok }) => ok).length, 1000);
        const error = { code: 'no', message: 'not this one', retryable: false };
        const failed = await server.post('/v1/jobs/fail',
            { jobs: refs(jobs.slice(0, 300)).map((ref) => ({ ...ref, error })) });
        const done = await server.post('/v1/jobs/complete', { jobs: refs(jobs.slice(300)) });
        assert.ok([...failed.jobs, ...done.jobs].every(({ ok }) => ok));
        const { succeeded, dead_letter: dead } = await countsOf(queue);
        assert.deepEqual({ succeeded, dead }, { succeeded: 700, dead: 300 });
    });

    it('are taken whole or not at all', async () => {
        const jobs = Array.from({ length: 1000 }, () => ({ queue: 'whole', type: 'call' }));
        jobs[999].priority = -1;
        assertProblem(await server.call('POST', '/v1/jobs', { body: { jobs } }), 422);
        jobs[999].priority = 0;
        await server.ok('PUT', '/v1/queues/whole', { maxLength: 999 });
        assertProblem(await server.call('POST', '/v1/jobs', { body: { jobs } }), 429);
        assert.equal((await countsOf('whole')).queued, 0);
    });
});
