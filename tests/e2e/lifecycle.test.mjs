// lifecycle.test.mjs - a task goes in, a pull request comes out; and every other way it can end.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertHistory, assertInOrder, typesOf } from './lib/cloudevents.mjs';
import { FILES, answers, branches, commitTo, done, fixes, gaveUp, git, refs,
    says } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;

// The first attempt is wrong; the next keeps what it was told in the patch.
const learns = `if [ "$DROVER_ATTEMPT" = 1 ]; then
    [ -z "\${DROVER_FEEDBACK:-}" ] || exit 9
    ${answers(43)}
else
    cp "$DROVER_FEEDBACK" feedback.txt
    ${answers(42)}
fi
${done('learned')}`;

async function groupsOf(runId) {
    const { groups } = await server.get(`/v1/runs/${runId}/timeline`);
    return groups;
}

async function artifactsOf(runId) {
    return (await server.get(`/v1/runs/${runId}/artifacts`)).items;
}

async function artifactBytes(sha256) {
    const res = await server.call('GET', `/v1/artifacts/${sha256}`);
    assert.equal(res.status, 200, res.text);
    assert.equal(createHash('sha256').update(res.bytes).digest('hex'), sha256);
    return res.bytes;
}

async function pendingApproval(runId) {
    const items = await server.list('/v1/approvals?status=pending');
    return items.find((approval) => approval.runId === runId);
}

