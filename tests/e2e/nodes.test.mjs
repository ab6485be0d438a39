// nodes.test.mjs - two servers on one PostgreSQL database: what one does the other knows.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { clusterUrl } from './lib/cluster.mjs';
import { makeDatabase } from './lib/database.mjs';
import { branches, fixes, git, staysWithChildren, waits } from './lib/git.mjs';
import { newMark, sleepers, untilAsleep, untilGone } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { discardAll, Server } from './lib/server.mjs';
import { skewedBy } from './lib/skew.mjs';
import { until } from './lib/wait.mjs';
import { HandWorker, STEPS } from './lib/worker.mjs';

const POSTGRES = clusterUrl();
const TIMERS = /this node runs the timers now/;

// Gives the test two nodes; options of each as a Server has them.  The body may name what the
// doctor must find.
function withNodes(name, [ofA, ofB], body) {
    it(name, async (t) => {
        const db = makeDatabase(POSTGRES);
        const [a, b] = [new Server({ ...ofA, db }), new Server({ ...ofB, db })];
        const workers = [];
        const worker = (server, options) => {
            workers.push(new RemoteWorker(server, options));
            return workers.at(-1);
        };
        try {
            await Promise.all([a.start(), b.start()]); // On an empty database: one makes it.
            const findings = await body({ a, b, worker, t });
            await Promise.all(workers.filter((each) => each.child).map((each) => each.stop()));
            await discardAll([a, b], { findings });
        } finally {
            for (const each of workers) each.signal('SIGKILL');
            for (const node of [a, b]) node.killNow();
        }
    });
}

const config = (workers, { leaseMs = 15_000, heartbeatMs = 500 } = {}) => ({
    config: `workers: ${workers}\nlease: {leaseMs: ${leaseMs}, heartbeatMs: ${heartbeatMs}}\n`,
});
const NO_WORKERS = [config(0), config(0)];
const SHORT = { leaseMs: 3000, heartbeatMs: 300 };
const RARE = { leaseMs: 5000, heartbeatMs: 3500 }; // Others have looked before a heartbeat comes.

// As deepEqual; but what differs in thousands of events is told by the first that does.
function assertSameEvents(events, wanted, what) {
    const at = wanted.findIndex((event, i) => events[i]?.id !== event.id);
    const near = (list) => list.slice(Math.max(0, at - 2), at + 3)
        .map((event) => `${event.type} ${event.runid} ${event.sequence} ${event.id}`);
    assert.ok(at < 0, `${what}: number ${at} of ${wanted.length} is not as in the log:\n` +
        `${near(events).join('\n')}\nlog:\n${near(wanted).join('\n')}`);
    assert.equal(events.length, wanted.length, what);
    for (const [i, event] of events.entries()) assert.deepEqual(event, wanted[i], what);
}

const enqueue = async (server, jobs) => (await server.post('/v1/jobs', { jobs })).jobs;
const lease = async (server, queue, more = {}) => (await server.post('/v1/jobs/lease',
    { queues: [queue], worker: 'hand', max: 1, waitMs: 0, leaseMs: 60_000, ...more })).jobs;

const percentile = (list, p) => [...list].sort((x, y) => x - y)[Math.floor(p * list.length)];

// Which of them runs the timers.
async function holderOf(...servers) {
    return until('a node to run the timers',
        () => servers.find((server) => TIMERS.test(server.said())));
}

// A token that both nodes know: a lease belongs to the token that took it, and admin.token is that
// of one node.
async function sharedToken(both) {
    const { token } = await both[0].post('/v1/tokens', { name: 'hands', role: 'worker' });
    await until('the other node to know the token', async () =>
        (await both[1].call('GET', '/v1/version', { token })).status === 200);
    return token;
}

// Takes what steps there are, from one node, and reports to the other, until isOver(): the agent's
// step with CALLS calls of PER_CALL events, through both.
const RUNS = 6, CALLS = 8, PER_CALL = 20, EVENTS = RUNS * CALLS * PER_CALL;
async function drive(both, token, i, isOver) {
    const hands = both.map((server) => new HandWorker(server, `hand-${i}`, token));
    const queues = STEPS.map((step) => `drover.${step}`);
    const records = (call) => Array.from({ length: PER_CALL },
        (_, k) => ({ type: 'agent.step.recorded', data: { text: `${call}.${k}` } }));
    for (let turn = i; !isOver(); turn++) {
        const [here, there] = [turn % 2, (turn + 1) % 2];
        const { jobs: [job] } = await hands[here].post('/v1/jobs/lease',
            { queues, worker: `hand-${i}`, max: 1, waitMs: 500, leaseMs: 60_000 });
        if (!job) continue;
        const { id, epoch } = job;
        for (let call = 0; job.type === 'agent' && call < CALLS; call++) {
            const body = { jobs: [{ id, epoch, events: records(call) }] };
            const answer = await hands[(turn + call) % 2].post('/v1/jobs/progress', body);
            assert.equal(answer.jobs[0].ok, true);
        }
        assert.equal((await hands[there].complete(job)).ok, true, job.type);
    }
}

