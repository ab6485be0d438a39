// pull.test.mjs - agents that lease their work themselves, over plain HTTP and by drover consume.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { branches, git, openPull, patchTo, pushBranch } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server, token, bound;

// Every repository has a queue of its own, as if its agents knew nothing else.
const queueOf = (name) => `agents-${name.replace('/', '-')}`;
const repository = (name, more = {}) => server.repository(name, '',
    { agent: { compute: 'pull', queue: queueOf(name), model: 'far-1' }, ...more });

// An agent with a worker's token and nothing else.
async function call(method, path, body, headers) {
    const res = await server.call(method, path, { body, headers, token });
    assert.ok(res.status < 300, `${method} ${path}: ${res.status} ${res.text}`);
    return res;
}

async function lease(name, { leaseMs = 60_000, worker = 'agent-1', as = token } = {}) {
    const body = { queues: [queueOf(name)], worker, max: 1, waitMs: 5000, leaseMs };
    return until(`work for ${name}`, async () => {
        const res = await server.call('POST', '/v1/jobs/lease', { body, token: as });
        assert.equal(res.status, 200, res.text);
        return res.json.jobs[0];
    });
}

const tell = async (verb, { id, epoch }, more) =>
    (await call('POST', `/v1/jobs/${verb}`, { jobs: [{ id, epoch, ...more }] })).json.jobs[0];
const complete = (job, result) => tell('complete', job, { result });

const upload = (text) => server.upload(text, token);
const sha256Of = (text) => createHash('sha256').update(text).digest('hex');
const BYTES = { 'content-type': 'application/octet-stream' };

