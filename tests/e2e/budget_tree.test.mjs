// budget_tree.test.mjs - tasks and their sub-tasks: one budget, a hard stop at every node, and an
// end in common; by people and by agents, and after kill -9 in the middle.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { assertHistory } from './lib/cloudevents.mjs';
import { FILES, fixes, says, stays, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { withServer } from './lib/own.mjs';
import { newMark, untilGone } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const turn = (costUsd) => says({ type: 'turn', inputTokens: 100, outputTokens: 10, costUsd });

// Spends, and stays until it is stopped.
const spends = (costUsd, mark) => turn(costUsd) + stays(mark);

const untilSpent = (server, runId, costUsd) => until(`run ${runId} to spend ${costUsd}`,
    async (note) => note((await server.run(runId)).costUsd) >= costUsd);

// A parent that has spent 0.10 USD of 1.00, and two sub-tasks with 0.50 and 0.10: the first spends
// 0.35 more at its gate, which is within its own limit, and beyond the parent's.
async function family(server, name) {
    const mark = newMark();
    const repo = (part, agent) => server.repository(`acme/${name}-${part}`, agent);
    const [top, spender, idler] = await Promise.all([
        repo('top', spends(0.1, mark)),
        repo('spender', turn(0.5) + waits(mark) + spends(0.35, mark)),
        repo('idler', spends(0.1, mark)),
    ]);
    const parent = await server.submit(top.name, { maxBudgetUsd: 1 });
    await untilSpent(server, parent.runId, 0.1);
    const part = (repository) => server.submit(repository.name, { parentTaskId: parent.taskId });
    const first = await part(spender);
    assert.ok(Math.abs((await server.run(first.runId)).maxBudgetUsd - 0.9) < 1e-9);
    const second = await part(idler);
    await untilSpent(server, first.runId, 0.5);
    await untilSpent(server, second.runId, 0.1);
    return { mark, parent, first, second };
}

async function assertUsedUp(server, { parent, first, second }) {
    for (const { taskId, runId } of [parent, first, second]) {
        const task = await server.untilTask(taskId, 'failed');
        assert.equal(task.errorCode, 'max_budget_exceeded', JSON.stringify(task));
        assert.match(task.errorMessage, new RegExp(`task ${parent.taskId}, 1.00 USD`));
        assertHistory(await server.events(runId));
    }
}

describe('a task and its sub-tasks', { concurrency: 4 }, () => {
    let server;
    before(async () => (server = await start({ args: ['--workers', '8'] })));
    after(() => server.discard());

    it('share one budget: when one has used it up the others are stopped', async () => {
        const all = await family(server, 'shared');
        await server.openGate(all.mark);
        await assertUsedUp(server, all);
        await untilGone(all.mark);
        const task = await server.task(all.parent.taskId);
        assert.equal(task.children, 2);
        // What each spent until then is booked.
        assert.ok(Math.abs(task.spent.costUsd - 1.05) < 1e-9, JSON.stringify(task.spent));
        assert.equal(task.spent.tokens, 4 * 110);
        const run = await server.run(all.first.runId);
        assert.ok(Math.abs(run.costUsd - 0.85) < 1e-9, `${run.costUsd}`);
        const [stop] = await server.dataOf(all.second.runId, 'agent.run.cancel.requested');
        assert.equal(stop.kind, 'budget');
        assert.equal(stop.requestedBy, 'limits.maxBudgetUsd');
        const listed = await server.list(`/v1/tasks?parent=${all.parent.taskId}`);
        assert.deepEqual(listed.map(({ id }) => id).sort(),
            [all.first.taskId, all.second.taskId].sort());
        assert.ok(listed.every(({ parentTaskId }) => parentTaskId === all.parent.taskId));
        const late = await server.call('POST', '/v1/tasks',
            { body: { description: 'More.', parentTaskId: all.parent.taskId } });
        assertProblem(late, 409, { code: 'PARENT_FINISHED', field: 'parentTaskId' });
    });

    it('end together when the task is cancelled', async () => {
        const all = await family(server, 'cancelled');
        await server.cancel(all.parent.taskId, 'enough');
        for (const { taskId } of [all.parent, all.first, all.second])
            assert.equal((await server.untilTask(taskId, 'cancelled')).errorCode, 'cancelled');
        const { errorMessage } = await server.task(all.first.taskId);
        assert.match(errorMessage,
            new RegExp(`its parent task ${all.parent.taskId} was cancelled`));
        await untilGone(all.mark);
    });

    it('may be made by its own agent, and by no other', async (t) => {
        if (!server.needsWalls(t)) return;
        // Submits a part of its task, tries to get more than it has, and waits for the part's end.
        const submits = `
            const { DROVER_SOCKET, DROVER_TOKEN } = process.env;
            const call = (method, path, body) => new Promise((resolve) => {
                const headers = { authorization: "Bearer " + DROVER_TOKEN, host: "x",
                    "content-type": "application/json" };
                const req = require("node:http").request(
                    { socketPath: DROVER_SOCKET, method, path, headers }, (res) => {
                        let text = "";
                        res.on("data", (part) => (text += part));
                        res.on("end", () => resolve({ status: res.statusCode,
                            json: JSON.parse(text) }));
                    });
                req.end(body && JSON.stringify(body));
            });
            (async () => {
                const part = { description: "the part", parentTaskId: process.argv[1] };
                const more = await call("POST", "/v1/tasks", { ...part, repository: "acme/far" });
                const made = await call("POST", "/v1/tasks", part);
                const path = "/v1/tasks/" + made.json.taskId;
                let task = made;
                while (!/completed|failed|cancelled|timed_out|[45]../.test(task.json.status)) {
                    await new Promise((resolve) => setTimeout(resolve, 50));
                    task = await call("GET", path);
                }
                const theirs = await call("GET", "/v1/tasks/" + process.argv[1]);
                const text = [more.status, more.json.code, made.status, task.json.status,
                    theirs.json.code].join(" ");
                console.log(JSON.stringify({ type: "message", text: "report: " + text }));
            })();`;
        const far = await server.repository('acme/far', fixes);
        const theirs = await server.finish(far.name, 'completed');
        const agent = `if ! grep -q 'the part' "$DROVER_PROMPT"; then
            node -e '${submits}' ${theirs.taskId}
            fi\n${fixes}`;
        const repo = await server.repository('acme/own', agent);
        const { taskId, runId } = await server.finish(repo.name, 'completed');
        const said = await server.dataOf(runId, 'agent.step.recorded');
        const { text } = said.find((data) => data.text.startsWith('report: '));
        assert.equal(text, 'report: 422 SUBTASK_NOT_ALLOWED 202 completed NOT_YOUR_RUN');
        const [part] = await server.list(`/v1/tasks?parent=${taskId}`);
        assert.equal(part.repository, repo.name);
        assert.equal(part.requestedBy, 'admin');
        assert.equal((await server.pullRequests(repo.name)).length, 2);
    });
});

describe('an agent of a repository that says nothing of limits', { concurrency: 2 }, () => {
    let server;
    before(async () => (server = await start({ args: ['--workers', '2'] })));
    after(() => server.discard());

    it('has 100 turns', async () => {
        const turns = says({ type: 'turn', inputTokens: 1, outputTokens: 1 });
        const repo = await server.repository('acme/turns',
            `i=0; while [ $i -lt 150 ]; do i=$((i + 1))\n${turns}done\n${fixes}`);
        const { run } = await server.finish(repo.name, 'failed');
        assert.equal(run.errorCode, 'max_turns_exceeded');
        assert.equal(run.maxTurns, 100);
        assert.equal(run.turns, 101);
        const without = { ...repo.document, limits: { maxTurns: 0 } };
        await server.configure(repo.name, without);
        const free = await server.finish(repo.name, 'completed');
        assert.equal(free.run.maxTurns, null);
        assert.equal(free.run.turns, 150);
    });

    it('waits while its provider is overloaded, without an attempt counted', async () => {
        const transcript = readFileSync(
            new URL('../fixtures/transcripts/claude_e529.jsonl', import.meta.url), 'utf8');
        const more = { files: { ...FILES, 'transcript.jsonl': transcript } };
        const repo = await server.repository('acme/overloaded', '', more);
        repo.document.agent = { adapter: 'claude',
            command: ['/bin/sh', '-c', 'cat transcript.jsonl; echo half >answer.txt; exit 1'] };
        await server.configure(repo.name, repo.document);
        const { taskId, runId } = await server.submit(repo.name);
        const task = await server.untilTask(taskId, 'deferred');
        assert.equal(task.deferredReason, 'provider_overloaded');
        assert.match(task.deferredDetail, /overloaded .* tried again at /);
        const run = await server.run(runId);
        assert.equal(run.retries.agent, 1);
        assert.equal(run.patches.length, 1); // What it had done by then.
        await server.cancel(taskId);
        repo.document.retries = { overloads: 0 };
        await server.configure(repo.name, repo.document);
        const gaveUp = await server.finish(repo.name, 'failed');
        assert.equal(gaveUp.run.errorCode, 'provider_overloaded');
    });

    it('is forecast by those before it', async () => {
        const repo = await server.repository('acme/history', turn(0.25) + turn(0.5) + fixes);
        for (let i = 0; i < 3; i++) await server.finish(repo.name, 'completed');
        const answer = await server.submit(repo.name, { maxBudgetUsd: 0.5 });
        const { costUsd, costUsdP90, turns, basedOn } = answer.forecast;
        assert.deepEqual({ costUsd, costUsdP90, turns, basedOn },
            { costUsd: 0.75, costUsdP90: 0.75, turns: 2, basedOn: { runs: 3, scope: 'similar' } });
        assert.equal(answer.warnings[0].code, 'forecast_over_limit');
        const task = await server.untilTask(answer.taskId, 'failed');
        assert.equal(task.errorCode, 'max_budget_exceeded'); // As was to be expected.
        assert.deepEqual(task.forecast, answer.forecast);
        assert.equal(task.forecastError.costUsd, 0);
        const { stdout } = await callDrover(server, ['task', answer.taskId]);
        assert.match(stdout, /Expected +0\.75 USD \(one in ten: 0\.75\), 2 turns/);
        assert.match(stdout, /Off by +\+0\.00 USD, \+0 turns/);
    });

    it('has the tokens that its task asks for', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/tokens', turn(0) + turn(0) + spends(0, mark));
        const { run } = await server.finish(repo.name, 'failed', { maxTokens: 300 });
        assert.equal(run.errorCode, 'max_tokens_exceeded');
        assert.equal(run.inputTokens + run.outputTokens, 330);
        await untilGone(mark);
    });
});

withServer('a budget that is passed stops what shares it, also after kill -9',
    { args: ['--workers', '4'] }, async (server) => {
        const all = await family(server, 'killed');
        await server.openGate(all.mark);
        await untilSpent(server, all.first.runId, 0.85);
        await server.crash();
        await server.start();
        await assertUsedUp(server, all);
        await untilGone(all.mark);
        const { spent } = await server.task(all.parent.taskId);
        assert.ok(spent.costUsd > 1.04, JSON.stringify(spent));
    });
