// agents.test.mjs - agents that claim one piece of work at a time.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { patchTo, pushBranch } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server, token;

const repository = (name, more = {}) => {
    const { agent = {}, ...rest } = more;
    return server.repository(name, '', { agent: { compute: 'pull', queue: queueOf(name),
        model: 'far-1', ...agent }, ...rest });
};
// Cases do not take each other's work.
const queueOf = (name) => name.replace('/', '-');

// An agent with a worker's token and nothing else.
async function post(path, body, as = token) {
    const res = await server.call('POST', path, { body, token: as });
    assert.equal(res.status, 200, `${path}: ${res.status} ${res.text}`);
    return res.json;
}
const tryClaim = async (body, as) => (await post('/v1/claims', { leaseMs: 60_000, ...body },
    as)).claim;
const claim = (body, as) => until(`work for ${JSON.stringify(body)}`, () =>
    tryClaim({ waitMs: 5000, ...body }, as));
const tell = (verb, { id, epoch }, more = {}, as = token) =>
    post(`/v1/claims/${id}/${verb}`, { epoch, ...more }, as);
// Until the work of the run lies in its queue.
const offered = (runId) => until(`the work of ${runId} to be offered`, async () => {
    const { items } = await server.ok('GET', `/v1/jobs?runId=${runId}&type=pull`);
    return items.length > 0 && items[0].state === 'queued';
});
const waiting = () => until('a claim to be parked', async () =>
    /^drover_committer_parked ([1-9]\d*)/m.test((await server.call('GET', '/metrics')).text));

