// policy.test.mjs - what people allow: denials that explain themselves, and who may override them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { fixes } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';

const HIGH = { executionMode: 'autonomous_pr', riskLevel: 'high' };
const touches = (...paths) => paths
    .map((path) => `mkdir -p "$(dirname ${path})" && echo x >${path}\n`).join('') + fixes;

describe('policy', { concurrency: 4 }, () => {
    let server, operator;
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        operator = (await server.post('/v1/tokens', { name: 'ops', role: 'operator' })).token;
    });
    after(() => server.discard());

    const submitAs = (token, repository, more) => server.call('POST', '/v1/tasks',
        { token, body: { repository, description: 'Make the answer right.', ...more } });

    async function question(runId) {
        await server.untilRun(runId, 'awaiting_approval');
        const [approval] = await server.list(`/v1/approvals?runId=${runId}&status=pending`);
        return approval;
    }

    it('denies a mode that is too free for the risk, and says what is allowed', async () => {
        const repo = await server.repository('acme/denied', fixes);
        const res = await submitAs(operator, repo.name, HIGH);
        assertProblem(res, 403,
            { code: 'policy.execution_mode_not_allowed', field: 'executionMode' });
        const { policy } = res.json;
        assert.equal(policy.policyId, 'execution_mode');
        assert.equal(policy.decision, 'denied');
        assert.equal(policy.reasonCode, 'execution_mode_not_allowed');
        assert.equal(policy.resourceType, 'task');
        assert.deepEqual(policy.details, { executionMode: 'autonomous_pr', riskLevel: 'high',
            approval: 'auto', overridden: false });
        assert.match(policy.allowed, /patch_only, supervised_pr/);
        assert.match(policy.overrideBy, /admin/);
        const events = await server.list('/v1/events?type=agent.policy.denied');
        assert.ok(events.some((event) => event.data.resourceId === policy.resourceId));
    });

    it('lets an admin override it, and nobody else', async () => {
        const repo = await server.repository('acme/overridden', fixes);
        const override = { reason: 'the site is down' };
        const refused = await submitAs(operator, repo.name, { ...HIGH, override });
        assertProblem(refused, 403, { code: 'policy.execution_mode_not_allowed' });
        const bare = await submitAs(server.token, repo.name, { ...HIGH, override: {} });
        assertProblem(bare, 422, { field: 'override.reason' });
        const { runId, run } = await server.finish(repo.name, 'completed', { ...HIGH, override });
        assert.equal(run.overridden, 'execution_mode');
        assert.equal(run.pullRequest.draft, false);
        const events = await server.events(runId);
        const told = events.find((event) => event.type === 'agent.policy.override.approved');
        assert.equal(told.data.policyId, 'execution_mode');
        assert.equal(told.data.actor, 'admin');
        assert.equal(told.data.reason, 'the site is down');
        assertHistory(events);
    });

    it('ends a run whose patch touches a forbidden path, without another try', async () => {
        const path = '.github/workflows/deploy-prod.yml';
        const repo = await server.repository('acme/forbidden', touches(path),
            { policy: { forbiddenPaths: ['.github/workflows/**'] } });
        const { task, run, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'policy.forbidden_path');
        assert.match(task.errorMessage, /\.github\/workflows\/deploy-prod\.yml/);
        assert.equal(run.attempt, 1);
        assert.equal(run.pullRequest, null);
        const events = await server.events(runId);
        const denied = events.find((event) => event.type === 'agent.policy.denied');
        assert.equal(denied.data.policyId, 'forbidden_paths');
        assert.equal(denied.data.reasonCode, 'forbidden_path');
        assert.equal(denied.data.resourceType, 'patch');
        assert.equal(denied.data.details.path, path);
        assert.ok(typesOf(events).includes('agent.patch.policy_flagged'));
        assertHistory(events);
    });

    it('finds the one forbidden path among many files', async () => {
        const many = 'for i in $(seq 100 170); do echo $i >a$i.txt; done\n';
        const repo = await server.repository('acme/many', many + touches('zz/secret.txt'),
            { policy: { forbiddenPaths: ['zz'] } });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'policy.forbidden_path');
    });

    it('asks a person where it may be overridden, who must say why', async () => {
        const repo = await server.repository('acme/ask', touches('deploy/prod.yml'),
            { policy: { forbiddenPaths: ['deploy'], override: 'ask' } });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        assert.equal(approval.kind, 'override');
        assert.match(approval.summary, /deploy\/prod\.yml, which deploy forbids/);
        assert.equal(approval.detail.policyId, 'forbidden_paths');
        const bare = await server.decide(approval.id, 'approve');
        assertProblem(bare, 422, { field: 'reason' });
        const yes = await server.decide(approval.id, 'approve', { reason: 'asked for' });
        assert.equal(yes.status, 200);
        await server.untilTask(taskId, 'completed');
        const run = await server.run(runId);
        assert.equal(run.overridden, 'forbidden_paths');
        assert.ok(run.pullRequest);
        const events = await server.events(runId);
        const types = typesOf(events);
        for (const type of ['agent.policy.override.requested', 'agent.policy.override.approved'])
            assert.equal(types.filter((each) => each === type).length, 1, type);
        assertHistory(events);
    });

    it('stays with its denial when the person says no', async () => {
        const repo = await server.repository('acme/no', touches('deploy/prod.yml'),
            { policy: { forbiddenPaths: ['deploy'], override: 'ask' } });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        await server.decide(approval.id, 'reject', { reason: 'not on a Friday' });
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'policy.forbidden_path');
        assert.match(task.errorMessage, /not on a Friday/);
        assert.ok(typesOf(await server.events(runId)).includes('agent.policy.override.rejected'));
    });

    it('tells once of every publication why it may be', async () => {
        const repo = await server.repository('acme/allowed', fixes);
        const { runId } = await server.finish(repo.name, 'completed');
        const told = (await server.events(runId))
            .filter((event) => event.type === 'agent.policy.evaluated');
        assert.equal(told.length, 1);
        assert.equal(told[0].data.decision, 'allowed');
        assert.equal(told[0].data.details.executionMode, 'supervised_pr');
    });
});
