// bus.test.mjs - events by tag, agent, persona and severity, wherever they are chosen; channels by
// configuration; what cannot be sent; the server's own log in a file and in the store.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover, launch } from './lib/cli.mjs';
import { on } from './lib/database.mjs';
import { assertProblem } from './lib/http.mjs';
import { Mcp } from './lib/mcp.mjs';
import { makeDirectory, Server, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const logs = makeDirectory();
const LOG = join(logs, 'drover.log');
const CONFIG = `workers: 1
log:
  file: {path: ${LOG}, maxBytes: 65536, keep: 2}
  store: {level: info, keepDays: 1, maxRows: 1000}
bus:
  latencyBudgetMs: 200
  subscribers:
    - {name: sse.events, capacity: 4, overflow: block, latencyBudgetMs: 1,
       types: [{type: com.bus.often, overflow: coalesce}]}
  types:
    - {type: com.bus.rare, capacity: 1, overflow: drop-oldest}
`;
const SOURCE = 'https://bus.example.com';
let server, sent = 0;

const append = (type, more = {}) => server.post('/v1/events',
    { specversion: '1.0', id: `${++sent}`, source: SOURCE, type, ...more });
const batch = (events) => server.post('/v1/events', events.map((event) =>
    ({ specversion: '1.0', id: `${++sent}`, source: SOURCE, ...event })),
    { 'content-type': 'application/cloudevents-batch+json' });
const numbers = (events) => events.map(({ data }) => (data.data ?? data).n);
const metrics = async () => (await server.call('GET', '/metrics')).text.split('\n');

before(async () => {
    server = await start({ config: CONFIG });
});
after(() => server.discard());

describe('an event', () => {
    let tagged, any;
    before(async () => {
        const agent = { compute: 'pull', queue: 'bus' };
        const repo = await server.repository('acme/tagged', '', { agent });
        const other = await server.repository('acme/other', '', { agent });
        tagged = await server.submit(repo.name,
            { labels: ['urgent', 'ui'], persona: 'reviewer', agent: 'bob' });
        any = await server.submit(other.name);
    });

    it('has a severity, and the tags of its task', async () => {
        const want = 'repository:acme/tagged,persona:reviewer,agent:bob,urgent,ui';
        const events = await server.events(tagged.runId);
        assert.ok(events.length >= 2);
        for (const { type, tags, severity } of events) {
            assert.equal(tags, want, type);
            assert.match(severity, /^(debug|info|warning|error)$/);
        }
        const [registered] = await server.list('/v1/events?type=agent.repository.*&tag='
            + 'repository:acme/other');
        assert.equal(registered.subject, 'repository/acme/other');
    });

    it('has the tag of the agent whose claim makes it, and of an agent that it is about',
        async () => {
            const { token } = await server.post('/v1/tokens', { name: 'w', role: 'worker' });
            await server.post('/v1/agents', { name: 'ann', persona: 'tester', queue: 'bus' });
            const res = await server.call('POST', '/v1/claims', { token,
                body: { agent: 'ann', queue: 'bus', leaseMs: 60_000, waitMs: 20_000 } });
            assert.equal(res.status, 200, res.text);
            assert.equal(res.json.claim.runId, any.runId);
            const types = async (query) => (await server.list(`/v1/events?${query}`))
                .map(({ type }) => type);
            assert.deepEqual(await types('agent=ann'), ['agent.step.started']);
            await server.post('/v1/agents/ann/kill', { policy: 'requeue' });
            assert.ok((await types('agent=ann&persona=tester')).includes('agent.killed'));
            assert.ok(!(await types('agent=ann')).includes('agent.task.submitted'));
            assert.deepEqual(await types('agent=absent'), []);
        });

    // Every place that takes a filter has the same answer.
    const CASES = [
        ['tag=urgent', [1, 2]],
        ['tag=urgent,ui', [2]],
        ['tag=urgent&severity=warning', [1]],
        ['severity=error', [3]],
        ['persona=planner', [4]],
        ['agent=eve', [5]],
        ['agent=eve&tag=ui', [5]],
        ['type=com.bus.one,com.bus.two&tag=ui', [2, 5]],
        ['tag=repository:acme/nothing', []],
    ];
    it('is found by what it says of itself, in listings, waits, streams and tools', async () => {
        const { cursor } = await server.get('/v1/events/next');
        const base = '/v1/events';
        const live = await Promise.all(CASES.map(([query]) =>
            server.stream(`${base}/stream?${query}`)));
        const all = (query) => `${query}${query.includes('type=') ? '' : '&type=com.bus.*'}`;
        await batch([
            { type: 'com.bus.one', tags: 'urgent', severity: 'WARN', data: { n: 1 } },
            { type: 'com.bus.one', tags: 'ui, urgent,ui', data: { n: 2 } },
            { type: 'com.bus.one', severity: 'error', data: { n: 3 } },
            { type: 'com.bus.one', tags: 'persona:planner', severity: 'odd', data: { n: 4 } },
            { type: 'com.bus.two', tags: 'agent:eve,ui', data: { n: 5 } },
        ]);
        const mcp = await Mcp.open(server);
        for (const [i, [query, want]] of CASES.entries()) {
            const listed = (await server.list(`${base}?${all(query)}`));
            assert.deepEqual(numbers(listed), want, `listed: ${query}`);
            const next = await server.get(`${base}/next?after=${cursor}&${all(query)}`);
            assert.deepEqual(numbers(next.events), want, `next: ${query}`);
            const past = await server.stream(`${base}/stream?${all(query)}`,
                { lastEventId: cursor });
            assert.deepEqual(numbers(await past.upTo(want.length)), want, `past: ${query}`);
            past.close();
            assert.deepEqual(numbers(await live[i].upTo(want.length)), want, `live: ${query}`);
            live[i].close();
            const args = Object.fromEntries(new URLSearchParams(all(query)));
            const { events } = await mcp.call('wait_for_event',
                { ...args, after: cursor, waitMs: 0 });
            assert.deepEqual(numbers(events), want, `tool: ${query}`);
        }
        const [two] = await server.list(`${base}?type=com.bus.*&tag=ui,urgent`);
        assert.equal(two.tags, 'ui,urgent');
    });

    it('that is waited for by a tag comes when it is there', async () => {
        const waiting = server.get('/v1/events/next?tag=soon&severity=warning&waitMs=30000');
        await until('the call to wait', async () => (await metrics())
            .some((line) => /^drover_http_event_waits [1-9]/.test(line)));
        await append('com.bus.one', { tags: 'soon', data: { n: 1 } });
        await append('com.bus.one', { tags: 'soon', severity: 'error', data: { n: 2 } });
        assert.deepEqual(numbers((await waiting).events), [2]);
    });

    const REFUSED = [
        ['severity=bad', 'severity', /debug, info, warning, error/],
        ['persona=Big', 'persona', /lower-case/],
        ['agent=-x', 'agent', /begins with a letter/],
        ['tag=', 'tag', /1 to/],
        ['tag=,', 'tag', /no tag/],
        [`tag=${'x'.repeat(201)}`, 'tag', /200 bytes/],
        ['tag=a,b,c,d,e,f,g,h,i', 'tag', /8 tags/],
        ['tag=a,b,c,d,e,f,g,h&agent=x', 'agent', /8 tags/],
        ['type=a..b', 'type', /agent\.run\.\*/],
        ['type=>.x', 'type', /pattern/],
        [`type=${Array(13).fill('a.b').join()}`, 'type', /12 patterns/],
        ['colour=red', 'colour', /not a parameter/],
    ];
    it('cannot be asked for in ways that mean nothing', async () => {
        for (const path of ['/v1/events', '/v1/events/next', '/v1/events/stream'])
            for (const [query, field, detail] of REFUSED) {
                const res = await server.call('GET', `${path}?${query}`);
                assertProblem(res, 400, { field });
                assert.match(res.json.detail, detail, `${path}?${query}`);
            }
    });

    it('is shown and followed by the command line by the same filters', async () => {
        const shown = await callDrover(server, ['events', '--tag', 'urgent', '--persona',
            'reviewer', '--agent', 'bob', '--type', 'agent.task.submitted', '--json']);
        assert.equal(shown.status, 0, shown.stderr);
        assert.deepEqual(JSON.parse(shown.stdout).items.map(({ taskid }) => taskid),
            [tagged.taskId]);
        const wrong = await callDrover(server, ['events', '--severity', 'loud']);
        assert.equal(wrong.status, 2);
        assert.match(wrong.stderr, /debug, info, warning/);
        const before = (await metrics()).find((line) => line.startsWith('drover_http_streams '));
        const follows = launch(['events', '--follow', '--tag', 'told', '--severity', 'warning',
            '--json', '--data', server.data]);
        await until('the stream to be open', async () => !(await metrics()).includes(before));
        const said = await callDrover(server, ['event', 'append', '--type', 'com.bus.one',
            '--tag', 'told,x', '--severity', 'info', '{"n": 1}']);
        assert.equal(said.status, 0, said.stderr);
        await callDrover(server, ['event', 'append', '--type', 'com.bus.one', '--tag', 'x, told',
            '--severity', 'error', '{"n": 2}']);
        await until('the event to be shown', () => follows.result.out.includes('\n'));
        follows.child.kill('SIGINT');
        const { out } = await follows.ended;
        const { data, tags, severity } = JSON.parse(out);
        assert.deepEqual([data, tags, severity], [{ n: 2 }, 'x,told', 'error']);
    });
});

describe('many consumers that wait for one event', () => {
    it('all have it, though they do not ask the store at the same moment', async () => {
        const names = Array.from({ length: 40 }, (_, i) => `herd-${i}`);
        for (const name of names)
            await server.ok('PUT', `/v1/consumers/${name}`, { types: ['com.bus.herd'] });
        const pages = names.map((name) => server.get(`/v1/consumers/${name}/next?waitMs=30000`));
        await until('all of them to wait', async () => (await metrics())
            .some((line) => line === `drover_http_event_waits ${names.length}`));
        await append('com.bus.herd', { data: { n: 7 } });
        for (const { events } of await Promise.all(pages))
            assert.deepEqual(numbers(events), [7]);
    });
});

describe('a channel with four places', () => {
    for (const type of ['com.bus.any', 'com.bus.often', 'com.bus.rare']) {
        it(`loses nothing of ${type} for its stream`,
            async () => {
                const stream = await server.stream(`/v1/events/stream?type=${type}`);
                const count = 400;
                for (let i = 0; i < count; i += 100)
                    await batch(Array.from({ length: 100 }, (_, j) =>
                        ({ type, data: { n: i + j } })));
                const got = await stream.upTo(count);
                stream.close();
                assert.deepEqual(numbers(got), Array.from({ length: count }, (_, i) => i));
            });
    }

    it('shows in metrics by type and subscriber, with few names', async () => {
        const lines = await metrics();
        const value = (name) => Number(lines.find((line) => line.startsWith(`${name} `))
            ?.split(' ').at(-1) ?? NaN);
        const other = 'type="other",subscriber="sse.events"';
        assert.ok(value('events_published_total{type="other",actor="user"}') >= 1200);
        assert.ok(value(`events_delivered_total{${other}}`) > 0);
        assert.ok(value(`event_delivery_latency_seconds_count{${other}}`) > 0);
        assert.ok(value(`event_delivery_latency_seconds_bucket{${other},le="+Inf"}`)
            >= value(`event_delivery_latency_seconds_bucket{${other},le="0.005"}`));
        assert.ok(value('subscriber_channel_capacity_percent{subscriber="sse.events"}') >= 0);
        assert.ok(value('drover_bus_slow_posts_total') >= 0);
        assert.ok(value('drover_bus_blocked_posts_total') >= 0);
        const types = new Set(lines.flatMap((line) => /^events?_.*\{type="([^"]+)"/.exec(line)?.[1]
            ?? []));
        for (const type of types) assert.match(type, /^(agent\..*|drover\.log\.written|other)$/);
    });
});