describe('a claim', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        ({ token } = await server.post('/v1/tokens', { name: 'puller', role: 'worker' }));
    });
    after(() => server.discard());

    it('has the prompt and says how to hand in the work, which may be a patch', async () => {
        const repo = await repository('acme/whole', { limits: { maxTurns: 7 } });
        const { taskId, runId } = await server.submit(repo.name, { labels: ['bug', 'ui'] });
        const work = await claim({ queue: queueOf(repo.name), agent: 'bob' });
        const run = await server.run(runId);
        for (const [key, value] of Object.entries({ taskId, runId, attempt: 1, persona: null,
            repository: repo.name, repositoryUrl: repo.origin, branch: run.branch,
            baseCommit: run.baseCommit, targetBranch: 'main', maxTurns: 7, model: 'far-1',
            labels: ['bug', 'ui'], plan: null, feedback: null, patch: null,
            queue: queueOf(repo.name), maxBudgetUsd: null }))
            assert.deepEqual(work[key], value, key);
        assert.match(work.prompt, /Make the answer right\./);
        assert.match(work.promptSha256, /^[0-9a-f]{64}$/);
        assert.ok(Date.parse(work.leaseUntil) > Date.now());
        assert.deepEqual(work.handIn.push, { repositoryUrl: repo.origin, branch: run.branch,
            baseCommit: run.baseCommit });
        const beat = await tell('heartbeat', work, { agent: 'bob', extendMs: 90_000,
            events: [{ type: 'agent.tool.call.completed', data: { name: 'edit' } }] });
        assert.deepEqual([beat.ok, beat.cancel], [true, false]);
        assert.ok(Date.parse(beat.leaseUntil) > Date.parse(work.leaseUntil));
        const wrong = await tell('heartbeat', work, { agent: 'eve', events: [] });
        assert.deepEqual([wrong.ok, wrong.code], [false, 'LEASE_LOST']);
        const done = await tell('complete', work, { summary: 'did it', patch: patchTo(42),
            turns: 3, costUsd: 0.25, inputTokens: 10, outputTokens: 5, model: 'far-2' });
        assert.deepEqual(done, { id: work.id, ok: true });
        assert.deepEqual(await tell('complete', work, { patch: patchTo(42) }), done, 'repeated');
        await server.untilTask(taskId, 'completed');
        const ended = await server.run(runId);
        assert.deepEqual([ended.turns, ended.costUsd, ended.model], [3, 0.25, 'far-2']);
        const types = (await server.events(runId)).map(({ type }) => type);
        assert.ok(types.includes('agent.tool.call.completed'));
        const lost = await tell('heartbeat', work);
        assert.deepEqual([lost.ok, lost.code, lost.leaseUntil], [false, 'LEASE_LOST', null]);
    });

    it('brings the feedback and the patch that was refused', async () => {
        const repo = await repository('acme/again');
        const queue = queueOf(repo.name);
        const { taskId } = await server.submit(repo.name);
        await tell('complete', await claim({ queue }), { patch: patchTo(43) });
        const second = await claim({ queue });
        assert.equal(second.attempt, 2);
        assert.match(second.feedback, /expected 42, got 43/);
        assert.match(second.patch, /^\+43$/m);
        pushBranch(repo.origin, { branch: second.branch, base: second.baseCommit });
        await tell('complete', second);
        await server.untilTask(taskId, 'completed');
    });

    it('whose patch holds a secret is not completed', async () => {
        const repo = await repository('acme/leak');
        const { taskId } = await server.submit(repo.name);
        const work = await claim({ queue: queueOf(repo.name) });
        const leaky = patchTo(['ghp', 'Zq8X2v7Lr5Tn3Wk9Bd4Yc6Hj1Mf0Pg8Us2Ea'].join('_'));
        const body = { epoch: work.epoch, patch: leaky };
        const refused = await server.call('POST', `/v1/claims/${work.id}/complete`,
            { body, token });
        assertProblem(refused, 422, { code: 'SECRET_DETECTED' });
        assert.equal((await tell('heartbeat', work)).ok, true);
        const failed = await tell('fail', work, { code: 'too_hard', message: 'I give up' });
        assert.deepEqual([failed.ok, failed.state], [true, 'dead_letter']);
        assert.equal((await server.untilTask(taskId, 'failed')).errorCode, 'too_hard');
    });

    it('of an agent takes its own work first, then its persona\'s, then any', async () => {
        const repo = await repository('acme/order');
        const queue = queueOf(repo.name);
        const any = await server.submit(repo.name, { priority: 1 });
        const review = await server.submit(repo.name, { priority: 1, persona: 'reviewer' });
        const own = await server.submit(repo.name, { persona: 'reviewer', agent: 'bob' });
        for (const { runId } of [any, review, own]) await offered(runId);
        const task = await server.task(own.taskId);
        assert.deepEqual([task.persona, task.agent], ['reviewer', 'bob']);
        const listed = await server.ok('GET', '/v1/tasks?persona=reviewer&agent=bob');
        assert.deepEqual(listed.items.map(({ id }) => id), [own.taskId]);
        assert.equal(await tryClaim({ queue, persona: 'tester', general: false }), null);
        const bob = { queue, agent: 'bob', persona: 'reviewer' };
        const got = [];
        for (let i = 0; i < 3; i++) got.push(await tryClaim(bob));
        assert.deepEqual(got.map(({ taskId }) => taskId),
            [own.taskId, review.taskId, any.taskId]);
        assert.equal(got[1].persona, 'reviewer');
        for (const work of got) await tell('fail', work, { message: 'enough' });
        for (const { taskId } of got) await server.untilTask(taskId, 'failed');
    });

    it('finds its repository and its label among work that is not for it', async () => {
        const shared = { agent: { queue: 'shared' } };
        const [a, b] = [await repository('acme/left', shared),
            await repository('acme/right', shared)];
        const tasks = [];
        for (const [repo, labels] of [[a, []], [a, ['ui']], [b, ['ui']], [b, ['db', 'ui']]])
            tasks.push(await server.submit(repo.name, { labels }));
        for (const { runId } of tasks) await offered(runId);
        const ids = tasks.map(({ taskId }) => taskId);
        const take = async (filter) => {
            const work = await tryClaim({ queue: 'shared', ...filter });
            if (work) await tell('fail', work, { message: 'enough' });
            return work ? ids.indexOf(work.taskId) : null;
        };
        assert.equal(await take({ repositories: ['acme/none'] }), null);
        assert.equal(await take({ labels: ['db'], repositories: ['acme/left'] }), null);
        assert.equal(await take({ labels: ['db'] }), 3);
        assert.equal(await take({ labels: ['db', 'ui'], repositories: ['acme/right'] }), 2);
        assert.equal(await take({ labels: ['nothing', 'ui'] }), 1);
        assert.equal(await take({ repositories: ['acme/left'] }), 0);
        assert.equal(await take({}), null);
    });

    it('a sleeping agent is woken and claims', async () => {
        const repo = await repository('acme/wake');
        const queue = queueOf(repo.name);
        const wake = (filter) => tryClaim({ queue, waitMs: 30_000, ...filter });
        const deaf = wake({ labels: ['other'] });
        const asleep = wake({ labels: ['mine'], repositories: [repo.name] });
        const { taskId } = await server.submit(repo.name, { labels: ['mine'] });
        const work = await asleep;
        assert.equal(work.taskId, taskId);
        assert.equal(await Promise.race([deaf, sleep(50, 'asleep')]), 'asleep');
        const second = await server.submit(repo.name, { labels: ['other', 'mine'] });
        assert.equal((await deaf).taskId, second.taskId);
        await tell('fail', work, { message: 'enough' });
        await tell('fail', await deaf, { message: 'enough' });
    });

    it('two agents, one task, one winner', async () => {
        const repo = await repository('acme/race');
        const queue = queueOf(repo.name);
        const both = ['ann', 'bob'].map((agent) => tryClaim({ queue, agent, waitMs: 8000 }));
        const { taskId } = await server.submit(repo.name);
        const got = (await Promise.all(both)).filter((work) => work);
        assert.equal(got.length, 1);
        assert.equal(got[0].taskId, taskId);
        await tell('fail', got[0], { message: 'enough' });
        await server.untilTask(taskId, 'failed');
    });

    it('refuses what it does not understand', async () => {
        const bad = [[{ agent: '-x' }, 'agent'], [{ persona: 'Big' }, 'persona'],
            [{ queue: 'a b' }, 'queue'], [{ waitMs: 30_001 }, 'waitMs'], [{ agents: 1 }, 'agents'],
            [{ repositories: Array(9).fill('a/b'), labels: Array(9).fill('x') }, 'labels']];
        for (const [body, field] of bad)
            assertProblem(await server.call('POST', '/v1/claims', { body, token }), 422,
                { field });
        const process = await server.repository('acme/process', 'true');
        const task = { repository: process.name, description: 'x', persona: 'reviewer' };
        const refused = await server.call('POST', '/v1/tasks', { body: task });
        assertProblem(refused, 422, { field: 'persona' });
        assert.match(refused.json.detail, /agent\.compute/);
    });

    it('of a bound token takes from the queues that it is bound to', async () => {
        const repo = await repository('acme/bound');
        const queue = queueOf(repo.name);
        const { token: bound } = await server.post('/v1/tokens',
            { name: 'reviewers', role: 'worker', queues: [`${queue}.reviewer`] });
        const [any, review] = [await server.submit(repo.name),
            await server.submit(repo.name, { persona: 'reviewer' })];
        await offered(any.runId);
        const work = await claim({ queue, persona: 'reviewer' }, bound);
        assert.equal(work.taskId, review.taskId);
        assert.equal(await tryClaim({ queue, persona: 'reviewer' }, bound), null);
        assertProblem(await server.call('POST', '/v1/claims', { body: { queue }, token: bound }),
            403, { code: 'QUEUE_NOT_ALLOWED' });
        const stolen = await tell('heartbeat', work);
        assert.deepEqual([stolen.ok, stolen.code], [false, 'LEASE_LOST']);
        await tell('fail', work, { message: 'enough' }, bound);
        await tell('fail', await claim({ queue }), { message: 'enough' });
    });

    it('of a client that leaves ends its wait, and its work goes to another', async () => {
        const repo = await repository('acme/leave');
        const queue = queueOf(repo.name);
        const gone = new AbortController();
        const left = fetch(`${server.url}/v1/claims`, { method: 'POST', signal: gone.signal,
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify({ queue, waitMs: 30_000 }) }).catch(() => 'left');
        await waiting();
        gone.abort();
        assert.equal(await left, 'left');
        const { taskId } = await server.submit(repo.name);
        const work = await claim({ queue });
        assert.equal(work.taskId, taskId);
        await tell('fail', work, { message: 'enough' });
    });
});
