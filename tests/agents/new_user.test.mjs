// new_user.test.mjs - what a new user does, step by step, with an agent that npm has installed: is
// anything missing, set up the checkout, one command to the pull request.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { git } from '../e2e/lib/git.mjs';
import { BIN, plainEnv } from '../e2e/lib/server.mjs';
import { AGENTS } from './lib/agents.mjs';
import { benchEnv, startBench } from './lib/bench.mjs';
import { openModel } from './lib/model_server.mjs';
import { says } from './lib/turns.mjs';

let server, home, checkout;

// One command in the checkout: {code, out}.
function drover(...words) {
    const env = plainEnv({ ...benchEnv(), HOME: home, NO_COLOR: '1', DROVER_DATA: server.data });
    return new Promise((resolve) => execFile(BIN, words, { cwd: checkout, env },
        (error, stdout, stderr) => resolve({ code: error?.code ?? 0, out: stdout + stderr })));
}

function makeCheckout(path) {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'answer.txt'), '41\n');
    writeFileSync(join(path, 'Makefile'), 'test:\n\tgrep -qx 42 answer.txt\n');
    git(path, 'init', '--quiet', '--initial-branch=main');
    git(path, 'add', '--all');
    git(path, 'commit', '--quiet', '--message=first');
}

describe('a new user with claude from npm', () => {
    before(async () => {
        server = await startBench();
        home = join(server.dir, 'ann');
        checkout = join(home, 'billing');
        makeCheckout(checkout);
    });
    after(() => server.discard());

    it('comes to a pull request by what the README says', async (t) => {
        const agent = AGENTS.claude;
        const model = await openModel([agent.shell('cat answer.txt', { text: 'I look first.' }),
            ...agent.change('answer.txt', '41', '42'), says('The answer is 42 now.')]);
        t.after(() => model.close());

        const check = await drover('agents', 'check', 'claude');
        assert.deepEqual([check.code, check.out.split('\n').at(-2)],
            [0, 'Ready: agent: {use: claude}'], check.out);
        const init = await drover('init', '--yes');
        assert.equal(init.code, 0, init.out);
        assert.match(init.out, /^Agent +claude \(.*logs in with \$ANTHROPIC_API_KEY\)$/m);
        assert.match(init.out, /^Check +test: make test/m);
        assert.match(init.out, /^Try it +drover submit --watch /m);

        // The way to our model, which is not Anthropic's.
        const file = join(checkout, 'drover.yaml');
        writeFileSync(file, readFileSync(file, 'utf8').replace(/^ {2}use: claude$/m,
            `  use: claude\n  env: ["ANTHROPIC_BASE_URL=${model.url}"]\n`
            + `  egress: ["${model.host}"]`));
        const set = await drover('repo', 'set', 'billing', '--config', 'drover.yaml');
        assert.equal(set.code, 0, set.out);

        const submit = await drover('submit', '--watch', 'Make the answer right.');
        assert.equal(submit.code, 0, submit.out);
        assert.match(submit.out, /^ +\S+ +Bash: cat answer\.txt$/m);
        assert.match(submit.out, /^Status +completed$/m);
        assert.match(submit.out, /^Pull request +#1 /m);
        model.assertSound();
        assert.equal(git(checkout, 'show', 'refs/pull/1/head:answer.txt'), '42');
        assert.equal(git(checkout, 'status', '--porcelain'), '?? drover.yaml', 'the user\'s files');
    });
});