on('sqlite', describe)('an event that cannot be sent', () => {
    const RUN = '01890000-0000-7000-8000-00000000abcd';
    const insert = (id, data) => execFileSync('sqlite3', [join(server.data, 'drover.db'),
        '.timeout 60000',
        `INSERT INTO event_log (id, type, version, task_id, run_id, time_us, run_seq, actor_type,
         actor_id, data) VALUES ('01890000-0000-7000-8000-00000000000${id}', 'agent.run.started',
         1, '${RUN}', '${RUN}', 1, ${id}, 'system', 'drover', '${data}')`]);

    it('is passed over by streams and waits, and logged', async () => {
        const { cursor } = await server.get('/v1/events/next');
        const stream = await server.stream('/v1/events/stream');
        insert(1, '{"broken":');
        insert(2, '{"two":\n"lines"}');
        await append('com.bus.after', { data: { n: 1 } });
        const event = await stream.next();
        stream.close();
        assert.equal(event.data.type, 'com.bus.after');
        const { events } = await server.get(`/v1/events/next?after=${cursor}`);
        assert.deepEqual(events.map(({ type }) => type), ['com.bus.after']);
        const lines = await until('its line in the store', async () => {
            const { items } = await server.get(`/v1/logs?level=error&runId=${RUN}`);
            return items.length > 0 && items;
        });
        assert.match(lines[0].message, /cannot be sent/);
        assert.equal(lines[0].line.type, 'agent.run.started');
        assert.ok((await metrics())
            .some((line) => /^drover_bus_passed_over_total [12]/.test(line)));
    });
});

