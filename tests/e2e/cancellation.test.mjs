// cancellation.test.mjs - what a cancel does in each state, row by row of its table.  In each row:
// the slot is free once and only once, who and why are recorded, a second cancel is refused.
// cancel.test.mjs has every step by hand.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { answers, branches, fixes, gaveUp, git, holdOrigin, refs, stays,
    staysIfAsked } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, processesWith, untilAsleep, untilGone, untilRunning } from './lib/procs.mjs';
import { start } from './lib/server.mjs';

let server;
const REASON = 'the plan has changed';
const ONE = { limits: { maxActiveRuns: 1 } };
// Stays where the prompt says so; else it does its work.
const agent = (mark) => answers(7) + staysIfAsked(mark) + fixes;

// Told by the cleaning, which may come after the end.
const isSnapshot = (type) => type.startsWith('agent.snapshot.');

const cancel = (taskId) =>
    server.call('POST', `/v1/tasks/${taskId}/cancel`, { body: { reason: REASON } });

// Slots of the repository that are in use, as the server counts them two ways.
async function activeRuns(repository) {
    const { checks } = await server.get('/v1/doctor');
    assert.equal(checks.find((check) => check.name === 'slots').bad, 0, 'the counts agree');
    const runs = await server.list(`/v1/runs?repository=${encodeURIComponent(repository)}`);
    const idle = ['queued', 'completed', 'failed', 'cancelled', 'timed_out'];
    return runs.filter((run) => !idle.includes(run.status)).length;
}

// The slot is free: of two more runs one starts, and the other waits for it.
async function assertFreedOnce(repo, mark) {
    assert.equal(await activeRuns(repo.name), 0);
    const next = await server.submit(repo.name, { description: 'stay here' });
    await untilAsleep(mark);
    const other = await server.submit(repo.name, { description: 'go on' });
    await server.untilTask(other.taskId, 'deferred');
    assert.equal(await activeRuns(repo.name), 1, 'not freed twice');
    assert.equal((await cancel(next.taskId)).status < 300, true);
    await server.untilTask(other.taskId, 'completed');
}

async function assertCancelled({ taskId, runId }) {
    const task = await server.untilTask(taskId, 'cancelled');
    assert.equal(task.errorCode, 'cancelled');
    assert.match(task.errorMessage, /admin.*the plan has changed/);
    const events = await server.events(runId);
    assertHistory(events);
    const ended = events.filter((event) => event.type === 'agent.task.cancelled');
    assert.equal(ended.length, 1);
    assert.equal(ended[0].data.requestedBy, 'admin');
    assertProblem(await cancel(taskId), 409, { code: 'TASK_FINISHED' });
    return typesOf(events);
}

