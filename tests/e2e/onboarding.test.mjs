// onboarding.test.mjs - a repository's configuration: what is wrong is told with its line, what
// counts is shown with its origin, and a task keeps what it was given.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch, launchOnTerminal } from './lib/cli.mjs';
import { fixes, makeOrigin, says, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark } from './lib/procs.mjs';
import { Server, makeDirectory, start } from './lib/server.mjs';

const DONE = 0, USAGE = 2, NOT_FOUND = 3, REFUSED = 4;

const BAD = `# Billing.
url: /srv/git/billing.git
agent:
    command: [sh, -c, 'exit 0']
    adapter: cluade
verify:
  - {name: unit, comand: make test, timeoutMs: 0}
limits:
  maxTurns: many
`;
const BAD_LINES = [
    ['5:5', 'agent.adapter',
        '"cluade" is not known; allowed: none, ndjson, claude, codex, gemini, copilot, ' +
            'cursor, opencode, goose, amp, text, acp (did you mean claude?)'],
    ['7:5', 'verify[0].command', 'is required'],
    ['7:18', 'verify[0].comand', 'is not known here; did you mean command? allowed: name, ' +
        'command, timeoutSeconds, timeoutMs, parallel, optional, outputs'],
    ['7:37', 'verify[0].timeoutMs', 'must be between 1 and 2592000000, not 0'],
    ['9:3', 'limits.maxTurns', 'must be an integer, not a string'],
];

