// approvals.test.mjs - questions to people: what they are shown, reminders, answers and their end.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { assertHistory, typesOf } from './lib/cloudevents.mjs';
import { fixes } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';

const ALWAYS = { approval: 'always' };
const planner = `if [ "$DROVER_PHASE" = plan ]; then
    printf '1. Put 42 there.\\n' >"$DROVER_PLAN"; exit 0
fi\n${fixes}`;

let server;

const drover = (...args) => launch(args,
    { DROVER_URL: server.url, DROVER_TOKEN: server.token }).ended;

const question = (runId) => server.question(runId);

const reminders = async (runId) => (await server.events(runId))
    .filter((event) => event.type === 'agent.approval.reminded').map((event) => event.data);

describe('an approval', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    it('shows what is asked, and is given by hand with a reason', async () => {
        const repo = await server.repository('acme/shown', fixes, { policy: ALWAYS });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        assert.equal(approval.kind, 'patch');
        assert.equal(approval.summary, 'the answer is 42');
        assert.match(approval.question, /approval/);
        assert.deepEqual(approval.findings, []);
        assert.equal(approval.planArtifactId, null);
        const run = await server.run(runId);
        assert.equal(approval.diffArtifactId, run.patchSha256);
        assert.deepEqual(await server.get(`/v1/approvals/${approval.id}`), approval);
        const listed = await drover('approvals');
        assert.match(listed.out, /AGE/);
        assert.match(listed.out, /the answer is 42/);
        const shown = await drover('approval', approval.id);
        assert.equal(shown.code, 0, shown.err);
        assert.match(shown.out, /the answer is 42/);
        assert.match(shown.out, /^-41\n\+42$/m);
        const yes = await drover('approve', approval.id, '--reason', 'looks right');
        assert.equal(yes.code, 0, yes.err);
        await server.untilTask(taskId, 'completed');
        const decided = await server.get(`/v1/approvals/${approval.id}`);
        assert.equal(decided.status, 'approved');
        assert.equal(decided.decidedBy, 'admin');
        assert.equal(decided.reason, 'looks right');
        assertProblem(await server.decide(approval.id, 'reject'), 409,
            { code: 'APPROVAL_DECIDED' });
        for (const word of [approval.id.slice(0, -1), runId.slice(0, -1), taskId]) {
            const past = await drover('approval', word);
            assert.equal(past.code, 0, past.err);
            assert.match(past.out, /looks right/);
            assert.equal((await drover('reject', word)).code, 3, 'only what waits is decided');
        }
        assertHistory(await server.events(runId));
    });

    it('of a plan shows the plan', async () => {
        const repo = await server.repository('acme/plan', planner, { plan: ALWAYS });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        assert.equal(approval.kind, 'plan');
        assert.equal(approval.diffArtifactId, null);
        const shown = await drover('approval', runId);
        assert.match(shown.out, /^1\. Put 42 there\.$/m);
        await server.decide(approval.id, 'approve');
        await server.untilTask(taskId, 'completed');
    });

    it('that is refused ends the run with who and why', async () => {
        const repo = await server.repository('acme/refused', fixes, { policy: ALWAYS });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        const no = await drover('reject', approval.id, '--reason', 'not this way');
        assert.equal(no.code, 0, no.err);
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'approval_rejected');
        assert.match(task.errorMessage, /admin: not this way/);
    });

    it('that nobody gives expires, and a cancelled task takes its question back', async () => {
        const repo = await server.repository('acme/expired', fixes,
            { policy: ALWAYS, timeouts: { approvalMs: 200 } });
        const { task, runId } = await server.finish(repo.name, 'timed_out');
        assert.equal(task.errorCode, 'approval_expired');
        const [expired] = await server.list(`/v1/approvals?runId=${runId}`);
        assert.equal(expired.status, 'expired');
        const other = await server.repository('acme/cancelled', fixes, { policy: ALWAYS });
        const { taskId, runId: second } = await server.submit(other.name);
        const approval = await question(second);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
        assert.equal((await server.get(`/v1/approvals/${approval.id}`)).status, 'cancelled');
    });

    it('is not known by another name', async () => {
        const nobody = '00000000-0000-7000-8000-00000000ffff';
        assertProblem(await server.call('GET', `/v1/approvals/${nobody}`), 404);
        assertProblem(await server.call('GET', '/v1/approvals/nonsense'), 400);
    });
});

describe('a question that stays open', () => {
    before(async () => {
        server = await start();
    });
    after(() => server.discard());

    it('is brought back to mind once a period, whatever happens to the server', async () => {
        const period = 150;
        const repo = await server.repository('acme/slow', fixes,
            { policy: { ...ALWAYS, reminderMs: period } });
        const { taskId, runId } = await server.submit(repo.name);
        // A server that starts looks at its timers within seconds, or when one is set.
        const hint = await server.repository('acme/hint', fixes, { timeouts: { queueMs: 10 } });
        const approval = await question(runId);
        await server.untilEvent(runId, 'agent.approval.reminded', ({ data }) => data.count >= 2);
        await server.crash();
        await server.start();
        await server.submit(hint.name);
        await server.untilEvent(runId, 'agent.approval.reminded', ({ data }) => data.count >= 4);
        const told = await reminders(runId);
        assert.deepEqual(told.map((data) => data.count), told.map((_, i) => i + 1));
        const periods = told.map((data) => Math.floor(data.waitingMs / period));
        assert.equal(new Set(periods).size, periods.length, `${periods}`);
        await server.decide(approval.id, 'approve');
        const { length } = await reminders(runId);
        await server.untilTask(taskId, 'completed');
        assert.equal((await reminders(runId)).length, length);
        assert.ok(typesOf(await server.events(runId)).includes('agent.approval.approved'));
    });
});
