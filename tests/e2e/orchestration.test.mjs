// orchestration.test.mjs - asynchronous orchestration: a state transition, the outbox, a crash, an
// event that comes twice and one that comes too late.  A worker is played by hand, a sink is what
// the relay of the outbox delivers to; while its directory is missing it gets nothing.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertHistory, assertInOrder, typesOf } from './lib/cloudevents.mjs';
import { fixes } from './lib/git.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';
import { HandWorker, STEPS } from './lib/worker.mjs';

// A server without workers, its sink, and a run of it that waits for its first step.
function withRun(name, body) {
    it(name, async () => {
        const dir = join(makeDirectory(), 'broker');
        const path = join(dir, 'events.ndjson');
        const config = `workers: 0\nsinks:\n  - {name: broker, type: file, path: ${path}}\n`;
        const server = await start({ config });
        const broker = {
            start: () => mkdirSync(dir),
            received: () => (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n')
                .slice(0, -1).map((line) => JSON.parse(line)),
            status: async () => (await server.list('/v1/sinks'))[0],
            untilCaughtUp: () => until('the relay to have delivered everything', async (note) => {
                const status = note(await broker.status());
                return status.state === 'running' && status.lag === 0;
            }),
        };
        try {
            const repo = await server.repository('acme/orchestra', fixes);
            const ids = await server.submit(repo.name);
            await body({ server, broker, worker: new HandWorker(server, 'hand'), ...ids });
            // What was published by hand is not there.
            const { status } = await server.run(ids.runId);
            await server.discard({ findings: status === 'completed' ? ['forge'] : [] });
        } finally {
            server.killNow();
        }
    });
}

const countOf = async (server, runId, type) =>
    typesOf(await server.events(runId)).filter((each) => each === type).length;

const verifications = async (server, runId) =>
    (await server.list(`/v1/jobs?queue=drover.verify&limit=200`))
        .filter((job) => job.runId === runId);

async function finish(worker, server, { from, runId, taskId }) {
    for (const step of STEPS.slice(STEPS.indexOf(from)))
        assert.equal((await worker.complete(await worker.take(step, runId))).ok, true, step);
    await server.untilTask(taskId, 'completed');
}

describe('asynchronous orchestration', { concurrency: 5 }, () => {
    withRun('state transition: a created patch schedules verification, and the run is verifying',
        async ({ server, worker, runId }) => {
            await worker.walkTo('agent', runId);
            const job = await worker.take('agent', runId);
            assert.equal((await server.run(runId)).status, 'running');
            assert.deepEqual(await verifications(server, runId), []);
            assert.equal((await worker.complete(job)).ok, true);
            assert.equal((await server.run(runId)).status, 'verifying');
            assert.deepEqual((await verifications(server, runId)).map(({ state }) => state),
                ['queued']);
            const events = await server.events(runId);
            assertInOrder(typesOf(events), ['agent.patch.created', 'agent.run.status.changed']);
            const { data } = events.at(-1);
            assert.deepEqual([data.fromStatus, data.toStatus, data.workerId],
                ['running', 'verifying', 'hand']);
        });

    withRun('outbox integration: what a submission commits is logged, and the relay delivers it',
        async ({ server, broker, runId, taskId }) => {
            const wanted = ['agent.task.submitted', 'agent.task.validated', 'agent.task.accepted',
                'agent.run.queued', 'agent.task.queued'];
            const log = (await server.events(runId)).slice(0, wanted.length);
            assert.deepEqual(typesOf(log), wanted);
            assert.equal(log[3].causationid, log[2].id, 'caused by the acceptance');
            await until('the relay to have tried', async () =>
                (await broker.status()).state === 'retrying');
            assert.ok((await broker.status()).lag >= wanted.length);
            assert.deepEqual(broker.received(), []);
            broker.start();
            await broker.untilCaughtUp();
            const received = broker.received().filter((event) => event.taskid === taskId);
            assert.deepEqual(received.slice(0, wanted.length), log);
        });

    withRun('crash: the event of a patch is delivered, though the process died before it could be',
        async ({ server, broker, worker, runId, taskId }) => {
            await worker.walkTo('agent', runId);
            assert.equal((await worker.complete(await worker.take('agent', runId))).ok, true);
            assert.deepEqual(broker.received(), []);
            await server.crash();
            broker.start();
            await server.startAgain();
            const { patches } = await server.run(runId);
            assert.deepEqual(patches.map(({ status }) => status), ['created']);
            await broker.untilCaughtUp();
            const received = broker.received().filter((event) => event.taskid === taskId);
            assertHistory(received);
            assert.equal(typesOf(received).filter((type) => type === 'agent.patch.created').length,
                1);
            await finish(worker, server, { from: 'verify', runId, taskId });
        });

    withRun('duplicate event: a patch that is reported twice is verified once',
        async ({ server, worker, runId, taskId }) => {
            await worker.walkTo('agent', runId);
            const job = await worker.take('agent', runId);
            const result = await worker.result(job);
            const answers = await Promise.all([1, 2, 3].map(() => worker.claim(job, result)));
            assert.ok(answers.every(({ ok }) => ok), JSON.stringify(answers));
            assert.equal(await countOf(server, runId, 'agent.patch.created'), 1);
            assert.equal((await verifications(server, runId)).length, 1);
            // A copy of the event that comes back is none: consumers do not write drover's facts.
            const [patch] = (await server.events(runId))
                .filter(({ type }) => type === 'agent.patch.created');
            const { specversion, id, source, type, subject, data } = patch;
            const copy = { specversion, id, source, type, subject, data, runid: runId };
            const { status } = await server.call('POST', '/v1/events', { body: copy });
            assert.ok(status >= 400 && status < 500, `${status}`);
            await finish(worker, server, { from: 'verify', runId, taskId });
            assert.equal((await verifications(server, runId)).length, 1);
            assert.equal(await countOf(server, runId, 'agent.verification.passed'), 1);
        });

    withRun('out-of-order event: a patch that is reported after its verification changes nothing',
        async ({ server, worker, runId, taskId }) => {
            await worker.walkTo('agent', runId);
            const slow = new HandWorker(server, 'slow');
            const late = await slow.take('agent', runId, 1000);
            const result = await slow.result(late);
            await server.untilEvent(runId, 'agent.run.heartbeat.missed');
            for (const step of ['prepare', 'agent', 'verify'])
                assert.equal((await worker.complete(await worker.take(step, runId))).ok, true);
            assert.equal((await server.run(runId)).status, 'judging');
            const before = await server.events(runId);
            assert.equal((await slow.claim(late, result)).code, 'LEASE_LOST');
            assert.deepEqual(await server.events(runId), before);
            await finish(worker, server, { from: 'judge', runId, taskId });
            const events = await server.events(runId);
            assertHistory(events);
            assertInOrder(typesOf(events), ['agent.run.recovered', 'agent.patch.created',
                'agent.verification.passed', 'agent.patch.published', 'agent.run.completed']);
            assert.equal(await countOf(server, runId, 'agent.patch.created'), 1);
            const tries = events.filter(({ type, data }) =>
                type === 'agent.step.started' && data.step === 'agent');
            assert.equal(new Set(tries.map(({ attemptid }) => attemptid)).size, 2);
        });
});