describe('the log of the server', () => {
    it('is kept in a file and in the store', async () => {
        const { items } = await server.get('/v1/logs?level=info&limit=200');
        const line = items.find(({ message }) => message === 'listening');
        assert.equal(line.level, 'info');
        assert.equal(line.line.url, server.url);
        assert.match(line.node, /^node-/);
        await until('the line in the file', () => readFileSync(LOG, 'utf8').includes('listening'));
        for (const text of readFileSync(LOG, 'utf8').trim().split('\n'))
            assert.ok(JSON.parse(text).level, text);
    });

    it('is chosen by level, time and run, and paged', async () => {
        const all = await server.list('/v1/logs?limit=2');
        assert.ok(all.length >= 2);
        assert.deepEqual(all.map(({ seq }) => seq), all.map(({ seq }) => seq).toSorted((a, b) =>
            a - b));
        const late = new Date(Date.now() + 3600_000).toISOString();
        assert.deepEqual(await server.list(`/v1/logs?since=${late}`), []);
        assert.equal((await server.list(`/v1/logs?until=${late}`)).length >= all.length, true);
        assert.deepEqual(await server.list(`/v1/logs?runId=${crypto.randomUUID()}`), []);
        assert.deepEqual((await server.list('/v1/logs?level=fatal')), []);
        assertProblem(await server.call('GET', '/v1/logs?level=loud'), 400, { field: 'level' });
        const { token } = await server.post('/v1/tokens', { name: 'v', role: 'viewer' });
        assertProblem(await server.call('GET', '/v1/logs', { token }), 403);
    });

    it('is shown by the command line', async () => {
        const shown = await callDrover(server, ['logs', '--level', 'info', '--since', '1h']);
        assert.equal(shown.status, 0, shown.stderr);
        assert.match(shown.stdout, / info +listening {2}url=http:/);
        const wrong = await callDrover(server, ['logs', '--level', 'loud']);
        assert.equal(wrong.status, 2);
        const json = await callDrover(server, ['logs', '--json', '--limit', '1']);
        assert.equal(JSON.parse(json.stdout).items.length, 1);
    });
});

