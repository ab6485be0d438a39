// conversation.test.mjs - people and a running agent: messages in its next turn, what it asks in
// its own protocol, pauses, stops with the money booked; and agents that fail, or print more than
// can be checked.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { assertHistory, dataOf, typesOf } from './lib/cloudevents.mjs';
import { done, fixes, FILES, git, says, staysWithDaemon, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { LONG_LEASES, withServer } from './lib/own.mjs';
import { newMark, processesWith, sleepers, untilGone, untilStopped } from './lib/procs.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { TooSlow, withRoom } from './lib/room.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

// Speaks the format of Claude Code both ways: every line that it is told is a turn.  It waits at a
// gate in its first turn, writes down what it is told, and ends with its input.
const LISTENER = `
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const gate = 'gate-' + process.argv[2];
const print = (line) => console.log(JSON.stringify(line));
print({ type: 'system', subtype: 'init', session_id: 'ses-1', model: 'stand-in' });
let turns = 0;
for await (const line of createInterface({ input: process.stdin })) {
    const { message } = JSON.parse(line);
    const text = message.content[0].text;
    turns++;
    appendFileSync('heard.txt', (turns === 1 ? 'the prompt' : text) + '\\n');
    if (text.includes('forty-two')) writeFileSync('answer.txt', '42\\n');
    if (turns === 1) {
        mkdirSync(gate);
        while (!existsSync(gate + '/open')) await new Promise((go) => setTimeout(go, 20));
        rmSync(gate, { recursive: true });
    }
    print({ type: 'assistant', message: { id: 'm' + turns, model: 'stand-in',
        content: [{ type: 'text', text: 'turn ' + turns }],
        usage: { input_tokens: 10, output_tokens: 5 } } });
    print({ type: 'result', subtype: 'success', is_error: false, result: 'turn ' + turns,
        num_turns: turns, total_cost_usd: turns / 10 });
}
`;

// The same for the Agent Client Protocol; it asks before it writes.
const ACP = `
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const gate = 'gate-' + process.argv[2];
const print = (line) => console.log(JSON.stringify({ jsonrpc: '2.0', ...line }));
const update = (update) => print({ method: 'session/update', params: { sessionId: 's1', update } });
let turns = 0;
const waiting = new Map();
const asks = (id, toolCall) => new Promise((answer) => {
    waiting.set(id, answer);
    const options = [{ optionId: 'ever', name: 'Always', kind: 'allow_always' },
        { optionId: 'now', name: 'Once', kind: 'allow_once' },
        { optionId: 'no', name: 'No', kind: 'reject_once' }];
    print({ id, method: 'session/request_permission',
        params: { sessionId: 's1', toolCall, options } });
});
async function prompt(id, text) {
    turns++;
    appendFileSync('heard.txt', (turns === 1 ? 'the prompt' : text) + '\\n');
    update({ sessionUpdate: 'agent_message_chunk',
        content: { type: 'text', text: 'turn ' + turns } });
    if (turns === 1) {
        mkdirSync(gate);
        while (!existsSync(gate + '/open')) await new Promise((go) => setTimeout(go, 20));
        rmSync(gate, { recursive: true });
    }
    if (text.includes('forty-two')) {
        const call = { toolCallId: 'c1', title: 'answer.txt', kind: 'edit', rawInput: { a: 1 } };
        update({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
        const { outcome } = await asks('p1', call);
        if (outcome.optionId === 'now') writeFileSync('answer.txt', '42\\n');
        update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' });
    }
    update({ sessionUpdate: 'usage_update', used: 10, size: 100,
        cost: { amount: turns / 10, currency: 'USD' } });
    print({ id, result: { stopReason: 'end_turn' } });
}
for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params, result } = JSON.parse(line);
    if (method === 'initialize')
        print({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
    else if (method === 'session/new')
        print({ id, result: { sessionId: 's1' } });
    else if (method === 'session/prompt')
        prompt(id, params.prompt.map((block) => block.text).join(' '));
    else if (waiting.has(id))
        waiting.get(id)(result);
}
`;

// Speaks that protocol too: it makes the requests of asks.json, one after the other, and writes
// down what it gets.  A request with givesUpAt is cancelled once that gate is open.
const ASKER = `
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync,
    writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const print = (line) => console.log(JSON.stringify({ jsonrpc: '2.0', ...line }));
const waiting = new Map();
async function asks(id, { method, params, givesUpAt }) {
    const answered = new Promise((answer) => waiting.set(id, answer));
    print({ id, method, params: { sessionId: 's1', ...params } });
    if (givesUpAt) {
        mkdirSync(givesUpAt);
        while (!existsSync(givesUpAt + '/open')) await new Promise((go) => setTimeout(go, 20));
        rmSync(givesUpAt, { recursive: true });
        print({ method: '$/cancel_request', params: { requestId: id } });
    }
    const { result, error } = await answered;
    appendFileSync('heard.txt', JSON.stringify(result ?? error.code) + '\\n');
}
async function work(id) {
    const requests = JSON.parse(readFileSync('asks.json', 'utf8'));
    for (const [i, request] of requests.entries()) await asks('r' + i, request);
    writeFileSync('answer.txt', '42\\n');
    print({ id, result: { stopReason: 'end_turn' } });
}
for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, result, error } = JSON.parse(line);
    if (method === 'initialize')
        print({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
    else if (method === 'session/new')
        print({ id, result: { sessionId: 's1' } });
    else if (method === 'session/prompt')
        work(id);
    else if (waiting.has(id))
        waiting.get(id)({ result, error });
}
`;

const AGENTS = {
    claude: { file: LISTENER, args: ['--input-format', 'stream-json'] },
    acp: { file: ACP, args: [] },
};

let server;

const listening = (on, name, adapter, mark) => on.repository(name, '', {
    files: { ...FILES, 'agent.mjs': AGENTS[adapter].file },
    agent: { command: ['node', 'agent.mjs', mark, ...AGENTS[adapter].args], adapter },
});

const say = (on, runId, text) => on.post(`/v1/runs/${runId}/messages`, { text });

async function assertHeard(on, repo, lines) {
    const [pull] = await on.pullRequests(repo.name);
    assert.deepEqual(git(repo.origin, 'show', `${pull.branch}:heard.txt`).split('\n'), lines);
}

// From the first turn to the pull request, with two messages in between.
async function talk(on, gates, adapter) {
    const mark = newMark();
    const repo = await listening(on, `acme/talk-${adapter}`, adapter, mark);
    const { taskId, runId } = await on.submit(repo.name);
    await gates.untilGate(mark);
    const sent = await say(on, runId, 'Make it forty-two.');
    assert.deepEqual([sent.seq, sent.working], [1, true]);
    // Claude Code reads at once, and answers in its next turn; the other protocol has one prompt at
    // a time, so the agent may be done before it is told: then it is told all the same.
    if (adapter === 'claude') await on.untilEvent(runId, 'agent.message.delivered');
    await gates.openGate(mark);
    await on.untilTask(taskId, 'completed');
    const run = await on.run(runId);
    return { repo, runId, run };
}

describe('an agent that listens', { concurrency: 4 }, () => {
    before(async () => (server = await start({ args: ['--workers', '4'] })));
    after(() => server.discard());

    for (const adapter of Object.keys(AGENTS)) {
        it(`has a message in its next turn: ${adapter}`, async () => {
            const { repo, runId, run } = await talk(server, server, adapter);
            await assertHeard(server, repo, ['the prompt', 'Make it forty-two.']);
            assert.equal(run.attempt, 1);
            assert.ok(Math.abs(run.costUsd - 0.2) < 1e-9, `${run.costUsd}`);
            const events = await server.events(runId);
            assert.deepEqual(dataOf(events, 'agent.message.delivered').map((it) => it.seq), [1]);
            const [message] = await server.list(`/v1/runs/${runId}/messages`);
            assert.ok(message.deliveredAt);
        });
    }

    it('elsewhere has it in its next attempt', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/deaf', `if [ "$DROVER_ATTEMPT" = 1 ]; then
            ${waits(mark)} echo 40 >answer.txt; ${done()} exit 0; fi
            grep -q forty-two "$DROVER_FEEDBACK" && ${fixes}`);
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate(mark);
        await say(server, runId, 'Make it forty-two.');
        await server.openGate(mark);
        await server.untilTask(taskId, 'completed');
    });

    it('is stopped and continued with its whole family, and no limit counts', async () => {
        await withRoom(2000, async (limitMs) => {
            const mark = newMark();
            const repo = await server.repository(`acme/pause-${limitMs}`,
                `sleep 3000.${mark} & setsid sleep 3001.${mark} &\n${waits(mark)}${fixes}`,
                { timeouts: { agentMs: limitMs, idleMs: limitMs } });
            const { taskId, runId } = await server.submit(repo.name);
            const slow = server.untilTask(taskId, 'timed_out').then(() => true, () => false);
            const there = server.untilGate(mark).then(() => false);
            if (await Promise.race([slow, there])) throw new TooSlow();
            await server.post(`/v1/runs/${runId}/pause`);
            const pids = await until('its family', () => sleepers(mark).length === 2
                && sleepers(mark));
            await Promise.race([slow, Promise.all(pids.map(untilStopped))]);
            if ((await server.run(runId)).status !== 'running') throw new TooSlow();
            const begin = Date.now();
            await until('the limits to be over', () => Date.now() > begin + limitMs + 500);
            assert.deepEqual(sleepers(mark), pids);
            assert.equal((await server.run(runId)).paused, true);
            await server.openGate(mark);
            await server.post(`/v1/runs/${runId}/resume`);
            const task = await server.untilEnded(taskId);
            if (task.errorCode === 'agent_timed_out') throw new TooSlow();
            assert.equal(task.status, 'completed', JSON.stringify(task));
            await untilGone(mark);
        });
    });

    it('can be cancelled while it is paused, and nothing of it stays', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/cancelled', staysWithDaemon(mark));
        const { taskId, runId } = await server.submit(repo.name);
        const pids = await until('its family', () => sleepers(mark).length >= 4 && sleepers(mark));
        await server.post(`/v1/runs/${runId}/pause`);
        await Promise.all(pids.map(untilStopped));
        await server.cancel(taskId);
        await server.untilTask(taskId, 'cancelled');
        await untilGone(mark);
    });
});

// ---- what an agent asks in its protocol ----

const OPTIONS = [{ optionId: 'ever', name: 'Always', kind: 'allow_always' },
    { optionId: 'now', name: 'Once', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' }];
const permission = (call) => ({ method: 'session/request_permission',
    params: { toolCall: { toolCallId: 'c1', ...call }, options: OPTIONS } });
const form = (message, properties) => ({ method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: { type: 'object', properties } } });
const EDIT = permission({ title: 'answer.txt', kind: 'edit', rawInput: { to: 42 } });
const EDIT_TEXT = 'May the agent call edit: answer.txt?\n{"to":42}';
const selected = (optionId) => ({ outcome: { outcome: 'selected', optionId } });

const asking = (on, name, requests, more = {}) => on.repository(name, '', {
    files: { ...FILES, 'agent.mjs': ASKER, 'asks.json': JSON.stringify(requests) },
    agent: { command: ['node', 'agent.mjs'], adapter: 'acp', permissions: 'ask',
        elicitation: 'ask' },
    ...more,
});

const questions = (on, runId) => on.list(`/v1/questions?runId=${runId}`);

// The open one, another than `last`.
const untilAsked = (on, runId, last) => until(`a question of run ${runId}`, async () =>
    (await questions(on, runId)).find(({ id, status }) => status === 'pending' && id !== last?.id));

async function answer(on, runId, text) {
    const { status, stdout, stderr } = await callDrover(on, ['answer', runId, text]);
    assert.equal(status, 0, stdout + stderr);
}

// The responses that the agent of a run that has completed was given.
async function assertGiven(on, repo, responses) {
    const [pull] = await on.pullRequests(repo.name);
    const heard = git(repo.origin, 'show', `${pull.branch}:heard.txt`).split('\n');
    assert.deepEqual(heard.map((line) => JSON.parse(line)), responses);
}

// Only the holder of the lease asks, reads and withdraws for an agent.
async function assertLeaseNeeded(on, runId, { id }) {
    const job = (await on.list(`/v1/jobs?runId=${runId}`)).find(({ type }) => type === 'agent');
    const path = `/v1/jobs/${job.id}/questions`;
    const body = { epoch: 99, question: { text: 'May I?' } };
    const lost = { code: 'LEASE_LOST' };
    assertProblem(await on.call('POST', path, { body }), 409, lost);
    assertProblem(await on.call('GET', `${path}/${id}?epoch=99`), 409, lost);
    assertProblem(await on.call('DELETE', `${path}/${id}?epoch=99`), 409, lost);
    assertProblem(await on.call('GET', `${path}/${id}`), 400, { field: 'epoch' });
    assertProblem(await on.call('POST', path, { body: { epoch: 99, question: {} } }), 422,
        { field: 'question.text' });
    assert.equal((await on.get(`/v1/questions/${id}`)).status, 'pending');
}

describe('an agent that asks in its protocol', { concurrency: 3 }, () => {
    before(async () => (server = await start({ args: ['--workers', '6'] })));
    after(() => server.discard());

    it('is permitted by a person, or by policy without a question', async () => {
        const repo = await asking(server, 'acme/permits',
            [permission({ title: 'all files', kind: 'read' }), EDIT],
            { policy: { allowTools: ['read'] } });
        const { taskId, runId } = await server.submit(repo.name);
        const question = await untilAsked(server, runId);
        assert.deepEqual([question.text, question.options, question.default, question.attempt],
            [EDIT_TEXT, ['Always', 'Once', 'No'], 'No', 1]);
        const run = await server.run(runId);
        assert.deepEqual([run.status, run.questionId], ['running', question.id]);
        const wrong = await callDrover(server, ['answer', runId, 'Perhaps']);
        assert.notEqual(wrong.status, 0, wrong.stdout);
        await answer(server, runId, 'Once');
        await server.untilTask(taskId, 'completed');
        await assertGiven(server, repo, [selected('now'), selected('now')]);
        const [closed, ...others] = await questions(server, runId);
        assert.deepEqual([closed.status, closed.answeredBy, others.length],
            ['answered', 'admin', 0]);
        assert.ok(closed.deliveredAt >= closed.answeredAt, JSON.stringify(closed));
        const events = await server.events(runId);
        assert.deepEqual(typesOf(events).filter((type) => type.startsWith('agent.question.')),
            ['agent.question.asked', 'agent.question.answered']);
        assertHistory(events);
    });

    it('is refused by policy without a question', async () => {
        const repo = await asking(server, 'acme/denies', [EDIT],
            { policy: { denyTools: ['edit'], allowTools: ['edit'] } });
        const { task, runId } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'policy.tool_denied');
        assert.deepEqual(await questions(server, runId), []);
    });

    it('is rejected, this once, without an answer in time', async () => {
        const repo = await asking(server, 'acme/expires', [EDIT],
            { timeouts: { questionMs: 1000 } });
        const { runId } = await server.finish(repo.name, 'completed');
        await assertGiven(server, repo, [selected('no')]);
        const [{ status, answer: given }] = await questions(server, runId);
        assert.deepEqual([status, given], ['expired', 'No']);
        assert.equal((await server.dataOf(runId, 'agent.question.expired')).length, 1);
    });

    it('has its forms filled in, corrected, declined, or refused', async () => {
        const repo = await asking(server, 'acme/forms', [
            form('I need a number.', { count: { type: 'integer', minimum: 1, title: 'How many' } }),
            form('Which way?', { way: { type: 'string', enum: ['left', 'right'] } }),
            form('Who?', { name: { type: 'string' }, age: { type: 'integer' } }),
        ]);
        const { taskId, runId } = await server.submit(repo.name);
        const first = await untilAsked(server, runId);
        assert.equal(first.text, 'The agent asks: I need a number.\nHow many\n'
            + 'A whole number, at least 1. /decline declines.');
        await answer(server, runId, 'many');
        const again = await untilAsked(server, runId, first);
        assert.equal(again.text, `"many" was not taken: it is no such number.\n${first.text}`);
        await answer(server, runId, '3');
        const second = await untilAsked(server, runId, again);
        assert.deepEqual(second.options, ['left', 'right', '/decline']);
        await answer(server, runId, '/decline');
        await server.untilTask(taskId, 'completed');
        await assertGiven(server, repo,
            [{ action: 'accept', content: { count: 3 } }, { action: 'decline' }, -32602]);
    });

    it('gives its request up, and the question is withdrawn', async () => {
        const mark = newMark();
        const repo = await asking(server, 'acme/gives-up',
            [{ ...EDIT, givesUpAt: `gate-${mark}` }]);
        const { taskId, runId } = await server.submit(repo.name);
        const { id } = await untilAsked(server, runId);
        await server.openGate(mark);
        await server.untilTask(taskId, 'completed');
        await assertGiven(server, repo, [-32800]);
        const [data] = await server.dataOf(runId, 'agent.question.withdrawn');
        assert.deepEqual([data.questionId, data.text], [id, EDIT_TEXT]);
        assert.equal((await questions(server, runId))[0].status, 'cancelled');
    });

    it('waits for longer than any of its limits', () => withRoom(3000, async (limitMs) => {
        const repo = await asking(server, `acme/patient-${limitMs}`, [EDIT],
            { timeouts: { agentMs: limitMs, idleMs: limitMs } });
        const { taskId, runId } = await server.submit(repo.name);
        const asked = untilAsked(server, runId).then(() => true, () => false);
        const slow = server.untilTask(taskId, 'timed_out').then(() => false, () => true);
        if (!await Promise.race([asked, slow])) throw new TooSlow();
        const { deadline } = await server.run(runId);
        const begin = Date.now();
        await until('the limits to be over', () => Date.now() > begin + limitMs + 500);
        assert.equal((await server.run(runId)).status, 'running');
        await answer(server, runId, 'Once');
        const task = await server.untilEnded(taskId);
        if (task.errorCode === 'agent_timed_out' || task.errorCode === 'agent_idle_timed_out')
            throw new TooSlow();
        assert.equal(task.status, 'completed', JSON.stringify(task));
        assert.ok(Date.parse((await server.run(runId)).deadline) >= Date.parse(deadline) + limitMs);
    }));

    withServer('whose server dies has the answer when its next attempt asks the same',
        { args: ['--workers', '1'], config: LONG_LEASES }, async (own) => {
            const repo = await asking(own, 'acme/crash', [EDIT]);
            const { taskId, runId } = await own.submit(repo.name);
            const question = await untilAsked(own, runId);
            await own.crash();
            await own.start();
            await own.untilRun(runId, 'awaiting_approval');
            const open = await untilAsked(own, runId);
            assert.deepEqual([open.id, open.expiresAt], [question.id, question.expiresAt]);
            await answer(own, runId, 'Once');
            await own.untilTask(taskId, 'completed');
            await assertGiven(own, repo, [selected('now')]);
            assert.equal((await questions(own, runId)).length, 1);
            assertHistory(await own.events(runId));
        });

    withServer('at a worker elsewhere waits on while the server dies and comes back',
        { args: ['--workers', '0'], config: LONG_LEASES }, async (own) => {
            const worker = await new RemoteWorker(own, { name: 'far', slots: 1 }).start();
            const mark = newMark();
            const repo = await asking(own, 'acme/far',
                [EDIT, { ...EDIT, givesUpAt: `gate-${mark}` }]);
            const { taskId, runId } = await own.submit(repo.name);
            const question = await untilAsked(own, runId);
            await own.crash();
            await own.startAgain();
            assert.equal((await untilAsked(own, runId)).id, question.id);
            await assertLeaseNeeded(own, runId, question);
            await answer(own, runId, 'Once');
            await untilAsked(own, runId, question);
            await worker.openGate(mark);
            await own.untilTask(taskId, 'completed');
            await assertGiven(own, repo, [selected('now'), -32800]);
            assert.equal((await own.run(runId)).attempt, 1);
            assert.deepEqual((await questions(own, runId)).map(({ status }) => status),
                ['cancelled', 'answered']);
            await worker.stop();
        });
});

// Says what it has spent when it is interrupted, as Claude Code does, and stays until then.
const spends = (mark) => `trap 'printf "%s\\n" "$(cat last.json)"; exit 0' INT
printf '%s' '${JSON.stringify({ type: 'result', subtype: 'error_during_execution', is_error: true,
        num_turns: 3, total_cost_usd: 0.75 })}' >last.json
${says({ type: 'assistant', message: { id: 'm1', content: [] } })}
mkdir gate-${mark}
while :; do sleep 0.05; done`;

describe('an agent that is stopped', { concurrency: 4 }, () => {
    before(async () => (server = await start({ args: ['--workers', '4'] })));
    after(() => server.discard());

    const agentOf = (mark) => ({ command: ['/bin/sh', '-c', spends(mark)], adapter: 'claude' });

    it('by a person has booked what it spent', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/cancel', '', { agent: agentOf(mark) });
        const { taskId, runId } = await server.submit(repo.name);
        await server.untilGate(mark);
        await server.cancel(taskId);
        await server.untilTask(taskId, 'cancelled');
        assert.equal((await server.run(runId)).costUsd, 0.75);
    });

    for (const [limit, code] of [['idleMs', 'agent_idle_timed_out'],
        ['agentMs', 'agent_timed_out']]) {
        it(`by its limit ${limit} has booked what it spent`, () => withRoom(500, async (ms) => {
            const mark = newMark();
            const repo = await server.repository(`acme/${limit}-${ms}`, '',
                { agent: agentOf(mark), timeouts: { [limit]: ms } });
            const { task, run } = await server.finish(repo.name, 'timed_out');
            assert.equal(task.errorCode, code);
            if (run.turns === 0) throw new TooSlow();
            assert.equal(run.costUsd, 0.75);
        }));
    }

    it('by a tool that policy denies, in a line of a megabyte, opens no pull request', async () => {
        const call = (content) => JSON.stringify({ type: 'assistant', message: { id: 'm1',
            content: [{ type: 'tool_use', id: 't1', name: 'Write', input: { content } }] } });
        const [begin, end] = call('HERE').split('HERE');
        const repo = await server.repository('acme/long', '', {
            agent: { command: ['/bin/sh', '-c', `printf '%s' '${begin}'
                head -c 1100000 /dev/zero | tr '\\0' y; printf '%s\\n' '${end}'\n${fixes}`],
            adapter: 'claude' },
            policy: { denyTools: ['Write'] },
        });
        const { task, run } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'policy.tool_denied');
        assert.equal(run.turns, 1);
        assert.deepEqual(await server.pullRequests(repo.name), []);
    });

    it('by a record that is too long to be checked', async () => {
        const repo = await server.repository('acme/unreadable',
            `printf '{"type":"tool","name":"'; tr '\\0' y </dev/zero`);
        const { task } = await server.finish(repo.name, 'failed');
        assert.equal(task.errorCode, 'agent_output_unreadable');
    });
});

describe('on a server of its own', { concurrency: 3 }, () => {
    withServer('an agent that crashed is quoted in the error of its run',
        { args: ['--workers', '1'], env: { MY_KEY: 'hunter2-hunter2-3' } }, async (own) => {
            const repo = await own.repository('acme/crash', '', {
                agent: { command: ['/bin/sh', '-c', `echo "TypeError: x is not a function" >&2
                    echo "with key $MY_KEY" >&2; exit 7`], adapter: 'ndjson', env: ['MY_KEY'] },
            });
            const { task } = await own.finish(repo.name, 'failed');
            assert.equal(task.errorCode, 'agent_error');
            assert.match(task.errorMessage, /exit code 7.*\nTypeError: x is not a function/);
            assert.match(task.errorMessage, /with key \[redacted:/);
        });

    withServer('a paused agent leaves nothing when its server stops or dies, and is resumed later',
        { args: ['--workers', '1'] }, async (own) => {
            const mark = newMark();
            const repo = await own.repository('acme/stays',
                `sleep 3000.${mark} &\n${waits(mark)}${fixes}`);
            const other = await own.repository('acme/other', fixes);
            const { taskId, runId } = await own.submit(repo.name);
            for (const end of ['stop', 'crash']) {
                const [pid] = await until('its child', () => sleepers(mark).length === 1
                    && sleepers(mark));
                await own.post(`/v1/runs/${runId}/pause`);
                await untilStopped(pid);
                await own[end]();
                await untilGone(mark);
                await own.startAgain();
                await own.finish(other.name, 'completed'); // The worker works, and does not get it.
                assert.equal((await own.run(runId)).paused, true);
                assert.deepEqual(processesWith(mark), []);
                await own.post(`/v1/runs/${runId}/resume`);
            }
            await own.letThrough(mark, taskId);
        });

    withServer('a worker elsewhere passes messages and pauses on',
        { args: ['--workers', '0'], config: 'lease: {leaseMs: 15000, heartbeatMs: 300}\n' },
        async (own) => {
            const worker = await new RemoteWorker(own, { name: 'far', slots: 1 }).start();
            const { repo } = await talk(own, worker, 'claude');
            await assertHeard(own, repo, ['the prompt', 'Make it forty-two.']);
            const mark = newMark();
            const paused = await own.repository('acme/far',
                `sleep 3000.${mark} &\n${waits(mark)}${fixes}`);
            const { taskId, runId } = await own.submit(paused.name);
            const [pid] = await until('its child', () => sleepers(mark).length === 1
                && sleepers(mark));
            await own.post(`/v1/runs/${runId}/pause`);
            await untilStopped(pid);
            await own.post(`/v1/runs/${runId}/resume`);
            await worker.openGate(mark);
            await own.untilTask(taskId, 'completed');
            await worker.stop();
        });
});
