// cli.test.mjs - every command, for people and with --json, and its exit status.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { launch as launchCli } from './lib/cli.mjs';
import { UUID, assertCloudEvent, assertHistory } from './lib/cloudevents.mjs';
import { fixes, gaveUp, git, makeOrigin, refs, stays, waits } from './lib/git.mjs';
import { newMark } from './lib/procs.mjs';
import { BIN, makeDirectory, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
const run = promisify(execFile);
const nobody = '0190b6a0-0000-7000-8000-000000000000';
const DONE = 0, FAILED = 1, USAGE = 2, NOT_FOUND = 3, REFUSED = 4, UNREACHABLE = 5;

function reachServer() {
    return { DROVER_URL: server.url, DROVER_TOKEN: server.token };
}

function launch(args, env = reachServer(), stdin = 'ignore') {
    return launchCli(args, env, stdin);
}

async function cli(...args) {
    return launch(args).ended;
}

// Runs a command that must end well; its output.
async function ok(...args) {
    const { code, out, err } = await cli(...args);
    assert.equal(code, DONE, `drover ${args.join(' ')}: exit ${code}\n${out}${err}`);
    return out;
}

async function json(...args) {
    return JSON.parse(await ok(...args, '--json'));
}

// Runs a command that must be refused; what it says.
async function refused(status, ...args) {
    const { code, out, err } = await cli(...args);
    assert.equal(code, status, `drover ${args.join(' ')}: exit ${code}\n${out}${err}`);
    assert.match(err, /^drover: ./, 'it says why');
    return err;
}

const items = (answer) => answer.items ?? answer;

describe('the command line', { concurrency: 6 }, () => {
    let repo, finished, failed;
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
        repo = await server.repository('acme/cli', fixes);
        const bad = await server.repository('acme/cli-bad', gaveUp('cannot do it'));
        [finished, failed] = await Promise.all([
            server.finish(repo.name, 'completed'), server.finish(bad.name, 'failed')]);
    });
    after(() => server.discard());

    it('has a help that lists every command, and each has its own', async () => {
        const overview = await ok('help');
        const commands = ['serve', 'repo', 'submit', 'tasks', 'task', 'cancel', 'retry', 'runs',
            'run', 'timeline', 'watch', 'events', 'artifacts', 'artifact', 'prs', 'pr', 'doctor',
            'version', 'approvals', 'approve', 'reject'];
        for (const command of commands) {
            assert.match(overview, new RegExp(`^\\s+(drover )?${command}\\b`, 'm'), command);
            const help = await ok(command, '--help');
            assert.match(help, new RegExp(`\\b${command}\\b`), command);
        }
        const pairs = ['repo add', 'repo list', 'repo show', 'repo set', 'repo remove', 'pr merge',
            'pr close', 'issue close', 'issue reopen'];
        for (const two of pairs)
            assert.match(await ok(...two.split(' '), '--help'), new RegExp(`drover ${two}`), two);
        assert.equal(await ok('--help'), overview);
    });

    it('has an example for every command, and all of them in the manual', async () => {
        const listed = [...(await ok('help')).matchAll(/^ {2}([a-z]+(?: [a-z]+)?) {2,}\S/gm)]
            .map(([, command]) => command);
        assert.ok(listed.length > 100, listed.join(', '));
        const manual = readFileSync(new URL('../../docs/drover.1', import.meta.url), 'utf8')
            .split('\n').filter((line) => /^\\fB[a-z]/.test(line)).map((line) =>
                line.replace(/\\f[BIR]/g, '').replace(/\\-/g, '-'));
        for (const command of listed) {
            const help = await ok(...command.split(' '), '--help');
            assert.match(help, new RegExp(`^usage: drover ${command}\\b`, 'm'));
            assert.match(help, /^Example/m, command);
            const [first, second] = command.split(' ');
            const words = new RegExp(`^${first}${second ? ` (\\S+\\|)?${second}` : ''}(\\s|\\||$)`);
            assert.ok(manual.some((line) => words.test(line)), `drover.1 lacks ${command}`);
        }
    });

    it('completes commands, options and names in bash', async () => {
        const file = new URL('../../share/completions/drover.bash', import.meta.url).pathname;
        const table = [['drover pr s', 'show'], ['drover train ad', 'add'],
            ['drover train acme/cli-b', 'acme/cli-bad'], ['drover repo show acme/cli-b',
                'acme/cli-bad'], ['drover webhooks acme/cli-b', 'acme/cli-bad'],
            ['drover submit --mo', '--mode'], ['drover batch --dry', '--dry-run'],
            ['drover snapshots la', 'latest'], ['drover agent la', 'launch']];
        const script = `. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
            _drover; printf '%s\\n' "\${COMPREPLY[@]}"`;
        for (const [line, want] of table) {
            const { stdout } = await run('bash', ['-c', script, 'bash', file, ...line.split(' ')],
                { env: plainEnv({ ...reachServer(),
                    PATH: `${dirname(BIN)}:${process.env.PATH}` }) });
            assert.equal(stdout.trim(), want, line);
        }
    });

    it('tells its version', async () => {
        assert.match(await ok('version'), /^drover \d+\.\d+\.\d+/);
        assert.match((await json('version')).client, /^\d+\.\d+\.\d+$/);
    });

    const usage = [
        [], ['nonsense'], ['tasks', '--nonsense'], ['task'], ['submit'], ['submit', 'text'],
        ['cancel'], ['timeline'], ['artifact'], ['repo'], ['repo', 'nonsense'], ['repo', 'add'],
        ['repo', 'add', 'acme/x'], ['pr'], ['pr', 'merge'], ['tasks', 'too', 'much'],
        ['tasks', '--limit', 'x'], ['tasks', '--limit'],
        ['submit', '--repo', 'acme/cli', '--mode', 'yolo', 'text'],
        ['submit', '--repo', 'acme/cli', '--priority', 'high', 'text'],
        ['serve', '--workers', 'x'], ['serve', '--listen', 'nonsense'],
        ['ask', 'outside of a sandbox'], ['reply', 'some-id', '{bad'],
    ];
    for (const args of usage) {
        it(`refuses "drover ${args.join(' ')}" as bad usage`, async () => {
            const { code, err } = await cli(...args);
            assert.equal(code, USAGE, err);
            if (args.length > 0) assert.ok(err.length > 0);
        });
    }

    it('onboards, shows, changes and removes a repository', async () => {
        const origin = makeOrigin(server.dir, 'cli-repo');
        const file = join(server.dir, 'cli-repo.yaml');
        writeFileSync(file, 'agent: {command: ["true"]}\nlimits: {maxActiveRuns: 2}\n');
        await ok('repo', 'add', 'cli/repo', '--url', origin, '--config', file);
        assert.match(await ok('repo', 'list'), /cli\/repo/);
        assert.ok(items(await json('repo', 'list')).some((each) => each.name === 'cli/repo'));
        assert.match(await ok('repo', 'show', 'cli/repo'), /cli-repo\.git/);
        const shown = await json('repo', 'show', 'cli/repo');
        assert.equal(shown.config.url, origin);
        assert.equal(shown.config.limits.maxActiveRuns, 2);
        writeFileSync(file,
            `url: ${origin}\nagent: {command: ["true"]}\nlimits: {maxActiveRuns: 7}\n`);
        await ok('repo', 'set', 'cli/repo', '--config', file);
        assert.equal((await json('repo', 'show', 'cli/repo')).config.limits.maxActiveRuns, 7);
        await ok('repo', 'remove', 'cli/repo');
        await refused(NOT_FOUND, 'repo', 'show', 'cli/repo');
    });

    it('refuses a configuration and names what is wrong in it', async () => {
        const file = join(server.dir, 'cli-wrong.yaml');
        writeFileSync(file, 'agent: {command: ["true"]}\nverfy: []\n');
        const wrong = await cli('repo', 'add', 'cli/wrong', '--url', '/srv/x.git',
            '--config', file);
        assert.equal(wrong.code, REFUSED, wrong.err);
        assert.match(wrong.err, /cli-wrong\.yaml:2:1: verfy: is not known here/);
        writeFileSync(file, 'agent: [unclosed\n');
        const { code, err } = await cli('repo', 'add', 'cli/wrong', '--url', '/srv/x.git',
            '--config', file);
        assert.ok([USAGE, FAILED, REFUSED].includes(code), err);
        assert.match(err, /line \d|:\d/);
        const absent = await cli('repo', 'add', 'cli/wrong', '--url', '/srv/x.git',
            '--config', join(server.dir, 'absent.yaml'));
        assert.notEqual(absent.code, DONE);
        assert.match(absent.err, /absent\.yaml/);
    });

    it('submits with all its options', async () => {
        const mark = newMark();
        const slow = await server.repository('acme/options', stays(mark));
        const answer = await json('submit', '--repo', slow.name, '--issue', '12', '--mode',
            'patch_only', '--risk', 'low', '--priority', '50', '--max-turns', '7', '--max-budget',
            '1.5', '--key', 'cli-key-1', 'Do', 'the', 'thing');
        assert.match(answer.taskId, UUID);
        const task = await json('task', answer.taskId);
        assert.deepEqual([task.repository, task.issueNumber, task.executionMode, task.riskLevel,
            task.priority, task.maxTurns, task.maxBudgetUsd, task.description],
        [slow.name, 12, 'patch_only', 'low', 50, 7, 1.5, 'Do the thing']);
        await ok('cancel', answer.taskId);
        await server.untilTask(answer.taskId, 'cancelled');
    });

    it('submits once under one key', async () => {
        const args = ['submit', '--repo', repo.name, '--key', 'cli-key-2', 'Once'];
        const [one, two] = [await json(...args), await json(...args)];
        assert.equal(one.taskId, two.taskId);
        await refused(REFUSED, 'submit', '--repo', repo.name, '--key', 'cli-key-2', 'Twice');
    });

    it('submits and watches down to the pull request', async () => {
        const out = await ok('submit', '--repo', repo.name, '--watch', 'Make the answer right');
        assert.match(out, /verif|unit passed/i);
        assert.match(out, /pull request #\d+/i);
        assert.match(out, /completed/i);
    });

    it('submits and watches a failure, and ends with 1', async () => {
        const { code, out, err } = await cli('submit', '--repo', 'acme/cli-bad', '--watch', 'Try');
        assert.equal(code, FAILED, out + err);
        assert.match(out + err, /cannot do it|agent_error/);
    });

    it('lists tasks and runs, and shows one', async () => {
        const table = [['tasks', 'task', finished.taskId], ['runs', 'run', finished.runId]];
        for (const [many, one, id] of table) {
            assert.match(await ok(many), /completed/);
            assert.ok(items(await json(many)).some((each) => each.id === id));
            assert.match(await ok(one, id), /completed/);
            assert.equal((await json(one, id)).id, id);
        }
        for (const args of [['task', finished.taskId], ['run', finished.runId]])
            assert.match(await ok(...args), /^Pull request +#1 draft \S+refs\/pull\/1\/head$/m);
        assert.match(await ok('pr', 'show', '1', '--repo', repo.name),
            /^Status +draft$/m);
        const out = await ok('task', failed.taskId);
        assert.match(out, /failed/);
        assert.match(out, /agent_error/);
        const some = items(await json('tasks', '--status', 'failed'));
        assert.ok(some.length > 0 && some.every((task) => task.status === 'failed'));
    });

    it('says of a repository that is added whether its address leads anywhere', async () => {
        const file = join(server.dir, 'away.json');
        writeFileSync(file, JSON.stringify({ url: join(server.dir, 'away.git'),
            agent: { command: ['/bin/true'] } }));
        assert.match(await ok('repo', 'add', 'acme/cli-away', '--config', file),
            /^Mind +There is no directory \S+away\.git on the server's machine: correct url, /m);
        await ok('repo', 'remove', 'acme/cli-away');
    });

    it('registers, launches and kills an agent, and says what comes next', async () => {
        const added = await ok('agent', 'add', 'cli-bob', '--persona', 'reviewer');
        assert.match(added, /^State +registered$/m);
        const [, token] = added.match(/^Its token +drover (token create .*)$/m);
        const { code, err } = await launch(token.split(' ').map((word) =>
            (word === 'cli-bob.token' ? join(server.dir, word) : word))).ended;
        assert.equal(code, DONE, err);
        assert.match(added, /^Its work +drover submit --persona reviewer "what to do"$/m);
        const none = await refused(NOT_FOUND, 'agent', 'launch', 'cli-eve');
        assert.match(none, /^Register and start it: drover agent launch cli-eve -- COMMAND$/m);
        const launched = await ok('agent', 'launch', 'cli-eve', '--', '/bin/sleep', '600');
        assert.match(launched, /^Watch it +drover agents --watch$/m);
        const killed = await ok('agent', 'kill', 'cli-eve', '--reason', 'enough');
        assert.match(killed, /^Kill policy +requeue\nReason +enough$/m);
        assert.match(await ok('agents'), /cli-bob +reviewer +registered/);
        await ok('agent', 'remove', 'cli-bob');
        const why = await refused(REFUSED, 'submit', '--repo', repo.name, '--persona', 'reviewer',
            'x');
        assert.match(why, /agent\.compute to pull in its configuration \(drover repo set\)/);
    });

    it('tells the timeline in groups', async () => {
        const out = await ok('timeline', finished.runId);
        let from = 0;
        for (const name of ['Planning', 'Editing', 'Verification', 'Judging', 'PR', 'Outcome']) {
            const at = out.indexOf(name, from);
            assert.ok(at >= 0, `${name} in ${out}`);
            from = at;
        }
        assert.ok((await json('timeline', finished.runId)).groups.length >= 6);
    });

    it('watches a run to its end', async () => {
        assert.match(await ok('watch', finished.runId), /completed/);
        const { code } = await cli('watch', failed.runId);
        assert.equal(code, FAILED);
        const mark = newMark();
        const gated = await server.repository('acme/watched', waits(mark) + fixes);
        const { runId } = await server.submit(gated.name);
        const { result, ended } = launch(['watch', runId]);
        await until('the watcher to say something', () => result.out !== '');
        await server.openGate(mark);
        const { code: status, out } = await ended;
        assert.equal(status, DONE);
        assert.match(out, /pull request #1/i);
    });

    it('lists events, and follows them', async () => {
        const out = await ok('events', '--run', finished.runId);
        assert.match(out, /agent\.run\.completed|run completed/);
        const listed = items(await json('events', '--run', finished.runId));
        listed.forEach(assertCloudEvent);
        const { child, result, ended } = launch(['events', '--follow', '--json']);
        await until('the stream to stand', async () => {
            await server.finish(repo.name, 'completed');
            return result.out.includes('agent.run.completed');
        });
        child.kill('SIGINT');
        const { code } = await ended;
        assert.ok([130, 'SIGINT', 0].includes(code), String(code));
        const lines = result.out.trim().split('\n').map((line) => JSON.parse(line));
        lines.forEach(assertCloudEvent);
    });

    it('lists artifacts and writes one to a file', async () => {
        assert.match(await ok('artifacts', finished.runId), /patch/);
        const artifacts = items(await json('artifacts', finished.runId));
        const patch = artifacts.find((each) => each.kind === 'patch');
        const out = await ok('artifact', patch.sha256);
        assert.equal(createHash('sha256').update(out).digest('hex'), patch.sha256);
        const file = join(server.dir, 'patch.diff');
        await ok('artifact', patch.sha256, '--output', file);
        assert.equal(readFileSync(file, 'utf8'), out);
        await refused(NOT_FOUND, 'artifact', '0'.repeat(64));
    });

    it('lists pull requests and merges one', async () => {
        const own = await server.repository('acme/cli-merge', fixes);
        await server.finish(own.name, 'completed');
        assert.match(await ok('prs'), /acme\/cli-merge/);
        const pr = items(await json('prs')).find((each) => each.repository === own.name);
        assert.equal(pr.status, 'open');
        await ok('pr', 'merge', '1', '--repo', own.name);
        assert.equal(git(own.origin, 'show', 'main:answer.txt'), '42');
        await refused(REFUSED, 'pr', 'merge', pr.id);
        await refused(NOT_FOUND, 'pr', 'merge', nobody);
    });

    it('closes a pull request, with a reason for the record', async () => {
        const own = await server.repository('acme/cli-close', fixes);
        const { runId, taskId } = await server.finish(own.name, 'completed');
        const reason = 'solved elsewhere';
        const said = await ok('pr', 'close', '1', '--repo', own.name, '--reason', reason);
        assert.match(said, /^Pull request #1 is closed\.$/m);
        const pr = items(await json('prs')).find((each) => each.repository === own.name);
        assert.deepEqual([pr.status, pr.mergedAt, pr.mergeCommit], ['closed', null, null]);
        assert.equal(git(own.origin, 'show', 'main:answer.txt'), '41');
        assert.ok(refs(own.origin)[`refs/heads/${pr.branch}`], 'its branch stays');
        const events = await server.events(runId);
        const { data } = events.find(({ type }) => type === 'agent.pr.closed');
        assert.deepEqual(data,
            { pullRequestId: pr.id, number: 1, actor: 'admin', reason });
        assertHistory(events);
        assert.equal((await server.get(`/v1/tasks/${taskId}`)).status, 'completed');
        for (const action of ['close', 'merge'])
            await refused(REFUSED, 'pr', action, pr.id);
    });

    it('approves and rejects what waits for a person', async () => {
        const own = await server.repository('acme/cli-asks', fixes);
        const ends = { approve: 'completed', reject: 'failed' };
        for (const [command, status] of Object.entries(ends)) {
            const { taskId, runId } = await server.submit(own.name, { riskLevel: 'high' });
            await server.untilRun(runId, 'awaiting_approval');
            const question = items(await json('approvals')).find((each) => each.runId === runId);
            assert.match(await ok('approvals'), /pending/);
            await ok(command, question.id, '--reason', 'I say so');
            await server.untilTask(taskId, status);
            await refused(REFUSED, command, question.id);
        }
    });

    it('cancels and retries', async () => {
        const mark = newMark();
        const own = await server.repository('acme/cli-cancel', stays(mark));
        const { taskId } = await server.submit(own.name);
        await ok('cancel', taskId, '--reason', 'changed my mind');
        const task = await server.untilTask(taskId, 'cancelled');
        assert.match(task.errorMessage, /changed my mind/);
        await refused(REFUSED, 'cancel', taskId);
        const again = await json('retry', taskId);
        assert.match(again.runId, UUID);
        await ok('cancel', taskId);
        await server.untilTask(taskId, 'cancelled');
        await refused(REFUSED, 'retry', finished.taskId);
    });

    it('takes the start of an id where it is enough, and says so where it is not', async () => {
        assert.equal((await json('task', finished.taskId.slice(0, 30))).id, finished.taskId);
        const why = await refused(USAGE, 'task', finished.taskId.slice(0, 7));
        assert.match(why, /begin|ambiguous|more/i);
    });

    it('proves with doctor that all is well', async () => {
        const { code, out } = await cli('doctor');
        assert.equal(code, DONE, out);
        assert.equal((await json('doctor')).healthy, true);
    });

    it('says that there is no such thing with 3', async () => {
        for (const args of [['task', nobody], ['run', nobody], ['timeline', nobody],
            ['watch', nobody], ['artifacts', nobody], ['cancel', nobody], ['retry', nobody],
            ['repo', 'show', 'not/there'], ['repo', 'remove', 'not/there'], ['approve', nobody]])
            await refused(NOT_FOUND, ...args);
    });

    it('says with 4 that it was refused', async () => {
        await refused(REFUSED, 'submit', '--repo', repo.name, '--mode', 'autonomous_pr', '--risk',
            'high', 'x');
        assert.match(await refused(REFUSED, 'submit', '--repo', 'not/there', 'x'),
            /REPO_NOT_ONBOARDED/);
    });

    it('says with 5 that nobody answers', async () => {
        const env = { DROVER_URL: 'http://127.0.0.1:1', DROVER_TOKEN: 'x' };
        const table = [['tasks'], ['submit', '--repo', 'a/b', 'x'], ['watch', nobody], ['doctor']];
        for (const args of table) {
            const { code, err } = await launch(args, env).ended;
            assert.equal(code, UNREACHABLE, `${args}: ${err}`);
            assert.match(err, /127\.0\.0\.1:1/);
        }
    });

    it('does not get in with a wrong token, nor show it', async () => {
        const env = { DROVER_URL: server.url, DROVER_TOKEN: 'drover_wrong_token' };
        const { code, out, err } = await launch(['tasks'], env).ended;
        assert.ok([FAILED, REFUSED].includes(code), `exit ${code}`);
        assert.ok(!(out + err).includes('drover_wrong_token'));
    });

    it('finds server and token by the data directory', async () => {
        const { code, out, err } = await launch(['tasks', '--data', server.data], {}).ended;
        assert.equal(code, DONE, err);
        assert.match(out, /completed/);
        const byEnv = await launch(['tasks'], { DROVER_DATA: server.data }).ended;
        assert.equal(byEnv.code, DONE, byEnv.err);
    });

    it('reads the text of a task from standard input', async () => {
        const { child, ended } = launch(['submit', '--repo', repo.name, '--json', '-'],
            reachServer(), 'pipe');
        child.stdin.end('Two\nlines\n');
        const { code, out, err } = await ended;
        assert.equal(code, DONE, err);
        const { taskId } = JSON.parse(out);
        assert.equal((await server.untilTask(taskId, 'completed')).description, 'Two\nlines');
    });

    it('lists the queues', async () => {
        assert.match(await ok('queue', 'list'), /drover\.agent/);
        assert.ok(items(await json('queue', 'list')).some((each) => each.name === 'drover.agent'));
    });

    it('does not let control characters of a task reach the terminal', async () => {
        const { taskId } = await server.submit(repo.name, { description: 'a\u001b[31mred\u0007b' });
        for (const args of [['tasks'], ['task', taskId]]) {
            const out = await ok(...args);
            assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f]/.test(out), JSON.stringify(out));
        }
        await server.untilTask(taskId, 'completed');
    });

    it('writes no partial file and leaves none behind when an artifact is not there', async () => {
        const file = join(server.dir, 'absent.diff');
        await refused(NOT_FOUND, 'artifact', '0'.repeat(64), '--output', file);
        assert.ok(!existsSync(file));
    });
});

describe('drover serve', { concurrency: 3 }, () => {
    it('refuses to listen to the world unless told so', async () => {
        const dir = makeDirectory();
        const { code, out, err } = await launch(
            ['serve', '--listen', '0.0.0.0:0', '--data', join(dir, 'data')], {}).ended;
        assert.ok([USAGE, REFUSED, FAILED].includes(code), `exit ${code}`);
        assert.match(out + err, /loopback|allowRemote|allow-remote|0\.0\.0\.0/);
    });

    it('says what to do about a data directory that cannot be', async () => {
        const dir = makeDirectory();
        writeFileSync(join(dir, 'file'), '');
        const { code, err } = await launch(
            ['serve', '--listen', '127.0.0.1:0', '--data', join(dir, 'file', 'data')], {}).ended;
        assert.notEqual(code, DONE);
        assert.match(err, /data directory cannot be used, --data DIR takes another: .*file/);
    });

    it('refuses a configuration with unknown fields by name', async () => {
        const dir = makeDirectory();
        const file = join(dir, 'drover.yaml');
        writeFileSync(file, 'workrs: 3\n');
        const { code, out, err } = await launch(
            ['serve', '--config', file, '--data', join(dir, 'data')], {}).ended;
        assert.notEqual(code, DONE);
        assert.match(out + err, /workrs/);
    });
});
