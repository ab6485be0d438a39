// remote.test.mjs - an agent behind an HTTP address: started once, followed, lost, stopped.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPull, patchTo, pushBranch } from './lib/git.mjs';
import { LONG_LEASES, withServer as onServer } from './lib/own.mjs';
import { ACCEPTED, RemoteAgent } from './lib/remote_agent.mjs';
import { start } from './lib/server.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { until } from './lib/wait.mjs';

const TOKEN = 'remote-secret-1234567890';
const env = { REMOTE_TOKEN: TOKEN };
const completed = { status: 'completed', summary: 'did it', patch: patchTo(42) };
let server, agent;

// A repository whose sessions do this; more goes into agent.remote, timeouts into the rest.
async function repository(name, begins, { remote = {}, ...more } = {}) {
    return server.repository(name, '', { agent: agent.config(name, begins, remote), ...more });
}

const typesOf = async (runId) => (await server.events(runId)).map(({ type }) => type);
const quickly = (queue) => server.ok('PUT', `/v1/queues/${queue}`,
    { backoff: { baseMs: 10, maxMs: 50, jitterMs: 0 } });

describe('a remote agent', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '8'], env });
        agent = await new RemoteAgent().open();
    });
    after(async () => {
        await server.discard();
        agent.close();
    });

    it('gets all that it needs and the credential, and its patch is published', async () => {
        const repo = await repository('acme/whole', (session) => {
            session.answer = completed;
        }, { remote: { credential: 'REMOTE_TOKEN' }, limits: { maxTurns: 9 } });
        const { runId, run } = await server.finish(repo.name, 'completed');
        const [{ task, starts, stops }] = agent.of(repo.name);
        assert.equal(starts, 1);
        assert.equal(stops, 0, 'one that has ended is not stopped');
        assert.deepEqual(
            { ...task, prompt: task.prompt.includes('Make the answer right.') },
            { type: 'task', sessionId: run.sessionId, taskId: run.taskId, runId, attempt: 1,
              repository: repo.name, repositoryUrl: repo.origin, targetBranch: 'main',
              branch: run.branch, baseCommit: run.baseCommit, model: null, maxTurns: 9,
              maxBudgetUsd: null, maxTokens: null, timeoutMs: 3_600_000,
              runDeadline: task.runDeadline,
              prompt: true, plan: null, feedback: null, patch: null });
        const calls = agent.calls.filter(({ sessionId }) => sessionId === run.sessionId);
        for (const call of calls) assert.equal(call.authorization, `Bearer ${TOKEN}`);
        assert.ok(!server.said().includes(TOKEN), 'the credential is not in the log');
        assert.ok((await typesOf(runId)).includes('agent.session.started'));
    });

    it('is told at its next attempt what was wrong, in a session of its own', async () => {
        const repo = await repository('acme/again', (session) => {
            const text = session.task.attempt === 1 ? 43 : 42;
            session.answer = { ...completed, patch: patchTo(text) };
        });
        const { run } = await server.finish(repo.name, 'completed');
        const [first, second] = agent.of(repo.name).map(({ task }) => task);
        assert.notEqual(first.sessionId, second.sessionId);
        assert.equal(run.sessionId, second.sessionId);
        assert.equal(second.attempt, 2);
        assert.match(second.feedback, /expected 42, got 43/);
        assert.match(second.patch, /\+43/);
    });

    it('that hands over a secret ends its run, and none of it is stored', async () => {
        const leak = ['ghp', 'Zq8X2v7Lr5Tn3Wk9Bd4Yc6Hj1Mf0Pg8Us2Ea'].join('_');
        const repo = await repository('acme/leaks', (session) => {
            session.answer = { ...completed, patch: patchTo(leak) };
        });
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'secret_detected');
        const { items } = await server.get(`/v1/runs/${runId}/artifacts`);
        assert.ok(items.some(({ kind }) => kind === 'redacted_patch'));
        assert.ok(!items.some(({ kind }) => kind === 'given_patch'));
        for (const { sha256 } of items) {
            const { text } = await server.call('GET', `/v1/artifacts/${sha256}`);
            assert.ok(!text.includes(leak), text);
        }
    });

    it('tells of its turns, tools and cost while it works', async () => {
        const repo = await repository('acme/live', (session) => {
            const events = [{ type: 'tool', name: 'edit', status: 'completed', summary: 'answer' }];
            session.answer = { status: 'running', turns: 2, costUsd: 0.5, events };
        });
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilEvent(runId, 'agent.tool.call.completed', ({ data }) =>
            data.name === 'edit');
        await server.untilEvent(runId, 'agent.model.turn.completed', ({ data }) =>
            data.turns === 2 && data.costUsd === 0.5);
        agent.of(repo.name)[0].answer = { ...completed, turns: 3, costUsd: 0.75, model: 'far-1' };
        await server.untilTask(taskId, 'completed');
        const { turns, costUsd, model } = await server.run(runId);
        assert.deepEqual({ turns, costUsd, model }, { turns: 3, costUsd: 0.75, model: 'far-1' });
    });

    it('that passes its limit of turns is stopped', async () => {
        const repo = await repository('acme/turns', (session) => {
            session.answer = { status: 'running', turns: 10 };
        });
        const { task } = await server.finish(repo.name, 'failed', { maxTurns: 5 });
        assert.equal(task.errorCode, 'max_turns_exceeded');
        assert.ok(agent.of(repo.name)[0].stops >= 1);
    });

    it('that takes too long is stopped', async () => {
        await withRoom(1500, async (agentMs) => {
            const repo = await repository(`acme/slow-${agentMs}`, () => {},
                { timeouts: { agentMs } });
            const { task } = await server.finish(repo.name, 'timed_out');
            assert.equal(task.errorCode, 'agent_timed_out');
            const [session] = agent.of(repo.name);
            if (!session) throw new TooSlow('no session began');
            assert.ok(session.stops >= 1);
        });
    });

    it('that is cancelled is stopped, and the end waits for its confirmation', async () => {
        let confirm;
        const confirmed = new Promise((resolve) => { confirm = resolve; });
        const repo = await repository('acme/cancel', (session) => {
            session.onStop = () => confirmed.then(() => ({ status: 'stopped' }));
        });
        const { taskId } = await server.submit(repo.name);
        const session = await agent.untilStarted(repo.name);
        await until('a poll', () => session.polls > 0);
        await server.post(`/v1/tasks/${taskId}/cancel`);
        await until('the stop', () => session.stops > 0);
        assert.equal((await server.task(taskId)).status, 'running');
        confirm();
        await server.untilTask(taskId, 'cancelled');
    });

    it('whose session is gone is lost: failed, and never started again', async () => {
        const repo = await repository('acme/lost', () => {});
        const { taskId, runId } = await server.submit(repo.name);
        const session = await agent.untilStarted(repo.name);
        session.answer = { code: 410 };
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'session_ended_unexpectedly');
        const lost = await server.untilEvent(runId, 'agent.session.lost');
        assert.equal(lost.data.reason, 'not_found');
        assert.equal(session.starts, 1);
    });

    it('that does not answer for too many polls in a row is lost', async () => {
        const repo = await repository('acme/mute', () => {});
        const { taskId, runId } = await server.submit(repo.name);
        const session = await agent.untilStarted(repo.name);
        session.answer = { code: 500 };
        await server.untilTask(taskId, 'failed');
        assert.equal((await server.untilEvent(runId, 'agent.session.lost')).data.reason,
            'no_answer');
        assert.ok(session.polls >= 3 && session.stops >= 1);
    });

    it('that misses a poll now and then is not', async () => {
        const repo = await repository('acme/hoarse', (session) => {
            const answers = [{ code: 503 }, { code: 500 }, { status: 'running' }, { code: 500 },
                { status: 'what?' }, { status: 'running' }];
            Object.defineProperty(session, 'answer', { get: () => answers.shift() ?? completed });
        });
        await server.finish(repo.name, 'completed');
        assert.equal(agent.of(repo.name)[0].stops, 0);
    });

    it('that acknowledges a poll has lost the session: stopped, and failed', async () => {
        let origin;
        const repo = await repository('acme/anew', (session) => {
            const { branch, baseCommit: base } = session.task;
            openPull(origin, 3, pushBranch(origin, { branch, base }));
        });
        ({ origin } = repo);
        const { taskId, runId } = await server.submit(repo.name);
        const session = await agent.untilStarted(repo.name);
        session.answer = ACCEPTED;
        const task = await server.untilTask(taskId, 'failed');
        assert.equal((await server.untilEvent(runId, 'agent.session.lost')).data.reason,
            'began_anew');
        assert.equal(task.errorCode, 'session_ended_unexpectedly');
        assert.match(task.errorMessage, /began it anew.*stays on branch drover\//);
        assert.equal(session.starts, 1);
        assert.ok(session.stops >= 1);
    });

    it('that throttles is asked again with growing pauses, under the same session', async () => {
        await quickly('drover.agent');
        let refusals = 2;
        const repo = await repository('acme/throttle', (session) => {
            session.answer = completed;
            return refusals-- > 0 ? { code: 429 } : undefined;
        });
        const { runId, run } = await server.finish(repo.name, 'completed');
        const tries = agent.calls.filter(({ type, runId: of }) => type === 'task' && of === runId);
        assert.deepEqual(tries.map(({ sessionId }) => sessionId), Array(3).fill(run.sessionId));
        assert.equal(run.attempt, 1);
    });

    it('that refuses the task fails it at once', async () => {
        const repo = await repository('acme/refuse', () => ({ code: 422 }));
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'session_start_failed');
        assert.equal(agent.calls.filter(({ type, runId: of }) =>
            type === 'task' && of === runId).length, 1);
    });

    it('without its credential in the worker\'s environment fails it at once', async () => {
        const repo = await repository('acme/no-credential', () => {},
            { remote: { credential: 'NOT_THERE' } });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'credential_missing');
        assert.match(task.errorMessage, /NOT_THERE/);
    });

    it('whose patch does not fit, or is none, fails it', async () => {
        const bad = { 'acme/no-fit': 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n',
            'acme/no-patch': 'I would rather not.', 'acme/escape': patchTo(42)
                .replaceAll('answer.txt', '../answer.txt') };
        await Promise.all(Object.entries(bad).map(async ([name, patch]) => {
            await repository(name, (session) => { session.answer = { ...completed, patch }; });
            const { task } = await server.finish(name, 'failed');
            assert.equal(task.errorCode, 'patch_failed', name);
        }));
    });

    it('whose answer is too large fails it', async () => {
        const patch = `${patchTo(42)}${'x'.repeat(4000)}`;
        const repo = await repository('acme/large', (session) => {
            session.answer = { ...completed, patch };
        }, { limits: { maxPatchBytes: 2000 } });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'patch_too_large');
    });
});

