// sagas.test.mjs - steps with compensations: done in order, undone in reverse, exactly once each,
// whatever dies on the way; and a publish that leaves no branch behind.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { UUID } from './lib/cloudevents.mjs';
import { dice } from './lib/dice.mjs';
import { branches, fixes, git } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
let sagas = 0;
const nobody = '0190b6a0-0000-7000-8000-000000000000';
const RESTS = ['completed', 'compensated', 'stuck'];

// Reserve a budget, order, submit, track, deliver; tracking only looks and cannot be undone.
const STEPS = ['reserve', 'order', 'submit', 'track', 'deliver'];
const undoable = (name) => name !== 'track';

function purchase(options = {}) {
    const queue = `buy${++sagas}`;
    const steps = STEPS.map((name) => ({
        name,
        queue: `${queue}.do`,
        type: name,
        payload: { item: 'lamp', name },
        maxAttempts: 1,
        ...(undoable(name) && { compensation: {
            queue: `${queue}.undo`, type: `undo-${name}`, payload: { name }, maxAttempts: 1,
        } }),
    }));
    return { queue, body: { name: 'purchase', steps, ...options } };
}

const saga = (id) => server.get(`/v1/sagas/${id}`);
const told = ({ headers: { phase, step } }) => (phase === 'compensation' ? `~${step}` : step);
const story = ({ history }) => history
    .map((each) => `${told({ headers: each })}${{ succeeded: '+', failed: '-' }[each.status]}`)
    .join(' ');

async function leaseOne(queue, waitMs = 30_000) {
    const body = { queues: [`${queue}.do`, `${queue}.undo`], worker: 'w', max: 1, waitMs,
        leaseMs: 60_000 };
    const [job] = (await server.post('/v1/jobs/lease', body)).jobs;
    return job;
}

async function settle({ id, epoch }, good, result) {
    const error = { code: 'E_SHOP', message: 'the shop is closed', retryable: false };
    const verb = good ? 'complete' : 'fail';
    const job = good ? { id, epoch, result } : { id, epoch, error };
    const [answer] = (await server.post(`/v1/jobs/${verb}`, { jobs: [job] })).jobs;
    assert.ok(answer.ok, JSON.stringify(answer));
}

// Works on what the saga makes until it rests; jobs named in `bad` fail.  What was done, in order.
async function drive(queue, id, bad = []) {
    const seen = [];
    for (;;) {
        const now = await saga(id);
        if (RESTS.includes(now.status)) return { now, seen };
        const job = await leaseOne(queue);
        assert.ok(job, `nothing to do while ${now.status}`);
        const name = told(job);
        seen.push(name);
        await settle(job, !bad.includes(name), { did: job.type });
    }
}

async function begin(options) {
    const { queue, body } = purchase(options);
    const { id, status } = await server.post('/v1/sagas', body);
    assert.match(id, UUID);
    assert.equal(status, 'running');
    return { queue, id };
}

async function sagaEvents(id) {
    const events = await server.list('/v1/events?limit=200');
    return events.filter((event) => event.subject === `saga/${id}`)
        .map((event) => event.type.replace('agent.saga.', ''));
}

function cli(...args) {
    const env = plainEnv({ NO_COLOR: '1', DROVER_URL: server.url, DROVER_TOKEN: server.token });
    return execFileSync(BIN, args, { env, encoding: 'utf8' });
}

before(async () => {
    server = await start({ args: ['--workers', '1'] });
});
after(() => server.discard());

