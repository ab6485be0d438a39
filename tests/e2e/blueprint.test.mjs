// blueprint.test.mjs - steps of the repository's own, sequences, and the plan before the work.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes, git } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { openService } from './lib/service.mjs';

let server;
let service;
const calls = []; // What the service was told.
const answers = new Map(); // step -> (call number) => [status, body]

function serve({ text }) {
    const input = JSON.parse(text);
    calls.push(input);
    const nth = calls.filter((call) => call.step === input.step).length;
    const [status, body] = answers.get(input.step)(nth);
    return { status, body };
}

const url = () => `${service.url}/steps`;

async function stepsOf(runId) {
    const events = await server.events(runId);
    return events.filter((event) => event.type === 'agent.step.completed')
        .map((event) => event.data.step);
}

const question = (runId) => server.question(runId);

describe('a blueprint', { concurrency: 4 }, () => {
    before(async () => {
        service = await openService(serve);
        server = await start({ args: ['--workers', '4'], env: { SECRET_FOR_AGENT: 'x' } });
    });
    after(async () => {
        await server.discard();
        service.close();
    });

    it('puts steps of the repository before and after the agent', async () => {
        const steps = [
            { name: 'lint', phase: 'post-agent', command: 'test "$(cat answer.txt)" = 42' },
            { name: 'scan', phase: 'pre-agent', command: 'test "$(cat answer.txt)" != 42' },
        ];
        const repo = await server.repository('acme/phases', fixes, { steps });
        const { run } = await server.finish(repo.name, 'completed');
        assert.deepEqual(await stepsOf(run.id), ['prepare', 'hydrate', 'scan', 'agent', 'lint',
            'verify', 'judge', 'publish']);
    });

    it('runs a whole sequence as it is told, and skips no state', async () => {
        const steps = [{ name: 'last', command: 'true' }, { name: 'early', command: 'true' }];
        const sequence = ['admission', 'prepare', 'early', 'hydrate', 'agent', 'publish', 'last',
            'finalize'];
        const repo = await server.repository('acme/sequence', fixes, { steps, sequence });
        const { run } = await server.finish(repo.name, 'completed');
        assert.deepEqual(await stepsOf(run.id), ['prepare', 'early', 'hydrate', 'agent', 'publish',
            'last']);
        const events = await server.events(run.id);
        const states = events.filter((event) => event.type === 'agent.run.status.changed')
            .map((event) => event.data.toStatus);
        assert.deepEqual(states, ['preparing', 'context_loading', 'running', 'verifying',
            'judging', 'creating_pr', 'completed']);
    });

    it('hands each step its own input, and what the last five said', async () => {
        answers.set('far', () => [200, { status: 'success', metadata: { seen: 'far' } }]);
        const say = (n) => ({ name: `say-${n}`, config: { n },
            command: `printf '{"status":"success","metadata":{"n":${n}}}' >"$DROVER_RESULT"` });
        const steps = [1, 2, 3, 4, 5, 6].map(say);
        steps.push({ name: 'far', url: url(), config: { level: 'high' } });
        const repo = await server.repository('acme/handed', fixes, { steps });
        const { run, task } = await server.finish(repo.name, 'completed');
        const told = calls.find((call) => call.step === 'far');
        assert.equal(told.taskId, task.id);
        assert.equal(told.runId, run.id);
        assert.deepEqual(told.config, { level: 'high' });
        assert.deepEqual(told.previousStepResults.map((result) => result.metadata.n),
            [2, 3, 4, 5, 6]);
        assert.deepEqual(run.stepResults.at(-1), { name: 'far', status: 'success',
            metadata: { seen: 'far' } });
        assert.equal(run.stepResults.length, 5);
    });

    it('gives a step none of what the agent is trusted with', async () => {
        const steps = [{ name: 'look', command: 'env >"$PWD/seen"; grep -c DROVER_TOKEN= seen && ' +
            'exit 1; grep -c SECRET_FOR_AGENT= seen && exit 1; exit 0' }];
        const repo = await server.repository('acme/least', fixes, { steps,
            agent: { command: ['/bin/sh', '-c', fixes], env: ['SECRET_FOR_AGENT'] } });
        await server.finish(repo.name, 'completed');
    });

    const failures = [
        { name: 'says so', step: { command:
            `printf '{"status":"failed","error":"no licence"}' >"$DROVER_RESULT"` },
        code: 'custom_step_failed', message: /check failed: no licence/, tries: 1 },
        { name: 'ends with a status', step: { command: 'exit 3' },
            code: 'custom_step_failed', message: /status 3/, tries: 1 },
        { name: 'takes too long, each time', step: { command: 'sleep 20', timeoutMs: 100,
            retries: 1 },
        code: 'custom_step_unavailable', message: /longer than 100 ms/, tries: 2 },
        { name: 'asks to be tried again too often', step: { command: 'exit 75', retries: 0 },
            code: 'custom_step_unavailable', message: /status 75/, tries: 1 },
        { name: 'answers nonsense', step: { command: 'echo maybe >"$DROVER_RESULT"' },
            code: 'custom_step_bad_answer', message: /./, tries: 1 },
    ];
    failures.forEach(({ name, step, code, message, tries }, index) => {
        it(`fails the run when a step ${name}`, async () => {
            const steps = [{ name: 'check', ...step }];
            const repo = await server.repository(`acme/fails-${index}`, fixes, { steps });
            const { task, run } = await server.finish(repo.name, 'failed');
            assert.equal(task.errorCode, code);
            assert.match(task.errorMessage, message);
            const events = await server.events(run.id);
            const begun = events.filter((event) => event.type === 'agent.step.started' &&
                event.data.step === 'check');
            assert.equal(begun.length, tries);
        });
    });

    it('calls a service again that is busy, and not one that refuses', async () => {
        answers.set('busy', (nth) => (nth === 1 ? [503, {}] : [200, { status: 'success' }]));
        answers.set('strict', () => [422, { title: 'no', status: 422, code: 'NO', detail: 'no' }]);
        const busy = await server.repository('acme/busy', fixes,
            { steps: [{ name: 'busy', url: url() }] });
        await server.finish(busy.name, 'completed');
        const strict = await server.repository('acme/strict', fixes,
            { steps: [{ name: 'strict', url: url() }] });
        const { task } = await server.finish(strict.name, 'failed');
        assert.equal(task.errorCode, 'custom_step_refused');
    });

    it('completes with a warning when a step fails after the pull request', async () => {
        const steps = [{ name: 'announce', command: 'exit 1' }];
        const sequence = ['prepare', 'hydrate', 'agent', 'verify', 'judge', 'publish', 'announce'];
        const repo = await server.repository('acme/after', fixes, { steps, sequence });
        const { run } = await server.finish(repo.name, 'completed');
        assert.equal(run.warning.code, 'custom_step_failed');
        assert.ok(run.pullRequest.number > 0);
    });

    it('completes with a warning when a step after the pull request cannot be had', async () => {
        const steps = [{ name: 'announce', command: 'exit 75', retries: 0 },
            { name: 'last', command: 'true' }];
        const sequence = ['prepare', 'hydrate', 'agent', 'publish', 'announce', 'last'];
        const repo = await server.repository('acme/after-away', fixes, { steps, sequence });
        const { run } = await server.finish(repo.name, 'completed');
        assert.equal(run.warning.code, 'custom_step_unavailable');
        assert.equal((await stepsOf(run.id)).at(-1), 'last');
    });

    it('is refused with INVALID_STEP_SEQUENCE when it cannot hold', async () => {
        const { document } = await server.repository('acme/refused', fixes);
        const body = { ...document, sequence: ['prepare', 'agent'] };
        const answer = await server.call('PUT', '/v1/repositories/acme%2Frefused', { body });
        assertProblem(answer, 422, { code: 'INVALID_STEP_SEQUENCE' });
        assert.match(answer.json.detail, /hydrate must stand before agent/);
    });
});

