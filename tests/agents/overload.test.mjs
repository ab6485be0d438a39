// overload.test.mjs - a provider that is overloaded, or cannot be reached, until the agent gives
// up: drover waits, continues the agent's session, and counts no attempt of the agent.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { git } from '../e2e/lib/git.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { drops, fails, says } from './lib/turns.mjs';

let server;
const TROUBLES = {
    'is overloaded': (times) => ({ ...fails(529, 'overloaded_error', 'Overloaded'), times }),
    'drops the connection': (times) => drops({ times }),
};
// As many requests as the agent makes before it gives up.
const TRIES = { claude: 2, codex: 6 };

describe('a provider that', { concurrency: 4 }, () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    for (const [what, trouble] of Object.entries(TROUBLES))
        for (const name of Object.keys(TRIES))
            it(`${what} costs no attempt: ${name}`, async (t) => {
                const agent = AGENTS[name];
                const at = await prepare(t, server, name,
                    [agent.shell('echo half >half.txt'), trouble(TRIES[name]), agent.edit(),
                        says('Done.')],
                    { retries: { agentAttempts: 1 }, env: { CLAUDE_CODE_MAX_RETRIES: '1' } });
                const { model, repo } = at;
                const { taskId, runId } = await server.finish(repo.name, 'completed');
                const run = await assertBooked(server, runId, at);
                assert.equal(run.attempt, 1);
                const deferred = await server.dataOf(runId, 'agent.task.deferred');
                assert.ok(deferred.some(({ reason }) => reason === 'provider_overloaded'));
                assert.equal(model.main.length, 1 + TRIES[name] + 2, 'all requests');
                assert.ok(model.main.at(-2).results.length > 0, 'it remembers what it did');
                assert.match(git(repo.origin, 'ls-tree', '--name-only', run.branch), /half\.txt/);
                await assertDoneOnce(server, { taskId, runId, repo });
            });
});
