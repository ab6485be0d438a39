// queues.test.mjs - the rules of queues: set, kept, obeyed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

let server;
let queues = 0;
const newQueue = () => `rules.q${++queues}`;

async function configure(queue, rules) {
    return server.ok('PUT', `/v1/queues/${queue}`, rules);
}

async function enqueue(queue, count, more = {}) {
    const jobs = Array.from({ length: count }, (_, n) => ({
        queue, type: 'work', payload: { n }, ...more }));
    return (await server.post('/v1/jobs', { jobs })).jobs;
}

async function lease(queue, more = {}) {
    const body = { queues: [queue], worker: 'w1', max: 100, waitMs: 0, ...more };
    return (await server.post('/v1/jobs/lease', body)).jobs;
}

async function complete(jobs) {
    const done = jobs.map(({ id, epoch }) => ({ id, epoch, result: {} }));
    return (await server.post('/v1/jobs/complete', { jobs: done })).jobs;
}

describe('queues', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('have defaults, and rules once they are set, which outlive a crash', async () => {
        const queue = newQueue();
        const plain = await server.get(`/v1/queues/${queue}`);
        assert.equal(plain.version, 0);
        assert.equal(plain.paused, false);
        assert.deepEqual(plain.config, {});
        assert.equal(plain.effective.maxAttempts, 3);
        await configure(queue, { maxAttempts: 7, backoff: { baseMs: 10 } });
        await server.post(`/v1/queues/${queue}/pause`);
        await server.crash();
        await server.startAgain();
        const now = await server.get(`/v1/queues/${queue}`);
        assert.deepEqual(now.config, { maxAttempts: 7, backoff: { baseMs: 10 } });
        assert.equal(now.effective.maxAttempts, 7);
        assert.equal(now.effective.backoff.baseMs, 10);
        assert.equal(now.effective.backoff.maxMs, 300_000);
        assert.equal(now.paused, true);
        assert.equal(now.version, 2);
        const listed = (await server.get('/v1/queues')).items;
        assert.equal(listed.find(({ name }) => name === queue).paused, true);
    });

    it('are changed by whoever has seen the last change', async () => {
        const queue = newQueue();
        await configure(queue, { maxLength: 5 });
        const path = `/v1/queues/${queue}?version=0`;
        assertProblem(await server.call('PUT', path, { body: {} }), 409, { code: 'QUEUE_CHANGED' });
        const next = `/v1/queues/${queue}?version=1`;
        assert.equal((await server.ok('PUT', next, { maxLength: 6 })).version, 2);
    });

    it('refuse rules that they do not know, by name', async () => {
        for (const [rules, field] of [
            [{ colour: 'red' }, 'colour'],
            [{ maxAttempts: 0 }, 'maxAttempts'],
            [{ backoff: { baseMs: -1 } }, 'backoff.baseMs'],
            [{ ordering: 'sideways' }, 'ordering'],
        ]) {
            const res = await server.call('PUT', '/v1/queues/x', { body: rules });
            assert.equal(res.status, 422);
            assert.equal(res.json.field, field);
        }
        const bad = await server.call('PUT', '/v1/queues/a%20b', { body: {} });
        assertProblem(bad, 400, { code: 'INVALID_NAME' });
    });

    it('give nothing while paused, and wake who waits when they go on', async () => {
        const queue = newQueue();
        await server.post(`/v1/queues/${queue}/pause`);
        await enqueue(queue, 1);
        assert.equal((await lease(queue)).length, 0);
        const waiting = lease(queue, { waitMs: 20_000 });
        await server.post(`/v1/queues/${queue}/resume`);
        assert.equal((await waiting).length, 1);
    });

    it('have no more out than their concurrency', async () => {
        const queue = newQueue();
        await configure(queue, { concurrency: 2 });
        await enqueue(queue, 5);
        const first = await lease(queue);
        assert.equal(first.length, 2);
        assert.equal((await lease(queue)).length, 0);
        const waiting = lease(queue, { waitMs: 20_000 });
        await complete(first);
        assert.equal((await waiting).length, 2);
    });

    it('keep the order of all, where that is their order', async () => {
        const queue = newQueue();
        await configure(queue, { ordering: 'global' });
        await enqueue(queue, 5);
        for (let n = 0; n < 5; n++) {
            const jobs = await lease(queue);
            assert.deepEqual(jobs.map(({ payload }) => payload.n), [n]);
            await complete(jobs);
        }
        const held = await server.call('PUT', `/v1/queues/${queue}`, { body: {} });
        assert.equal(held.status, 200);
    });

    it('turn low away, put normal off and take what is critical, when they are long', async () => {
        const queue = newQueue();
        const shed = { dropLowAt: 2, deferNormalAt: 3, deferMs: 42_000 };
        await configure(queue, { maxLength: 6, shed });
        await enqueue(queue, 2);
        const jobs = [500, 100, 100, 10].map((priority) => ({
            queue, type: 'work', payload: null, priority }));
        const answer = (await server.post('/v1/jobs', { jobs })).jobs;
        assert.equal(answer[0].dropped, true);
        assert.equal(answer[0].id, null);
        assert.equal(answer[0].code, 'SHED');
        assert.equal(answer[0].retryAfterMs, 42_000);
        assert.equal(answer[1].deferred, undefined);
        assert.equal(answer[2].deferred, true);
        assert.equal(answer[3].deferred, undefined);
        const low = await server.call('POST', '/v1/jobs', { body: { jobs: [jobs[0]] } });
        assertProblem(low, 429, { code: 'SHED' });
        assert.equal(low.headers['retry-after'], '42');
        assert.equal(low.json.retryAfterMs, 42_000);
        const metrics = (await server.call('GET', '/metrics')).text;
        assert.match(metrics, /^drover_jobs_shed_total 2$/m);
        await enqueue(queue, 1, { priority: 0 });
        const full = { jobs: [{ queue, type: 'work', payload: null, priority: 0 }] };
        const refused = await server.call('POST', '/v1/jobs', { body: full });
        assertProblem(refused, 429, { code: 'QUEUE_FULL' });
    });

    it('forget a dedup key after its window', async () => {
        await withRoom(1500, async (dedupWindowMs) => {
            const queue = newQueue();
            await configure(queue, { dedupWindowMs });
            const began = Date.now();
            const [first] = await enqueue(queue, 1, { dedupKey: 'k' });
            const [repeated] = await enqueue(queue, 1, { dedupKey: 'k' });
            if (Date.now() - began >= dedupWindowMs) throw new TooSlow('the window is over');
            assert.equal(repeated.duplicate, true);
            await complete(await lease(queue));
            await until('the key to be free', async () => {
                const [again] = await enqueue(queue, 1, { dedupKey: 'k' });
                return again.duplicate ? null : assert.notEqual(again.id, first.id) ?? true;
            });
        });
    });

    it('gather jobs of a type into one, where they are told to', async () => {
        const queue = newQueue();
        await configure(queue, { batch: { max: 3, windowMs: 60_000 } });
        const taken = await enqueue(queue, 4);
        assert.deepEqual(taken.map(({ batched }) => batched), [true, true, true, true]);
        assert.equal(new Set(taken.slice(0, 3).map(({ id }) => id)).size, 1);
        const [batch] = await lease(queue, { waitMs: 20_000 });
        assert.deepEqual(batch.payload, [{ n: 0 }, { n: 1 }, { n: 2 }]);
    });

    it('hold a swarm back and tell of it once', async () => {
        const queue = newQueue();
        const swarm = { count: 3, windowMs: 60_000, action: 'protect', retryAfterMs: 9000 };
        await configure(queue, { swarm });
        const taken = await enqueue(queue, 5);
        assert.deepEqual(taken.map(({ dropped }) => dropped === true),
            [false, false, false, true, true]);
        assert.equal(taken[4].code, 'SWARM');
        const events = await server.list('/v1/events?type=agent.queue.swarm.detected');
        assert.equal(events.filter(({ data }) => data.queue === queue).length, 1);
    });
});