describe('two nodes', { concurrency: 4 }, () => {
    withNodes('share the work: one takes it in, the other does it, both know',
        [config(0), config(2)], async ({ a, b }) => {
            const repo = await a.repository('acme/shared', fixes);
            const { taskId, runId } = await a.submit(repo.name);
            const [onA, onB] = await Promise.all([a, b].map(
                (server) => server.untilTask(taskId, 'completed')));
            assert.deepEqual(onA, onB);
            const { node } = await b.get('/v1/version');
            const events = await a.events(runId);
            assertHistory(events);
            assert.deepEqual(events, await b.events(runId));
            for (const event of events)
                if (event.type === 'agent.step.started')
                    assert.equal(event.data.worker.split('/')[0], node);
            const run = await a.run(runId);
            assert.deepEqual(branches(repo.origin), [`refs/heads/${run.branch}`]);
            assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
            // What the workers of B have stored, A gives out.
            const artifacts = await a.list(`/v1/runs/${runId}/artifacts`);
            assert.ok(artifacts.length > 0);
            for (const { sha256, bytes } of artifacts) {
                const [one, two] = await Promise.all([a, b].map(
                    (server) => server.call('GET', `/v1/artifacts/${sha256}`)));
                assert.equal(one.bytes.length, bytes);
                assert.ok(one.bytes.equals(two.bytes));
            }
        });

    withNodes('tell all events on both, in order, none missing and none twice', NO_WORKERS,
        async ({ a, b, t }) => {
            const limits = { maxActiveRuns: RUNS };
            const repo = await a.repository('acme/told', fixes, { limits });
            const both = [a, b];
            const token = await sharedToken(both);
            const all = await Promise.all(both.map(
                (server) => server.stream('/v1/events/stream', { lastEventId: 0 })));
            const runs = await Promise.all(Array.from({ length: RUNS },
                (_, i) => both[i % 2].submit(repo.name)));
            const one = (await b.stream(`/v1/runs/${runs[0].runId}/stream`)).all();
            const began = Date.now();
            let over = false;
            const driven = Promise.all(
                Array.from({ length: RUNS }, (_, i) => drive(both, token, i, () => over)));
            const ended = Promise.all(runs.map(({ taskId }) => a.untilTask(taskId, 'completed')))
                .finally(() => { over = true; });
            await Promise.all([driven, ended]);
            const tookMs = Date.now() - began;
            const log = await a.list('/v1/events?limit=200');
            t.diagnostic(`${log.length} events in ${tookMs} ms`);
            assert.ok(log.length > EVENTS);
            assertSameEvents(await b.list('/v1/events?limit=200'), log, 'the other listing');
            for (const [i, stream] of all.entries()) {
                const events = await stream.upTo(log.length);
                assertSameEvents(events.map((event) => event.data), log, `the stream of ${i}`);
                const ids = events.map((event) => Number(event.id));
                assert.deepEqual(ids, [...new Set(ids)].sort((x, y) => x - y), 'ids grow');
            }
            await sleep(300); // For what must not come.
            for (const stream of all) {
                assert.equal(stream.queue.length, 0);
                stream.close();
            }
            const ofRun = await one;
            assertSameEvents(ofRun.map((event) => event.data), await a.events(runs[0].runId),
                'the stream of a run');
            for (const { runId } of runs) assertHistory(await b.events(runId));
            return ['forge']; // The test's workers claim pull requests that are not there.
        });

    withNodes('hold to one limit together', [config(3), config(3)], async ({ a, b }) => {
        const LIMIT = 3;
        const repo = await a.repository('acme/limit', fixes, { limits: { maxActiveRuns: LIMIT } });
        const runs = await Promise.all(Array.from({ length: 9 },
            (_, i) => [a, b][i % 2].submit(repo.name)));
        for (const { taskId } of runs) await b.untilTask(taskId, 'completed');
        // A run that starts has seen the end of the one before it: its place in the log is later.
        let active = 0, most = 0;
        for (const event of await a.list('/v1/events?limit=200')) {
            if (event.type === 'agent.run.acquired') most = Math.max(most, ++active);
            if (event.type === 'agent.run.completed') active--;
        }
        assert.equal(active, 0);
        assert.equal(most, LIMIT, 'as many as may, and no more');
    });

    withNodes('stop what works on the other', [config(0), config(1)], async ({ a, b, t }) => {
        if (!b.needsWalls(t)) return;
        const mark = newMark();
        const repo = await a.repository('acme/cancel', staysWithChildren(mark));
        const { taskId } = await a.submit(repo.name);
        await untilAsleep(mark);
        const began = Date.now();
        await a.post(`/v1/tasks/${taskId}/cancel`);
        await a.untilTask(taskId, 'cancelled');
        await untilGone(mark);
        t.diagnostic(`${Date.now() - began} ms to the end of its processes`);
    });
});

