// bulkheads.test.mjs - agents, checks and short steps have slots of their own: a step waits behind
// steps of its own class only.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes, waits } from './lib/git.mjs';
import { newMark } from './lib/procs.mjs';
import { withServer } from './lib/own.mjs';
import { start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';
import { until } from './lib/wait.mjs';

// The patch waits for a person before it is verified.
const ASK_FIRST = { policy: { forbiddenPaths: ['answer.txt'], override: 'ask' } };

const approve = async (server, { id }) => {
    const { status, text } = await server.decide(id, 'approve', { reason: 'fine' });
    assert.equal(status, 200, text);
};
const untilQueued = (server, queue, count) =>
    until(`${count} jobs in ${queue}`, async (note) =>
        note(await server.list(`/v1/jobs?queue=${queue}&state=queued`)).length === count);

describe('while agents hold all their slots', () => {
    let server, receiver;
    const mark = newMark();
    const notified = [];

    before(async () => {
        receiver = await openService(({ text }) => {
            notified.push(JSON.parse(text));
            return { status: 204 };
        });
        const hook = `{name: hook, type: webhook, url: "${receiver.url}/", on: [completed]}`;
        server = await start({ config: `workers: 1\nnotifications: [${hook}]\n` });
    });
    after(async () => {
        await server.discard();
        receiver.close();
    });

    it('the next run gets ready for its agent, and one that is done gets checked and published',
        async () => {
            const asking = await server.repository('acme/asking', fixes, ASK_FIRST);
            const waiting = await server.repository('acme/waiting', waits(mark) + fixes);
            const asked = await server.submit(asking.name);
            const question = await server.question(asked.runId);
            const first = await server.submit(waiting.name);
            await server.untilGate(mark);

            const second = await server.submit(waiting.name);
            await untilQueued(server, 'drover.agent', 1);
            assert.equal((await server.run(second.runId)).status, 'running');

            await approve(server, question);
            await server.untilTask(asked.taskId, 'completed');
            await server.untilCleaned(asked.runId);
            await until('the notification', () =>
                notified.some(({ taskid }) => taskid === asked.taskId));

            assert.equal((await server.run(first.runId)).status, 'running');
            await server.letThrough(mark, first.taskId);
            await server.letThrough(mark, second.taskId);
        });
});

describe('with the default number of slots', () => {
    withServer('four long agents do not hold up the checks of a fifth run', {}, async (server) => {
        const marks = [1, 2, 3, 4].map(() => newMark());
        const asking = await server.repository('acme/asking', fixes, ASK_FIRST);
        const asked = await server.submit(asking.name);
        const question = await server.question(asked.runId);
        const long = [];
        for (const mark of marks) {
            const repo = await server.repository(`acme/long${mark}`, waits(mark) + fixes);
            long.push(await server.submit(repo.name));
            await server.untilGate(mark);
        }
        await approve(server, question);
        await server.untilTask(asked.taskId, 'completed');
        await server.untilCleaned(asked.runId);
        for (const [i, { runId, taskId }] of long.entries()) {
            assert.equal((await server.run(runId)).status, 'running');
            await server.letThrough(marks[i], taskId);
        }
    });
});
