// frozen.test.mjs - nodes that are stopped (SIGSTOP) instead of killed: their connections live on,
// and so would every lock that a connection holds.  Also nodes with a wrong clock, and two that
// claim to be the same.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterUrl } from './lib/cluster.mjs';
import { PSQL, makeDatabase } from './lib/database.mjs';
import { discardAll, Server } from './lib/server.mjs';
import { skewedBy } from './lib/skew.mjs';
import { until } from './lib/wait.mjs';

const POSTGRES = clusterUrl();
const TIMERS = /this node runs the timers now/;
const config = (leaseMs = 15_000) =>
    `workers: 0\nlease: {leaseMs: ${leaseMs}, heartbeatMs: 300}\n`;

// Gives the test two nodes on one database; options of each as a Server has them.
function withNodes(name, [ofA, ofB], body) {
    it(name, async (t) => {
        const db = makeDatabase(POSTGRES);
        const nodes = [ofA, ofB].map((more) => new Server({ config: config(), ...more, db }));
        try {
            await Promise.all(nodes.map((node) => node.start()));
            await body({ a: nodes[0], b: nodes[1], db, t });
            await discardAll(nodes);
        } finally {
            for (const node of nodes) {
                if (node.isRunning()) node.child.kill('SIGCONT');
                node.killNow();
            }
        }
    });
}
const PLAIN = [{}, {}];

const enqueue = async (server, jobs) => (await server.post('/v1/jobs', { jobs })).jobs;
const lease = async (server, queue, more = {}) => (await server.post('/v1/jobs/lease',
    { queues: [queue], worker: 'hand', max: 1, waitMs: 0, leaseMs: 60_000, ...more })).jobs;
const schedule = (server, name, cron, queue) => server.ok('PUT', `/v1/schedules/${name}`,
    { cron, job: { queue, type: 'tick' } });
const firings = async (server, name) => (await server.list('/v1/events?limit=200'))
    .filter((event) => event.type === 'agent.schedule.fired' && event.data.schedule === name)
    .map((event) => Date.parse(event.data.scheduledAt));

async function holderOf(a, b) {
    const holder = await until('a node to run the timers',
        () => [a, b].find((server) => TIMERS.test(server.said())));
    return [holder, holder === a ? b : a];
}

const freeze = (node) => node.child.kill('SIGSTOP');
const thaw = (node) => node.child.kill('SIGCONT');

// One session of psql that stays open; do(text) resolves when the text has been run.
class Psql {
    constructor(url) {
        this.child = spawn(PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', url],
            { stdio: ['pipe', 'pipe', 'inherit'] });
        this.said = '';
        this.child.stdout.on('data', (bytes) => { this.said += bytes; });
        this.count = 0;
    }

    async do(text) {
        const end = `done ${++this.count}.`;
        const from = this.said.length;
        this.child.stdin.write(`${text};\n\\echo ${end}\n`);
        await until(`psql to run ${text}`, () => this.said.includes(end, from));
        return this.said.slice(from, this.said.indexOf(end, from)).trim();
    }

    close() {
        this.child.stdin.end();
    }
}

