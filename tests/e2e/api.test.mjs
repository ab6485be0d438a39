// api.test.mjs - the rest of the HTTP interface: repositories, artifacts, listings, the server.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertHistory, dataOf, UUID } from './lib/cloudevents.mjs';
import { fixes, gaveUp, stays } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, untilAsleep } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { HandWorker } from './lib/worker.mjs';

let server;
const path = (name) => `/v1/repositories/${encodeURIComponent(name)}`;
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

describe('a repository', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());
    const document = { url: '/srv/git/x.git', agent: { command: ['true'] } };

    it('is made, read, changed, listed and removed under a name with a slash', async () => {
        const made = await server.call('PUT', path('acme/one'), { body: document });
        assert.equal(made.status, 201, made.text);
        const changed = { ...document, limits: { maxActiveRuns: 3 } };
        const again = await server.call('PUT', path('acme/one'), { body: changed });
        assert.equal(again.status, 200);
        assert.equal(again.json.version, made.json.version + 1);
        const read = await server.get(path('acme/one'));
        assert.deepEqual([read.name, read.config], ['acme/one', changed]);
        assert.ok((await server.list('/v1/repositories')).some((each) => each.name === 'acme/one'));
        const removed = await server.call('DELETE', path('acme/one'));
        assert.ok([200, 204].includes(removed.status));
        assertProblem(await server.call('GET', path('acme/one')), 404);
        const task = { repository: 'acme/one', description: 'x' };
        assertProblem(await server.call('POST', '/v1/tasks', { body: task }), 422,
            { code: 'REPO_NOT_ONBOARDED' });
    });

    it('may come as YAML, and mistakes in it have a place', async () => {
        const headers = { 'content-type': 'application/yaml' };
        const body = '# ours\nurl: /srv/git/y.git\nagent:\n  command: [make, "fix"]\n';
        const made = await server.call('PUT', path('acme/yaml'), { body, headers });
        assert.equal(made.status, 201, made.text);
        assert.deepEqual((await server.get(path('acme/yaml'))).config,
            { url: '/srv/git/y.git', agent: { command: ['make', 'fix'] } });
        const bad = ['url: [unclosed\n', 'url: /x\nurl: /y\n', 'a: &a [*a]\n', '- list\n',
            `${'['.repeat(5000)}`];
        for (const text of bad) {
            const res = await server.call('PUT', path('acme/bad'), { body: text, headers });
            assert.ok([400, 422].includes(res.status), `${text.slice(0, 40)}: ${res.status}`);
            assertProblem(res, res.status);
        }
        assertProblem(await server.call('GET', path('acme/bad')), 404);
    });

    it('is not removed while something runs in it', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/busy', stays(mark));
        const { taskId } = await server.submit(repo.name);
        await untilAsleep(mark);
        assertProblem(await server.call('DELETE', path(repo.name)), 409);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
        assert.ok([200, 204].includes((await server.call('DELETE', path(repo.name))).status));
    });

    it('changes its configuration for the tasks that come, not for those that run', async () => {
        const repo = await server.repository('acme/snapshot', gaveUp('the old way'));
        const { taskId } = await server.finish(repo.name, 'failed');
        repo.document.agent.command[2] = fixes;
        await server.configure(repo.name, repo.document);
        assert.equal((await server.task(taskId)).status, 'failed');
        await server.finish(repo.name, 'completed');
    });
});

describe('an artifact', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('is kept under the hash of its bytes, whatever they are', async () => {
        const table = [Buffer.from('text\n'), randomBytes(3 * 1024 * 1024), Buffer.alloc(0)];
        for (const bytes of table) {
            const at = `/v1/artifacts/${sha256(bytes)}`;
            const headers = { 'content-type': 'application/octet-stream' };
            const put = () => server.call('PUT', at, { body: bytes, headers });
            assert.ok([200, 201].includes((await put()).status));
            assert.ok([200, 201].includes((await put()).status), 'once more is fine');
            const got = await server.call('GET', at);
            assert.equal(got.status, 200);
            assert.ok(got.bytes.equals(bytes));
            assert.equal(got.headers['x-content-type-options'], 'nosniff');
        }
    });

    it('with bytes that do not match is refused', async () => {
        const at = `/v1/artifacts/${sha256('a')}`;
        assertProblem(await server.call('PUT', at, { body: Buffer.from('b') }), 422);
        assertProblem(await server.call('GET', at), 404);
    });
});

