// inference.test.mjs - the decision matrix: what an agent said, what is in the forge, what follows.
// Every test is named after its row: self-report, pull request, commits on the branch.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answers, branches, git, openPull, patchTo, pushBranch, refs } from './lib/git.mjs';
import { RemoteAgent } from './lib/remote_agent.mjs';
import { start } from './lib/server.mjs';

let server, agent;

const PULL = 7; // Of the pull request that the agent opens itself.

// A session that pushes this answer, opens a pull request or does not, and says how it went.
const leaves = (origin, { text, pull, answer }) => (session) => {
    const { branch, baseCommit: base } = session.task;
    const commit = text === undefined ? null : pushBranch(origin(), { branch, base, text });
    if (pull) openPull(origin(), PULL, commit);
    session.answer = answer;
};

// config goes into the repository's, task into what is submitted.
async function finishRemote(name, status, { config = {}, task = {}, ...session }) {
    let origin;
    const begins = leaves(() => origin, session);
    const repo = await server.repository(name, '',
        { agent: agent.config(name, begins), ...config });
    ({ origin } = repo);
    const { taskId, runId } = await server.submit(name, task);
    await approveIfAsked(task, runId);
    const ended = await server.untilTask(taskId, status);
    return { repo, taskId, task: ended, run: await server.run(runId) };
}

async function approveIfAsked({ riskLevel }, runId) {
    if (riskLevel !== 'high') return;
    await server.untilRun(runId, 'awaiting_approval');
    const open = await server.list('/v1/approvals?status=pending');
    const { id } = open.find((approval) => approval.runId === runId);
    assert.equal((await server.decide(id, 'approve')).status, 200);
}

const completed = { status: 'completed', summary: 'did it', costUsd: 0.25, turns: 3 };
const failed = { status: 'failed', error: 'the tool broke' };

