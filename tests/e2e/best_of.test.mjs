// best_of.test.mjs - several candidates work on one task: the same verification, one budget, one
// pull request.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertInOrder, dataOf, typesOf } from './lib/cloudevents.mjs';
import { callDrover } from './lib/cli.mjs';
import { answers, branches, done, fixes, gaveUp, says, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { assertDoneOnce } from './lib/once.mjs';
import { LONG_LEASES, withServer } from './lib/own.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const command = (text) => ({ command: ['/bin/sh', '-c', text], adapter: 'ndjson' });
const turn = (costUsd) => says({ type: 'turn', inputTokens: 10, outputTokens: 10, costUsd });
const small = turn(0.02) + fixes;
const large = `${turn(0.01)}seq 1 50 >notes.txt\n${fixes}`;
const wrong = turn(0.03) + answers(43) + done();
const fails = turn(0.04) + gaveUp('no idea');

const candidates = (agents) =>
    Object.entries(agents).map(([name, text]) => ({ name, agent: command(text) }));

function repository(server, name, agents, more = {}) {
    return server.repository(name, fixes,
        { candidates: candidates(agents), retries: { agentAttempts: 1 }, ...more });
}

const compared = async (server, taskId) =>
    (await server.get(`/v1/tasks/${taskId}/candidates`)).items;

describe('best of', () => {
    let server;
    before(async () => (server = await start({ args: ['--workers', '6'] })));
    after(() => server.discard());

    it('three publishes the smallest patch that passed, once', async () => {
        const repo = await repository(server, 'acme/three', { fails, large, small });
        const submitted = await server.submit(repo.name, { bestOf: 3, maxBudgetUsd: 5 });
        const task = await server.untilTask(submitted.taskId, 'completed');
        const events = await assertDoneOnce(server, { ...submitted, repo });
        assertInOrder(typesOf(events), ['agent.candidate.chosen', 'agent.patch.created',
            'agent.verification.passed', 'agent.pr.created']);
        assert.ok(!typesOf(events).includes('agent.model.turn.completed'), 'it ran an agent');
        const [chosen] = dataOf(events, 'agent.candidate.chosen');
        assert.deepEqual(chosen.ranking.map(({ candidate, behind }) => [candidate, behind]),
            [['small', undefined], ['large', 'smaller patch'], ['fails', 'usable']]);
        const items = await compared(server, task.id);
        assert.deepEqual(items.map((item) => [item.candidate, item.status, item.chosen]),
            [['small', 'completed', true], ['large', 'completed', false],
                ['fails', 'failed', false]]);
        assert.deepEqual([items[0].checks, items[0].checksFailed, items[0].costUsd], [1, 0, 0.02]);
        assert.equal(task.chosenTaskId, items[0].taskId);
        // The others are kept: their patches can be read.
        const res = await server.call('GET', `/v1/artifacts/${items[1].patch.sha256}`);
        assert.match(res.text, /notes\.txt/);
        const out = await callDrover(server, ['compare', task.id]);
        assert.match(out.stdout, /small +completed +1\/1[\s\S]*beaten by smaller patch/);
        assert.match(out.stdout, /^Patch of large +drover artifact /m);
        // A candidate means its task.  The latest task is the one that was submitted.
        for (const word of [items[1].taskId, 'latest'])
            assert.equal((await callDrover(server, ['compare', word])).stdout, out.stdout);
    });

    it('the named candidates, in a repository that runs one at a time', async () => {
        const repo = await repository(server, 'acme/named', { wrong, small, large },
            { limits: { maxActiveRuns: 1 } });
        const name = (...names) => callDrover(server, ['submit', '--repo', repo.name, '--json',
            'Try', ...names.flatMap((each) => ['--candidate', each])]);
        assert.match((await name('large', 'nobody')).stderr, /nobody; it has: wrong, small, large/);
        const submitted = JSON.parse((await name('large', 'wrong')).stdout);
        await server.untilTask(submitted.taskId, 'completed');
        const items = await compared(server, submitted.taskId);
        assert.deepEqual(items.map(({ candidate, status }) => [candidate, status]),
            [['large', 'completed'], ['wrong', 'failed']]);
    });

    it('the same agent several times, where the repository names no candidates', async () => {
        const repo = await server.repository('acme/same', small);
        const { taskId } = await server.submit(repo.name, { bestOf: 2 });
        await server.untilTask(taskId, 'completed');
        const items = await compared(server, taskId);
        assert.deepEqual(items.map(({ number, behind }) => [number, behind]),
            [[1, null], [2, 'first of equals']]);
    });

    it('stops those that are still at work when the grace is over', async () => {
        const mark = newMark();
        const repo = await repository(server, 'acme/slow', { slow: waits(mark) + fixes, small },
            { timeouts: { candidateGraceMs: 200 } });
        const { taskId } = await server.submit(repo.name, { bestOf: 2 });
        await server.untilTask(taskId, 'completed');
        const items = await compared(server, taskId);
        assert.deepEqual(items.map(({ candidate, status }) => [candidate, status]),
            [['small', 'completed'], ['slow', 'cancelled']]);
    });

    it('stops one that uses up the budget of all, and publishes the good one', async () => {
        const mark = newMark();
        const spends = `${waits(mark)}while :; do ${turn(0.02)} sleep 0.05; done`;
        const repo = await repository(server, 'acme/spends', { spends, small, fails });
        const { taskId } = await server.submit(repo.name, { bestOf: 3, maxBudgetUsd: 0.2 });
        await until('the good one to end', async () => (await compared(server, taskId))
            .some(({ candidate, status }) => candidate === 'small' && status === 'completed'));
        await server.openGate(mark);
        const task = await server.untilTask(taskId, 'completed');
        const items = await compared(server, taskId);
        assert.deepEqual(items.map(({ candidate, errorCode }) => [candidate, errorCode]),
            [['small', null], ['fails', 'agent_error'], ['spends', 'max_budget_exceeded']]);
        const sum = items.reduce((all, { costUsd }) => all + costUsd, 0);
        assert.ok(Math.abs(task.spent.costUsd - sum) < 1e-6, `${task.spent.costUsd} ${sum}`);
        assert.ok(sum > 0.2 && sum < 0.5, `${sum}`);
    });

    it('fails with every reason when no candidate passes', async () => {
        const repo = await repository(server, 'acme/none', { fails, wrong });
        const { taskId } = await server.submit(repo.name, { bestOf: 2 });
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'no_candidate_passed');
        assert.match(task.errorMessage, /1 fails failed \(agent_error\), 2 wrong failed/);
        assert.deepEqual(branches(repo.origin), []);
        // Retried under other checks, its candidates work again.
        await server.configure(repo.name, { ...repo.document,
            verify: [{ name: 'unit', command: 'grep -qx 43 answer.txt' }] });
        const { runId } = await server.post(`/v1/tasks/${taskId}/retry`);
        await server.untilTask(taskId, 'completed');
        assert.equal((await server.run(runId)).runNo, 2);
        const items = await compared(server, taskId);
        assert.deepEqual(items.map(({ candidate, status }) => [candidate, status]),
            [['wrong', 'completed'], ['fails', 'failed']]);
    });

    it('waits with a reason, and is cancelled with its candidates', async () => {
        const mark = newMark();
        const repo = await repository(server, 'acme/wait', { slow: waits(mark), fails });
        const { taskId } = await server.submit(repo.name, { bestOf: 2 });
        const waiting = await until('one to end', async () => {
            const task = await server.task(taskId);
            return task.deferredDetail === '1 of 2 candidates have ended' && task;
        });
        assert.equal(waiting.deferredReason, 'candidates_running');
        await server.cancel(taskId);
        await server.untilTask(taskId, 'cancelled');
        await until('the candidates to end', async () =>
            (await compared(server, taskId)).every(({ status }) => status !== 'running'));
    });

    it('refuses what it cannot do, by name', async () => {
        const repo = await repository(server, 'acme/bad', { small, large });
        const bad = [
            [{ bestOf: 1 }, 'bestOf'], [{ bestOf: 9 }, 'bestOf'],
            [{ candidates: ['small'] }, 'candidates'],
            [{ candidates: ['small', 'tiny'] }, 'candidates'],
            [{ candidates: ['small', 'large'], bestOf: 3 }, 'candidates'],
        ];
        for (const [more, field] of bad) {
            const body = { repository: repo.name, description: 'x', ...more };
            const res = await server.call('POST', '/v1/tasks', { body });
            assertProblem(res, 422, { code: 'INVALID_FIELD', field });
        }
    });
});

const mark = newMark();
withServer('best of three survives kill -9 while one has ended and one works',
    { args: ['--workers', '4'], config: LONG_LEASES }, async (server) => {
        const repo = await repository(server, 'acme/crash',
            { fails, slow: `${waits(mark)}${large}`, small });
        const submitted = await server.submit(repo.name, { bestOf: 3 });
        await until('two to end', async () => (await compared(server, submitted.taskId))
            .filter(({ status }) => ['completed', 'failed'].includes(status)).length === 2);
        await server.crash();
        await server.start();
        await server.letThrough(mark, submitted.taskId);
        await assertDoneOnce(server, { ...submitted, repo });
        const items = await compared(server, submitted.taskId);
        assert.deepEqual(items.map(({ candidate, chosen }) => [candidate, chosen]),
            [['small', true], ['slow', false], ['fails', false]]);
    });
