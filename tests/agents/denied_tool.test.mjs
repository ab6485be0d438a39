// denied_tool.test.mjs - a tool that policy denies, in a real agent.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { prepare, startBench } from './lib/bench.mjs';
import { call, calls, says } from './lib/turns.mjs';

const MIB = 1024 * 1024;
let server;

describe('a tool that policy denies', () => {
    before(async () => (server = await startBench()));
    after(() => server.discard());

    it('is denied in a line of 1 MB as in a short one', async (t) => {
        const { model, repo } = await prepare(t, server, 'claude', [
            ({ directory }) => calls(call('Write',
                { file_path: join(directory, 'large.txt'), content: 'x'.repeat(MIB) })),
            says('Written.'),
        ], { policy: { denyTools: ['Write'] } });
        const { task, run, runId } = await server.finish(repo.name, 'failed');
        assert.deepEqual(model.problems, []);
        assert.equal(task.errorCode, 'policy.tool_denied');
        assert.match(task.errorMessage, /Write/);
        assert.deepEqual([run.attempt, run.turns], [1, 1]);
        const [denied] = await server.dataOf(runId, 'agent.tool.call.denied');
        assert.equal(denied.name, 'Write');
        assert.deepEqual(await server.pullRequests(repo.name), []);
    });
});
