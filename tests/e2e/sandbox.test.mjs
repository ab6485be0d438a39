// sandbox.test.mjs - what an agent and a verifier can see, reach and change: their own, no more.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fixes, git, tries, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
const NODE = process.execPath;
const left = []; // Files outside that must never come to be; removed in any case.

// Runs an agent that writes report.txt, and gives back what stands there.
async function report(name, agent, more = {}) {
    const repo = await server.repository(name, `${agent}\n${fixes}`, more);
    const { run, runId, taskId } = await server.finish(repo.name, 'completed', more.task);
    const text = git(repo.origin, 'show', `${run.branch}:report.txt`);
    return { text, lines: text.split('\n'), repo, run, runId, taskId };
}

async function startWithSecrets() {
    server = await start({
        args: ['--workers', '6'],
        env: { ALLOWED_THING: 'let through', SECRET_THING: 'kept back', AWS_SECRET_KEY: 'x' },
    });
}

describe('an agent', { concurrency: 6 }, () => {
    before(startWithSecrets);
    after(async () => {
        await server.discard();
        for (const path of left) rmSync(path, { force: true });
    });

    it('cannot read the token, the database or anything else of the server', async (t) => {
        if (!server.needsWalls(t)) return;
        const { lines } = await report('acme/read',
            tries('token', `cat '${server.data}/admin.token'`) +
            tries('database', `cat '${server.data}/drover.db'`) +
            tries('log', `cat '${server.dir}/server.log'`) +
            tries('environment', `cat /proc/${server.child.pid}/environ`) +
            tries('tree', 'cat answer.txt'));
        assert.deepEqual(lines,
            ['token no', 'database no', 'log no', 'environment no', 'tree ok']);
    });

    it('cannot write outside its tree', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const places = ['/etc', '/usr', '/root', '/home', '/var/tmp', '/tmp', '/dev/shm', '/',
            server.dir, server.data];
        const paths = places.map((place) => join(place, `drover-e2e-${mark}`));
        left.push(...paths);
        const { lines } = await report('acme/write',
            paths.map((path) => `echo x >'${path}' || true\n`).join('') +
            tries('tree', 'touch inside.txt') + tries('tmp', 'touch /tmp/x'));
        assert.deepEqual(lines, ['tree ok', 'tmp ok']);
        for (const path of paths) assert.ok(!existsSync(path), path);
    });

    it('cannot change the origin, nor the mirror that its clone borrows from', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const { lines, repo } = await report('acme/mirror',
            'mirror=$(cat .git/objects/info/alternates)\n' +
            tries('mirror-read', 'ls "$mirror"') +
            tries('mirror-write', `touch "$mirror/${mark}"`) +
            tries('origin-push', 'git push origin HEAD:refs/heads/mine') +
            tries('history', 'git log -1'));
        assert.ok(lines.includes('mirror-write no'), `${lines}`);
        assert.ok(lines.includes('origin-push no'), `${lines}`);
        assert.ok(lines.includes('history ok'), `${lines}`);
        assert.ok(!git(repo.origin, 'for-each-ref').includes('refs/heads/mine'));
    });

    const connects = (url) => tries('network', `${NODE} -e '
        const socket = require("node:net").connect(${new URL(url).port}, "127.0.0.1");
        socket.on("connect", () => process.exit(0)).on("error", () => process.exit(1));'`);

    it('has no network unless the repository allows it', async (t) => {
        if (!server.needsWalls(t)) return;
        const off = await report('acme/offline', connects(server.url));
        assert.deepEqual(off.lines, ['network no']);
        const repo = await server.repository('acme/online', connects(server.url) + fixes);
        repo.document.agent.network = true;
        await server.configure(repo.name, repo.document);
        const { run } = await server.finish(repo.name, 'completed');
        assert.equal(git(repo.origin, 'show', `${run.branch}:report.txt`), 'network ok');
    });

    it('reaches the server through a socket while it has no network', async (t) => {
        if (!server.needsWalls(t)) return;
        const { lines } = await report('acme/socket', tries('socket', '[ -S "$DROVER_SOCKET" ]') +
            tries('request', `${NODE} -e '
            const { DROVER_SOCKET, DROVER_TOKEN, DROVER_RUN_ID } = process.env;
            const headers = { authorization: "Bearer " + DROVER_TOKEN };
            const path = "/v1/runs/" + DROVER_RUN_ID;
            const end = (ok) => process.exit(ok ? 0 : 1);
            require("node:http").get({ socketPath: DROVER_SOCKET, path, headers }, (res) =>
                end(res.statusCode === 200)).on("error", () => end(false));'`));
        assert.deepEqual(lines, ['socket ok', 'request ok']);
    });

    it('sees no other process and can stop none', async (t) => {
        if (!server.needsWalls(t)) return;
        const { lines } = await report('acme/kill',
            tries('kill', `kill -9 ${server.child.pid}`) +
            tries('see', `grep -aq '[d]rover.serve' /proc/[0-9]*/cmdline`));
        assert.deepEqual(lines, ['kill no', 'see no']);
        assert.equal((await server.call('GET', '/healthz')).status, 200);
    });

    it('gets an environment of allowed names only', async () => {
        // In hex: what an agent was given may not stand in its patch.
        const repo = await server.repository('acme/env',
            `env | sort | od -An -v -tx1 | tr -d ' \\n' >report.txt\n${fixes}`);
        repo.document.agent.env = ['ALLOWED_THING', 'NOT_SET_ANYWHERE'];
        await server.configure(repo.name, repo.document);
        const { run } = await server.finish(repo.name, 'completed');
        const hex = git(repo.origin, 'show', `${run.branch}:report.txt`);
        const text = Buffer.from(hex, 'hex').toString();
        const names = text.split('\n').filter((line) => /^[A-Z_]+=/.test(line))
            .map((line) => line.split('=')[0]);
        assert.match(text, /^ALLOWED_THING=let through$/m);
        assert.ok(!/SECRET/.test(text), text);
        assert.ok(!text.includes(server.token));
        const usual = ['ALLOWED_THING', 'PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'USER', 'LOGNAME',
            'SHELL', 'TMPDIR', 'PWD', 'OLDPWD', 'SHLVL', '_', 'TRACEPARENT'];
        const odd = names.filter((name) => !usual.includes(name) && !/^DROVER_/.test(name));
        assert.deepEqual(odd, []);
    });

    it('is told about its task by variables and files', async () => {
        const { text, taskId, runId } = await report('acme/variables',
            `cat >from-stdin.txt
            {
                echo "task=$DROVER_TASK_ID"; echo "run=$DROVER_RUN_ID"; echo "url=$DROVER_URL"
                echo "attempt=$DROVER_ATTEMPT"; echo "feedback=\${DROVER_FEEDBACK:-none}"
                cmp -s "$DROVER_PROMPT" from-stdin.txt && echo 'prompt=same'
                grep -c 'Make the answer right' "$DROVER_PROMPT"
                [ -n "$DROVER_TOKEN" ] && echo 'token=given'
                [ -d "$HOME" ] && touch "$HOME/x" && echo 'home=writable'
                [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ] && echo 'cwd=worktree'
            } >report.txt`);
        assert.deepEqual(text.split('\n'), [`task=${taskId}`, `run=${runId}`, `url=${server.url}`,
            'attempt=1', 'feedback=none', 'prompt=same', '1', 'token=given', 'home=writable',
            'cwd=worktree']);
    });

    it('gets the prompt in the file only, when told so', async () => {
        const repo = await server.repository('acme/file-only',
            `wc -c <&0 | tr -d ' ' >report.txt; [ -s "$DROVER_PROMPT" ] || exit 1\n${fixes}`);
        repo.document.agent.prompt = 'file';
        await server.configure(repo.name, repo.document);
        const { run } = await server.finish(repo.name, 'completed');
        assert.equal(git(repo.origin, 'show', `${run.branch}:report.txt`), '0');
    });

    it('has a token that is good for its own run and dies with it', async () => {
        const mark = newMark();
        const other = await server.repository('acme/other', fixes);
        const { taskId: otherTask } = await server.finish(other.name, 'completed');
        const repo = await server.repository('acme/token',
            `printf %s "$DROVER_TOKEN" >report.txt\n${waits(mark)}rm report.txt\n${fixes}`);
        const { taskId, runId } = await server.submit(repo.name);
        const gate = await server.untilGate(mark);
        const token = readFileSync(join(gate, '../report.txt'), 'utf8');
        const ask = (method, path, body) => server.call(method, path, { token, body });
        assert.equal((await ask('GET', `/v1/runs/${runId}`)).status, 200);
        const denied = [['GET', `/v1/tasks/${otherTask}`], ['GET', '/v1/tasks'],
            ['POST', `/v1/tasks/${taskId}/cancel`, {}],
            ['POST', '/v1/jobs/lease', { queues: ['x'], worker: 'w', max: 1, waitMs: 0 }],
            ['PUT', '/v1/repositories/acme%2Ftoken', repo.document]];
        for (const [method, path, body] of denied) {
            const { status, text } = await ask(method, path, body);
            assert.ok([401, 403, 404].includes(status), `${method} ${path}: ${status} ${text}`);
        }
        // Sub-tasks of its own task are all that it may submit.
        const elsewhere = await ask('POST', '/v1/tasks',
            { repository: other.name, description: 'x' });
        assertProblem(elsewhere, 422, { code: 'SUBTASK_NOT_ALLOWED' });
        await server.openGate(mark);
        await server.untilTask(taskId, 'completed');
        await until('the token to die', async () =>
            [401, 403].includes((await ask('GET', `/v1/runs/${runId}`)).status));
    });

    it('cannot make drover run code through the configuration of its clone', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const trap = `/var/tmp/drover-e2e-${mark}`;
        left.push(trap);
        const agent = `
            mkdir -p .git/hooks
            for hook in pre-commit post-commit post-checkout post-index-change; do
                printf '#!/bin/sh\\ntouch ${trap}\\n' >.git/hooks/$hook; chmod +x .git/hooks/$hook
            done
            git config core.fsmonitor 'touch ${trap};'
            git config core.sshCommand 'touch ${trap};'
            git config core.pager 'touch ${trap};'
            git config diff.external 'touch ${trap};'
            git config filter.evil.clean 'touch ${trap}; cat'
            git config filter.evil.smudge 'touch ${trap}; cat'
            git config core.worktree /
            echo '* filter=evil diff=evil' >.gitattributes
            git config diff.evil.textconv 'touch ${trap}; cat'`;
        const repo = await server.repository('acme/planted', `${agent}\n${fixes}`);
        const { taskId } = await server.submit(repo.name);
        await server.untilTask(taskId, 'completed', 'failed');
        assert.ok(!existsSync(trap), 'code of the agent ran outside');
    });

    it('cannot leak a file of the server through a link', async (t) => {
        if (!server.needsWalls(t)) return;
        const secret = join(server.data, 'admin.token');
        const agent = `ln -s '${secret}' link.txt; rm -f "$DROVER_RESULT"
            ln -s '${secret}' "$DROVER_RESULT"\n${`echo 42 >answer.txt\n`}exit 0`;
        const repo = await server.repository('acme/links', agent);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilTask(taskId, 'completed', 'failed');
        const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
        for (const { sha256 } of items) {
            const { text } = await server.call('GET', `/v1/artifacts/${sha256}`);
            assert.ok(!text.includes(server.token), sha256);
        }
        assert.ok(!JSON.stringify(await server.events(runId)).includes(server.token));
    });

    it('cannot hold drover up with a pipe in the place of its record', async () => {
        const agent = 'rm -f "$DROVER_RESULT"; mkfifo "$DROVER_RESULT"; echo 42 >answer.txt';
        const repo = await server.repository('acme/pipe', agent);
        const { taskId } = await server.submit(repo.name);
        await server.untilTask(taskId, 'completed', 'failed');
    });

    it('may print as much as it likes', async () => {
        const agent = `head -c 20000000 /dev/zero | tr '\\0' x; echo
            ${NODE} -e 'for (let i = 0; i < 20000; i++) console.log("line " + i)'\n${fixes}`;
        const repo = await server.repository('acme/loud', agent);
        const { runId } = await server.finish(repo.name, 'completed');
        const events = await server.events(runId);
        assert.ok(events.length < 5000, `${events.length} events`);
    });

    it('leaves no secret in events, whatever it prints', async () => {
        const repo = await server.repository('acme/argv', `echo "$DROVER_TOKEN"\n${fixes}`);
        const { runId } = await server.finish(repo.name, 'completed');
        assert.ok(!JSON.stringify(await server.events(runId)).includes(server.token));
    });
});