describe('the cancellation table', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '8'] });
    });
    after(() => server.discard());

    it('SUBMITTED: straight to CANCELLED, nothing to clean up', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/submitted', agent(mark), ONE);
        const first = await server.submit(repo.name, { description: 'stay here' });
        await untilAsleep(mark);
        const second = await server.submit(repo.name);
        assert.equal((await cancel(second.taskId)).json.status, 'cancelled');
        await assertCancelled(second);
        assert.deepEqual(await server.list(`/v1/jobs?runId=${second.runId}`), []);
        assert.equal(await activeRuns(repo.name), 1, 'the slot was never its own');
        await cancel(first.taskId);
        await server.untilTask(first.taskId, 'cancelled');
    });

    it('RUNNING: the session is stopped, the slot is free, partial work remains', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/running', agent(mark), ONE);
        const ids = await server.submit(repo.name, { description: 'stay here' });
        await untilAsleep(mark);
        const res = await cancel(ids.taskId);
        assert.equal(res.json.stopping, true);
        const types = await assertCancelled(ids);
        assert.deepEqual(processesWith(mark), [], 'it had ended before the run did');
        assert.ok(types.indexOf('agent.run.cancel.requested') <
            types.indexOf('agent.snapshot.taken'));
        assert.deepEqual(branches(repo.origin), []);
        const { items: [last] } = await server.get(`/v1/runs/${ids.runId}/snapshots`);
        assert.equal(git(repo.origin, 'show', `${last.ref}:answer.txt`), '7');
        await assertFreedOnce(repo, mark);
    });

    it('FINALIZING, a person is asked: CANCELLED, the question is withdrawn', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/asking', agent(mark), ONE);
        const ids = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(ids.runId, 'awaiting_approval');
        await cancel(ids.taskId);
        await assertCancelled(ids);
        const [question] = await server.list(`/v1/approvals?runId=${ids.runId}`);
        assert.equal(question.status, 'cancelled');
        assertProblem(await server.decide(question.id, 'approve'), 409);
        await assertFreedOnce(repo, mark);
    });

    it('FINALIZING, a pull request is opened: that completes, then CANCELLED', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/opening', agent(mark),
            { ...ONE, policy: { approval: 'always' }, timeouts: { cancelMs: 200 } });
        const ids = await server.submit(repo.name);
        await server.untilRun(ids.runId, 'awaiting_approval');
        const [question] = await server.list(`/v1/approvals?runId=${ids.runId}`);
        const release = holdOrigin(repo.origin);
        try {
            await server.decide(question.id, 'approve');
            await untilRunning(repo.origin);
            const began = Date.now();
            assert.equal((await cancel(ids.taskId)).json.stopping, true);
            while (Date.now() < began + 500) await server.run(ids.runId); // Beyond cancelMs.
            assert.equal((await server.run(ids.runId)).status, 'creating_pr', 'it is let through');
        } finally {
            release();
        }
        const types = await assertCancelled(ids);
        assert.ok(types.indexOf('agent.pr.created') < types.indexOf('agent.run.cancelled'));
        const prs = await server.pullRequests(repo.name);
        assert.deepEqual(prs.map((pr) => pr.runId), [ids.runId]);
        assert.ok('refs/pull/1/head' in refs(repo.origin));
        assert.equal(await activeRuns(repo.name), 0);
    });

    it('two at once: one cancel counts', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/twice', agent(mark), ONE);
        const ids = await server.submit(repo.name, { description: 'stay here' });
        await untilAsleep(mark);
        const all = await Promise.all(Array.from({ length: 8 }, () => cancel(ids.taskId)));
        assert.ok(all.every((res) => [200, 202, 409].includes(res.status)));
        const types = await assertCancelled(ids);
        for (const once of ['agent.run.cancel.requested', 'agent.run.cancelled'])
            assert.equal(types.filter((type) => type === once).length, 1, once);
        await assertFreedOnce(repo, mark);
    });

    const ended = [
        { status: 'completed', body: fixes },
        { status: 'failed', body: gaveUp('no') },
        { status: 'timed_out', body: stays(newMark()), timeouts: { agentMs: 300 } },
    ];
    for (const { status, body, timeouts = {} } of ended) {
        it(`a terminal state (${status.toUpperCase()}): refused with 409`, async () => {
            const repo = await server.repository(`acme/over-${status}`, body, { timeouts });
            const { taskId, runId } = await server.finish(repo.name, status);
            const before = (await server.events(runId)).filter(({ type }) => !isSnapshot(type));
            assertProblem(await cancel(taskId), 409, { code: 'TASK_FINISHED' });
            const { code, err } = await launch(['cancel', taskId, '--data', server.data], {}).ended;
            assert.equal(code, 4, err);
            assert.equal((await server.task(taskId)).status, status);
            const after = (await server.events(runId)).filter(({ type }) => !isSnapshot(type));
            assert.deepEqual(typesOf(after), typesOf(before), 'a refusal tells nothing');
        });
    }
});

// By itself: the doctor, which the other rows ask, looks at every origin.
describe('the cancellation table, with an origin that does not answer', () => {
    before(async () => {
        server = await start();
    });
    after(() => server.discard());

    it('HYDRATING: hydration is aborted, the slot is free', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/hydrating', agent(mark), ONE);
        const release = holdOrigin(repo.origin);
        const ids = await server.submit(repo.name);
        try {
            await untilRunning(repo.origin);
            await cancel(ids.taskId);
            const types = await assertCancelled(ids);
            assert.ok(!types.includes('agent.run.started'));
            await untilGone(repo.origin);
        } finally {
            release();
        }
        await assertFreedOnce(repo, mark);
    });
});