describe('a saga', { concurrency: 8 }, () => {
    it('completes when all its steps do, one after the other', async () => {
        const { queue, id } = await begin();
        const { now, seen } = await drive(queue, id);
        assert.equal(now.status, 'completed');
        assert.deepEqual(seen, STEPS);
        assert.equal(story(now), STEPS.map((name) => `${name}+`).join(' '));
        assert.deepEqual(now.history.map((each) => each.result), STEPS.map((did) => ({ did })));
        assert.equal(now.errorCode, null);
        assert.deepEqual(await sagaEvents(id), ['started', 'completed']);
    });

    for (const [at, bad] of STEPS.entries()) {
        it(`that fails at ${bad} undoes what succeeded, in reverse`, async () => {
            const { queue, id } = await begin();
            const { now, seen } = await drive(queue, id, [bad]);
            const good = STEPS.slice(0, at);
            const undone = good.filter(undoable).reverse().map((name) => `~${name}`);
            assert.deepEqual(seen, [...good, bad, ...undone]);
            assert.equal(now.status, 'compensated');
            assert.deepEqual([now.errorCode, now.errorMessage], ['E_SHOP', 'the shop is closed']);
            assert.deepEqual(now.history[at].error,
                { code: 'E_SHOP', message: 'the shop is closed' });
        });
    }

    it('hands on what earlier steps found', async () => {
        const { queue, id } = await begin();
        await settle(await leaseOne(queue), true, { amount: 90 });
        const job = await leaseOne(queue);
        assert.deepEqual(job.payload, { item: 'lamp', name: 'order' });
        assert.deepEqual(job.headers, { sagaId: id, saga: 'purchase', step: 'order', phase: 'step',
            results: { reserve: { amount: 90 } } });
        assert.equal((await server.get(`/v1/jobs/${job.id}`)).sagaId, id);
        await settle(job, false);
        assert.equal((await drive(queue, id)).now.status, 'compensated');
    });

    it('whose compensation dies is stuck, with its history in the dead letter, until a replay',
        async () => {
            const { queue, id } = await begin();
            const { now, seen } = await drive(queue, id, ['track', '~order']);
            assert.equal(now.status, 'stuck');
            assert.deepEqual(seen, ['reserve', 'order', 'submit', 'track', '~submit', '~order']);
            const again = await server.call('POST', `/v1/sagas/${id}/cancel`, { body: {} });
            assertProblem(again, 409, { code: 'SAGA_STUCK' });
            const letter = await server.get(`/v1/dead-letters/${now.jobId}`);
            assert.equal(letter.saga.id, id);
            assert.equal(letter.saga.status, 'stuck');
            assert.deepEqual(letter.saga.history, now.history);
            assert.equal(story(letter.saga), 'reserve+ order+ submit+ track- ~submit+ ~order-');
            // The step that failed is history; its compensations run already.
            const track = now.history.find((each) => each.step === 'track');
            const refused = await server.post('/v1/dead-letters/replay', { ids: [track.jobId] });
            assert.deepEqual([refused.replayed, refused.items[0].code], [0, 'SAGA_MOVED_ON']);
            const replay = await server.post('/v1/dead-letters/replay', { ids: [now.jobId] });
            assert.equal(replay.replayed, 1);
            await settle(await leaseOne(queue), true);
            const end = await drive(queue, id);
            assert.equal(end.now.status, 'compensated');
            assert.deepEqual(end.seen, ['~reserve']);
            assert.deepEqual(await sagaEvents(id),
                ['started', 'compensating', 'stuck', 'compensating', 'compensated']);
        });

    it('that is cancelled lets the step in flight end, and undoes it with the others', async () => {
        const { queue, id } = await begin();
        await settle(await leaseOne(queue), true);
        const order = await leaseOne(queue);
        const answer = await server.post(`/v1/sagas/${id}/cancel`, { reason: 'too dear' });
        assert.deepEqual(answer, { id, status: 'compensating' });
        await settle(order, true);
        const { now, seen } = await drive(queue, id);
        assert.deepEqual(seen, ['~order', '~reserve']);
        assert.equal(now.errorCode, 'cancelled');
        assert.match(now.errorMessage, /too dear/);
        const again = await server.call('POST', `/v1/sagas/${id}/cancel`, { body: {} });
        assertProblem(again, 409, { code: 'SAGA_FINISHED' });
    });

    it('that is cancelled before anybody began is over at once', async () => {
        const { queue, id } = await begin();
        assert.equal((await server.post(`/v1/sagas/${id}/cancel`)).status, 'compensated');
        const { jobs } = await server.post('/v1/jobs/lease',
            { queues: [`${queue}.do`], worker: 'w', max: 1 });
        assert.deepEqual(jobs, []);
    });

    it('with a dedup key that is known is the same saga', async () => {
        const { body } = purchase({ dedupKey: 'order-7' });
        const first = await server.call('POST', '/v1/sagas', { body });
        const again = await server.call('POST', '/v1/sagas', { body });
        assert.deepEqual([first.status, again.status], [201, 200]);
        assert.deepEqual(again.json, { ...first.json, duplicate: true });
        await server.post(`/v1/sagas/${first.json.id}/cancel`);
    });

    it('is refused by a queue that is full, and goes on through one', async () => {
        const { queue, body } = purchase();
        const limit = (name) => server.ok('PUT', `/v1/queues/${queue}.${name}`, { maxLength: 1 });
        const fill = (name) => server.post('/v1/jobs',
            { jobs: [{ queue: `${queue}.${name}`, type: 'other', priority: 900 }] });
        await Promise.all([limit('do'), limit('undo')]);
        await fill('undo');
        const { id } = await server.post('/v1/sagas', body);
        const res = await server.call('POST', '/v1/sagas', { body });
        assertProblem(res, 429, { code: 'QUEUE_FULL' });
        const next = async (name) => {
            const call = { queues: [`${queue}.${name}`], worker: 'w', max: 1, waitMs: 30_000 };
            const [job] = (await server.post('/v1/jobs/lease', call)).jobs;
            assert.equal(job.headers?.sagaId, id);
            return job;
        };
        const first = await next('do');
        await fill('do');
        await settle(first, true);
        await settle(await next('do'), false);
        await settle(await next('undo'), true);
        assert.equal((await saga(id)).status, 'compensated');
    });

    it('that makes no sense is refused by the name of the field', async () => {
        const step = { name: 'a', queue: 'q', type: 't' };
        const refusals = [
            [{ steps: [step] }, 'name'],
            [{ name: 'x' }, 'steps'],
            [{ name: 'x', steps: [] }, 'steps'],
            [{ name: 'x', steps: [step], more: 1 }, 'more'],
            [{ name: 'x', steps: [step, step] }, 'steps[1].name'],
            [{ name: 'x', steps: [{ ...step, queue: 'drover.publish' }] }, 'steps[0].queue'],
            [{ name: 'x', steps: [{ ...step, compensation: { ...step, name: undefined,
                queue: 'drover.x' } }] }, 'steps[0].compensation.queue'],
            [{ name: 'x', steps: [{ ...step, payload: 'y'.repeat(300_000) }] }, 'steps'],
        ];
        for (const [body, field] of refusals) {
            const res = await server.call('POST', '/v1/sagas', { body });
            assertProblem(res, 422, { field });
        }
        assertProblem(await server.call('GET', `/v1/sagas/${nobody}`), 404);
        assertProblem(await server.call('POST', `/v1/sagas/${nobody}/cancel`, { body: {} }), 404);
        assertProblem(await server.call('GET', '/v1/sagas?status=odd'), 400);
    });

    it('is started, listed, shown and cancelled on the command line', async () => {
        const { queue, body } = purchase({ name: 'by hand' });
        const file = join(server.dir, 'purchase.json');
        writeFileSync(file, JSON.stringify(body));
        const { id } = JSON.parse(cli('saga', 'start', file, '--json'));
        await settle(await leaseOne(queue), true, { amount: 90 });
        const listed = JSON.parse(cli('sagas', '--name', 'by hand', '--status', 'running',
            '--json'));
        assert.deepEqual(listed.items.map((item) => item.id), [id]);
        assert.match(cli('sagas', '--name', 'by hand'), /running +by hand/);
        const shown = cli('saga', 'show', id);
        assert.match(shown, /1 +reserve +step +succeeded .*\{"amount":90\}/);
        assert.match(shown, /2 +order +step +running/);
        assert.match(cli('saga', 'cancel', id, '--reason', 'no'), /is compensating/);
        assert.equal((await drive(queue, id)).now.status, 'compensated');
        const { steps } = JSON.parse(cli('saga', 'show', id, '--json'));
        assert.deepEqual(steps, body.steps);
    });
});