describe('a frozen node', { concurrency: 4 }, () => {
    withNodes('that runs the timers loses them: leases, delays and schedules go on', PLAIN,
        async ({ a, b, t }) => {
            const [holder, other] = await holderOf(a, b);
            await enqueue(other, [{ queue: 'q.delayed', type: 'x', delayMs: 1500 },
                { queue: 'q.leased', type: 'x' }]);
            assert.equal((await lease(other, 'q.leased', { leaseMs: 1500 })).length, 1);
            await schedule(other, 'often', '* * * * * *', 'q.ticks');
            freeze(holder);
            const began = Date.now();
            for (const queue of ['q.delayed', 'q.leased']) {
                const jobs = await until(`a job of ${queue}`, async () => {
                    const list = await lease(other, queue, { waitMs: 5_000 });
                    return list.length === 1 && list;
                });
                assert.equal(jobs.length, 1, queue);
                await other.post('/v1/jobs/complete',
                    { jobs: jobs.map(({ id, epoch }) => ({ id, epoch })) });
            }
            assert.match(other.said(), TIMERS);
            const { timers } = await other.get('/readyz');
            const { node } = await other.get('/v1/version');
            assert.deepEqual([timers.node, timers.here], [node, true]);
            t.diagnostic(`what was due came ${Date.now() - began} ms after the freeze`);
            const before = (await firings(other, 'often')).length;
            await until('the schedule to fire',
                async () => (await firings(other, 'often')).length > before + 2);

            thaw(holder);
            await holder.untilSaid(/lost the timers/);
            await until('the woken node to know who has the timers', async () =>
                (await holder.get('/readyz')).timers.node === node);
            assert.equal((await holder.get('/readyz')).timers.here, false);
            await until('the schedule to fire still',
                async () => (await firings(holder, 'often')).length > before + 6);
            const times = await firings(other, 'often');
            assert.equal(new Set(times).size, times.length, 'no time comes twice');
            assert.equal(holder.said().match(new RegExp(TIMERS, 'g')).length, 1, 'they stay');
            await other.ok('DELETE', '/v1/schedules/often');
        });

    withNodes('shows in the lag of the timers until another has them', PLAIN,
        async ({ a, b }) => {
            const [holder, other] = await holderOf(a, b);
            freeze(holder);
            await enqueue(other, [{ queue: 'q.lag', type: 'x', delayMs: 200 }]);
            const lag = async () =>
                Number(/^drover_timer_lag_milliseconds (\d+)$/m.exec(
                    (await other.call('GET', '/metrics')).text)[1]);
            await until('a lag', async () => (await lag()) > 0 ||
                TIMERS.test(other.said())); // On a slow machine it may be over by then.
            await until('no lag', async () => (await lag()) === 0 && TIMERS.test(other.said()));
            assert.equal((await other.get('/readyz')).timers.lagMs, 0);
            thaw(holder);
            await holder.untilSaid(/lost the timers/);
        });

    // Another session holds a row that the node's transaction needs: it waits there, with locks of
    // its own, when it is frozen.  Its session has to end before those who want its rows give up.
    withNodes('in the middle of a transaction lets go of its rows', PLAIN,
        async ({ a, b, db, t }) => {
            const { token } = await a.post('/v1/tokens', { name: 'hands', role: 'worker' });
            await until('the other node to know the token', async () =>
                (await b.call('GET', '/v1/version', { token })).status === 200);
            await enqueue(a, [1, 2].map(() => ({ queue: 'q.held', type: 'x' })));
            const asked = { queues: ['q.held'], worker: 'hand', max: 2, waitMs: 0,
                leaseMs: 600_000 };
            const { json: { jobs } } = await a.call('POST', '/v1/jobs/lease',
                { body: asked, token });
            const [first, second] = jobs.map(({ id, epoch }) => ({ id, epoch }))
                .sort((x, y) => (x.id < y.id ? -1 : 1)); // As they are locked.
            const complete = (server, ...ends) =>
                server.call('POST', '/v1/jobs/complete', { body: { jobs: ends }, token });
            const psql = new Psql(db);
            try {
                await psql.do('BEGIN');
                await psql.do(`SELECT 1 FROM jobs WHERE id = '${second.id}' FOR UPDATE`);
                const waiting = complete(a, first, second).catch(() => null);
                const watcher = new Psql(db);
                await until('the node to wait for the row', async () => Number(await watcher.do(
                    `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()` +
                    ` AND wait_event_type = 'Lock'`)) > 0);
                watcher.close();
                freeze(a);
                await psql.do('COMMIT');
                const began = Date.now();
                const answer = await complete(b, first);
                assert.equal(answer.status, 200, answer.text);
                assert.equal(answer.json.jobs[0].ok, true, answer.text);
                t.diagnostic(`the row was free after ${Date.now() - began} ms`);
                thaw(a);
                await waiting;
            } finally {
                psql.close();
            }
        });

    withNodes('that wakes up goes on with its name and its work', PLAIN, async ({ a, b }) => {
        const [holder, other] = await holderOf(a, b);
        freeze(holder);
        await other.untilSaid(/a node has not renewed its claim: its connections are ended/);
        thaw(holder);
        await holder.untilSaid(/lost the timers/);
        await until('the woken node to write', async () => (await holder.call('POST', '/v1/jobs',
            { body: { jobs: [{ queue: 'q.on', type: 'x' }] } })).status < 300);
        assert.equal((await lease(other, 'q.on', { waitMs: 5_000 })).length, 1);
        assert.ok(holder.isRunning());
    });
});