const pullsOf = (repo) => Object.keys(refs(repo.origin)).filter((ref) => /^refs\/pull\//.test(ref));

// The agent's own pull request is the run's, and there is no other.
async function assertForeign({ repo, run, taskId }) {
    const prs = await server.pullRequests(repo.name);
    assert.deepEqual(prs.map((pr) => [pr.number, pr.taskId, pr.branch, pr.status]),
        [[PULL, taskId, run.branch, 'open']]);
    assert.equal(prs[0].headCommit, refs(repo.origin)[`refs/heads/${run.branch}`]);
    assert.deepEqual(pullsOf(repo), [`refs/pull/${PULL}/head`]);
    assert.equal(run.pullRequest.number, PULL);
    assert.equal(run.partial, false);
    const created = (await server.events(run.id)).filter(({ type }) => type === 'agent.pr.created');
    assert.deepEqual(created.map(({ data }) => data.foreign), [true]);
}

async function assertNoPull({ repo }) {
    assert.deepEqual(await server.pullRequests(repo.name), []);
    assert.deepEqual(pullsOf(repo), []);
}

describe('what an agent session came to', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
        agent = await new RemoteAgent().open();
    });
    after(async () => {
        await server.discard();
        agent.close();
    });

    it('success, pull request, commits > 0: completed', async () => {
        const end = await finishRemote('acme/row-1', 'completed',
            { text: '42\n', pull: true, answer: completed });
        await assertForeign(end);
        assert.equal(end.run.warning ?? null, null);
        assert.equal(end.run.costUsd, 0.25);
        assert.equal(end.run.turns, 3);
    });

    it('end_turn, pull request, commits > 0: completed', async () => {
        const end = await finishRemote('acme/row-1b', 'completed',
            { text: '42\n', pull: true, answer: { status: 'end_turn' } });
        await assertForeign(end);
    });

    it('success, pull request, commits > 0 (build failed): completed, with a warning', async () => {
        const end = await finishRemote('acme/row-2', 'completed',
            { text: '43\n', pull: true, answer: completed });
        await assertForeign(end);
        assert.equal(end.run.warning.code, 'build_failed_after_agent');
        assert.equal(agent.of('acme/row-2').length, 1, 'nothing goes back to the agent');
    });

    it('success, pull request, commits > 0 (the judge refuses): completed, with a warning',
        async () => {
            const judge = [{ rules: { forbiddenPaths: ['answer.txt'] } }];
            const end = await finishRemote('acme/row-2b', 'completed',
                { text: '42\n', pull: true, answer: completed, config: { judge } });
            await assertForeign(end);
            assert.equal(end.run.warning.code, 'judge_failed_after_agent');
        });

    it('success, pull request, commits > 0, approved by a person: completed', async () => {
        const end = await finishRemote('acme/row-1c', 'completed',
            { text: '42\n', pull: true, answer: completed, task: { riskLevel: 'high' } });
        await assertForeign(end);
        assert.equal(end.run.warning, null);
    });

    it('success, no pull request, commits > 0, none wanted: completed, partial', async () => {
        const end = await finishRemote('acme/row-3c', 'completed',
            { text: '42\n', answer: completed, task: { executionMode: 'patch_only' } });
        assert.equal(end.run.partial, true);
        await assertNoPull(end);
    });

    it('success, no pull request, commits > 0: completed, drover opens it', async () => {
        const end = await finishRemote('acme/row-3', 'completed',
            { text: '42\n', answer: completed });
        const { repo, run } = end;
        const prs = await server.pullRequests(repo.name);
        assert.deepEqual(prs.map(({ number, branch }) => [number, branch]), [[1, run.branch]]);
        assert.equal(run.partial, false, 'it has its pull request now');
        assert.equal(run.warning ?? null, null);
        assert.deepEqual(branches(repo.origin), [`refs/heads/${run.branch}`]);
        assert.equal(git(repo.origin, 'log', '-1', '--format=%an', run.branch), 'Origin');
    });

    it('success, no pull request, a patch: completed, drover opens it', async () => {
        const end = await finishRemote('acme/row-3b', 'completed',
            { answer: { ...completed, patch: patchTo(42) } });
        assert.equal(git(end.repo.origin, 'show', `${end.run.branch}:answer.txt`), '42');
        assert.equal((await server.pullRequests(end.repo.name)).length, 1);
    });

    it('success, no pull request, 0 commits: failed, it did nothing', async () => {
        const end = await finishRemote('acme/row-4', 'failed', { answer: completed });
        assert.equal(end.task.errorCode, 'agent_did_nothing');
        assert.equal(end.run.partial, false);
        await assertNoPull(end);
        await server.repository('acme/row-4-process', 'exit 0');
        const { task } = await server.finish('acme/row-4-process', 'failed');
        assert.equal(task.errorCode, 'agent_did_nothing');
    });

    it('error, pull request, commits > 0: completed, with a warning', async () => {
        const end = await finishRemote('acme/row-5', 'completed',
            { text: '42\n', pull: true, answer: failed });
        await assertForeign(end);
        assert.equal(end.run.warning.code, 'agent_error_but_pr_exists');
    });

    it('error, no pull request, commits > 0: failed, partial work on the branch', async () => {
        const end = await finishRemote('acme/row-6', 'failed', { text: '42\n', answer: failed });
        assert.equal(end.task.errorCode, 'agent_error_partial_work');
        assert.match(end.task.errorMessage, /the tool broke/);
        assert.ok(end.task.errorMessage.includes(end.run.branch), end.task.errorMessage);
        assert.equal(end.run.partial, true);
        assert.deepEqual(branches(end.repo.origin), [`refs/heads/${end.run.branch}`]);
        await assertNoPull(end);
        await server.repository('acme/row-6-process', `${answers(43)}exit 3`);
        const { task, run } = await server.finish('acme/row-6-process', 'failed');
        assert.equal(task.errorCode, 'agent_error_partial_work');
        assert.equal(run.partial, true);
    });

    it('error, no pull request, 0 commits: failed', async () => {
        const end = await finishRemote('acme/row-7', 'failed', { answer: failed });
        assert.equal(end.task.errorCode, 'agent_error');
        assert.equal(end.run.partial, false);
        await assertNoPull(end);
        await server.repository('acme/row-7-process', 'exit 3');
        const { task } = await server.finish('acme/row-7-process', 'failed');
        assert.equal(task.errorCode, 'agent_error');
    });

    it('no response: failed, the session ended unexpectedly', async () => {
        const end = await finishRemote('acme/row-8', 'failed',
            { text: '42\n', pull: true, answer: { code: 404 } });
        assert.equal(end.task.errorCode, 'session_ended_unexpectedly');
        assert.deepEqual(pullsOf(end.repo), [`refs/pull/${PULL}/head`]);
        await server.repository('acme/row-8-process', 'kill -9 $$');
        const { task } = await server.finish('acme/row-8-process', 'failed');
        assert.equal(task.errorCode, 'session_ended_unexpectedly');
    });
});