describe('a verifier', { concurrency: 4 }, () => {
    before(startWithSecrets);
    after(() => server.discard());

    it('sits behind the same walls', async (t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const outside = `/var/tmp/drover-e2e-${mark}`;
        left.push(outside);
        const command = `if cat '${server.data}/admin.token'; then exit 1; fi
            if [ -n "$SECRET_THING$DROVER_TOKEN" ]; then exit 2; fi
            touch ${outside}
            sh test.sh`;
        const verify = [{ name: 'walls', command }];
        const retries = { agentAttempts: 1 };
        const repo = await server.repository('acme/walls', fixes, { verify, retries });
        await server.finish(repo.name, 'completed');
        assert.ok(!existsSync(outside));
        rmSync(outside, { force: true });
    });

    it('can write in its checkout, and that does not reach the pull request', async () => {
        const verify = [{ name: 'writes', command: 'echo built >output.bin && sh test.sh' }];
        const repo = await server.repository('acme/writes', fixes, { verify });
        const { run } = await server.finish(repo.name, 'completed');
        assert.ok(!git(repo.origin, 'ls-tree', '--name-only', run.branch).includes('output.bin'));
    });
});

describe('a repository', () => {
    before(startWithSecrets);
    after(() => server.discard());

    it('cannot pull a file of the server into the prompt through a link', async () => {
        const repo = await server.repository('acme/rules-link', fixes);
        const seed = join(server.dir, 'link-seed');
        git(server.dir, 'clone', '--quiet', repo.origin, seed);
        rmSync(join(seed, 'AGENTS.md'));
        symlinkSync(join(server.data, 'admin.token'), join(seed, 'AGENTS.md'));
        symlinkSync(join(server.data, 'admin.token'), join(seed, 'CLAUDE.md'));
        git(seed, 'add', '--all');
        git(seed, 'commit', '--quiet', '--message=links');
        git(seed, 'push', '--quiet', 'origin', 'HEAD:main');
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilTask(taskId, 'completed', 'failed');
        const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
        for (const { sha256 } of items) {
            const { text } = await server.call('GET', `/v1/artifacts/${sha256}`);
            assert.ok(!text.includes(server.token));
        }
    });
});
