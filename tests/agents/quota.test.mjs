// quota.test.mjs - the limit of a subscription, met by a real agent: the account is parked until
// the moment that the provider named, and the run continues then.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { git } from '../e2e/lib/git.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { until } from '../e2e/lib/wait.mjs';
import { AGENTS, SUBSCRIPTION } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { fails, says } from './lib/turns.mjs';
import { limitHeaders } from './lib/wire_anthropic.mjs';
import { limitReached } from './lib/wire_responses.mjs';

let server;
const LIMITS = {
    claude: (at) => fails(429, 'rate_limit_error', 'Usage limit reached.',
        { headers: limitHeaders(at), times: 1 }),
    codex: (at) => fails(429, 'usage_limit_reached', 'The usage limit has been reached',
        { error: limitReached(at), times: 1 }),
};
// Codex says the minute and no more: parked until that minute is over.
const ENDS = { claude: (at) => at, codex: (at) => (Math.floor(at / 60) + 1) * 60 };
const SECONDS = 8;

describe('a subscription that is used up', { concurrency: 2 }, () => {
    before(async () => (server = await startBench({ keys: SUBSCRIPTION })));
    after(() => server.discard());

    for (const name of Object.keys(LIMITS)) {
        it(`is parked to the second, and the run continues: ${name}`, async (t) => {
            const agent = AGENTS[name];
            const account = `limited-${name}`;
            const at = Math.floor(Date.now() / 1000) + SECONDS;
            const ends = ENDS[name](at);
            const work = await prepare(t, server, name,
                [agent.shell('echo half >half.txt'), LIMITS[name](at), agent.edit(),
                    says('Done.')],
                { agent: { account } });
            const { model, repo } = work;
            const { taskId, runId } = await server.submit(repo.name);
            const parked = await until('the account to be parked', async () =>
                (await server.list('/v1/accounts'))
                    .find((row) => row.name === account && row.status === 'parked'));
            assert.equal(Date.parse(parked.parkedUntil) / 1000, ends);
            await server.untilTask(taskId, 'completed');
            const run = await assertBooked(server, runId, work);
            assert.equal(run.attempt, 1);
            assert.ok(model.main[2].at / 1000 >= ends, 'no request before the reset');
            assert.ok(model.main[2].results.length > 0, 'it remembers what it did');
            assert.match(git(repo.origin, 'ls-tree', '--name-only', run.branch), /half\.txt/);
            await assertDoneOnce(server, { taskId, runId, repo });
        });
    }
});
