// profiles.test.mjs - agents of known profiles, as a new user has them: installed by npm, named by
// `use`, logged in as the server's user; their sessions and logins from attempt to attempt.
import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync,
    writeFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './lib/cli.mjs';
import { dataOf } from './lib/cloudevents.mjs';
import { git, says } from './lib/git.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const TRANSCRIPT = fileURLToPath(
    new URL('../fixtures/transcripts/claude_success.jsonl', import.meta.url));
const LOGIN = '.claude/.credentials.json';
const tokens = (n, expiresAt) => ({ claudeAiOauth: { accessToken: `sk-ant-oat01-access-${n}`,
    refreshToken: `sk-ant-ort01-refresh-${n}`, expiresAt, scopes: ['user:inference'] } });

// In the place of Claude Code: needs a file of its package, the interpreter and the prompt, and
// prints on stderr what it was given.  The task's text decides what it does.
const STAND_IN = `#!/usr/bin/env node
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const args = process.argv.slice(2);
if (args[0] === '--version') {
    console.log('9.9.9 (Stand-in)');
    process.exit(0);
}
const transcript = fs.readFileSync(path.join(__dirname, 'transcript.jsonl'), 'utf8');
const chunk = Buffer.alloc(1 << 20);
const told = chunk.toString('utf8', 0, fs.readSync(0, chunk));
const task = fs.readFileSync(process.env.DROVER_PROMPT, 'utf8');
console.error('ARGS ' + args.join(' '));
console.error('TOLD ' + JSON.stringify(told));
const resumed = args.includes('--resume');
const print = (line) => console.log(JSON.stringify(line));
if (task.includes('wait for a restart') && !resumed) {
    print({ type: 'system', subtype: 'init', session_id: 'ses-of-the-first', model: 'stand-in' });
    setInterval(() => {}, 1000);
    return;
}
if (task.includes('refresh the login')) {
    const file = path.join(process.env.HOME, '${LOGIN}');
    console.error('LOGIN ' + fs.readFileSync(file, 'utf8').length);
    console.error('HOME ' + fs.readdirSync(process.env.HOME));
    fs.writeFileSync(file, JSON.stringify(${JSON.stringify(tokens(2, 2000))}));
}
if (task.includes('call the model')) {
    const url = /call the model at (\\S+)/.exec(task)[1];
    console.error('MODEL ' + execFileSync('curl', ['-sS', '--max-time', '20', url]));
    console.error('DIRECT ' + process.env.NO_PROXY);
}
process.stdout.write(transcript);
fs.writeFileSync('answer.txt', task.includes('fail at first') && !resumed ? '40\\n' : '42\\n');
process.exitCode = 0;
`;

// As npm install -g --prefix leaves it.
function install(prefix, name = 'claude') {
    const modules = join(prefix, 'lib/node_modules/@anthropic-ai/claude-code');
    mkdirSync(modules, { recursive: true });
    mkdirSync(join(prefix, 'bin'), { recursive: true });
    writeFileSync(join(modules, 'cli.js'), STAND_IN, { mode: 0o755 });
    cpSync(TRANSCRIPT, join(modules, 'transcript.jsonl'));
    chmodSync(join(modules, 'transcript.jsonl'), 0o644);
    symlinkSync('../lib/node_modules/@anthropic-ai/claude-code/cli.js', join(prefix, 'bin', name));
    return modules;
}

function writeLogin(home, text) {
    mkdirSync(dirname(join(home, LOGIN)), { recursive: true });
    writeFileSync(join(home, LOGIN), text, { mode: 0o600 });
}

