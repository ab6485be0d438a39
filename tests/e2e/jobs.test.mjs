// jobs.test.mjs - the protocol of workers: enqueue, lease, heartbeat, complete, fail.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { RFC3339, UUID } from './lib/cloudevents.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

let server;
let queues = 0;
const newQueue = () => `test.q${++queues}`;
// A queue whose jobs wait for their next try as long as a look takes on a slow machine.
async function newPatientQueue() {
    const queue = newQueue();
    const backoff = { baseMs: 1500, maxMs: 1500, jitterMs: 0 };
    await server.ok('PUT', `/v1/queues/${queue}`, { backoff });
    return queue;
}
const nobody = '0190b6a0-0000-7000-8000-000000000000';

// Enqueues payloads with the same options; the ids in order.
async function enqueue(queue, payloads, options = {}) {
    const jobs = payloads.map((payload) => ({ queue, type: 'work', payload, ...options }));
    const answer = await server.post('/v1/jobs', { jobs });
    assert.equal(answer.jobs.length, payloads.length);
    return answer.jobs.map((job) => job.id);
}

async function lease(queue, { worker = 'w1', max = 1, waitMs = 0, leaseMs = 60_000 } = {}) {
    const body = { queues: [queue].flat(), worker, max, waitMs, leaseMs };
    return (await server.post('/v1/jobs/lease', body)).jobs;
}

// Waits as a long-poll, so that a due job comes as soon as it is due.
async function leaseOne(queue, options = {}) {
    const [job] = await until(`a job of ${queue}`, async () => {
        const jobs = await lease(queue, { waitMs: 10_000, ...options });
        return jobs.length > 0 ? jobs : null;
    });
    return job;
}

async function complete({ id, epoch }, result = { done: true }) {
    return (await server.post('/v1/jobs/complete', { jobs: [{ id, epoch, result }] })).jobs[0];
}

async function fail({ id, epoch }, { code = 'E_TEST', message = 'no', retryable = true } = {}) {
    const error = { code, message, retryable };
    return (await server.post('/v1/jobs/fail', { jobs: [{ id, epoch, error }] })).jobs[0];
}

async function heartbeat({ id, epoch }, extendMs = 60_000, worker = 'w1') {
    const body = { worker, leases: [{ id, epoch }], extendMs };
    return (await server.post('/v1/jobs/heartbeat', body)).leases[0];
}

const job = (id) => server.get(`/v1/jobs/${id}`);

