// retention.test.mjs - what is past its time goes, with all that belongs to it; what is needed
// stays.  Days pass by the clock of the machine, which PostgreSQL does not follow: SQLite only.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { callDrover, launch } from './lib/cli.mjs';
import { on } from './lib/database.mjs';
import { fixes, gaveUp, says } from './lib/git.mjs';
import { withServer } from './lib/own.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { skewedBy } from './lib/skew.mjs';
import { until } from './lib/wait.mjs';

const DAY = 24 * 3600;
const retention = (server) => server.get('/v1/retention');
const metric = (text, name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);

// Events that a reader has not had yet stay until the next round, an hour later.
function untilConductorRead(server) {
    return until('the Conductor to have read the log', async (note) =>
        note(await server.get('/v1/consumers/conductor')).lag === 0);
}

// The same server, so many days later; a round has passed when it comes back.  The newest event of
// the log stays, so it is one of no task.
async function later(server, days) {
    await server.configure('acme/newest', { url: '/srv/git/x.git', agent: { command: ['true'] } });
    await untilConductorRead(server);
    await server.stop();
    server.env = { ...server.env, ...skewedBy(days * DAY) };
    await server.start();
    return untilRound(server, days);
}

// A round that began that late has ended.
function untilRound(server, days) {
    const least = Date.now() + (days - 1) * DAY * 1000;
    return until('a round of retention', async (note) => {
        const now = note(await retention(server));
        return now.lastRound && Date.parse(now.lastRound.endedAt) > least ? now : null;
    });
}

const isGone = async (server, path) => (await server.call('GET', path)).status === 404;
const keptFor = ({ kept }, reason) => kept.find((each) => each.reason === reason)?.tasks ?? 0;
const doctorOf = (server) => server.get('/v1/doctor?all=true');

async function assertHealthy(server) {
    const { checks } = await doctorOf(server);
    assert.deepEqual(checks.filter(({ ok }) => !ok), []);
}

async function merge(server, repository) {
    const open = (await server.pullRequests(repository)).filter((pr) => pr.status === 'open');
    for (const pr of open) await server.post(`/v1/pull-requests/${pr.id}/merge`);
}