describe('a task on a repository with a failing test', () => {
    let repo, submitted, task, run, events;

    before(async () => {
        server = await start({ args: ['--workers', '6'] });
        repo = await server.repository('acme/spine', fixes);
        const body = { repository: repo.name, description: 'Make the answer right.' };
        const key = { 'idempotency-key': 'spine-1' };
        const res = await server.call('POST', '/v1/tasks', { body, headers: key });
        assert.equal(res.status, 202, res.text);
        submitted = res.json;
        task = await server.untilTask(submitted.taskId, 'completed');
        run = await server.run(submitted.runId);
        events = await server.events(submitted.runId);
    });
    after(() => server.discard());

    it('answers the submission with the ids and a status', () => {
        assert.deepEqual(Object.keys(submitted).sort(), ['runId', 'status', 'taskId']);
        assert.equal(submitted.status, 'queued');
    });

    it('completes, and the task tells about itself and its run', () => {
        assert.equal(task.id, submitted.taskId);
        assert.equal(task.repository, repo.name);
        assert.equal(task.description, 'Make the answer right.');
        assert.equal(task.executionMode, 'supervised_pr');
        assert.equal(task.riskLevel, 'medium');
        assert.equal(task.priority, 100);
        assert.equal(task.errorCode ?? null, null);
        const { id, runNo, status } = task.runs[0];
        assert.deepEqual({ id, runNo, status },
            { id: submitted.runId, runNo: 1, status: 'completed' });
        assert.equal(run.taskId, task.id);
        assert.equal(run.attempt, 1);
        assert.equal(run.baseCommit, refs(repo.origin)['refs/heads/main']);
        assert.match(run.branch, new RegExp(`^drover/${task.id}/1-[a-z0-9-]+$`));
    });

    it('leaves the fix on its branch in the origin and main untouched', () => {
        assert.deepEqual(branches(repo.origin), [`refs/heads/${run.branch}`]);
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '41');
        assert.equal(git(repo.origin, 'rev-parse', `${run.branch}~1`), run.baseCommit);
    });

    it('opens exactly one pull request, and its head ref points to the branch', async () => {
        const items = await server.pullRequests(repo.name);
        assert.equal(items.length, 1);
        const [pr] = items;
        assert.ok(pr.id && pr.url);
        assert.deepEqual(
            { number: pr.number, taskId: pr.taskId, runId: pr.runId, repository: pr.repository,
              branch: pr.branch, status: pr.status, draft: pr.draft },
            { number: 1, taskId: task.id, runId: run.id, repository: repo.name,
              branch: run.branch, status: 'open', draft: true });
        const all = refs(repo.origin);
        assert.equal(all['refs/pull/1/head'], all[`refs/heads/${run.branch}`]);
        assert.equal(Object.keys(all).filter((ref) => ref.startsWith('refs/pull/')).length, 1);
        assert.ok(run.pullRequest, 'the run names its pull request');
    });

    it('calls the pull request what its commit says, however long its task is', async () => {
        const other = await server.repository('acme/title', fixes);
        const description = `${'Make the answer right, and say so. '.repeat(5)}\nThen rest.`;
        await server.finish(other.name, 'completed', { description });
        const [pr] = await server.pullRequests(other.name);
        assert.ok(pr.title.length <= 100, pr.title);
        assert.equal(git(other.origin, 'log', '-1', '--format=%s', pr.headCommit), pr.title);
    });

    it('records CloudEvents without gaps whose causes resolve', () => {
        assertHistory(events);
        assert.equal(events[0].type, 'agent.task.submitted');
        assertInOrder(typesOf(events), [
            'agent.task.submitted', 'agent.run.queued', 'agent.run.started',
            'agent.context.loaded', 'agent.patch.created', 'agent.verification.started',
            'agent.verification.passed', 'agent.judge.completed', 'agent.pr.created',
            'agent.run.completed']);
        assert.ok(events.some((event) => event.causationid), 'causes are recorded');
        for (const event of events) assert.equal(event.taskid, task.id);
        assert.equal(events.filter((e) => e.type === 'agent.pr.created').length, 1);
        assert.equal(events.filter((e) => e.type === 'agent.run.completed').length, 1);
    });

    it('tells the story in groups', async () => {
        const groups = await groupsOf(run.id);
        assertInOrder(groups.map((group) => group.name),
            ['Planning', 'Editing', 'Verification', 'Judging', 'PR', 'Outcome']);
        for (const group of groups) assert.ok(group.lines.length > 0, group.name);
    });

    it('answers the same key with the same task, and another body under it with 422', async () => {
        const body = { repository: repo.name, description: 'Make the answer right.' };
        const headers = { 'idempotency-key': 'spine-1' };
        const again = await server.call('POST', '/v1/tasks', { body, headers });
        assert.equal(again.status, 202);
        assert.equal(again.json.taskId, submitted.taskId);
        assert.equal(again.json.runId, submitted.runId);
        const other = await server.call('POST', '/v1/tasks',
            { body: { ...body, priority: 5 }, headers });
        assertProblem(other, 422);
        assert.equal((await server.list(`/v1/tasks?repository=${encodeURIComponent(repo.name)}`))
            .length, 1);
    });

    it('keeps a certificate of the verification and artifacts that match their names', async () => {
        const artifacts = await artifactsOf(run.id);
        const byKind = new Map(artifacts.map((artifact) => [artifact.kind, artifact]));
        for (const kind of ['certificate', 'patch', 'prompt']) assert.ok(byKind.has(kind), kind);
        for (const artifact of artifacts) {
            const bytes = await artifactBytes(artifact.sha256);
            assert.equal(bytes.length, artifact.bytes, artifact.kind);
        }
        const patch = (await artifactBytes(byKind.get('patch').sha256)).toString();
        assert.match(patch, /^-41$/m);
        assert.match(patch, /^\+42$/m);
        const prompt = (await artifactBytes(byKind.get('prompt').sha256)).toString();
        assert.ok(prompt.includes('Make the answer right.'));
        assert.ok(prompt.includes(FILES['AGENTS.md'].trim()), 'repository rules are in the prompt');
        const text = (await artifactBytes(byKind.get('certificate').sha256)).toString();
        const certificate = JSON.parse(text);
        assert.equal(certificate.treeHash, git(repo.origin, 'rev-parse', `${run.branch}^{tree}`));
        assert.ok(text.includes('sh test.sh'), 'the certificate names what was run');
    });

    it('removes the worktree when all is done', async () => {
        const runs = join(server.data, 'work/runs');
        await until('the worktree to be removed', (note) => !existsSync(runs) ||
            !note(readdirSync(runs)).some((name) => name.includes(run.id)));
    });

    it('merges the pull request into main, once', async () => {
        const [pr] = await server.pullRequests(repo.name);
        await server.post(`/v1/pull-requests/${pr.id}/merge`);
        const [merged] = await server.pullRequests(repo.name);
        assert.equal(merged.status, 'merged');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '42');
        assert.ok(typesOf(await server.events(run.id)).includes('agent.pr.merged'));
        assertHistory(await server.events(run.id));
        const again = await server.call('POST', `/v1/pull-requests/${pr.id}/merge`, { body: {} });
        assertProblem(again, 409);
    });
});

