// timeouts.test.mjs - whatever waits, waits for a limited time.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory, assertInOrder, typesOf } from './lib/cloudevents.mjs';
import { answers, branches, done, fixes, says, stays, staysWithChildren,
    waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, untilGone } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

let server;
const SHORT_MS = 400;

// Talks all the time, so that only the wall clock can end it.
const talks = (mark) => `: ${mark}
while :; do ${says({ type: 'message', text: 'still here' })} sleep 0.05; done`;

describe('a limit of time', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '8'] });
    });
    after(() => server.discard());

    const agents = [
        { what: 'the wall clock of the agent', agent: talks, timeouts: { agentMs: SHORT_MS },
          code: /agent.*time|time.*agent/i },
        { what: 'the silence of the agent', agent: staysWithChildren,
          timeouts: { idleMs: SHORT_MS }, code: /idle/i },
        { what: 'the whole run', agent: staysWithChildren, timeouts: { runMs: 3000 },
          code: /run|deadline/i },
    ];
    agents.forEach(({ what, agent, timeouts, code }, index) => {
        it(`ends the run and its processes: ${what}`, async () => {
            const mark = newMark();
            const repo = await server.repository(`acme/limit-${index}`, agent(mark), { timeouts });
            const { task, run, runId } = await server.finish(repo.name, 'timed_out');
            assert.match(task.errorCode, code);
            assert.ok(task.errorMessage);
            assert.equal(run.status, 'timed_out');
            await untilGone(mark);
            const events = await server.events(runId);
            assertHistory(events);
            assertInOrder(typesOf(events), ['agent.run.timed_out', 'agent.task.timed_out']);
            assert.deepEqual(branches(repo.origin), []);
        });
    });

    it('does not end an agent that is busy but not silent', async () => {
        const quick = says({ type: 'message', text: 'working' });
        await withRoom(2000, async (idleMs) => {
            const sleep = `sleep ${idleMs / 4000}`;
            const agent = `for i in 1 2 3 4 5 6; do ${quick} ${sleep}; done\n${fixes}`;
            const repo = await server.repository(`acme/busy-${idleMs}`, agent,
                { timeouts: { idleMs } });
            const { taskId } = await server.submit(repo.name);
            const { status, errorCode } = await server.untilEnded(taskId);
            if (errorCode === 'agent_idle_timed_out') throw new TooSlow('it was silent for long');
            assert.equal(status, 'completed');
        });
    });

    it('on a verifier counts as a failed check, and the agent hears about it', async () => {
        await withRoom(2000, async (timeoutMs) => {
            const mark = newMark();
            const command = `[ -e told.txt ] && exec sh test.sh\n${staysWithChildren(mark)}`;
            const verify = [{ name: 'slow', command, timeoutMs }];
            const agent = `[ "$DROVER_ATTEMPT" = 1 ] || cp "$DROVER_FEEDBACK" told.txt\n${fixes}`;
            const repo = await server.repository(`acme/verifier-${timeoutMs}`, agent, { verify });
            const { taskId, runId } = await server.submit(repo.name);
            await server.untilEnded(taskId);
            await untilGone(mark);
            const run = await server.run(runId);
            const types = typesOf(await server.events(runId));
            if (types.filter((type) => type === 'agent.verification.timed_out').length > 1)
                throw new TooSlow('the check had no time to pass');
            assert.deepEqual([run.status, run.attempt], ['completed', 2]);
            assertInOrder(types, [
                'agent.verification.timed_out', 'agent.run.verdict.retry_with_feedback',
                'agent.verification.passed', 'agent.run.completed']);
        });
    });

    it('on an approval closes the question and times the run out', async () => {
        const repo = await server.repository('acme/approval', fixes,
            { timeouts: { approvalMs: SHORT_MS } });
        const { taskId, runId } = await server.submit(repo.name, { riskLevel: 'high' });
        const task = await server.untilTask(taskId, 'timed_out');
        assert.match(task.errorCode, /approval/);
        const events = await server.events(runId);
        assertHistory(events);
        assertInOrder(typesOf(events),
            ['agent.approval.requested', 'agent.approval.expired', 'agent.run.timed_out']);
        const [question] = (await server.list('/v1/approvals'))
            .filter((approval) => approval.runId === runId);
        assert.equal(question.status, 'expired');
        assertProblem(await server.decide(question.id, 'approve'), 409);
        assert.deepEqual(branches(repo.origin), []);
    });

    it('on the run stands still while a person thinks', async () => {
        await withRoom(4000, async (runMs) => {
            const repo = await server.repository(`acme/thinks-${runMs}`, fixes,
                { timeouts: { runMs } });
            const { taskId, runId } = await server.submit(repo.name, { riskLevel: 'high' });
            await until('the question, or the end', async () => ['awaiting_approval', 'timed_out']
                .includes((await server.run(runId)).status));
            const [question] = await server.list(`/v1/approvals?runId=${runId}`);
            if (!question) throw new TooSlow('the run was over before the question');
            const asked = Date.now();
            await until('the time of the run to pass', () => Date.now() > asked + runMs + 500);
            assert.equal((await server.run(runId)).status, 'awaiting_approval');
            assert.equal((await server.decide(question.id, 'approve')).status, 200);
            const { status } = await server.untilEnded(taskId);
            const [decided] = await server.list(`/v1/approvals?runId=${runId}`);
            if (status === 'timed_out' && Date.now() - Date.parse(decided.decidedAt) > runMs / 2)
                throw new TooSlow('too little was left for the end');
            assert.equal(status, 'completed');
        });
    });

    it('on the queue ends a task that never got its turn', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/queue', waits(mark) + fixes,
            { limits: { maxActiveRuns: 1 } });
        const first = await server.submit(repo.name);
        await server.untilGate(mark);
        await server.configure(repo.name, { ...repo.document, timeouts: { queueMs: SHORT_MS } });
        const second = await server.submit(repo.name);
        const task = await server.untilTask(second.taskId, 'timed_out');
        assert.match(task.errorCode, /queue/);
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
    });

    it('of a run that ended in time does nothing later', async () => {
        await withRoom(4000, async (runMs) => {
            const repo = await server.repository(`acme/in-time-${runMs}`, fixes,
                { timeouts: { runMs } });
            const { taskId, runId } = await server.submit(repo.name);
            const { status } = await server.untilEnded(taskId);
            if (status === 'timed_out') throw new TooSlow('it did not end in time');
            const before = (await server.events(runId)).length;
            const ended = Date.now();
            await until('the time of the run to pass', () => Date.now() > ended + runMs + 500);
            assert.equal((await server.task(taskId)).status, 'completed');
            assert.deepEqual((await server.events(runId)).slice(before)
                .map(({ type }) => type).filter((type) => /timed_out|failed/.test(type)), []);
        });
    });
});