describe('a configuration file is checked without a server', { concurrency: 4 }, () => {
    let dir, files = 0;
    before(() => (dir = makeDirectory()));

    const check = async (text, ...more) => {
        const file = join(dir, `${files++}.yaml`);
        writeFileSync(file, text);
        const { code, out, err } = await launch(['repo', 'check', file, ...more]).ended;
        return { code, out, err: err.replaceAll(file, 'FILE') };
    };

    it('a good one, with its url in the file or beside it', async () => {
        const agent = 'agent: {command: [./agent.sh]}\n';
        assert.equal((await check(`url: /srv/x.git\n${agent}`)).code, DONE);
        assert.equal((await check(agent, '--url', '/srv/x.git')).code, DONE);
        const { code, err } = await check(agent);
        assert.equal(code, REFUSED);
        assert.match(err, /^FILE:1:1: url: is required$/m);
    });

    it('a good one that does less than it seems to is warned of', async () => {
        const asks = (adapter) => check(`url: /srv/x.git
agent: {command: [./agent.sh], adapter: ${adapter}, permissions: ask, elicitation: ask}
policy: {allowTools: [read]}
`);
        const { code, out } = await asks('claude');
        assert.equal(code, DONE);
        assert.match(out, /^warning: agent\.permissions: ask has no effect/m);
        assert.doesNotMatch((await asks('acp')).out, /warning/);
        assert.match((await check(`url: /srv/x.git
agent: {command: [./agent.sh], adapter: acp}
policy: {allowTools: [read]}
`)).out, /^warning: policy\.allowTools has no effect/m);
    });

    it('over the defaults of a server, whose configuration is at hand', async () => {
        const file = join(dir, 'server.yaml');
        writeFileSync(file, 'defaults: {agent: {command: [./agent.sh]}}\n');
        assert.equal((await check('url: /x\n', '--defaults', file)).code, DONE);
        assert.match((await check('url: /x\n')).err, /^FILE:1:1: agent: is required$/m);
    });

    it('all errors are told with line, column and what is allowed', async () => {
        const { code, err } = await check(BAD);
        assert.equal(code, REFUSED);
        const want = BAD_LINES.map(([at, path, text]) => `FILE:${at}: ${path}: ${text}`);
        assert.deepEqual(err.trimEnd().split('\n'), [...want, 'drover: FILE has 5 errors']);
    });

    it('on a terminal the line is shown with a mark', async () => {
        const file = join(dir, 'shown.yaml');
        writeFileSync(file, BAD);
        const { out } = await launchOnTerminal(['repo', 'check', file], {}).ended;
        assert.match(out, /5 \|     adapter: cluade\r?\n +\|     \^/);
    });

    it('what has no meaning is found too', async () => {
        const base = 'url: /x\nagent: {command: [x]}\n';
        for (const [text, want] of [
            ['verify:\n- {name: a, command: x}\n- {name: a, command: x}\n',
                /^FILE:5:4: verify\[1\]/],
            ['sequence: [verify, agent]\n', /^FILE:3:1: sequence: /],
            ['defaultBranch: a..b\n', /^FILE:3:1: defaultBranch: /],
        ]) {
            const { code, err } = await check(base + text);
            assert.equal(code, REFUSED);
            assert.match(err, want);
        }
    });

    it('a text that is no YAML, JSON, or mapping', async () => {
        for (const [text, want, status] of [
            ['a: 1\nb: [1,\nc: }\n', /^FILE:3:4: /, USAGE],
            ['a: 1\na: 2\n', /^FILE:2:1: the key is there twice/, USAGE],
            ['{"url": "/x",\n "agent": {"command": ["x"]},\n "limits": 1}',
                /^FILE:3:2: limits: must be an object/, REFUSED],
            ['- 1\n', /a mapping is expected/, USAGE],
            ['', /line 1|FILE:1/, USAGE],
        ]) {
            const { code, err } = await check(text);
            assert.equal(code, status, err);
            assert.match(err, want);
        }
        assert.equal((await launch(['repo', 'check', join(dir, 'none.yaml')]).ended).code, USAGE);
    });

    it('huge and deep documents end soon, with as much as a person reads', async () => {
        const many = (count, line) => Array.from({ length: count }, (_, i) => line(i)).join('');
        for (const text of [
            `url: /x\nagent: {command: [x]}\n${many(9000, (i) => `x${i}: 1\n`)}`,
            `url: /x\nagent: {command: [x]}\nverify:\n${many(7000, () => '- {a: 1}\n')}`,
            `url: /x\nagent: {command: [x]}\n${many(20000, (i) => `x${i}: 1\n`)}`,
            `url: /x\nagent: {command: [x]}\nsteps: ${'['.repeat(60)}${']'.repeat(60)}\n`,
            `url: /x\nagent: ${'{a: '.repeat(5000)}1${'}'.repeat(5000)}\n`,
            `url: /x\nagent: {command: ["${'x'.repeat(100000)}"]}\n`,
            `${'k'.repeat(1000)}: 1\n`,
        ]) {
            const { code, err } = await check(text);
            assert.ok([USAGE, REFUSED].includes(code), err.slice(0, 1000));
            assert.ok(err.split('\n').length <= 25 && err.length < 40000, err.slice(0, 1000));
        }
    });

    it('schemas are printed by name', async () => {
        const { code, out } = await launch(['schema', 'repository']).ended;
        assert.equal(code, DONE);
        assert.equal(JSON.parse(out).title, 'Repository configuration');
        assert.match((await launch(['schema']).ended).out, /^repository$/m);
        assert.equal((await launch(['schema', 'nothing']).ended).code, NOT_FOUND);
    });

    it('defaults of a server are checked when it starts', async () => {
        for (const [text, want] of [
            ['defaults:\n  agent:\n    adapter: cluade\n',
                /drover\.yaml:3:5: .*did you mean claude/],
            ['defaults: {url: /srv/x.git}\n', /belongs to each repository/],
            ['defaults:\n  sequence: [verify, agent]\n', /drover\.yaml:2:3: /],
            ['defaults: {verify: [{name: a}]}\n', /verify\[0\]\.command/],
        ]) {
            const broken = new Server({ config: text });
            await assert.rejects(broken.start(), /ended/);
            assert.match(broken.said(), want);
        }
    });
});

