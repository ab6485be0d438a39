// steering.test.mjs - people and a real agent that works: a message is in its next turn, a pause
// stops its processes and all clocks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callDrover } from '../e2e/lib/cli.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { processesWith } from '../e2e/lib/procs.mjs';
import { TooSlow, withRoom } from '../e2e/lib/room.mjs';
import { TERMINAL } from '../e2e/lib/server.mjs';
import { until } from '../e2e/lib/wait.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { Gate, holds, says } from './lib/turns.mjs';

let server;
const WORDS = 'Please write a whole number, MARK-4711.';

const hasWords = ({ said, results }) =>
    [...said, ...results.map(({ text }) => text)].join('\n').includes(WORDS);

// As people do it.
async function drover(...words) {
    const { status, stdout, stderr } = await callDrover(server, words);
    assert.equal(status, 0, stdout + stderr);
}

const stateOf = (pid) => /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];

describe('a real agent that works', { concurrency: 2 }, () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    // Claude Code takes it at once and hands it to the model with the result of a tool; agents of
    // the Agent Client Protocol take one prompt after the other.
    for (const [name, next] of [['claude', 1], ['acp', 3]])
        it(`${name} has a message in its next turn`, async (t) => {
            const agent = AGENTS[name];
            const gate = new Gate();
            const at = await prepare(t, server, name,
                [holds(gate, agent.shell('cat answer.txt')), agent.edit(), says('Done.'),
                    says('It is whole.')]);
            const { model, repo } = at;
            const { taskId, runId } = await server.submit(repo.name);
            await gate.stands();
            await drover('say', runId, WORDS);
            if (name === 'claude') await server.untilEvent(runId, 'agent.message.delivered');
            gate.open();
            await server.untilEvent(runId, 'agent.message.delivered');
            await server.untilTask(taskId, 'completed');
            model.assertSound();
            assert.equal((await server.run(runId)).attempt, 1);
            // The other one asks for a title of its session when it is about to end.
            if (name === 'claude') await assertBooked(server, runId, at);
            assert.equal(model.main.findIndex(hasWords), next, 'the request that has it first');
            await assertDoneOnce(server, { taskId, runId, repo });
        });

    it('codex has a message in its next attempt', async (t) => {
        const agent = AGENTS.codex;
        const gate = new Gate();
        const { model, repo } = await prepare(t, server, 'codex',
            [agent.shell('echo 40 >answer.txt'), holds(gate, says('It is 40.')), agent.edit(),
                says('It is 42.')]);
        const { taskId, runId } = await server.submit(repo.name);
        await gate.stands();
        await drover('say', runId, WORDS);
        gate.open();
        await server.untilTask(taskId, 'completed');
        model.assertSound();
        assert.equal(model.main.findIndex(hasWords), 2);
    });

    for (const name of ['claude', 'codex'])
        it(`${name} is paused for longer than it may be silent, and resumed`, (t) =>
            withRoom(4000, async (limitMs) => {
                const agent = AGENTS[name];
                const gate = new Gate();
                const { model, repo } = await prepare(t, server, name,
                    [agent.shell('ls'), holds(gate, agent.edit()), says('Done.')],
                    { timeouts: { idleMs: limitMs } });
                const { taskId, runId } = await server.submit(repo.name);
                await gate.stands();
                const { status } = await callDrover(server, ['pause', runId]);
                const paused = status === 0 && await untilStopped(taskId, runId, name);
                if (!paused) throw new TooSlow();
                gate.open();
                await sleep(limitMs * 1.5); // For the limit that must not count.
                assert.equal((await server.run(runId)).status, 'running');
                assert.equal(model.main.length, 2, 'it works while it is paused');
                await drover('resume', runId);
                await server.untilTask(taskId, 'completed');
                model.assertSound();
                await assertDoneOnce(server, { taskId, runId, repo });
            }));
});

// Every process of the agent; false: the run ended before that.
async function untilStopped(taskId, runId, name) {
    const isAgent = ({ command }) => !/^(bwrap|\/run\/drover) /.test(command)
        && command.includes(name);
    return until('the agent to be stopped', async () => {
        if (TERMINAL.includes((await server.task(taskId)).status)) return { ended: true };
        const all = processesWith(runId).filter(isAgent);
        return all.length > 0 && all.every(({ pid }) => stateOf(pid) === 'T');
    }).then(({ ended }) => !ended);
}