describe('a job', { concurrency: 8 }, () => {
    before(async () => {
        // A node that starts lets every lease live for one length.
        const config = 'lease: {leaseMs: 2000, heartbeatMs: 500}\n';
        server = await start({ args: ['--workers', '1'], config });
    });
    after(() => server.discard());

    it('goes from enqueue over lease to complete, payload and result unchanged', async () => {
        const queue = newQueue();
        const payload = { text: '\u00fc \u2603', n: 12345678901234, f: 0.1, deep: { a: [null] } };
        const [id] = await enqueue(queue, [payload]);
        assert.match(id, UUID);
        assert.equal((await job(id)).state, 'queued');
        const [leased] = await lease(queue);
        assert.deepEqual(leased.payload, payload);
        assert.deepEqual([leased.id, leased.queue, leased.type, leased.attempt],
            [id, queue, 'work', 1]);
        assert.ok(leased.epoch >= 1);
        assert.match(leased.leaseUntil, RFC3339);
        assert.equal((await job(id)).state, 'leased');
        assert.deepEqual(await complete(leased, { answer: 42 }), { id, ok: true });
        const settled = await job(id);
        assert.equal(settled.state, 'succeeded');
        assert.deepEqual(settled.result, { answer: 42 });
        assert.deepEqual(await lease(queue), []);
    });

    it('comes in a batch: all in one call, leased in order, as many as asked for', async () => {
        const queue = newQueue();
        const payloads = Array.from({ length: 100 }, (_, i) => ({ i }));
        await enqueue(queue, payloads);
        const first = await lease(queue, { max: 30 });
        const second = await lease(queue, { max: 100 });
        assert.equal(first.length, 30);
        assert.deepEqual([...first, ...second].map((each) => each.payload.i),
            payloads.map(({ i }) => i));
        const jobs = [...first, ...second].map(({ id, epoch }) => ({ id, epoch }));
        const answer = await server.post('/v1/jobs/complete', { jobs });
        assert.ok(answer.jobs.every((each) => each.ok));
    });

    it('of a batch with one bad job is not enqueued, nor are the others', async () => {
        const queue = newQueue();
        const jobs = [{ queue, type: 'work', payload: {} }, { queue, type: 'work', priority: 'x' }];
        const res = await server.call('POST', '/v1/jobs', { body: { jobs } });
        assertProblem(res, 422, { field: 'jobs[1].priority' });
        assert.deepEqual(await lease(queue), []);
    });

    it('is not there: the lease answers empty after its time', async () => {
        const began = Date.now();
        assert.deepEqual(await lease(newQueue(), { waitMs: 300 }), []);
        assert.ok(Date.now() - began >= 290, 'it waited');
        assert.deepEqual(await lease(newQueue(), { waitMs: 0 }), []);
    });

    it('can be in any of the queues of a lease', async () => {
        const [one, two] = [newQueue(), newQueue()];
        await enqueue(two, [{}]);
        assert.equal((await lease([one, two]))[0].queue, two);
    });

    it('stays leased as long as heartbeats come', async () => {
        await withRoom(2000, async (leaseMs) => {
            const queue = newQueue();
            await enqueue(queue, [{}]);
            let began = Date.now();
            const [leased] = await lease(queue, { leaseMs });
            for (let i = 0; i < 6; i++) {
                const other = await lease(queue, { worker: 'w2', waitMs: leaseMs / 4 });
                const beat = await heartbeat(leased, leaseMs);
                if (Date.now() - began >= leaseMs) throw new TooSlow('a heartbeat was late');
                assert.deepEqual(other, []);
                assert.deepEqual([beat.id, beat.ok, beat.cancel], [leased.id, true, false]);
                began = Date.now();
            }
            const { ok } = await complete(leased);
            if (Date.now() - began >= leaseMs) throw new TooSlow('the end was late');
            assert.equal(ok, true);
        });
    });

    it('goes to another worker when its lease ran out, and the first one has lost it', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [{}]);
        const [first] = await lease(queue, { leaseMs: 200 });
        const second = await leaseOne(queue, { worker: 'w2' });
        assert.equal(second.id, id);
        assert.ok(second.epoch > first.epoch);
        assert.equal(second.attempt, first.attempt, 'a lost lease gives the attempt back');
        const late = await complete(first);
        assert.deepEqual([late.ok, late.code], [false, 'LEASE_LOST']);
        const beat = await heartbeat(first);
        assert.deepEqual([beat.ok, beat.code], [false, 'LEASE_LOST']);
        const failed = await fail(first);
        assert.deepEqual([failed.ok, failed.code], [false, 'LEASE_LOST']);
        assert.equal((await complete(second, { by: 'w2' })).ok, true);
        assert.deepEqual((await job(id)).result, { by: 'w2' });
    });

    it('is completed once: a repeated word changes nothing, another one is refused', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [{}]);
        const [leased] = await lease(queue);
        assert.equal((await complete(leased, { n: 1 })).ok, true);
        assert.equal((await complete(leased, { n: 2 })).ok, true, 'its answer may have been lost');
        assert.deepEqual((await job(id)).result, { n: 1 });
        const failed = await fail(leased);
        assert.deepEqual([failed.ok, typeof failed.code], [false, 'string']);
        assert.equal((await complete({ id, epoch: leased.epoch + 1 })).ok, false);
        const unknown = await complete({ id: nobody, epoch: 1 });
        assert.equal(unknown.ok, false);
        assert.ok(unknown.code);
    });

    it('that fails is tried again later, with its attempt counted', async () => {
        const queue = await newPatientQueue();
        const [id] = await enqueue(queue, [{}], { maxAttempts: 2 });
        const [first] = await lease(queue);
        const failed = await fail(first, { message: 'the disk is full' });
        assert.deepEqual([failed.ok, failed.state], [true, 'scheduled']);
        assert.deepEqual(await lease(queue), [], 'not at once');
        const second = await leaseOne(queue, { worker: 'w2' });
        assert.deepEqual([second.id, second.attempt], [id, 2]);
        const dead = await fail(second, { message: 'still full' });
        assert.deepEqual([dead.ok, dead.state], [true, 'dead_letter']);
        const letter = await job(id);
        assert.equal(letter.deadReason, 'max_attempts');
        assert.deepEqual(letter.payload, {});
        assert.deepEqual(letter.attempts.map(({ attempt, worker }) => [attempt, worker]),
            [[1, 'w1'], [2, 'w2']]);
        assert.match(JSON.stringify(letter.attempts[0].error), /the disk is full/);
        for (const { startedAt, endedAt } of letter.attempts)
            assert.ok(RFC3339.test(startedAt) && endedAt >= startedAt);
    });

    it('that fails for good is a dead letter at once', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [{}], { maxAttempts: 9 });
        const failed = await fail((await lease(queue))[0], { retryable: false });
        assert.equal(failed.state, 'dead_letter');
        assert.equal((await job(id)).deadReason, 'non_retryable');
        const types = (await server.list('/v1/events?type=agent.job.dead_lettered&limit=200'))
            .filter((event) => event.subject === `job/${id}`);
        assert.equal(types.length, 1);
    });

    it('of a key waits for the one before it, whatever their priorities', async () => {
        const queue = newQueue();
        for (const [n, priority] of [[1, 500], [2, 0], [3, 100]])
            await enqueue(queue, [{ n }], { orderingKey: 'k', priority });
        await enqueue(queue, [{ n: 9 }], { orderingKey: 'other' });
        const both = await lease(queue, { max: 10 });
        assert.deepEqual(both.map((each) => each.payload.n).sort(), [1, 9]);
        let current = both.find((each) => each.payload.n === 1);
        for (const n of [2, 3]) {
            assert.deepEqual(await lease(queue, { max: 10 }), []);
            await complete(current);
            [current] = await lease(queue, { max: 10 });
            assert.equal(current.payload.n, n);
        }
    });

    it('of a key that waits for its retry holds the others; a dead one lets go', async () => {
        const queue = await newPatientQueue();
        await enqueue(queue, [{ n: 1 }, { n: 2 }], { orderingKey: 'k', maxAttempts: 3 });
        const [first] = await lease(queue, { max: 10 });
        await fail(first);
        assert.deepEqual(await lease(queue, { max: 10 }), []);
        const again = await leaseOne(queue);
        assert.equal(again.payload.n, 1);
        await fail(again, { retryable: false });
        assert.equal((await leaseOne(queue)).payload.n, 2);
    });

    it('brings what follows from it, in the commit that completes it', async () => {
        const [queue, later] = [newQueue(), newQueue()];
        await enqueue(queue, [{ n: 1 }]);
        const [{ id, epoch }] = await lease(queue);
        const next = [{ queue: later, type: 'work', payload: { n: 2 } }];
        const done = await server.post('/v1/jobs/complete', { jobs: [{ id, epoch, next }] });
        const [made] = done.jobs[0].next;
        const again = await server.post('/v1/jobs/complete', { jobs: [{ id, epoch, next }] });
        assert.deepEqual(again.jobs, [{ id, ok: true }]);
        const jobs = await lease(later, { max: 10 });
        assert.deepEqual(jobs.map((each) => each.id), [made.id]);
        const bad = { jobs: [{ id, epoch, next: [{ queue: 'drover.agent', type: 'x' }] }] };
        assertProblem(await server.call('POST', '/v1/jobs/complete', { body: bad }), 422,
            { field: 'jobs[0].next[0].queue' });
    });

    it('with a dedup key is enqueued once', async () => {
        const queue = newQueue();
        const one = { queue, type: 'work', payload: { n: 1 }, dedupKey: 'same' };
        const first = await server.post('/v1/jobs', { jobs: [one] });
        const second = await server.post('/v1/jobs', { jobs: [one, { ...one, dedupKey: 'else' }] });
        assert.equal(first.jobs[0].duplicate, false);
        assert.deepEqual(second.jobs.map((each) => each.duplicate), [true, false]);
        assert.equal(second.jobs[0].id, first.jobs[0].id);
        assert.equal((await lease(queue, { max: 10 })).length, 2);
    });

    it('with a delay is not there before, and wakes a lease when it is due', async () => {
        const queue = newQueue();
        const began = Date.now();
        const [id] = await enqueue(queue, [{}], { delayMs: 2000 });
        assert.equal((await job(id)).state, 'scheduled');
        assert.deepEqual(await lease(queue), []);
        const leased = await leaseOne(queue);
        assert.equal(leased.id, id);
        assert.ok(Date.now() - began >= 1990, 'not too early');
    });

    it('that nobody took in its time is a dead letter', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [{}], { ttlMs: 200 });
        await until('the dead letter', async (note) =>
            note(await job(id)).state === 'dead_letter');
        assert.equal((await job(id)).deadReason, 'expired');
        assert.deepEqual(await lease(queue), []);
    });

    it('of a higher priority comes first; within one priority the older', async () => {
        const queue = newQueue();
        for (const priority of [200, 100, 0, 500, 0, 10])
            await enqueue(queue, [{ priority }], { priority });
        const order = (await lease(queue, { max: 10 })).map((each) => each.payload.priority);
        assert.deepEqual(order, [0, 0, 10, 100, 200, 500]);
    });

    it('is given to exactly one of 16 that compete', async () => {
        const queue = newQueue();
        const count = 300;
        const taken = [];
        const compete = async (worker) => {
            while (taken.length < count) {
                const jobs = await lease(queue, { worker, max: 3, waitMs: 500 });
                taken.push(...jobs.map((each) => each.id));
                if (jobs.length > 0)
                    await server.post('/v1/jobs/complete',
                        { jobs: jobs.map(({ id, epoch }) => ({ id, epoch })) });
            }
        };
        const all = Promise.all(Array.from({ length: 16 }, (_, i) => compete(`c${i}`)));
        const ids = [];
        for (let i = 0; i < count; i += 20)
            ids.push(...await enqueue(queue, Array.from({ length: 20 }, (_, n) => ({ n: i + n }))));
        await all;
        assert.equal(taken.length, count);
        assert.deepEqual([...taken].sort(), [...ids].sort());
    });

    it('cannot be put into the queues of drover itself', async () => {
        const jobs = [{ queue: 'drover.agent', type: 'agent', payload: {} }];
        const res = await server.call('POST', '/v1/jobs', { body: { jobs } });
        assert.ok([403, 422].includes(res.status), res.text);
        assertProblem(res, res.status);
    });

    it('survives a restart, leased or not', async () => {
        const own = await start({ args: ['--workers', '0'] });
        try {
            const jobs = [1, 2].map((n) => ({ queue: 'kept', type: 'work', payload: { n } }));
            const { jobs: [one, two] } = await own.post('/v1/jobs', { jobs });
            const request = { queues: ['kept'], worker: 'w', max: 1, waitMs: 0, leaseMs: 60_000 };
            const { jobs: [held] } = await own.post('/v1/jobs/lease', request);
            await own.crash();
            await own.start();
            assert.equal((await own.get(`/v1/jobs/${two.id}`)).state, 'queued');
            const settled = await own.post('/v1/jobs/complete',
                { jobs: [{ id: held.id, epoch: held.epoch }] });
            assert.equal(settled.jobs[0].ok, true, 'leases of others outlive the server');
            assert.equal((await own.get(`/v1/jobs/${one.id}`)).state, 'succeeded');
        } finally {
            await own.discard();
        }
    });
});

