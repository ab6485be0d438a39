// to_pull_request.test.mjs - the real agents, from a prompt to a pull request.
import { after, before, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { says } from './lib/turns.mjs';

let server;

describe('a prompt becomes a pull request with', { concurrency: 2 }, () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    for (const name of Object.keys(AGENTS)) {
        it(name, async (t) => {
            const agent = AGENTS[name];
            const { model, repo } = await prepare(t, server, name,
                [agent.shell('cat answer.txt', { text: 'I look first.' }), agent.edit(),
                    says('The answer is 42 now.')]);
            const { taskId, runId } = await server.finish(repo.name, 'completed');
            model.assertSound();
            assert.match(model.main[0].said.join('\n'), /Make the answer right\./);
            assert.match(model.main[1].results.at(-1).text, /41/);
            await assertDoneOnce(server, { taskId, runId, repo });
        });
    }
});