describe('an agent that leases its work', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        const queues = ['acme/bound', 'acme/consume'].map(queueOf);
        ({ token: bound } = await server.post('/v1/tokens',
            { name: 'bound', role: 'worker', queues }));
        const made = await server.post('/v1/tokens', { name: 'puller', role: 'worker' });
        ({ token } = made);
    });
    after(() => server.discard());

    it('is told what it needs and nothing of the configuration', async () => {
        const repo = await repository('acme/told', { limits: { maxTurns: 7, maxBudgetUsd: 2 } });
        const { taskId, runId } = await server.submit(repo.name);
        const job = await lease(repo.name);
        const run = await server.run(runId);
        const { payload } = job;
        assert.equal(job.type, 'pull');
        for (const [key, value] of Object.entries({ taskId, runId, attempt: 1,
            repository: repo.name, repositoryUrl: repo.origin, branch: run.branch,
            baseCommit: run.baseCommit, targetBranch: 'main', maxTurns: 7, maxBudgetUsd: 2,
            model: 'far-1' }))
            assert.deepEqual(payload[key], value, key);
        assert.equal(payload.config, undefined);
        const prompt = await call('GET', `/v1/artifacts/${payload.promptSha256}`);
        assert.match(prompt.text, /Make the answer right\./);
        await complete(job, { status: 'error', error: 'no time' });
        assert.equal((await server.untilTask(taskId, 'failed')).errorCode, 'agent_error');
    });

    it('uploads a patch, which is verified and published as any other', async () => {
        const repo = await repository('acme/patch');
        const { taskId, runId } = await server.submit(repo.name);
        const job = await lease(repo.name);
        const events = [{ type: 'agent.tool.call.completed', data: { name: 'edit' } }];
        assert.equal((await tell('progress', job, { events })).ok, true);
        const beat = await call('POST', '/v1/jobs/heartbeat',
            { worker: 'agent-1', leases: [{ id: job.id, epoch: job.epoch }], extendMs: 60_000 });
        assert.deepEqual(beat.json.leases[0], { id: job.id, ok: true, cancel: false });
        const patchSha256 = await upload(patchTo(42));
        const done = await complete(job, { status: 'success', summary: 'did it', patchSha256,
            turns: 4, inputTokens: 100, outputTokens: 50, costUsd: 0.5, model: 'far-2' });
        assert.equal(done.ok, true);
        await server.untilTask(taskId, 'completed');
        const run = await server.run(runId);
        assert.deepEqual([run.turns, run.costUsd, run.model], [4, 0.5, 'far-2']);
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
        const types = (await server.events(runId)).map(({ type }) => type);
        for (const type of ['agent.tool.call.completed', 'agent.patch.created',
            'agent.verification.passed', 'agent.judge.completed', 'agent.pr.created'])
            assert.ok(types.includes(type), type);
    });

    it('pushes its branch, and gets the feedback when that is wrong', async () => {
        const repo = await repository('acme/push');
        const { taskId, runId } = await server.submit(repo.name);
        const first = await lease(repo.name);
        const { branch, baseCommit: base } = first.payload;
        const commit = pushBranch(repo.origin, { branch, base, text: '43\n' });
        await complete(first, { status: 'success' });
        const second = await lease(repo.name);
        assert.equal(second.payload.attempt, 2);
        const feedback = await call('GET', `/v1/artifacts/${second.payload.feedbackSha256}`);
        assert.match(feedback.text, /expected 42, got 43/);
        pushBranch(repo.origin, { branch, base: commit, text: '42\n' });
        await complete(second, { status: 'success' });
        await server.untilTask(taskId, 'completed');
        const run = await server.run(runId);
        assert.deepEqual(branches(repo.origin), [`refs/heads/${branch}`]);
        assert.equal(run.attempt, 2);
        assert.equal((await server.pullRequests(repo.name)).length, 1);
    });

    it('opens the pull request itself: that one is recorded, no second is opened', async () => {
        const repo = await repository('acme/own');
        const { taskId } = await server.submit(repo.name);
        const job = await lease(repo.name);
        const { branch, baseCommit: base } = job.payload;
        openPull(repo.origin, 9, pushBranch(repo.origin, { branch, base }));
        await complete(job, { status: 'success' });
        await server.untilTask(taskId, 'completed');
        const prs = await server.pullRequests(repo.name);
        assert.deepEqual(prs.map(({ number }) => number), [9]);
    });

    it('has its patch looked through before it is stored', async () => {
        const repo = await repository('acme/leak', { limits: { maxPatchBytes: 2000 } });
        const { taskId } = await server.submit(repo.name);
        const job = await lease(repo.name);
        const leaky = patchTo(['ghp', 'Zq8X2v7Lr5Tn3Wk9Bd4Yc6Hj1Mf0Pg8Us2Ea'].join('_'));
        const path = `/v1/artifacts/${sha256Of(leaky)}`;
        const put = (to, body) => server.call('PUT', to, { body, headers: BYTES, token });
        const refused = await put(`${path}?jobId=${job.id}`, leaky);
        assertProblem(refused, 422, { code: 'SECRET_DETECTED' });
        assert.match(refused.json.detail, /github-token in answer\.txt, line 1/);
        assertProblem(await server.call('GET', path), 404);
        const large = leaky.padEnd(2001);
        const tooLarge = await put(`/v1/artifacts/${sha256Of(large)}?jobId=${job.id}`, large);
        const { detail } = assertProblem(tooLarge, 413, { code: 'BODY_TOO_LARGE' });
        assert.match(detail, /2001 bytes, and limits\.maxPatchBytes .* 2000/);
        const good = patchTo(42);
        assert.equal((await put(`/v1/artifacts/${sha256Of(good)}?jobId=${job.id}`, good)).status,
            201);
        await complete(job, { status: 'success', patchSha256: sha256Of(good) });
        await server.untilTask(taskId, 'completed');
    });

    it('that vanishes loses its lease: another takes the work', async () => {
        const repo = await repository('acme/vanish');
        const { taskId } = await server.submit(repo.name);
        const lost = await lease(repo.name, { leaseMs: 200 });
        const job = await lease(repo.name, { worker: 'agent-2' });
        assert.equal(job.id, lost.id);
        assert.ok(job.epoch > lost.epoch);
        const late = await complete(lost, { status: 'error', error: 'too late' });
        assert.deepEqual([late.ok, late.code], [false, 'LEASE_LOST']);
        await complete(job, { status: 'success', patchSha256: await upload(patchTo(42)) });
        const task = await server.untilTask(taskId, 'completed');
        assert.equal((await server.run(task.runs[0].id)).attempt, 1);
    });

    it('hears at its next heartbeat that the task is cancelled', async () => {
        const repo = await repository('acme/cancelled');
        const { taskId } = await server.submit(repo.name);
        const job = await lease(repo.name);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        const { json } = await call('POST', '/v1/jobs/heartbeat',
            { worker: 'agent-1', leases: [{ id: job.id, epoch: job.epoch }], extendMs: 60_000 });
        assert.equal(json.leases[0].cancel, true);
        await tell('fail', job, { error: { code: 'cancelled', message: 'as asked' } });
        await server.untilTask(taskId, 'cancelled');
    });

    it('has clocks that a restart of the server does not stop', async () => {
        const own = await start();
        try {
            await own.repository('acme/slow', '', { agent: { compute: 'pull', queue: 'slow' },
                timeouts: { agentMs: 1000, cancelMs: 200 } });
            const { taskId } = await own.submit('acme/slow');
            const body = { queues: ['slow'], worker: 'agent-1', max: 1, waitMs: 10_000,
                leaseMs: 60_000 };
            const [{ id, epoch }] = (await own.post('/v1/jobs/lease', body)).jobs;
            await own.crash();
            await own.start();
            const beat = { worker: 'agent-1', leases: [{ id, epoch }], extendMs: 60_000 };
            await until('the end of its time', async () => {
                const { leases } = await own.post('/v1/jobs/heartbeat', beat);
                return leases[0].cancel || !leases[0].ok;
            });
            const task = await own.untilTask(taskId, 'timed_out');
            assert.equal(task.errorCode, 'agent_timed_out');
        } finally {
            await own.discard();
        }
    });

    it('that gives nonsense fails its run, not the server', async () => {
        const bad = {
            'acme/no-status': [{ summary: 'hm' }, 'invalid_step_result'],
            'acme/odd-status': [{ status: 'perhaps' }, 'session_ended_unexpectedly'],
            'acme/no-artifact': [{ status: 'success', patchSha256: 'a'.repeat(64) },
                'patch_failed'],
            'acme/odd-usage': [{ status: 'success', turns: -5, costUsd: 1e300, model: 7 },
                'agent_did_nothing'],
        };
        await Promise.all(Object.entries(bad).map(async ([name, [result, code]]) => {
            await repository(name);
            const { taskId, runId } = await server.submit(name);
            await complete(await lease(name), result);
            assert.equal((await server.untilTask(taskId, 'failed')).errorCode, code, name);
            const { turns, costUsd } = await server.run(runId);
            assert.deepEqual([turns, costUsd], [0, 0]);
        }));
    });

    it('with a bound token has the jobs of its queue and no others', async () => {
        await repository('acme/bound');
        await repository('acme/unbound');
        const { taskId } = await server.submit('acme/bound');
        const other = await server.submit('acme/unbound');
        const job = await lease('acme/bound', { as: bound });
        const foreign = await lease('acme/unbound');
        const ask = (path, body) => server.call('POST', path, { body, token: bound });
        const denied = { code: 'QUEUE_NOT_ALLOWED' };
        const lines = { queues: [queueOf('acme/bound'), 'drover.agent'], worker: 'a', max: 1 };
        const refused = await ask('/v1/jobs/lease', lines);
        assertProblem(refused, 403, denied);
        assert.match(refused.json.detail, /bound to the queues agents-acme-bound .*, and drover/);
        const both = [job, foreign].map(({ id, epoch }) => ({ id, epoch }));
        const error = { code: 'x', message: 'y', retryable: false };
        for (const [verb, body] of [['heartbeat', { worker: 'a', leases: both }],
            ['progress', { jobs: both.map((ref) => ({ ...ref, events: [] })) }],
            ['complete', { jobs: both }], ['release', { jobs: both }],
            ['fail', { jobs: both.map((ref) => ({ ...ref, error })) }], ['run-token', both[1]]])
            assertProblem(await ask(`/v1/jobs/${verb}`, body), 403, denied);
        const next = [{ queue: 'agents-other', type: 'pull' }];
        const follow = { jobs: [{ ...both[0], next }] };
        assertProblem(await ask('/v1/jobs/complete', follow), 403, denied);
        for (const path of ['/v1/workers', '/v1/breakers/x/acquire', '/v1/breakers/x/report',
            `/v1/replies/${job.id}`])
            assertProblem(await ask(path, {}), 403, denied);
        const saga = await server.call('GET', `/v1/sagas/${job.id}`, { token: bound });
        assertProblem(saga, 403, denied);
        const patch = patchTo(42);
        const put = (query) => server.call('PUT', `/v1/artifacts/${sha256Of(patch)}${query}`,
            { body: patch, headers: BYTES, token: bound });
        assertProblem(await put(''), 403, denied);
        assertProblem(await put(`?jobId=${foreign.id}`), 403, denied);
        assert.equal((await put(`?jobId=${job.id}`)).status, 201);
        const result = { status: 'success', patchSha256: sha256Of(patch) };
        const done = await ask('/v1/jobs/complete', { jobs: [{ ...both[0], result }] });
        assert.equal(done.json.jobs[0].ok, true, 'nothing of the refused calls was done');
        await server.untilTask(taskId, 'completed');
        await complete(foreign, { status: 'error' });
        await server.untilTask(other.taskId, 'failed');
    });

    it('can do nothing else with its token', async () => {
        const body = { repository: 'acme/told', description: 'more work' };
        assertProblem(await server.call('POST', '/v1/tasks', { body, token }), 403);
        assertProblem(await server.call('GET', '/v1/tasks', { token }), 403);
        assertProblem(await server.call('POST', '/v1/jobs', { token,
            body: { jobs: [{ queue: 'agents', type: 'pull' }] } }), 403);
    });

    it('can be drover consume with a bound token and a command of its own', async () => {
        const repo = await repository('acme/consume');
        const { taskId, runId } = await server.submit(repo.name);
        const agent = `set -e
            dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
            json() { node -p "JSON.parse(require('fs').readFileSync('$dir/job'))['$1']"; }
            cat >"$dir/job"
            git clone -q "$(json repositoryUrl)" "$dir/tree" >&2
            cd "$dir/tree"
            git checkout -q -b "$(json branch)" "$(json baseCommit)" >&2
            echo 42 >answer.txt
            git -c user.name=far -c user.email=far@example.org commit -qam 'The answer' >&2
            git push -q origin HEAD >&2
            echo '{"status":"success","summary":"pushed it"}'`;
        const env = { DROVER_URL: server.url, DROVER_TOKEN: bound };
        const { code, err } = await launch(['consume', queueOf(repo.name), '--count', '1', '--',
            'sh', '-c', agent], env).ended;
        assert.equal(code, 0, err);
        await server.untilTask(taskId, 'completed');
        const run = await server.run(runId);
        assert.equal(git(repo.origin, 'log', '-1', '--format=%an', run.branch), 'far');
    });

    it('cannot be told to use a queue of drover\'s own', async () => {
        const agent = { compute: 'pull', queue: 'drover.agent' };
        const body = { url: '/srv/x.git', agent };
        assertProblem(await server.call('PUT', '/v1/repositories/acme%2Fbad', { body }), 422,
            { field: 'queue' });
    });
});