describe('the session of a remote agent', { concurrency: 3 }, () => {
    let remote;
    before(async () => {
        remote = await new RemoteAgent().open();
    });
    after(() => remote.close());

    const withServer = (name, body) =>
        onServer(name, { config: `workers: 3\n${LONG_LEASES}` }, body);

    withServer('is polled on after kill -9 of the server, not started again', async (own) => {
        const name = 'acme/killed';
        await own.repository(name, '', { agent: remote.config(name, (session) => {
            session.answer = { status: 'running', turns: 2, costUsd: 0.5 };
        }) });
        const { taskId, runId } = await own.submit(name);
        await own.untilEvent(runId, 'agent.model.turn.completed');
        await own.crash();
        const [session] = remote.of(name);
        const before = session.polls;
        await own.start();
        await until('polls to go on', () => session.polls > before + 1);
        session.answer = { ...completed, turns: 3, costUsd: 0.75 };
        await own.untilTask(taskId, 'completed');
        assert.equal(session.starts, 1);
        assert.equal(remote.of(name).length, 1);
        const types = (await own.events(runId)).map(({ type }) => type);
        assert.ok(types.includes('agent.run.recovered'));
        const run = await own.run(runId);
        assert.equal(run.attempt, 1);
        assert.equal(run.sessionId, session.id);
        assert.deepEqual([run.turns, run.costUsd], [3, 0.75], 'what it used counts once');
    });

    withServer('is left alone by a server that shuts down, and polled on', async (own) => {
        const name = 'acme/shutdown';
        await own.repository(name, '', { agent: remote.config(name, () => {}) });
        const { taskId, runId } = await own.submit(name);
        await own.untilEvent(runId, 'agent.session.started');
        assert.deepEqual(await own.stop(), { code: 0, signal: null });
        const [session] = remote.of(name);
        assert.equal(session.stops, 0);
        session.answer = completed;
        await own.start();
        await own.untilTask(taskId, 'completed');
        assert.deepEqual([session.starts, session.stops], [1, 0]);
    });

    withServer('is started once even if the server dies while starting it', async (own) => {
        const name = 'acme/starting';
        let arrived;
        const arrival = new Promise((resolve) => { arrived = resolve; });
        // It takes the task, and its answer is never heard.
        const begins = (session) => {
            session.answer = completed;
            arrived();
            return new Promise(() => {});
        };
        await own.repository(name, '', { agent: remote.config(name, begins) });
        const { taskId, runId } = await own.submit(name);
        await arrival;
        const stored = (await own.run(runId)).sessionId;
        await own.crash();
        await own.start();
        await own.untilTask(taskId, 'completed');
        const [session] = remote.of(name);
        assert.equal(session.id, stored, 'it was stored before the start');
        assert.equal(session.starts, 1);
    });

    withServer('is started after the restart if the start never arrived', async (own) => {
        const name = 'acme/unstarted';
        const begins = (session) => { session.answer = completed; };
        await own.repository(name, '', { agent: remote.config(name, begins) });
        remote.swallowed.set(name, 0);
        const { taskId, runId } = await own.submit(name);
        await until('the start to be under way', () => remote.swallowed.get(name) > 0);
        const stored = (await own.run(runId)).sessionId;
        await own.crash();
        remote.swallowed.delete(name);
        await own.start();
        await own.untilTask(taskId, 'completed');
        assert.deepEqual(remote.of(name).map(({ id, starts }) => [id, starts]), [[stored, 1]]);
    });

    withServer('that nobody follows is stopped when its task is cancelled', async (own) => {
        const name = 'acme/orphan';
        await own.repository(name, '', { agent: remote.config(name, () => {}) });
        const { taskId, runId } = await own.submit(name);
        await own.untilEvent(runId, 'agent.session.started');
        const [session] = remote.of(name);
        await own.crash();
        own.args = [...own.args, '--workers', '0'];
        await own.start();
        await own.post(`/v1/tasks/${taskId}/cancel`);
        await own.untilTask(taskId, 'cancelled');
        assert.equal(session.stops, 0);
        await own.stop();
        own.args = own.args.slice(0, -2);
        await own.start();
        await until('the stop', () => session.stops > 0);
    });
});
