// accounts.test.mjs - a pool of accounts: a real agent whose account is used up continues with the
// next one at once, with that one's credential.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { git } from '../e2e/lib/git.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { AGENTS } from './lib/agents.mjs';
import { prepare, startBench } from './lib/bench.mjs';
import { assertBooked } from './lib/books.mjs';
import { fails, says } from './lib/turns.mjs';
import { limitHeaders } from './lib/wire_anthropic.mjs';

const TOKENS = { TOKEN_ONE: 'sk-ant-oat01-of-the-first-account',
    TOKEN_TWO: 'sk-ant-oat01-of-the-second-account' };
const CONFIG = `accounts:
  - {name: one, provider: claude, env: [CLAUDE_CODE_OAUTH_TOKEN=$TOKEN_ONE], price: 1}
  - {name: two, provider: claude, env: [CLAUDE_CODE_OAUTH_TOKEN=$TOKEN_TWO], price: 2}
`;
const HOUR_S = 3600;
let server;

describe('an account of a pool that is used up', () => {
    before(async () => (server = await startBench({ keys: TOKENS, config: CONFIG })));
    after(() => server.discard());

    it('gives way to the next one, and the work continues at once', async (t) => {
        const agent = AGENTS.claude;
        const resetsAt = Math.floor(Date.now() / 1000) + HOUR_S;
        const at = await prepare(t, server, 'claude', [
            agent.shell('echo half >half.txt'),
            fails(429, 'rate_limit_error', 'Usage limit reached.',
                { headers: limitHeaders(resetsAt), times: 1 }),
            agent.edit(), says('Done.')]);
        const { taskId, runId } = await server.finish(at.repo.name, 'completed');
        const run = await assertBooked(server, runId, at);
        assert.deepEqual([run.account, run.attempt], ['two', 1]);
        const { TOKEN_ONE: one, TOKEN_TWO: two } = TOKENS;
        assert.deepEqual(at.model.main.map(({ headers }) => headers.authorization),
            [one, one, two, two].map((token) => `Bearer ${token}`));
        assert.match(git(at.repo.origin, 'ls-tree', '--name-only', run.branch), /half\.txt/);
        const rows = await server.list('/v1/accounts');
        const parked = rows.find(({ name }) => name === 'one');
        assert.equal(parked.status, 'parked');
        assert.equal(Date.parse(parked.parkedUntil) / 1000, resetsAt);
        await assertDoneOnce(server, { taskId, runId, repo: at.repo });
    });
});
