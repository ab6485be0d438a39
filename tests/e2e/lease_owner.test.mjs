// lease_owner.test.mjs - a lease belongs to the token and worker that took it: another token that
// knows id and epoch can do nothing with it.  Ids do not tell the ids that follow.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';
import { nextIdBits } from './lib/xoshiro.mjs';

const LEASE_LOST = { code: 'LEASE_LOST' };
const PATCH = 'diff --git a/x b/x\n';
const SHA = createHash('sha256').update(PATCH).digest('hex');

let server;
let names = 0;
const tokens = {};

const ask = (token, path, body) => server.call('POST', path, { token, body });

async function newToken(role, more = {}) {
    return server.post('/v1/tokens', { name: `t${++names}`, role, ...more });
}

async function lease(token, queue, worker = 'w1') {
    const body = { queues: [queue], worker, max: 1, waitMs: 5000, leaseMs: 600_000 };
    return until(`a job of ${queue}`, async () => {
        const res = await ask(token, '/v1/jobs/lease', body);
        assert.equal(res.status, 200, res.text);
        return res.json.jobs[0];
    });
}

async function newJob(queue) {
    await server.post('/v1/jobs', { jobs: [{ queue, type: 'work', payload: {} }] });
    return lease(tokens.owner, queue);
}

// Every call that names a lease, and what it answers to this token: one answer for each.
const error = { code: 'x', message: 'y', retryable: false };
const CALLS = {
    heartbeat: (ref) => ({ worker: 'w1', leases: [ref], extendMs: 900_000 }),
    progress: (ref) => ({ jobs: [{ ...ref, events: [] }] }),
    complete: (ref) => ({ jobs: [{ ...ref, result: { stolen: true },
        next: [{ queue: 'loot', type: 'work' }] }] }),
    fail: (ref) => ({ jobs: [{ ...ref, error }] }),
    release: (ref) => ({ jobs: [ref] }),
};

async function say(token, verb, { id, epoch }, more = {}) {
    const body = { ...CALLS[verb]({ id, epoch }), ...more };
    const res = await ask(token, `/v1/jobs/${verb}`, body);
    assert.equal(res.status, 200, res.text);
    return (res.json.jobs ?? res.json.leases)[0];
}

// What a stale epoch is answered, to compare with.
async function stale(verb, job) {
    return say(tokens.owner, verb, { id: job.id, epoch: job.epoch + 1 });
}

