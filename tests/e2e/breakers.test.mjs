// breakers.test.mjs - circuit breakers round a vendor that counts its calls and round the forge,
// and repositories in quarantine.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fixes } from './lib/git.mjs';
import { assertProblem, request } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

let server;

const path = (name, action = '') => `/v1/breakers/${encodeURIComponent(name)}${action}`;
const breaker = (name) => server.get(path(name));
const configure = (name, rules) => server.ok('PUT', path(name), rules);
const job = (id) => server.get(`/v1/jobs/${id}`);

// Something outside that is up or down, and counts who calls.
async function openVendor() {
    const vendor = { up: false, calls: 0 };
    const service = await openService(() => {
        vendor.calls++;
        return { status: vendor.up ? 200 : 503 };
    });
    return Object.assign(vendor, service);
}

async function enqueue(queue, count, options = {}) {
    const one = { queue, type: 'call', maxAttempts: 1, ...options };
    const { jobs } = await server.post('/v1/jobs', { jobs: Array(count).fill(one) });
    return jobs.map(({ id }) => id);
}

const lease = async (queue, waitMs = 0) => (await server.post('/v1/jobs/lease',
    { queues: [queue], worker: 'caller', max: 8, waitMs, leaseMs: 30_000 })).jobs;

// Takes what is there and calls the vendor for each.
async function consume(queue, vendor, waitMs = 0) {
    const jobs = await lease(queue, waitMs);
    for (const { id, epoch } of jobs) {
        const { status } = await request(vendor.url, { agent: false });
        const error = { code: 'vendor_down', message: `answered ${status}` };
        if (status === 200) await server.post('/v1/jobs/complete', { jobs: [{ id, epoch }] });
        else await server.post('/v1/jobs/fail', { jobs: [{ id, epoch, error }] });
    }
    return jobs.length;
}

const allIn = (ids, state) => until(`${ids.length} jobs to be ${state}`, async (note) => {
    const states = note((await Promise.all(ids.map(job))).map((each) => each.state));
    return states.every((each) => each === state);
});

async function changesOf(name) {
    const { items } = await server.get('/v1/events?limit=200');
    return items.filter(({ subject }) => subject === `breaker/${name}`)
        .sort((a, b) => a.logseq - b.logseq);
}

async function cli(...args) {
    const child = spawn(BIN, [...args, '--data', server.data], { env: plainEnv() });
    let text = '';
    child.stdout.on('data', (bytes) => { text += bytes; });
    child.stderr.on('data', (bytes) => { text += bytes; });
    const [status] = await once(child, 'close');
    return { status, text };
}

