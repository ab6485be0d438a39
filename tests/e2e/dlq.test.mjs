// dlq.test.mjs - dead letters: how jobs come to them with all that happened, and how they leave.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RFC3339, UUID } from './lib/cloudevents.mjs';
import { on } from './lib/database.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
let queues = 0;
const newQueue = () => `test.dlq${++queues}`;
const nobody = '0190b6a0-0000-7000-8000-000000000000';
const LOSSES = 20;

async function enqueue(queue, payloads, options = {}) {
    const jobs = payloads.map((payload) => ({ queue, type: 'work', payload, ...options }));
    return (await server.post('/v1/jobs', { jobs })).jobs.map((job) => job.id);
}

async function leaseAll(queue, { max = 1000, leaseMs = 60_000, waitMs = 0 } = {}) {
    const body = { queues: [queue], worker: 'w1', max, leaseMs, waitMs };
    return (await server.post('/v1/jobs/lease', body)).jobs;
}

async function leaseOne(queue, leaseMs) {
    const [job] = await until(`a job of ${queue}`, async () => {
        const jobs = await leaseAll(queue, { max: 1, waitMs: 10_000, leaseMs });
        return jobs.length > 0 ? jobs : null;
    });
    return job;
}

async function failAll(jobs, error) {
    const failed = jobs.map(({ id, epoch }) => ({ id, epoch, error: { code: 'E', ...error } }));
    return (await server.post('/v1/jobs/fail', { jobs: failed })).jobs;
}

// Jobs that died at once; their ids in order.
async function bury(queue, payloads, { error = {}, ...options } = {}) {
    const ids = await enqueue(queue, payloads, options);
    await failAll(await leaseAll(queue), { message: 'no', retryable: false, ...error });
    return ids;
}

const letter = (id) => server.get(`/v1/dead-letters/${id}`);
const change = (verb, body) => server.post(`/v1/dead-letters/${verb}`, body);
const stateOf = async (id) => (await server.get(`/v1/jobs/${id}`)).state;

async function list(query) {
    return (await server.get(`/v1/dead-letters?${new URLSearchParams(query)}`)).items;
}

const idsOf = (items) => items.map((item) => item.id);

async function eventsOf(type, id) {
    const { items } = await server.get(`/v1/events?type=${type}&limit=200`);
    return items.filter(({ data }) => data.jobIds.includes(id));
}

// {code, out, err}
function cli(...args) {
    const env = plainEnv({ NO_COLOR: '1', DROVER_URL: server.url, DROVER_TOKEN: server.token });
    return new Promise((resolve) => {
        execFile(BIN, args, { env }, (error, out, err) => {
            resolve({ code: error ? error.code : 0, out, err });
        });
    });
}

async function cliOk(...args) {
    const { code, out, err } = await cli(...args);
    assert.equal(code, 0, `drover ${args.join(' ')}: exit ${code}\n${out}${err}`);
    return out;
}

