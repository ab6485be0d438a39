// append_events.test.mjs - events of clients in the log, once each, and wherever its events go; and
// calls that wait for the next one.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { ENGINE, on } from './lib/database.mjs';
import { fixes } from './lib/git.mjs';
import { assertProblem, request } from './lib/http.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';
import { HandWorker } from './lib/worker.mjs';

const NOBODY = '01a1e111-4280-788b-8f9d-658fd086a1f4';
const WAITERS = 400;
let count = 0;
const event = (more = {}) => ({ specversion: '1.0', id: `e${++count}`, source: '/ci',
    type: 'com.example.built', data: { ok: true }, ...more });

const room = makeDirectory();
const audit = join(room, 'audit.jsonl');
let server, worker, ids, agentToken;

before(async () => {
    server = await start({ args: ['--workers', '0'],
        config: `sinks:\n  - {name: audit, type: file, path: ${audit}}\n` });
    const repo = await server.repository('acme/events', fixes);
    ids = await server.submit(repo.name);
    worker = new HandWorker(server, 'hand');
    await worker.walkTo('agent', ids.runId);
    const { id, epoch } = await worker.take('agent', ids.runId, 600_000);
    agentToken = (await worker.post('/v1/jobs/run-token', { id, epoch })).token;
});
after(async () => {
    await server.discard();
    rmSync(room, { recursive: true });
});

const append = (body, options = {}) => server.call('POST', '/v1/events', { body, ...options });
const next = (query, options) => server.call('GET', `/v1/events/next?${query}`, options);

async function appended(more, options) {
    const body = event(more);
    const res = await append(body, options);
    assert.deepEqual([res.status, res.json], [202, { accepted: 1, duplicates: 0 }], res.text);
    return body;
}

// The end of the log as `next` knows it: all that was appended before lies behind it.
async function here(last) {
    let cursor = 0;
    await until('the tail to have all', async (note) => {
        const { json } = await next(`after=${cursor}&limit=100`);
        cursor = json.cursor;
        return note(json).events.some(({ id }) => id === last.id);
    });
    return cursor;
}

const place = async () => here(await appended());

const untilWaiting = (wanted, node = server) => until(`${wanted} calls to wait`, async (note) => {
    const { text } = await node.call('GET', '/metrics');
    return note(Number(/^drover_http_event_waits (\d+)$/m.exec(text)[1])) === wanted;
});

const agent = () => ({ token: agentToken });

