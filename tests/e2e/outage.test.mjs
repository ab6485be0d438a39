// outage.test.mjs - PostgreSQL is stopped and started again: whoever asks is told to come back, who
// works goes on working, and nothing is lost or done twice.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { makeCluster } from './lib/cluster.mjs';
import { makeDatabase } from './lib/database.mjs';
import { branches, fixes, git, says, waits } from './lib/git.mjs';
import { assertProblem, request } from './lib/http.mjs';
import { assertNoneTwice } from './lib/once.mjs';
import { newMark, processesWith, sleepers, untilAsleep, untilGone } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { BIN, discardAll, makeDirectory, plainEnv, Server } from './lib/server.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

const LEASE_MS = 5000;
const HEARTBEAT_MS = 3500; // After an outage the timers have looked before workers are heard.
const config = (workers) =>
    `workers: ${workers}\nlease: {leaseMs: ${LEASE_MS}, heartbeatMs: ${HEARTBEAT_MS}}\n`;

// Tests that stop PostgreSQL one after the other; it is their own.
function withCluster(name, declare) {
    describe(name, { concurrency: 1 }, () => {
        let cluster;
        before(() => (cluster = makeCluster()));
        after(() => cluster.remove());
        declare(() => cluster);
    });
}

// Two nodes, of which the first has workers of its own and the second a remote one.
async function withNodes(cluster, body, workers = 2) {
    const db = makeDatabase(cluster.url);
    const nodes = [workers, 0].map((count) => new Server({ config: config(count), db }));
    let worker;
    try {
        for (const node of nodes) await node.start();
        worker = await new RemoteWorker(nodes[1], { name: 'far' }).start();
        await body(...nodes, worker);
        await worker.stop();
        await discardAll(nodes);
    } finally {
        worker?.signal('SIGKILL');
        for (const node of nodes) node.killNow();
    }
}

// The gate that an agent stands at, at home or far away.
const openSomeGate = (home, worker, mark) => until(`somebody at gate ${mark}`, async () => {
    if (worker.gate(mark)) await worker.openGate(mark);
    else home.tryGate(mark);
    return processesWith(mark).length === 0;
});

const untilBack = (node) => until('the node to be ready again', async (note) =>
    note(await node.call('GET', '/readyz')).status === 200);

// Stops PostgreSQL for longer than a lease lasts.
async function outage(cluster, mode, during) {
    await cluster.stop(mode);
    const began = Date.now();
    try {
        await during();
        await sleep(Math.max(0, LEASE_MS + 500 - (Date.now() - began)));
    } finally {
        await cluster.start();
    }
}

// All that a client may ask for, while the store is away.
async function assertTurnedAway(node, { taskId, runId }, repo) {
    const asks = [
        ['GET', '/v1/tasks'], ['GET', `/v1/runs/${runId}`], ['GET', '/v1/events'],
        ['GET', `/v1/runs/${runId}/stream`], ['GET', '/v1/doctor'], ['GET', '/v1/queues'],
        ['POST', '/v1/tasks', { repository: repo.name, description: 'later' }],
        ['POST', `/v1/tasks/${taskId}/cancel`, {}],
        ['POST', '/v1/jobs', { jobs: [{ queue: 'q', type: 'x' }] }],
        ['POST', '/v1/jobs/lease', { queues: ['q'], worker: 'w', max: 1, waitMs: 5000 }],
        ['GET', `/v1/artifacts/${'0'.repeat(64)}`],
        ['PUT', `/v1/repositories/${encodeURIComponent('acme/new')}`, repo.document],
        ['POST', '/v1/tokens', { name: 'new', role: 'viewer' }],
        ['GET', '/readyz'],
    ];
    const answers = await Promise.all(asks.map(async ([method, path, body]) => {
        const res = await node.call(method, path, { body });
        return { what: `${method} ${path}`, res };
    }));
    for (const { what, res } of answers) {
        assert.equal(res.status, 503, `${what}: ${res.text}`);
        assertProblem(res, 503);
        assert.match(res.json.code, /^STORE_/, what);
        assert.ok(Number(res.headers['retry-after']) > 0, `${what}: Retry-After`);
        assert.ok(!res.text.includes('password'), 'no secrets');
    }
    assert.equal((await node.call('GET', '/healthz')).status, 200);
    assert.equal((await node.call('GET', '/v1/version')).status, 200);
    const metrics = await node.call('GET', '/metrics');
    assert.equal(metrics.status, 200);
    assert.match(metrics.text, /^drover_store_up 0$/m);
    assert.match(metrics.text, /^drover_committer_parked \d+$/m);
}

