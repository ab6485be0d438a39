// setup.test.mjs - what setup commands make is in every tree, and in no patch.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FILES, answers, done, git } from './lib/git.mjs';
import { start } from './lib/server.mjs';

let server;
const files = { ...FILES, 'lock.txt': 'one\n' };
const setup = [{
    name: 'packages',
    command: 'mkdir -p packages && cp lock.txt packages/lock.txt && echo tool >packages/tool',
    keys: ['lock.txt'],
    outputs: ['packages'],
}];
const verify = [{ name: 'test', command: 'test -f packages/tool && . ./test.sh' }];

describe('setup', () => {
    before(async () => {
        server = await start();
    });
    after(() => server.discard());

    it('gives agents and checks what it made, and leaves it out of the pull request', async () => {
        const agent = `test -f packages/tool || exit 9\necho mine >packages/mine\n`
            + `${answers(42)}${done('answered')}`;
        const repo = await server.repository('acme/packages', agent, { files, setup, verify });
        for (let no = 0; no < 2; no++) {
            const { taskId, runId } = await server.submit(repo.name);
            await server.untilTask(taskId, 'completed');
            const run = await server.get(`/v1/runs/${runId}`);
            const names = git(repo.origin, 'show', '--name-only', '--format=', run.branch);
            assert.doesNotMatch(names, /packages/);
            assert.match(names, /answer/);
        }
    });

    it('fails the run with the last words of the command', async () => {
        const broken = [{ ...setup[0], command: 'echo no such registry >&2; exit 4' }];
        const repo = await server.repository('acme/broken', answers(42),
            { files, verify, setup: broken });
        const { taskId } = await server.submit(repo.name);
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'setup_failed');
        assert.match(task.errorMessage, /status 4.*no such registry/);
    });
});
