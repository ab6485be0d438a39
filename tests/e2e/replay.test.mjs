// replay.test.mjs - runs as they were, from their events; and all that is kept of one, as a tar.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { answers, done, says, stays, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { withServer } from './lib/own.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';

const SECRET = 'hunter2-hunter2-hunter2';
const turn = says({ type: 'turn', inputTokens: 10, outputTokens: 1, costUsd: 0.25, model: 'm-1' });
const called = (status) =>
    says({ type: 'tool', name: 'bash', toolCallId: 't1', status, summary: 'ls' });
const sh = (agent) => ({ command: ['/bin/sh', '-c', agent], adapter: 'ndjson' });

// Wrong at first, with tools and costs.
const learns = `${turn}${called('started')}${called('completed')}
if [ "$DROVER_ATTEMPT" = 1 ]; then ${answers(43)} else ${answers(42)} fi
echo "the password is $PASSWORD"
${turn}${done('learned')}`;

describe('a run that is over', () => {
    let server, runId, run, events;

    before(async () => {
        server = await start({ env: { PASSWORD: SECRET } });
        const repo = await server.repository('acme/replayed', learns,
            { agent: { ...sh(learns), env: ['PASSWORD', `OTHER=${SECRET}`] } });
        const task = await server.submit(repo.name, { description: 'Make the answer right.' });
        runId = task.runId;
        await server.untilTask(task.taskId, 'completed');
        run = await server.run(runId);
        events = (await server.events(runId)).filter((event) => event.runid === runId);
    });
    after(() => server.discard());

    it('folds to its row', async () => {
        const now = await server.get(`/v1/runs/${runId}/replay`);
        assert.equal(now.differs, null);
        for (const member of ['status', 'attempt', 'branch', 'baseCommit', 'promptSha256',
            'patchSha256', 'certificateSha256', 'turns', 'costUsd', 'queuedAt', 'startedAt',
            'endedAt', 'errorCode', 'model'])
            assert.deepEqual(now[member], run[member], member);
        assert.equal(now.attempt, 2);
        assert.deepEqual([now.turns, now.costUsd], [4, 1]);
        assert.equal(now.pullRequest.id, run.pullRequest.id);
        assert.deepEqual(now.verifications,
            { passed: 1, failed: 1, errored: 0, timedOut: 0, skipped: 0 });
        assert.equal(now.events, events.length);
    });

    it('is shown as it was after each of its events, and at their times', async () => {
        const statuses = new Set();
        let status = 'queued';
        for (const [at, event] of events.entries()) {
            if (event.type === 'agent.run.status.changed') status = event.data.toStatus;
            if (at % 3 && event.type !== 'agent.run.status.changed') continue;
            const then = await server.get(`/v1/runs/${runId}/replay?at=${at + 1}`);
            assert.equal(then.status, status, `after event ${at + 1}`);
            assert.equal(then.events, at + 1);
            assert.equal(then.lastEventId, event.id);
            assert.equal('differs' in then, false);
            statuses.add(then.status);
        }
        for (const seen of ['queued', 'preparing', 'running', 'verifying', 'completed'])
            assert.ok(statuses.has(seen), seen);
        const failed = events.find(({ type }) => type === 'agent.verification.failed');
        const then = await server.get(`/v1/runs/${runId}/replay?at=${failed.time}`);
        assert.equal(then.verifications.failed, 1);
        assert.equal(then.verifications.passed, 0);
        assert.equal(then.pullRequest.id, null);
        assert.equal(then.endedAt, null);
    });

    it('refuses a moment that is none', async () => {
        for (const at of ['yesterday', '0', '-1', '12x', ''])
            assertProblem(await server.call('GET', `/v1/runs/${runId}/replay?at=${at}`), 400,
                { code: 'INVALID_PARAMETER' });
        assertProblem(await server.call('GET', `/v1/runs/${runId}/replay?at=2001-01-01T00:00:00Z`),
            404, { code: 'RUN_NOT_FOUND' });
    });

    it('is shown by drover replay', async () => {
        const shown = await callDrover(server, ['replay', runId, '--at', '1']);
        assert.equal(shown.status, 0, shown.stderr);
        assert.match(shown.stdout, /Status +queued/);
        const json = await callDrover(server, ['replay', 'latest', '--json']);
        assert.equal(JSON.parse(json.stdout).status, 'completed');
        const now = await callDrover(server, ['replay', runId, '--at', '0s', '--json']);
        assert.equal(JSON.parse(now.stdout).status, 'completed');
        const bad = await callDrover(server, ['replay', runId, '--at', 'noon']);
        assert.notEqual(bad.status, 0);
        assert.match(bad.stderr, /at must be a time like/);
    });

    it('is proven by drover doctor --all', async () => {
        const told = await callDrover(server, ['doctor', '--all', '--json']);
        assert.equal(told.status, 0, told.stdout + told.stderr);
        const { checks } = JSON.parse(told.stdout);
        const history = checks.find(({ name }) => name === 'history');
        assert.deepEqual([history.ok, history.lookedAt], [true, 1]);
        const counted = checks.find(({ name }) => name === 'metrics');
        assert.deepEqual([counted.ok, counted.bad], [true, 0], JSON.stringify(counted));
    });

    it('is exported as a tar archive that tar can read', async () => {
        const dir = join(server.dir, 'export');
        mkdirSync(dir);
        const file = join(dir, 'run.tar');
        const told = await callDrover(server, ['export', runId, '--output', file]);
        assert.equal(told.status, 0, told.stderr);
        assert.equal(statSync(file).mode & 0o777, 0o600);
        assert.equal(statSync(file).size % 512, 0);
        const again = await callDrover(server, ['export', runId, '--output', file]);
        assert.equal(again.status, 4, 'a file that is there is not replaced');

        execFileSync('tar', ['-xf', file, '-C', dir]);
        const listed = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trim().split('\n');
        const read = (name) => readFileSync(join(dir, name));
        const manifest = JSON.parse(read('manifest.json'));
        assert.equal(manifest.format, 'drover-run-1');
        assert.deepEqual(listed, [...manifest.members.map(({ name }) => name), 'manifest.json']);
        for (const { name, bytes, sha256 } of manifest.members) {
            assert.equal(read(name).length, bytes, name);
            assert.equal(createHash('sha256').update(read(name)).digest('hex'), sha256, name);
        }
        const lines = (name) => read(name).toString().trim().split('\n').map((l) => JSON.parse(l));
        assert.deepEqual(lines('events.ndjson'), await server.events(runId));
        assert.deepEqual([...new Set(lines('tool_calls.ndjson').map(({ data }) => data.name))],
            ['bash']);
        assert.equal(JSON.parse(read('task.json')).task.id, run.taskId);
        assert.equal(JSON.parse(read('run.json')).baseCommit, run.baseCommit);
        assert.deepEqual(JSON.parse(read('run.json')).pullRequest, run.pullRequest);
        assert.equal(JSON.parse(read('replay.json')).status, 'completed');
        assert.match(JSON.parse(read('versions.json')).drover, /^\d+\.\d+/);
        const kinds = new Set(manifest.members.map(({ kind }) => kind));
        for (const kind of ['prompt', 'patch', 'report', 'certificate', 'agent_log', 'feedback'])
            assert.ok(kinds.has(kind), `${kind} in ${[...kinds]}`);
        const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
        assert.deepEqual(manifest.members.filter(({ kind }) => kind).map(({ sha256 }) => sha256)
            .sort(), items.map(({ sha256 }) => sha256).sort());
        for (const name of listed)
            assert.equal(read(name).includes(SECRET), false, `the secret is in ${name}`);
        const config = JSON.stringify(JSON.parse(read('task.json')).config);
        assert.match(config, /"OTHER"/, 'env has its names');
    });

    it('is exported to standard output too', async () => {
        const told = await callDrover(server, ['export', 'latest', '--output', '-']);
        assert.equal(told.status, 0, told.stderr);
        const names = execFileSync('tar', ['-tf', '-'], { input: told.stdout, encoding: 'utf8' });
        assert.match(names, /events\.ndjson\n/);
    });
});