async function assertDoneOnce(node, repo, tasks) {
    const prs = await node.pullRequests(repo.name);
    for (const { taskId, runId } of tasks) {
        const run = await node.run(runId);
        assert.equal(run.status, 'completed');
        assert.equal(run.attempt, 1);
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
        assert.equal(prs.filter((pr) => pr.taskId === taskId).length, 1);
        const events = await node.events(runId);
        assertHistory(events);
        const types = typesOf(events);
        assert.ok(!types.includes('agent.run.heartbeat.missed'), 'no worker was given up');
        assert.ok(!types.includes('agent.step.failed'), 'no step failed');
        assert.equal(types.filter((type) => type === 'agent.patch.created').length, 1);
    }
    assertNoneTwice([repo], tasks.map((task) => ({ ...task, repo })));
}

describe('while PostgreSQL is away', { concurrency: 2 }, () => {
    withCluster('for a while', (cluster) => {
        for (const mode of ['fast', 'immediate']) {
            it(`agents go on and nothing is lost (stopped: ${mode})`, () =>
                withNodes(cluster(), async (home, far, worker) => {
                    const marks = [newMark(), newMark()];
                    // Agents of the first go on after the outage, of the second they end during it.
                    const repos = [];
                    const goesOn = says({ type: 'message', text: 'on' }) + fixes;
                    for (const [i, mark] of marks.entries())
                        repos.push(await home.repository(`acme/away-${i}`,
                            `sleep 3000.${mark} & ${waits(mark)}kill %1\n${goesOn}`));
                    const tasks = [];
                    for (const repo of repos)
                        for (const server of [home, far])
                            tasks.push({ ...await server.submit(repo.name), repo });
                    for (const mark of marks)
                        await until('two agents each', (note) => note(sleepers(mark)).length === 2);
                    const live = await far.stream('/v1/events/stream', { lastEventId: 0 });
                    const before = sleepers(marks[0]);
                    await outage(cluster(), mode, async () => {
                        await Promise.all([home, far].map(
                            (node) => assertTurnedAway(node, tasks[0], repos[0])));
                        await openSomeGate(home, worker, marks[1]); // They end with nobody to tell.
                    });
                    assert.deepEqual(sleepers(marks[0]), before, 'the same processes');
                    await Promise.all([home, far].map(untilBack));
                    await openSomeGate(home, worker, marks[0]);
                    for (const { taskId } of tasks) await far.untilTask(taskId, 'completed');
                    for (const repo of repos)
                        await assertDoneOnce(home, repo,
                            tasks.filter((task) => task.repo === repo));
                    // The stream that was open all the time has missed nothing.
                    const log = await home.list('/v1/events?limit=200');
                    const told = await live.upTo(log.length);
                    assert.deepEqual(told.map((event) => event.data), log);
                    live.close();
                    for (const node of [home, far]) {
                        assert.match(node.said(), /"the store does not answer/);
                        assert.match(node.said(), /"the store answers again"/);
                        const { text } = await node.call('GET', '/metrics');
                        assert.match(text, /^drover_store_up 1$/m);
                    }
                }));
        }
    });

    withCluster('or comes and goes', (cluster) => {
        const onNodes = (name, body, workers) =>
            it(name, () => withNodes(cluster(), body, workers));

        onNodes('a stream that has to read the log waits', async (home, far, worker) => {
            await worker.stop();
            const repo = await home.repository('acme/slow', fixes);
            const { runId } = await far.submit(repo.name);
            const CALLS = 30, text = 'x'.repeat(15_000);
            const events = Array.from({ length: 50 },
                () => ({ type: 'agent.step.recorded', data: { text } }));
            const say = (job) => far.post('/v1/jobs/progress', { jobs: [{ ...job, events }] });
            const slow = await far.stream(`/v1/runs/${runId}/stream`);
            await slow.next();
            slow.pause(); // More than the buffers between us hold, so that the server has to read.
            const { jobs: [{ id, epoch }] } = await until('a job', async () => {
                const answer = await far.post('/v1/jobs/lease', { queues: ['drover.prepare'],
                    worker: 'hand', max: 1, waitMs: 1000, leaseMs: 60_000 });
                return answer.jobs.length > 0 && answer;
            });
            for (let i = 0; i < CALLS; i++) await say({ id, epoch });
            const seen = slow.queue.length + 1;
            await cluster().stop();
            try {
                slow.resume();
                await until('the stream to come to what it cannot read', async (note) => {
                    const before = note(slow.queue.length);
                    await sleep(300);
                    return before > 0 && slow.queue.length === before;
                });
                assert.ok(slow.queue.length + seen < CALLS * 50, 'not all was in the buffers');
            } finally {
                await cluster().start();
            }
            assert.ok(!slow.closed);
            await Promise.all([home, far].map(untilBack));
            const log = await home.events(runId);
            const rest = await slow.upTo(log.length - 1);
            assert.deepEqual(rest.map((event) => event.data.id),
                log.slice(1).map((event) => event.id));
            slow.close();
            await home.post(`/v1/tasks/${log[0].taskid}/cancel`);
        }, 0);

        onNodes('a restart in a moment is hardly noticed', async (home, far) => {
            const repo = await home.repository('acme/short', `sleep 0.3\n${fixes}`,
                { limits: { maxActiveRuns: 4 } });
            const tasks = [];
            for (let i = 0; i < 6; i++) tasks.push(await [home, far][i % 2].submit(repo.name));
            for (const mode of ['fast', 'immediate']) {
                await sleep(300);
                await cluster().restart(mode);
            }
            await Promise.all([home, far].map(untilBack));
            for (const { taskId } of tasks)
                await until('the task to complete', async (note) => {
                    const res = await home.call('GET', `/v1/tasks/${taskId}`);
                    assert.ok([200, 503].includes(res.status), res.text);
                    assert.ok(!['failed', 'timed_out'].includes(res.json.status), res.text);
                    return note(res.json).status === 'completed';
                });
            await assertDoneOnce(far, repo, tasks);
        });

        it('a node says why it does not start, and one that runs can be stopped', async () => {
            const db = makeDatabase(cluster().url);
            const node = new Server({ config: config(1), db });
            await node.start();
            await cluster().stop();
            try {
                const dir = makeDirectory();
                const { status, signal, stdout, stderr } = spawnSync(BIN,
                    ['serve', '--listen', '127.0.0.1:0', '--data', `${dir}/data`, '--db', db],
                    { encoding: 'utf8', env: plainEnv(), timeout: PATIENCE_MS });
                assert.equal(signal, null, 'it ended by itself');
                assert.equal(status, 5, 'unreachable');
                assert.match(stdout + stderr, /PostgreSQL does not answer/);
                assert.match(stdout + stderr, /STORE_UNREACHABLE/);
                assert.doesNotMatch(stdout + stderr, /drover serve|goes on trying/);
                await until('the node to notice', async () =>
                    (await request(`${node.url}/readyz`)).status === 503);
                // A worker waits for it.
                const worker = new RemoteWorker(node, { name: 'early' }).spawn();
                await worker.untilSaid(/trying again/);
                assert.deepEqual(await worker.stop(), { code: 0, signal: null });
                const how = await within(PATIENCE_MS, 'the end', node.stop());
                assert.deepEqual(how, { code: 0, signal: null }, node.logTail());
                await untilGone(node.dir);
            } finally {
                await cluster().start();
            }
        });

        onNodes('agents that were running when their node was stopped start again after it',
            async (home, far, worker) => {
                await worker.stop();
                const mark = newMark();
                const repo = await home.repository('acme/stop',
                    `sleep 3000.${mark} & ${waits(mark)}kill %1\n${fixes}`);
                const task = await home.submit(repo.name);
                await untilAsleep(mark);
                await cluster().stop();
                assert.deepEqual(await home.stop(), { code: 0, signal: null });
                await untilGone(mark);
                await cluster().start();
                await home.startAgain();
                await home.letThrough(mark, task.taskId);
                assert.equal((await far.run(task.runId)).attempt, 1);
                assert.equal(branches(repo.origin).length, 1);
            });
    });
});