describe('the configuration that counts', { concurrency: 4 }, () => {
    let server;
    const DEFAULTS = {
        agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson', model: 'small' },
        limits: { maxActiveRuns: 1, maxTurns: 77 },
        verify: [{ name: 'unit', command: 'sh test.sh' }],
        timeouts: { verifyMs: 50000 },
    };
    before(async () => {
        server = await start({ config: JSON.stringify({ defaults: DEFAULTS, workers: 4 }) });
    });
    after(() => server.discard());

    const at = (name) => `/v1/repositories/${encodeURIComponent(name)}`;
    const origin = (name) => makeOrigin(server.dir, name.replaceAll('/', '-'));
    const cli = (...args) => launch(args,
        { DROVER_URL: server.url, DROVER_TOKEN: server.token }).ended;
    const configOf = (taskId) => server.get(`/v1/tasks/${taskId}/config`);

    it('a body in YAML is refused with lines, one in JSON with paths', async () => {
        const headers = { 'content-type': 'application/yaml' };
        const yaml = await server.call('PUT', at('acme/bad'), { body: BAD, headers });
        const problem = assertProblem(yaml, 422, { code: 'INVALID_CONFIGURATION' });
        const told = problem.errors.map((e) => [`${e.line}:${e.column}`, e.path, e.message]);
        const verify = BAD_LINES.slice().sort(), sorted = told.slice().sort();
        assert.deepEqual(sorted, verify);
        const body = { url: '/x', agent: { adapter: 'cluade' }, verfy: [] };
        const json = assertProblem(await server.call('PUT', at('acme/bad'), { body }), 422,
            { code: 'INVALID_CONFIGURATION' });
        assert.deepEqual(json.errors.map((e) => e.path).sort(), ['agent.adapter', 'verfy']);
        assert.ok(json.errors.every((e) => !('line' in e)));
        const broken = await server.call('PUT', at('acme/bad'), { body: 'a: 1\nb: [\n', headers });
        assert.equal(assertProblem(broken, 400, { code: 'INVALID_YAML' }).errors[0].line, 3);
        const wrong = { url: '/x', sequence: ['verify', 'agent'] };
        assertProblem(await server.call('PUT', at('acme/bad'), { body: wrong }), 422,
            { code: 'INVALID_STEP_SEQUENCE' });
        assertProblem(await server.call('GET', at('acme/bad')), 404);
    });

    it('more values than anybody writes are refused before they are looked at', async () => {
        const body = Object.fromEntries(Array.from({ length: 20000 }, (_, i) => [`k${i}`, 1]));
        assertProblem(await server.call('PUT', at('acme/bad'), { body }), 400,
            { code: 'MALFORMED_CONFIG' });
        const headers = { 'content-type': 'application/yaml' };
        const yaml = { body: JSON.stringify(body), headers };
        assertProblem(await server.call('PUT', at('acme/bad'), yaml), 400,
            { code: 'INVALID_YAML' });
    });

    it('the command line tells what the server finds with the lines of the file', async () => {
        const file = join(server.dir, 'twice.yaml');
        writeFileSync(file, 'verify:\n- {name: a, command: x}\n- {name: a, command: x}\n');
        const { code, err } = await cli('repo', 'add', 'acme/cli', '--url', '/x', '--config', file);
        assert.equal(code, REFUSED);
        assert.match(err, /twice\.yaml:3:4: verify\[1\]\.name: name a is there twice/);
        writeFileSync(file, BAD);
        assert.match((await cli('repo', 'add', 'acme/cli', '--config', file)).err,
            /twice\.yaml:5:5: agent\.adapter: "cluade"/);
    });

    it('every value has an origin', async () => {
        const document = { url: origin('acme/origin'), agent: { adapter: 'none', model: null },
            limits: { maxTurns: 5 } };
        await server.configure('acme/origin', document);
        const plain = await server.get(at('acme/origin'));
        assert.deepEqual(plain.config, document);
        assert.ok(!('effective' in plain));
        const { config, effective, origins } =
            await server.get(`${at('acme/origin')}?effective=true`);
        assert.deepEqual(config, document);
        assert.equal(effective.limits.maxTurns, 5);
        assert.equal(effective.limits.maxActiveRuns, 1);
        assert.equal(effective.timeouts.agentMs, 3600000);
        assert.equal(effective.timeouts.verifyMs, 50000);
        assert.ok(!('model' in effective.agent), 'null takes away what the platform says');
        for (const [path, from] of [['url', 'repository'], ['agent.adapter', 'repository'],
            ['agent.command', 'platform'], ['limits.maxTurns', 'repository'],
            ['verify', 'platform'], ['limits.maxActiveRuns', 'platform'],
            ['timeouts.agentMs', 'default']])
            assert.equal(origins[path], from, path);
        const { out } = await cli('repo', 'show', 'acme/origin');
        assert.match(out, /^limits\.maxTurns +5 +repository$/m);
        assert.match(out, /^limits\.maxActiveRuns +1 +platform$/m);
        assert.match(out, /^timeouts\.agentMs +3600000 +default$/m);
        const json = JSON.parse((await cli('repo', 'show', 'acme/origin', '--json')).out);
        assert.deepEqual([json.config, json.effective, json.origins], [config, effective, origins]);
        assertProblem(await server.call('GET', `${at('acme/origin')}?effective=yes`), 400);
    });

    it('a repository without an agent of its own takes that of the platform', async () => {
        await server.configure('acme/bare', { url: origin('acme/bare') });
        const { taskId, run } = await server.finish('acme/bare', 'completed');
        assert.equal(run.status, 'completed');
        const { config } = await configOf(taskId);
        assert.deepEqual(config, { ...DEFAULTS, url: config.url });
        const [{ id }] = await server.pullRequests('acme/bare');
        await server.post(`/v1/pull-requests/${id}/merge`);
        assert.deepEqual((await server.get('/v1/issues?repository=acme%2Fbare')).items, []);
    });

    it('limits of the platform count for admission', async () => {
        const mark = newMark();
        const agent = { command: ['/bin/sh', '-c', waits(mark) + fixes] };
        await server.configure('acme/limit', { url: origin('acme/limit'), agent });
        const first = await server.submit('acme/limit');
        await server.untilGate(mark);
        const second = await server.submit('acme/limit');
        await server.untilTask(second.taskId, 'deferred');
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
        await server.openGate(mark);
        await server.untilTask(second.taskId, 'completed');
    });

    it('a task keeps what it was given, and a retry takes what is there now', async () => {
        const mark = newMark();
        const url = origin('acme/keeps');
        const slow = { command: ['/bin/sh', '-c', `${waits(mark)}exit 3\n`] };
        await server.configure('acme/keeps',
            { url, agent: slow, limits: { maxTurns: 11 }, retries: { agentAttempts: 1 } });
        const { taskId } = await server.submit('acme/keeps',
            { overrides: { agent: { model: 'large' }, timeouts: { agentMs: 600000 } } });
        await server.untilGate(mark);
        await server.configure('acme/keeps', { url, limits: { maxTurns: 22 } });
        const before = await configOf(taskId);
        assert.equal(before.config.limits.maxTurns, 11);
        assert.equal(before.effective.agent.model, 'large');
        assert.equal(before.origins['agent.model'], 'task');
        assert.equal(before.origins['limits.maxTurns'], 'snapshot');
        assert.equal(before.origins['timeouts.runMs'], 'default');
        assert.deepEqual(before.overrides.timeouts, { agentMs: 600000 });
        assert.match((await cli('task', taskId, '--config')).out, /^agent\.model +large +task$/m);
        const told = await cli('submit', '--repo', 'acme/keeps', '--override',
            'timeouts.agentMs=5', '--override', 'agent.modl=x', 'text');
        assert.equal(told.code, REFUSED);
        assert.match(told.err, /overrides\.agent\.modl: is not known here; did you mean model\?/);
        await server.openGate(mark);
        await server.untilTask(taskId, 'failed');
        await server.post(`/v1/tasks/${taskId}/retry`);
        const after = await configOf(taskId);
        assert.equal(after.config.limits.maxTurns, 22);
        assert.equal(after.config.agent.model, 'large', 'overrides belong to the task');
        await server.untilTask(taskId, 'completed');
    });

    it('a retry takes the limits of now, and keeps those that the task asked for', async () => {
        const url = origin('acme/limits');
        const turns = says({ type: 'turn' }).repeat(4);
        const agent = { command: ['/bin/sh', '-c', turns + fixes] };
        const configure = (limits) => server.configure('acme/limits', { url, agent, limits });
        const limitsOf = async (path) => {
            const { maxTurns, maxBudgetUsd } = await server.get(path);
            return [maxTurns, maxBudgetUsd];
        };
        await configure({ maxTurns: 3, maxBudgetUsd: 1, maxActiveRuns: 2 });
        const plain = await server.submit('acme/limits');
        const asked = await server.submit('acme/limits', { maxTurns: 2 });
        for (const [{ taskId, runId }, want] of [[plain, [3, 1]], [asked, [2, 1]]]) {
            const { errorCode } = await server.untilTask(taskId, 'failed');
            assert.equal(errorCode, 'max_turns_exceeded');
            assert.deepEqual(await limitsOf(`/v1/tasks/${taskId}`), want);
            assert.deepEqual(await limitsOf(`/v1/runs/${runId}`), want);
        }
        await configure({ maxTurns: 50, maxActiveRuns: 2 });
        for (const [{ taskId, runId }, want, before, status] of [
            [plain, [50, null], [3, 1], 'completed'], [asked, [2, null], [2, 1], 'failed']]) {
            const retried = await server.post(`/v1/tasks/${taskId}/retry`);
            assert.deepEqual(await limitsOf(`/v1/tasks/${taskId}`), want);
            assert.deepEqual(await limitsOf(`/v1/runs/${retried.runId}`), want);
            assert.deepEqual(await limitsOf(`/v1/runs/${runId}`), before, 'the earlier run');
            await server.untilTask(taskId, status);
        }
        const { items } = await server.get('/v1/tasks?repository=acme%2Flimits');
        assert.deepEqual(items.map((task) => task.maxTurns), [2, 50]);
    });

    it('a task may not override what runs, where it reaches or who is asked', async () => {
        await server.configure('acme/over', { url: origin('acme/over') });
        for (const [overrides, path] of [
            [{ agent: { command: ['sh'] } }, 'overrides.agent.command'],
            [{ agent: { network: true } }, 'overrides.agent.network'],
            [{ agent: { mounts: [] } }, 'overrides.agent.mounts'],
            [{ verify: [] }, 'overrides.verify'],
            [{ policy: { approval: 'never' } }, 'overrides.policy'],
            [{ limits: { maxTurns: 501 } }, 'overrides.limits.maxTurns'],
            [{ timeouts: { agentMs: '1h' } }, 'overrides.timeouts.agentMs'],
        ]) {
            const body = { repository: 'acme/over', description: 'x', overrides };
            const problem = assertProblem(await server.call('POST', '/v1/tasks', { body }), 422,
                { code: 'INVALID_FIELD' });
            assert.deepEqual(problem.errors.map((e) => e.path), [path]);
        }
    });

    it('defaults that no longer go with a repository are told when the server starts', async () => {
        const own = await start({ args: ['--workers', '0'], config: 'defaults: {}\n' });
        const url = origin('acme/conflict');
        await own.configure('acme/conflict', { url, agent: { command: ['true'] } });
        await own.stop();
        writeFileSync(join(own.dir, 'drover.yaml'), 'defaults: {agent: {compute: pull}}\n');
        await own.start();
        assert.match(own.said(), /the defaults do not go with a repository.*acme\/conflict/);
        const body = { repository: 'acme/conflict', description: 'x' };
        assertProblem(await own.call('POST', '/v1/tasks', { body }), 422,
            { code: 'CONFIGURATION_CONFLICT', field: 'agent.command' });
        await own.discard();
    });

    it('the schemas are served', async () => {
        const { items } = await server.get('/v1/schemas');
        assert.ok(items.some((item) => item.url === '/v1/schemas/repository'));
        const res = await server.call('GET', '/v1/schemas/repository');
        assert.match(res.headers['content-type'], /^application\/schema\+json/);
        const file = new URL('../../schemas/repository.json', import.meta.url);
        assert.equal(res.text, readFileSync(file, 'utf8'));
        assertProblem(await server.call('GET', '/v1/schemas/nothing'), 404);
    });
});
