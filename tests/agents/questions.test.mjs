// questions.test.mjs - real agents that ask people: in the middle of their work, and at its end.
// The question holds the run, survives kill -9 of the server, and its answer continues the work.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callDrover } from '../e2e/lib/cli.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { untilGone } from '../e2e/lib/procs.mjs';
import { TERMINAL } from '../e2e/lib/server.mjs';
import { until } from '../e2e/lib/wait.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { says } from './lib/turns.mjs';

const QUESTION = 'Which number is right?';
const RECORD = JSON.stringify({ status: 'question', question: QUESTION, options: ['40', '42'] });
// Codex runs a login shell, which has the PATH of the machine: no program of a build directory.
const ASK = `PATH=$PATH:/run/drover; drover ask '${QUESTION}' --option 40 --option 42`;
const END = `printf '%s' '${RECORD}' >"$DROVER_RESULT"`;

const untilAsked = (server, runId) => until('the question', async () => {
    const { status } = await server.run(runId);
    assert.ok(!TERMINAL.includes(status), `the run is ${status}, and has not asked`);
    return (await server.list(`/v1/questions?runId=${runId}&status=pending`))[0];
});

async function answer(server, { id }) {
    const { status, stdout, stderr } = await callDrover(server, ['answer', id, '42']);
    assert.equal(status, 0, stdout + stderr);
}

// Each with a server of its own.
const onBench = (title, body) => it(title, async (t) => {
    const server = await startBench();
    try {
        await body(server, t);
    } finally {
        await server.discard();
    }
});

describe('a question of a real agent', { concurrency: 2 }, () => {
    for (const name of ['claude', 'codex'])
        onBench(`${name} in the middle of its work is answered to the tool`, async (server, t) => {
            const agent = AGENTS[name];
            const at = await prepare(t, server, name,
                [agent.shell(ASK), agent.edit(), says('Done.')]);
            const { taskId, runId } = await server.submit(at.repo.name);
            await answer(server, await untilAsked(server, runId));
            await server.untilTask(taskId, 'completed');
            const run = await assertBooked(server, runId, at);
            assert.equal(run.attempt, 1);
            assert.match(at.model.main[1].results.at(-1).text, /42/);
            await assertDoneOnce(server, { taskId, runId, repo: at.repo });
        });

    for (const name of ['claude', 'codex'])
        onBench(`${name} at the end of its work survives kill -9`, async (server, t) => {
            const agent = AGENTS[name];
            const at = await prepare(t, server, name,
                [agent.shell(END), says('I need to know.'),
                    agent.edit(), says('Done.')]);
            const { taskId, runId } = await server.submit(at.repo.name);
            const question = await untilAsked(server, runId);
            await untilGone(runId); // No process waits.
            await server.crash();
            await server.startAgain();
            await answer(server, question);
            await server.untilTask(taskId, 'completed');
            await assertBooked(server, runId, at);
            const said = at.model.main[2].said.join('\n');
            assert.ok(said.includes(QUESTION) && said.includes('42'), 'question and answer');
            assert.ok(at.model.main[2].results.length > 0, 'the session of the one who asked');
            await assertDoneOnce(server, { taskId, runId, repo: at.repo });
        });

    onBench('acp before a call is a permission, given or rejected', async (server, t) => {
        for (const [choice, end] of [[/^(Allow|Yes)/, 'completed'], [/^(Reject|No)/, 'failed']]) {
            const write = AGENTS.acp.shell('echo 42 >answer.txt');
            const at = await prepare(t, server, 'acp', [write, says('Done.')],
                { agent: { permissions: 'ask' } });
            const { taskId, runId } = await server.submit(at.repo.name);
            const question = await untilAsked(server, runId);
            assert.match(question.text, /May the agent call .*answer\.txt/s);
            const option = question.options.find((each) => choice.test(each));
            assert.ok(option, question.options.join(' | '));
            const { status, stderr } = await callDrover(server, ['answer', question.id, option]);
            assert.equal(status, 0, stderr);
            await until('the run to end', async () =>
                TERMINAL.includes((await server.run(runId)).status));
            assert.equal((await server.get(`/v1/tasks/${taskId}`)).status, end);
        }
    });
});
