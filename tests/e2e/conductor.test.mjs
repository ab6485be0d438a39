// conductor.test.mjs - issues from their approval to production: rules by name, writers by token,
// assignments, and what the log then answers.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { fixes } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const CONFIG = `conductor:
  agents:
    - {name: house, persona: house, capacity: 2}
`;
let server, count = 0;
const tokens = {};

const event = (type, data) => ({ specversion: '1.0', id: `c${++count}`, source: '/test',
    type: `conductor.${type}`, data });
const append = (token, type, data) =>
    server.call('POST', '/v1/events', { body: event(type, data), token });
async function wrote(token, type, data) {
    const res = await append(token, type, data);
    assert.equal(res.status, 202, `${type}: ${res.text}`);
}
const refused = async (token, type, data, rule, status = 409) =>
    assertProblem(await append(token, type, data), status, { code: `issue.${rule}` });
const issue = (id) => server.get(`/v1/lifecycle/${encodeURIComponent(id)}`);
const approve = (id, more = {}) => wrote(server.token, 'issue.approved', { issueId: id, ...more });
const untilStage = (id, stage) => until(`issue ${id} to be ${stage}`, async (note) => {
    const found = await issue(id);
    return note(found).stage === stage && found;
});
const untilAgent = (id, agentId) => until(`${id} to be assigned to ${agentId}`, async (note) => {
    const found = await issue(id);
    return note(found).assignedTo === agentId && found;
});
const typesOf = ({ events }) => events.map(({ type }) => type.replace('conductor.', ''));

before(async () => {
    server = await start({ args: ['--workers', '2'], config: CONFIG });
    for (const [name, writes, agent] of [['dev', 'dev-agent'], ['review', 'review-agent'],
        ['ci', 'ci'], ['one', 'dev-agent', 'dev-1']]) {
        const body = { name, role: 'worker', writes: [writes], agent };
        tokens[name] = (await server.post('/v1/tokens', body)).token;
    }
    for (const [name, persona] of [['dev-1', 'backend'], ['dev-2', 'backend'], ['solo', 'solo']]) {
        const { id } = await server.post('/v1/agents', { name, persona, capacity: 100 });
        await server.post(`/v1/agents/${id}/heartbeat`);
    }
});
after(() => server.discard());

// All steps of the agent up to the merge.
async function toMerged(issueId, agentId, branch, pullRequest) {
    await wrote(tokens.dev, 'work.started', { issueId, agentId });
    await wrote(tokens.dev, 'branch.created', { issueId, agentId, branch });
    await wrote(tokens.dev, 'pr.created', { issueId, agentId, branch, pullRequest });
    await wrote(tokens.ci, 'ci.passed', { issueId });
    await wrote(tokens.review, 'review.passed', { issueId, agentId: 'rev-1' });
    await wrote(tokens.dev, 'merged', { issueId, agentId });
}
async function toDone(issueId, agentId) {
    for (const type of ['deployed.staging', 'smoke.passed', 'deployed.production', 'verified',
        'issue.done'])
        await wrote(tokens.dev, type, { issueId, agentId });
}

describe('an issue', () => {
    it('is assigned, goes to production and is done', async () => {
        await approve(42, { title: 'Sort the cart', persona: 'backend', labels: ['sla:1h'],
            milestone: 'm1', repository: 'acme/elsewhere' });
        const { assignedTo: agentId, slaSeconds } = await untilStage('42', 'assigned');
        assert.match(agentId, /^dev-[12]$/);
        assert.equal(slaSeconds, 3600);
        const mine = await server.list(`/v1/lifecycle?assignedTo=${agentId}`);
        assert.deepEqual(mine.map(({ issueId }) => issueId), ['42']);
        await refused(tokens.dev, 'issue.done', { issueId: '42', agentId }, 'done_needs_verified');
        await toMerged('42', agentId, 'b42', 7);
        await wrote(tokens.ci, 'human_gate.triggered', { issueId: '42', reason: 'payments' });
        await refused(tokens.dev, 'deployed.staging', { issueId: '42', agentId }, 'gate_open');
        await refused(tokens.dev, 'human_gate.approved', { issueId: '42' }, 'writer', 403);
        await wrote(server.token, 'human_gate.approved', { issueId: '42' });
        await toDone('42', agentId);
        const done = await issue('42');
        assert.deepEqual([done.stage, done.status, done.reassignments], ['done', 'ISSUE_DONE', 0]);
        const all = done.events.filter(({ type }) => type.startsWith('conductor.'));
        assert.equal(new Set(all.map(({ correlationid }) => correlationid)).size, 1);
        for (const [i, { causationid }] of all.entries())
            assert.equal(causationid !== undefined, i > 0);
        await until('the milestone to be complete', async () =>
            (await server.list('/v1/events?type=conductor.milestone.complete')).length === 1);
    });

    it('is refused by the rule that an event breaks', async () => {
        await refused(tokens.dev, 'work.started', { issueId: 'none', agentId: 'x' },
            'not_approved');
        await approve('r1', { persona: 'solo' });
        await untilAgent('r1', 'solo');
        const data = { issueId: 'r1', agentId: 'solo' };
        await refused(tokens.dev, 'work.started', { ...data, agentId: 'dev-2' }, 'assigned_agent');
        await refused(tokens.ci, 'work.started', data, 'writer', 403);
        await refused(server.token, 'issue.assigned', data, 'writer', 403);
        assertProblem(await append(tokens.one, 'work.started', data), 403,
            { code: 'AGENT_NOT_ALLOWED' });
        assertProblem(await append(tokens.dev, 'work.started', { issueId: 'r1' }), 422,
            { code: 'MISSING_FIELD' });
        assertProblem(await append(tokens.dev, 'invented', data), 403, { code: 'EVENT_RESERVED' });
        await wrote(tokens.dev, 'work.started', data);
        await wrote(tokens.dev, 'heartbeat', data);
        await wrote(tokens.dev, 'pr.created', { ...data, branch: 'r1-a', pullRequest: 1 });
        await wrote(tokens.ci, 'ci.failed', { issueId: 'r1', reason: 'unit tests' });
        await refused(tokens.ci, 'ci.passed', { issueId: 'r1' }, 'ci_failed_back_to_pr');
        await wrote(tokens.dev, 'pr.created', { ...data, branch: 'r1-a', pullRequest: 1 });
        await wrote(tokens.ci, 'ci.passed', { issueId: 'r1' });
        await wrote(tokens.dev, 'merged', data);
        for (let pr = 2; pr < 4; pr++) {
            await wrote(tokens.dev, 'deployed.staging', data);
            await wrote(tokens.dev, 'smoke.failed', { ...data, reason: 'code' });
            await refused(tokens.dev, 'pr.created',
                { ...data, branch: `r1-x${pr}`, pullRequest: pr - 1 }, 'fix_is_new_pr');
            await wrote(tokens.dev, 'pr.created', { ...data, branch: `r1-${pr}`, pullRequest: pr });
            await wrote(tokens.ci, 'ci.passed', { issueId: 'r1' });
            await wrote(tokens.dev, 'merged', data);
        }
        await wrote(tokens.dev, 'deployed.staging', data);
        assertProblem(await append(tokens.dev, 'smoke.failed', data), 422,
            { code: 'MISSING_FIELD' });
        await wrote(tokens.dev, 'smoke.failed', { ...data, reason: 'code' });
        // The third: stuck, taken off, and given again, on a fresh branch.
        const again = await until('another assignment', async () => {
            const found = await issue('r1');
            return found.reassignments === 1 && found;
        });
        assert.deepEqual(typesOf(again).slice(-3),
            ['agent.stuck', 'issue.unassigned', 'issue.assigned']);
        await wrote(tokens.dev, 'work.started', data);
        await refused(tokens.dev, 'branch.created', { ...data, branch: 'r1-3' }, 'fresh_branch');
        await wrote(tokens.dev, 'branch.created', { ...data, branch: 'r1-9' });
        await wrote(tokens.dev, 'agent.stuck', { ...data, reason: 'no idea' });
        const over = await untilStage('r1', 'escalated');
        assert.equal(over.assignedTo, null);
        assert.ok(over.abandonedBranches.includes('r1-9'));
        await refused(tokens.dev, 'work.started', data, 'assigned_agent');
        const beats = await server.list('/v1/events?type=conductor.heartbeat');
        assert.deepEqual(beats, [], 'heartbeats are not in the log');
    });

    it('waits for those that it depends on', async () => {
        await approve('d2', { persona: 'solo', dependsOn: ['d1'] });
        await approve('d1', { persona: 'solo' });
        await untilAgent('d1', 'solo');
        assert.equal((await issue('d2')).stage, 'waiting');
        await toMerged('d1', 'solo', 'd1-a', 20);
        await toDone('d1', 'solo');
        await untilAgent('d2', 'solo');
    });

    it('is escalated at once for an external dependency', async () => {
        await approve('e1', { persona: 'solo' });
        await untilAgent('e1', 'solo');
        await toMerged('e1', 'solo', 'e1-a', 30);
        await wrote(tokens.dev, 'deployed.staging', { issueId: 'e1', agentId: 'solo' });
        await wrote(tokens.dev, 'smoke.failed',
            { issueId: 'e1', agentId: 'solo', reason: 'external_dependency' });
        await untilStage('e1', 'escalated');
        await until('its agent to be free', async () => (await issue('e1')).assignedTo === null);
        await approve('e1');
        await untilAgent('e1', 'solo');
    });

    it('of a repository of drover becomes a task of an agent in house', async () => {
        const repo = await server.repository('acme/house', fixes);
        await approve('h1', { persona: 'house', repository: repo.name,
            description: 'Make the answer right.' });
        const green = await untilStage('h1', 'green');
        assert.equal(green.assignedTo, 'house');
        const task = await server.untilTask(green.taskId, 'completed');
        assert.match(task.description, /Make the answer right/);
        assert.deepEqual(typesOf(green).slice(0, 7), ['issue.approved', 'issue.assigned',
            'work.started', 'branch.created', 'pr.created', 'ci.passed', 'review.passed']);
        const [pr] = await server.pullRequests(repo.name);
        await server.post(`/v1/pull-requests/${pr.id}/merge`);
        const merged = await untilStage('h1', 'merged');
        assert.equal(merged.branch, pr.branch);
    });

    it('of an agent in house that fails goes to another, and then to a person', async () => {
        const repo = await server.repository('acme/broken', 'exit 3');
        await approve('h2', { persona: 'house', repository: repo.name });
        const over = await untilStage('h2', 'escalated');
        assert.equal(over.stuckAgents, 2);
        assert.equal(typesOf(over).filter((type) => type === 'agent.stuck').length, 2);
    });

    it('of a persona that no agent has is in the way of none, however many there are', async () => {
        const many = Array.from({ length: 500 }, (_, i) =>
            event('issue.approved', { issueId: `u${i}`, persona: 'nobody', priority: 1 }));
        const headers = { 'content-type': 'application/cloudevents-batch+json' };
        for (let i = 0; i < 3; i++) {
            const body = many.map((one) => ({ ...one, id: `${one.id}-${i}`,
                data: { ...one.data, issueId: `${one.data.issueId}-${i}` } }));
            const res = await server.call('POST', '/v1/events', { body, headers });
            assert.equal(res.status, 202, res.text);
        }
        await approve('u-last', { persona: 'solo', priority: 1000 });
        await untilAgent('u-last', 'solo');
    });

    it('goes on where it was after the server was killed', async () => {
        await approve('k1', { persona: 'solo' });
        await server.crash();
        await server.start();
        await untilAgent('k1', 'solo');
        await wrote(tokens.dev, 'work.started', { issueId: 'k1', agentId: 'solo' });
        await wrote(tokens.dev, 'agent.stuck', { issueId: 'k1', agentId: 'solo' });
        await server.crash();
        await server.start();
        const again = await until('another assignment', async () => {
            const found = await issue('k1');
            return found.reassignments === 1 && found.stage === 'assigned' && found;
        });
        assert.equal(typesOf(again).filter((type) => type === 'issue.unassigned').length, 1);
    });

    it('is shown by the command line', async () => {
        const run = async (...args) => (await callDrover(server, args)).stdout;
        assert.match(await run('issue', 'status', '42'), /ISSUE_DONE/);
        assert.match(await run('issue', 'duration', '42'), /from approved to done/);
        assert.equal((await run('issue', 'reassignments', 'r1')).trim(), '1');
        assert.match(await run('issue', 'assignments', 'solo'), /d2/);
        assert.match(await run('agents', 'efficiency'), /solo/);
        await callDrover(server, ['doctor']);
    });
});
