// agents.test.mjs - agents that claim one piece of work at a time, and the registry of agents:
// capacity, heartbeats, launch and kill.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { patchTo, pushBranch, stays } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, sleepers, untilAsleep, untilGone } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
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
// A claim that waits, and can be given up.
function sleeper(body, as = token) {
    const gone = new AbortController();
    const said = fetch(`${server.url}/v1/claims`, { method: 'POST', signal: gone.signal,
        headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
        body: JSON.stringify({ leaseMs: 60_000, waitMs: 30_000, ...body }) })
        .then(async (res) => ({ status: res.status, json: await res.json() }), () => 'left');
    const asleep = async () => (await Promise.race([said, sleep(50, 'asleep')])) === 'asleep';
    return { said, asleep, leave: () => gone.abort() };
}
const eventsOf = async (type, name) => (await server.ok('GET', `/v1/events?type=${type}&limit=200`))
    .items.filter(({ subject }) => subject === `agent/${name}`);
const agentOf = (name, of = server) => of.get(`/v1/agents/${name}`);
const untilAgent = (name, state, of = server) => until(`agent ${name} to be ${state}`,
    async (note) => {
        const agent = note(await agentOf(name, of));
        return agent.state === state && agent;
    });

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
        const both = ['ann', 'bob'].map((agent) => sleeper({ queue, agent }));
        const { taskId } = await server.submit(repo.name);
        const { json: { claim: won } } = await Promise.race(both.map(({ said }) => said));
        assert.equal(won.taskId, taskId);
        const asleep = await Promise.all(both.map((each) => each.asleep()));
        assert.deepEqual(asleep.toSorted(), [false, true]);
        for (const each of both) each.leave();
        await tell('fail', won, { message: 'enough' });
        await server.untilTask(taskId, 'failed');
    });

    it('refuses what it does not understand', async () => {
        const bad = [[{ agent: '-x' }, 'agent'], [{ persona: 'Big' }, 'persona'],
            [{ queue: 'a b' }, 'queue'], [{ waitMs: 55_001 }, 'waitMs'], [{ agents: 1 }, 'agents'],
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
        const left = sleeper({ queue });
        assert.ok(await left.asleep());
        left.leave();
        assert.equal(await left.said, 'left');
        const { taskId } = await server.submit(repo.name);
        const work = await claim({ queue });
        assert.equal(work.taskId, taskId);
        await tell('fail', work, { message: 'enough' });
    });
});

// A process that takes work through the socket until it is refused.
const resident = (mark) => ['node', '-e', `// ${mark}
    const http = require("node:http");
    const { DROVER_SOCKET: socketPath, DROVER_TOKEN, DROVER_AGENT } = process.env;
    const post = (path, body) => new Promise((resolve, reject) => {
        const headers = { authorization: "Bearer " + DROVER_TOKEN,
            "content-type": "application/json" };
        const req = http.request({ socketPath, method: "POST", path, headers }, (res) => {
            let text = "";
            res.on("data", (part) => (text += part));
            res.on("end", () => resolve({ status: res.statusCode, json: JSON.parse(text) }));
        });
        req.on("error", reject);
        req.end(JSON.stringify(body));
    });
    (async () => {
        const eve = await post("/v1/claims", { agent: "eve" });
        const more = await post("/v1/tokens", { name: "mine", role: "worker" });
        const all = await post("/v1/jobs/lease", { worker: "me", queues: ["launch"], max: 100 });
        for (;;) {
            const { status, json } = await post("/v1/claims", { waitMs: 20000, leaseMs: 60000 });
            if (status !== 200) throw new Error(JSON.stringify(json));
            if (!json.claim) continue;
            const { id, epoch } = json.claim;
            const summary = [DROVER_AGENT, eve.status, eve.json.code, more.status,
                all.json.code].join(" ");
            await post("/v1/claims/" + id + "/complete",
                { epoch, summary, patch: ${JSON.stringify(patchTo(42))} });
        }
    })();`];