describe('a lease', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '1'] });
        const queues = ['mine.bound', 'loot', 'agents-pull'];
        tokens.owner = (await newToken('worker')).token;
        tokens.worker = (await newToken('worker')).token;
        tokens.bound = (await newToken('worker', { queues })).token;
        tokens.operator = (await newToken('operator')).token;
        tokens.admin = (await newToken('admin')).token;
        tokens['admin.token'] = server.token;
    });
    after(() => server.discard());

    for (const other of ['worker', 'bound', 'operator', 'admin', 'admin.token']) {
        it(`cannot be used with another token: ${other}`, async () => {
            const queue = other === 'bound' ? 'mine.bound' : `mine.${other}`;
            const job = await newJob(queue);
            const before_ = await server.get(`/v1/jobs/${job.id}`);
            for (const verb of Object.keys(CALLS)) {
                const answer = await say(tokens[other], verb, job);
                assert.equal(answer.ok, false, `${verb}: ${JSON.stringify(answer)}`);
                assert.deepEqual(answer, await stale(verb, job), verb);
            }
            assertProblem(await ask(tokens[other], '/v1/jobs/run-token',
                { id: job.id, epoch: job.epoch }), 409, LEASE_LOST);
            assert.deepEqual(await server.get(`/v1/jobs/${job.id}`), before_);
            const done = await say(tokens.owner, 'complete', job, { jobs: [
                { id: job.id, epoch: job.epoch, result: { mine: true } }] });
            assert.deepEqual(done, { id: job.id, ok: true });
            const again = await say(tokens[other], 'complete', job);
            assert.deepEqual(again, { id: job.id, ok: false, code: 'LEASE_LOST' });
            const { state, result } = await server.get(`/v1/jobs/${job.id}`);
            assert.deepEqual([state, result], ['succeeded', { mine: true }]);
        });
    }

    it('that failed is told again to its owner and to no other', async () => {
        const job = await newJob('mine.failed');
        assert.equal((await say(tokens.owner, 'fail', job)).ok, true);
        assert.equal((await say(tokens.owner, 'fail', job)).ok, true);
        assert.deepEqual(await say(tokens.worker, 'fail', job), await stale('fail', job));
    });

    it('is renewed by the worker that took it, and by its name for all its slots', async () => {
        const job = await newJob('mine.names');
        const beat = async (worker) => say(tokens.owner, 'heartbeat', job, { worker });
        assert.deepEqual(await beat('w2'), await stale('heartbeat', job));
        assert.deepEqual(await beat('w'), await stale('heartbeat', job));
        assert.equal((await beat('w1')).ok, true);
        assert.equal((await say(tokens.owner, 'complete', job)).ok, true);

        await server.post('/v1/jobs', { jobs: [{ queue: 'mine.slots', type: 'work' }] });
        const slot = await lease(tokens.owner, 'mine.slots', 'w1/3');
        const renew = async (worker) => say(tokens.owner, 'heartbeat', slot, { worker });
        assert.equal((await renew('w1/3')).ok, true);
        assert.equal((await renew('w1')).ok, true);
        assert.equal((await renew('w1/')).ok, false);
        assert.equal((await renew('w1/4')).ok, false);
        assert.equal((await say(tokens.owner, 'release', slot)).ok, true);
    });

    it('of a run gives token and uploads to its owner only', async () => {
        const agent = { compute: 'pull', queue: 'agents-pull' };
        await server.repository('acme/pull', '', { agent });
        const { taskId, runId } = await server.submit('acme/pull');
        const job = await lease(tokens.owner, 'agents-pull');
        const ref = { id: job.id, epoch: job.epoch };
        const put = (token) => server.call('PUT', `/v1/artifacts/${SHA}?jobId=${job.id}`,
            { token, body: PATCH, headers: { 'content-type': 'application/octet-stream' } });
        for (const other of ['worker', 'bound', 'operator', 'admin', 'admin.token']) {
            assertProblem(await ask(tokens[other], '/v1/jobs/run-token', ref), 409, LEASE_LOST);
            assertProblem(await put(tokens[other]), 409, LEASE_LOST);
            const events = [{ type: 'agent.tool.call.completed', data: { name: 'forged' } }];
            const told = await say(tokens[other], 'progress', job, { jobs: [{ ...ref, events }] });
            assert.deepEqual(told, await stale('progress', job));
        }
        const told = await server.list(`/v1/runs/${runId}/events`);
        assert.ok(!told.some((event) => event.type === 'agent.tool.call.completed'));
        const { json } = await ask(tokens.owner, '/v1/jobs/run-token', ref);
        assert.match(json.token, /^drun_/);
        assert.equal((await put(tokens.owner)).status, 201);
        assert.equal((await say(tokens.owner, 'complete', job,
            { jobs: [{ ...ref, result: { status: 'error', error: 'enough' } }] })).ok, true);
        assertProblem(await put(tokens.owner), 409, LEASE_LOST);
        await server.untilTask(taskId, 'failed');
    });

    it('of a revoked token runs out by itself', async () => {
        const { token, id } = await newToken('worker');
        await server.post('/v1/jobs', { jobs: [{ queue: 'mine.revoked', type: 'work' }] });
        const body = { queues: ['mine.revoked'], worker: 'w1', max: 1, leaseMs: 1000 };
        const { json } = await ask(token, '/v1/jobs/lease', body);
        const [job] = json.jobs;
        await server.ok('DELETE', `/v1/tokens/${id}`);
        assertProblem(await ask(token, '/v1/jobs/complete', CALLS.complete(job)), 401);
        const next = await lease(tokens.owner, 'mine.revoked');
        assert.deepEqual([next.id, next.epoch], [job.id, job.epoch + 1]);
        assert.equal((await say(tokens.owner, 'complete', next)).ok, true);
    });

    it('of the server itself cannot be used with any token', async () => {
        const hold = 'while [ ! -e "$DROVER_WORKTREE/../stop" ]; do sleep 0.05; done';
        await server.repository('acme/inside', hold);
        const { taskId } = await server.submit('acme/inside');
        const job = await until('the agent to work', async () => {
            const { items } = await server.get('/v1/jobs?queue=drover.agent&state=leased');
            return items[0];
        });
        for (const other of ['worker', 'admin', 'admin.token'])
            for (const verb of Object.keys(CALLS)) {
                const answer = await say(tokens[other], verb, job, verb === 'heartbeat' ?
                    { worker: job.worker } : {});
                assert.equal(answer.ok, false, `${other} ${verb}`);
                assert.equal(answer.code, 'LEASE_LOST');
            }
        assert.equal((await server.get(`/v1/jobs/${job.id}`)).state, 'leased');
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
    });
});

describe('ids', () => {
    it('do not tell the ids that follow', async () => {
        const own = await start({ args: ['--workers', '0'] });
        try {
            const body = { jobs: Array.from({ length: 12 }, () => ({ queue: 'q', type: 'work' })) };
            const { jobs } = await own.post('/v1/jobs', body);
            const ids = jobs.map((job) => job.id);
            for (let from = 0; from + 5 < ids.length; from++)
                assert.equal(nextIdBits(ids.slice(from, from + 5)), null,
                    'five ids tell the state of the generator');
        } finally {
            await own.discard();
        }
    });
});
