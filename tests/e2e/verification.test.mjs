// verification.test.mjs - each check sees the tree of the patch, whatever the checks before it ran.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FILES, answers, done, git } from './lib/git.mjs';
import { start } from './lib/server.mjs';

let server;

// The first check runs build.sh, which the agent may change; the patch must pass the second.
const files = {
    ...FILES,
    'build.sh': 'mkdir -p out/lib && echo built >out/lib/part.txt\n',
    'check.sh': '[ ! -f check.local ] || . ./check.local\n. ./test.sh\n',
};
const build = { name: 'build', command: 'sh build.sh' };
const check = { name: 'check', command: 'sh check.sh' };

// An agent that leaves the answer wrong, and has the first check do this.
const cheats = (lines) => `cat >build.sh <<'END'\n${lines}\nEND\n${answers(43)}${done('built')}`;

async function certificateOf(runId) {
    const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
    const found = items.filter((item) => item.kind === 'certificate').at(-1);
    return JSON.parse((await server.call('GET', `/v1/artifacts/${found.sha256}`)).text);
}

async function verified(name, agent, verify, status) {
    const config = { files, verify, retries: { agentAttempts: 1 } };
    const repo = await server.repository(`acme/${name}`, agent, config);
    const { taskId, runId } = await server.submit(repo.name);
    await server.untilTask(taskId, status);
    return { repo, certificate: await certificateOf(runId) };
}

const statuses = (certificate) => certificate.checks.map(({ name, status }) => [name, status]);

describe('verification', { concurrency: 3 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    const tricks = {
        'rewrites the script of the next': 'echo "exit 0" >check.sh',
        'puts a file beside the script of the next': 'echo "exit 0" >check.local',
        'writes what the next tests': 'echo 42 >answer.txt',
        'swaps the directory for another': `cd ..; mv tree away; mkdir tree; cd tree
            cp ../away/* .; echo "exit 0" >check.sh`,
        'leaves hooks and settings for git in its home and in .git': `git config --global \
core.fsmonitor 'echo 42 >answer.txt'; printf '#!/bin/sh\\necho 42 >answer.txt\\n' \
>.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; echo "exit 0" >check.sh`,
    };
    for (const [what, lines] of Object.entries(tricks)) {
        it(`fails a patch whose first check ${what}`, async () => {
            const name = what.replaceAll(/[^a-z]+/g, '-');
            const { certificate } = await verified(name, cheats(`${lines}\nexit 0`),
                [build, check], 'failed');
            assert.equal(certificate.verdict, 'failed');
            assert.deepEqual(statuses(certificate), [['build', 'passed'], ['check', 'failed']]);
        });
    }

    it('gives later checks the declared outputs of those that passed, and nothing else',
        async () => {
            const agent = `${answers(42)}echo 'touch stray; echo no >out/list.txt' >>build.sh
                mkdir out; echo mine >out/list.txt\n${done()}`;
            const late = { name: 'late', command: 'grep -qx built out/lib/part.txt && ' +
                'grep -qx mine out/list.txt && test ! -e stray && test ! -e broken' };
            const { certificate, repo } = await verified('carried', agent, [
                { ...build, outputs: ['out', 'missing'] },
                { name: 'broken', command: 'touch broken; exit 1', optional: true,
                  outputs: ['broken'] },
                late, { ...check, parallel: true }, { ...late, name: 'beside', parallel: true },
            ], 'completed');
            assert.equal(certificate.verdict, 'verified');
            const carried = certificate.checks.map((each) => each.carried);
            const [one] = carried[1];
            assert.deepEqual(one, { path: 'out', from: 'build', files: 1, skipped: 1, bytes: 6 });
            assert.deepEqual(carried, [[], [one], [one], [one], [one]]);
            const head = git(repo.origin, 'rev-parse', 'refs/pull/1/head^{tree}');
            assert.equal(head, certificate.treeHash);
        });

    it('refuses outputs that are no plain path inside the tree', async () => {
        for (const path of ['../up', '/etc', 'a/../b', '.git/hooks', '.', 'a//b', 'a/', './a']) {
            const verify = [{ ...build, outputs: [path] }];
            const res = await server.call('PUT', '/v1/repositories/acme%2Foutside',
                { body: { url: '/srv/x.git', agent: { command: ['true'] }, verify } });
            assert.equal(res.status, 422, path);
            assert.match(res.text, /verify\[0\]\.outputs\[0\]/);
        }
    });
});
