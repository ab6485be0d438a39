// stops.test.mjs - real agents that are stopped: by a person, by each of their limits, and by a
// signal from outside.  What they had spent until then is booked, to the last token.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory } from '../e2e/lib/cloudevents.mjs';
import { processesWith, untilGone } from '../e2e/lib/procs.mjs';
import { TooSlow, withRoom } from '../e2e/lib/room.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { Gate, holds, says } from './lib/turns.mjs';

let server;
const BOTH = ['claude', 'codex'];
// A turn that costs much, so that few of them pass a limit: 0.3 USD with claude, 0.5 with codex.
const DEAR = { input: 100_000, output: 100 };
const done = says('Done.');
// Some report their end by SIGINT as an error, and sometimes not at all.
const KILLED = ['agent_error_partial_work', 'session_ended_unexpectedly'];

// Nothing of it is left, and all of it is paid for.
async function assertEnded(runId, at) {
    assertHistory(await server.events(runId));
    await untilGone(runId);
    const run = await assertBooked(server, runId, at);
    assert.ok(run.costUsd > 0);
    return run;
}

// Works for so many turns, then stands at the gate.
const turnsTo = (agent, count, gate, usage) => [
    ...Array.from({ length: count }, (_, i) => agent.shell(`echo ${i}`, { usage })),
    holds(gate, done),
];

describe('a real agent', { concurrency: 2 }, () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    for (const name of BOTH) {
        const agent = AGENTS[name];

        it(`${name} that is cancelled ends at once, and is paid for`, async (t) => {
            const gate = new Gate();
            const at = await prepare(t, server, name, turnsTo(agent, 2, gate));
            const { taskId, runId } = await server.submit(at.repo.name);
            await gate.stands();
            await server.cancel(taskId, 'not needed');
            await server.untilTask(taskId, 'cancelled');
            await assertEnded(runId, at);
        });

        it(`${name} is stopped at its limit of turns`, async (t) => {
            const gate = new Gate();
            const at = await prepare(t, server, name, turnsTo(agent, 4, gate),
                { limits: { maxTurns: 3 } });
            const { task, runId } = await server.finish(at.repo.name, 'failed');
            assert.equal(task.errorCode, 'max_turns_exceeded');
            const run = await assertEnded(runId, at);
            assert.equal(run.turns, 4);
            assert.equal(run.attempt, 1);
        });

        it(`${name} is stopped at its limit of money while it works`, async (t) => {
            const gate = new Gate();
            const at = await prepare(t, server, name, turnsTo(agent, 3, gate, DEAR),
                { limits: { maxBudgetUsd: 0.8 } });
            const { task, runId } = await server.finish(at.repo.name, 'failed');
            assert.equal(task.errorCode, 'max_budget_exceeded');
            const run = await assertEnded(runId, at);
            assert.equal(run.attempt, 1);
        });

        const times = [
            { what: 'silence', limit: 'idleMs', code: 'agent_idle_timed_out' },
            { what: 'time', limit: 'agentMs', code: 'agent_timed_out' },
        ];
        for (const { what, limit, code } of times) {
            it(`${name} is stopped at its limit of ${what}`, (t) =>
                withRoom(4000, async (limitMs) => {
                    const gate = new Gate();
                    const at = await prepare(t, server, name, turnsTo(agent, 1, gate),
                        { timeouts: { [limit]: limitMs } });
                    const { task, runId } = await server.finish(at.repo.name, 'timed_out');
                    if (at.model.main.length < 2) throw new TooSlow();
                    assert.equal(task.errorCode, code);
                    const run = await assertEnded(runId, at);
                    assert.equal(run.attempt, 1);
                }));
        }

        // With half of its work done, which must not be taken for all of it.
        for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'])
            it(`${name} that gets a ${signal} has failed, and is paid for`, async (t) => {
                const gate = new Gate();
                const at = await prepare(t, server, name, [agent.edit(), holds(gate, done)]);
                const { taskId, runId } = await server.submit(at.repo.name);
                await gate.stands();
                signalAll(programsOf(runId, name), signal);
                const task = await server.untilTask(taskId, 'failed');
                assert.ok(KILLED.includes(task.errorCode), task.errorCode);
                await assertEnded(runId, at);
                assert.deepEqual(await server.pullRequests(at.repo.name), []);
            });
    }
});

// Where one ends with another that was killed before it, it is gone already.
function signalAll(processes, signal) {
    for (const { pid } of processes) {
        try {
            process.kill(pid, signal);
        } catch (error) {
            if (error.code !== 'ESRCH') throw error;
        }
    }
}

// The agent's own processes, not the sandbox around them.
const programsOf = (runId, name) => processesWith(runId)
    .filter(({ command }) => !/^(bwrap|\/run\/drover) /.test(command) && command.includes(name));
