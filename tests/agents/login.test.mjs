// login.test.mjs - a login that the provider refuses: the run ends soon and says so, instead of
// trying again for minutes.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { untilGone } from '../e2e/lib/procs.mjs';
import { SUBSCRIPTION } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { fails } from './lib/turns.mjs';

let server;
const TRIES_MAX = 5;

describe('a login that has expired', { concurrency: 2 }, () => {
    before(async () => (server = await startBench({ keys: SUBSCRIPTION })));
    after(() => server.discard());

    for (const name of ['claude', 'codex'])
        it(`ends the run at once, with the next step: ${name}`, async (t) => {
            const { model, repo } = await prepare(t, server, name,
                [fails(401, 'authentication_error', 'OAuth token has expired.')]);
            const { task, run, runId } = await server.finish(repo.name, 'failed');
            model.assertSound();
            assert.ok(model.main.length <= TRIES_MAX, `${model.main.length} requests`);
            assert.equal(task.errorCode, 'agent_login_failed');
            assert.match(task.errorMessage, /401|expired/);
            assert.deepEqual([run.attempt, run.costUsd], [1, 0]);
            await untilGone(runId);
        });
});
