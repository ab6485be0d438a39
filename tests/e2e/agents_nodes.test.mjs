// agents_nodes.test.mjs - agents of two servers on one PostgreSQL database.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterUrl } from './lib/cluster.mjs';
import { makeDatabase } from './lib/database.mjs';
import { stays } from './lib/git.mjs';
import { newMark, sleepers, untilAsleep, untilGone } from './lib/procs.mjs';
import { discardAll, Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let a, b, token;

const QUEUE = { agent: { compute: 'pull', queue: 'fleet' } };
// A claim that waits at this node; the agents are registered.
function sleeper(node, body) {
    const gone = new AbortController();
    const said = fetch(`${node.url}/v1/claims`, { method: 'POST', signal: gone.signal,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ queue: 'fleet', leaseMs: 60_000, waitMs: 30_000, ...body }) })
        .then(async (res) => ({ status: res.status, json: await res.json() }), () => 'left');
    const asleep = async () => (await Promise.race([said, sleep(100, 'asleep')])) === 'asleep';
    return { said, asleep, leave: () => gone.abort() };
}
const fail = (node, { id, epoch }) => node.call('POST', `/v1/claims/${id}/fail`,
    { body: { epoch, message: 'enough' }, token });

describe('agents of two nodes', () => {
    before(async () => {
        const db = makeDatabase(clusterUrl());
        const config = 'workers: 2\nlease: {leaseMs: 3000, heartbeatMs: 300}\n';
        [a, b] = [new Server({ config, db }), new Server({ config, db })];
        await Promise.all([a.start(), b.start()]);
        ({ token } = await a.post('/v1/tokens', { name: 'fleet', role: 'worker' }));
        await until('the other node to know the token', async () =>
            (await b.call('GET', '/v1/version', { token })).status === 200);
        await a.repository('acme/fleet', '', QUEUE);
    });
    after(async () => {
        try {
            await discardAll([a, b]);
        } finally {
            for (const node of [a, b]) node.killNow();
        }
    });

    it('a sleeping agent is woken and claims', async () => {
        const deaf = sleeper(b, { agent: 'deaf', labels: ['other'] });
        const asleep = sleeper(b, { agent: 'ann', labels: ['mine'] });
        assert.ok(await asleep.asleep());
        const { taskId } = await a.submit('acme/fleet', { labels: ['mine'] });
        const { json: { claim } } = await asleep.said;
        assert.equal(claim.taskId, taskId);
        assert.match(claim.prompt, /Make the answer right\./);
        assert.ok(await deaf.asleep());
        deaf.leave();
        await fail(a, claim);
        await a.untilTask(taskId, 'failed');
    });

    it('two agents, one task, one winner', async () => {
        const both = [sleeper(a, { agent: 'ann' }), sleeper(b, { agent: 'bob' })];
        const { taskId } = await a.submit('acme/fleet');
        const { json: { claim } } = await Promise.race(both.map(({ said }) => said));
        assert.equal(claim.taskId, taskId);
        const asleep = await Promise.all(both.map((each) => each.asleep()));
        assert.deepEqual(asleep.toSorted(), [false, true]);
        for (const each of both) each.leave();
        await fail(b, claim);
        await b.untilTask(taskId, 'failed');
    });

    it('kill interrupts waiters and settles', async () => {
        for (const name of ['eva', 'fay'])
            await a.post('/v1/agents', { name, queue: 'fleet', capacity: 5 });
        const { taskId } = await a.submit('acme/fleet');
        const { json: { claim: mine } } = await sleeper(a, { agent: 'eva' }).said;
        const waiters = [sleeper(a, { agent: 'eva' }), sleeper(b, { agent: 'eva' })];
        for (const waiter of waiters) assert.ok(await waiter.asleep());
        const other = sleeper(b, { agent: 'fay' });
        await b.post('/v1/agents/eva/kill', { policy: 'requeue' });
        for (const { said } of waiters) {
            const { status, json } = await said;
            assert.deepEqual([status, json.code], [409, 'AGENT_GONE']);
        }
        const { json: { claim: theirs } } = await other.said;
        assert.deepEqual([theirs.id, theirs.attempt], [mine.id, 1]);
        await a.post('/v1/agents/fay/kill', { policy: 'fail' });
        assert.equal((await b.untilTask(taskId, 'failed')).errorCode, 'agent_killed');
    });

    it('a launched agent is started once more by the other node when its own dies', async () => {
        const mark = newMark();
        await a.post('/v1/agents', { name: 'gil', launch: true,
            command: ['sh', '-c', stays(mark)] });
        await untilAsleep(mark);
        const of = async (node) => (await node.get('/v1/agents/gil')).worker?.split('/')[0];
        const first = await until('its worker', () => of(a));
        const [dies, lives] = (await a.get('/v1/version')).node === first ? [a, b] : [b, a];
        await dies.crash();
        await until('the other node to run it', async () => {
            const now = await of(lives);
            return now && now !== first;
        });
        await untilAsleep(mark);
        assert.equal(sleepers(mark).length, 1);
        await lives.post('/v1/agents/gil/kill', {});
        await untilGone(mark);
        await dies.start();
    });
});
