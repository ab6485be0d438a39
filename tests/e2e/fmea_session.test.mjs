// fmea_session.test.mjs - what can go wrong with a session: at its start, while it runs, and when
// its result is looked for.  Every test is named after its row of the failure tables.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { branches, openPull, patchTo, pushBranch } from './lib/git.mjs';
import { RemoteAgent } from './lib/remote_agent.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server, agent;
const completed = { status: 'completed', patch: patchTo(42) };

// begins(session, origin) is what a session does when it is started.
async function repository(name, begins, by = agent) {
    let origin;
    const config = by.config(name, (session) => begins(session, origin));
    const repo = await server.repository(name, '', { agent: config });
    ({ origin } = repo);
    return repo;
}

const moves = (origin) => renameSync(origin, `${origin}.away`);
const returns = (origin) => renameSync(`${origin}.away`, origin);
const backoff = { baseMs: 20, maxMs: 100, jitterMs: 0 };

const push = (origin, { task: { branch, baseCommit: base } }) =>
    pushBranch(origin, { branch, base });

before(async () => {
    server = await start({ args: ['--workers', '8'] });
    agent = await new RemoteAgent().open();
    for (const queue of ['drover.agent', 'drover.collect'])
        await server.ok('PUT', `/v1/queues/${queue}`, { backoff });
});
after(async () => {
    await server.discard();
    agent.close();
});

describe('session start', { concurrency: 3 }, () => {
    it('the invocation is throttled: retried with backoff, then session_start_failed', async () => {
        const throttled = await new RemoteAgent().open();
        const repo = await repository('acme/throttled', () => ({ code: 429 }), throttled);
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'session_start_failed');
        const waits = (await server.events(runId))
            .filter(({ type, data }) => type === 'agent.step.failed' && data.retryInMs > 0)
            .map(({ data }) => data.retryInMs);
        assert.deepEqual(waits, [20, 40, 80, 100]);
        throttled.close();
    });

    it('the session crashes at once: failed, there is nothing to find', async () => {
        const repo = await repository('acme/crashes', (session) => {
            session.answer = { code: 404 };
        });
        const { task, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'session_ended_unexpectedly');
        assert.equal(run.partial, false);
        assert.deepEqual(branches(repo.origin), []);
    });

    it('the runtime is away: tasks wait behind its breaker until it is back', async () => {
        const away = await new RemoteAgent().open();
        let up = false;
        const begins = () => (up ? undefined : { code: 503 });
        const repo = await repository('acme/outage', begins, away);
        const name = `remote:${new URL(away.url).host}`;
        const path = `/v1/breakers/${encodeURIComponent(name)}`;
        const untilState = (state) => until(`the breaker to be ${state}`, async (note) =>
            note(await server.get(path)).state === state);
        await server.ok('PUT', path, { failures: 2, openMs: 300, successes: 1 });
        const { taskId } = await server.submit(repo.name);
        await untilState('open');
        const { items } = await server.get('/v1/events?type=agent.breaker.opened&limit=50');
        assert.ok(items.some(({ data }) => data.name === name), 'operators are told');
        up = true;
        await untilState('closed'); // A session that begins is enough: it may take hours.
        (await away.untilStarted(repo.name)).answer = completed;
        await server.untilTask(taskId, 'completed');
        away.close();
    });
});

describe('agent execution', { concurrency: 3 }, () => {
    it('the agent crashes in the middle: failed, partial work stays on the branch', async () => {
        const repo = await repository('acme/middle', (session, origin) => {
            push(origin, session);
            session.answer = { code: 404 };
        });
        const { task, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'session_ended_unexpectedly');
        assert.equal(run.partial, true);
        assert.deepEqual(branches(repo.origin), [`refs/heads/${run.branch}`]);
    });

    it('the agent runs out of turns: completed, if its pull request is there', async () => {
        const repo = await repository('acme/turns', (session, origin) => {
            openPull(origin, 4, push(origin, session));
            session.answer = { status: 'running', turns: 50 };
        });
        const { run } = await server.finish(repo.name, 'completed', { maxTurns: 10 });
        assert.equal(run.pullRequest.number, 4);
        assert.ok(agent.of(repo.name)[0].stops >= 1, 'and was stopped');
    });

    it('the agent passes its budget: completed, if its pull request is there', async () => {
        const repo = await repository('acme/budget', (session, origin) => {
            openPull(origin, 5, push(origin, session));
            session.answer = { status: 'running', costUsd: 3 };
        });
        const { run } = await server.finish(repo.name, 'completed', { maxBudgetUsd: 1 });
        assert.equal(run.pullRequest.number, 5);
    });

    it('the agent was idle for too long and is ended: timed out', async () => {
        const repo = await repository('acme/idle', (session, origin) => {
            push(origin, session);
            session.answer = { status: 'failed', reason: 'idle_timeout' };
        });
        const { task } = await server.finish(repo.name, 'timed_out');
        assert.equal(task.errorCode, 'agent_idle_timed_out');
        assert.equal(branches(repo.origin).length, 1, 'partial work stays');
    });

    it('the agent passes the longest session and is ended: timed out', async () => {
        const repo = await repository('acme/longest', (session) => {
            session.answer = { status: 'failed', reason: 'timeout' };
        });
        const { task } = await server.finish(repo.name, 'timed_out');
        assert.equal(task.errorCode, 'agent_timed_out');
    });
});

describe('result inference', { concurrency: 3 }, () => {
    it('the forge stays away: failed, its state could not be looked at', async () => {
        const repo = await repository('acme/gone', (session, origin) => {
            session.answer = { status: 'completed' };
            moves(origin);
        });
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'collect_failed');
        const tries = (await server.events(runId)).filter(({ type, data }) =>
            type === 'agent.step.failed' && data.step === 'collect');
        assert.equal(tries.length, 4, 'three more tries');
        returns(repo.origin);
    });

    it('no completion signal and an ambiguous forge: failed, the branch is left', async () => {
        const repo = await repository('acme/ambiguous', (session, origin) => {
            openPull(origin, 6, push(origin, session));
            session.answer = { code: 410 };
        });
        const { task, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'session_ended_unexpectedly');
        assert.ok(task.errorMessage.includes(run.branch), task.errorMessage);
        const pulls = await server.pullRequests(repo.name);
        assert.deepEqual(pulls.map(({ number, status }) => [number, status]), [[6, 'open']],
            'what the agent has opened is on record, for the one who has to look');
    });
});

describe('result inference, retried for as long as it takes', () => {
    before(() => server.ok('PUT', '/v1/queues/drover.collect',
        { backoff: { ...backoff, maxMs: 5000 }, maxAttempts: 100 }));

    it('the forge is away: looked at again after a while, and the run goes on', async () => {
        const repo = await repository('acme/back', (session, origin) => {
            push(origin, session);
            session.answer = { status: 'completed' };
            moves(origin);
        });
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilEvent(runId, 'agent.step.failed', ({ data }) => data.step === 'collect');
        returns(repo.origin);
        await server.untilTask(taskId, 'completed');
        assert.equal(agent.of(repo.name)[0].starts, 1);
    });
});