describe('many sagas', () => {
    // A tenth of the steps fail, and most sagas are cancelled at some moment.
    it('at once, worked on and cancelled by many, undo exactly what was done', async () => {
        const roll = dice(7);
        const { queue, body } = purchase({ name: 'many' });
        const started = Array.from({ length: 30 }, () => server.post('/v1/sagas', body));
        const ids = (await Promise.all(started)).map(({ id }) => id);
        let over = false;
        const consume = async () => {
            while (!over) {
                const job = await leaseOne(queue, 100);
                if (job) await settle(job, job.headers.phase !== 'step' || roll() > 0.1);
            }
        };
        const consumers = [1, 2, 3, 4].map(consume);
        await Promise.all(ids.map(async (id) => {
            await sleep(500 * roll());
            const res = await server.call('POST', `/v1/sagas/${id}/cancel`, { body: {} });
            assert.ok([200, 409].includes(res.status), res.text);
        }));
        const ended = await until('all of them to end', async () => {
            const all = await Promise.all(ids.map(saga));
            return all.every(({ status }) => RESTS.includes(status)) && all;
        });
        over = true;
        await Promise.all(consumers);
        for (const { status, history } of ended) {
            const named = (phase) => history.filter((each) => each.phase === phase
                && each.status === 'succeeded').map((each) => each.step);
            const undone = named('step').filter(undoable).reverse();
            assert.deepEqual(named('compensation'), status === 'completed' ? [] : undone);
        }
    });
});

