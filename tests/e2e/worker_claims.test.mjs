// What a worker says is checked: one result after the other with one lie in it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, afterEach, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { fixes, git } from './lib/git.mjs';
import { start } from './lib/server.mjs';
import { COMMIT, HandWorker, STEPS, certificateOf } from './lib/worker.mjs';

const GONE = 'f'.repeat(64);
const OTHER = 'c'.repeat(40);
const STRANGER = '01a1e111-4231-7a66-8bbc-617c042fcfa1';

let server;
let repo;
const worker = () => new HandWorker(server, 'hand');

before(async () => {
    server = await start({ args: ['--workers', '0'] });
    repo = await server.repository('acme/claims', fixes);
});
after(() => server.discard({ findings: ['forge'] })); // It claims pull requests that are not there.

// A task that a failed test leaves behind would put its jobs in the way of the next one.
const submitted = [];
afterEach(async () => {
    for (const id of submitted.splice(0))
        await server.call('POST', `/v1/tasks/${id}/cancel`, { body: {} });
});

async function submit() {
    const { taskId, runId } = await server.submit(repo.name);
    submitted.push(taskId);
    return runId;
}

async function reach(step) {
    const runId = await submit();
    const hand = worker();
    await hand.walkTo(step, runId);
    return { runId, hand, job: await hand.take(step, runId) };
}

// A certificate with other members, and the result that names it.
const sealed = (change) => async (result, job) => {
    const certificate = certificateOf(job);
    const text = JSON.stringify({ ...certificate, ...change(certificate) });
    return { ...result, certificateSha256: await server.upload(text) };
};
const failing = (checks) => [{ ...checks[0], status: 'failed', exitCode: 1 }];

// A patch that does not apply, with other members in the check that says so.
const unapplied = (treeHash, more = {}) => async (result, job) => {
    const verdict = 'failed';
    const checks = [{ name: 'apply', command: 'git apply', status: 'failed', exitCode: 1, signal: 0,
        durationMs: 5, optional: false, ...more }, ...certificateOf(job).checks.map((check) =>
        ({ ...check, status: 'skipped', exitCode: null }))];
    const told = checks.map((check, i) => ({ ...result.checks[Math.max(0, i - 1)], ...check }));
    return { ...await sealed(() => ({ checks, verdict, treeHash }))(result, job), checks: told,
        verdict, treeHash, feedbackSha256: await server.upload('It does not apply.\n') };
};

