// cancel.test.mjs - a task can be stopped in every step, and nothing of it stays alive;
// cancellation.test.mjs has the table.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { branches, fixes, stays, staysWithChildren, staysWithDaemon } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, processesWith, untilAsleep, untilGone, untilRunning } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';
import { HandWorker, STATES, STEPS } from './lib/worker.mjs';

let server;
const REASON = 'somebody else did it';

function cancel(taskId) {
    return server.call('POST', `/v1/tasks/${taskId}/cancel`, { body: { reason: REASON } });
}

// Cancels, waits for the end, and looks at what every cancelled task has in common.
async function cancelAndCheck({ taskId, runId, origin, mark }) {
    const res = await cancel(taskId);
    assert.ok([200, 202].includes(res.status), res.text);
    const task = await server.untilTask(taskId, 'cancelled');
    assert.equal(task.runs.at(-1).status, 'cancelled');
    await untilGone(mark);
    const events = await server.events(runId);
    assertHistory(events);
    assert.ok(typesOf(events).includes('agent.run.cancelled'));
    assert.ok(typesOf(events).includes('agent.task.cancelled'));
    assertWhoAndWhy(events);
    assertProblem(await cancel(taskId), 409);
    assert.deepEqual(branches(origin), []);
    const jobs = await server.list(`/v1/jobs?runId=${runId}&state=queued`);
    assert.deepEqual(jobs.filter((job) => job.type !== 'clean'), []);
    return { task, events };
}

function assertWhoAndWhy(events) {
    const asked = events.find((event) => /cancel/.test(event.type) && event.actortype === 'user');
    assert.ok(asked, 'an event of the person who cancelled');
    assert.equal(asked.actorid, 'admin');
    const told = events.filter((event) => /cancel/.test(event.type))
        .some((event) => JSON.stringify(event.data).includes(REASON));
    assert.ok(told, 'the reason is recorded');
}

describe('cancelling', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '8'] });
    });
    after(() => server.discard());

    it('a task while its agent works kills the agent and all its children', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const repo = await server.repository('acme/running', staysWithDaemon(mark));
        const ids = await server.submit(repo.name);
        await server.untilRun(ids.runId, 'running');
        await until('the agent and its children', () =>
            ['3000', '3001', '3002', '3003'].every((seconds) =>
                processesWith(`${seconds}.${mark}`).some(({ command }) => /^sleep/.test(command))));
        await cancelAndCheck({ ...ids, origin: repo.origin, mark });
    });

    it('a task while it is verified kills the verifier', async () => {
        const mark = newMark();
        const verify = [{ name: 'slow', command: staysWithChildren(mark) }];
        const repo = await server.repository('acme/verifying', fixes, { verify });
        const ids = await server.submit(repo.name);
        await server.untilRun(ids.runId, 'verifying');
        await untilRunning(mark, 3);
        await cancelAndCheck({ ...ids, origin: repo.origin, mark });
    });

    it('a task in its second attempt works like in the first', async () => {
        const mark = newMark();
        const agent = `[ "$DROVER_ATTEMPT" = 1 ] || ${stays(mark)}\necho 43 >answer.txt`;
        const repo = await server.repository('acme/second', agent);
        const ids = await server.submit(repo.name);
        await untilAsleep(mark);
        await cancelAndCheck({ ...ids, origin: repo.origin, mark });
        assert.equal((await server.run(ids.runId)).attempt, 2);
    });

    it('takes no reason as well', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/mute', stays(mark));
        const ids = await server.submit(repo.name);
        await server.post(`/v1/tasks/${ids.taskId}/cancel`);
        await server.untilTask(ids.taskId, 'cancelled');
        await untilGone(mark);
    });
});

// No workers but the one that the test plays: every step stands still as long as it is told to.
describe('cancelling a task in', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    // The test's worker claims a pull request that is not there.
    after(() => server.discard({ findings: ['forge'] }));

    // Takes a new task to the step.
    async function reach(step, state, more = {}) {
        const name = `acme/${step}-${newMark()}`;
        const repo = await server.repository(name, fixes, more);
        const ids = await server.submit(repo.name);
        const worker = new HandWorker(server, 'hand');
        await worker.walkTo(step, ids.runId);
        await server.untilRun(ids.runId, state);
        return { ...ids, worker, origin: repo.origin, mark: newMark() };
    }

    // After the end there is only the cleaning left to do.
    async function finishCleaning({ worker, runId, state }) {
        if (state === 'queued') return;
        const clean = await worker.take('clean', runId);
        assert.equal((await worker.complete(clean)).ok, true);
    }

    STEPS.forEach((step, index) => {
        const state = STATES[index];
        it(`${state} ends it at once while no worker has taken the step`, async () => {
            const at = await reach(step, state);
            const { task } = await cancelAndCheck(at);
            assert.match(task.errorMessage, new RegExp(REASON));
            await finishCleaning({ ...at, state });
        });

        it(`${state} asks the worker at work to stop`, async () => {
            const at = await reach(step, state);
            const job = await at.worker.take(step, at.runId);
            assert.equal((await at.worker.heartbeat(job)).cancel, false);
            assert.ok([200, 202].includes((await cancel(at.taskId)).status));
            assert.equal((await server.run(at.runId)).status, state, 'it still works');
            if (step === 'publish') return finishPublishing(at, job);
            assert.equal((await at.worker.heartbeat(job)).cancel, true);
            await at.worker.fail(job, { code: 'cancelled', message: 'stopped', retryable: false });
            await server.untilTask(at.taskId, 'cancelled');
            assertWhoAndWhy(await server.events(at.runId));
            await finishCleaning({ ...at, state });
        });
    });

    // A pull request that is being opened is let through.
    async function finishPublishing(at, job) {
        assert.equal((await at.worker.complete(job)).ok, true);
        await server.untilTask(at.taskId, 'completed', 'cancelled');
        assertHistory(await server.events(at.runId));
        const prs = (await server.list('/v1/pull-requests')).filter((pr) => pr.runId === at.runId);
        assert.equal(prs.length, 1, 'it is there, so it is recorded');
        await finishCleaning(at);
    }

    it('running does not wait for ever for a worker that will not listen', async () => {
        const at = await reach('agent', 'running', { timeouts: { cancelMs: 300 } });
        const job = await at.worker.take('agent', at.runId);
        await cancelAndCheck(at);
        const late = await at.worker.complete(job);
        assert.deepEqual([late.ok, late.code], [false, 'LEASE_LOST']);
        assert.equal((await server.task(at.taskId)).status, 'cancelled');
        await finishCleaning(at);
    });

    it('running is not undone by a result that comes in just before the worker hears', async () => {
        const at = await reach('agent', 'running');
        const job = await at.worker.take('agent', at.runId);
        await cancel(at.taskId);
        await at.worker.complete(job);
        await server.untilTask(at.taskId, 'cancelled');
        await finishCleaning(at);
    });
});