describe('a server', () => {
    it('that keeps no log says how to keep it', async () => {
        const plain = await start({ args: ['--workers', '0'] });
        try {
            const res = await plain.call('GET', '/v1/logs');
            assertProblem(res, 409, { code: 'LOGS_NOT_KEPT' });
            assert.match(res.json.detail, /log\.store/);
            const shown = await callDrover(plain, ['logs']);
            assert.notEqual(shown.status, 0);
            assert.match(shown.stderr, /log\.store/);
        } finally {
            await plain.discard();
        }
    });

    it('that stops ends its streams with what was published, and says when to return', async () => {
        const own = await start({ args: ['--workers', '0'] });
        const stream = await own.stream('/v1/events/stream');
        await own.post('/v1/queues/q/pause');
        await own.stop();
        const events = await stream.all();
        assert.deepEqual(events.map(({ data }) => data.type), ['agent.queue.paused']);
        await own.start();
        await own.discard();
    });

    const REFUSED = [
        ['bus: {subscribers: [{name: wait, capacity: 2}]}', /sse\.run.*log\.store/],
        ['bus: {subscribers: [{name: sse.*, overflow: lose}]}', /drop-oldest.*coalesce.*block/],
        ['bus: {types: [{type: agent.>, capacity: 0}]}', /between 1 and 65536/],
        ['bus: {latencyBudgetMs: 5000}', /between 1 and 1000/],
        ['log: {file: {path: relative.log}}', /absolute/],
        ['log: {file: {path: /nonexistent/dir/log}}', /cannot open the log file/],
        ['log: {file: {path: DATA/log}}', /outside of the data directory/],
        ['log: {store: {maxRows: 1}}', /between 100 and/],
        ['log: {store: {level: loud}}', /debug/],
        ['limits: {unreadSeconds: 0}', /between 1 and 600/],
    ];
    it('does not start with a configuration that means nothing', async () => {
        const dir = makeDirectory();
        const data = join(dir, 'data');
        mkdirSync(data);
        for (const [text, reason] of REFUSED) {
            const file = join(dir, 'drover.yaml');
            writeFileSync(file, `${text.replace('DATA', data)}\n`);
            const { ended } = launch(['serve', '--config', file, '--data', data, '--listen',
                '127.0.0.1:0', '--workers', '0']);
            const { code, err } = await ended;
            assert.notEqual(code, 0, text);
            assert.match(err, reason, text);
        }
    });

    it('keeps its log within its limits, and goes on with the file after a crash', async () => {
        const dir = makeDirectory();
        const path = join(dir, 'log');
        const own = new Server({ config: `workers: 0
log: {level: debug, file: {path: ${path}, maxBytes: 4096, keep: 2}, store: {maxRows: 100}}
` });
        await own.start();
        for (let i = 0; i < 60; i++) await own.get('/v1/version');
        await until('the file to be renamed', () => existsSync(`${path}.2`));
        assert.ok(!existsSync(`${path}.3`));
        await own.crash();
        await own.start();
        await until('the line of the second start', () => [path, `${path}.1`, `${path}.2`]
            .some((name) => readFileSync(name, 'utf8').includes(`"url":"${own.url}"`)));
        for (let i = 0; i < 400; i++) await own.get('/v1/version');
        await until('old lines to be gone', async () => {
            const lines = await own.list('/v1/logs?limit=200');
            return lines.length < 400 && lines.length >= 100;
        });
        await own.discard();
    });
});
