// init.test.mjs - the first hour: drover init in a checkout, then a task without --repo.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch, launchOnTerminal } from './lib/cli.mjs';
import { FILES, git, makeCheckout, makeOrigin, refs } from './lib/git.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const DONE = 0, USAGE = 2, NOT_FOUND = 3, REFUSED = 4;
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

// What Claude Code prints, of one that knows the answer.
const USAGE_LINE = { input_tokens: 5, output_tokens: 5 };
const CLAUDE_LINES = [
    { type: 'system', subtype: 'init', session_id: 's1', model: 'claude-x', tools: [] },
    { type: 'assistant', session_id: 's1', message: { id: 'm1', model: 'claude-x',
        content: [{ type: 'text', text: 'ok' }], usage: USAGE_LINE } },
    { type: 'result', subtype: 'success', is_error: false, result: 'The answer is 42.',
        session_id: 's1', num_turns: 1, total_cost_usd: 0.01, usage: USAGE_LINE },
];
const CLAUDE = `#!/bin/sh
read -r prompt || true
echo 42 >answer.txt
cat <<'END'
${CLAUDE_LINES.map((line) => JSON.stringify(line)).join('\n')}
END
`;

let dir;
before(() => (dir = makeDirectory()));

let homes = 0;
// A home of its own, with these programs on PATH and nothing else of the caller's.
function makeHome(programs = { claude: CLAUDE }, logins = ['.claude/.credentials.json']) {
    const home = join(dir, `home-${homes++}`);
    mkdirSync(join(home, 'bin'), { recursive: true });
    for (const [name, text] of Object.entries(programs)) {
        writeFileSync(join(home, 'bin', name), text);
        chmodSync(join(home, 'bin', name), 0o755);
    }
    for (const path of logins) {
        mkdirSync(join(home, path, '..'), { recursive: true });
        writeFileSync(join(home, path), '{}');
    }
    const env = { HOME: home, PATH: `${join(home, 'bin')}:${SYSTEM_PATH}` };
    for (const name of ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'CODEX_API_KEY', 'GEMINI_API_KEY',
        'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_AUTH_TOKEN', 'XDG_STATE_HOME', 'OPENROUTER_API_KEY'])
        env[name] = '';
    return { home, env };
}

const nowhere = { DROVER_URL: 'http://127.0.0.1:1' };
const tree = (name, files) => makeCheckout(join(dir, name), files);
const init = (cwd, env, ...args) =>
    launch(['init', ...args], { ...nowhere, ...env }, 'ignore', cwd).ended;
const fileOf = (top) => readFileSync(join(top, 'drover.yaml'), 'utf8');