describe('a run', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('is repaired: the second attempt gets the summarized failure of the first', async () => {
        const repo = await server.repository('acme/repair', learns);
        const { run, runId } = await server.finish(repo.name, 'completed');
        assert.equal(run.attempt, 2);
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
        const feedback = git(repo.origin, 'show', `${run.branch}:feedback.txt`);
        assert.match(feedback, /expected 42, got 43/);
        const events = await server.events(runId);
        assertHistory(events);
        assertInOrder(typesOf(events), [
            'agent.patch.created', 'agent.verification.failed',
            'agent.run.verdict.retry_with_feedback', 'agent.patch.created',
            'agent.verification.passed', 'agent.pr.created', 'agent.run.completed']);
        assertInOrder((await groupsOf(runId)).map((group) => group.name),
            ['Planning', 'Editing', 'Verification', 'Editing', 'Verification', 'Judging', 'PR']);
    });

    it('starts its repair from the patch that failed, not from nothing', async () => {
        const agent = `if [ "$DROVER_ATTEMPT" = 1 ]; then echo kept >kept.txt; ${answers(43)}
            else [ -e kept.txt ] && ${answers(42)} fi; ${done()}`;
        const repo = await server.repository('acme/kept', agent);
        const { run } = await server.finish(repo.name, 'completed');
        assert.equal(git(repo.origin, 'show', `${run.branch}:kept.txt`), 'kept');
    });

    it('in mode patch_only ends with a diff and touches no origin', async () => {
        const repo = await server.repository('acme/patch-only', fixes);
        const before = refs(repo.origin);
        const more = { executionMode: 'patch_only', riskLevel: 'high' };
        const { runId, run } = await server.finish(repo.name, 'completed', more);
        assert.deepEqual(refs(repo.origin), before);
        assert.deepEqual(await server.pullRequests(repo.name), []);
        assert.equal(run.pullRequest ?? null, null);
        const patch = (await artifactsOf(runId)).find((artifact) => artifact.kind === 'patch');
        assert.match((await artifactBytes(patch.sha256)).toString(), /^\+42$/m);
    });

    it('in mode autonomous_pr with low risk opens a pull request that is no draft', async () => {
        const repo = await server.repository('acme/autonomous', fixes);
        const more = { executionMode: 'autonomous_pr', riskLevel: 'low' };
        await server.finish(repo.name, 'completed', more);
        const [pr] = await server.pullRequests(repo.name);
        assert.equal(pr.draft, false);
    });

    it('works on the branch it was told to', async () => {
        const repo = await server.repository('acme/target', fixes);
        git(repo.origin, 'branch', 'release/1.0', 'main');
        const more = { targetBranch: 'release/1.0' };
        const { run } = await server.finish(repo.name, 'completed', more);
        assert.equal(run.baseCommit, refs(repo.origin)['refs/heads/release/1.0']);
        const [pr] = await server.pullRequests(repo.name);
        await server.post(`/v1/pull-requests/${pr.id}/merge`);
        assert.equal(git(repo.origin, 'show', 'release/1.0:answer.txt'), '42');
        assert.equal(git(repo.origin, 'show', 'main:answer.txt'), '41');
    });

    it('numbers the pull requests of a repository one after the other', async () => {
        const repo = await server.repository('acme/numbers', fixes);
        await server.finish(repo.name, 'completed');
        await server.finish(repo.name, 'completed');
        const numbers = (await server.pullRequests(repo.name)).map((pr) => pr.number);
        assert.deepEqual(numbers.sort(), [1, 2]);
        assert.equal(branches(repo.origin).length, 2);
    });

    it('takes turns, tokens and cost from the output of the agent', async () => {
        const turn = (turns, costUsd) =>
            says({ type: 'turn', turns, inputTokens: 100, outputTokens: 10, costUsd });
        const tool = says({ type: 'tool', name: 'edit', status: 'completed', summary: 'answer' });
        const agent = turn(1, 0.25) + tool + turn(1, 0.5) + fixes;
        const repo = await server.repository('acme/turns', agent);
        const { run, runId } = await server.finish(repo.name, 'completed');
        assert.equal(run.turns, 2);
        assert.equal(run.costUsd, 0.75);
        const types = typesOf(await server.events(runId));
        assertInOrder(types, ['agent.tool.call.completed', 'agent.patch.created']);
        assertInOrder(types, ['agent.model.turn.completed', 'agent.patch.created']);
    });

    it('of a failed task can be had again as run 2, with the history kept', async () => {
        const agent = `[ -e help.txt ] || { ${gaveUp('not today')} exit 0; }\n${fixes}`;
        const repo = await server.repository('acme/again', agent);
        const { taskId, runId } = await server.finish(repo.name, 'failed');
        commitTo(repo.origin, 'help.txt', 'now it can be done');
        const retried = await server.post(`/v1/tasks/${taskId}/retry`);
        const task = await server.untilTask(taskId, 'completed');
        assert.equal(task.errorCode ?? null, null);
        assert.deepEqual(task.runs.map((run) => [run.runNo, run.status]).sort(),
            [[1, 'failed'], [2, 'completed']]);
        const second = task.runs.find((run) => run.runNo === 2);
        assert.equal(retried.runId, second.id);
        assert.match((await server.run(second.id)).branch, /\/2-/);
        assert.equal((await server.run(runId)).status, 'failed');
        assert.ok(typesOf(await server.events(second.id)).includes('agent.task.submitted'));
        assertHistory(await server.list(`/v1/events?taskId=${taskId}&limit=200`));
        assert.equal((await server.pullRequests(repo.name)).length, 1);
    });

    it('of a task that still works cannot be had again', async () => {
        const repo = await server.repository('acme/early', 'exec sleep 3000');
        const { taskId } = await server.submit(repo.name);
        const res = await server.call('POST', `/v1/tasks/${taskId}/retry`, { body: {} });
        assertProblem(res, 409);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
    });

    it('that breaks a rule of the judge is repaired', async () => {
        const agent = `if [ "$DROVER_ATTEMPT" = 1 ]; then mkdir ci; echo x >ci/deploy.yml
            else rm -r ci; cp "$DROVER_FEEDBACK" told.txt; fi\n${fixes}`;
        const judge = [{ rules: { maxFiles: 5, forbiddenPaths: ['ci/**'] } }];
        const repo = await server.repository('acme/judged', agent, { judge });
        const { run, runId } = await server.finish(repo.name, 'completed');
        assert.match(git(repo.origin, 'show', `${run.branch}:told.txt`), /ci\/deploy\.yml/);
        assert.ok(!git(repo.origin, 'ls-tree', '-r', '--name-only', run.branch).includes('ci/'));
        const verdicts = (await server.events(runId))
            .filter((event) => event.type === 'agent.judge.completed')
            .map((event) => event.data.verdict);
        assert.deepEqual(verdicts, ['fail', 'pass']);
    });

    it('that leaves its scope is told so', async () => {
        const agent = `echo x >elsewhere.txt\n${fixes}`;
        const retries = { agentAttempts: 1 };
        const repo = await server.repository('acme/scope', agent, { retries });
        const { task } = await server.finish(repo.name, 'failed', { scope: ['answer.*'] });
        assert.equal(task.errorCode, 'retry_budget_exhausted');
        assert.deepEqual(await server.pullRequests(repo.name), []);
    });

    it('that is never right ends when its attempts are used up', async () => {
        const retries = { agentAttempts: 2 };
        const repo = await server.repository('acme/never', answers('$DROVER_ATTEMPT') + done(),
            { retries });
        const { task, run, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'retry_budget_exhausted');
        assert.ok(task.errorMessage);
        assert.equal(run.attempt, 2);
        const types = typesOf(await server.events(runId));
        assert.equal(types.filter((type) => type === 'agent.verification.failed').length, 2);
        assert.ok(types.includes('agent.run.failed'));
        assert.deepEqual(branches(repo.origin), []);
    });

    it('without verifiers completes, and says that it could not be verified', async () => {
        const repo = await server.repository('acme/unverified', fixes, { verify: [] });
        const { runId } = await server.finish(repo.name, 'completed');
        const text = JSON.stringify(await server.events(runId));
        assert.match(text, /unverifiable/);
    });

    it('runs its verifiers on a clean checkout, not in the tree of the agent', async () => {
        const files = { ...FILES, '.gitignore': '*.o\n' };
        const verify = [{ name: 'clean', command: 'test ! -e left.o && sh test.sh' }];
        const agent = `echo x >left.o\n${fixes}`;
        const repo = await server.repository('acme/clean', agent, { files, verify });
        await server.finish(repo.name, 'completed');
    });
});