on('sqlite', describe)('retention', { concurrency: 3 }, () => {
    withServer('deletes tasks with all that is theirs, and keeps what is needed', {},
        async (server) => {
            const shared = await server.upload('shared by two tasks\n');
            const alone = await server.upload('of one task\n');
            const nobody = await server.upload('of no task at all\n');
            const attach = (...hashes) => ({ attachments: hashes.map((sha256, at) =>
                ({ name: `file-${at}`, sha256 })) });
            const [old, repo, bare] = await Promise.all(['old', 'open', 'bare']
                .map((name) => server.repository(`acme/${name}`, fixes)));
            const failing = await server.repository('acme/failing', gaveUp('too hard'));
            const [merged, open, patch, failed] = await Promise.all([
                server.finish(old.name, 'completed', attach(shared, alone)),
                server.finish(repo.name, 'completed', attach(shared)),
                server.finish(bare.name, 'completed', { executionMode: 'patch_only' }),
                server.finish(failing.name, 'failed'),
            ]);
            await merge(server, old.name);
            const all = [merged, open, patch, failed];
            for (const { runId } of all) await server.untilCleaned(runId);
            const say = (id, data) => server.post('/v1/events', { specversion: '1.0', id,
                source: 'urn:test', type: 'com.example.said', data },
            { 'content-type': 'application/cloudevents+json' });
            await say('about-an-issue', { issueId: '7' });
            await say('about-nothing', {});

            const { rules } = await later(server, 89);
            assert.deepEqual([rules.tasksDays, rules.diagnosticsDays, rules.unpublishedDays],
                [90, 14, 0]);
            for (const { runId } of all) await server.run(runId);
            await assertHealthy(server);
            assert.ok(await isGone(server, `/v1/artifacts/${nobody}`), 'nothing names it');
            assert.ok(!(await isGone(server, `/v1/artifacts/${alone}`)));

            const then = await later(server, 95);
            assert.deepEqual([keptFor(then, 'pull_request'), keptFor(then, 'unpublished')], [1, 1]);
            assert.equal(then.expired.tasks, 2);
            for (const { taskId, runId } of [merged, failed]) {
                assert.ok(await isGone(server, `/v1/tasks/${taskId}`));
                assert.ok(await isGone(server, `/v1/runs/${runId}`));
                assert.ok(await isGone(server, `/v1/runs/${runId}/replay`));
                assert.deepEqual(await server.list(`/v1/jobs?runId=${runId}`), []);
            }
            assert.ok(await isGone(server, `/v1/artifacts/${alone}`));
            assert.ok(!(await isGone(server, `/v1/artifacts/${shared}`)), 'another task uses it');
            const log = await server.list('/v1/events?limit=200');
            const ofTasks = log.filter((event) => event.taskid);
            assert.deepEqual([...new Set(ofTasks.map((event) => event.taskid))].sort(),
                [open.taskId, patch.taskId].sort());
            assert.deepEqual(log.filter(({ type }) => type === 'com.example.said')
                .map(({ id }) => id), ['about-an-issue'], 'what is about an issue stays');
            assert.deepEqual((await server.list('/v1/tasks')).map(({ id }) => id).sort(),
                [open.taskId, patch.taskId].sort());
            await server.run(patch.runId);
            await assertHealthy(server);

            const { stdout } = await callDrover(server, ['prune']);
            assert.match(stdout, /1 task past its time: its pull request is open/);
            assert.match(stdout, /its work is published nowhere.*unpublishedDays/);
            assert.match((await callDrover(server, ['retention'])).stdout, /deleted +2 tasks/);
            const { text } = await server.call('GET', '/metrics');
            assert.equal(metric(text, 'drover_retention_expired_total{kind="tasks"}'), 2);
            assert.equal(metric(text, 'drover_retention_kept_tasks{reason="unpublished"}'), 1);
            assert.ok(metric(text, 'drover_retention_given_back_bytes_total') > 0);
            assert.ok(metric(text, 'drover_retention_last_round_timestamp_seconds') > 0);

            await merge(server, repo.name);
            assert.ok(!(await isGone(server, `/v1/tasks/${open.taskId}`)));
            const end = await later(server, 190);
            assert.equal(end.expired.tasks, 3);
            assert.ok(await isGone(server, `/v1/tasks/${open.taskId}`));
            assert.ok(await isGone(server, `/v1/artifacts/${shared}`), 'the last of them is gone');
            const { disk } = await doctorOf(server);
            for (const kind of ['database', 'wal', 'artifacts', 'mirrors'])
                assert.ok(disk.find((each) => each.kind === kind)?.bytes > 0, kind);
            assert.match((await callDrover(server, ['doctor'])).stdout, /disk database/);
            await assertHealthy(server);
        });

    withServer('keeps the sums of diagnostics, and every answer about the run', {},
        async (server) => {
            const turn = says({ type: 'turn', inputTokens: 10, outputTokens: 1, costUsd: 0.25,
                model: 'm-1' });
            const tool = (at, status) => says({ type: 'tool', name: 'bash', toolCallId: `t${at}`,
                status, summary: `ls ${at}` });
            const talks = [1, 2, 3, 4, 5]
                .map((at) => `${turn}${tool(at, 'started')}${tool(at, 'completed')}`).join('');
            const repo = await server.repository('acme/chatty', talks + fixes);
            const { runId } = await server.finish(repo.name, 'completed');
            await server.untilCleaned(runId);
            const [before, run] = [await server.get(`/v1/runs/${runId}/replay`),
                await server.run(runId)];
            const count = (await server.events(runId)).length;
            const now = await later(server, 15);
            assert.ok(now.expired.diagnostics > 10, JSON.stringify(now));
            const events = await server.events(runId);
            assert.equal(events.length, count - now.expired.diagnostics);
            assert.ok(!events.some(({ type }) => type.startsWith('agent.tool.call.')));
            const after = await server.get(`/v1/runs/${runId}/replay`);
            const facts = ({ eventsRead, fromSequence, snapshots, ...rest }) => rest;
            assert.deepEqual(facts(after), facts(before));
            assert.equal(after.differs, null);
            const { expiredDiagnostics, ...rest } = await server.run(runId);
            assert.deepEqual(rest, run);
            assert.equal(expiredDiagnostics.events, now.expired.diagnostics);
            assert.deepEqual(expiredDiagnostics.tools, { bash: { calls: 5, failed: 0 } });
            assert.ok(expiredDiagnostics.types['agent.model.turn.completed'] > 0);
            assert.equal((await callDrover(server, ['timeline', runId])).status, 0);
            assert.equal((await callDrover(server, ['replay', runId])).status, 0);
            const whatif = await server.post('/v1/whatif', { config: { limits: {
                maxActiveRuns: 1 } } });
            assert.equal(typeof whatif, 'object');
            await assertHealthy(server);
        });

    withServer('keeps events until a sink that is behind has them', {}, async (server) => {
        const path = join(makeDirectory(), 'events.ndjson');
        const lines = () => (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n')
            .slice(0, -1).map((line) => JSON.parse(line));
        await server.ok('PUT', '/v1/sinks/slow', { type: 'file', path, from: 'start' });
        await server.post('/v1/sinks/slow/pause');
        const repo = await server.repository('acme/lagging', gaveUp('no'));
        const { taskId, runId } = await server.finish(repo.name, 'failed');
        await server.untilCleaned(runId);
        const events = await server.events(runId);
        const now = await later(server, 95);
        assert.ok(await isGone(server, `/v1/tasks/${taskId}`));
        assert.deepEqual([now.log.expiredTasks, now.log.slowestReader], [1, 'sink slow']);
        const left = (await server.list('/v1/events?limit=200'))
            .filter((event) => event.taskid === taskId);
        assert.deepEqual(left.map(({ id }) => id), events.map(({ id }) => id));
        assert.match((await callDrover(server, ['prune'])).stdout,
            /events of 1 deleted task.*furthest behind is sink slow/);
        await assertHealthy(server);
        await server.post('/v1/sinks/slow/resume');
        await until('the sink to have all', async () => lines()
            .filter((event) => event.taskid === taskId).length === events.length);
        await later(server, 96);
        assert.equal((await retention(server)).log.expiredTasks, 0);
        assert.ok(!(await server.list('/v1/events?limit=200'))
            .some((event) => event.taskid === taskId));
        await assertHealthy(server);
    });

    it('goes on where it was killed', async () => {
        const COUNT = 250;
        const server = await start({ args: ['--workers', '0'] });
        try {
            const repo = await server.repository('acme/many', fixes,
                { limits: { maxActiveRuns: 1 } });
            const first = await server.submit(repo.name); // Which no worker takes.
            const tasks = await Promise.all(Array.from({ length: COUNT }, async () => {
                const { taskId } = await server.submit(repo.name);
                await server.cancel(taskId);
                return taskId;
            }));
            await server.configure('acme/newest', repo.document);
            await untilConductorRead(server);
            await server.stop();
            server.env = { ...server.env, ...skewedBy(91 * DAY) };
            let kills = 0;
            for (let expired = 0; expired < COUNT && kills < 20; kills++) {
                await server.start();
                await until('some to be gone', async () => {
                    const now = (await retention(server)).expired.tasks ?? 0;
                    if (now === expired && now < COUNT) return false;
                    expired = now;
                    return true;
                });
                await server.crash();
            }
            await server.start();
            const { expired } = await until('all to be gone', async (note) => {
                const now = note(await retention(server));
                return now.expired.tasks === COUNT && now.expired.events > 0 ? now : null;
            });
            await untilRound(server, 91);
            assert.equal(expired.runs, COUNT);
            assert.deepEqual((await server.list('/v1/tasks')).map(({ id }) => id), [first.taskId]);
            const ids = new Set(tasks);
            assert.ok(!(await server.list('/v1/events?limit=200'))
                .some((event) => ids.has(event.taskid)));
            await assertHealthy(server);
        } finally {
            await server.discard();
        }
    });

    it('refuses times that make no sense', async () => {
        for (const [config, word] of [['{days: -1}', 'days'], ['{auditDays: 3}', 'auditDays'],
            ['{diagnosticsDays: soon}', 'diagnosticsDays']]) {
            const dir = makeDirectory();
            const { writeFileSync } = await import('node:fs');
            writeFileSync(join(dir, 'x.yaml'), `retention: ${config}\n`);
            const { code, err } = await launch(['serve', '--config', join(dir, 'x.yaml'),
                '--data', join(dir, 'data')], {}).ended;
            assert.notEqual(code, 0);
            assert.match(err, new RegExp(`x.yaml:1:.*${word}`));
        }
    });
});