describe('an agent by its profile', { concurrency: 4 }, () => {
    let server, prefix, home;
    const use = (name, more = {}) => server.repository(name, '',
        { agent: { use: 'claude', ...more.agent }, ...more.config });
    const log = async (runId, attempt = 1) => {
        const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
        const { sha256 } = items.find((item) => item.name === `agent-${attempt}.log`);
        return (await server.call('GET', `/v1/artifacts/${sha256}`)).text;
    };
    const line = (text, word) => text.split('\n').find((each) => each.startsWith(`${word} `))
        ?.slice(word.length + 1);

    before(async () => {
        prefix = makeDirectory();
        home = makeDirectory();
        install(prefix);
        server = await start({ args: ['--workers', '4'],
            env: { PATH: `${join(prefix, 'bin')}:${process.env.PATH}`, HOME: home } });
    });
    after(() => server.discard());

    it('comes to a pull request with its name alone', async () => {
        const repo = await use('acme/alone');
        const { run, runId } = await server.finish(repo.name, 'completed');
        assert.equal(run.pullRequest.number, 1);
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
        assert.equal(run.model, 'claude-sonnet-4-5');
        assert.ok(run.turns > 0 && run.costUsd > 0);
        assert.equal(run.account, 'default:claude');
        assert.equal(run.agentSession, '5d1c0f7e-1111-4a55-8f00-000000000001');
        const text = await log(runId);
        assert.equal(line(text, 'ARGS'), '-p --output-format stream-json --input-format '
            + 'stream-json --verbose --include-partial-messages --dangerously-skip-permissions');
        assert.ok(line(text, 'TOLD').includes('Make the answer right.'), text);
    });

    it('gets its model, and a task may choose another', async () => {
        const repo = await use('acme/model', { agent: { model: 'opus' } });
        const one = await server.finish(repo.name, 'completed');
        assert.match(line(await log(one.runId), 'ARGS'), /--model opus$/);
        const other = await server.finish(repo.name, 'completed',
            { overrides: { agent: { model: 'haiku' } } });
        assert.match(line(await log(other.runId), 'ARGS'), /--model haiku$/);
    });

    it('repairs in the same session, told of the feedback alone', async () => {
        const repo = await use('acme/repair');
        const { run, runId } = await server.finish(repo.name, 'completed',
            { description: 'Please fail at first.' });
        assert.equal(run.attempt, 2);
        const text = await log(runId, 2);
        assert.match(line(text, 'ARGS'), /--resume 5d1c0f7e-1111-4a55-8f00-000000000001/);
        const told = line(text, 'TOLD');
        assert.match(told, /not accepted/);
        assert.match(told, /expected 42, got 40/);
        assert.ok(!told.includes('Please fail at first.'), told);
    });

    it('takes the login of the user along, and gives back what it refreshed', async () => {
        const repo = await use('acme/login');
        writeLogin(home, JSON.stringify(tokens(1, 1000), null, 2));
        writeFileSync(join(home, 'private'), 'not for agents');
        const { runId } = await server.finish(repo.name, 'completed',
            { description: 'Please refresh the login.' });
        const text = await log(runId);
        assert.ok(Number(line(text, 'LOGIN')) > 100, text);
        assert.equal(line(text, 'HOME'), '.claude');
        assert.deepEqual(JSON.parse(readFileSync(join(home, LOGIN), 'utf8')), tokens(2, 2000));
        assert.match(server.said(), /a login that an agent has refreshed is copied back/);
    });

    it('leaves a login alone where the repository says so', async () => {
        const account = makeDirectory();
        writeLogin(account, JSON.stringify(tokens(1, 1000)));
        const repo = await use('acme/kept', { agent: { home: account, homeWriteBack: 'none' } });
        await server.finish(repo.name, 'completed', { description: 'Please refresh the login.' });
        assert.deepEqual(JSON.parse(readFileSync(join(account, LOGIN), 'utf8')), tokens(1, 1000));
    });

    it('reaches a model on the loopback that egress names', async (t) => {
        if (!server.needsWalls(t)) return;
        const model = http.createServer((_, res) => res.end('hello from the model'));
        await new Promise((done) => model.listen(0, '127.0.0.1', done));
        const host = `127.0.0.1:${model.address().port}`;
        try {
            const repo = await use('acme/loopback', { agent: { egress: [host] } });
            const { runId } = await server.finish(repo.name, 'completed',
                { description: `Please call the model at http://${host}/v1 now.` });
            const text = await log(runId);
            assert.equal(line(text, 'MODEL'), 'hello from the model');
            assert.equal(line(text, 'DIRECT'), 'localhost,::1');
        } finally {
            model.close();
        }
    });

    it('as a fallback gets a home that the program before it has not seen', async (t) => {
        if (!server.needsWalls(t)) return;
        writeLogin(home, JSON.stringify(tokens(1, 1000), null, 2));
        const outside = makeDirectory();
        const hostile = `ln -s ${outside} "$HOME/.claude"\n` + says({ type: 'result',
            subtype: 'success', is_error: true, api_error_status: 429, result: 'API Error: 429' });
        const repo = await use('acme/fallback', { agent: { use: undefined, adapter: 'claude',
            command: ['/bin/sh', '-c', `${hostile}exit 1`], account: 'used-up',
            fallback: [{ use: 'claude', account: 'other' }] } });
        const { run } = await server.finish(repo.name, 'completed');
        assert.equal(run.account, 'other');
        assert.deepEqual(readdirSync(outside), []);
    });

    it('is shown with what its profile has given', async () => {
        const repo = await use('acme/shown', { agent: { env: ['A=1'] } });
        const { effective, origins } = await server.get(
            `/v1/repositories/${encodeURIComponent(repo.name)}?effective=true`);
        assert.equal(effective.agent.command[0], 'claude');
        assert.ok(effective.agent.egress.includes('platform.claude.com:443'));
        assert.deepEqual(effective.agent.env.slice(0, 2), ['A=1', 'DISABLE_AUTOUPDATER=1']);
        assert.deepEqual([origins['agent.use'], origins['agent.command'], origins['agent.egress'],
            origins['agent.adapter']], ['repository', 'profile', 'profile', 'profile']);
    });

    it('that other users may not execute is named, with what to do', async (t) => {
        if (process.getuid() !== 0 || !server.needsWalls(t)) return t.skip('needs root');
        const own = makeDirectory();
        const modules = install(own, 'closed-agent');
        chmodSync(modules, 0o700);
        symlinkSync(join(own, 'bin/closed-agent'), join(prefix, 'bin/closed-agent'));
        const repo = await use('acme/closed', { agent: { command: ['closed-agent'] } });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'agent_command_not_found');
        assert.match(task.errorMessage, /chmod -R o\+rX .*claude-code/);
        assert.match(task.errorMessage, /install the program elsewhere/);
    });
});

