// events_view.test.mjs - the five questions about issues: by HTTP and the command line on both
// engines, and by the queries that people write over the view events.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { on, PSQL } from './lib/database.mjs';
import { assertProblem } from './lib/http.mjs';
import { start } from './lib/server.mjs';

let server;
let count = 0;
const stored = []; // What was appended, with the time and place that the server gave it.

// issue, name of the step, agent
const STORY = [
    ['42', 'ISSUE_APPROVED'], ['42', 'ISSUE_ASSIGNED', 'slow'], ['7', 'ISSUE_APPROVED'],
    ['42', 'WORK_STARTED', 'slow'], ['7', 'ISSUE_ASSIGNED', 'quick'], ['42', 'AGENT_STUCK'],
    ['42', 'ISSUE_UNASSIGNED', 'slow'], ['42', 'ISSUE_ASSIGNED', 'steady'],
    ['7', 'VERIFIED'], ['7', 'ISSUE_DONE', 'quick'], ['9', 'ISSUE_APPROVED'],
    ['42', 'VERIFIED'], ['42', 'ISSUE_DONE', 'steady'], ['9', 'ISSUE_ASSIGNED', 'slow'],
    ['9', 'ISSUE_UNASSIGNED', 'slow'],
];

before(async () => {
    server = await start({ args: ['--workers', '0'] });
    for (const [issueId, type, agentId] of STORY)
        await server.post('/v1/events', { specversion: '1.0', id: `s${++count}`,
            source: '/issues', type, data: { issueId, ...(agentId && { agentId }) } });
    const all = await server.list('/v1/events?limit=200');
    stored.push(...all.filter(({ source }) => source === '/issues')
        .sort((a, b) => Number(a.logseq) - Number(b.logseq)));
    assert.equal(stored.length, STORY.length);
});
after(() => server.discard());

const us = ({ time }) => Date.parse(time) * 1000 + Number(/\.\d{3}(\d{0,3})Z/.exec(time)?.[1] ?? 0);
const of = (issue, type) => stored.filter((event) => event.data.issueId === issue
    && (type === undefined || event.type === type));
const took = (from, to) => (us(to) - us(from)) / 1e6;
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-3, `${a} is not ${b}`);
const story = (issue) => server.get(`/v1/lifecycle/${issue}`);
const drover = (...args) => callDrover(server, args);

describe('the log answers', () => {
    it('what the status of an issue is', async () => {
        for (const issue of ['42', '7', '9']) {
            const { status, statusAt, assignedTo, events } = await story(issue);
            const last = of(issue).at(-1);
            assert.deepEqual([status, statusAt], [last.type, last.time]);
            assert.equal(assignedTo, { 42: 'steady', 7: 'quick', 9: null }[issue]);
            assert.deepEqual(events.map(({ id }) => id), of(issue).map(({ id }) => id));
            const said = await drover('issue', 'status', issue);
            assert.match(said.stdout, new RegExp(`Status +${last.type}`));
        }
    });

    it('how long an issue took from approved to done', async () => {
        for (const issue of ['42', '7']) {
            const { durationSeconds } = await story(issue);
            near(durationSeconds, took(of(issue, 'ISSUE_APPROVED')[0], of(issue, 'ISSUE_DONE')[0]));
        }
        assert.equal((await story('9')).durationSeconds, null);
        assert.match((await drover('issue', 'duration', '42')).stdout, /from approved to done/);
        assert.match((await drover('issue', 'duration', '9')).stdout, /not done yet/);
    });

    it('how often an issue was reassigned', async () => {
        for (const [issue, times] of [['42', 1], ['7', 0], ['9', 0]]) {
            assert.equal((await story(issue)).reassignments, times);
            assert.equal((await drover('issue', 'reassignments', issue)).stdout, `${times}\n`);
        }
    });

    it('which agent is most efficient', async () => {
        const wanted = [['quick', '7'], ['steady', '42']].map(([agent, issue]) => [agent, took(
            of(issue, 'ISSUE_ASSIGNED').at(-1), of(issue, 'ISSUE_DONE')[0])])
            .sort((a, b) => a[1] - b[1]);
        const { items } = await server.get('/v1/agents/efficiency');
        assert.deepEqual(items.map(({ agentId, issues }) => [agentId, issues]),
            wanted.map(([agent]) => [agent, 1]));
        items.forEach(({ averageSeconds }, i) => near(averageSeconds, wanted[i][1]));
        const said = (await drover('agents', 'efficiency')).stdout.trim().split('\n');
        assert.deepEqual(said.slice(1).map((line) => line.split(/ +/)[0]),
            wanted.map(([agent]) => agent));
    });

    it('what happened between two times', async () => {
        const [from, to] = [stored[3], stored[10]];
        const said = await drover('events', '--between', from.time, to.time, '--type', '>',
            '--json');
        const { items } = JSON.parse(said.stdout);
        assert.deepEqual(items.filter(({ source }) => source === '/issues').map(({ id }) => id),
            stored.slice(3, 10).map(({ id }) => id));
        const early = await drover('events', '--between', '2001-01-01 10:00', '2001-01-01 11:00');
        assert.equal(early.stdout, 'No events.\n');
        for (const args of [['--between', from.time], ['x'], ['--between', 'x', 'y'],
            ['--between', from.time, to.time, '--since', '1h'], ['--until', '1h', '--follow']])
            assert.equal((await drover('events', ...args)).status, 2, args.join(' '));
    });

    it('nothing of an issue that it does not know', async () => {
        assertProblem(await server.call('GET', '/v1/lifecycle/4242'), 404,
            { code: 'ISSUE_UNKNOWN' });
        assertProblem(await server.call('GET', `/v1/lifecycle/${'x'.repeat(201)}`), 400, {});
        assert.equal((await drover('issue', 'status', '4242')).status, 3);
    });
});

