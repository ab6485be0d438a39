// recovery.test.mjs - kill -9 the server at any moment: no task is lost, no PR is opened twice;
// fmea_orchestrator.test.mjs has the states of a task one by one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertHistory } from './lib/cloudevents.mjs';
import { branches, fixes, git, stays, staysWithChildren, waits } from './lib/git.mjs';
import { assertDoneOnce } from './lib/once.mjs';
import { LONG_LEASES, withServer as onServer } from './lib/own.mjs';
import { isAlive, newMark, processesWith, untilGone, untilRunning } from './lib/procs.mjs';
import { BIN, plainEnv } from './lib/server.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

const CRASHES = process.env.DROVER_LONG ? 12 : 4;
const BIRTHS = process.env.DROVER_LONG ? 60 : 8;

const withServer = (name, body) =>
    onServer(name, { config: `workers: 4\n${LONG_LEASES}` }, body);

describe('after kill -9 of the server', { concurrency: 4 }, () => {
    withServer('a verification is done again on the same patch', async (server) => {
        const mark = newMark();
        const verify = [{ name: 'slow', command: `${waits(mark)}sh test.sh` }];
        const repo = await server.repository('acme/verify', fixes, { verify });
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate(mark);
        await server.crash();
        await untilGone(mark);
        await server.start();
        await server.letThrough(mark, taskId);
        const events = await assertDoneOnce(server, { taskId, runId, repo });
        assert.equal(events.filter((e) => e.type === 'agent.patch.created').length, 1);
    });

    withServer('a question and a deferred task still wait', async (server) => {
        const limits = { maxActiveRuns: 1 };
        const repo = await server.repository('acme/ask', fixes, { limits });
        const first = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(first.runId, 'awaiting_approval');
        const second = await server.submit(repo.name);
        await server.untilTask(second.taskId, 'deferred');
        await server.crash();
        await server.start();
        assert.equal((await server.run(first.runId)).status, 'awaiting_approval');
        assert.equal((await server.task(second.taskId)).status, 'deferred');
        const [question] = await server.list('/v1/approvals?status=pending');
        await server.post(`/v1/approvals/${question.id}/approve`);
        for (const { taskId } of [first, second]) await server.untilTask(taskId, 'completed');
    });

    withServer('a cancellation that was under way is carried out', async (server, t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const repo = await server.repository('acme/cancel', staysWithChildren(mark));
        const { taskId } = await server.submit(repo.name);
        await untilRunning(mark, 3);
        await server.post(`/v1/tasks/${taskId}/cancel`, { reason: 'enough' });
        await server.crash();
        await server.start();
        await server.untilTask(taskId, 'cancelled');
        await untilGone(mark);
    });

    withServer('limits of time go on counting', async (server, t) => {
        if (!server.needsWalls(t)) return;
        await withRoom(5000, async (runMs) => {
            const mark = newMark();
            const repo = await server.repository(`acme/limit-${runMs}`, staysWithChildren(mark),
                { timeouts: { runMs } });
            const { taskId } = await server.submit(repo.name);
            await until('the agent or the end', async () => processesWith(mark).length >= 3 ||
                (await server.task(taskId)).status === 'timed_out');
            await server.crash();
            await server.start();
            const events = await server.list(`/v1/events?taskId=${taskId}&limit=200`);
            if (events.some(({ type }) => type === 'agent.task.timed_out'))
                throw new TooSlow('the run was over before the crash');
            await server.untilTask(taskId, 'timed_out');
            await untilGone(mark);
        });
    });

    withServer('no child outlives the restart, killed in whatever moment', async (server, t) => {
        if (!server.needsWalls(t)) return;
        const mark = newMark();
        const repo = await server.repository('acme/birth', stays(mark));
        for (let i = 0; i < BIRTHS; i++) {
            const { taskId } = await server.submit(repo.name);
            await until('a sandbox', () => processesWith(server.dir)
                .some(({ command }) => command.startsWith('bwrap')), PATIENCE_MS, 1);
            await sleep(Math.random() * 6); // Sandboxes are built in some milliseconds.
            await server.crash();
            const left = processesWith(server.dir);
            await server.start();
            await until('the children of the dead server to end', (note) =>
                note(left.filter(({ pid }) => isAlive(pid))).length === 0);
            await server.post(`/v1/tasks/${taskId}/cancel`);
            await server.untilTask(taskId, 'cancelled');
        }
    });

    withServer('every acknowledged task is done once, however often it dies', async (server) => {
        const repos = [];
        for (let i = 0; i < 4; i++) repos.push(await server.repository(`acme/storm-${i}`, fixes));
        const tasks = [];
        for (let i = 0; i < CRASHES; i++) {
            const repo = repos[i % repos.length];
            const ids = await server.submit(repo.name, {}, { 'idempotency-key': `storm-${i}` });
            tasks.push({ ...ids, repo });
            await sleep(Math.random() * 300); // Any moment is a good one to die.
            await server.crash();
            await server.start();
        }
        for (const { taskId } of tasks) await server.untilTask(taskId, 'completed');
        for (const { taskId, runId, repo } of tasks) {
            const prs = (await server.list('/v1/pull-requests?limit=200'))
                .filter((pr) => pr.taskId === taskId);
            assert.equal(prs.length, 1);
            const { branch } = await server.run(runId);
            assert.equal(git(repo.origin, 'show', `${branch}:answer.txt`), '42');
            assertHistory(await server.events(runId));
        }
        for (const repo of repos) {
            const mine = tasks.filter((task) => task.repo === repo).length;
            assert.equal(branches(repo.origin).length, mine);
        }
    });
});