describe('an agent by its profile, and a server that is killed', () => {
    it('goes on in its session after the restart', async () => {
        const prefix = makeDirectory();
        install(prefix);
        const server = await start({ args: ['--workers', '1'],
            env: { PATH: `${join(prefix, 'bin')}:${process.env.PATH}`, HOME: prefix } });
        try {
            const repo = await server.repository('acme/billing', '', { agent: { use: 'claude' } });
            const { taskId, runId } = await server.submit(repo.name,
                { description: 'Please wait for a restart.' });
            await until('the session', async () => (await server.run(runId)).agentSession);
            await server.crash();
            await server.startAgain();
            await server.untilTask(taskId, 'completed');
            const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
            const { sha256 } = items.find((item) => item.name === 'agent-1.log');
            const { text } = await server.call('GET', `/v1/artifacts/${sha256}`);
            assert.match(text, /ARGS .*--resume ses-of-the-first/);
            assert.match(text, /You were interrupted/);
            assert.equal(dataOf(await server.events(runId), 'agent.session.lost').length, 0);
        } finally {
            await server.discard();
        }
    });
});

describe('the command line about profiles', { concurrency: 4 }, () => {
    const call = (args, env) => launch(args, env).ended;

    it('lists them', async () => {
        const { code, out } = await call(['agents', 'profiles']);
        assert.equal(code, 0);
        for (const name of ['claude', 'codex', 'gemini', 'copilot', 'cursor-agent', 'opencode',
            'goose', 'amp', 'aider', 'acp', 'ndjson'])
            assert.match(out, new RegExp(`^${name} `, 'm'));
        const { items } = JSON.parse((await call(['agents', 'profiles', '--json'])).out);
        const codex = items.find(({ name }) => name === 'codex');
        assert.deepEqual(codex.resume, ['resume', '{session}']);
        assert.deepEqual(codex.loginFiles, ['.codex/auth.json']);
        assert.equal(codex.quotaWindowSeconds, 7 * 24 * 3600);
    });

    it('checks one: whole, then without a login, then without a program', async () => {
        const prefix = makeDirectory();
        const home = makeDirectory();
        install(prefix);
        writeLogin(home, '{}');
        const env = { PATH: `${join(prefix, 'bin')}:${process.env.PATH}`, HOME: home,
            ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: '', CLAUDE_CODE_OAUTH_TOKEN: '' };
        const whole = await call(['agents', 'check', 'claude'], env);
        assert.equal(whole.code, 0, whole.out);
        assert.match(whole.out, /^starts +inside the sandbox$/m);
        assert.match(whole.out, /^version +9\.9\.9 \(Stand-in\)$/m);
        assert.match(whole.out, /^login +.*\.claude\/\.credentials\.json$/m);
        const other = await call(['agents', 'check', 'claude', '--home', prefix], env);
        assert.equal(other.code, 1);
        assert.match(other.out, /^login +missing: .*\n +run claude and log in/m);
        const none = await call(['agents', 'check', 'claude', '--json'],
            { ...env, PATH: '/usr/bin:/bin', ANTHROPIC_API_KEY: 'k' });
        assert.equal(none.code, 1);
        const { ok, checks } = JSON.parse(none.out);
        assert.equal(ok, false);
        const program = checks.find(({ name }) => name === 'program');
        assert.match(program.next, /npm install -g @anthropic-ai\/claude-code/);
        assert.equal(checks.find(({ name }) => name === 'login').detail, '$ANTHROPIC_API_KEY');
    });

    it('suggests a profile for a misspelled one, and warns of an unused model', async () => {
        const missing = await call(['agents', 'check', 'cluade']);
        assert.equal(missing.code, 3);
        assert.match(missing.err, /did you mean claude/);
        const dir = makeDirectory();
        const check = async (text) => {
            writeFileSync(join(dir, 'x.yaml'), `url: /srv/x.git\nagent: ${text}\n`);
            return call(['repo', 'check', join(dir, 'x.yaml')]);
        };
        assert.match((await check('{use: cluade}')).err, /agent\.use: .*did you mean claude\?/);
        assert.match((await check('{command: [a], model: m}')).out, /warning: agent\.model/);
        assert.match((await check('{command: [a], env: [A, API_KEY=x]}')).out,
            /warning: agent\.env\[1\] \(API_KEY\) looks like a secret/);
        assert.match((await check('{command: [a], env: [A=$B]}')).out,
            /warning: agent\.env\[0\] is passed on as it is written/);
        assert.doesNotMatch((await check('{command: [a], env: [A=b]}')).out, /warning/);
        assert.doesNotMatch((await check('{use: claude, model: m}')).out, /warning/);
        assert.doesNotMatch((await check('{command: [a, "{model}"], model: m}')).out, /warning/);
    });
});