describe('an event of a client', () => {
    it('is in the log as it was sent, and what the server knows beside it', async () => {
        const sent = await appended({ subject: 'build 7', time: '2020-02-02T02:02:02+02:00',
            dataschema: 'https://example.com/schema', datacontenttype: 'application/json',
            traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
            attempts: 3, flaky: true, data: [1, { b: 'ü"' }] });
        const [got] = (await server.list('/v1/events?type=com.example.*&limit=200'))
            .filter(({ id }) => id === sent.id);
        const { recordedtime, logseq, workspaceid, actortype, actorid, ...rest } = got;
        assert.deepEqual(rest, sent);
        assert.deepEqual([actortype, actorid], ['user', 'admin']);
        assert.ok(Number(logseq) > 0 && workspaceid);
        assert.ok(Math.abs(Date.now() - Date.parse(recordedtime)) < 3_600_000, recordedtime);
    });

    it('goes to streams and sinks', async () => {
        const stream = await server.stream('/v1/events/stream?type=com.>');
        const sent = await appended({ type: 'com.example.streamed' });
        let got;
        do got = await stream.next(); while (got.data.id !== sent.id);
        assert.equal(got.event, 'com.example.streamed');
        assert.deepEqual(got.data.data, sent.data);
        stream.close();
        await until('the sink to have it', () => existsSync(audit)
            && readFileSync(audit, 'utf8').split('\n').slice(0, -1)
                .some((line) => JSON.parse(line).id === sent.id));
    });

    it('is appended once, however often and from wherever it is sent', async () => {
        const body = event({ type: 'com.example.repeated' });
        const all = await Promise.all(Array.from({ length: 20 }, (_, i) =>
            append({ ...body, data: i })));
        const sum = (key) => all.reduce((total, { json }) => total + json[key], 0);
        assert.deepEqual([sum('accepted'), sum('duplicates')], [1, 19]);
        assert.deepEqual((await append(body)).json, { accepted: 0, duplicates: 1 });
        await appended({ ...body, source: '/cd' });
        await appended({ ...body, id: 'another' });
        assert.equal((await server.list('/v1/events?type=com.example.repeated')).length, 3);
    });

    it('may be of a task or a run, in its events and its timeline', async () => {
        const { taskId, runId } = ids;
        const ofTask = await appended({ taskid: taskId, type: 'com.example.of-task' });
        const ofRun = await appended({ runid: runId, type: 'com.example.of-run' });
        const events = await server.events(runId);
        const [one, two] = [ofTask, ofRun].map((sent) => events.find(({ id }) => id === sent.id));
        const about = ({ taskid, runid, subject }) => [taskid, runid, subject];
        assert.deepEqual(about(one), [taskId, undefined, `task/${taskId}`]);
        assert.deepEqual(about(two), [taskId, runId, `run/${runId}`]);
        const own = events.filter(({ runid }) => runid === runId)
            .map(({ sequence }) => Number(sequence));
        assert.deepEqual(own, own.map((_, i) => i + 1), 'the run has no gap');
        const timeline = JSON.stringify(await server.get(`/v1/runs/${runId}/timeline`));
        for (const { type } of [ofTask, ofRun]) assert.ok(timeline.includes(type), timeline);
    });

    for (const [what, body, status, code] of [
        ['the catalogue', { type: 'agent.run.completed' }, 403, 'EVENT_RESERVED'],
        ['the server', { type: 'Conductor.x' }, 403, 'EVENT_RESERVED'],
        ['its source', { source: 'drover' }, 403, 'EVENT_RESERVED'],
        ['no version', { specversion: undefined }, 422, 'INVALID_FIELD'],
        ['no id', { id: undefined }, 422, 'MISSING_FIELD'],
        ['no source', { source: null }, 422, 'MISSING_FIELD'],
        ['a name that no extension has', { 'my-name': 1 }, 422, 'INVALID_FIELD'],
        ['a task that is not there', { taskid: NOBODY }, 422, 'TASK_NOT_FOUND'],
        ['a run that is not there', { runid: NOBODY }, 422, 'RUN_NOT_FOUND'],
        ['more data than fits', { data: 'x'.repeat(64 * 1024) }, 422, 'INVALID_FIELD'],
    ])
        it(`is refused: ${what}`, async () => assertProblem(await append(event(body)), status,
            { code }));

    it('is one object of JSON', async () => {
        const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
        assert.equal((await append(event(), { headers })).status, 202);
        for (const type of ['application/cloudevents+avro', 'text/plain'])
            assertProblem(await append(event(), { headers: { 'content-type': type } }), 415);
        assertProblem(await append([event()]), 422);
        assertProblem(await append('{"specversion":'), 400);
        assert.equal((await append(event({ data: 'x'.repeat(60_000) }))).status, 202);
    });

    it('of an agent is of its own run', async () => {
        const sent = await appended({ type: 'com.example.agent' }, agent());
        const found = (await server.events(ids.runId)).find(({ id }) => id === sent.id);
        assert.deepEqual([found.runid, found.actortype, found.actorid],
            [ids.runId, 'agent', ids.runId]);
        // Neither takes another's name, nor learns whether it is taken.
        const source = 'https://ci.example.com/deploys';
        const taken = await appended({ source, data: { by: 'agent' } }, agent());
        await appended({ source, id: taken.id, data: { by: 'ci' } });
        assert.deepEqual((await append({ ...taken, data: 'again' }, agent())).json,
            { accepted: 0, duplicates: 1 });
        const { items } = await server.ok('GET', `/v1/events?type=${taken.type}&limit=200`);
        assert.deepEqual(items.filter(({ id }) => id === taken.id).map(({ source: from, data }) =>
            [from, data.by]).sort(), [[source, 'ci'], [`runs/${ids.runId}/${source}`, 'agent']]);
        assertProblem(await append(event({ source: `runs/${ids.runId}/ci` })), 403,
            { code: 'EVENT_RESERVED' });
        const other = await server.submit('acme/events');
        for (const more of [{ runid: other.runId }, { runid: NOBODY }])
            assertProblem(await append(event(more), agent()), 403, { code: 'NOT_YOUR_RUN' });
        assertProblem(await append(event({ taskid: other.taskId }), agent()), 422);
        await server.cancel(other.taskId);
    });

    it('is appended by the command line', async () => {
        const drover = (args, input) => callDrover(server, ['event', 'append', ...args], input);
        const type = ['--type', 'com.example.cli'];
        let ended = await drover([...type, '--id', 'c1', '{"a": 1}', '--run', ids.runId]);
        assert.equal(ended.status, 0, ended.stderr);
        assert.match(ended.stdout, /in the log/);
        ended = await drover([...type, '--id', 'c1']);
        assert.match(ended.stdout, /already/);
        ended = await drover([...type, '--source', 'urn:x', '-', '--json'], '[1]');
        assert.deepEqual(JSON.parse(ended.stdout), { accepted: 1, duplicates: 0 });
        assert.equal((await drover([])).status, 2);
        assert.equal((await drover(['--type', 'agent.x'])).status, 4);
        const stored = await server.list('/v1/events?type=com.example.cli');
        assert.deepEqual(stored.map(({ source, id, runid, data }) => [source, data, runid, id])
            .map((row, i) => row.slice(0, i === 0 ? 4 : 2)),
        [['drover-cli', { a: 1 }, ids.runId, 'c1'], ['urn:x', [1]]]);
    });
});

