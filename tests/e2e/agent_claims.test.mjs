// agent_claims.test.mjs - what an agent says counts for its own run: no account is parked and no
// budget is used up for others by words that any script can print.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fixes, says } from './lib/git.mjs';
import { start } from './lib/server.mjs';

const command = (text) => ['/bin/sh', '-c', text];
const FAR = 4102444800; // In 2100.
const DAY_MS = 24 * 3600 * 1000;
let server;

const parkings = async (account) => (await server.list('/v1/events?type=agent.account.parked'))
    .filter(({ data }) => data.account === account);

describe('an agent that claims a usage limit', { concurrency: 4 }, () => {
    before(async () => (server = await start({ args: ['--workers', '4'] })));
    after(() => server.discard());

    const rejected = { type: 'rate_limit_event',
        rate_limit_info: { status: 'rejected', resetsAt: FAR } };
    const refused = { type: 'result', subtype: 'success', is_error: true, api_error_status: 429,
        result: 'API Error: 429', num_turns: 1 };
    const CLAIMS = {
        'in words': { adapter: 'claude', text: `${says({ type: 'result', subtype: 'success',
            is_error: true, result: `Claude AI usage limit reached|${FAR}` })}exit 1\n` },
        'and works on': { adapter: 'claude',
            text: `${says(rejected)}${says(refused)}sleep 3000\n` },
        'and ends well': { adapter: 'claude', text: `${says(rejected)}${says(refused)}exit 0\n` },
        'in the lines of ndjson': { adapter: 'ndjson', text: `${says({ type: 'quota',
            message: 'used up', resetsAt: '2100-01-01T00:00:00Z' })}exit 1\n` },
    };
    for (const [how, { adapter, text }] of Object.entries(CLAIMS)) {
        it(`${how} waits alone: others of its account go on`, async () => {
            const account = `shared ${how}`.replaceAll(' ', '-');
            const agent = { adapter, account };
            const liar = await server.repository(`acme/liar-${account}`, '',
                { agent: { ...agent, command: command(text) } });
            const honest = await server.repository(`acme/honest-${account}`, '',
                { agent: { ...agent, command: command(fixes) } });
            const { taskId, runId } = await server.submit(liar.name);
            const { data } = await server.untilEvent(runId, 'agent.task.deferred');
            assert.equal(data.reason, 'agent_quota_reported');
            assert.equal(data.account, account);
            const at = /tried again at (\S+)$/.exec(data.detail)[1];
            assert.ok(Date.parse(at) <= Date.now() + 7 * DAY_MS, at);
            await server.finish(honest.name, 'completed');
            assert.deepEqual(await parkings(account), []);
            assert.equal((await server.run(runId)).status, 'queued');
            await server.cancel(taskId);
        });
    }

    it('with a forged record parks its account no longer than the longest window', async () => {
        const account = 'forged';
        const text = `${says(rejected)}${says(refused)}exit 1\n`;
        const repo = await server.repository('acme/forged', '',
            { agent: { adapter: 'claude', account, command: command(text) } });
        const { taskId, runId } = await server.submit(repo.name);
        const { data } = await server.untilEvent(runId, 'agent.task.deferred');
        assert.equal(data.reason, 'provider_quota_parked');
        const [row] = (await server.list('/v1/accounts')).filter(({ name }) => name === account);
        assert.equal(row.status, 'parked');
        assert.equal(row.probeRunId, null);
        assert.ok(Date.parse(row.parkedUntil) <= Date.now() + 7 * DAY_MS, row.parkedUntil);
        assert.ok(Date.parse(row.probeAt) <= Date.now() + 15 * 60 * 1000, row.probeAt);
        await server.cancel(taskId);
    });
});

describe('an agent that claims to have cost 500 USD', () => {
    before(async () => (server = await start({ config: 'limits: {costPerDayUsd: 20}\n' })));
    after(() => server.discard());

    it('fails its own run, and honest tasks are admitted', async () => {
        const claims = says({ type: 'turn', costUsd: 500 });
        const repo = await server.repository('acme/dear', claims + fixes);
        const honest = await server.repository('acme/honest',
            says({ type: 'turn', costUsd: 0.1 }) + fixes);
        for (const limits of [{}, { maxBudgetUsd: 2 }]) {
            const { task, run } = await server.finish(repo.name, 'failed', limits);
            assert.equal(task.errorCode, 'max_budget_exceeded');
            assert.equal(run.costUsd, 500, 'what it said is kept');
            await server.finish(honest.name, 'completed');
        }
    });
});