describe('two nodes without workers', { concurrency: 1 }, () => {
    let a, b;
    before(async () => {
        const db = makeDatabase(POSTGRES);
        [a, b] = [new Server({ ...config(0), db }), new Server({ ...config(0), db })];
        await Promise.all([a.start(), b.start()]);
    });
    after(() => discardAll([a, b]));
    const shared = (name, body) => it(name, (t) => body({ a, b, t }));

    shared('wake each other\'s leases: work taken in by one goes out by the other',
        async ({ a, b, t }) => {
            const took = [];
            for (let i = 0; i < 10; i++) {
                const [from, to] = i % 2 ? [a, b] : [b, a];
                const waiting = lease(to, 'q.wake', { waitMs: 30_000 })
                    .then((jobs) => ({ jobs, at: performance.now() }));
                await to.untilParked(1);
                const began = performance.now();
                const [{ id }] = await enqueue(from, [{ queue: 'q.wake', type: 'x' }]);
                const { jobs, at } = await waiting;
                assert.deepEqual(jobs.map((job) => job.id), [id], 'before the wait was over');
                took.push(at - began);
                await to.post('/v1/jobs/complete', { jobs: [{ id, epoch: jobs[0].epoch }] });
            }
            t.diagnostic(`enqueue on one to lease on the other: median ` +
                `${percentile(took, 0.5).toFixed(1)} ms, worst ${Math.max(...took).toFixed(1)} ms`);
        });

    shared('hold to a queue\'s concurrency together', async ({ a, b }) => {
        const JOBS = 100, ROOM = 5;
        const complete = (server, jobs) => server.post('/v1/jobs/complete',
            { jobs: jobs.map(({ id, epoch }) => ({ id, epoch })) });
        await a.ok('PUT', '/v1/queues/q.told', { concurrency: 1 });
        await until('the other node to hear of it', async () => {
            await enqueue(b, Array(2).fill({ queue: 'q.told', type: 'x' }));
            const jobs = await lease(b, 'q.told', { max: 2 });
            await complete(b, jobs);
            return jobs.length === 1;
        });
        // Nobody waits for what he is told himself.
        for (const node of [a, b])
            await node.ok('PUT', '/v1/queues/q.narrow', { concurrency: ROOM });
        await enqueue(a, Array.from({ length: JOBS }, (_, n) =>
            ({ queue: 'q.narrow', type: 'x', payload: { n } })));
        let out = 0, most = 0;
        const done = [];
        const consume = async (server) => {
            while (done.length < JOBS) {
                const jobs = await lease(server, 'q.narrow', { max: 3, waitMs: 500 });
                most = Math.max(most, (out += jobs.length));
                await sleep(2);
                out -= jobs.length;
                done.push(...jobs.map((job) => job.payload.n));
                if (jobs.length > 0) await complete(server, jobs);
            }
        };
        await Promise.all([a, b, a, b, a, b].map((server) => consume(server)));
        assert.deepEqual(done.sort((x, y) => x - y), Array.from({ length: JOBS }, (_, n) => n));
        assert.ok(most > 1 && most <= ROOM, `${most} were out at once`);
    });

    shared('hand out many jobs once each', async ({ a, b, t }) => {
        const JOBS = 1200, AT_ONCE = 50;
        const done = [];
        const began = Date.now();
        const produce = async (server, from) => {
            for (let i = from; i < JOBS; i += 2 * AT_ONCE)
                await enqueue(server, Array.from({ length: AT_ONCE },
                    (_, k) => ({ queue: 'q.many', type: 'x', payload: { n: i + k } })));
        };
        const consume = async (server) => {
            while (done.length < JOBS) {
                const jobs = await lease(server, 'q.many', { max: 20, waitMs: 500 });
                if (jobs.length === 0) continue;
                const ends = jobs.map(({ id, epoch }) => ({ id, epoch }));
                const answer = await server.post('/v1/jobs/complete', { jobs: ends });
                assert.ok(answer.jobs.every((job) => job.ok), JSON.stringify(answer));
                done.push(...jobs.map((job) => job.payload.n));
            }
        };
        await Promise.all([produce(a, 0), produce(b, AT_ONCE),
            ...[a, b, a, b, a, b].map((server) => consume(server))]);
        t.diagnostic(`${JOBS} jobs in ${Date.now() - began} ms`);
        assert.deepEqual(done.sort((x, y) => x - y), Array.from({ length: JOBS }, (_, n) => n));
    });

    shared('take the same thing once, however often both are asked for it',
        async ({ a, b }) => {
            const both = [a, b, a, b];
            const repo = await a.repository('acme/once', fixes);
            for (let i = 0; i < 10; i++) {
                const key = { 'idempotency-key': `once-${i}` };
                const answers = await Promise.all(both.map((s) => s.submit(repo.name, {}, key)));
                assert.equal(new Set(answers.map((each) => each.taskId)).size, 1);
            }
            assert.equal((await b.list('/v1/tasks?limit=200')).length, 10);
            for (let i = 0; i < 10; i++) {
                const job = { queue: `q.once-${i}`, type: 'x', dedupKey: `k-${i}` };
                const answers = (await Promise.all(both.map((s) => enqueue(s, [job])))).flat();
                assert.equal(new Set(answers.map((each) => each.id)).size, 1);
                assert.equal(answers.filter((each) => !each.duplicate).length, 1);
                assert.equal((await lease(b, job.queue, { max: 9 })).length, 1);
            }
            for (let i = 0; i < 10; i++) {
                await Promise.all(both.map(
                    (s) => s.configure(`acme/once-${i}`, repo.document)));
                const key = { orderingKey: `key-${i}`, queue: 'q.key', type: 'x' };
                await Promise.all(both.map((s) => enqueue(s, [key, key])));
            }
            assert.equal((await a.list('/v1/repositories?limit=200')).length, 11);
            // Of each key one at a time, whoever asks.
            const heads = (await Promise.all(both.map((s) => lease(s, 'q.key', { max: 100 }))))
                .flat();
            assert.equal(heads.length, 10);
        });

    shared('know each other\'s tokens: made here they work there, revoked they end',
        async ({ a, b, t }) => {
            const made = await a.post('/v1/tokens', { name: 'eye', role: 'viewer' });
            const status = async () =>
                (await b.call('GET', '/v1/tasks', { token: made.token })).status;
            await until('the token to work', async (note) => note(await status()) === 200);
            const began = Date.now();
            await a.ok('DELETE', `/v1/tokens/${made.id}`);
            await until('the token to end', async (note) => note(await status()) === 401);
            t.diagnostic(`revoked everywhere after ${Date.now() - began} ms`);
        });
});

