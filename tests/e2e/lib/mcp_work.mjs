// mcp_work.mjs - an agent's whole work over the tools of MCP, whatever client calls them.
import assert from 'node:assert/strict';
import { git, patchTo } from './git.mjs';
import { assertDoneOnce } from './once.mjs';
import { until } from './wait.mjs';

// A repository whose agents come for their work, with a queue of its own.
export const queueOf = (name) => name.replace('/', '-');
export const pullRepository = (server, name, more = {}) => server.repository(name, '',
    { agent: { compute: 'pull', queue: queueOf(name) }, ...more });

// Asks again, as an agent does, until there is work.
export const nextTask = (call, args) => until(`work for ${JSON.stringify(args)}`, async () =>
    (await call('get_next_task', { waitMs: 5000, leaseMs: 60_000, ...args })).claim);

// call(tool, args) gives structured content.  From create_task to the pull request.
export async function workWith(call, server, repo) {
    const creation = call('create_task',
        { repository: repo.name, description: 'Make the answer right.', labels: ['mcp'] });
    const refused = creation.then(() => new Promise(() => {})); // A client may follow the task.
    const agent = 'robin';
    const claim = await Promise.race([refused, nextTask(call,
        { agent, queue: queueOf(repo.name), repositories: [repo.name], labels: ['mcp'] })]);
    const { taskId, runId } = claim;
    assert.equal(claim.repositoryUrl, repo.origin);
    assert.match(claim.prompt, /Make the answer right\./);
    const held = { claimId: claim.id, epoch: claim.epoch, agent };
    const beat = await call('heartbeat', { ...held, extendMs: 90_000,
        events: [{ type: 'agent.tool.call.completed', data: { name: 'edit' } }] });
    assert.deepEqual([beat.ok, beat.cancel], [true, false]);
    const done = await call('report_task_completion', { ...held, summary: 'The answer is 42.',
        patch: patchTo(42), turns: 3, costUsd: 0.25, model: 'far-1' });
    assert.equal(done.ok, true);
    await server.untilTask(taskId, 'completed');
    assert.equal((await creation).taskId, taskId);
    const status = await call('get_task_status', { taskId });
    assert.equal(status.status, 'completed');
    const run = await server.run(runId);
    assert.deepEqual([run.turns, run.costUsd, run.model], [3, 0.25, 'far-1']);
    assert.equal(git(repo.origin, 'show', `${run.branch}:answer.txt`), '42');
    await assertDoneOnce(server, { taskId, runId, repo });
    return { taskId, runId };
}
