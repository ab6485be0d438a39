// worker.test.mjs - workers on other machines: `drover worker` against a server that has none.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { fixes, staysWithChildren, waits } from './lib/git.mjs';
import { assertDoneOnce } from './lib/once.mjs';
import { isAlive, newMark, processesWith, sleepers, untilAsleep,
    untilGone } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const LEASE_MS = 3000;

// A server without workers of its own, and what is needed to start some for it.
function withServer(name, body) {
    it(name, async (t) => {
        const config = `workers: 0\nlease: {leaseMs: ${LEASE_MS}, heartbeatMs: 300}\n`;
        const server = await start({ config });
        const workers = [];
        const worker = (options) => {
            workers.push(new RemoteWorker(server, options));
            return workers.at(-1);
        };
        try {
            await body({ server, worker, t });
        } finally {
            await Promise.all(workers.filter((each) => each.child).map((each) => each.stop()));
            await server.discard();
        }
    });
}

// A restart must come back to the address that workers know.
async function restart(server) {
    server.listen = new URL(server.url).host;
    await server.start();
}

function drover(server, ...args) {
    return execFileSync(BIN, [...args, '--data', server.data],
        { env: plainEnv(), encoding: 'utf8' });
}

// As everywhere, and in the first attempt: a worker that is lost costs none.
async function assertDoneAtOnce(server, repo, { taskId, runId }) {
    assert.equal((await server.run(runId)).attempt, 1);
    return typesOf(await assertDoneOnce(server, { taskId, runId, repo }));
}

const untilState = (worker, state) =>
    until(`worker ${worker.name} to be ${state}`, async (note) =>
        note(await worker.listed())?.state === state);