on('postgres', describe)('the view events', () => {
    const query = (text) => execFileSync(PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', text,
        server.db], { encoding: 'utf8' }).trim().split('\n').map((line) => line.split('|'));

    it('has the types of PostgreSQL', () => {
        assert.deepEqual(Object.fromEntries(query('SELECT column_name, data_type'
            + ' FROM information_schema.columns WHERE table_name = \'events\'')), {
            id: 'uuid', type: 'text', status: 'text', actor: 'text', data: 'jsonb',
            parent_id: 'uuid', correlation_id: 'uuid', created_at: 'timestamp with time zone' });
    });

    it('answers the status of an issue', () => {
        const [[type, actor]] = query(`SELECT type, actor, created_at FROM events
            WHERE correlation_id = (
            SELECT correlation_id FROM events
            WHERE data->>'issueId' = '42' LIMIT 1
            )
            ORDER BY created_at DESC LIMIT 1;`);
        assert.deepEqual([type, actor], ['ISSUE_DONE', 'user:admin']);
    });

    it('answers how long it took from approved to production', () => {
        const rows = query(`SELECT
            (done.created_at - approved.created_at) AS duration
            FROM events approved
            JOIN events done ON approved.correlation_id = done.correlation_id
            WHERE approved.type = 'ISSUE_APPROVED'
            AND done.type = 'ISSUE_DONE';`);
        const seconds = rows.map(([text]) => text.split(':').map(Number))
            .map(([h, m, s]) => h * 3600 + m * 60 + s).sort((a, b) => a - b);
        const wanted = ['7', '42'].map((issue) => took(of(issue, 'ISSUE_APPROVED')[0],
            of(issue, 'ISSUE_DONE')[0])).sort((a, b) => a - b);
        assert.equal(seconds.length, 2);
        seconds.forEach((each, i) => near(each, wanted[i]));
    });

    it('answers which agent is most efficient, as the server does', async () => {
        const rows = query(`SELECT
            assigned.data->>'agentId' AS agent,
            AVG(done.created_at - assigned.created_at) AS avg_time
            FROM events assigned
            JOIN events done ON assigned.correlation_id = done.correlation_id
            WHERE assigned.type = 'ISSUE_ASSIGNED'
            AND done.type = 'ISSUE_DONE'
            AND NOT EXISTS (
            -- Only count the final assignment (not reassigned ones)
            SELECT 1 FROM events un
            WHERE un.correlation_id = assigned.correlation_id
            AND un.type = 'ISSUE_UNASSIGNED'
            AND un.created_at > assigned.created_at
            )
            GROUP BY agent ORDER BY avg_time;`);
        const { items } = await server.get('/v1/agents/efficiency');
        assert.deepEqual(rows.map(([agent]) => agent), items.map(({ agentId }) => agentId));
    });

    it('answers what happened during the outage; names of drover are as people write them', () => {
        query(`INSERT INTO event_log (id, type, version, time_us, run_seq, actor_type, actor_id,
            data, issue_id, correlation_id) SELECT gen_random_uuid()::text, type, 1,
            extract(epoch FROM timestamptz '2026-03-28 14:30Z') * 1000000 + n, 0, 'system',
            'conductor', '{"issueId": "1"}', '1', '01a1e111-4280-788b-8f9d-658fd086a1f4'
            FROM (VALUES (1, 'conductor.issue.approved'), (2, 'conductor.human_gate.triggered'),
                (3, 'conductor.merged')) AS rows (n, type)`);
        const rows = query(`SET TIME ZONE 'UTC'; SELECT type, actor, data, created_at FROM events
            WHERE created_at BETWEEN '2026-03-28 14:00' AND '2026-03-28 15:00'
            ORDER BY created_at;`);
        assert.deepEqual(rows.map(([type]) => type),
            ['ISSUE_APPROVED', 'HUMAN_GATE_TRIGGERED', 'MERGED']);
        assert.equal(rows[0][3], '2026-03-28 14:30:00.000001+00');
    });

    it('says how often an issue was reassigned', async () => {
        const [[times]] = query(`SELECT count(*) FROM events later WHERE type = 'ISSUE_ASSIGNED'
            AND data->>'issueId' = '42' AND EXISTS (SELECT 1 FROM events un
            WHERE un.correlation_id = later.correlation_id AND un.type = 'ISSUE_UNASSIGNED'
            AND un.created_at < later.created_at)`);
        assert.equal(Number(times), (await story('42')).reassignments);
    });

    it('shows every event of the server', () => {
        const [[events, rows]] = query('SELECT (SELECT count(*) FROM events'
            + ' WHERE data IS NOT NULL AND correlation_id IS NOT NULL AND created_at IS NOT NULL),'
            + ' (SELECT count(*) FROM event_log)');
        assert.equal(events, rows);
    });
});