describe('a saga of drover\'s own', { concurrency: 4 }, () => {
    const noRetries = { retries: { prRetries: 0 } };
    const sagasOf = (runId) => server.list(`/v1/sagas?runId=${runId}`);
    const untilSaga = (runId, status) => until(`the saga of ${runId} to be ${status}`,
        async (note) => note(await sagasOf(runId)).find((each) => each.status === status));

    it('takes the branch back when the pull request cannot be opened', async () => {
        const { name, origin } = await server.repository('acme/closed', fixes, noRetries);
        git(origin, 'update-ref', 'refs/pull', 'main'); // Nothing can be made below it.
        const { runId, run } = await server.finish(name, 'failed');
        assert.equal(run.errorCode, 'publish_failed');
        const { id } = await untilSaga(runId, 'compensated');
        assert.deepEqual(branches(origin), []);
        const shown = await saga(id);
        assert.deepEqual([shown.name, shown.runId], ['publish', runId]);
        assert.equal(story(shown), 'branch+ pull_request- ~pull_request+ ~branch+');
        assert.deepEqual(shown.history.map(({ result }) => result ?? null), [{ outcome: 'done' },
            null, { branch: run.branch, outcome: 'absent' },
            { branch: run.branch, outcome: 'deleted' }]);
        const { groups } = await server.get(`/v1/runs/${runId}/timeline`);
        assert.match(JSON.stringify(groups),
            /publishing failed \(branch done, pull request failed: /);
        // The next run of the task has a branch of its own, and no saga.
        git(origin, 'update-ref', '-d', 'refs/pull');
        const task = await server.post(`/v1/tasks/${run.taskId}/retry`);
        await server.untilRun(task.runId, 'completed');
        const [{ parts }] = await server.dataOf(task.runId, 'agent.pr.created');
        assert.deepEqual(parts.map(({ part, outcome }) => `${part} ${outcome}`),
            ['branch done', 'pull_request done', 'recorded done']);
        assert.equal(branches(origin).length, 1);
        assert.deepEqual(await sagasOf(task.runId), []);
    });

    it('that cannot take it back is stuck until it is replayed', async () => {
        await server.ok('PUT', '/v1/queues/drover.unpublish', { maxAttempts: 1 });
        const { name, origin } = await server.repository('acme/locked', fixes, noRetries);
        const lock = join(origin, 'drover-pulls.lock');
        mkdirSync(lock); // No lock can be taken there.
        const { runId } = await server.finish(name, 'failed');
        const { id, jobId } = await untilSaga(runId, 'stuck');
        assert.equal(branches(origin).length, 1);
        const { saga: seen } = await server.get(`/v1/dead-letters/${jobId}`);
        assert.equal(story(seen), 'branch+ pull_request- ~pull_request-');
        rmdirSync(lock);
        const replay = await server.post('/v1/dead-letters/replay', { ids: [jobId] });
        assert.equal(replay.replayed, 1);
        await untilSaga(runId, 'compensated');
        assert.equal(story(await saga(id)), 'branch+ pull_request- ~pull_request+ ~branch+');
        assert.deepEqual(branches(origin), []);
    });
});

describe('a server that is killed', () => {
    it('goes on with its sagas where they were, each step once', async () => {
        const kept = server;
        server = await start({ args: ['--workers', '1'] });
        try {
            const { queue, id } = await begin();
            await settle(await leaseOne(queue), true);
            const order = await leaseOne(queue);
            await server.crash();
            await server.startAgain();
            await settle(order, true); // The lease has lived on.
            await settle(await leaseOne(queue), false);
            await server.crash();
            await server.startAgain();
            const { now, seen } = await drive(queue, id);
            assert.deepEqual(seen, ['~order', '~reserve']);
            assert.equal(story(now), 'reserve+ order+ submit- ~order+ ~reserve+');
            await server.discard();
        } finally {
            server = kept;
        }
    });
});