// The step, what is told of it, and the member that is refused.
const LIES = {
    'a base that is no commit': ['prepare', (r) => ({ ...r, baseCommit: 'main' }), 'baseCommit'],
    'a prompt that was not stored': ['hydrate', (r) => ({ ...r, promptSha256: GONE }),
        'promptSha256'],
    'an artifact of another size': ['hydrate', (r) => ({ ...r, artifacts: [
        { kind: 'prompt', name: 'prompt.md', sha256: r.promptSha256, bytes: 7 }] }),
        'artifacts[0]'],
    'an artifact of another kind': ['hydrate', (r) => ({ ...r, artifacts: [
        { kind: 'plan', name: 'prompt.md', sha256: r.promptSha256 }] }), 'promptSha256'],
    'a patch that was not stored': ['agent', (r) => ({ ...r, patch: { ...r.patch, sha256: GONE } }),
        'patch.sha256'],
    'a pull request of a local agent': ['agent', (r, job) => ({ ...r, pullRequest: { number: 1,
        headCommit: OTHER, branch: job.payload.branch } }), 'pullRequest'],
    'no checks': ['verify', (r) => ({ ...r, checks: [] }), 'checks'],
    'no checks in the certificate either': ['verify', async (r, job) => ({
        ...await sealed(() => ({ checks: [] }))(r, job), checks: [] }), 'checks'],
    'a certificate that was not stored': ['verify', (r) => ({ ...r, certificateSha256: GONE }),
        'certificateSha256'],
    'a certificate that is none': ['verify', async (r) => ({ ...r,
        certificateSha256: await server.upload('[]') }), 'certificateSha256'],
    'the certificate of another run': ['verify', sealed(() => ({ runId: STRANGER })),
        'certificateSha256'],
    'the certificate of another attempt': ['verify', sealed(() => ({ attempt: 2 })),
        'certificateSha256'],
    'the certificate of another patch': ['verify', sealed(() => ({ patchSha256: GONE })),
        'certificateSha256'],
    'the certificate of another base': ['verify', sealed(() => ({ baseCommit: OTHER })),
        'certificateSha256'],
    'another tree': ['verify', async (r, job) => ({
        ...await sealed(() => ({ treeHash: OTHER }))(r, job), treeHash: OTHER }), 'treeHash'],
    'a check that is not configured': ['verify', sealed(({ checks }) => ({
        checks: [{ ...checks[0], command: 'true' }] })), 'checks[0]'],
    'a check that passed with exit code 1': ['verify', sealed(({ checks }) => ({
        checks: [{ ...checks[0], exitCode: 1 }] })), 'checks[0]'],
    'a failed check that the result calls passed': ['verify', sealed(({ checks }) => ({
        checks: failing(checks), verdict: 'failed' })), 'checks[0]'],
    'a verdict that does not follow': ['verify', async (r, job) => ({
        ...await sealed(({ checks }) => ({ checks: failing(checks) }))(r, job),
        checks: failing(r.checks) }), 'certificateSha256'],
    'an optional check of whether the patch applies': ['verify',
        unapplied(null, { optional: true }), 'checks[0]'],
    'a tree of a patch that does not apply': ['verify', unapplied(COMMIT), 'treeHash'],
    'no judges': ['judge', (r) => ({ ...r, judges: [] }), 'judges'],
    'another judge': ['judge', (r) => ({ ...r, judges: [{ ...r.judges[0], name: 'friend' }] }),
        'judges[0]'],
    'a pass of a judge that failed': ['judge', (r) => ({ ...r,
        judges: [{ ...r.judges[0], verdict: 'fail' }] }), 'verdict'],
    'a head that is no commit': ['publish', (r) => ({ ...r, headCommit: '222' }), 'headCommit'],
    'an address that a browser would run': ['publish',
        (r) => ({ ...r, url: 'javascript:alert(1)' }), 'url'],
    'another branch': ['publish', (r) => ({ ...r, branch: 'main' }), 'branch'],
    'no draft where the mode wants one': ['publish', (r) => ({ ...r, draft: false }), 'draft'],
};

describe('a result is refused for', () => {
    for (const [name, [step, forge, field]] of Object.entries(LIES)) {
        it(`${name} (${step})`, async () => {
            const { runId, hand, job } = await reach(step);
            const forged = await forge(await hand.result(job), job);
            const answer = await hand.claim(job, forged);
            assert.deepEqual([answer.ok, answer.code, answer.field],
                [false, 'RESULT_REFUSED', field], answer.message);
            const again = await hand.claim(job, forged);
            assert.deepEqual([again.ok, again.code], [false, 'RESULT_REFUSED']);
            const run = await server.run(runId);
            assert.equal(run.status, 'failed');
            assert.match(run.errorCode, /^(result_refused|invalid_step_result)$/);
            const [refused] = await server.dataOf(runId, 'agent.result.refused');
            assert.deepEqual([refused.step, refused.worker, refused.field], [step, 'hand', field]);
        });
    }
});

it('a patch that does not apply is not a lie', async () => {
    const { hand, job } = await reach('verify');
    const answer = await hand.claim(job, await unapplied(null)(await hand.result(job), job));
    assert.equal(answer.ok, true, answer.message);
});