describe('a plan', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
    });
    after(() => server.discard());

    const planner = `if [ "$DROVER_PHASE" = plan ]; then
            tail -5 "$DROVER_PROMPT" | grep -q 'Do not change any file' || exit 1
            echo spoiled >answer.txt; printf '1. Put 42 there.\\n' >"$DROVER_PLAN"; exit 0
        fi
        grep -q 'Put 42' "$DROVER_PLAN" || exit 1
        test "$(cat answer.txt)" != spoiled || exit 1\n${fixes}`;

    it('is made before the work, and handed to it', async () => {
        const repo = await server.repository('acme/planned', planner, { plan: {} });
        const { run } = await server.finish(repo.name, 'completed');
        const plan = await server.call('GET', `/v1/artifacts/${run.planArtifactId}`);
        assert.equal(plan.text, '1. Put 42 there.\n');
        const events = await server.events(run.id);
        const types = events.map((event) => event.type);
        assert.ok(types.indexOf('agent.plan.created') < types.indexOf('agent.patch.created'));
        assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
    });

    it('waits for a person where that is asked for; approved, the work follows', async () => {
        const repo = await server.repository('acme/asked', planner,
            { plan: { approval: 'always' } });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        assert.equal(approval.kind, 'plan');
        await server.post(`/v1/approvals/${approval.id}/approve`, { reason: 'go' });
        await server.untilTask(taskId, 'completed');
    });

    it('that a person rejects ends the run before any work', async () => {
        const repo = await server.repository('acme/rejected', planner,
            { plan: { approval: 'always' } });
        const { taskId, runId } = await server.submit(repo.name);
        const approval = await question(runId);
        await server.post(`/v1/approvals/${approval.id}/reject`, { reason: 'too risky' });
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'approval_rejected');
        const run = await server.run(runId);
        assert.equal(run.attempt, 0);
    });

    it('that is missing fails the run', async () => {
        const repo = await server.repository('acme/planless', 'true', { plan: {} });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'plan_missing');
    });

    it('that an agent cannot make fails the run with its words', async () => {
        const agent = `printf '{"status":"error","error":"too vague"}' >"$DROVER_RESULT"`;
        const repo = await server.repository('acme/vague', agent, { plan: {} });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'plan_failed');
        assert.match(task.errorMessage, /too vague/);
    });
});
