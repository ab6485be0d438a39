// rollback.test.mjs - what was not committed reaches nobody: the disk is full for a while, and
// leases and requests that wait through it end, or go on, without what was rolled back.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe } from 'node:test';
import { ENGINE, sql } from './lib/database.mjs';
import { request } from './lib/http.mjs';
import { withServer } from './lib/own.mjs';
import { until } from './lib/wait.mjs';

const QUEUE = 'mail';
const OPTIONS = { args: ['--workers', '0'] };
const WAIT_MS = 6000; // Of leases: the failures that they wait through come within it.

// ---- a full disk -----------------------------------------------------------------------------

// PostgreSQL: a constraint that is checked at the commit, and fails while the table has a row.
const ARM = `CREATE TABLE fault (n int);
    CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT 1 FROM fault) THEN
            RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END IF;
        RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER strike AFTER INSERT OR UPDATE ON jobs
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION strike();
    CREATE CONSTRAINT TRIGGER strike AFTER INSERT OR UPDATE ON requests
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION strike();`;

function armDisk(server) {
    if (ENGINE === 'postgres') sql(ARM, server.db);
}

function fillDisk(server, full) {
    if (ENGINE === 'postgres')
        sql(full ? 'INSERT INTO fault VALUES (1)' : 'DELETE FROM fault', server.db);
    else // Files may not grow any more.
        execFileSync('prlimit', ['--pid', String(server.child.pid),
            `--fsize=${full ? 1 : 'unlimited'}:unlimited`]);
}

// ---- clients ---------------------------------------------------------------------------------

async function metric(server, name) {
    const { text } = await server.call('GET', '/metrics');
    return Number(text.match(new RegExp(`^${name} (\\d+)`, 'm'))[1]);
}
const untilParked = (server, count) => until(`${count} to wait`, async (note) =>
    note(await metric(server, 'drover_committer_parked')) === count);

// On a connection of its own, which a server that stops does not close before it has answered.
function post(server, path, body) {
    const headers = { authorization: `Bearer ${server.token}` };
    return request(server.url + path, { method: 'POST', headers, body, agent: false });
}
const lease = (server, worker, waitMs = WAIT_MS) => post(server, '/v1/jobs/lease',
    { queues: [QUEUE], worker, max: 5, waitMs, leaseMs: 60_000 });
const enqueue = (server, more = {}) => post(server, '/v1/jobs',
    { jobs: [{ queue: QUEUE, type: 'send', payload: {}, ...more }] });
const jobsOf = (server) => server.list(`/v1/jobs?queue=${QUEUE}`);

function assertFull(answer) {
    assert.ok(answer.status >= 500, answer.text);
    assert.match(answer.json.code, /^STORE_/);
}

function assertEmpty(answer) {
    assert.deepEqual([answer.status, answer.json?.jobs], [200, []], answer.text);
}

// A request that waits, the id of which is in its message.
async function ask(server, topic) {
    await server.ok('PUT', '/v1/subscriptions/s', { pattern: topic, queue: 'asked' });
    const answer = post(server, `/v1/topics/${topic}/request`, { payload: 1, timeoutMs: 60_000 });
    const [{ headers }] = await until('the message', async () => {
        const { json } = await post(server, '/v1/jobs/lease',
            { queues: ['asked'], worker: 'w', max: 1, waitMs: 0, leaseMs: 60_000 });
        return json.jobs.length > 0 && json.jobs;
    });
    return { answer, id: headers.correlationId };
}

// ---- what holds ------------------------------------------------------------------------------

describe('while the disk is full', { concurrency: 2 }, () => {
    withServer('a job that was not taken is handed to no lease', OPTIONS, async (server) => {
        armDisk(server);
        const waiting = lease(server, 'waits');
        await untilParked(server, 1);
        fillDisk(server, true);
        assertFull(await enqueue(server));
        assertEmpty(await waiting);
        fillDisk(server, false);
        assert.deepEqual(await jobsOf(server), []);
    });

    withServer('a job that comes due is handed out once, afterwards', OPTIONS, async (server) => {
        armDisk(server);
        await enqueue(server, { delayMs: 1500 });
        const waiting = lease(server, 'waits');
        await untilParked(server, 1);
        const before = await metric(server, 'drover_committer_retried_total');
        fillDisk(server, true);
        await until('the timers to fail', async () =>
            (await metric(server, 'drover_committer_retried_total')) > before);
        assertEmpty(await waiting);
        fillDisk(server, false);
        const { json } = await lease(server, 'later', 30_000);
        assert.deepEqual(json.jobs.map(({ epoch }) => epoch), [1]);
        const [{ id, epoch }] = json.jobs;
        const done = await server.post('/v1/jobs/complete', { jobs: [{ id, epoch, result: {} }] });
        assert.equal(done.jobs[0].ok, true);
        assert.deepEqual((await jobsOf(server)).map(({ state }) => state), ['succeeded']);
    });

    withServer('a reply that was not taken reaches no request', OPTIONS, async (server) => {
        armDisk(server);
        const { answer, id } = await ask(server, 'weather');
        await untilParked(server, 1);
        fillDisk(server, true);
        assertFull(await post(server, `/v1/replies/${id}`, { payload: 'lost' }));
        fillDisk(server, false);
        await server.post(`/v1/replies/${id}`, { payload: 'kept' });
        const { status, json } = await answer;
        assert.deepEqual([status, json.payload], [200, 'kept'], JSON.stringify(json));
    });

    withServer('a server that stops hands out nothing that was rolled back', OPTIONS,
        async (server) => {
            armDisk(server);
            const { answer, id } = await ask(server, 'weather');
            const waiting = lease(server, 'waits', 30_000);
            await untilParked(server, 2);
            fillDisk(server, true);
            assertFull(await enqueue(server));
            assertFull(await post(server, `/v1/replies/${id}`, { payload: 'lost' }));
            server.ending = true;
            server.child.kill('SIGTERM');
            assertEmpty(await waiting);
            assert.notEqual((await answer).status, 200);
            await server.exit;
            if (ENGINE === 'postgres') fillDisk(server, false);
            await server.start();
            assert.deepEqual(await jobsOf(server), []);
            await server.post(`/v1/replies/${id}`, { payload: 'kept' });
        });
});
