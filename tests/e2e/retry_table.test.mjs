// retry_table.test.mjs - the table of failures, row by row: which are tried again, how, and which
// never are.
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { answers, branches, done, fixes, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { openModel, openai } from './lib/model.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const TOKEN = ['ghp', 'Zq8X2v7Lr5Tn3Wk9Bd4Yc6Hj1Mf0Pg8Us2Ea'].join('_');

let server;
before(async () => {
    server = await start({ args: ['--workers', '4'] });
});
after(() => server.discard());

const byAttempt = (first, later) =>
    `if [ "$DROVER_ATTEMPT" = 1 ]; then\n${first}else\n${later}fi\n${done()}`;

const dataOf = (runId, type) => server.dataOf(runId, type);

const retriesOf = (runId) => dataOf(runId, 'agent.run.verdict.retry_with_feedback');

describe('a failure of the kind', { concurrency: 4 }, () => {
    it('shell command test failed: an agent repair attempt', async () => {
        const repo = await server.repository('acme/test-failed',
            byAttempt(answers(43), answers(42)));
        const { runId, run } = await server.finish(repo.name, 'completed');
        assert.equal(run.attempt, 2);
        const [failed] = await dataOf(runId, 'agent.verification.failed');
        assert.equal(failed.failureCategory, 'test_failure');
        assert.equal((await retriesOf(runId))[0].reason, 'verification_failed');
    });

    it('compile error after patch: the feedback loop', async () => {
        const verify = [{ name: 'build', command: `grep -qx 42 answer.txt || {
            echo "answer.c:1:1: error: expected 42"; exit 2; }` }];
        const fixed = `grep -q "expected 42" "$DROVER_FEEDBACK" || exit 9\n${answers(42)}`;
        const repo = await server.repository('acme/compile', byAttempt(answers(43), fixed),
            { verify });
        const { runId, run } = await server.finish(repo.name, 'completed');
        assert.equal(run.attempt, 2);
        const [failed] = await dataOf(runId, 'agent.verification.failed');
        assert.equal(failed.failureCategory, 'compile_error');
    });

    it('policy denied: not retried, stop or approval', async () => {
        const repo = await server.repository('acme/denied', fixes);
        const body = { repository: repo.name, description: 'x', riskLevel: 'high' };
        const res = await server.call('POST', '/v1/tasks',
            { body: { ...body, executionMode: 'autonomous_pr' } });
        assert.equal(res.status, 403, res.text);
        assert.equal(res.json.code, 'policy.execution_mode_not_allowed');
        const { runId } = await server.submit(repo.name, { riskLevel: 'high' });
        await server.untilRun(runId, 'awaiting_approval');
        assert.deepEqual(await retriesOf(runId), []);
    });

    it('forbidden path touched: the agent is asked to revert', async () => {
        const judge = [{ rules: { forbiddenPaths: ['ci/**'] } }];
        const repo = await server.repository('acme/forbidden', byAttempt(
            `mkdir ci; echo x >ci/build.yml\n${answers(42)}`,
            'grep -q ci/build.yml "$DROVER_FEEDBACK" && rm -r ci\n'), { judge });
        const { runId, run } = await server.finish(repo.name, 'completed');
        assert.equal(run.attempt, 2);
        assert.equal((await retriesOf(runId))[0].reason, 'judge_failed');
        assert.equal((await dataOf(runId, 'agent.judge.completed'))[0].category, 'forbidden_path');
    });

    it('secret detected: not retried, blocked and redacted', async () => {
        const repo = await server.repository('acme/secret', `echo ${TOKEN} >conf.txt\n${fixes}`);
        const { task, runId, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'secret_detected');
        assert.equal(run.attempt, 1);
        assert.deepEqual(await retriesOf(runId), []);
        assert.ok(!JSON.stringify(await server.events(runId)).includes(TOKEN));
        assert.deepEqual(branches(repo.origin), []);
    });

    it('provider rate limit: retried with exponential backoff', async () => {
        const limited = { status: 429, body: { error: { message: 'slow down' } } };
        const model = await openModel(limited, limited,
            { body: openai('{"verdict":"pass","score":1}') });
        const judge = [{ name: 'model', model: { api: 'openai', url: model.url, model: 'm' } }];
        const repo = await server.repository('acme/limited', fixes, { judge });
        await server.finish(repo.name, 'completed');
        assert.equal(model.calls.length, 3);
        // Each pause is between half of its length and the whole, and twice as long as the last.
        const [first, second] = [1, 2].map((i) => model.calls[i].at - model.calls[i - 1].at);
        assert.ok(first >= 250, `${first} ms`);
        assert.ok(second >= 500, `${second} ms`);
        model.close();
    });

    it('malicious repo behavior: not retried, quarantine', async () => {
        const answer = '{"verdict":"fail","findings":[{"rule":"malicious_repository",' +
            '"text":"It plants hooks."}]}';
        const judge = [{ name: 'guard', command: `echo '${answer}'` }];
        const repo = await server.repository('acme/malicious', fixes, { judge });
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'malicious_repository');
        assert.deepEqual(await retriesOf(runId), []);
        const body = { repository: repo.name, description: 'again' };
        assertProblem(await server.call('POST', '/v1/tasks', { body }), 403,
            { code: 'REPO_QUARANTINED' });
    });
});

// Each takes the server away from the others.
describe('a failure of the server itself', () => {
    it('worker crash: retried, the lease is reacquired', async () => {
        const repo = await server.repository('acme/crash', waits('crash') + fixes);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate('crash');
        await server.crash();
        await server.startAgain();
        await server.letThrough('crash', taskId);
        const run = await server.run(runId);
        assert.equal(run.attempt, 1, 'no attempt is counted for a lost worker');
        assert.equal((await dataOf(runId, 'agent.run.recovered')).length, 1);
    });

    it('PR already exists: idempotent, the existing one is returned', async () => {
        const repo = await server.repository('acme/exists', fixes);
        const hold = join(server.dir, 'hold');
        const pushed = join(server.dir, 'pushed');
        writeFileSync(hold, '');
        writeFileSync(join(repo.origin, 'hooks/post-receive'),
            `#!/bin/sh\ntouch ${pushed}\nwhile [ -e ${hold} ]; do sleep 0.05; done\n`,
            { mode: 0o755 });
        const { runId } = await server.submit(repo.name);
        await until('the branch to be pushed', () => existsSync(pushed));
        await server.crash(); // What it pushed stands there, and nobody has recorded it.
        rmSync(hold);
        await server.startAgain();
        await server.untilRun(runId, 'completed');
        assert.equal((await server.pullRequests(repo.name)).length, 1);
        assert.equal(branches(repo.origin).length, 1);
        assert.equal((await dataOf(runId, 'agent.pr.created')).length, 1);
    });
});