describe('a limit of spending', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    const turn = says({ type: 'turn', turns: 1, inputTokens: 10, outputTokens: 5, costUsd: 0.4 });
    const table = [
        { what: 'turns of the task', task: { maxTurns: 2 }, code: /turn/ },
        { what: 'turns of the repository', limits: { maxTurns: 2 }, code: /turn/ },
        { what: 'money of the task', task: { maxBudgetUsd: 0.5 }, code: /budget/ },
        { what: 'money of the repository', limits: { maxBudgetUsd: 0.5 }, code: /budget/ },
    ];
    table.forEach(({ what, task: more = {}, limits = {}, code }, index) => {
        it(`stops the agent: ${what}`, async () => {
            const mark = newMark();
            const agent = `${turn}${turn}${turn}${turn}${stays(mark)}`;
            const repo = await server.repository(`acme/spend-${index}`, agent, { limits });
            const { task, runId } = await server.finish(repo.name, 'failed', more);
            assert.match(task.errorCode, code);
            await untilGone(mark);
            assertHistory(await server.events(runId));
        });
    });

    it('of the task is taken over the one of the repository', async () => {
        const agent = `${turn}${turn}${turn}${fixes}`;
        const repo = await server.repository('acme/spend-over', agent, { limits: { maxTurns: 2 } });
        await server.finish(repo.name, 'completed', { maxTurns: 10 });
    });

    it('counts over the attempts of a run', async () => {
        const agent = `${turn}${turn}${answers('$DROVER_ATTEMPT')}${done()}`;
        const repo = await server.repository('acme/spend-sum', agent);
        const { task } = await server.finish(repo.name, 'failed', { maxBudgetUsd: 1.5 });
        assert.match(task.errorCode, /budget/);
    });
});
