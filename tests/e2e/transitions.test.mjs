// transitions.test.mjs - the life of a task, row by row of its table.  A task's status is what its
// latest run projects; the events tell every step of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory } from './lib/cloudevents.mjs';
import { answers, fixes, gaveUp, holdOrigin, stays, staysIfAsked, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, untilAsleep, untilGone, untilRunning } from './lib/procs.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { start } from './lib/server.mjs';

let server;
const retries = { agentAttempts: 1, prRetries: 0 };

const PROJECTION = {
    queued: 'SUBMITTED', preparing: 'HYDRATING', context_loading: 'HYDRATING',
    planning: 'RUNNING', running: 'RUNNING', verifying: 'RUNNING', judging: 'RUNNING',
    awaiting_approval: 'FINALIZING', creating_pr: 'FINALIZING', completed: 'COMPLETED',
    failed: 'FAILED', cancelled: 'CANCELLED', timed_out: 'TIMED_OUT',
};

// The states that the task of this run went through, as its events tell.
async function statesOf(runId) {
    const events = await server.events(runId);
    // The task's events about earlier runs have their causes there.
    if (events.every((event) => !event.data.runNo || event.data.runNo === 1)) assertHistory(events);
    const states = ['SUBMITTED'];
    for (const { type, data } of events) {
        if (type !== 'agent.run.status.changed') continue;
        assert.equal(PROJECTION[data.fromStatus], states.at(-1));
        if (states.at(-1) !== PROJECTION[data.toStatus]) states.push(PROJECTION[data.toStatus]);
    }
    return states;
}

// Goes this way, and the task says so in the end.
async function assertWay({ taskId, runId }, ...way) {
    assert.deepEqual(await statesOf(runId), way);
    assert.equal((await server.task(taskId)).status, way.at(-1).toLowerCase());
}

const cancel = (taskId) => server.cancel(taskId, 'no more');

const question = (runId) => server.question(runId);