describe('an agent that ends', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    const retries = { agentAttempts: 1 };
    const table = [
        { how: 'with success and no change', agent: done(), code: 'agent_did_nothing' },
        { how: 'with 0, no record and no change', agent: 'exit 0', code: 'agent_did_nothing' },
        { how: 'with an error record and no change', agent: gaveUp('no idea'),
          code: 'agent_error' },
        { how: 'with an error record and a change', agent: answers(42) + gaveUp('half way'),
          code: 'agent_error_partial_work' },
        { how: 'with status 3 and no change', agent: 'exit 3', code: 'agent_error' },
        { how: 'with status 3 and a change', agent: `${answers(42)}exit 3`,
          code: 'agent_error_partial_work' },
        { how: 'by a signal', agent: 'kill -9 $$', code: /^agent_|^session_/ },
        { how: 'with success in the record though it exits with 1', agent: `${fixes}exit 1`,
          status: 'completed' },
        { how: 'with 0 and a change but no record', agent: answers(42), status: 'completed' },
        { how: 'with a commit of its own', status: 'completed',
          agent: `${answers(42)}git add -A && git -c user.name=a -c user.email=a@b commit -qm x
              ${done()}` },
        { how: 'with a record that is no JSON, and status 1', code: /^agent_|^session_/,
          agent: 'echo nonsense >"$DROVER_RESULT"; exit 1' },
    ];
    table.forEach(({ how, agent, code, status = 'failed' }, index) => {
        it(`${how} makes the task ${status}`, async () => {
            const repo = await server.repository(`acme/end-${index}`, agent, { retries });
            const { task, run } = await server.finish(repo.name, status);
            const prs = await server.pullRequests(repo.name);
            assert.equal(prs.length, status === 'completed' ? 1 : 0);
            if (status === 'completed') {
                assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
                return;
            }
            if (code instanceof RegExp) assert.match(task.errorCode, code);
            else assert.equal(task.errorCode, code);
            assert.ok(task.errorMessage, 'a sentence for people');
            assert.deepEqual(branches(repo.origin), []);
        });
    });

    it('is not started at all when its command does not exist', async () => {
        const repo = await server.repository('acme/absent', '');
        repo.document.agent.command = ['./not-there.sh'];
        await server.configure(repo.name, repo.document);
        const { task } = await server.finish(repo.name, 'failed');
        assert.ok(task.errorCode);
        assert.match(task.errorMessage, /not-there/);
    });

    it('is not started at all when the target branch does not exist', async () => {
        const repo = await server.repository('acme/no-branch', fixes);
        const { task } = await server.finish(repo.name, 'failed', { targetBranch: 'nowhere' });
        assert.equal(task.errorCode, 'branch_not_found');
        assert.match(task.errorMessage, /nowhere/);
    });
});

