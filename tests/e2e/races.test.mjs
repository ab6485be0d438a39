// races.test.mjs - many at once: one wins, the others are told, and nothing is counted twice.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { branches, fixes, gaveUp, git, refs, staysWithChildren } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, untilGone } from './lib/procs.mjs';
import { TERMINAL, start } from './lib/server.mjs';

let server;
const MANY = process.env.DROVER_LONG ? 60 : 20;
const times = (count, body) => Promise.all(Array.from({ length: count }, (_, i) => body(i)));

// Exactly one of the answers is good, all others are refused with 409.
function assertOneWinner(answers) {
    const good = answers.filter((res) => res.status < 300);
    assert.equal(good.length, 1, `${answers.map((res) => res.status)}`);
    for (const res of answers) if (res !== good[0]) assertProblem(res, 409);
    return good[0];
}

describe('at the same time', { concurrency: 3 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('submissions with one key make one task', async () => {
        const repo = await server.repository('acme/key', fixes);
        const answers = await times(16, () =>
            server.submit(repo.name, {}, { 'idempotency-key': 'race' }));
        assert.equal(new Set(answers.map((answer) => answer.taskId)).size, 1);
        assert.equal(new Set(answers.map((answer) => answer.runId)).size, 1);
        await server.untilTask(answers[0].taskId, 'completed');
        assert.equal(branches(repo.origin).length, 1);
    });

    it('tasks of one repository get pull requests of their own', async () => {
        const repo = await server.repository('acme/numbers', fixes);
        const tasks = await times(6, () => server.submit(repo.name));
        for (const { taskId } of tasks) await server.untilTask(taskId, 'completed');
        const prs = await server.pullRequests(repo.name);
        assert.deepEqual(prs.map((pr) => pr.number).sort(), [1, 2, 3, 4, 5, 6]);
        const all = refs(repo.origin);
        for (const pr of prs)
            assert.equal(all[`refs/pull/${pr.number}/head`], all[`refs/heads/${pr.branch}`]);
    });

    it('answers to one question: the first one counts', async () => {
        const repo = await server.repository('acme/answers', fixes);
        const { taskId, runId } = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(runId, 'awaiting_approval');
        const [question] = await server.list(`/v1/approvals?runId=${runId}`);
        const answers = await times(8, (i) =>
            server.decide(question.id, i % 2 ? 'approve' : 'reject'));
        const winner = answers.indexOf(assertOneWinner(answers));
        await server.untilTask(taskId, winner % 2 ? 'completed' : 'failed');
        assertHistory(await server.events(runId));
    });

    it('approval and cancellation: the task ends one way', async () => {
        const repo = await server.repository('acme/either', fixes);
        const { taskId, runId } = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(runId, 'awaiting_approval');
        const [question] = await server.list(`/v1/approvals?runId=${runId}`);
        await Promise.all([server.decide(question.id, 'approve'),
            server.call('POST', `/v1/tasks/${taskId}/cancel`, { body: {} })]);
        await server.untilTask(taskId, 'completed', 'cancelled');
        const types = typesOf(await server.events(runId));
        const ends = types.filter((type) => /^agent\.run\.(completed|cancelled)$/.test(type));
        assert.equal(ends.length, 1);
        const prs = await server.pullRequests(repo.name);
        assert.equal('refs/pull/1/head' in refs(repo.origin), prs.length === 1);
    });

    it('retries of one task make one run', async () => {
        const repo = await server.repository('acme/retries', gaveUp('no'));
        const { taskId } = await server.finish(repo.name, 'failed');
        const answers = await times(8, () =>
            server.call('POST', `/v1/tasks/${taskId}/retry`, { body: {} }));
        assertOneWinner(answers);
        await server.untilTask(taskId, 'failed');
        assert.equal((await server.task(taskId)).runs.length, 2);
    });

    it('merges of one pull request make one commit', async () => {
        const repo = await server.repository('acme/merges', fixes);
        await server.finish(repo.name, 'completed');
        const [pr] = await server.pullRequests(repo.name);
        const answers = await times(5, () =>
            server.call('POST', `/v1/pull-requests/${pr.id}/merge`, { body: {} }));
        assert.ok(answers.some((res) => res.status === 200));
        assert.ok(answers.every((res) => [200, 409].includes(res.status)),
            `${answers.map((res) => res.text)}`);
        assert.equal(git(repo.origin, 'rev-list', '--merges', '--count', 'main'), '1');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
    });

    it('changes of one repository end with one of them', async () => {
        const repo = await server.repository('acme/config', fixes);
        await times(10, (i) => server.configure(repo.name,
            { ...repo.document, limits: { maxActiveRuns: i + 1 } }));
        const { config, version } = await server.get('/v1/repositories/acme%2Fconfig');
        assert.ok(config.limits.maxActiveRuns >= 1);
        assert.equal(version, 11);
    });
});

describe('cancellations at any moment', () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    it('leave every task ended, nothing running and the books in order', async () => {
        const mark = newMark();
        const stays = `case $DROVER_TASK_ID in *[02468ace]) ${staysWithChildren(mark)};; esac`;
        const agent = `${stays}\n${fixes}`;
        const repo = await server.repository('acme/storm', agent, { limits: { maxActiveRuns: 8 } });
        const tasks = await times(MANY, async () => {
            const ids = await server.submit(repo.name);
            await sleep(Math.random() * 1500); // Any moment is as good as another.
            await server.call('POST', `/v1/tasks/${ids.taskId}/cancel`, { body: {} });
            return ids;
        });
        for (const { taskId } of tasks) await server.untilTask(taskId, ...TERMINAL);
        await untilGone(mark);
        const completed = [];
        for (const { taskId, runId } of tasks) {
            assertHistory(await server.events(runId));
            if ((await server.task(taskId)).status === 'completed') completed.push(taskId);
        }
        const prs = await server.list('/v1/pull-requests?limit=200');
        for (const taskId of completed)
            assert.equal(prs.filter((pr) => pr.taskId === taskId).length, 1);
        const pulls = Object.keys(refs(repo.origin)).filter((ref) => ref.startsWith('refs/pull/'));
        assert.equal(pulls.length, prs.length, 'the origin and the record agree');
    });
});