describe('remote workers', { concurrency: 6 }, () => {
    withServer('share the work: every task one pull request', async ({ server, worker }) => {
        // More output than a body may have elsewhere: the log is sent as a stream.
        const noise = 'i=0; while [ $i -lt 1400 ]; do printf "%01000d\\n" $i; i=$((i+1)); done\n';
        const repo = await server.repository('acme/many', noise + fixes,
            { limits: { maxActiveRuns: 8 } });
        const token = drover(server, 'token', 'create', '--name', 'pool', '--role', 'worker');
        const a = await worker({ name: 'a', token: token.trim() }).start();
        const b = await worker({ name: 'b', token: token.trim() }).start();
        const tasks = [];
        for (let i = 0; i < 6; i++) tasks.push(await server.submit(repo.name));
        const seen = new Set();
        for (const { taskId, runId } of tasks) {
            await server.untilTask(taskId, 'completed');
            const events = await server.events(runId);
            assertHistory(events);
            for (const event of events)
                if (event.type === 'agent.step.started') seen.add(event.data.worker.split('/')[0]);
            const done = events.find((event) => event.type === 'agent.run.completed');
            assert.deepEqual([done.actortype, done.actorid], ['worker', 'pool']);
        }
        assert.deepEqual([...seen].sort(), ['a', 'b'], 'both have worked');
        const prs = await server.pullRequests(repo.name);
        assert.equal(new Set(prs.map((pr) => pr.taskId)).size, tasks.length);
        assert.equal(prs.length, tasks.length);
        const artifacts = await server.list(`/v1/runs/${tasks[0].runId}/artifacts`);
        const log = artifacts.find((artifact) => artifact.kind === 'agent_log');
        assert.ok(log.bytes > 1_400_000);
        const bytes = await server.call('GET', `/v1/artifacts/${log.sha256}`);
        assert.equal(bytes.bytes.length, log.bytes);

        const table = drover(server, 'workers');
        assert.match(table, new RegExp('^WORKER +STATE +SLOTS +BUSY +QUEUES +LAST HEARTBEAT' +
            ' +DISK FREE +LEASED +VERSION +HOST'));
        assert.match(table, /^a +active +2 +\d +all +\d{4}-/m);
        const { items } = JSON.parse(drover(server, 'workers', '--json'));
        assert.deepEqual(items.map((item) => [item.name, item.state, item.slots]),
            [['a', 'active', 2], ['b', 'active', 2]]);
        assert.equal(items[0].pid, a.child.pid);
        assert.equal(items[1].pid, b.child.pid);
    });

    withServer('take over from one that was killed', async ({ server, worker }) => {
        const mark = newMark();
        const repo = await server.repository('acme/killed', `${waits(mark)}${fixes}`);
        const a = await worker({ name: 'a' }).start();
        const task = await server.submit(repo.name);
        await a.untilGate(mark);
        await a.stop('SIGKILL');
        await untilGone(a.data);
        const b = await worker({ name: 'b' }).start();
        await b.openGate(mark);
        await server.untilTask(task.taskId, 'completed');
        const types = await assertDoneAtOnce(server, repo, task);
        assert.ok(types.includes('agent.run.recovered'), 'the history tells about the loss');
        await untilState(a, 'lost');
        assert.equal((await b.listed()).state, 'active');
        const lost = JSON.parse(drover(server, 'workers', '--state', 'lost', '--json'));
        assert.deepEqual(lost.items.map((item) => item.name), ['a']);
        // It comes back under its name.
        await worker({ name: 'a' }).start();
        await untilState(a, 'active');
    });

    withServer('drain on SIGTERM: their jobs go back at once', async ({ server, worker }) => {
        const mark = newMark();
        const repo = await server.repository('acme/drain', `${waits(mark)}${fixes}`);
        const a = await worker({ name: 'a' }).start();
        const task = await server.submit(repo.name);
        await a.untilGate(mark);
        const b = await worker({ name: 'b' }).start();
        assert.deepEqual(await a.stop(), { code: 0, signal: null }, a.said());
        await untilGone(a.data);
        assert.equal(await a.listed(), undefined, 'who leaves is not listed');
        await b.openGate(mark);
        await server.untilTask(task.taskId, 'completed');
        const types = await assertDoneAtOnce(server, repo, task);
        assert.ok(!types.includes('agent.run.heartbeat.missed'), 'a release is no loss');
    });

    withServer('end at once on a second SIGTERM, with all children', async ({ server, worker }) => {
        const mark = newMark();
        const repo = await server.repository('acme/hurry', staysWithChildren(mark));
        const a = await worker({ name: 'a' }).start();
        const { taskId } = await server.submit(repo.name);
        await untilAsleep(mark);
        a.signal('SIGTERM');
        await untilState(a, 'draining');
        assert.deepEqual(await a.stop(), { code: 0, signal: null });
        await untilGone(mark);
        await server.post(`/v1/tasks/${taskId}/cancel`);
    });

    withServer('keep their agents while the server is away', async ({ server, worker }) => {
        const mark = newMark();
        const agent = `sleep 3000.${mark} & ${waits(mark)}kill %1\n${fixes}`;
        const repo = await server.repository('acme/away', agent);
        const a = await worker({ name: 'a' }).start();
        const task = await server.submit(repo.name);
        await a.untilGate(mark);
        await untilAsleep(mark);
        const before = sleepers(mark);
        assert.equal(before.length, 1);
        await server.crash();
        await a.untilSaid(/heartbeats get no answer/);
        await sleep(LEASE_MS + 500); // Longer than its lease.
        assert.deepEqual(sleepers(mark), before);
        await a.openGate(mark); // The agent ends, and there is nobody to tell.
        await untilGone(mark);
        await restart(server);
        await server.untilTask(task.taskId, 'completed');
        const types = await assertDoneAtOnce(server, repo, task);
        assert.ok(!types.includes('agent.run.heartbeat.missed'), 'nothing was done twice');
        await a.untilSaid(/heartbeats are answered again/);
    });

    withServer('discard their work when the lease is lost', async ({ server, worker }) => {
        const mark = newMark();
        const repo = await server.repository('acme/frozen', `${waits(mark)}${fixes}`);
        const a = await worker({ name: 'a' }).start();
        const task = await server.submit(repo.name);
        await a.untilGate(mark);
        a.signal('SIGSTOP');
        const b = await worker({ name: 'b' }).start();
        await b.openGate(mark);
        await server.untilTask(task.taskId, 'completed');
        assert.ok(a.gate(mark), 'its agent is still there');
        a.signal('SIGCONT');
        await a.untilSaid(/lease lost: the work of a step is discarded/);
        await until('its agent to end', () => processesWith(`${a.data}/work/runs`).length === 0);
        await assertDoneAtOnce(server, repo, task);
    });

    withServer('hear of a cancel with the heartbeat', async ({ server, worker }) => {
        const mark = newMark();
        const repo = await server.repository('acme/cancel', staysWithChildren(mark));
        await worker({ name: 'a' }).start();
        const { taskId } = await server.submit(repo.name);
        await untilAsleep(mark);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
        await untilGone(mark);
    });

    withServer('take only the steps that they are told to', async ({ server, worker }) => {
        const repo = await server.repository('acme/queues', fixes);
        await worker({ name: 'a', args: ['--queues', 'agent,drover.verify'] }).start();
        await worker({ name: 'b', args: ['--queues', 'prepare,hydrate,judge,publish,clean'] })
            .start();
        const { runId } = await server.finish(repo.name, 'completed');
        for (const event of await server.events(runId)) {
            if (event.type !== 'agent.step.started') continue;
            const who = ['agent', 'verify'].includes(event.data.step) ? 'a' : 'b';
            assert.equal(event.data.worker.split('/')[0], who, event.data.step);
        }
        assert.match(drover(server, 'workers'), /^a +active +2 +\d +agent,verify /m);
    });

    withServer('let agents without a network ask the server', async ({ server, worker }) => {
        const asks = `node -e '
            const { DROVER_SOCKET, DROVER_TOKEN, DROVER_RUN_ID, DROVER_URL } = process.env;
            const headers = { authorization: "Bearer " + DROVER_TOKEN };
            const path = "/v1/runs/" + DROVER_RUN_ID;
            require("node:http").get({ socketPath: DROVER_SOCKET, path, headers }, (res) =>
                console.log(JSON.stringify({ type: "message",
                    text: "status " + res.resume().statusCode + " " + DROVER_URL })));'\n`;
        const repo = await server.repository('acme/socket', asks + fixes);
        await worker({ name: 'a' }).start();
        const { runId } = await server.finish(repo.name, 'completed');
        const said = (await server.events(runId)).filter((e) => e.type === 'agent.step.recorded');
        assert.deepEqual(said.map((event) => event.data.text), [`status 200 ${server.url}`]);
    });

    withServer('say what is wrong and what to do', async ({ server, worker }) => {
        const viewer = drover(server, 'token', 'create', '--name', 'eye', '--role', 'viewer');
        const table = [
            [{ token: `drv_${'0'.repeat(64)}` }, 4, /TOKEN_UNKNOWN[^]*token/i],
            [{ token: viewer.trim() }, 4, /role operator or worker or admin[^]*ROLE_NOT_ALLOWED/],
            [{ url: 'ftp://127.0.0.1' }, 2, /INVALID_URL/],
            [{ args: ['--queues', 'nothing'] }, 2, /no queue nothing[^]*prepare, hydrate/],
            [{ args: ['--slots', '0'] }, 2, /slots/],
        ];
        let count = 0;
        for (const [options, code, says] of table) {
            const each = worker({ name: `wrong-${count++}`, ...options }).spawn();
            assert.deepEqual(await each.exit, { code, signal: null }, each.said());
            assert.match(each.said(), says);
        }
        const node = (await server.get('/v1/version')).node;
        const thief = worker({ name: node }).spawn();
        assert.deepEqual(await thief.exit, { code: 4, signal: null });
        assert.match(thief.said(), /WORKER_NAME_TAKEN/);
        const first = await worker({ name: 'first' }).start();
        const second = worker({ name: 'first' }).spawn();
        assert.deepEqual(await second.exit, { code: 4, signal: null });
        assert.match(second.said(), /DATA_IN_USE/);
        assert.ok(isAlive(first.child.pid));
        const guest = worker({ name: 'guest' });
        guest.args[guest.args.indexOf('--data') + 1] = server.data;
        assert.deepEqual(await guest.spawn().exit, { code: 4, signal: null });
        assert.match(guest.said(), /DATA_IN_USE/);
    });

    withServer('wait for a server that is not there yet', async ({ server, worker }) => {
        const repo = await server.repository('acme/late', fixes);
        await server.crash();
        const never = worker({ name: 'never' }).spawn();
        await never.untilSaid(/cannot reach the server; trying again/);
        assert.deepEqual(await never.stop(), { code: 0, signal: null });
        const a = worker({ name: 'a' }).spawn();
        await a.untilSaid(/cannot reach the server; trying again/);
        assert.ok(isAlive(a.child.pid));
        await restart(server);
        await server.finish(repo.name, 'completed');
    });

    it('are listed when they work in the server itself', async () => {
        const server = await start({ config: 'workers: 3\n' });
        try {
            const { node } = await server.get('/v1/version');
            await until('the own worker to be listed', async (note) => {
                const { items } = note(await server.get('/v1/workers?state=active'));
                return items.length === 1 && items[0].name === node && items[0].slots === 3 &&
                    items[0].pid === server.child.pid;
            });
        } finally {
            await server.discard();
        }
    });
});
