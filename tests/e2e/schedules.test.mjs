// schedules.test.mjs - jobs that come again and again: by the second, so that no test takes long.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { UUID } from './lib/cloudevents.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
let names = 0;
const newName = () => `s${++names}`;

const put = (name, body) => server.call('PUT', `/v1/schedules/${name}`, { body });
const show = (name) => server.get(`/v1/schedules/${name}`);
const every = (cron, queue, more = {}) =>
    ({ cron, job: { queue, type: 'tick', payload: { a: 1 } }, ...more });
const jobsOf = async (queue) => (await server.list(`/v1/jobs?queue=${queue}`)).reverse();

// When its jobs were for, in order.
async function timesOf(queue) {
    const jobs = await Promise.all((await jobsOf(queue))
        .map(({ id }) => server.get(`/v1/jobs/${id}`)));
    return jobs.map((job) => job.headers.scheduledAt);
}

const untilFired = (queue, count) => until(`${count} firings of ${queue}`, async () => {
    const jobs = await jobsOf(queue);
    return jobs.length >= count ? jobs : null;
});

describe('a schedule', { concurrency: 8 }, () => {
    before(async () => (server = await start({ args: ['--workers', '1'] })));
    after(() => server.discard());

    it('fires once at each of its times', async () => {
        const name = newName();
        const res = await put(name, every('* * * * * *', `q.${name}`));
        assert.equal(res.status, 201);
        assert.ok(Date.parse(res.json.nextAt) > Date.parse(res.json.createdAt));
        const [first] = await untilFired(`q.${name}`, 3);
        assert.equal((await server.call('DELETE', `/v1/schedules/${name}`)).status, 204);
        const times = await timesOf(`q.${name}`);
        assert.equal(new Set(times).size, times.length, 'a time fired twice');
        assert.deepEqual(times, [...times].sort());
        for (const time of times) assert.equal(Date.parse(time) % 1000, 0);
        assert.equal(times[0], res.json.nextAt);
        const job = await server.get(`/v1/jobs/${first.id}`);
        assert.deepEqual(job.payload, { a: 1 });
        assert.equal(job.type, 'tick');
        assert.equal(job.headers.schedule, name);
        assert.equal(job.dedupKey, `cron:${name}:${times[0]}`);
        const events = (await server.list('/v1/events?type=agent.schedule.fired&limit=200'))
            .filter(({ data }) => data.schedule === name);
        assert.deepEqual(events.map(({ data }) => data.scheduledAt), times);
        assert.equal(events[0].data.jobId, first.id);
        assertProblem(await server.call('GET', `/v1/schedules/${name}`), 404);
    });

    it('rests while it is disabled, and runs when told to', async () => {
        const name = newName();
        const made = await put(name, every('* * * * * *', `q.${name}`, { enabled: false }));
        assert.equal(made.json.nextAt, null);
        const { jobId } = await server.post(`/v1/schedules/${name}/run`);
        assert.match(jobId, UUID);
        assert.deepEqual((await jobsOf(`q.${name}`)).map((job) => job.id), [jobId]);
        assert.equal((await show(name)).lastJobId, jobId);
        const changed = await put(name, every('@yearly', `q.${name}`));
        assert.equal(changed.status, 200);
        assert.match(changed.json.nextAt, /-01-01T00:00:00Z$/);
        assert.equal(changed.json.lastJobId, jobId);
        const listed = await server.list('/v1/schedules?limit=1');
        assert.equal(listed.filter((each) => each.name === name).length, 1);
        assertProblem(await server.call('POST', '/v1/schedules/nobody/run'), 404);
    });

    it('is refused when it is not valid, and the field is named', async () => {
        const job = { queue: 'q', type: 't' };
        for (const [cron, field] of [['60 * * * *', 'minute'], ['* * * * FOO', 'day-of-week'],
            ['* *', 'five fields'], ['0 0 31 2 *', 'never']])
            assertProblem(await put('x', { cron, job }), 422, { field });
        assertProblem(await put('x', { job }), 422, { field: 'cron' });
        assertProblem(await put('x', { cron: '@daily' }), 422, { field: 'job' });
        assertProblem(await put('x', { cron: '@daily', job: { type: 't' } }), 422,
            { field: 'job.queue' });
        assertProblem(await put('x', { cron: '@daily', job: { ...job, queue: 'drover.x' } }), 422,
            { field: 'job.queue' });
        assertProblem(await put('x', { cron: '@daily', job: { ...job, dedupKey: 'k' } }), 422,
            { field: 'job.dedupKey' });
        assertProblem(await put('a%2Fb', { cron: '@daily', job }), 400, { code: 'INVALID_NAME' });
    });

    it('works from the command line', () => {
        const drover = (...args) => spawnSync(BIN, ['schedule', ...args, '--data', server.data],
            { env: plainEnv(), encoding: 'utf8' });
        const name = newName();
        const set = drover('set', name, '--cron', '@daily', '--queue', 'q', '--type', 't',
            '--payload', '{"a":[1]}');
        assert.equal(set.status, 0, set.stderr);
        assert.deepEqual(JSON.parse(drover('show', name, '--json').stdout).job,
            { queue: 'q', type: 't', payload: { a: [1] } });
        assert.match(drover('show', name).stdout, /@daily/);
        assert.match(drover('list').stdout, new RegExp(name));
        assert.match(drover('run', name, '--json').stdout, /"jobId"/);
        assert.match(drover('set', name, '--cron', 'x', '--queue', 'q', '--type', 't').stderr,
            /five fields/);
        assert.equal(drover('remove', name).status, 0);
        assert.equal(drover('show', name).status, 3);
    });
});