describe('a dead letter', { concurrency: 8 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '1'] });
    });
    after(() => server.discard());

    it('after its last attempt has every attempt with time and error', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [{ n: 1 }], { maxAttempts: 2 });
        for (const code of ['E_FIRST', 'E_SECOND']) {
            const job = await leaseOne(queue);
            await failAll([job], { code, message: `${code} at 10.0.0.${job.attempt}:80` });
        }
        const dead = await letter(id);
        assert.deepEqual([dead.id, dead.queue, dead.type, dead.reason, dead.payload],
            [id, queue, 'work', 'max_attempts', { n: 1 }]);
        assert.equal(dead.errorCode, 'E_SECOND');
        assert.equal(dead.errorMessage, 'E_SECOND at 10.0.0.2:80');
        assert.equal(dead.errorPattern, 'E_SECOND at <address>');
        assert.deepEqual(dead.attempts.map((each) => [each.attempt, each.outcome, each.worker,
            each.error.code]), [[1, 'failed', 'w1', 'E_FIRST'], [2, 'failed', 'w1', 'E_SECOND']]);
        const [first, last] = dead.attempts;
        assert.deepEqual([dead.firstAt, dead.lastAt], [first.startedAt, last.endedAt]);
        for (const time of [dead.enqueuedAt, dead.diedAt, first.endedAt, last.startedAt])
            assert.match(time, RFC3339);
        assert.equal('archivedAt' in dead || 'runId' in dead || 'sagaId' in dead, false);
    });

    const deaths = [
        ['non_retryable', { retryable: false }],
        ['policy_blocked', { policy: true }],
    ];
    for (const [reason, error] of deaths) {
        it(`is made by one failure: ${reason}`, async () => {
            const queue = newQueue();
            const [id] = await bury(queue, [1], { error: { message: 'no', ...error } });
            const dead = await letter(id);
            assert.equal(dead.reason, reason);
            assert.equal(dead.attempts.length, 1);
            assert.deepEqual(idsOf(await list({ queue, reason })), [id]);
        });
    }

    it('that was never taken was there from its enqueueing to its death', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [1], { ttlMs: 1 });
        const dead = await until('its death', async () => {
            const res = await server.call('GET', `/v1/dead-letters/${id}`);
            return res.status === 200 ? res.json : null;
        });
        assert.deepEqual([dead.reason, dead.attempts, dead.errorCode], ['expired', [], 'expired']);
        assert.deepEqual([dead.firstAt, dead.lastAt], [dead.enqueuedAt, dead.diedAt]);
    });

    // Timers that nodes share look less often: on PostgreSQL it takes long.
    on('sqlite', it)('that lost all its workers is poison, with every loss', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, [1]);
        for (let i = 0; i < LOSSES; i++) await leaseOne(queue, 100);
        await until('its death', async () => (await stateOf(id)) === 'dead_letter');
        const dead = await letter(id);
        assert.equal(dead.reason, 'poison');
        assert.equal(dead.attempts.length, LOSSES);
        assert.ok(dead.attempts.every((each) => each.outcome === 'lost'));
    });

    it('replayed keeps its id and history, works again, and is told of once', async () => {
        const queue = newQueue();
        const [id] = await bury(queue, [{ a: 1 }], { dedupKey: 'once' });
        const answer = await change('replay', { ids: [id] });
        assert.deepEqual(answer, { matched: 1, replayed: 1, remaining: 0, dryRun: false,
            items: [{ id, ok: true }] });
        assert.equal((await server.call('GET', `/v1/dead-letters/${id}`)).status, 404);
        const job = await leaseOne(queue);
        assert.deepEqual([job.id, job.attempt, job.payload], [id, 1, { a: 1 }]);
        assert.ok(job.epoch > 1);
        const again = await server.post('/v1/jobs',
            { jobs: [{ queue, type: 'work', payload: 2, dedupKey: 'once' }] });
        assert.deepEqual(again.jobs, [{ id, duplicate: true }]);
        await server.post('/v1/jobs/complete', { jobs: [{ id, epoch: job.epoch }] });
        const done = await server.get(`/v1/jobs/${id}`);
        assert.deepEqual(done.attempts.map((each) => each.outcome), ['failed', 'succeeded']);
        const [event, ...more] = await eventsOf('agent.job.replayed', id);
        assert.equal(more.length, 0);
        assert.equal(event.subject, `job/${id}`);
        assert.ok(event.actorid);
        assert.equal('transformed' in event.data, false);
    });

    it('with an ordering key waits for the head of its key', async () => {
        const queue = newQueue();
        const [first] = await bury(queue, [1], { orderingKey: 'k' });
        await enqueue(queue, [2, 3], { orderingKey: 'k' });
        await change('replay', { ids: [first] });
        assert.equal(await stateOf(first), 'blocked');
        for (const payload of [2, 1, 3]) {
            const [job, ...more] = await leaseAll(queue);
            assert.deepEqual([job.payload, more], [payload, []]);
            await server.post('/v1/jobs/complete', { jobs: [{ id: job.id, epoch: job.epoch }] });
        }
    });

    it('is changed by a merge patch on its way back', async () => {
        const queue = newQueue();
        const [id] = await bury(queue, [{ to: 'a', cc: 'b', deep: { x: 1, y: 2 } }]);
        const patch = { to: 'c', cc: null, deep: { y: null, z: [3] } };
        await change('replay', { ids: [id], patch });
        const job = await leaseOne(queue);
        assert.deepEqual(job.payload, { to: 'c', deep: { x: 1, z: [3] } });
        const [event] = await eventsOf('agent.job.replayed', id);
        assert.equal(event.data.transformed, true);
    });

    it('that would grow too large is not replayed', async () => {
        const queue = newQueue();
        const half = 'x'.repeat(140 * 1024);
        const [id] = await bury(queue, [{ a: half }]);
        const { replayed, items } = await change('replay', { ids: [id], patch: { b: half } });
        assert.equal(replayed, 0);
        assert.deepEqual([items[0].ok, items[0].code], [false, 'PAYLOAD_TOO_LARGE']);
        assert.equal(await stateOf(id), 'dead_letter');
    });

    it('is found by every field of the filter, page by page', async () => {
        const queue = newQueue();
        const error = { code: 'E_DISK', message: 'no space on /dev/sda1' };
        const ids = await bury(queue, [1, 2, 3], { error, type: 'mail' });
        const [other] = await bury(queue, [4]);
        const { diedAt } = await letter(other);
        const newest = [...ids].reverse();
        assert.deepEqual(idsOf(await list({ queue })), [other, ...newest]);
        const found = [
            { type: 'mail' }, { errorCode: 'E_DISK' }, { pattern: 'no space on <path>' },
            { until: diedAt },
        ];
        for (const query of found)
            assert.deepEqual(idsOf(await list({ queue, ...query })), newest);
        assert.deepEqual(idsOf(await list({ queue, since: diedAt })), [other]);
        const page = await server.get(`/v1/dead-letters?queue=${queue}&limit=3`);
        const rest = await list({ queue, cursor: page.cursor });
        assert.deepEqual(idsOf([...page.items, ...rest]), [other, ...newest]);
        assert.equal('payload' in page.items[0] || 'attempts' in page.items[0], false);
        assert.equal(page.items[0].attemptCount, 1);
    });

    it('by filter: a dry run answers the same and changes nothing', async () => {
        const queue = newQueue();
        const ids = await bury(queue, [1, 2, 3]);
        const dry = await change('replay', { filter: { queue }, dryRun: true });
        assert.equal((await list({ queue })).length, 3);
        assert.deepEqual(await leaseAll(queue), []);
        const real = await change('replay', { filter: { queue } });
        assert.deepEqual({ ...dry, dryRun: false }, real);
        assert.deepEqual([real.matched, real.replayed, real.remaining], [3, 3, 0]);
        assert.deepEqual((await leaseAll(queue)).map((job) => job.id), ids);
        const [event] = await eventsOf('agent.job.replayed', ids[0]);
        assert.deepEqual(event.data,
            { count: 3, jobIds: ids, filter: { queue, archived: false } });
    });

    it('is put aside, and comes back with a replay', async () => {
        const queue = newQueue();
        const [id, other] = await bury(queue, [1, 2]);
        const answer = await change('archive', { ids: [id, nobody] });
        assert.deepEqual([answer.archived, answer.items.map((each) => each.code)],
            [1, [undefined, 'NOT_FOUND']]);
        assert.match((await letter(id)).archivedAt, RFC3339);
        assert.deepEqual(idsOf(await list({ queue })), [other]);
        assert.deepEqual(idsOf(await list({ queue, archived: 'true' })), [id]);
        assert.deepEqual(idsOf(await list({ queue, archived: 'all' })), [other, id]);
        assert.equal((await change('replay', { filter: { queue } })).matched, 1);
        assert.equal((await change('replay', { filter: { queue, archived: true } })).replayed, 1);
        assert.equal((await list({ queue, archived: 'all' })).length, 0);
    });

    it('is purged with its history, by id, by age, by filter', async () => {
        const queue = newQueue();
        const ids = await bury(queue, [1, 2, 3]);
        assert.equal((await change('purge', { ids: [ids[0]] })).purged, 1);
        assert.equal((await server.call('GET', `/v1/jobs/${ids[0]}`)).status, 404);
        const old = { olderThanMs: 3_600_000, filter: { queue } };
        assert.equal((await change('purge', old)).purged, 0);
        const dry = await change('purge', { filter: { queue }, dryRun: true });
        assert.deepEqual([dry.matched, dry.purged], [2, 2]);
        assert.equal((await list({ queue })).length, 2);
        assert.equal((await change('purge', { ...old, olderThanMs: 0 })).purged, 2);
        const [event] = await eventsOf('agent.job.purged', ids[1]);
        assert.deepEqual([event.data.count, event.data.jobIds], [2, ids.slice(1)]);
    });

    it('is grouped with its like, the most frequent first', async () => {
        const queue = newQueue();
        const ids = [];
        for (let i = 0; i < 3; i++) {
            const message = `job ${nobody} failed after ${i + 1} s`;
            ids.push(...await bury(queue, [i], { error: { message } }));
        }
        await bury(queue, [9], { error: { message: 'other' } });
        const { total, groups } = await server.get(`/v1/dead-letters/analysis?queue=${queue}`);
        assert.equal(total, 4);
        assert.deepEqual(groups.map((each) => [each.count, each.errorPattern, each.reason]),
            [[3, 'job <uuid> failed after <n> s', 'non_retryable'],
                [1, 'other', 'non_retryable']]);
        assert.equal(groups[0].exampleId, ids[2]);
        assert.match(groups[0].firstAt, RFC3339);
    });

    it('is told apart from what is none', async () => {
        const queue = newQueue();
        const [alive] = await enqueue(queue, [1]);
        for (const verb of ['replay', 'archive', 'purge']) {
            const { matched, items } = await change(verb, { ids: [alive, nobody] });
            assert.equal(matched, 0);
            assert.deepEqual(items.map((each) => [each.ok, each.code]),
                [[false, 'NOT_DEAD'], [false, 'NOT_FOUND']]);
        }
        assert.equal(await stateOf(alive), 'queued');
    });

    const bad = [
        ['replay', {}, 422], ['replay', { ids: [] }, 422], ['replay', { ids: ['x'] }, 422],
        ['replay', { ids: [nobody], filter: {} }, 422], ['replay', { filter: { color: 1 } }, 422],
        ['replay', { filter: { reason: 'bored' } }, 422],
        ['replay', { filter: { since: 'yesterday' } }, 422],
        ['replay', { filter: { archived: 'perhaps' } }, 422],
        ['replay', { ids: Array(1001).fill(nobody) }, 422],
        ['archive', { ids: [nobody], patch: {} }, 422], ['purge', { dryRun: true }, 422],
        ['purge', { olderThanMs: -1 }, 422], ['purge', { ids: [nobody], olderThanMs: 1 }, 422],
        ['purge', '{', 400],
    ];
    for (const [verb, body, status] of bad) {
        it(`${verb} refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
            assertProblem(await server.call('POST', `/v1/dead-letters/${verb}`, { body }), status);
        });
    }

    for (const query of ['reason=bored', 'archived=perhaps', 'since=x', 'color=red', 'cursor=x']) {
        it(`a listing refuses ${query}`, async () => {
            assertProblem(await server.call('GET', `/v1/dead-letters?${query}`), 400);
        });
    }

    it('is changed by operators and only seen by viewers', async () => {
        const { token } = await server.post('/v1/tokens', { name: 'eyes', role: 'viewer' });
        const body = { ids: [nobody] };
        assert.equal((await server.call('GET', '/v1/dead-letters', { token })).status, 200);
        for (const verb of ['replay', 'archive', 'purge'])
            assertProblem(
                await server.call('POST', `/v1/dead-letters/${verb}`, { body, token }), 403);
    });

    it('is handled on the command line', async () => {
        const queue = newQueue();
        const error = { message: 'no route to 10.1.1.1' };
        const ids = await bury(queue, [{ n: 1 }, { n: 2 }, { n: 3 }], { error });
        const table = await cliOk('dlq', 'list', '--queue', queue);
        assert.match(table, /non_retryable +1 .*no route to 10\.1\.1\.1/);
        const shown = await cliOk('dlq', 'show', ids[0]);
        assert.match(shown, /\{"n":1\}/);
        assert.match(shown, /w1 .*failed/);
        assert.match(await cliOk('dlq', 'analyze', '--queue', queue), /3 .*no route to <address>/);
        assert.equal(JSON.parse(await cliOk('dlq', 'list', '--queue', queue, '--json'))
            .items.length, 3);
        assert.match(await cliOk('dlq', 'replay', '--queue', queue, '--dry-run'),
            /Would replay 3 dead letters/);
        const file = join(server.dir, 'patch.json');
        writeFileSync(file, '{"n":7}');
        assert.match(await cliOk('dlq', 'replay', ids[0], '--patch', `@${file}`),
            /Replayed 1 of 1/);
        assert.deepEqual((await leaseOne(queue)).payload, { n: 7 });
        assert.match(await cliOk('dlq', 'archive', ids[1]), /Archived 1 of 1/);
        const missing = await cli('dlq', 'replay', nobody);
        assert.equal(missing.code, 4);
        assert.match(missing.err, /there is no such job \(NOT_FOUND\)/);
        for (const args of [['replay'], ['purge', '--queue', queue], ['replay', ids[2], '--all'],
            ['purge', '--older-than', 'long'], ['list', '--since', 'x']])
            assert.equal((await cli('dlq', ...args)).code, 2, args.join(' '));
        assert.match(await cliOk('dlq', 'purge', '--queue', queue, '--older-than', '0s', '--yes'),
            /Deleted 2 of 2/);
        assert.match(await cliOk('dlq', 'list', '--queue', queue), /No dead letters/);
    });
});

describe('dead letters when the server is killed', () => {
    before(async () => {
        server = await start({ args: ['--workers', '1'] });
    });
    after(() => server.discard());

    it('are each in one place: replayed for good, or still dead', async () => {
        const queue = newQueue();
        const ids = await bury(queue, Array.from({ length: 60 }, (_, i) => i));
        assert.ok(ids.every((id) => UUID.test(id)));
        const told = await change('replay', { ids: ids.slice(0, 20) });
        assert.equal(told.replayed, 20);
        const lost = change('replay', { ids: ids.slice(20, 40) }).catch(() => null);
        await server.crash();
        const answered = await lost;
        await server.start();
        const dead = new Set(idsOf(await list({ queue, limit: 200 })));
        const alive = new Set((await leaseAll(queue)).map((job) => job.id));
        for (const id of ids) assert.equal(dead.has(id), !alive.has(id), id);
        assert.ok(ids.slice(0, 20).every((id) => alive.has(id)));
        assert.ok(ids.slice(40).every((id) => dead.has(id)));
        const middle = ids.slice(20, 40).filter((id) => alive.has(id)).length;
        assert.ok(answered ? middle === 20 : middle === 0 || middle === 20, `${middle} of 20`);
    });
});