describe('the transition table', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '8'] });
    });
    after(() => server.discard());

    it('SUBMITTED -> HYDRATING: admission passes and a slot is available', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/admitted', staysIfAsked(mark) + fixes,
            { limits: { maxActiveRuns: 1 } });
        const first = await server.submit(repo.name, { description: 'stay here' });
        await untilAsleep(mark);
        const second = await server.submit(repo.name);
        await server.untilTask(second.taskId, 'deferred');
        assert.deepEqual(await statesOf(second.runId), ['SUBMITTED'], 'it holds no slot');
        await cancel(first.taskId);
        await server.untilTask(second.taskId, 'completed');
        assert.equal((await statesOf(second.runId))[1], 'HYDRATING');
    });

    it('SUBMITTED -> FAILED: admission rejects', async () => {
        const body = { repository: 'acme/nobody', description: 'x' };
        assertProblem(await server.call('POST', '/v1/tasks', { body }), 422,
            { code: 'REPO_NOT_ONBOARDED' });
        const repo = await server.repository('acme/rejects', fixes);
        const denied = { repository: repo.name, description: 'x', riskLevel: 'high',
            executionMode: 'autonomous_pr' };
        assertProblem(await server.call('POST', '/v1/tasks', { body: denied }), 403);
        const told = await server.list('/v1/events?type=agent.task.rejected');
        assert.ok(told.some((event) => JSON.stringify(event.data).includes(repo.name)));
        // One that was accepted is rejected later, when it turns out that it can never start.
        const doomed = await server.repository('acme/doomed', gaveUp('no'));
        const { taskId } = await server.finish(doomed.name, 'failed');
        const next = await server.finish(repo.name, 'failed', { dependsOn: [taskId] });
        assert.equal(next.task.errorCode, 'dependency_failed');
        await assertWay(next, 'SUBMITTED', 'FAILED');
    });

    it('SUBMITTED -> CANCELLED: a user cancels', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/early', waits(mark) + fixes,
            { limits: { maxActiveRuns: 1 } });
        const first = await server.submit(repo.name);
        await server.untilGate(mark);
        const second = await server.submit(repo.name);
        await cancel(second.taskId);
        await assertWay(second, 'SUBMITTED', 'CANCELLED');
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
    });

    it('HYDRATING -> RUNNING -> FINALIZING -> COMPLETED: all goes well', async () => {
        const repo = await server.repository('acme/well', fixes);
        const done = await server.finish(repo.name, 'completed');
        await assertWay(done, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'FINALIZING', 'COMPLETED');
    });

    it('HYDRATING -> FAILED: hydration error', async () => {
        const repo = await server.repository('acme/dry', fixes);
        const done = await server.finish(repo.name, 'failed', { targetBranch: 'nowhere' });
        assert.equal(done.task.errorCode, 'branch_not_found');
        await assertWay(done, 'SUBMITTED', 'HYDRATING', 'FAILED');
    });

    it('HYDRATING -> FAILED: hydration takes too long', async () => {
        const repo = await server.repository('acme/slow', fixes, { timeouts: { prepareMs: 400 } });
        const release = holdOrigin(repo.origin);
        try {
            const done = await server.finish(repo.name, 'failed');
            assert.equal(done.task.errorCode, 'hydration_timed_out');
            await assertWay(done, 'SUBMITTED', 'HYDRATING', 'FAILED');
            await untilGone(repo.origin);
        } finally {
            release();
        }
    });

    it('HYDRATING -> CANCELLED: a user cancels during hydration', async () => {
        const repo = await server.repository('acme/wet', fixes);
        const release = holdOrigin(repo.origin);
        try {
            const ids = await server.submit(repo.name);
            await untilRunning(repo.origin);
            await cancel(ids.taskId);
            await server.untilTask(ids.taskId, 'cancelled');
            await assertWay(ids, 'SUBMITTED', 'HYDRATING', 'CANCELLED');
        } finally {
            release();
        }
    });

    it('RUNNING -> CANCELLED: a user cancels', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/stopped', stays(mark));
        const ids = await server.submit(repo.name);
        await untilAsleep(mark);
        await cancel(ids.taskId);
        await server.untilTask(ids.taskId, 'cancelled');
        await untilGone(mark);
        await assertWay(ids, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'CANCELLED');
    });

    const endings = [
        { row: 'RUNNING -> TIMED_OUT: the run passes its time', status: 'timed_out',
          agent: stays(newMark()), limit: 'runMs', limitMs: 4000, code: 'run_timed_out' },
        { row: 'RUNNING -> TIMED_OUT: the agent passes its time', status: 'timed_out',
          agent: stays(newMark()), limit: 'agentMs', limitMs: 400, code: 'agent_timed_out' },
        { row: 'RUNNING -> TIMED_OUT: the session ended because it was idle', status: 'timed_out',
          agent: stays(newMark()), limit: 'idleMs', limitMs: 400, code: 'agent_idle_timed_out' },
        { row: 'RUNNING -> FAILED: the session crashes', status: 'failed',
          agent: 'kill -9 $$', code: 'session_ended_unexpectedly' },
        { row: 'RUNNING -> FAILED: no commits', status: 'failed',
          agent: 'exit 0', code: 'agent_did_nothing' },
        { row: 'RUNNING -> FAILED: the agent reports an error', status: 'failed',
          agent: answers(42) + gaveUp('no'), code: 'agent_error_partial_work' },
        { row: 'RUNNING -> FAILED: it does not pass verification', status: 'failed',
          agent: answers(43), code: 'retry_budget_exhausted' },
    ];
    endings.forEach(({ row, status, agent, limit, limitMs = 0, code }, index) => {
        it(row, () => withRoom(limitMs, async (ms) => {
            const timeouts = limit ? { [limit]: ms } : {};
            const repo = await server.repository(`acme/end-${index}-${ms}`, agent,
                { timeouts, retries });
            const done = await server.finish(repo.name, status);
            if (limit && !(await statesOf(done.runId)).includes('RUNNING'))
                throw new TooSlow('no agent was started');
            assert.equal(done.task.errorCode, code);
            await assertWay(done, 'SUBMITTED', 'HYDRATING', 'RUNNING', status.toUpperCase());
        }));
    });

    it('RUNNING -> FINALIZING -> COMPLETED: a person approves', async () => {
        const repo = await server.repository('acme/asks', fixes);
        const ids = await server.submit(repo.name, { riskLevel: 'high' });
        const { id } = await question(ids.runId);
        await assertWay(ids, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'FINALIZING');
        assert.equal((await server.decide(id, 'approve')).status, 200);
        await server.untilTask(ids.taskId, 'completed');
        await assertWay(ids, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'FINALIZING', 'COMPLETED');
    });

    it('FINALIZING -> FAILED: a person rejects', async () => {
        const repo = await server.repository('acme/refused', fixes);
        const ids = await server.submit(repo.name, { riskLevel: 'high' });
        const { id } = await question(ids.runId);
        assert.equal((await server.decide(id, 'reject')).status, 200);
        await server.untilTask(ids.taskId, 'failed');
        await assertWay(ids, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'FINALIZING', 'FAILED');
    });

    it('FINALIZING -> TIMED_OUT: nobody decides in time', async () => {
        const repo = await server.repository('acme/nobody-decides', fixes,
            { timeouts: { approvalMs: 300 } });
        const done = await server.finish(repo.name, 'timed_out', { riskLevel: 'high' });
        assert.equal(done.task.errorCode, 'approval_expired');
        await assertWay(done, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'FINALIZING', 'TIMED_OUT');
    });

    it('FINALIZING -> TIMED_OUT: publishing passes its time', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/late', waits(mark) + fixes,
            { timeouts: { publishMs: 500 }, retries });
        const ids = await server.submit(repo.name);
        await server.untilGate(mark);
        const release = holdOrigin(repo.origin);
        try {
            await server.openGate(mark);
            const task = await server.untilTask(ids.taskId, 'timed_out');
            assert.equal(task.errorCode, 'step_timed_out');
            await assertWay(ids, 'SUBMITTED', 'HYDRATING', 'RUNNING', 'FINALIZING', 'TIMED_OUT');
        } finally {
            release();
        }
    });

    it('SUBMITTED -> TIMED_OUT: it never gets its turn', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/crowded', waits(mark) + fixes,
            { limits: { maxActiveRuns: 1 } });
        const first = await server.submit(repo.name);
        await server.untilGate(mark);
        await server.configure(repo.name, { ...repo.document, timeouts: { queueMs: 300 } });
        const second = await server.finish(repo.name, 'timed_out');
        await assertWay(second, 'SUBMITTED', 'TIMED_OUT');
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
    });

    it('any terminal state -> SUBMITTED only as a new run, and the old one stays', async () => {
        const repo = await server.repository('acme/again', gaveUp('no'));
        const first = await server.finish(repo.name, 'failed');
        const before = await server.events(first.runId);
        repo.document.agent.command[2] = fixes;
        await server.configure(repo.name, repo.document);
        const { runId } = await server.post(`/v1/tasks/${first.taskId}/retry`);
        const task = await server.untilTask(first.taskId, 'completed');
        assert.deepEqual(task.runs.map((run) => run.status).sort(), ['completed', 'failed']);
        assert.equal((await server.run(runId)).runNo, 2);
        await assertWay({ taskId: first.taskId, runId }, 'SUBMITTED', 'HYDRATING', 'RUNNING',
            'FINALIZING', 'COMPLETED');
        const own = (events) => events.filter((event) => event.runid === first.runId).length;
        assert.equal(own(await server.events(first.runId)), own(before), 'history is history');
        assertProblem(await server.call('POST', `/v1/tasks/${first.taskId}/retry`, { body: {} }),
            409, { code: 'TASK_COMPLETED' });
    });
});
