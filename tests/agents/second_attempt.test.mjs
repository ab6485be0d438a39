// second_attempt.test.mjs - a patch that fails its checks goes back to the agent, which repairs it
// in the session in which it made it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { says } from './lib/turns.mjs';

let server;

describe('a second attempt continues the session of the first', { concurrency: 2 }, () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    for (const name of ['claude', 'codex', 'opencode', 'gemini']) {
        it(name, async (t) => {
            const agent = AGENTS[name];
            const at = await prepare(t, server, name,
                [agent.shell('echo 40 >answer.txt'), says('It is 40.'), agent.edit(),
                    says('It is 42.')]);
            const { model, repo } = at;
            const { taskId, runId } = await server.finish(repo.name, 'completed');
            const run = await assertBooked(server, runId, at);
            assert.equal(run.attempt, 2);
            const said = model.main[2].said.join('\n');
            assert.match(said, /Make the answer right\./, 'the prompt of the first attempt');
            assert.match(said, /expected 42, got 40/, 'the failure of the check');
            assert.ok(model.main[2].results.length > 0, 'the call of the first attempt');
            await assertDoneOnce(server, { taskId, runId, repo });
        });
    }
});