describe('a pull request', () => {
    async function publish(more = {}) {
        const { runId, hand, job } = await reach('publish');
        const result = { ...await hand.result(job), ...more };
        return { runId, answer: await hand.claim(job, result), result };
    }

    it('of an honest worker is recorded', async () => {
        const { runId, answer } = await publish();
        assert.equal(answer.ok, true, answer.message);
        assert.equal((await server.untilRun(runId, 'completed')).errorCode, null);
    });

    it('is that of one run', async () => {
        const { result } = await publish();
        const { runId, answer } = await publish({ number: result.number, url: result.url });
        assert.deepEqual([answer.code, answer.field], ['RESULT_REFUSED', 'number']);
        assert.equal((await server.run(runId)).errorCode, 'result_refused');
    });

    it('that another run opened at the forge is neither merged nor closed', async () => {
        const head = git(repo.origin, 'rev-parse', 'main');
        const mark = `refs/drover/pulls/${STRANGER}/7`;
        for (const ref of ['refs/pull/7/head', mark]) git(repo.origin, 'update-ref', ref, head);
        const { runId, answer } = await publish(
            { number: 7, url: `${repo.origin}#refs/pull/7/head`, headCommit: head });
        assert.equal(answer.ok, true, answer.message);
        const { pullRequest } = await server.untilRun(runId, 'completed');
        for (const verb of ['merge', 'close']) {
            const { status, json } = await server.call('POST',
                `/v1/pull-requests/${pullRequest.id}/${verb}`, { body: {} });
            assert.deepEqual([status, json.code], [409, 'PULL_REQUEST_NOT_OWN']);
        }
        git(repo.origin, 'update-ref', '-d', mark); // The doctor finds it, as it should.
    });
});

describe('an event', () => {
    const send = (job, type, data) => server.call('POST', '/v1/jobs/progress',
        { body: { jobs: [{ id: job.id, epoch: job.epoch, events: [{ type, data }] }] } });

    it('about a snapshot has the refs of its run, and is printed as words of a shell', async () => {
        const { runId, job } = await reach('agent');
        const honest = { ref: `refs/drover/snapshots/${runId}/1-1`, commit: OTHER, files: 1,
            attempt: 1, reason: 'interval', worker: 'hand',
            mirror: "/srv/it's; touch $HOME/x.git" };
        const lies = {
            ref: ['x; rm -rf ~', '$(id)', 'refs/heads/main', `${honest.ref};id`, '--upload-pack=id',
                `refs/drover/snapshots/${STRANGER}/1-1`, null],
            commit: ['HEAD', '`id`'],
            mirror: ['--upload-pack=id', 'relative', '/srv/a\nb', 7],
            worker: ['somebody-else', 'hand\u001b[2J'],
            reason: ['because'],
            files: [-1, '1'],
        };
        for (const [key, values] of Object.entries(lies)) {
            for (const value of values) {
                const { status, json } = await send(job, 'agent.snapshot.taken',
                    { ...honest, [key]: value });
                assert.deepEqual([status, json.code, json.field], [422, 'INVALID_FIELD', key],
                    `${key}: ${value}`);
            }
        }
        assert.equal((await send(job, 'agent.snapshot.taken', honest)).status, 200);
        const { items: [item] } = await server.get(`/v1/runs/${runId}/snapshots`);
        const words = execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${item.fetch}`],
            { encoding: 'utf8' });
        assert.deepEqual(words.trimEnd().split('\n'), ['git', 'fetch', honest.mirror, honest.ref]);
        const { stdout } = await callDrover(server, ['snapshots', runId]);
        const command = `git fetch '/srv/it'\\''s; touch $HOME/x.git' ${honest.ref}`;
        assert.ok(stdout.includes(command), stdout);
    });

    it('has no say over a terminal', async () => {
        const { runId, job } = await reach('agent');
        const text = 'done\u001b]0;owned\u0007\u001b[2J\u202egpj.exe';
        assert.equal((await send(job, 'agent.step.recorded', { text })).status, 200);
        for (const words of [['timeline', runId], ['events', '--run', runId]]) {
            const { stdout } = await callDrover(server, words);
            assert.doesNotMatch(stdout, /[\u001b\u0007\u202e]/);
        }
    });

    it('of a shape that is not known is refused', async () => {
        const { job } = await reach('agent');
        for (const [type, data, field] of [
            ['agent.pr.created', { number: 1 }, 'events'],
            ['agent.step.recorded', { text: 7 }, 'text'],
            ['agent.model.turn.completed', { costUsd: -1 }, 'costUsd'],
            ['agent.judge.started', { name: 'x', judgeType: 'friend' }, 'judgeType'],
        ]) {
            const { status, json } = await send(job, type, data);
            assert.deepEqual([status, json.field], [422, field], type);
        }
    });
});

it('honest results take a run to its end', async () => {
    const runId = await submit();
    const hand = worker();
    for (const step of STEPS)
        assert.equal((await hand.complete(await hand.take(step, runId))).ok, true, step);
    assert.equal((await server.untilRun(runId, 'completed')).status, 'completed');
});
