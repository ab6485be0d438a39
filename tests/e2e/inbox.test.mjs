// inbox.test.mjs - one list of what needs a person: the most urgent first, with the command that
// answers each.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { fixes } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { BIN, plainEnv, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const QUEUE = 'mail.out';
let server, approval, question, viewer;
const behind = []; // Tasks that wait for the one with the approval.

before(async () => {
    server = await start({ args: ['--workers', '2'], config: 'conductor: {}\n' });
    viewer = (await server.post('/v1/tokens', { name: 'eyes', role: 'viewer' })).token;
});
after(async () => server.discard());

const inbox = async (query = '') => (await server.get(`/v1/inbox${query}`)).items;
const kinds = async (query) => (await inbox(query)).map(({ kind }) => kind);
const metric = async (kind) => {
    const { text } = await server.call('GET', '/metrics');
    return Number(new RegExp(`^drover_inbox_items\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)[1]);
};

// What stands in the list, typed into a shell; TEXT is for a person to fill in.
function type(command) {
    const env = plainEnv({ DROVER_URL: server.url, DROVER_TOKEN: server.token,
        PATH: `${dirname(BIN)}:${process.env.PATH}` });
    return new Promise((resolve) => execFile('/bin/sh', ['-c', command.replace('TEXT', '42')],
        { env }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr })));
}

async function makeWork() {
    const asks = await server.repository('acme/asks', `
answer=$(drover ask 'Which is it?')
echo "$answer" >answer.txt
printf '{"status":"success","summary":"done"}' >"$DROVER_RESULT"`);
    const gated = await server.repository('acme/gated', fixes, { policy: { approval: 'always' } });
    question = await server.submit(asks.name, { description: 'Ask me\nand more' });
    approval = await server.submit(gated.name, { description: 'Change it' });
    for (let i = 0; i < 2; i++)
        behind.push((await server.submit(gated.name, { dependsOn: [approval.taskId] })).taskId);
    await server.question(approval.runId);
    await until('the agent to ask', async () => (await server.list('/v1/questions')).length > 0);
    await server.repository('acme/closed', fixes);
    await server.post('/v1/repositories/acme%2Fclosed/quarantine', { reason: 'planted hooks' });
    await server.post('/v1/jobs', { jobs: [1, 2].map((n) => ({ queue: QUEUE, type: 'mail',
        payload: { n }, maxAttempts: 1 })) });
    const { jobs } = await server.post('/v1/jobs/lease', { queues: [QUEUE], worker: 'w', max: 2,
        waitMs: 0, leaseMs: 60_000 });
    await server.post('/v1/jobs/fail', { jobs: jobs.map(({ id, epoch }) => ({ id, epoch,
        error: { code: 'E', message: 'no', retryable: false } })) });
}

describe('the inbox', () => {
    it('is empty where nothing waits', async () => {
        const { items, cursor, total, counts, truncated } = await server.get('/v1/inbox');
        assert.deepEqual([items, cursor, total, counts, truncated], [[], null, 0, {}, false]);
        const { stdout } = await callDrover(server, ['inbox']);
        assert.equal(stdout, 'Nothing needs a person.\n');
    });

    it('has what waits, the most urgent first, with what waits behind it', async () => {
        await makeWork();
        const items = await inbox();
        assert.deepEqual(items.map(({ kind, repository, behind, count }) =>
            [kind, repository, behind, count]), [
            ['quarantine', 'acme/closed', 0, 1],
            ['approval', 'acme/gated', 2, 1],
            ['question', 'acme/asks', 0, 1],
            ['dead_letters', null, 0, 2],
        ], JSON.stringify(items));
        const [closed, gated, asks, dead] = items;
        assert.deepEqual([closed.reason, closed.command],
            ['planted hooks', 'drover repo release acme/closed']);
        assert.deepEqual([gated.taskId, gated.runId, gated.detail],
            [approval.taskId, approval.runId, 'patch']);
        assert.deepEqual([asks.title, asks.reason, asks.command],
            ['Ask me', 'Which is it?', `drover answer ${asks.id} TEXT`]);
        assert.equal(dead.command, 'drover dlq replay --queue mail.out');
        for (const item of items) {
            assert.ok(item.ageSeconds >= 0 && Date.parse(item.since) <= Date.now());
            assert.equal((await server.call('GET', item.href)).status, 200, item.href);
            const shown = await type(item.show);
            assert.equal(shown.code, 0, `${item.show}: ${shown.stderr}`);
        }
        const ranks = items.map(({ rankAt }) => Date.parse(rankAt));
        assert.deepEqual(ranks, [...ranks].sort((a, b) => a - b));
    });

    it('is read in pages, by kind and by repository', async () => {
        const all = (await inbox()).map(({ id }) => id);
        for (const limit of [1, 3])
            assert.deepEqual((await server.list(`/v1/inbox?limit=${limit}`)).map(({ id }) => id),
                all);
        assert.deepEqual(await kinds('?kind=question'), ['question']);
        assert.deepEqual(await kinds('?repository=acme/gated'), ['approval']);
        assert.deepEqual(await kinds('?repository=acme/none'), []);
        const { counts, total } = await server.get('/v1/inbox?limit=1');
        assert.deepEqual([counts, total],
            [{ quarantine: 1, approval: 1, question: 1, dead_letters: 1 }, 4]);
        for (const query of ['kind=x', 'limit=0', 'cursor=x', 'cursor=bjEgeCB5', 'what=1'])
            assertProblem(await server.call('GET', `/v1/inbox?${query}`), 400);
    });

    it('shows a viewer what waits, and no command to answer it', async () => {
        const { json } = await server.call('GET', '/v1/inbox', { token: viewer });
        assert.deepEqual(json.items.map(({ command }) => command), [null, null, null, null]);
        assert.match(json.items[1].show, /^drover approval /);
        const { token } = await server.post('/v1/tokens', { name: 'hands', role: 'worker' });
        assertProblem(await server.call('GET', '/v1/inbox', { token }), 403);
    });

    it('is counted in the metrics, and printed by the command line', async () => {
        for (const [kind, count] of [['approval', 1], ['dead_letters', 1], ['train', 0]])
            assert.equal(await metric(kind), count);
        const { stdout } = await callDrover(server, ['inbox']);
        assert.match(stdout,
            /^KIND +SINCE +BEHIND +WHAT AND WHY +COMMAND\nquarantine .*drover repo/);
        assert.match(stdout, /dead_letters .*mail.out \(2\) .*--queue mail.out\n$/);
        const { stdout: text } = await callDrover(server,
            ['inbox', '--json', '--kind', 'approval']);
        assert.equal(JSON.parse(text).items[0].runId, approval.runId);
    });

    it('is empty again when each was answered by its command', async () => {
        for (const { command } of await inbox()) {
            const ended = await type(command);
            assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
        }
        await until('the tasks behind it to be done', async (note) => {
            for (const { command } of await inbox('?kind=approval')) await type(command);
            const tasks = await Promise.all(behind.map((id) => server.task(id)));
            return note(tasks.map(({ status }) => status)).every((one) => one === 'completed');
        });
        assert.deepEqual(await inbox(), []);
        assert.equal((await server.untilTask(question.taskId, 'completed')).status, 'completed');
        assert.equal((await server.untilTask(approval.taskId, 'completed')).status, 'completed');
        assert.equal(await metric('approval'), 0);
    });
});

describe('issues of the Conductor', () => {
    const issueId = 'I-1', agentId = 'dev-1';
    let count = 0;
    const tokens = {};
    const say = async (type, data, token) => {
        const res = await server.call('POST', '/v1/events', { token, body: { specversion: '1.0',
            id: `i${++count}`, source: '/desk', type: `conductor.${type}`,
            data: { issueId, ...data } } });
        assert.equal(res.status, 202, res.text);
    };
    const items = async () => (await inbox()).filter(({ id }) => id === issueId);
    const untilAssigned = () => until('the issue to be assigned', async (note) =>
        note(await server.get(`/v1/lifecycle/${issueId}`)).assignedTo === agentId);

    before(async () => {
        for (const [name, writes] of [['dev', 'dev-agent'], ['ci', 'ci']])
            tokens[name] = (await server.post('/v1/tokens', { name, role: 'worker',
                writes: [writes] })).token;
        const { id } = await server.post('/v1/agents', { name: agentId, persona: 'backend',
            capacity: 10 });
        await server.post(`/v1/agents/${id}/heartbeat`);
        await say('issue.approved', { title: 'Make it', persona: 'backend' });
        await untilAssigned();
    });

    it('stand at a gate until it is approved', async () => {
        await say('work.started', { agentId }, tokens.dev);
        await say('branch.created', { agentId, branch: 'b1' }, tokens.dev);
        await say('pr.created', { agentId, branch: 'b1', pullRequest: '7' }, tokens.dev);
        await say('human_gate.triggered', { reason: 'migrations/**' }, tokens.ci);
        const [{ kind, command, show }] = await items();
        assert.equal(kind, 'gate');
        for (const words of [show, command]) {
            const ended = await type(words);
            assert.equal(ended.code, 0, `${words}: ${ended.stderr}`);
        }
        assert.deepEqual(await items(), []);
        const { json } = await server.call('GET', '/v1/inbox', { token: viewer });
        assert.deepEqual(json.items.filter((item) => item.command !== null), []);
    });

    it('are escalated until they are approved again', async () => {
        await say('escalated', { agentId, reason: 'external_dependency' }, tokens.dev);
        const [{ kind, title, command, href }] = await items();
        assert.deepEqual([kind, title], ['escalation', 'Make it']);
        assert.equal((await server.call('GET', href)).status, 200);
        const ended = await type(command);
        assert.equal(ended.code, 0, `${command}: ${ended.stderr}`);
        assert.deepEqual(await items(), []);
    });
});
