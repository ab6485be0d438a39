// mcp.test.mjs - the real Claude Code with drover as its MCP server: it comes for a task, works on
// it, and hands it in.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pullRepository, queueOf } from '../e2e/lib/mcp_work.mjs';
import { assertDoneOnce } from '../e2e/lib/once.mjs';
import { BIN, start } from '../e2e/lib/server.mjs';
import { Direct } from './lib/direct.mjs';
import { openModel } from './lib/model_server.mjs';
import { call, calls, says } from './lib/turns.mjs';

let server, token;

// How it is told of the server: the ways that people configure.
const WAYS = {
    stdio: () => ({ command: BIN, args: ['mcp'],
        env: { DROVER_URL: server.url, DROVER_TOKEN: token } }),
    http: () => ({ type: 'http', url: `${server.url}/mcp`,
        headers: { Authorization: `Bearer ${token}` } }),
};

const tool = (name, args) => calls(call(`mcp__drover__${name}`, args));
// What the last call of a tool gave back, on its first line; the agent may add remarks.
const given = ({ results }) => JSON.parse(results.at(-1).text.split('\n')[0]);

// The model's part; each turn reads what the one before has brought.
function script(queue) {
    let held, claim;
    return [
        tool('get_next_task', { agent: 'claude-1', queue, waitMs: 30_000, leaseMs: 120_000 }),
        (request) => {
            ({ claim } = given(request));
            held = { claimId: claim.id, epoch: claim.epoch, agent: 'claude-1' };
            const words = ['set -e', `git clone -q '${claim.handIn.push.repositoryUrl}' work`,
                'cd work', `git checkout -q -b '${claim.branch}' ${claim.baseCommit}`,
                'echo 42 >answer.txt',
                'git -c user.name=c -c user.email=c@example.com commit -qam "Make it right"',
                `git push -q origin '${claim.branch}'`];
            return calls(call('Bash', { command: words.join('\n'), description: 'Do it' }));
        },
        () => tool('heartbeat', { ...held, extendMs: 120_000 }),
        (request) => {
            assert.equal(given(request).ok, true);
            return tool('report_task_completion',
                { ...held, summary: 'The answer is 42 now.', turns: 4, model: 'claude' });
        },
        (request) => {
            assert.equal(given(request).ok, true);
            return says('I have handed it in.');
        },
    ];
}

describe('Claude Code comes for its work', { concurrency: 2 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '2'] });
        ({ token } = await server.post('/v1/tokens', { name: 'claude', role: 'worker' }));
    });
    after(() => server.discard());

    for (const [name, way] of Object.entries(WAYS)) {
        it(`over ${name}`, async (t) => {
            const repo = await pullRepository(server, `acme/claude-${name}`);
            const model = await openModel(script(queueOf(repo.name)));
            t.after(() => model.close());
            const direct = new Direct('claude', model);
            const file = join(direct.dir, 'mcp.json');
            writeFileSync(file, JSON.stringify({ mcpServers: { drover: way() } }));
            // Without a setting it offers the tools of servers by a search only.
            const ended = direct.start('Work on what drover has for you.',
                { args: ['--mcp-config', file, '--strict-mcp-config'],
                    env: { ENABLE_TOOL_SEARCH: 'false' } });
            const { tools } = await model.request(1);
            assert.ok(tools.includes('mcp__drover__get_next_task'), tools.join(' '));
            const { taskId, runId } = await server.submit(repo.name);
            const { code, errors, lines } = await ended;
            model.assertSound();
            assert.equal(code, 0, errors + lines.at(-1));
            assert.equal(model.main.length, 5);
            await server.untilTask(taskId, 'completed');
            const run = await server.run(runId);
            assert.deepEqual([run.turns, run.model], [4, 'claude']);
            await assertDoneOnce(server, { taskId, runId, repo });
        });
    }
});
