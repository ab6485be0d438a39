// adapters.test.mjs - agents that speak as Claude Code, Codex and ndjson agents do: seen while they
// work, held to their limits, and left alone while their provider's account is used up.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { assertHistory, assertInOrder, dataOf, typesOf } from './lib/cloudevents.mjs';
import { FILES, answers, fixes, git, says, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, untilGone } from './lib/procs.mjs';
import { BIN, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const transcript = (name) =>
    readFileSync(new URL(`../fixtures/transcripts/${name}.jsonl`, import.meta.url), 'utf8');
const command = (text) => ['/bin/sh', '-c', text];

// One turn after the other, as each format has it; $i counts.
const TURNS = {
    ndjson: `printf '{"type":"turn","inputTokens":1000,"outputTokens":10}\\n'`,
    claude: `printf '{"type":"assistant","message":{"id":"m%s","model":"x","content":[],`
        + `"usage":{"input_tokens":1000,"output_tokens":10}},"parent_tool_use_id":null}\\n' $i`,
    codex: `printf '{"type":"turn.completed","usage":{"input_tokens":1000,"output_tokens":10}}\\n'`,
};
const SESSIONS = {
    ndjson: 'ndjson_success', claude: 'claude_success', codex: 'codex_success',
};

// Garbage, torn lines, and one that is longer than any that is looked at.
const NOISE = `head -c 100000 /dev/urandom
printf '\\n{"type":"assistant","message":{"id"\\n{"type":"turn.comp\\n[[[[\\n{{{{\\n\\000\\000\\n'
printf '{"type":"message","text":"'; head -c 600000 /dev/zero | tr '\\0' x; printf '"}\\n'
`;

let server;
// An agent that prints a transcript of the fixtures and does its work.
function transcribed(name, adapter, transcriptName, more = {}) {
    const { agent = `cat transcript.jsonl\n${answers(42)}`, ...config } = more;
    return server.repository(name, '', {
        files: { ...FILES, 'transcript.jsonl': transcript(transcriptName) },
        ...config,
        // A model that no word of the command has is not that of the run.
        agent: { command: [...command(agent), ...(config.agentMore?.model ? ['-', '{model}'] : [])],
            adapter, ...config.agentMore },
        agentMore: undefined,
    });
}

describe('an agent that speaks', { concurrency: 6 }, () => {
    before(async () => (server = await start({ args: ['--workers', '6'] })));
    after(() => server.discard());

    const told = [
        { adapter: 'claude', model: 'claude-sonnet-4-5', turns: 5, input: 5728, output: 160,
          cost: 0.0421, denied: 'WebFetch' },
        { adapter: 'codex', model: 'gpt-5-codex', turns: 1, input: 24763, output: 122,
          cost: 0.00466975, denied: 'command_execution', agentMore: { model: 'gpt-5-codex',
              prices: { inputPerMTok: 1.25, cachedInputPerMTok: 0.125, outputPerMTok: 10 } } },
        { adapter: 'ndjson', model: 'large', turns: 2, input: 110, output: 22, cost: 0.3,
          denied: 'fetch' },
    ];
    for (const { adapter, agentMore, ...want } of told) {
        it(`${adapter} is understood, garbage and huge lines around it or not`, async () => {
            const agent = `${NOISE}cat transcript.jsonl\n${NOISE}${answers(42)}`;
            const repo = await transcribed(`acme/${adapter}`, adapter, SESSIONS[adapter],
                { agent, agentMore });
            const { run, runId } = await server.finish(repo.name, 'completed');
            assert.equal(run.model, want.model);
            assert.equal(run.turns, want.turns);
            assert.equal(run.inputTokens, want.input);
            assert.equal(run.outputTokens, want.output);
            assert.ok(Math.abs(run.costUsd - want.cost) < 1e-5, `${run.costUsd}`);
            assert.equal(run.account, `default:${adapter}`);
            const events = await server.events(runId);
            assertHistory(events);
            assertInOrder(typesOf(events), ['agent.session.started', 'agent.plan.created',
                'agent.tool.call.started', 'agent.tool.call.completed', 'agent.plan.updated',
                'agent.model.turn.completed', 'agent.patch.created', 'agent.run.completed']);
            const calls = dataOf(events, 'agent.tool.call.started');
            assert.ok(calls.every((call) => call.name && call.toolCallId));
            assert.ok(calls.some((call) => /^sha256:[0-9a-f]{64}$/.test(call.argumentsHash)));
            const [denied] = dataOf(events, 'agent.tool.call.denied');
            assert.equal(denied.name, want.denied);
            const all = JSON.stringify(events);
            assert.ok(!all.includes('hunter2'), 'contents of calls are in the events');
        });
    }

    for (const adapter of Object.keys(TURNS)) {
        it(`${adapter} is seen in its run while it works, and counted once`, async () => {
            const mark = newMark();
            const agent = `i=1; ${TURNS[adapter]}; i=2; ${TURNS[adapter]}\n${waits(mark)}`
                + `i=3; ${TURNS[adapter]}\n${fixes}`;
            const repo = await server.repository(`acme/live-${adapter}`, '', {
                agent: { command: command(agent), adapter,
                    prices: { inputPerMTok: 100, outputPerMTok: 0 } },
            });
            const { taskId, runId } = await server.submit(repo.name);
            await until('two turns', async () => (await server.run(runId)).turns === 2);
            const live = await server.run(runId);
            assert.equal(live.status, 'running');
            assert.deepEqual([live.inputTokens, live.outputTokens, live.costUsd], [2000, 20, 0.2]);
            await server.openGate(mark);
            await server.untilTask(taskId, 'completed');
            const run = await server.run(runId);
            assert.deepEqual([run.turns, run.inputTokens, run.outputTokens], [3, 3000, 30]);
            assert.ok(Math.abs(run.costUsd - 0.3) < 1e-9);
        });

        const prices = { inputPerMTok: 1000, outputPerMTok: 0 }; // 1 USD a turn.
        const endless = `while :; do i=$((i+1)); ${TURNS[adapter]}; sleep 0.02; done`;
        const limits = [
            { what: 'turns', agent: endless, limits: { maxTurns: 3 }, code: 'max_turns_exceeded',
              check: (run) => assert.ok(run.turns >= 4, `${run.turns}`) },
            { what: 'money', agent: endless, limits: { maxBudgetUsd: 2.5 },
              code: 'max_budget_exceeded',
              check: (run) => assert.ok(run.costUsd >= 3, `${run.costUsd}`) },
            { what: 'time', agent: endless, timeouts: { agentMs: 500 }, code: 'agent_timed_out',
              status: 'timed_out' },
            { what: 'silence', agent: 'sleep 3000', timeouts: { idleMs: 300 },
              code: 'agent_idle_timed_out', status: 'timed_out' },
        ];
        for (const { what, agent, code, status = 'failed', check, ...config } of limits) {
            it(`${adapter} is stopped when it passes its limit of ${what}`, async () => {
                const mark = newMark();
                const repo = await server.repository(`acme/${adapter}-${what}`, '', {
                    ...config,
                    agent: { command: command(`: ${mark}\n${agent}`), adapter, prices },
                });
                const { task, run } = await server.finish(repo.name, status);
                assert.equal(task.errorCode, code);
                assert.equal(run.attempt, 1);
                check?.(run);
                await untilGone(mark);
            });
        }
    }

    const denials = [
        { adapter: 'claude', rule: 'Bash', name: 'Bash' },
        { adapter: 'codex', rule: 'mcp__github__*', name: 'mcp__github__search_issues' },
        { adapter: 'ndjson', rule: 'ed*', name: 'edit' },
    ];
    for (const { adapter, rule, name } of denials) {
        it(`${adapter} is stopped at a tool that policy denies, and not tried again`, async () => {
            const repo = await transcribed(`acme/deny-${adapter}`, adapter, SESSIONS[adapter],
                { agent: 'cat transcript.jsonl\nsleep 3000', policy: { denyTools: [rule] } });
            const { task, run, runId } = await server.finish(repo.name, 'failed');
            assert.equal(task.errorCode, 'policy.tool_denied');
            assert.match(task.errorMessage, new RegExp(name));
            assert.equal(run.attempt, 1);
            const denied = dataOf(await server.events(runId), 'agent.tool.call.denied').at(-1);
            assert.equal(denied.name, name);
            assert.match(denied.error, /policy\.denyTools/);
        });
    }

    it('claude and reports an error fails with its words', async () => {
        const repo = await transcribed('acme/claude-error', 'claude', 'claude_error',
            { agent: 'cat transcript.jsonl; exit 1', retries: { overloads: 0 } });
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'provider_overloaded');
        assert.match(task.errorMessage, /API Error: 500/);
    });

    const begun = {
        claude: { type: 'system', subtype: 'init', session_id: 's1', model: 'claude-sonnet-4-5' },
        codex: { type: 'thread.started', thread_id: 's1' },
    };
    for (const [adapter, line] of Object.entries(begun))
        it(`${adapter} and exits without the record of its end has not succeeded`, async () => {
            const repo = await server.repository(`acme/broken-off-${adapter}`, '',
                { agent: { command: command(`${says(line)}${answers(42)}`), adapter } });
            const { task } = await server.finish(repo.name, 'failed');
            assert.equal(task.errorCode, 'session_ended_unexpectedly');
            assert.deepEqual(await server.pullRequests(repo.name), []);
        });

    it('claude and stops at its own limit of turns has passed its limit', async () => {
        const repo = await transcribed('acme/claude-max', 'claude', 'claude_max_turns');
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'max_turns_exceeded');
    });

    // Codex prints no tokens before its end: they are in a file of its own.
    const THREAD = '01a1ea5f-f50e-7d62-9c35-b3bb6a5c542f';
    const noting = `day=$HOME/.codex/sessions/2026/11/17; mkdir -p $day
printf '{"type":"thread.started","thread_id":"${THREAD}"}\\n'
n=0; while :; do n=$((n+1)); now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
printf '{"timestamp":"%s","type":"turn_context","payload":{"model":"gpt-5.5"}}\\n' $now
printf '{"timestamp":"%s","type":"event_msg","payload":{"type":"token_count","info":{' $now
printf '"total_token_usage":{"input_tokens":%s,"output_tokens":%s}}}}\\n' $((n*100000)) $((n*1000))
sleep 0.1; done >>$day/rollout-x-${THREAD}.jsonl`;
    const noted = [
        { what: 'turns', limits: { maxTurns: 3 }, code: 'max_turns_exceeded' },
        { what: 'money', limits: { maxBudgetUsd: 1 }, code: 'max_budget_exceeded' },
    ];
    for (const { what, limits, code } of noted) {
        it(`codex is stopped by ${what} of requests that it only notes`, async () => {
            const mark = newMark();
            const repo = await server.repository(`acme/noted-${what}`, '', {
                limits, agent: { command: command(`: ${mark}\n${noting}`), adapter: 'codex' },
            });
            const { task, run } = await server.finish(repo.name, 'failed');
            assert.equal(task.errorCode, code);
            assert.equal(run.model, 'gpt-5.5');
            assert.ok(run.turns >= 2, `${run.turns}`);
            // 0.53 USD a request, by the list: 100,000 x 5 and 1,000 x 30.
            assert.ok(Math.abs(run.costUsd - run.turns * 0.53) < 1e-4, `${run.costUsd}`);
            await untilGone(mark);
        });
    }

    it('claude is stopped by its money while it works, by the price of its model', async () => {
        const repo = await transcribed('acme/claude-partial', 'claude', 'claude_partial', {
            agent: 'head -n -1 transcript.jsonl; sleep 3000', limits: { maxBudgetUsd: 0.02 } });
        const { task, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'max_budget_exceeded');
        assert.ok(run.costUsd > 0.02 && run.costUsd < 0.0427, `${run.costUsd}`);
    });

    for (const [adapter, name] of [['claude', 'claude_e401'], ['codex', 'codex_e401']]) {
        it(`${adapter} with a login that is refused says so at once`, async () => {
            const repo = await transcribed(`acme/${adapter}-login`, adapter, name,
                { agent: 'cat transcript.jsonl; sleep 3000' });
            const { task, run } = await server.finish(repo.name, 'failed');
            assert.equal(task.errorCode, 'agent_login_failed');
            assert.match(task.errorMessage, /log in again/);
            assert.equal(run.attempt, 1);
        });
    }

    it('claude and has a command fail is told with exit code and output', async () => {
        const repo = await transcribed('acme/claude-exit', 'claude', 'claude_toolerror');
        const { runId } = await server.finish(repo.name, 'completed');
        const [failed] = dataOf(await server.events(runId), 'agent.tool.call.failed');
        assert.equal(failed.exitCode, 3);
        assert.equal(failed.summary, 'cat /nonexistent; exit 3');
        assert.match(failed.error, /No such file or directory/);
    });

    const others = [
        { adapter: 'gemini', name: 'gemini_ok', turns: 4, input: 9400, output: 288, cost: 0.01193 },
        { adapter: 'opencode', name: 'opencode_ok', turns: 4, input: 9400, output: 260,
          cost: 0.02562 },
        { adapter: 'copilot', name: 'copilot_ok', turns: 4, input: 0, output: 0, cost: 0 },
    ];
    for (const { adapter, name, turns, input, output, cost } of others) {
        it(`${adapter} is understood as it was recorded`, async () => {
            const repo = await transcribed(`acme/${adapter}`, adapter, name);
            const { run, runId } = await server.finish(repo.name, 'completed');
            assert.deepEqual([run.turns, run.inputTokens, run.outputTokens],
                [turns, input, output]);
            assert.ok(Math.abs(run.costUsd - cost) < 1e-5, `${run.costUsd}`);
            assertInOrder(typesOf(await server.events(runId)), ['agent.tool.call.started',
                'agent.tool.call.completed', 'agent.patch.created', 'agent.run.completed']);
        });
    }

    it('for too long over all attempts together is stopped', async () => {
        const turn = says({ type: 'turn', costUsd: 0.1 });
        const repo = await server.repository('acme/all-attempts',
            `${turn}${turn}${answers('$DROVER_ATTEMPT')}`,
            { limits: { maxTurns: 5 }, retries: { agentAttempts: 9 } });
        const { task, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'max_turns_exceeded');
        assert.equal(run.attempt, 3);
        assert.equal(run.turns, 6);
    });
});

