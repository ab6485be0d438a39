// to_pull_request.test.mjs - the real agents, from a prompt to a pull request.
import { after, before, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { dataOf } from '../e2e/lib/cloudevents.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { says } from './lib/turns.mjs';

let server;

// Both calls of tools are in the timeline, each with what it was, and how it ended.
function assertTold(events, agent) {
    const tool = agent.shell('').calls[0].name;
    const started = dataOf(events, 'agent.tool.call.started');
    const printed = agent.printed?.[tool] ?? tool;
    assert.deepEqual(started.map((call) => call.name), [printed, printed]);
    assert.match(started[0].summary, /cat answer\.txt/);
    assert.equal(dataOf(events, 'agent.tool.call.completed').length, 2);
    const said = dataOf(events, 'agent.step.recorded').map(({ text }) => text).join('\n');
    assert.match(said, /I look first\./);
}

describe('a prompt becomes a pull request with', { concurrency: 2 }, () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    for (const name of Object.keys(AGENTS)) {
        it(name, async (t) => {
            const agent = AGENTS[name];
            const at = await prepare(t, server, name,
                [agent.shell('cat answer.txt', { text: 'I look first.' }), agent.edit(),
                    says('The answer is 42 now.')]);
            const { model, repo } = at;
            const { taskId, runId } = await server.finish(repo.name, 'completed');
            const run = await assertBooked(server, runId, at);
            assert.equal(run.turns, 3);
            assert.equal(run.model.split('/').at(-1), model.main[0].model);
            assert.ok(run.agentSession, 'the session can be resumed');
            assert.match(model.main[0].said.join('\n'), /Make the answer right\./);
            assert.match(model.main[1].results.at(-1).text, /41/);
            const events = await assertDoneOnce(server, { taskId, runId, repo });
            assertTold(events, agent);
        });
    }
});
