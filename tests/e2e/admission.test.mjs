// admission.test.mjs - what may not start yet waits, and starts by itself in its order.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { fixes, gaveUp, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';

let server;

async function startedAt(runId) {
    const events = await server.events(runId);
    return events.find((event) => event.type === 'agent.run.started').time;
}

describe('a limit of one active run', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('defers the others, which start by themselves in order of priority', async () => {
        const mark = newMark();
        const limits = { maxActiveRuns: 1 };
        const agent = `if grep -qx first "$DROVER_PROMPT"; then ${waits(mark)}fi\n${fixes}`;
        const repo = await server.repository('acme/one', agent, { limits });
        const first = await server.submit(repo.name, { description: 'first' });
        await server.untilGate(mark);
        const later = [];
        for (const priority of [200, 100, 0, 50]) {
            const ids = await server.submit(repo.name, { description: 'other', priority });
            later.push({ ...ids, priority });
        }
        for (const { taskId, runId } of later) {
            await server.untilTask(taskId, 'deferred');
            assert.equal((await server.run(runId)).status, 'queued');
            const events = await server.events(runId);
            const deferred = events.find((event) => event.type === 'agent.task.deferred');
            assert.match(JSON.stringify(deferred.data), /repository_concurrency_limit/);
        }
        await server.openGate(mark);
        for (const { taskId } of [first, ...later]) await server.untilTask(taskId, 'completed');
        for (const ids of later) ids.time = await startedAt(ids.runId);
        const order = later.sort((a, b) => (a.time < b.time ? -1 : 1)).map((ids) => ids.priority);
        assert.deepEqual(order, [0, 50, 100, 200]);
        for (const { runId } of later) assertHistory(await server.events(runId));
    });

    it('never lets two work at the same time', async () => {
        const limits = { maxActiveRuns: 1 };
        const repo = await server.repository('acme/exclusive', fixes, { limits });
        const tasks = await Promise.all([1, 2, 3, 4].map(() => server.submit(repo.name)));
        const spans = [];
        for (const { taskId, runId } of tasks) {
            await server.untilTask(taskId, 'completed');
            const events = await server.events(runId);
            const time = (type) => events.find((event) => event.type === type).time;
            spans.push([time('agent.run.started'), time('agent.run.completed')]);
        }
        spans.sort();
        for (let i = 1; i < spans.length; i++)
            assert.ok(spans[i - 1][1] <= spans[i][0], `${spans}`);
    });

    it('can be raised, and the waiting one starts at once', async () => {
        const mark = newMark();
        const agent = `if grep -qx first "$DROVER_PROMPT"; then ${waits(mark)}fi\n${fixes}`;
        const limits = { maxActiveRuns: 1 };
        const repo = await server.repository('acme/raised', agent, { limits });
        const first = await server.submit(repo.name, { description: 'first' });
        await server.untilGate(mark);
        const second = await server.submit(repo.name, { description: 'other' });
        await server.untilTask(second.taskId, 'deferred');
        await server.configure(repo.name, { ...repo.document, limits: { maxActiveRuns: 2 } });
        await server.untilTask(second.taskId, 'completed');
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
    });

    it('holds for its repository only', async () => {
        const mark = newMark();
        const limits = { maxActiveRuns: 1 };
        const held = await server.repository('acme/held', waits(mark) + fixes, { limits });
        const free = await server.repository('acme/free', fixes, { limits });
        const first = await server.submit(held.name);
        await server.untilGate(mark);
        await server.finish(free.name, 'completed');
        await server.openGate(mark);
        await server.untilTask(first.taskId, 'completed');
    });
});