describe('an agent of the registry', { concurrency: 4 }, () => {
    let operator;
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        ({ token } = await server.post('/v1/tokens', { name: 'puller', role: 'worker' }));
        ({ token: operator } = await server.post('/v1/tokens', { name: 'op', role: 'operator' }));
    });
    after(() => server.discard());

    it('is registered, found by name and id, listed and deleted', async () => {
        const made = await server.post('/v1/agents', { name: 'Ann.1', persona: 'reviewer',
            capacity: 3, repositories: ['a/b'], labels: ['x'], restart: 'always' });
        assert.deepEqual([made.state, made.capacity, made.claims, made.repositories, made.queue,
            made.restart.policy, made.launchable], ['registered', 3, 0, ['a/b'], 'agents', 'always',
            false]);
        assert.deepEqual(await agentOf('Ann.1'), await agentOf(made.id));
        const { items } = await server.get('/v1/agents?persona=reviewer&state=registered');
        assert.ok(items.some(({ name }) => name === 'Ann.1'));
        const again = await server.call('POST', '/v1/agents', { body: { name: 'Ann.1' } });
        assertProblem(again, 409, { code: 'AGENT_EXISTS', field: 'name' });
        assert.equal((await server.call('DELETE', '/v1/agents/Ann.1')).status, 204);
        assertProblem(await server.call('GET', `/v1/agents/${made.id}`), 404);
    });

    it('is refused with the member that is wrong', async () => {
        const cases = [[{}, 'name'], [{ name: '-x' }, 'name'], [{ name: 'x', persona: 'A' },
            'persona'], [{ name: 'x', capacity: 0 }, 'capacity'], [{ name: 'x', launch: true },
            'launch'], [{ name: 'x', restart: 'maybe' }, 'restart'], [{ name: 'x', account: 'no' },
            'account'], [{ name: 'x', config: { network: true } }, 'config'], [{ name: 'x',
            command: ['true'], config: { home: '/' } }, 'config'], [{ name: 'x', profile: 'nope' },
            'agent.use'], [{ name: 'x', labels: 'no' }, 'labels']];
        for (const [body, field] of cases)
            assertProblem(await server.call('POST', '/v1/agents', { body }), 422, { field });
        const body = { name: 'x', command: ['true'] };
        const denied = await server.call('POST', '/v1/agents', { body, token: operator });
        assertProblem(denied, 403, { code: 'ROLE_NOT_ALLOWED' });
        assertProblem(await server.call('GET', '/v1/agents', { token }), 403);
        const kill = await server.call('POST', '/v1/agents/x/kill', { body: {}, token });
        assertProblem(kill, 403);
        assertProblem(await server.call('POST', '/v1/agents/none/kill', { body: {} }), 404);
    });

    it('takes as much work as its capacity, of its own repositories and persona', async () => {
        const mine = await repository('acme/mine', { agent: { queue: 'cap' } });
        const other = await repository('acme/other', { agent: { queue: 'cap' } });
        await server.post('/v1/agents', { name: 'cem', persona: 'tester', queue: 'cap',
            repositories: [mine.name], capacity: 2 });
        const skipped = await server.submit(other.name, { persona: 'tester' });
        const tasks = [];
        for (let i = 0; i < 3; i++)
            tasks.push(await server.submit(mine.name, { persona: 'tester' }));
        for (const { runId } of [skipped, ...tasks]) await offered(runId);
        const ask = (more = {}) => server.call('POST', '/v1/claims',
            { body: { agent: 'cem', ...more }, token });
        assertProblem(await ask({ persona: 'reviewer' }), 403, { code: 'AGENT_NOT_ALLOWED',
            field: 'persona' });
        assertProblem(await ask({ repositories: [other.name] }), 403, { field: 'repositories' });
        const first = await tryClaim({ agent: 'cem' });
        const second = await tryClaim({ agent: 'cem' });
        assert.deepEqual([first.repository, second.repository], [mine.name, mine.name]);
        assertProblem(await ask(), 409, { code: 'AGENT_FULL' });
        const full = await agentOf('cem');
        assert.deepEqual([full.state, full.claims], ['active', 2]);
        assertProblem(await server.call('DELETE', '/v1/agents/cem'), 409, { code: 'AGENT_STATE' });
        await tell('fail', first, { message: 'enough' });
        const third = await tryClaim({ agent: 'cem' });
        for (const work of [second, third]) await tell('fail', work, { message: 'enough' });
        assert.equal(await tryClaim({ agent: 'cem' }), null, 'none of another repository');
        await tell('fail', await claim({ queue: 'cap', persona: 'tester' }), { message: 'enough' });
        assert.equal((await server.call('DELETE', '/v1/agents/cem')).status, 204);
    });

    it('is late without heartbeats, which one event says, and active again with one', async () => {
        await server.post('/v1/agents', { name: 'dan', heartbeatMs: 200 });
        const beat = () => post('/v1/agents/dan/heartbeat', {});
        assert.equal((await beat()).state, 'active');
        const late = await untilAgent('dan', 'late');
        assert.ok(late.lateMs >= 0 && Date.parse(late.lastHeartbeatAt) > 0);
        const [missed] = await until('the event', async () => {
            const events = await eventsOf('agent.heartbeat.missed', 'dan');
            return events.length > 0 && events;
        });
        assert.deepEqual([missed.data.name, missed.data.heartbeatMs], ['dan', 200]);
        assert.ok(missed.data.lateMs >= 0);
        assert.equal((await beat()).state, 'active');
        await untilAgent('dan', 'late');
        await until('the second event', async () =>
            (await eventsOf('agent.heartbeat.missed', 'dan')).length === 2);
        assert.equal(await tryClaim({ agent: 'dan' }), null, 'a claim is a heartbeat');
        assert.equal((await agentOf('dan')).state, 'active');
    });

    it('kill interrupts waiters and settles', async () => {
        const repo = await repository('acme/kill', { agent: { queue: 'kill' } });
        for (const name of ['eva', 'fay'])
            await server.post('/v1/agents', { name, queue: 'kill', capacity: 5 });
        const kill = (name, policy) => server.post(`/v1/agents/${name}/kill`,
            { policy, reason: 'a drill' });
        const again = await server.submit(repo.name);
        const mine = await claim({ agent: 'eva' });
        const waiter = sleeper({ agent: 'eva' });
        assert.ok(await waiter.asleep());
        const other = sleeper({ agent: 'fay' });
        const killed = await kill('eva', 'requeue');
        assert.deepEqual([killed.state, killed.claims, killed.killPolicy, killed.killReason],
            ['killed', 1, 'requeue', 'a drill']);
        const ended = await waiter.said;
        assert.deepEqual([ended.status, ended.json.code], [409, 'AGENT_GONE']);
        const { json: { claim: theirs } } = await other.said;
        assert.deepEqual([theirs.id, theirs.taskId, theirs.attempt], [mine.id, again.taskId, 1]);
        assert.ok(theirs.epoch > mine.epoch);
        const late = await tell('complete', mine, { patch: patchTo(42) });
        assert.deepEqual([late.ok, late.code], [false, 'LEASE_LOST']);
        assertProblem(await server.call('POST', '/v1/claims', { body: { agent: 'eva' }, token }),
            409, { code: 'AGENT_GONE' });
        const gone = await server.call('POST', '/v1/agents/eva/heartbeat', { body: {}, token });
        assertProblem(gone, 409, { code: 'AGENT_GONE' });
        const twice = await kill('eva', 'fail');
        assert.equal(twice.killPolicy, 'requeue', 'the first one counts');
        const [event] = await eventsOf('agent.killed', 'eva');
        assert.deepEqual([event.data.policy, event.data.reason, event.data.claims],
            ['requeue', 'a drill', 1]);
        await kill('fay', 'fail');
        const failed = await server.untilTask(again.taskId, 'failed');
        assert.deepEqual([failed.errorCode, failed.errorMessage],
            ['agent_killed', 'Agent fay was killed: a drill']);
    });

    it('is launched in the sandbox, works with its own token, and is killed', async (t) => {
        if (!server.needsWalls(t)) return;
        const repo = await repository('acme/launch', { agent: { queue: 'launch' } });
        const mark = newMark();
        const made = await server.post('/v1/agents', { name: 'gil', persona: 'implementer',
            queue: 'launch', command: resident(mark), launch: true });
        assert.ok(['starting', 'active'].includes(made.state));
        const { taskId, runId } = await server.submit(repo.name, { persona: 'implementer' });
        await server.untilTask(taskId, 'completed');
        const agent = await untilAgent('gil', 'active');
        assert.match(agent.worker, /\/\d+$/);
        const { data } = (await server.events(runId)).find(({ type, data: { step } }) =>
            type === 'agent.step.started' && step === 'pull');
        assert.equal(data.worker, 'gil');
        const { items: [{ id }] } = await server.get(`/v1/jobs?runId=${runId}&type=pull`);
        const { result } = await server.get(`/v1/jobs/${id}`);
        assert.equal(result.summary, 'gil 403 AGENT_NOT_ALLOWED 403 AGENT_NOT_ALLOWED');
        const busy = await server.call('POST', '/v1/claims', { body: { agent: 'gil' }, token });
        assertProblem(busy, 403, { code: 'AGENT_NOT_ALLOWED' });
        const [launched] = await eventsOf('agent.launched', 'gil');
        assert.deepEqual([launched.data.worker, launched.data.restarts], [agent.worker, 0]);
        const own = () => server.get('/v1/tokens').then(({ items }) => items.find(
            ({ name, revokedAt }) => name === 'agent/gil' && !revokedAt));
        assert.deepEqual((await own()).queues,
            ['launch.agent.gil', 'launch.implementer', 'launch']);
        await server.post('/v1/agents/gil/kill', {});
        await untilGone(mark);
        assert.equal(await own(), undefined);
        const killed = await agentOf('gil');
        assert.deepEqual([killed.state, killed.worker, killed.jobId], ['killed', null, null]);
        const relaunched = await server.post('/v1/agents/gil/launch', {});
        assert.equal(relaunched.state, 'starting');
        await untilAgent('gil', 'active');
        await server.post('/v1/agents/gil/kill', {});
        await untilGone(mark);
    });

    it('is started again by its rule, with a bound', async () => {
        const run = (name, command, restart) => server.post('/v1/agents', { name, launch: true,
            command: ['sh', '-c', command], restart });
        const rule = { policy: 'on_failure', max: 2, backoffMs: 10 };
        await run('hal', 'echo no luck >&2; exit 3', rule);
        await run('ida', 'exit 0', rule);
        await run('jon', 'exit 5', 'never');
        await run('kai', 'exit 0', { policy: 'always', max: 1, backoffMs: 10 });
        const [hal, ida, jon, kai] = await Promise.all([untilAgent('hal', 'failed'),
            untilAgent('ida', 'stopped'), untilAgent('jon', 'stopped'),
            untilAgent('kai', 'failed')]);
        assert.deepEqual([hal.restarts, ida.restarts, jon.restarts, kai.restarts], [2, 0, 0, 1]);
        assert.match(hal.lastError, /exit status 3: no luck/);
        assert.equal(ida.lastError, null);
        const exited = await eventsOf('agent.exited', 'hal');
        assert.deepEqual(exited.map(({ data }) => [data.exitCode, data.state]).toSorted(),
            [[3, 'failed'], [3, 'restarting'], [3, 'restarting']]);
        const none = await server.post('/v1/agents', { name: 'leo', launch: true,
            command: ['/no/such/program'], restart: 'never' });
        assert.equal(none.name, 'leo');
        assert.match((await untilAgent('leo', 'stopped')).lastError, /no program .no.such.program/);
    });
});