// A worker is killed with its server amid an attempt: what it had reported counts once.
withServer('a run that a crash has cut in two folds to its row', {}, async (server) => {
    const repo = await server.repository('acme/cut', `${turn}${turn}${turn}${stays(newMark())}`);
    const { taskId, runId } = await server.submit(repo.name);
    await server.untilEvent(runId, 'agent.model.turn.completed', ({ data }) => data.turns === 3);
    const before = await server.get(`/v1/runs/${runId}/replay`);
    assert.equal(before.differs, null);
    assert.equal(before.turns, 3);
    await server.crash();
    await server.startAgain();
    const { differs, turns, events } = await server.get(`/v1/runs/${runId}/replay`);
    assert.equal(differs, null);
    assert.ok(turns >= 3 && events >= before.events);
    const then = await server.get(`/v1/runs/${runId}/replay?at=${before.events}`);
    assert.equal(then.lastEventId, before.lastEventId);
    await server.cancel(taskId);
    await server.untilEnded(taskId);
    assert.equal((await server.get(`/v1/runs/${runId}/replay`)).differs, null);
});

describe('the history under other limits', () => {
    let server, repo;
    const whatif = (config, more = {}) => server.post('/v1/whatif', { config, ...more });

    before(async () => {
        const mark = newMark();
        server = await start({ args: ['--workers', '3'] });
        repo = await server.repository('acme/history', `${turn}${turn}
if [ "$DROVER_ATTEMPT" = 1 ]; then ${waits(mark)} ${answers(43)} else ${answers(42)} fi
${turn}${done()}`);
        const tasks = await Promise.all([1, 2, 3].map(() => server.submit(repo.name,
            { executionMode: 'autonomous_pr', riskLevel: 'low' })));
        for (const { runId } of tasks) await server.untilRun(runId, 'running'); // All at once.
        await Promise.all(tasks.map(({ taskId }) => server.letThrough(mark, taskId)));
    });
    after(() => server.discard());

    it('is the same under the same limits', async () => {
        for (const config of [{}, { limits: {} }, { repositories: { '*': {} } },
            { repositories: { [repo.name]: { limits: { maxTurns: 100 } } } }]) {
            const told = await whatif(config);
            assert.equal(told.runs, 3);
            assert.equal(told.changed, 0, JSON.stringify(told));
            assert.deepEqual(told.items, []);
            assert.deepEqual(told.stopped, {});
            assert.deepEqual(told.saved,
                { usd: 0, workSeconds: 0, askingSeconds: 0, endsSecondsEarlier: 0 });
            assert.equal(told.fidelity.runs, 3);
        }
    });

    it('waits with one slot', async () => {
        const { deferred, items, saved } = await whatif({ limits: { maxActiveRuns: 1 } });
        assert.equal(deferred.runs, 2);
        assert.deepEqual(deferred.reasons, { system_concurrency_limit: 2 });
        assert.ok(deferred.totalSeconds > 0 && saved.endsSecondsEarlier < 0);
        assert.ok(items.every(({ changes }) => changes.includes('deferred')));
        const layer = { repositories: { '*': { limits: { maxActiveRuns: 1 } } } };
        assert.deepEqual((await whatif(layer)).deferred.reasons,
            { repository_concurrency_limit: 2 });
    });

    it('stops runs at a smaller budget, where it was passed', async () => {
        // Attempts of three turns each, 0.25 USD a turn: passed with the sums of the first.
        const told = await whatif({ repositories: { '*': { limits: { maxBudgetUsd: 0.6 } } } });
        assert.equal(told.stopped.max_budget_exceeded.runs, 3);
        assert.ok(told.saved.usd >= 2.25 && told.saved.usd <= 2.5, JSON.stringify(told.saved));
        assert.ok(told.unknown.some(({ what, runs }) => /stopped or denied/.test(what) &&
            runs === 3));
    });

    it('stops runs at fewer attempts', async () => {
        const told = await whatif({ repositories: { '*': { retries: { agentAttempts: 1 } } } });
        assert.equal(told.stopped.retry_budget_exhausted.runs, 3);
        assert.equal(told.saved.usd, 2.25);
    });

    it('asks a person for every patch', async () => {
        const told = await whatif({ repositories: { '*': { policy: { approval: 'always' } } } });
        assert.deepEqual(told.approvals, { more: 3, fewer: 0 });
        assert.ok(told.unknown.some(({ what }) => /how people would have decided/.test(what)));
    });

    it('denies what passes a rate', async () => {
        const told = await whatif({ limits: { tasksPerHourPerUser: 2 } });
        assert.equal(told.denied.runs, 1);
        assert.equal(told.denied.savedUsd, 1.5);
        assert.equal(told.items[0].deniedBy, 'rate_limit_exceeded');
    });

    it('takes a part of the history', async () => {
        const since = new Date(Date.now() + 3600e3).toISOString();
        assert.equal((await whatif({}, { since })).runs, 0);
    });

    it('names what takes no part', async () => {
        const told = await whatif({ limits: { subtaskDepth: 3, maxActiveRuns: 100 },
            repositories: { '*': { limits: { maxOpenPullRequests: 1, maxTurns: 5 }, verify: [] },
                'no/such': { limits: { maxOpenPullRequests: 2 },
                    retries: { agentAttempts: 3 } } } });
        const texts = told.unknown.map(({ what }) => what);
        assert.match(texts[0],
            /not simulated: limits.subtaskDepth, limits.maxOpenPullRequests, verify$/);
        assert.match(texts[1], /not on this server: no\/such$/);
    });

    it('refuses what it does not know', async () => {
        for (const [body, status] of [[{}, 422], [{ config: { limit: {} } }, 422],
            [{ config: { limits: { maxActiveRun: 1 } } }, 422],
            [{ config: { repositories: { '*': { limits: { maxTurns: 'many' } } } } }, 422],
            [{ config: {}, since: 'noon' }, 422]])
            assertProblem(await server.call('POST', '/v1/whatif', { body }), status);
    });

    it('is a table on the command line, from a server configuration', async () => {
        const file = join(server.dir, 'smaller.yaml');
        writeFileSync(file, 'listen: 127.0.0.1:1\nlimits: {maxActiveRuns: 1, connections: 10}\n');
        const told = await callDrover(server, ['whatif', '--config', file]);
        assert.equal(told.status, 0, told.stderr);
        assert.match(told.stdout, /^3 runs were looked at; 2 would have gone otherwise/);
        assert.match(told.stdout, /deferred +2 +by .* on average.*system_concurrency_limit: 2/);
        assert.match(told.stdout, /Not known:/);
        const json = await callDrover(server, ['whatif', '--config', file, '--json']);
        assert.equal(JSON.parse(json.stdout).deferred.runs, 2);
        assert.equal((await callDrover(server, ['whatif'])).status, 2);
        const recent = await callDrover(server, ['whatif', '--config', file, '--since', '1d']);
        assert.match(recent.stdout, /^3 runs were looked at/, recent.stderr);
        writeFileSync(file, 'url: /srv/git/a.git\n');
        const nothing = await callDrover(server, ['whatif', '--config', file]);
        assert.equal(nothing.status, 4);
        assert.match(nothing.stderr, /none of limits, defaults and repositories/);
    });
});