describe('a task that depends on another', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('starts when that one has completed', async () => {
        const mark = newMark();
        const first = await server.repository('acme/first', waits(mark) + fixes);
        const next = await server.repository('acme/next', fixes);
        const one = await server.submit(first.name);
        const two = await server.submit(next.name, { dependsOn: [one.taskId] });
        await server.untilTask(two.taskId, 'deferred');
        await server.openGate(mark);
        await server.untilTask(two.taskId, 'completed');
        assert.equal((await server.task(one.taskId)).status, 'completed');
        const completed = (await server.events(one.runId))
            .find((event) => event.type === 'agent.run.completed').time;
        assert.ok(completed <= (await startedAt(two.runId)));
    });

    it('starts at once when that one has completed before', async () => {
        const repo = await server.repository('acme/before', fixes);
        const { taskId } = await server.finish(repo.name, 'completed');
        const { runId } = await server.finish(repo.name, 'completed', { dependsOn: [taskId] });
        assert.ok(!typesOf(await server.events(runId)).includes('agent.task.deferred'));
    });

    it('does not start when that one has failed', async () => {
        const bad = await server.repository('acme/bad', gaveUp('no'));
        const next = await server.repository('acme/after-bad', fixes);
        const one = await server.submit(bad.name);
        const two = await server.submit(next.name, { dependsOn: [one.taskId] });
        await server.untilTask(one.taskId, 'failed');
        await server.untilTask(two.taskId, 'failed');
        assert.ok(!typesOf(await server.events(two.runId)).includes('agent.run.started'));
    });
});

describe('a limit of the whole server', { concurrency: 2 }, () => {
    it('defers what would be one run too many, in whatever repository', async () => {
        const own = await start({ config: 'limits: {maxActiveRuns: 1}\n' });
        try {
            const mark = newMark();
            const one = await own.repository('acme/one', waits(mark) + fixes);
            const two = await own.repository('acme/two', fixes);
            const first = await own.submit(one.name);
            await own.untilGate(mark);
            const second = await own.submit(two.name);
            await own.untilTask(second.taskId, 'deferred');
            assert.equal((await own.run(second.runId)).deferredReason, 'system_concurrency_limit');
            await own.openGate(mark);
            for (const { taskId } of [first, second]) await own.untilTask(taskId, 'completed');
        } finally {
            await own.discard();
        }
    });

    it('of tasks in an hour refuses the next one, and says when to come back', async () => {
        const own = await start({ config: 'limits: {tasksPerHourPerUser: 2}\n' });
        try {
            const repo = await own.repository('acme/rate', fixes);
            const ids = [];
            for (let i = 0; i < 2; i++) ids.push(await own.submit(repo.name));
            const body = { repository: repo.name, description: 'one too many' };
            const res = await own.call('POST', '/v1/tasks', { body });
            assertProblem(res, 429, { code: 'rate_limit_exceeded' });
            assert.match(res.headers['retry-after'], /^\d+$/);
            assert.equal((await own.list('/v1/tasks')).length, 2);
            for (const { taskId } of ids) await own.untilTask(taskId, 'completed');
        } finally {
            await own.discard();
        }
    });
});

describe('a description of control characters', () => {
    before(async () => {
        server = await start();
    });
    after(() => server.discard());

    const description = '\u0001'.repeat(65_000); // Six bytes each, as JSON.

    it('that no job can hold beside the configuration is refused, and stops nobody', async () => {
        const verify = Array.from({ length: 30 }, (_, i) => (
            { name: `check${i}`, command: `true ${'x'.repeat(16_000)}` }));
        const large = await server.repository('acme/large', fixes,
            { prompt: { system: 'x'.repeat(250_000) }, verify });
        const small = await server.repository('acme/small', fixes);
        const refused = await server.call('POST', '/v1/tasks',
            { body: { repository: large.name, description } });
        assertProblem(refused, 413, { code: 'TASK_TOO_LARGE' });
        assert.match(refused.json.detail, /acme\/large/);
        const { taskId } = await server.submit(small.name);
        await server.untilTask(taskId, 'completed');
    });

    it('comes to its end where it fits', async () => {
        const repo = await server.repository('acme/fits', fixes);
        const { taskId } = await server.submit(repo.name, { description });
        await server.untilTask(taskId, 'completed');
    });
});