describe('policy', { concurrency: 6 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('denies autonomous work of high risk, and records the rejection', async () => {
        const repo = await server.repository('acme/denied', fixes);
        const body = { repository: repo.name, description: 'x', executionMode: 'autonomous_pr',
            riskLevel: 'high' };
        const res = await server.call('POST', '/v1/tasks', { body });
        assertProblem(res, 403, { code: 'policy.execution_mode_not_allowed' });
        const rejected = await server.list('/v1/events?type=agent.task.rejected');
        assert.equal(rejected.filter((e) => JSON.stringify(e).includes(repo.name)).length, 1);
        const tasks = await server.list(`/v1/tasks?repository=${encodeURIComponent(repo.name)}`);
        assert.deepEqual(tasks, []);
    });

    const asks = [
        { mode: 'supervised_pr', risk: 'high', draft: true },
        { mode: 'autonomous_pr', risk: 'medium', draft: false },
        { mode: 'supervised_pr', risk: 'low', approval: 'always', draft: true },
    ];
    for (const { mode, risk, approval = 'auto', draft } of asks) {
        it(`${approval} asks before ${mode} of ${risk} risk; approved, the PR opens`, async () => {
            const name = `acme/asks-${mode}-${risk}`;
            const repo = await server.repository(name, fixes, { policy: { approval } });
            const more = { executionMode: mode, riskLevel: risk };
            const { taskId, runId } = await server.submit(name, more);
            await server.untilRun(runId, 'awaiting_approval');
            assert.equal((await server.task(taskId)).status, 'finalizing');
            assert.deepEqual(branches(repo.origin), []);
            const question = await pendingApproval(runId);
            assert.equal(question.taskId, taskId);
            assert.ok(question.kind && question.requestedAt && question.expiresAt);
            await server.post(`/v1/approvals/${question.id}/approve`, { reason: 'looks right' });
            await server.untilTask(taskId, 'completed');
            const [pr] = await server.pullRequests(name);
            assert.equal(pr.draft, draft);
            const events = await server.events(runId);
            assertHistory(events);
            assertInOrder(typesOf(events), ['agent.approval.requested',
                'agent.approval.approved', 'agent.pr.created', 'agent.run.completed']);
            const approved = events.find((event) => event.type === 'agent.approval.approved');
            assert.match(JSON.stringify(approved.data), /looks right/);
            assertProblem(await server.decide(question.id, 'approve'), 409);
        });
    }

    it('never asks when the repository says never', async () => {
        const policy = { approval: 'never' };
        const repo = await server.repository('acme/never-asks', fixes, { policy });
        await server.finish(repo.name, 'completed', { riskLevel: 'high' });
        assert.equal((await server.pullRequests(repo.name)).length, 1);
    });

    it('always asks for patch_only too, and an approval completes it', async () => {
        const policy = { approval: 'always' };
        const repo = await server.repository('acme/always-patch', fixes, { policy });
        const { taskId, runId } = await server.submit(repo.name, { executionMode: 'patch_only' });
        await server.untilRun(runId, 'awaiting_approval');
        const question = await pendingApproval(runId);
        assert.equal((await server.decide(question.id, 'approve')).status, 200);
        await server.untilTask(taskId, 'completed');
        assert.deepEqual(branches(repo.origin), []);
    });

    it('lets a person reject: the task fails and nothing is published', async () => {
        const repo = await server.repository('acme/rejected', fixes);
        const { taskId, runId } = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(runId, 'awaiting_approval');
        const question = await pendingApproval(runId);
        await server.post(`/v1/approvals/${question.id}/reject`, { reason: 'too risky' });
        const task = await server.untilTask(taskId, 'failed');
        assert.ok(task.errorCode);
        assert.match(task.errorMessage, /too risky/);
        assert.deepEqual(branches(repo.origin), []);
        assert.ok(typesOf(await server.events(runId)).includes('agent.approval.rejected'));
        assert.equal(await pendingApproval(runId), undefined);
    });
});