describe('a listing', { concurrency: 4 }, () => {
    let tasks;
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        const good = await server.repository('acme/good', fixes);
        const bad = await server.repository('acme/bad', gaveUp('no'));
        tasks = [];
        for (let i = 0; i < 5; i++) tasks.push(await server.submit(good.name));
        for (let i = 0; i < 2; i++) tasks.push(await server.submit(bad.name));
        for (const { taskId } of tasks) await server.untilTask(taskId, 'completed', 'failed');
    });
    after(() => server.discard());

    it('comes in pages that miss nothing and repeat nothing', async () => {
        for (const noun of ['tasks', 'runs', 'events', 'jobs', 'pull-requests', 'repositories']) {
            const whole = await server.list(`/v1/${noun}?limit=200`);
            assert.ok(whole.length > 1, noun);
            const key = (item) => item.id ?? item.name;
            for (const limit of [1, 2, 3]) {
                const paged = await server.list(`/v1/${noun}?limit=${limit}`);
                assert.deepEqual(paged.map(key), whole.map(key), `${noun} by ${limit}`);
            }
        }
    });

    it('is newest first for tasks and runs', async () => {
        const listed = (await server.list('/v1/tasks')).map((task) => task.id);
        assert.deepEqual(listed, tasks.map(({ taskId }) => taskId).reverse());
        const runs = (await server.list('/v1/runs')).map((run) => run.id);
        assert.deepEqual(runs, tasks.map(({ runId }) => runId).reverse());
    });

    it('keeps to its filters', async () => {
        const { taskId, runId } = tasks[0];
        const table = [
            ['/v1/tasks?status=failed', 2, (task) => task.status === 'failed'],
            ['/v1/tasks?repository=acme%2Fgood', 5, (task) => task.repository === 'acme/good'],
            ['/v1/tasks?repository=acme%2Fgood&status=failed', 0, () => false],
            ['/v1/runs?status=completed', 5, (run) => run.status === 'completed'],
            [`/v1/runs?taskId=${taskId}`, 1, (run) => run.taskId === taskId],
            ['/v1/pull-requests?repository=acme%2Fgood', 5, (pr) => pr.status === 'open'],
            ['/v1/pull-requests?repository=acme%2Fbad', 0, () => false],
            ['/v1/pull-requests?status=merged', 0, () => false],
            ['/v1/events?type=agent.run.completed', 5, (e) => e.type === 'agent.run.completed'],
            ['/v1/events?type=agent.run.failed', 2, (event) => event.type === 'agent.run.failed'],
            [`/v1/events?runId=${runId}&type=agent.run.*`, null, (event) =>
                event.runid === runId && /^agent\.run\.[a-z_]+$/.test(event.type)],
            [`/v1/jobs?runId=${runId}`, 7, (job) => job.runId === runId],
        ];
        for (const [query, count, fits] of table) {
            const items = await server.list(query);
            if (count !== null) assert.equal(items.length, count, query);
            else assert.ok(items.length > 0, query);
            assert.ok(items.every(fits), query);
        }
    });

    it('of events is in the order of the log, also between two times', async () => {
        const all = await server.list('/v1/events?limit=200');
        const at = all[Math.floor(all.length / 2)].time;
        const since = await server.list(`/v1/events?limit=200&since=${encodeURIComponent(at)}`);
        assert.deepEqual(since.map((e) => e.id), all.filter((e) => e.time >= at).map((e) => e.id));
    });
});

describe('a task', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('keeps all that it was told', async () => {
        const repo = await server.repository('acme/told', fixes);
        const { taskId: other } = await server.submit(repo.name);
        const told = {
            description: '\u00fc'.repeat(32768), issueNumber: 12, taskType: 'migration',
            riskLevel: 'low', executionMode: 'patch_only', targetBranch: 'release/2',
            scope: ['src/**', '*.md'], priority: 7, maxTurns: 3, maxBudgetUsd: 0.05,
            labels: ['a', 'b c'], channel: { source: 'chat', metadata: { thread: [1, null] } },
            dependsOn: [other],
        };
        const { taskId } = await server.submit(repo.name, told);
        const task = await server.task(taskId);
        for (const [field, value] of Object.entries(told))
            assert.deepEqual(task[field], value, field);
        assert.equal(task.requestedBy, 'admin');
    });
});