describe('a launched agent', { concurrency: 2 }, () => {
    const launch = (of, mark, more = {}) => of.post('/v1/agents', { name: 'resident', launch: true,
        command: ['sh', '-c', stays(mark)], ...more });
    const leases = (workers) =>
        `workers: ${workers}\nlease: {leaseMs: 2000, heartbeatMs: 300}\n`;
    const launches = async (of) => (await of.get('/v1/events?type=agent.launched')).items.length;

    it('is started again exactly once after kill -9 of its server', async () => {
        const own = await start({ config: leases(2) });
        const mark = newMark();
        try {
            await launch(own, mark);
            await untilAsleep(mark);
            await own.crash();
            await own.start();
            await until('the second start', async () => await launches(own) === 2);
            await untilAsleep(mark);
            const agent = await untilAgent('resident', 'active', own);
            assert.equal(agent.restarts, 1);
            assert.equal(sleepers(mark).length, 1);
            await own.post('/v1/agents/resident/kill', {});
            await untilGone(mark);
        } finally {
            await own.discard();
        }
    });

    it('is started again exactly once after kill -9 of its worker', async () => {
        const own = await start({ config: leases(0) });
        const workers = ['w1', 'w2'].map((name) => new RemoteWorker(own, { name }));
        const mark = newMark();
        try {
            await Promise.all(workers.map((worker) => worker.start()));
            await launch(own, mark);
            await untilAsleep(mark);
            const { worker: first } = await untilAgent('resident', 'active', own);
            const [killed] = workers.filter(({ name }) => first.startsWith(`${name}/`));
            await killed.stop('SIGKILL');
            await until('the second start', async () => await launches(own) === 2);
            await untilAsleep(mark);
            const { worker: second, restarts } = await untilAgent('resident', 'active', own);
            assert.notEqual(second.split('/')[0], killed.name);
            assert.equal(restarts, 1);
            assert.equal(sleepers(mark).length, 1);
            const token = (await own.get('/v1/tokens')).items.filter(({ name, revokedAt }) =>
                name === 'agent/resident' && !revokedAt);
            assert.equal(token.length, 1, 'the first process has lost its token');
            await own.post('/v1/agents/resident/kill', {});
            await untilGone(mark);
            await Promise.all(workers.filter((each) => each !== killed).map((each) => each.stop()));
        } finally {
            for (const worker of workers) worker.signal('SIGKILL');
            await own.discard();
        }
    });
});