describe('clocks that are off by 30 s', { concurrency: 2 }, () => {
    for (const [ofA, ofB] of [[30, -30], [-30, 30]])
        withNodes(`(${ofA} and ${ofB}) skip no schedule, end no lease early, fire nothing twice`,
            [{ env: skewedBy(ofA) }, { env: skewedBy(ofB) }], async ({ a, b }) => {
                const [holder, other] = await holderOf(a, b);
                // Set on one, handled by the other: what is due goes by one clock.
                const [job] = await enqueue(other, [{ queue: 'q.lease', type: 'x' }]);
                const began = performance.now(); // Before it: the answer may take its time.
                const [held] = await lease(other, 'q.lease', { leaseMs: 20_000 });
                assert.equal(held.id, job.id);
                await enqueue(other, [{ queue: 'q.delay', type: 'x', delayMs: 2_000 }]);
                await schedule(other, 'every', '* * * * * *', 'q.every');
                const [delayed] = await lease(holder, 'q.delay', { waitMs: 25_000 });
                assert.ok(delayed, 'the delay ends');
                assert.ok(performance.now() - began >= 1_900, 'and not early');
                await until('the schedule to fire',
                    async () => (await firings(other, 'every')).length >= 4);
                // The timers move to the other node, whose clock is a minute off.
                freeze(holder);
                await other.untilSaid(TIMERS);
                const before = (await firings(other, 'every')).length;
                await until('the schedule to fire there',
                    async () => (await firings(other, 'every')).length >= before + 4);
                thaw(holder);
                await holder.untilSaid(/lost the timers/);
                const times = await firings(other, 'every');
                assert.equal(new Set(times).size, times.length, 'no time comes twice');
                // Seconds are missing where no node ran the timers, and nowhere else.
                const gaps = times.map((time, i) => time - times[i - 1]).slice(1);
                assert.ok(gaps.every((gap) => gap > 0), `${gaps}`);
                assert.ok(times.every((time) => Math.abs(time - Date.now()) < 120_000));
                const state = await other.get(`/v1/jobs/${job.id}`);
                const left = 20_000 - (performance.now() - began);
                if (left > 1_000) assert.equal(state.state, 'leased', 'its lease is not over');
                await until('the lease to end', async () => {
                    const { state: now } = await other.get(`/v1/jobs/${job.id}`);
                    return now === 'queued';
                });
                assert.ok(performance.now() - began >= 19_900, 'not early');
                await other.ok('DELETE', '/v1/schedules/every');
            });
});

describe('the name of a node', { concurrency: 3 }, () => {
    const copyName = (from, to) => {
        mkdirSync(to.data, { recursive: true });
        copyFileSync(join(from.data, 'node'), join(to.data, 'node'));
    };

    withNodes('that was copied is refused while its owner lives, and is no way to its jobs',
        PLAIN, async ({ a, b }) => {
            await enqueue(a, [{ queue: 'q.mine', type: 'x' }]);
            const [job] = await lease(a, 'q.mine');
            assert.equal((await b.stop()).code, 0);
            copyName(a, b);
            await assert.rejects(b.start(), /NODE_IN_USE|another server goes by the name/);
            const said = b.said();
            assert.match(said, /remove the file \\?"node\\?" from it/);
            assert.match(said, new RegExp(readFileSync(join(a.data, 'node'), 'utf8').trim()));
            assert.equal((await a.get(`/v1/jobs/${job.id}`)).state, 'leased');
            assert.ok(a.isRunning());
            rmSync(join(b.data, 'node'));
            await b.start();
        });

    withNodes('is taken again at once after kill -9, on the same data directory', PLAIN,
        async ({ a, b, t }) => {
            const [holder, other] = await holderOf(a, b);
            await holder.crash();
            const began = Date.now();
            await holder.startAgain();
            t.diagnostic(`started again after ${Date.now() - began} ms`);
            assert.doesNotMatch(holder.said(), /looking whether it is alive/);
            assert.ok(other.isRunning());
        });

    withNodes('that a copy took while its owner was frozen ends the owner, which writes nothing',
        PLAIN, async ({ a, b }) => {
            assert.equal((await b.stop()).code, 0);
            await enqueue(a, [{ queue: 'q.due', type: 'x', delayMs: 500 }]);
            freeze(a);
            copyName(a, b);
            await b.start(); // It waits until the claim is over.
            assert.match(b.said(), /looking whether it is alive/);
            thaw(a);
            const { code } = await a.exit;
            assert.notEqual(code, 0);
            a.ending = true;
            assert.match(a.said(), /NODE_LOST/);
            assert.equal((await lease(b, 'q.due', { waitMs: 10_000 })).length, 1);
            await sleep(100);
            assert.ok(b.isRunning());
        });
});

describe('a server on SQLite', () => {
    it('that was stopped gives every lease one more length: nobody could renew it', async () => {
        const server = new Server({ config: config(), db: null });
        try {
            await server.start();
            const [{ id }] = await enqueue(server, [{ queue: 'q.long', type: 'x' }]);
            const [job] = await lease(server, 'q.long', { leaseMs: 4_000 });
            assert.equal(job.id, id);
            freeze(server);
            await sleep(9_000); // Longer than the lease.
            thaw(server);
            const next = await lease(server, 'q.long', { waitMs: 1_000 });
            assert.deepEqual(next, [], 'it is still leased');
            const answer = await server.post('/v1/jobs/complete',
                { jobs: [{ id, epoch: job.epoch }] });
            assert.equal(answer.jobs[0].ok, true);
            await server.discard();
        } finally {
            if (server.isRunning()) thaw(server);
            server.killNow();
        }
    });
});