describe('the server', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '2'] });
    });
    after(() => server.discard());

    it('tells its health, its version and that it is ready', async () => {
        assert.equal((await server.get('/healthz')).status, 'ok');
        assert.equal((await server.get('/readyz')).status, 'ready');
        assert.match((await server.get('/v1/version')).version, /^\d+\.\d+\.\d+$/);
    });

    it('gives metrics that Prometheus can read', async () => {
        const repo = await server.repository('acme/metrics', fixes);
        await server.finish(repo.name, 'completed');
        const res = await server.call('GET', '/metrics');
        assert.match(res.headers['content-type'], /^text\/plain\b/);
        const line = /^(# (HELP|TYPE) .*|[a-z_][a-z0-9_]*(\{([a-z_]+="[^"]*",?)*\})? [0-9.e+-]+|)$/;
        for (const each of res.text.split('\n')) assert.match(each, line);
        const declared = [...res.text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]);
        assert.equal(new Set(declared).size, declared.length, 'each family once');
        assert.match(res.text, /^drover_worker_slots\{class="agent"\} 2$/m);
    });

    it('answers HEAD like GET, without the body', async () => {
        const res = await server.call('HEAD', '/v1/tasks');
        assert.equal(res.status, 200);
        assert.equal(res.bytes.length, 0);
    });

    it('takes a request id, and makes one when it gets none or a bad one', async () => {
        const answerTo = async (headers) =>
            (await server.call('GET', '/healthz', { headers })).headers['x-request-id'];
        assert.equal(await answerTo({ 'x-request-id': 'abc-1' }), 'abc-1');
        assert.match(await answerTo({}), UUID);
        assert.match(await answerTo({ 'x-request-id': '<b>' }), UUID);
    });

    it('puts the trace of the caller into all events and into its agent, or one of its own',
        async () => {
            const shows = `echo '{"type":"message","text":"'$TRACEPARENT'"}'\n`;
            const repo = await server.repository('acme/trace', shows + fixes);
            const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
            const { taskId, runId } = await server.submit(repo.name, {}, { traceparent });
            const other = await server.submit(repo.name, {}, { traceparent: traceparent.slice(1) });
            await Promise.all([taskId, other.taskId].map((id) =>
                server.untilTask(id, 'completed')));
            const events = await server.events(runId);
            assert.deepEqual(new Set(events.map((event) => event.traceparent)),
                new Set([traceparent]));
            assert.deepEqual(dataOf(events, 'agent.step.recorded'), [{ text: traceparent }]);
            const others = await server.events(other.runId);
            assertHistory(others);
            const trace = others[0].traceparent.split('-')[1];
            assert.equal(trace, other.taskId.replaceAll('-', ''));
            const [{ text }] = dataOf(others, 'agent.step.recorded');
            assert.equal(text, others.at(-2).traceparent);
            // Attempts are named as their job names them.
            const started = events.find(({ type }) => type === 'agent.step.started');
            const { attempts } = await server.get(`/v1/jobs/${started.data.jobId}`);
            assert.deepEqual(attempts.map(({ id }) => id), [started.attemptid]);
        });

    it('lists its queues with what is in them', async () => {
        await server.post('/v1/jobs', { jobs: [{ queue: 'listed', type: 't', payload: {} }] });
        const queue = (await server.list('/v1/queues')).find((each) => each.name === 'listed');
        assert.equal(queue.jobs.queued, 1);
    });
});

describe('progress of a step', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('becomes events of its run; what no step may say is refused', async () => {
        const repo = await server.repository('acme/progress', fixes);
        const { runId } = await server.submit(repo.name);
        const worker = new HandWorker(server, 'hand');
        await worker.walkTo('agent', runId);
        const job = await worker.take('agent', runId);
        const tell = (events, epoch = job.epoch) => {
            const body = { jobs: [{ id: job.id, epoch, events }] };
            return server.call('POST', '/v1/jobs/progress', { body });
        };
        const told = await tell([
            { type: 'agent.step.recorded', data: { text: 'thinking' } },
            { type: 'agent.tool.call.completed', data: { name: 'edit', status: 'completed' } }]);
        assert.deepEqual([told.status, told.json.jobs[0].ok], [200, true], told.text);
        const before = await server.events(runId);
        assert.ok(before.some((event) => event.data.text === 'thinking'));
        for (const type of ['agent.run.completed', 'agent.pr.created', 'nonsense']) {
            const res = await tell([{ type, data: {} }]);
            assert.ok(res.status >= 400 || res.json.jobs[0].ok === false, `${type}: ${res.text}`);
        }
        const stale = await tell([{ type: 'agent.step.recorded', data: { text: 'late' } }],
            job.epoch + 1);
        assert.deepEqual([stale.json.jobs[0].ok, stale.json.jobs[0].code], [false, 'LEASE_LOST']);
        assert.equal((await server.events(runId)).length, before.length);
        await worker.fail(job, { code: 'enough', message: 'enough', retryable: false });
    });
});