describe('a call for the next event', () => {
    it('is answered at once with what lies behind its place', async () => {
        const cursor = await place();
        const sent = [await appended(), await appended({ type: 'com.example.other' }),
            await appended()];
        const end = await here(sent[2]);
        const { json } = await next(`after=${cursor}&waitMs=30000`);
        assert.deepEqual(json.events.map(({ id }) => id), sent.map(({ id }) => id));
        assert.ok(json.cursor >= Number(json.events[2].logseq) && json.cursor <= end);
        const typed = (await next(`after=${cursor}&type=com.example.other`)).json;
        assert.deepEqual(typed.events.map(({ id }) => id), [sent[1].id]);
        const page = (await next(`after=${cursor}&limit=2`)).json;
        assert.deepEqual([page.events.length, page.cursor], [2, Number(page.events[1].logseq)]);
        const rest = (await next(`after=${page.cursor}&limit=2`)).json;
        assert.deepEqual(rest.events.map(({ id }) => id), [sent[2].id]);
    });

    it('waits for the first that matches', async () => {
        const cursor = await place();
        const waits = [next(`after=${cursor}&type=com.example.w.*&waitMs=30000`),
            next(`type=com.example.w.a&waitMs=30000`),
            next(`after=${cursor}&taskId=${ids.taskId}&waitMs=30000`),
            next(`after=${cursor}&runId=${ids.runId}&waitMs=30000`),
            next('waitMs=30000', agent())];
        await untilWaiting(waits.length);
        await appended({ type: 'com.example.not' });
        const a = await appended({ type: 'com.example.w.a' });
        const b = await appended({ taskid: ids.taskId });
        const c = await appended({ runid: ids.runId });
        const found = (await Promise.all(waits)).map(({ status, json }) =>
            [status, ...json.events.map(({ id }) => id)]);
        assert.deepEqual(found, [[200, a.id], [200, a.id], [200, b.id], [200, c.id], [200, c.id]]);
        for (const { json } of await Promise.all(waits))
            assert.equal(json.cursor, Number(json.events[0].logseq));
        await untilWaiting(0);
    });

    it('is empty when its time is over, and misses nothing afterwards', async () => {
        const cursor = await place();
        const began = Date.now();
        const { json } = await next(`after=${cursor}&waitMs=300`);
        assert.deepEqual(json, { events: [], cursor });
        assert.ok(Date.now() - began >= 290);
        assert.deepEqual((await next(`after=${cursor}`)).json, { events: [], cursor });
        const sent = await appended();
        const { json: later } = await next(`after=${json.cursor}&waitMs=30000`);
        assert.equal(later.events[0].id, sent.id);
    });

    // A place ahead of the log, as of a node that is further: what comes up to it is not for it.
    it('may be ahead of the log', async () => {
        const cursor = await place();
        const wait = next(`after=${cursor + 2}&waitMs=30000`);
        await untilWaiting(1);
        for (let i = 0; i < 2; i++) await appended();
        const third = await appended();
        const { json } = await wait;
        assert.ok(Number(json.events[0].logseq) > cursor + 2);
        if (ENGINE === 'sqlite') assert.equal(json.events[0].id, third.id);
    });

    it('sees every event once, in order, while others write', async () => {
        let cursor = await place();
        const wanted = [], seen = [];
        const writers = Array.from({ length: 4 }, async (_, i) => {
            for (let n = 0; n < 25; n++)
                wanted.push((await appended({ type: `com.example.many.${i}` })).id);
        });
        while (seen.length < 100) {
            const { json } = await next(`after=${cursor}&type=com.example.many.*&waitMs=30000`
                + `&limit=${1 + seen.length % 7}`);
            assert.ok(json.cursor >= cursor);
            cursor = json.cursor;
            seen.push(...json.events);
        }
        await Promise.all(writers);
        assert.deepEqual(seen.map(({ id }) => id).sort(), [...wanted].sort());
        const places = seen.map(({ logseq }) => Number(logseq));
        assert.deepEqual(places, [...places].sort((a, b) => a - b));
    });

    it(`waits beside ${WAITERS} others; all of them are answered by one event`, async () => {
        const cursor = await place();
        const wide = new http.Agent({ maxSockets: WAITERS, keepAlive: true });
        const headers = { authorization: `Bearer ${server.token}` };
        const one = () => request(`${server.url}/v1/events/next?after=${cursor}&waitMs=30000`,
            { headers, agent: wide });
        const answers = [];
        // Each round ends together, so one that ran out of time waits again.
        const waiting = Array.from({ length: WAITERS }, async () => {
            let answer;
            do answer = (await one()).json; while (answer.events.length === 0);
            answers.push(answer.events[0].id);
        });
        await untilWaiting(WAITERS);
        const sent = await appended();
        await Promise.all(waiting);
        assert.deepEqual([...new Set(answers)], [sent.id]);
        wide.destroy();
        await untilWaiting(0);
    });

    it('ends with its client, and with its token', async () => {
        const wide = new http.Agent({ keepAlive: false });
        const headers = { authorization: `Bearer ${server.token}` };
        const calls = Array.from({ length: 20 }, () => {
            const req = http.get(`${server.url}/v1/events/next?waitMs=30000`,
                { headers, agent: wide });
            req.on('error', () => {});
            return req;
        });
        await untilWaiting(20);
        for (const req of calls) req.destroy();
        await untilWaiting(0);
        const { id, token } = await server.post('/v1/tokens', { name: 'waits', role: 'viewer' });
        const wait = request(`${server.url}/v1/events/next?type=agent.run.*&waitMs=30000`,
            { headers: { authorization: `Bearer ${token}` }, agent: wide })
            .then(({ status }) => status, () => 'ended');
        await untilWaiting(1);
        await server.ok('DELETE', `/v1/tokens/${id}`);
        assert.equal(await wait, 'ended');
        await untilWaiting(0);
    });

    it('is refused what it may not see, and what it does not understand', async () => {
        const denied = { code: 'NOT_YOUR_RUN' };
        assertProblem(await next(`runId=${NOBODY}`, agent()), 403, denied);
        assertProblem(await next(`taskId=${ids.taskId}`, agent()), 403, denied);
        for (const query of ['after=-1', 'after=x', 'waitMs=30001', 'limit=0', 'limit=101', 'x=1',
            `runId=${ids.runId}&taskId=${ids.taskId}`])
            assertProblem(await next(query), 400);
    });

    it('is answered when the server stops', async () => {
        const other = await start({ config: 'workers: 0\n' });
        const wait = request(`${other.url}/v1/events/next?waitMs=30000`,
            { headers: { authorization: `Bearer ${other.token}` }, agent: false });
        await untilWaiting(1, other);
        const ended = other.stop();
        const { status, json } = await wait;
        assert.deepEqual([status, json.events], [200, []]);
        assert.deepEqual(await ended, { code: 0, signal: null });
    });

    on('postgres', it)('waits for events of another node', async () => {
        const node = await start({ config: 'workers: 0\n', db: server.db });
        let cursor = await place();
        const seen = [];
        for (let i = 0; i < 20; i++) {
            const [writer, reader] = i % 2 ? [node, server] : [server, node];
            const wait = reader.call('GET', `/v1/events/next?after=${cursor}&waitMs=30000`
                + '&type=com.example.nodes');
            const sent = event({ type: 'com.example.nodes' });
            assert.equal((await writer.call('POST', '/v1/events', { body: sent })).status, 202);
            const again = await reader.call('POST', '/v1/events', { body: sent });
            assert.deepEqual(again.json, { accepted: 0, duplicates: 1 });
            let { json } = await wait;
            while (json.events.length === 0)
                ({ json } = await reader.call('GET', `/v1/events/next?after=${json.cursor}`
                    + '&waitMs=30000&type=com.example.nodes'));
            assert.deepEqual(json.events.map(({ id }) => id), [sent.id]);
            cursor = json.cursor;
            seen.push(...json.events);
        }
        assert.equal(new Set(seen.map(({ id }) => id)).size, 20);
        await node.discard();
    });
});
