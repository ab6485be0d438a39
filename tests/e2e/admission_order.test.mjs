// admission_order.test.mjs - every check before a start by its name, in its order; who waits learns
// why and where in line, and starts by itself.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { typesOf } from './lib/cloudevents.mjs';
import { fixes, gaveUp, says, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const HIGH = { executionMode: 'autonomous_pr', riskLevel: 'high' };
const PATCH = { executionMode: 'patch_only' };

// Agents know their task by the prompt: earlier tasks must not be told of in it.
const FORGETS = { prompt: { memory: false } };

const holdable = (mark) => `if grep -q hold-here "$DROVER_PROMPT"; then
    ${waits(mark)} fi\n${fixes}`;

let server;

async function submitAs(token, repository, more = {}) {
    const body = { repository, description: 'Make the answer right.', ...more };
    const res = await server.call('POST', '/v1/tasks', { token, body });
    assert.equal(res.status, 202, res.text);
    return res.json;
}

async function deferred({ taskId }, reason) {
    return until(`${taskId} to wait for ${reason}`, async (note) => {
        const task = note(await server.task(taskId));
        return task.deferredReason === reason ? task : null;
    });
}

const newOperator = async (name) =>
    (await server.post('/v1/tokens', { name, role: 'operator' })).token;

describe('concurrency', () => {
    before(async () => {
        server = await start({
            args: ['--workers', '4'],
            config: `limits: {maxActiveRunsPerUser: 1, maxActiveRunsPerWorkspace: 2,
                taskTypes: {solo: 1}}\n`,
        });
    });
    after(() => server.discard());

    it('is asked for user, repository, task type and workspace, in this order', async () => {
        const names = ['ann', 'bob', 'eve', 'zoe'];
        const [ann, bob, eve, zoe] = await Promise.all(names.map(newOperator));
        const marks = [newMark(), newMark()];
        const agent = marks.map((mark, i) => `[ "$(grep -c hold-${i} "$DROVER_PROMPT")" = 0 ] || {
            ${waits(mark)} }\n`).join('') + fixes;
        const one = await server.repository('acme/one', agent,
            { ...FORGETS, limits: { maxActiveRuns: 1 } });
        const two = await server.repository('acme/two', agent, FORGETS);
        const solo = { taskType: 'solo' };
        const held = [await submitAs(ann, one.name, { ...solo, description: 'hold-0' })];
        await server.untilGate(marks[0]);
        const waiting = [
            [await submitAs(ann, one.name, solo), 'user_concurrency_limit'],
            [await submitAs(bob, one.name, solo), 'repository_concurrency_limit'],
            [await submitAs(bob, two.name, solo), 'task_type_concurrency_limit'],
        ];
        held.push(await submitAs(eve, two.name, { description: 'hold-1' }));
        await server.untilGate(marks[1]);
        waiting.push([await submitAs(zoe, two.name), 'workspace_concurrency_limit']);
        for (const [ids, reason] of waiting) await deferred(ids, reason);

        const { taskId } = waiting[1][0];
        const task = await server.task(taskId);
        assert.equal(task.status, 'deferred');
        assert.equal(task.deferredDetail, '1 of 1 runs of acme/one are active');
        assert.equal(task.queuePosition, 2);
        assert.ok(Date.parse(task.waitingSince) > 0);
        const env = { DROVER_URL: server.url, DROVER_TOKEN: server.token };
        const shown = await launch(['task', taskId], env).ended;
        assert.match(shown.out, /Waiting +1 of 1 runs of acme\/one are active; 2nd in line/);

        for (const mark of marks) await server.openGate(mark);
        for (const ids of [...held, ...waiting.map(([each]) => each)])
            await server.untilTask(ids.taskId, 'completed');
        const ended = await server.task(taskId);
        assert.equal(ended.deferredReason, null);
        assert.equal(ended.queuePosition, undefined);
        assert.equal(ended.waitingSince, null);
    });
});

describe('sandboxes and the system', () => {
    before(async () => {
        server = await start({ config: 'limits: {sandboxes: 1, maxActiveRuns: 2}\n' });
    });
    after(() => server.discard());

    it('are two limits: a run that waits for a person counts for the second only', async () => {
        const policy = { approval: 'always' };
        const repo = await server.repository('acme/asks', fixes, { policy });
        const mark = newMark();
        const slow = await server.repository('acme/slow', waits(mark) + fixes);
        const holds = await server.submit(slow.name);
        await server.untilGate(mark);
        const asks = [await server.submit(repo.name), await server.submit(repo.name)];
        const third = await server.submit(repo.name);
        for (const ids of [...asks, third]) await deferred(ids, 'sandbox_pool_limit');
        await server.openGate(mark);
        await server.untilTask(holds.taskId, 'completed');
        for (const { runId } of asks) await server.untilRun(runId, 'awaiting_approval');
        await deferred(third, 'system_concurrency_limit');
        const [approval] = await server.list(`/v1/approvals?runId=${asks[0].runId}`);
        await server.decide(approval.id, 'approve');
        await server.untilRun(third.runId, 'awaiting_approval');
        for (const ids of [asks[1], third]) await server.post(`/v1/tasks/${ids.taskId}/cancel`);
    });
});

describe('what rejects', () => {
    before(async () => {
        server = await start({ config: 'limits: {tasksPerHourPerUser: 2, costPerDayUsd: 1}\n' });
    });
    after(() => server.discard());

    it('is key, onboarding, policy, rate and cost, in this order', async () => {
        const mark = newMark();
        const cost = says({ type: 'turn', turns: 1, costUsd: 1.5 });
        const repo = await server.repository('acme/dear', `${waits(mark)}${cost}${fixes}`,
            { limits: { maxActiveRuns: 1, maxBudgetUsd: 2 } });
        const key = { 'idempotency-key': 'k1' };
        const first = await server.submit(repo.name, {}, key);
        const second = await server.submit(repo.name); // The rate of this hour is used up.
        await deferred(second, 'repository_concurrency_limit');
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
        const { deferredDetail } = await deferred(second, 'cost_budget_exceeded');
        assert.match(deferredDetail,
            /1\.00 USD for today is used up; the run can start at \S+T00:00:00/);

        const unknown = { repository: 'acme/unknown', description: 'x', ...HIGH };
        const known = { repository: repo.name, description: 'x' };
        const post = (body, headers, token) =>
            server.call('POST', '/v1/tasks', { body, headers, token });
        assertProblem(await post(unknown, key), 422, { code: 'IDEMPOTENCY_KEY_REUSED' });
        assertProblem(await post(unknown), 422, { code: 'REPO_NOT_ONBOARDED' });
        assertProblem(await post({ ...known, ...HIGH }), 403,
            { code: 'policy.execution_mode_not_allowed' });
        assertProblem(await post(known), 429, { code: 'rate_limit_exceeded' });
        const problem = assertProblem(await post(known, {}, await newOperator('dan')), 403,
            { code: 'cost_budget_exceeded' });
        assert.ok(problem.retryAfterMs > 0 && problem.retryAfterMs <= 24 * 3600 * 1000 + 1);
        const repeat = await post({ ...known, description: 'Make the answer right.' }, key);
        assert.equal(repeat.status, 202); // A repeat answers as the first did.
        assert.equal(repeat.json.taskId, first.taskId);
        assertProblem(await server.call('POST', `/v1/tasks/${first.taskId}/retry`), 409);
        await server.post(`/v1/tasks/${second.taskId}/cancel`);
        assertProblem(await server.call('POST', `/v1/tasks/${second.taskId}/retry`), 429);
    });
});

describe('a repository', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('with open pull requests enough gets no new work until one is gone', async () => {
        const repo = await server.repository('acme/reviews', fixes,
            { limits: { maxOpenPullRequests: 1 } });
        const first = await server.finish(repo.name, 'completed');
        const second = await server.submit(repo.name);
        const task = await deferred(second, 'open_pull_requests_limit');
        assert.equal(task.deferredDetail, '1 of 1 pull requests of acme/reviews are open');
        await server.post(`/v1/pull-requests/${first.run.pullRequest.id}/close`);
        await server.untilTask(second.taskId, 'completed');
        const third = await server.submit(repo.name);
        await deferred(third, 'open_pull_requests_limit');
        const { pullRequest } = await server.run(second.runId);
        await server.post(`/v1/pull-requests/${pullRequest.id}/merge`);
        await server.untilTask(third.taskId, 'completed', 'failed'); // Nothing is left to mend.
    });

    it('with unanswered questions enough gets no new work until one is answered', async () => {
        const repo = await server.repository('acme/questions', fixes,
            { limits: { maxOpenApprovals: 1 } });
        const first = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(first.runId, 'awaiting_approval');
        const second = await server.submit(repo.name, PATCH);
        await deferred(second, 'open_approvals_limit');
        const [approval] = await server.list(`/v1/approvals?runId=${first.runId}`);
        await server.decide(approval.id, 'reject');
        await server.untilTask(second.taskId, 'completed');
    });

    it('that serializes overlaps works on the same files one after the other', async () => {
        const mark = newMark();
        const agent = holdable(mark);
        const repo = await server.repository('acme/files', agent,
            { ...FORGETS, limits: { overlap: 'serialize' } });
        const first = await server.submit(repo.name,
            { ...PATCH, description: 'hold-here', scope: ['*.txt'] });
        await server.untilGate(mark);
        const same = await server.submit(repo.name, { ...PATCH, scope: ['answer.txt'] });
        const apart = await server.submit(repo.name, { ...PATCH, scope: ['docs/**'] });
        const { deferredDetail } = await deferred(same, 'overlaps_active_run');
        assert.match(deferredDetail, new RegExp(`run ${first.runId} is at work on \\*\\.txt`));
        await until('the other one to start', async () =>
            typesOf(await server.events(apart.runId)).includes('agent.run.started'));
        await server.openGate(mark);
        await server.untilTask(same.taskId, 'completed');
    });

    it('that warns of overlaps starts them and says so', async () => {
        const mark = newMark();
        const agent = holdable(mark);
        const repo = await server.repository('acme/warns', agent,
            { ...FORGETS, limits: { overlap: 'warn' } });
        const first = await server.submit(repo.name, { ...PATCH, description: 'hold-here' });
        await server.untilGate(mark);
        const { runId } = await server.finish(repo.name, 'completed',
            { ...PATCH, scope: ['answer.txt'] });
        const told = (await server.events(runId))
            .find((event) => event.type === 'agent.task.overlap');
        assert.equal(told.data.otherRunId, first.runId);
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
    });

    it('tries a finished task again as another run, and keeps the first', async () => {
        const repo = await server.repository('acme/again', gaveUp('no'));
        const { taskId, runId } = await server.finish(repo.name, 'failed');
        await server.configure(repo.name,
            { ...repo.document, agent: { ...repo.document.agent, command: ['sh', '-c', fixes] } });
        const again = await server.post(`/v1/tasks/${taskId}/retry`);
        assert.equal(again.runNo, 2);
        const task = await server.untilTask(taskId, 'completed');
        assert.deepEqual(task.runs.map((run) => [run.runNo, run.status]),
            [[1, 'failed'], [2, 'completed']]);
        assert.equal((await server.run(runId)).status, 'failed');
    });
});
