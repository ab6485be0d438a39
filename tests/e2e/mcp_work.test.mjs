// mcp_work.test.mjs - agents that come for their work over MCP: both eras, over HTTP and over
// `drover mcp`, against a real server.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { patchTo } from './lib/git.mjs';
import { WAYS, openClient } from './lib/mcp_ways.mjs';
import { nextTask, pullRepository, queueOf, workWith } from './lib/mcp_work.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server, agentToken;

// The server has told of progress: the request waits there.
const waiting = (client, token) => until(`progress of ${token}`, () =>
    client.notes.some(({ method, params }) =>
        method === 'notifications/progress' && params.progressToken === token));

describe('an agent at work over MCP', { concurrency: false }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '4'] });
        const made = await server.post('/v1/tokens', { name: 'agent', role: 'worker' });
        agentToken = made.token;
    });
    after(() => server.discard());

    describe('in every way', { concurrency: 4 }, () => {
        for (const way of WAYS) {
            const slug = `${way.era}-${way.transport.toLowerCase()}`;

            it(`makes a pull request of a task (${way.name})`, async () => {
                const repo = await pullRepository(server, `acme/${slug}`);
                const client = await openClient(way, server);
                await workWith((...words) => client.tool(...words), server, repo);
                await client.close();
            });

            it(`is woken, holds up no other request, and lets go (${way.name})`, async () => {
                const repo = await pullRepository(server, `acme/wake-${slug}`);
                const client = await openClient(way, server, agentToken);
                const args = { queue: queueOf(repo.name), waitMs: 30_000, leaseMs: 60_000 };
                const first = client.beginTool('get_next_task', args, { progressToken: 'p' });
                await waiting(client, 'p');
                if (way.era === 'legacy') assert.deepEqual(await client.request('ping'), {});
                else assert.ok((await client.request('server/discover')).supportedVersions.length);
                first.cancel(); // Or it would get the task, before the second.
                const second = client.beginTool('get_next_task', args, { progressToken: 'q' });
                await waiting(client, 'q');
                const { taskId } = await server.submit(repo.name);
                const { claim } = await second.done;
                assert.equal(claim.taskId, taskId);
                const done = await client.tool('report_task_failure', { claimId: claim.id,
                    epoch: claim.epoch, code: 'too_hard', message: 'I give up' });
                assert.equal(done.ok, true);
                assert.equal((await server.untilTask(taskId, 'failed')).errorCode, 'too_hard');
                await client.close();
            });
        }
    });

    it('is told that there is nothing, after the time', async () => {
        for (const way of WAYS) {
            const client = await openClient(way, server, agentToken);
            const { claim } = await client.tool('get_next_task', { queue: 'idle', waitMs: 100 });
            assert.equal(claim, null);
            await client.close();
        }
    });

    it('listens to a run over drover mcp', async () => {
        const repo = await pullRepository(server, 'acme/listen');
        const { runId } = await server.submit(repo.name);
        const uri = `drover://runs/${runId}/timeline`;
        const named = (client, method) => until(method, () =>
            client.notes.find((note) => note.method === method));
        for (const era of ['legacy', 'modern']) {
            const client = await openClient({ era, transport: 'stdio' }, server);
            const stream = era === 'legacy' ? client.begin('resources/subscribe', { uri })
                : client.begin('subscriptions/listen',
                    { notifications: { resourceSubscriptions: [uri] } });
            if (era === 'legacy') assert.deepEqual(await stream.done, {});
            else await named(client, 'notifications/subscriptions/acknowledged');
            const updated = ({ method }) => method === 'notifications/resources/updated';
            const { params } = await until('the run has changed', async () => {
                await server.post(`/v1/runs/${runId}/messages`, { text: `Hear, ${era}!` });
                return client.notes.find(updated);
            });
            assert.equal(params.uri, uri);
            const key = 'io.modelcontextprotocol/subscriptionId';
            if (era === 'modern') assert.equal(params._meta[key], stream.id);
            const { contents } = await client.request('resources/read', { uri });
            assert.equal(contents[0].uri, uri);
            await client.close();
        }
    });

    it('is told by drover mcp when the token is wrong, or not of the role', async () => {
        const stranger = await openClient({ era: 'modern', transport: 'stdio' }, server, 'wrong')
            .catch((error) => error);
        assert.equal(stranger.code, 401);
        assert.match(stranger.message, /DROVER_TOKEN/);
        const { token } = await server.post('/v1/tokens', { name: 'looker', role: 'viewer' });
        const looker = await openClient({ era: 'modern', transport: 'stdio' }, server, token);
        assert.ok(Array.isArray((await looker.tool('list_tasks', {})).items));
        await assert.rejects(looker.tool('cancel_task', { taskId: 'none' }), /role/);
        await looker.close();
    });

    it('goes on over drover mcp when the server restarts, with the claim that it has', async () => {
        for (const era of ['legacy', 'modern']) {
            const repo = await pullRepository(server, `acme/restart-${era}`);
            const { taskId } = await server.submit(repo.name);
            const client = await openClient({ era, transport: 'stdio' }, server, agentToken);
            const call = (...words) => client.tool(...words);
            const claim = await nextTask(call, { queue: queueOf(repo.name) });
            const waits = client.beginTool('get_next_task', { queue: 'idle', waitMs: 30_000 },
                { progressToken: 'w' });
            await waiting(client, 'w');
            const { port } = new URL(server.url);
            await server.crash();
            await assert.rejects(waits.done, { code: 503 });
            await assert.rejects(call('list_tasks', {}), { code: 503 });
            server.listen = `127.0.0.1:${port}`;
            await server.start();
            const held = { claimId: claim.id, epoch: claim.epoch };
            assert.equal((await call('heartbeat', { ...held, extendMs: 60_000 })).ok, true);
            await call('report_task_completion', { ...held, patch: patchTo(42) });
            await server.untilTask(taskId, 'completed');
            await client.close();
        }
    });
});