// One after the other: they watch how many leases of the whole server wait.
describe('a job for which somebody waits', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('wakes a lease that waits', async () => {
        const queue = newQueue();
        let answered = false;
        const waiting = lease(queue, { waitMs: 30_000 }).finally(() => (answered = true));
        await server.untilParked(1);
        assert.equal(answered, false);
        const [id] = await enqueue(queue, [{}]);
        const began = Date.now();
        const [leased] = await waiting;
        assert.equal(leased.id, id);
        assert.ok(Date.now() - began < 20_000, 'not at the end of its time');
    });

    it('wakes only one of several leases that wait; the others go on waiting', async () => {
        const queue = newQueue();
        const answers = [];
        const waiting = ['w1', 'w2', 'w3'].map((worker) =>
            lease(queue, { worker, waitMs: 30_000 }).then((jobs) => answers.push(jobs)));
        for (const n of [1, 2, 3]) {
            await server.untilParked(4 - n);
            await enqueue(queue, [{ n }]);
            await until(`answer ${n}`, () => answers.length >= n);
            assert.deepEqual(answers.slice(n - 1).map((jobs) => jobs.map((one) => one.payload.n)),
                [[n]], 'this one, and nobody else is told');
        }
        await Promise.all(waiting);
    });

    it('is not lost when the one that waits for it hangs up', async () => {
        const queue = newQueue();
        for (let i = 0; i < 5; i++) {
            const hangUp = openLease(queue);
            await server.untilParked(1);
            hangUp();
        }
        const [id] = await enqueue(queue, [{}]);
        assert.equal((await leaseOne(queue)).id, id);
    });
});

// A lease over a connection of its own; the function it gives back cuts it.
function openLease(queue) {
    const body = JSON.stringify({ queues: [queue], worker: 'gone', max: 1, waitMs: 20_000,
        leaseMs: 60_000 });
    const req = http.request(`${server.url}/v1/jobs/lease`, {
        method: 'POST', agent: false,
        headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json',
            'content-length': Buffer.byteLength(body) } });
    req.on('error', () => {});
    req.end(body);
    return () => req.destroy();
}
