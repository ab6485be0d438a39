// overload.test.mjs - too much of something: callers are held up, levels and alerts are told of,
// slots come and go.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const config = `workers: {min: 1, max: 3, upCooldownMs: 100, downCooldownMs: 200}
lease: {heartbeatMs: 200}
limits:
  rates:
    - {route: "POST /v1/jobs", perSecond: 1, burst: 3, actor: "token:busy"}
    - {route: "*", perSecond: 100000, actor: "role:operator"}
`;

describe('overload', { concurrency: 4 }, () => {
    let server;
    before(async () => (server = await start({ config })));
    after(() => server.discard());

    const enqueue = (queue, count) => server.post('/v1/jobs', {
        jobs: Array.from({ length: count }, () => ({ queue, type: 'work', payload: {} })) });

    async function lease(queue) {
        const body = { queues: [queue], worker: 'w', max: 100, waitMs: 0 };
        return (await server.post('/v1/jobs/lease', body)).jobs;
    }

    const eventsOf = async (type, subject) =>
        (await server.list(`/v1/events?type=${type}&limit=200`))
            .filter((event) => event.subject === subject);

    const untilEvents = (type, subject, count) =>
        until(`${count} of ${type}`, async (note) => {
            const events = note(await eventsOf(type, subject));
            return events.length >= count && events;
        });

    async function metric(name) {
        const { text } = await server.call('GET', '/metrics');
        const line = text.split('\n').find((each) => each.startsWith(`${name} `));
        return line && Number(line.split(' ').at(-1));
    }

    it('of calls holds up who calls too often, and nobody else', async () => {
        const make = async (name) =>
            (await server.post('/v1/tokens', { name, role: 'operator' })).token;
        const busy = await make('busy');
        const calm = await make('calm');
        const body = { jobs: [{ queue: 'rates', type: 'work', payload: {} }] };
        const call = (token) => server.call('POST', '/v1/jobs', { token, body });
        const answers = await Promise.all(Array.from({ length: 20 }, () => call(busy)));
        assert.ok(answers.filter((res) => res.status < 300).length >= 3);
        const refused = answers.find((res) => res.status === 429);
        const problem = assertProblem(refused, 429, { code: 'RATE_LIMITED' });
        assert.equal(refused.headers['retry-after'], '1');
        assert.ok(problem.retryAfterMs >= 1 && problem.retryAfterMs <= 1000);
        assert.ok((await call(calm)).status < 300);
        assert.equal((await server.call('GET', '/v1/jobs', { token: busy })).status, 200);
        await until('the caller to be heard again', async () => (await call(busy)).status < 300);
    });

    it('of a queue raises its level, and lowers it when it is gone', async () => {
        const queue = 'levels';
        const subject = `queue/${queue}`;
        const levels = { warningDepth: 5, criticalDepth: 10 };
        const scale = { max: 4, jobsPerWorker: 2, upCooldownMs: 1, downCooldownMs: 1 };
        await server.ok('PUT', `/v1/queues/${queue}`, { levels, scale });
        await enqueue(queue, 6);
        const [warning] = await untilEvents('agent.queue.level.raised', subject, 1);
        assert.deepEqual({ ...warning.data, oldestMs: 0 }, { queue, from: 'normal', to: 'warning',
            depth: 6, oldestMs: 0, leased: 0, desiredWorkers: 3 });
        await enqueue(queue, 6);
        const [, critical] = await untilEvents('agent.queue.level.raised', subject, 2);
        assert.equal(critical.data.to, 'critical');
        const shown = await server.get(`/v1/queues/${queue}`);
        assert.equal(shown.level, 'critical');
        assert.equal(shown.desiredWorkers, 4);
        assert.equal(await metric(`drover_queue_level{queue="${queue}"}`), 2);
        assert.equal(await metric(`drover_queue_desired_workers{queue="${queue}"}`), 4);
        const jobs = (await lease(queue)).map(({ id, epoch }) => ({ id, epoch, result: {} }));
        await server.post('/v1/jobs/complete', { jobs });
        const [lowered] = await untilEvents('agent.queue.level.lowered', subject, 1);
        assert.equal(lowered.data.from, 'critical');
        await until('no worker to be wanted', async () =>
            (await server.get(`/v1/queues/${queue}`)).desiredWorkers === 0);
        assert.equal((await server.get(`/v1/queues/${queue}`)).level, 'normal');
    });

    it('of dead letters is told once', async () => {
        const queue = 'deaths';
        const rules = { maxAttempts: 1, deadLetters: { alertAt: 2 } };
        await server.ok('PUT', `/v1/queues/${queue}`, rules);
        await enqueue(queue, 3);
        const jobs = (await lease(queue)).map(({ id, epoch }) => ({
            id, epoch, error: { code: 'broken', message: 'it broke', retryable: false } }));
        await server.post('/v1/jobs/fail', { jobs });
        const subject = `queue/${queue}`;
        const [alert] = await untilEvents('agent.dead_letters.alert', subject, 1);
        assert.deepEqual(alert.data, { queue, count: 3, threshold: 2 });
        await enqueue(queue, 1); // So that there is another look.
        await until('another look', async () =>
            (await server.get(`/v1/queues/${queue}`)).desiredWorkers === 1);
        assert.equal((await eventsOf('agent.dead_letters.alert', subject)).length, 1);
    });

    it('of steps brings slots, which go when they are idle', async () => {
        const mark = newMark();
        const slots = () => metric('drover_worker_slots{class="agent"}');
        assert.equal(await slots(), 1);
        const repo = await server.repository('acme/slots', waits(mark) + fixes);
        const tasks = [];
        for (let i = 0; i < 3; i++) tasks.push(await server.submit(repo.name));
        await until('three slots', async () => (await slots()) === 3);
        await until('three agents', async () =>
            (await metric('drover_worker_slots_busy{class="agent"}')) === 3);
        await until('the worker to say so', async () =>
            (await server.get('/v1/workers')).items[0].slots === 3);
        await until('one slot', async () => {
            server.tryGate(mark);
            return (await slots()) === 1;
        });
        for (const { taskId } of tasks) await server.untilTask(taskId, 'completed');
        const changes = (await server.list('/v1/events?type=agent.workers.scaled&limit=200'))
            .map(({ data }) => data);
        assert.equal(changes[0].from, 1);
        assert.equal(changes[0].reason, 'backlog');
        assert.ok(changes.some(({ to }) => to === 3));
        assert.deepEqual([changes.at(-1).to, changes.at(-1).reason], [1, 'idle']);
    });
});