describe('a breaker', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '3'] });
    });
    after(() => server.discard());

    // Two calls fail: that is enough here.
    async function breakIt(name, rules = {}) {
        await configure(name, { failures: 2, openMs: 60_000, successes: 3, probes: 3, ...rules });
        await enqueue(name, 2, { dependency: name });
        for (const { id, epoch } of await lease(name)) {
            const error = { code: 'vendor_down', message: 'no answer' };
            await server.post('/v1/jobs/fail', { jobs: [{ id, epoch, error }] });
        }
        assert.equal((await breaker(name)).state, 'open');
    }

    it('lets no call through while open, closes by itself, and loses no attempt', async () => {
        await withRoom(2000, letsNoCallThrough);
    });

    async function letsNoCallThrough(openMs) {
        const name = `vendor.counted-${openMs}`;
        const vendor = await openVendor();
        await configure(name, { failures: 2, openMs, successes: 3, probes: 2 });
        await enqueue(name, 2, { dependency: name });
        const began = Date.now();
        assert.equal(await consume(name, vendor), 2);
        assert.equal(vendor.calls, 2);
        const ids = await enqueue(name, 20, { dependency: name });
        const consumedWhileOpen = await consume(name, vendor);
        const { state } = await job(ids[0]);
        const { state: position } = await breaker(name);
        if (Date.now() - began >= openMs) {
            vendor.close();
            throw new TooSlow('it is half open again');
        }
        assert.deepEqual([consumedWhileOpen, state, position], [0, 'scheduled', 'open']);
        assert.equal(vendor.calls, 2, 'calls while it was open');
        vendor.up = true;
        await until('the jobs to be done', async () => {
            await consume(name, vendor, 2000);
            return vendor.calls >= 22;
        });
        await allIn(ids, 'succeeded');
        vendor.close();
        assert.equal(vendor.calls, 22, 'each was called for exactly once');
        const { attempts } = await job(ids[0]);
        assert.equal(attempts.length, 1);
        const changes = await changesOf(name);
        assert.deepEqual(changes.map(({ type }) => type), ['agent.breaker.opened',
            'agent.breaker.half_opened', 'agent.breaker.closed']);
        assert.deepEqual(changes.map(({ data }) => [data.from, data.to]),
            [['closed', 'open'], ['open', 'half_open'], ['half_open', 'closed']]);
        assert.equal(changes[0].data.lastError, 'vendor_down: answered 503');
    }

    it('sends jobs to the alternative queue', async () => {
        const name = 'vendor.alternative';
        const rules = { fallback: 'alternative', alternativeQueue: 'spare' };
        await breakIt(name, rules);
        const [id] = await enqueue(name, 1, { dependency: name });
        assert.deepEqual(await lease(name), []);
        const [moved] = await lease('spare');
        assert.deepEqual([moved.id, moved.attempt], [id, 1]);
        await server.post('/v1/jobs/complete', { jobs: [{ id, epoch: moved.epoch }] });
    });

    it('answers jobs with the default result', async () => {
        const name = 'vendor.default';
        await breakIt(name, { fallback: 'default', defaultResult: { price: null } });
        const [id] = await enqueue(name, 1, { dependency: name });
        assert.deepEqual(await lease(name), []);
        const answered = await job(id);
        assert.equal(answered.state, 'succeeded');
        assert.deepEqual(answered.result, { price: null });
        assert.equal(answered.attempts[0].worker, 'drover/fallback');
    });

    it('is asked and told by others, and limits their probes', async () => {
        const name = 'mail:smtp/a@b';
        const ask = () => server.post(path(name, '/acquire'));
        assert.deepEqual(await ask(), { allowed: true, state: 'closed', retryAfterMs: 0 });
        await configure(name, { failures: 1, openMs: 1, successes: 1, probes: 1 });
        const told = await server.post(path(name, '/report'), { ok: false, error: 'timeout' });
        assert.deepEqual([told.state, told.lastError], ['open', 'timeout']);
        await until('a probe', async () => (await ask()).allowed);
        await server.post(path(name, '/report'), { ok: true });
        assert.equal((await breaker(name)).state, 'closed');
    });

    it('is tripped and reset by hand; held jobs go at once', async () => {
        const name = 'vendor.hand';
        const { status, text } = await cli('breaker', 'trip', name, '--reason', 'maintenance');
        assert.equal(status, 0, text);
        const [id] = await enqueue(name, 1, { dependency: name });
        assert.deepEqual(await lease(name), []);
        const denied = await server.post(path(name, '/acquire'));
        assert.equal(denied.allowed, false);
        assert.ok(denied.retryAfterMs > 0 && denied.retryAfterMs <= 60_000);
        assert.match((await cli('breakers')).text, /vendor\.hand +open/);
        assert.equal((await cli('breaker', 'reset', name)).status, 0);
        const [freed] = await lease(name, 30_000);
        assert.equal(freed.id, id);
        await server.post('/v1/jobs/complete', { jobs: [{ id, epoch: freed.epoch }] });
        const [tripped, reset] = await changesOf(name);
        assert.equal(tripped.data.reason, 'maintenance');
        assert.equal(reset.type, 'agent.breaker.closed');
    });

    it('has rules that are set over CLI and refused when they are wrong', async () => {
        const name = 'forge:example.com:8443';
        const set = await cli('breaker', 'set', name, '--failures', '7', '--open-ms', '1000');
        assert.equal(set.status, 0, set.text);
        await cli('breaker', 'set', name, '--probes', '1');
        const { config, effective } = await breaker(name);
        assert.deepEqual(config, { failures: 7, openMs: 1000, probes: 1 });
        assert.equal(effective.windowMs, 10_000);
        const wrong = { failures: 0 };
        assertProblem(await server.call('PUT', path(name), { body: wrong }), 422,
            { field: 'failures' });
        assertProblem(await server.call('GET', path('nobody')), 404);
        assertProblem(await server.call('POST', path('nobody', '/reset')), 404);
        assertProblem(await server.call('GET', path('a b')), 400, { code: 'INVALID_NAME' });
        const { text } = await server.call('GET', '/metrics');
        assert.match(text, /drover_breaker_state\{name="forge:example.com:8443"\} 0/);
    });

    it('of the forge holds a step until it is back, and no other repository', async () => {
        await withRoom(2000, holdsAStep);
    });

    async function holdsAStep(openMs) {
        const repo = await server.repository(`acme/away-${openMs}`, fixes);
        const name = `forge:local/${repo.name}`;
        await configure(name, { failures: 1, openMs, successes: 1 });
        renameSync(repo.origin, `${repo.origin}.moved`);
        const { taskId, runId } = await server.submit(repo.name);
        const { time } = await server.untilEvent(runId, 'agent.step.failed');
        const { state } = await breaker(name);
        renameSync(`${repo.origin}.moved`, repo.origin);
        if (Date.now() - Date.parse(time) >= openMs) throw new TooSlow('it was tried again');
        assert.equal(state, 'open');
        const other = await server.repository(`acme/here-${openMs}`, fixes);
        await Promise.all([server.finish(other.name, 'completed'),
            server.untilTask(taskId, 'completed')]);
        const events = await server.events(runId);
        assert.equal(events.filter(({ type }) => type === 'agent.step.failed').length, 1);
        assert.equal((await breaker(name)).state, 'closed');
    }

    it('of the forge holds a pull request, and a reset lets it go', async () => {
        const name = 'forge:local/acme/slow';
        const policy = { approval: 'always' };
        const repo = await server.repository('acme/slow', fixes, { policy });
        await configure(name, { failures: 1, openMs: 60_000, successes: 1 });
        const { taskId, runId } = await server.submit(repo.name);
        const { data } = await server.untilEvent(runId, 'agent.approval.requested');
        renameSync(repo.origin, `${repo.origin}.moved`);
        await server.post(`/v1/approvals/${data.approvalId}/approve`);
        await until('the breaker to open', async () => (await breaker(name)).state === 'open');
        renameSync(`${repo.origin}.moved`, repo.origin);
        await server.post(path(name, '/reset'), { reason: 'it is back' });
        await server.untilTask(taskId, 'completed');
    });
});