describe('drover init, without a server', { concurrency: 4 }, () => {
    it('says of every line why, writes a good file, and how to go on', async () => {
        const top = tree('plain', { ...FILES, Makefile: 'test:\n\tsh test.sh\nlint:\n\ttrue\n' });
        const { home, env } = makeHome();
        const { code, out, err } = await init(top, env);
        assert.equal(code, DONE, err);
        for (const line of [
            `Checkout      ${top}`,
            `Address       ${top} (this checkout, which has no origin; pull requests are ` +
                'branches here)',
            'Branch        main (the branch that is checked out here)',
            'Name          plain (from the directory)',
            `Agent         claude (${home}/bin/claude; logs in with ` +
                `${home}/.claude/.credentials.json)`,
            'Check         lint: make lint (Makefile has the target lint)',
            'Check         test: make test (Makefile has the target test)',
            `Written       ${top}/drover.yaml`,
            'Server        none answers at http://127.0.0.1:1',
            'Start one     drover serve',
            'Then          drover init',
        ])
            assert.ok(out.split('\n').includes(line), `${line}\n--- is not in\n${out}`);
        const text = fileOf(top);
        assert.match(text, /^ {2}use: claude$/m);
        assert.match(text, /^# Tasks start from it.*checked out here\.$/m);
        assert.match(text, /^ {2}# Makefile has the target test\n {2}- name: test\n/m);
        const check = await launch(['repo', 'check', join(top, 'drover.yaml')]).ended;
        assert.equal(check.code, DONE, check.err);
    });

    it('finds several projects, what they download from, and the branch of origin', async () => {
        const origin = makeOrigin(dir, 'many', {
            'api/go.mod': 'module x\nrequire y v1\n',
            'web/package.json': '{"scripts":{"test":"t"},"devDependencies":{"x":"1"}}',
            'web/package-lock.json': '{}',
            'it\'s "here"/Cargo.toml': '[package]\nname = "x"\n',
        });
        git(dir, 'clone', '--quiet', origin, join(dir, 'many'));
        const top = join(dir, 'many');
        git(top, 'switch', '--quiet', '--create', 'mine');
        const { env } = makeHome();
        const { code, out, err } = await init(join(top, 'web'), env);
        assert.equal(code, DONE, err);
        assert.match(out, new RegExp(`^Address +${origin} \\(origin is this directory`, 'm'));
        assert.match(out, /^Branch +main \(the default branch of origin/m);
        assert.match(out, /^Host +\*\.npmjs\.org \(the check web-install/m);
        const text = fileOf(top);
        for (const host of ['api.anthropic.com:443', 'proxy.golang.org', '*.npmjs.org'])
            assert.ok(text.includes(`- "${host}"`), text);
        for (const command of ['cd api && go test ./...', 'cd web && npm run test'])
            assert.ok(text.includes(`command: ${command}\n`), text);
        assert.match(text, /outputs: \["web\/node_modules"\]/);
        const check = await launch(['repo', 'check', join(top, 'drover.yaml')]).ended;
        assert.equal(check.code, DONE, check.err);
    });

    it('takes nothing that is not committed', async () => {
        const top = tree('loose', { 'README.md': 'x\n' });
        writeFileSync(join(top, 'Makefile'), 'test:\n');
        const { code, out } = await init(top, makeHome().env);
        assert.equal(code, DONE);
        assert.match(out, /^Check +none was found: write one under verify in drover\.yaml/m);
        assert.match(fileOf(top), /^verify: \[\]$/m);
    });

    it('runs no command that the configuration of a checkout names', async () => {
        const top = tree('hostile', { 'package.json': '{"scripts":{"test":"t"}}' });
        const hash = git(top, 'rev-parse', 'HEAD:package.json');
        rmSync(join(top, '.git/objects', hash.slice(0, 2), hash.slice(2)));
        const mark = join(dir, 'was-run');
        for (const [key, value] of Object.entries({ 'core.repositoryFormatVersion': '1',
            'extensions.partialClone': 'elsewhere', 'remote.elsewhere.promisor': 'true',
            'remote.elsewhere.url': top, 'remote.elsewhere.uploadPack': `touch ${mark}; false`,
            'core.fsmonitor': `touch ${mark}; false`, 'core.pager': `touch ${mark}` }))
            git(top, 'config', key, value);
        const { code, err } = await init(top, makeHome().env);
        assert.equal(code, DONE, err);
        assert.equal(existsSync(mark), false);
    });

    it('shows what it would write, and writes nothing', async () => {
        const top = tree('dry', FILES);
        const { code, out } = await init(top, makeHome().env, '--dry-run');
        assert.equal(code, DONE);
        assert.match(out, /^defaultBranch: main$/m);
        assert.equal(existsSync(join(top, 'drover.yaml')), false);
        assert.equal(git(top, 'status', '--porcelain'), '');
    });

    it('never overwrites a file without --force, and checks the one that is there', async () => {
        const top = tree('kept', FILES);
        const { env } = makeHome();
        const mine = `url: ${top}\nagent: {command: [./mine.sh]}\n`;
        writeFileSync(join(top, 'drover.yaml'), mine);
        const kept = await init(top, env);
        assert.equal(kept.code, DONE, kept.err);
        assert.match(kept.out, /^Kept .*drover\.yaml as it is \(--force writes it anew\)$/m);
        assert.equal(fileOf(top), mine);
        writeFileSync(join(top, 'drover.yaml'), 'agent: {adapter: cluade}\n');
        const wrong = await init(top, env);
        assert.equal(wrong.code, REFUSED);
        assert.match(wrong.err, /drover\.yaml:1:9: agent\.adapter: "cluade" is not known/);
        assert.equal((await init(top, env, '--force')).code, DONE);
        assert.match(fileOf(top), /use: claude/);
    });

    it('asks on a terminal, and nowhere else', async () => {
        const top = tree('asks', FILES);
        const { env } = makeHome();
        const typed = launchOnTerminal(['init'], { ...nowhere, ...env }, { cwd: top });
        await until('the question', () => typed.result.out.includes('[Y/n]'));
        typed.child.stdin.write('n\n');
        const { code, out } = await typed.ended;
        assert.equal(code, DONE);
        assert.match(out, /Nothing was written/);
        assert.equal(existsSync(join(top, 'drover.yaml')), false);
        // A pipe that nobody writes to and nobody closes.
        const silent = launch(['init'], { ...nowhere, ...env }, 'pipe', top);
        assert.equal((await silent.ended).code, DONE);
        assert.ok(existsSync(join(top, 'drover.yaml')));
        const yes = launchOnTerminal(['init', '--force', '--yes'], { ...nowhere, ...env },
            { cwd: top });
        const said = await yes.ended;
        assert.equal(said.code, DONE, said.out);
        assert.doesNotMatch(said.out, /\[Y\/n\]/);
    });

    it('takes the agent that is logged in, or the one that was asked for', async () => {
        const top = tree('agents', FILES);
        const { env } = makeHome({ claude: CLAUDE, codex: '#!/bin/sh\n' }, ['.codex/auth.json']);
        const found = await init(top, env, '--dry-run');
        assert.match(found.out, /^Agent +codex \(.*bin\/codex; logs in with .*codex\/auth\.json/m);
        assert.match(found.out, /^ +not chosen +claude \(.*no login was found\)$/m);
        assert.match(found.out, /^ {2}use: codex$/m);
        const asked = await init(top, env, '--dry-run', '--agent', 'claude');
        assert.match(asked.out, /^ {2}use: claude$/m);
        assert.match(asked.out, /^Mind +No login of Claude Code was found: /m);
        const absent = await init(top, env, '--dry-run', '--agent', 'gemini');
        assert.equal(absent.code, DONE);
        assert.match(absent.out, /^Mind +gemini is not installed: npm install /m);
        const variable = await init(top, { ...makeHome().env, ANTHROPIC_API_KEY: 'sk-secret-1' },
            '--dry-run');
        assert.match(variable.out, /^Mind +\$ANTHROPIC_API_KEY is set here: the server needs it/m);
        assert.doesNotMatch(variable.out, /sk-secret/);
        const wrong = await init(top, env, '--agent', 'cluade');
        assert.equal(wrong.code, USAGE);
        assert.match(wrong.err, /no profile "cluade" \(did you mean claude\?\)/);
    });

    it('shows programs outside of the system directories to the checks', async () => {
        const top = tree('tools', { 'go.mod': 'module x\n' });
        const { home, env } = makeHome();
        mkdirSync(join(home, 'sdk/go/bin'), { recursive: true });
        mkdirSync(join(home, 'sdk/go/pkg'));
        writeFileSync(join(home, 'sdk/go/bin/go'), '#!/bin/sh\n', { mode: 0o755 });
        env.PATH = `${join(home, 'sdk/go/bin')}:${env.PATH}`;
        const { out } = await init(top, env, '--dry-run');
        assert.match(out, new RegExp(`^ {4}- path: ${home}/sdk/go$`, 'm'));
        const without = await init(top, { ...env, PATH: `${home}/bin:/usr/bin:/bin` }, '--dry-run');
        if (!existsSync('/usr/bin/go'))
            assert.match(without.out, /^Mind +go is not installed here, and the check lint calls/m);
    });

    it('keeps the password of an address to itself', async () => {
        const top = tree('secret', FILES);
        git(top, 'remote', 'add', 'origin', 'https://ann:hunter2@git.example.org/acme/x.git');
        const { code, out, err } = await init(top, makeHome().env);
        assert.equal(code, DONE, err);
        assert.match(out, /^Address .*pushed to https:\/\/git\.example\.org\/acme\/x\.git by you/m);
        assert.match(out, /^Name +acme\/x \(from the address of origin\)$/m);
        assert.doesNotMatch(out + fileOf(top), /hunter2/);
    });

    const refusals = [
        ['no checkout', () => {
            const top = join(dir, 'none');
            mkdirSync(top);
            return top;
        }, NOT_FOUND, /is in no git checkout/],
        ['a bare repository', () => makeOrigin(dir, 'bare'), REFUSED,
            /is a bare repository.*\n?.*in a clone of it/],
        ['no commit', () => makeCheckout(join(dir, 'empty'), null), REFUSED,
            /there is no commit yet/],
        ['a detached head', () => {
            const top = makeCheckout(join(dir, 'detached'), FILES, 'trunk');
            git(top, 'checkout', '--quiet', '--detach');
            return top;
        }, NOT_FOUND, /HEAD is detached.*git switch NAME.*--branch NAME/],
        ['a name that is none', () => tree('named', FILES), USAGE, /--name: a repository's name/,
            '--name', 'a b'],
        ['a branch that is none', () => tree('branched', FILES), NOT_FOUND,
            /there is no branch nope/, '--branch', 'nope'],
    ];
    for (const [what, make, status, want, ...args] of refusals) {
        it(`refuses ${what}, and says what to do`, async () => {
            const top = make();
            const { code, err } = await init(top, { ...makeHome().env,
                GIT_CEILING_DIRECTORIES: dir }, ...args);
            assert.equal(code, status, err);
            assert.match(err, want);
            assert.equal(existsSync(join(top, 'drover.yaml')), false);
        });
    }

    it('takes a branch by name where HEAD is detached', async () => {
        const top = makeCheckout(join(dir, 'detached-too'), FILES, 'trunk');
        git(top, 'checkout', '--quiet', '--detach');
        const { code, out } = await init(top, makeHome().env, '--branch', 'trunk');
        assert.equal(code, DONE);
        assert.match(out, /^Branch +trunk \(you said so\)$/m);
    });

    it('names what to install where there is no agent', async () => {
        const top = tree('lonely', FILES);
        const { code, err } = await init(top, { ...makeHome({}, []).env, PATH: '/usr/bin:/bin' });
        assert.equal(code, NOT_FOUND);
        assert.match(err, /no agent that drover knows is installed here/);
        assert.match(err, /^ {2}claude +npm install -g @anthropic-ai\/claude-code$/m);
        assert.equal(existsSync(join(top, 'drover.yaml')), false);
    });
});

describe('the first hour', { concurrency: 1 }, () => {
    let server, home, env, top;
    before(async () => {
        home = makeHome();
        server = await start({ args: ['--workers', '2'], env: home.env });
        env = { ...home.env, DROVER_URL: server.url, DROVER_TOKEN: server.token };
        top = tree('billing', { ...FILES, Makefile: 'test:\n\tsh test.sh\n', 'src/x': '' });
    });
    after(() => server.discard());

    const cli = (cwd, ...args) => launch(args, env, 'ignore', cwd).ended;

    it('ends in the one command to try, and that one in a pull request', async () => {
        const made = await cli(top, 'init');
        assert.equal(made.code, DONE, made.err);
        assert.match(made.out, new RegExp(`^Added +billing at ${server.url}`, 'm'));
        assert.doesNotMatch(made.out, /^Mind/m);
        const last = made.out.trimEnd().split('\n').at(-1);
        assert.match(last, /^Try it +drover submit --watch "/);
        const { code, out, err } = await cli(join(top, 'src'), 'submit', '--watch',
            'Make the answer right.');
        assert.equal(code, DONE, out + err);
        assert.match(out, /test passed/);
        const [pull] = await server.pullRequests('billing');
        assert.equal(git(top, 'show', `${refs(top)['refs/pull/1/head']}:answer.txt`), '42');
        assert.equal(pull.status, 'open');
        // The files here are the person's own.
        assert.equal(readFileSync(join(top, 'answer.txt'), 'utf8'), '41\n');
        assert.equal(git(top, 'status', '--porcelain', '--untracked-files=no'), '');
    });

    it('is the same when it is called again', async () => {
        const again = await cli(top, 'init');
        assert.equal(again.code, DONE, again.err);
        assert.match(again.out, /^Added +already, as billing$/m);
        writeFileSync(join(top, 'drover.yaml'), `${fileOf(top)}timeouts: {verifyMs: 5000}\n`);
        const changed = await cli(top, 'init');
        assert.match(changed.out, /^Added +already, as billing, with another configuration$/m);
        assert.match(changed.out, /^Send this one drover repo set billing --config /m);
        const forced = await cli(top, 'init', '--force');
        assert.equal(forced.code, DONE, forced.err);
        const { config } = await server.get('/v1/repositories/billing');
        assert.equal(config.timeouts, undefined);
    });

    it('asks for another name where the name is taken', async () => {
        const other = tree('elsewhere/billing', FILES);
        const taken = await cli(other, 'init');
        assert.equal(taken.code, REFUSED);
        assert.match(taken.err, /has a repository billing already, at .*: give this one another/);
        assert.equal(existsSync(join(other, 'drover.yaml')), false);
        const named = await cli(other, 'init', '--name', 'ann/billing');
        assert.equal(named.code, DONE, named.err);
        assert.match(named.out, /^Added +ann\/billing at /m);
        const forced = await cli(other, 'init', '--force');
        assert.match(forced.out, /^Name +ann\/billing \(the server has it by this name\)$/m);
        assert.match(fileOf(other), /drover repo set ann\/billing --config/);
    });

    it('finds the repository from a linked worktree and from a clone', async () => {
        git(top, 'worktree', 'add', '--quiet', '-b', 'mine', join(dir, 'linked'));
        git(dir, 'clone', '--quiet', top, join(dir, 'cloned'));
        for (const cwd of ['linked', 'cloned']) {
            const { code, out, err } = await cli(join(dir, cwd), 'issue', 'new', '--title', cwd);
            assert.equal(code, DONE, out + err);
        }
        const { out } = await cli(top, 'issue', 'list');
        assert.match(out, /linked/);
        assert.match(out, /cloned/);
    });

    it('says so when no repository or several are meant', async () => {
        const unknown = tree('unknown', FILES);
        const none = await cli(unknown, 'submit', 'do it');
        assert.equal(none.code, USAGE);
        assert.match(none.err, /the server has no repository at .*unknown.*\nAdd it: drover init/);
        const { config } = await server.get('/v1/repositories/billing');
        await server.configure('acme/twin', config);
        const two = await cli(top, 'submit', 'do it');
        assert.equal(two.code, USAGE);
        assert.match(two.err, /2 repositories are this checkout: say which by --repo NAME/);
        assert.match(two.err, /^ {2}acme\/twin {2}.*billing$/m);
        assert.match(two.err, /^ {2}billing {2}.*billing$/m);
        assert.equal((await cli(top, 'submit', '--repo', 'billing', 'do it')).code, DONE);
        const outside = await cli('/', 'submit', 'do it');
        assert.equal(outside.code, USAGE);
        assert.match(outside.err, /--repo NAME is missing, and this is no checkout/);
    });
});