// Meets the limit once, with half of the work done, and goes on from there.
const limited = (words) => `if [ ! -e half.txt ]; then
    echo half >half.txt
    ${words}
    sleep 3000
fi
${fixes}`;
// As codex does: its own error event, then the end.
const usedUp = (wait) => `printf '{"type":"turn.failed","error":{"message":"%s"}}\\n' `
    + `"You've hit your usage limit. Try again in ${wait}."
    exit 1`;
const WORDS = {
    // In the next second but one: whole seconds is all that they tell.
    claude: `printf '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,`
        + `"result":"Claude AI usage limit reached|%s","num_turns":1}\\n' $(($(date +%s) + 2))
    exit 1`,
    codex: usedUp('1 second'),
};
const untilParked = (on, account) => until(`account ${account} to be parked`, async () => {
    const rows = await on.list('/v1/accounts');
    return rows.find((row) => row.name === account && row.status === 'parked');
});

describe('an account that is used up', { concurrency: 4 }, () => {
    before(async () => (server = await start({ args: ['--workers', '4'] })));
    after(() => server.discard());

    for (const adapter of Object.keys(WORDS)) {
        it(`is parked, and its run goes on after the reset: ${adapter}`, async () => {
            const account = `main-${adapter}`;
            const repo = await server.repository(`acme/${adapter}`, '', {
                agent: { command: command(limited(WORDS[adapter])), adapter, account },
            });
            const { taskId, runId } = await server.submit(repo.name);
            await server.untilEvent(runId, 'agent.task.deferred');
            await server.untilTask(taskId, 'completed');
            const run = await server.run(runId);
            assert.equal(run.attempt, 1);
            assert.equal(run.account, account);
            const events = await server.events(runId);
            assertHistory(events);
            const deferred = dataOf(events, 'agent.task.deferred')
                .find((it) => it.reason === 'provider_quota_parked');
            assert.equal(deferred.account, account);
            assert.equal(dataOf(events, 'agent.run.status.changed')
                .filter((it) => it.fromStatus === 'running' && it.toStatus === 'queued').length, 1);
            const log = await server.list('/v1/events?type=agent.account.*');
            const types = log.filter((it) => it.data.account === account).map((it) => it.type);
            assert.deepEqual(types, ['agent.account.parked', 'agent.account.resumed']);
            const [row] = (await server.list('/v1/accounts')).filter((it) => it.name === account);
            assert.deepEqual([row.status, row.parkedUntil, row.hits], ['in_use', null, 1]);
            const [pull] = await server.pullRequests(repo.name);
            const files = git(repo.origin, 'ls-tree', '--name-only', pull.branch);
            assert.match(files, /half\.txt/, 'what was done before the limit is lost');
        });
    }

    it('starts no run until a person takes it into use again', async () => {
        const account = 'held';
        const agent = { command: command(limited(usedUp('1 day'))), adapter: 'codex', account };
        const first = await server.repository('acme/first', '', { agent });
        const second = await server.repository('acme/second', '',
            { agent: { ...agent, command: command(fixes) } });
        const other = await server.repository('acme/elsewhere', fixes);
        const one = await server.submit(first.name);
        const row = await untilParked(server, account);
        assert.match(row.reason, /^You've hit your usage limit/);
        const two = await server.submit(second.name);
        await server.untilTask(two.taskId, 'deferred');
        assert.equal((await server.run(two.runId)).deferredReason, 'provider_quota_parked');
        await server.finish(other.name, 'completed'); // Others go on.
        assert.equal((await server.run(two.runId)).status, 'queued');
        const { token } = await server.post('/v1/tokens', { name: 'v', role: 'viewer' });
        assertProblem(await server.call('POST', `/v1/accounts/${account}/resume`, { token }), 403);
        const cli = (...words) => execFileSync(BIN, [...words, '--data', server.data],
            { encoding: 'utf8' });
        assert.match(cli('accounts'), /held +parked +0 .* 1 +You've hit your usage limit/);
        assert.match(cli('accounts', 'resume', account, '--reason', 'paid'), /in_use/);
        await server.untilTask(one.taskId, 'completed');
        await server.untilTask(two.taskId, 'completed');
        const [resumed] = (await server.list('/v1/events?type=agent.account.resumed'))
            .filter((it) => it.data.account === account);
        assert.equal(resumed.data.reason, 'paid');
    });

    it('that nobody knows cannot be resumed', async () => {
        assertProblem(await server.call('POST', '/v1/accounts/nobody/resume', { body: {} }), 404,
            { code: 'ACCOUNT_NOT_FOUND' });
    });
});

describe('a server that dies while an account is parked', () => {
    it('starts its runs at the reset, when it is back', async () => {
        const own = await start({ args: ['--workers', '1'] });
        const repo = await own.repository('acme/dies', '', {
            agent: { command: command(limited(usedUp('3 seconds'))), adapter: 'codex',
                account: 'main' },
        });
        const { taskId, runId } = await own.submit(repo.name);
        const before = await untilParked(own, 'main');
        await own.crash();
        await own.startAgain();
        await own.untilTask(taskId, 'completed');
        assert.equal((await own.run(runId)).attempt, 1);
        const told = await own.list('/v1/events?type=agent.account.*');
        assert.deepEqual(told.map((it) => it.type),
            ['agent.account.parked', 'agent.account.resumed'], 'parked once');
        assert.ok(told[1].time >= before.parkedUntil, 'not before the reset');
        await own.discard();
    });
});