describe('after a crash', () => {
    it('a breaker stands where it stood', async () => {
        server = await start({ args: ['--workers', '1'] });
        await configure('vendor', { failures: 2 });
        for (let i = 0; i < 2; i++) await server.post(path('vendor', '/report'), { ok: false });
        const open = await breaker('vendor');
        assert.equal(open.state, 'open');
        await server.crash();
        await server.start();
        assert.deepEqual(await breaker('vendor'), open);
        assert.equal((await server.post(path('vendor', '/acquire'))).allowed, false);
        await server.discard();
    });
});

describe('errors and quarantine', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '2'] });
    });
    after(() => server.discard());

    for (const category of ['policy', 'security']) {
        it(`a failure of the class ${category} is never retried`, async () => {
            const queue = `class.${category}`;
            const [id] = await enqueue(queue, 1, { maxAttempts: 5 });
            const [{ epoch }] = await lease(queue);
            const error = { code: 'no', retryable: true, category };
            await server.post('/v1/jobs/fail', { jobs: [{ id, epoch, error }] });
            const dead = await job(id);
            assert.deepEqual([dead.state, dead.deadReason], ['dead_letter', 'policy_blocked']);
        });
    }

    it('a repository in quarantine takes no task until it is released', async () => {
        const repo = await server.repository('acme/trap', 'exec sleep 3000\n');
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilRun(runId, 'running');
        const { status } = await cli('repo', 'quarantine', repo.name, '--reason', 'planted hooks');
        assert.equal(status, 0);
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'repository_quarantined');
        const body = { repository: repo.name, description: 'again' };
        const res = await server.call('POST', '/v1/tasks', { body });
        assertProblem(res, 403, { code: 'REPO_QUARANTINED' });
        assert.match(res.json.detail, /planted hooks.*drover repo release acme\/trap/);
        assertProblem(await server.call('POST', `/v1/tasks/${taskId}/retry`), 403);
        const shown = await server.get('/v1/repositories/acme%2Ftrap');
        assert.equal(shown.quarantineReason, 'planted hooks');
        await server.configure(repo.name, { ...repo.document,
            agent: { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson' } });
        await server.post('/v1/repositories/acme%2Ftrap/release', { reason: 'mended' });
        await server.finish(repo.name, 'completed');
    });
});