describe('clocks that differ', { concurrency: 2 }, () => {
    for (const shift of [-4, 4])
        it(`by ${shift} s turn no history round and cost no lease`, async () => {
            const db = makeDatabase(POSTGRES);
            const options = config(2, { leaseMs: 10_000 });
            const a = new Server({ ...options, db });
            const b = new Server({ ...options, db, env: skewedBy(shift) });
            try {
                await Promise.all([a.start(), b.start()]);
                await b.untilSaid(shift < 0 ? /not the database's.*"aheadMs":-/
                    : /not the database's.*"aheadMs":\d/);
                assert.doesNotMatch(a.said(), /not the database's/);
                const repo = await a.repository('acme/clocks', `sleep 0.2\n${fixes}`,
                    { limits: { maxActiveRuns: 4 } });
                const runs = await Promise.all(Array.from({ length: 4 },
                    (_, i) => [a, b][i % 2].submit(repo.name)));
                for (const { taskId } of runs) await b.untilTask(taskId, 'completed');
                for (const { runId } of runs) {
                    const events = await a.events(runId);
                    assertHistory(events);
                    assert.ok(!typesOf(events).includes('agent.run.heartbeat.missed'));
                }
                await discardAll([a, b]);
            } finally {
                for (const node of [a, b]) node.killNow();
            }
        });
});

describe('when a node dies', { concurrency: 5 }, () => {
    withNodes('the other runs the timers', NO_WORKERS, async ({ a, b, t }) => {
        const holder = await holderOf(a, b);
        const other = holder === a ? b : a;
        assert.doesNotMatch(other.said(), TIMERS, 'one at a time');
        await enqueue(holder, [{ queue: 'q.delayed', type: 'x', delayMs: 1500 },
            { queue: 'q.leased', type: 'x' }]);
        assert.equal((await lease(holder, 'q.leased', { leaseMs: 1500 })).length, 1);
        await holder.crash();
        const began = Date.now();
        await other.untilSaid(TIMERS);
        t.diagnostic(`the timers moved within ${Date.now() - began} ms`);
        for (const queue of ['q.delayed', 'q.leased']) {
            const jobs = await lease(other, queue, { waitMs: 30_000 });
            assert.equal(jobs.length, 1, queue);
        }
        t.diagnostic(`what was due came within ${Date.now() - began} ms`);
        await holder.startAgain();
        await sleep(1500); // More than a look for the lock takes.
        assert.equal(holder.said().match(new RegExp(TIMERS, 'g')).length, 1, 'they stay there');
    });

    withNodes('its work goes on at the other when the leases have run out',
        [config(1, SHORT), config(0, SHORT)], async ({ a, b, worker, t }) => {
            if (!a.needsWalls(t)) return;
            const mark = newMark();
            const repo = await b.repository('acme/taken', `${waits(mark)}${fixes}`);
            const { taskId, runId } = await b.submit(repo.name);
            await a.untilGate(mark);
            await a.crash();
            await untilGone(a.dir);
            const w = await worker(b, { name: 'w' }).start();
            await w.openGate(mark);
            await b.untilTask(taskId, 'completed');
            const events = await b.events(runId);
            assertHistory(events);
            assert.ok(typesOf(events).includes('agent.run.recovered'));
            assert.equal((await b.run(runId)).attempt, 1);
            assert.equal(branches(repo.origin).length, 1);
        });

    withNodes('its work goes on at once when it is started again',
        [config(1, { leaseMs: 600_000 }), config(0, { leaseMs: 600_000 })], async ({ a, b, t }) => {
            if (!a.needsWalls(t)) return;
            const mark = newMark();
            const repo = await b.repository('acme/again', `${waits(mark)}${fixes}`);
            const { taskId, runId } = await b.submit(repo.name);
            await a.untilGate(mark);
            await a.crash();
            await a.startAgain();
            await a.letThrough(mark, taskId);
            assertHistory(await b.events(runId));
            assert.equal((await b.run(runId)).attempt, 1);
        });

    withNodes('its workers go on at the other, if that one answers at its address',
        NO_WORKERS, async ({ a, b, worker }) => {
            const mark = newMark();
            const repo = await b.repository('acme/moved', `sleep 3000.${mark} & ${waits(mark)}` +
                `kill %1\n${fixes}`);
            const { token } = await b.post('/v1/tokens', { name: 'pool', role: 'worker' });
            await until('the token to be known',
                async () => (await a.call('GET', '/v1/tasks', { token })).status !== 401);
            const w = await worker(a, { name: 'w', token }).start();
            const { taskId, runId } = await b.submit(repo.name);
            await w.untilGate(mark);
            await untilAsleep(mark);
            const before = sleepers(mark);
            await Promise.all([a.crash(), b.stop()]);
            b.listen = new URL(a.url).host; // As a load balancer would.
            await b.start();
            assert.deepEqual(sleepers(mark), before);
            await w.openGate(mark);
            await b.untilTask(taskId, 'completed');
            assert.ok(!typesOf(await b.events(runId)).includes('agent.run.heartbeat.missed'));
        });

    withNodes('and all others with it, workers keep what they do until one is back',
        [config(0, RARE), config(0, RARE)], async ({ a, b, worker }) => {
            const mark = newMark();
            const repo = await a.repository('acme/none', `${waits(mark)}${fixes}`);
            const w = await worker(b, { name: 'w' }).start();
            const { taskId, runId } = await a.submit(repo.name);
            await w.untilGate(mark);
            await Promise.all([a.crash(), b.crash()]);
            await sleep(RARE.leaseMs + 500);
            await b.startAgain();
            await b.untilSaid(TIMERS);
            await w.untilSaid(/heartbeats are answered again/);
            await w.openGate(mark);
            await b.untilTask(taskId, 'completed');
            const types = typesOf(await b.events(runId));
            assert.ok(!types.includes('agent.run.heartbeat.missed'), 'nothing was done twice');
            assert.equal(types.filter((type) => type === 'agent.run.started').length, 1);
        });
});
