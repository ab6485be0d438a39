// clients.test.mjs - the official clients drive drover, from create_task to the pull request, over
// HTTP and over `drover mcp`.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pullRepository, queueOf, workWith } from '../e2e/lib/mcp_work.mjs';
import { start } from '../e2e/lib/server.mjs';
import { CLIENTS } from './lib/clients.mjs';

// What the clients must be offered, whatever else there is.
const TOOLS = ['create_task', 'get_next_task', 'report_task_completion', 'report_task_failure',
    'heartbeat', 'get_task_status', 'list_tasks', 'cancel_task', 'retry_task', 'wait_for_event',
    'append_event', 'launch_agent', 'kill_agent', 'list_agents', 'list_approvals', 'approve',
    'reject', 'answer_question', 'send_message', 'publish', 'list_dead_letters',
    'replay_dead_letter'];

let server;
const slugOf = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
const sdks = Object.entries(CLIENTS).filter(([name]) => name.startsWith('SDK'));

describe('the official clients', { concurrency: 2 }, () => {
    before(async () => (server = await start({ args: ['--workers', '4'] })));
    after(() => server.discard());

    for (const [name, open] of Object.entries(CLIENTS)) {
        it(`see every tool: ${name}`, async (t) => {
            const client = await open(server, server.token);
            t.after(() => client.close());
            const listed = (await client.tools()).map((tool) => tool.name);
            assert.deepEqual(TOOLS.filter((tool) => !listed.includes(tool)), []);
        });

        it(`make a pull request of a task: ${name}`, async (t) => {
            const repo = await pullRepository(server, `acme/${slugOf(name)}`);
            const client = await open(server, server.token);
            t.after(() => client.close());
            await workWith((...words) => client.call(...words), server, repo);
        });
    }

    for (const [name, open] of sdks) {
        it(`wait with progress, give up, and are woken: ${name}`, async (t) => {
            const repo = await pullRepository(server, `acme/wait-${slugOf(name)}`);
            const client = await open(server, server.token);
            t.after(() => client.close());
            const args = { queue: queueOf(repo.name), waitMs: 30_000, leaseMs: 60_000 };
            const given = new AbortController();
            await assert.rejects(client.call('get_next_task', args, { timeout: 120_000,
                signal: given.signal, onprogress: () => given.abort(new Error('enough')) }));
            const { promise, resolve } = withResolvers();
            const second = client.call('get_next_task', args,
                { timeout: 120_000, onprogress: resolve, resetTimeoutOnProgress: true });
            await promise; // It waits on the server now.
            const { taskId } = await server.submit(repo.name);
            const { claim } = await second;
            assert.equal(claim.taskId, taskId);
            await client.call('report_task_failure', { claimId: claim.id, epoch: claim.epoch,
                code: 'too_hard', message: 'I give up' });
            await server.untilTask(taskId, 'failed');
        });
    }
});

function withResolvers() {
    const it = {};
    it.promise = new Promise((resolve) => (it.resolve = resolve));
    return it;
}
