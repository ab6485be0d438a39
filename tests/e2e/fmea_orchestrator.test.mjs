// fmea_orchestrator.test.mjs - what can go wrong with the orchestrator itself and with admission,
// row by row of the failure tables.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe } from 'node:test';
import { typesOf } from './lib/cloudevents.mjs';
import { on } from './lib/database.mjs';
import { fixes, holdOrigin, staysIfAsked, waits } from './lib/git.mjs';
import { assertDoneOnce } from './lib/once.mjs';
import { LONG_LEASES, withServer } from './lib/own.mjs';
import { newMark, untilAsleep, untilGone, untilRunning } from './lib/procs.mjs';

const CONFIG = { config: `workers: 3\n${LONG_LEASES}` };

async function restart(server) {
    await server.crash();
    await server.start();
}

// One more fits in, no two: nothing drifted.
async function assertSlots(server, repo, mark) {
    const slots = (await server.get('/v1/doctor')).checks.find(({ name }) => name === 'slots');
    assert.deepEqual([slots.lookedAt, slots.bad], [0, 0]);
    const next = await server.submit(repo.name);
    await server.untilGate(mark);
    const other = await server.submit(repo.name);
    await server.untilTask(other.taskId, 'deferred');
    for (const { taskId } of [other, next]) {
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
    }
}

const ONE = { limits: { maxActiveRuns: 1 } };

describe('orchestrator failures', { concurrency: 3 }, () => {
    withServer('the orchestrator crashes during HYDRATING: it is done again', CONFIG,
        async (server) => {
            const mark = newMark();
            const repo = await server.repository('acme/hydrating', waits(mark) + fixes, ONE);
            const release = holdOrigin(repo.origin);
            const ids = await server.submit(repo.name);
            await untilRunning(repo.origin);
            assert.equal((await server.task(ids.taskId)).status, 'hydrating');
            await server.crash();
            release();
            await server.start();
            await server.letThrough(mark, ids.taskId);
            const events = await assertDoneOnce(server, { ...ids, repo });
            assert.ok(typesOf(events).includes('agent.run.recovered'));
            await assertSlots(server, repo, mark);
        });

    withServer('the orchestrator crashes during RUNNING: the session goes on or starts again',
        CONFIG,
        async (server, t) => {
            if (!server.needsWalls(t)) return;
            const mark = newMark();
            const agent = `sleep 3000.${mark} & ${waits(mark)}${fixes}`;
            const repo = await server.repository('acme/running', agent, ONE);
            const ids = await server.submit(repo.name);
            await server.untilGate(mark);
            await untilAsleep(mark);
            assert.equal((await server.task(ids.taskId)).status, 'running');
            await server.crash();
            await untilGone(mark);
            await server.start();
            await server.letThrough(mark, ids.taskId);
            const types = typesOf(await assertDoneOnce(server, { ...ids, repo }));
            assert.ok(types.includes('agent.run.recovered'), 'the history tells about the loss');
            assert.equal(types.filter((type) => type === 'agent.run.started').length, 1);
            assert.equal((await server.run(ids.runId)).attempt, 1, 'it costs no attempt');
            await assertSlots(server, repo, mark);
        });

    withServer('the orchestrator crashes during FINALIZING: it is idempotent', CONFIG,
        async (server) => {
            const mark = newMark();
            const repo = await server.repository('acme/finalizing', waits(mark) + fixes, ONE);
            const ids = await server.submit(repo.name);
            await server.untilGate(mark);
            const release = holdOrigin(repo.origin);
            await server.openGate(mark);
            await server.untilTask(ids.taskId, 'finalizing');
            await untilRunning(repo.origin);
            await server.crash();
            release();
            await server.start();
            await server.untilTask(ids.taskId, 'completed');
            await assertDoneOnce(server, { ...ids, repo });
            await assertSlots(server, repo, mark);
        });
});

// Files may not grow any more: for SQLite that is a full disk.
const limitFiles = (server, bytes) => execFileSync('prlimit',
    ['--pid', String(server.child.pid), `--fsize=${bytes}:unlimited`]);

// PostgreSQL is taken away in outage.test.mjs.
on('sqlite', describe)('the store is unavailable', { concurrency: 2 }, () => {
    withServer('admission: the task is refused for the moment, and accepted later', CONFIG,
        async (server) => {
            const repo = await server.repository('acme/full', fixes);
            limitFiles(server, 1);
            const body = { repository: repo.name, description: 'x' };
            const headers = { 'idempotency-key': 'once' };
            const refused = await server.call('POST', '/v1/tasks', { body, headers });
            assert.ok(refused.status >= 500, refused.text);
            assert.match(refused.json.code, /^STORE_/);
            assert.deepEqual(await server.list('/v1/tasks'), [], 'nothing of it is there');
            limitFiles(server, 'unlimited');
            const ids = await server.post('/v1/tasks', body, headers);
            await server.untilTask(ids.taskId, 'completed');
            await assertDoneOnce(server, { ...ids, repo });
        });

    withServer('a state transition: it is not gone on with, and made later', CONFIG,
        async (server) => {
            const mark = newMark();
            const repo = await server.repository('acme/later', waits(mark) + fixes);
            const ids = await server.submit(repo.name);
            await server.untilGate(mark);
            limitFiles(server, 1);
            const before = await server.events(ids.runId); // Nothing more can be written now.
            const cancel = await server.call('POST', `/v1/tasks/${ids.taskId}/cancel`,
                { body: {} });
            assert.ok(cancel.status >= 500, cancel.text);
            assert.equal((await server.run(ids.runId)).status, 'running');
            assert.equal((await server.events(ids.runId)).length, before.length);
            limitFiles(server, 'unlimited');
            await server.openGate(mark);
            await server.untilTask(ids.taskId, 'completed');
            await assertDoneOnce(server, { ...ids, repo });
        });
});

describe('admission failures', () => {
    withServer('the concurrency counter drifts: it cannot, it is counted from the rows', CONFIG,
        async (server) => {
            const mark = newMark();
            const repo = await server.repository('acme/drift', `${staysIfAsked(mark)}exit 3`,
                { ...ONE, retries: { agentAttempts: 1 } });
            // Ends of every kind, one after the other, and a crash in the middle of one.
            await server.finish(repo.name, 'failed');
            const ids = await server.submit(repo.name, { description: 'stay here' });
            await untilAsleep(mark);
            await server.post(`/v1/tasks/${ids.taskId}/cancel`);
            await restart(server);
            await server.untilTask(ids.taskId, 'cancelled');
            await server.finish(repo.name, 'failed');
            const { checks } = await server.get('/v1/doctor');
            const slots = checks.find(({ name }) => name === 'slots');
            assert.deepEqual([slots.lookedAt, slots.bad], [0, 0]);
        });
});