describe('SIGTERM', { concurrency: 3 }, () => {
    const WAIT_MS = 30_000; // Of a lease, whose end it does not wait for.
    withServer('ends all that waits or works, and the run goes on later', async (server) => {
        const mark = newMark();
        const repo = await server.repository('acme/term',
            `trap '' TERM; sleep 3000.${mark} & ${waits(mark)}${fixes}`);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate(mark);
        const stream = await server.stream(`/v1/runs/${runId}/stream`);
        await stream.next();
        const waiting = server.post('/v1/jobs/lease',
            { queues: ['nothing'], worker: 'w', max: 1, waitMs: WAIT_MS, leaseMs: 1000 })
            .catch(() => ({ jobs: [] }));
        const how = await within(WAIT_MS, 'the end', server.stop());
        assert.deepEqual(how, { code: 0, signal: null });
        await stream.all();
        assert.deepEqual((await waiting).jobs, []);
        await untilGone(mark);
        await server.start();
        await server.letThrough(mark, taskId);
        await assertDoneOnce(server, { taskId, runId, repo });
        assert.equal((await server.run(runId)).attempt, 1, 'a stopped server costs no attempt');
    });

    const GRACE_MS = 9000; // What is at work may take so long to end.
    withServer('ends a server that has nothing to do at once', async (server) => {
        const how = await within(GRACE_MS, 'the end', server.stop());
        assert.deepEqual(how, { code: 0, signal: null });
        await server.start();
    });
});

describe('a data directory', { concurrency: 3 }, () => {
    withServer('belongs to one server: a second one is refused', async (server) => {
        const address = ['--listen', '127.0.0.1:0', '--data', server.data];
        for (const more of [[], ['--db', `sqlite:${server.dir}/other.db`]]) {
            const options = { encoding: 'utf8', env: plainEnv(), timeout: PATIENCE_MS };
            const { signal, status, stdout, stderr } =
                spawnSync(BIN, ['serve', ...address, ...more], options);
            assert.equal(signal, null, 'it ended by itself');
            assert.notEqual(status, 0);
            assert.match(stdout + stderr, /already|in use|another|lock/i);
            assert.ok((stdout + stderr).includes(server.data), 'it names the directory');
        }
        assert.equal((await server.call('GET', '/healthz')).status, 200);
        const repo = await server.repository('acme/first', fixes);
        await server.finish(repo.name, 'completed');
    });

    withServer('keeps its token, readable by its owner only, over a restart', async (server) => {
        const file = join(server.data, 'admin.token');
        assert.equal(statSync(file).mode & 0o777, 0o600);
        const before = server.token;
        await server.stop();
        await server.start();
        assert.equal(server.token, before);
        await server.get('/v1/tasks');
    });
});
