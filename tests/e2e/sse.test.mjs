// sse.test.mjs - streams: complete, in order, resumable anywhere, ended by the server when done.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertCloudEvent, typesOf } from './lib/cloudevents.mjs';
import { fixes, says, stays, waits } from './lib/git.mjs';
import { assertProblem } from './lib/http.mjs';
import { newMark, untilGone } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { PATIENCE_MS, until, within } from './lib/wait.mjs';

let server;
const LINES = 30; // Enough events for positions to be interesting.
const chatter = Array.from({ length: LINES }, (_, i) =>
    says({ type: 'tool', name: 'edit', status: 'completed', summary: `line ${i}` })).join('');

const ids = (events) => events.map((event) => event.data.id);

function assertGrowing(events) {
    for (let i = 1; i < events.length; i++)
        assert.ok(Number(events[i].id) > Number(events[i - 1].id), 'ids grow');
}

describe('the stream of a run', { concurrency: 4 }, () => {
    let finished, whole;

    before(async () => {
        server = await start({ args: ['--workers', '6'] });
        const repo = await server.repository('acme/told', chatter + fixes);
        finished = await server.finish(repo.name, 'completed');
        whole = await (await server.stream(`/v1/runs/${finished.runId}/stream`)).all();
    });
    after(() => server.discard());

    it('is an event stream of CloudEvents, named by type and numbered in the log', async () => {
        const stream = await server.stream(`/v1/runs/${finished.runId}/stream`);
        assert.equal(stream.status, 200);
        assert.match(stream.headers['content-type'], /^text\/event-stream\b/);
        assert.match(stream.headers['cache-control'] ?? '', /no-(cache|store)/);
        const events = await stream.all();
        for (const event of events) {
            assertCloudEvent(event.data);
            assert.match(event.id, /^\d+$/);
            if (event.event !== undefined) assert.equal(event.event, event.data.type);
        }
        assertGrowing(events);
        assert.ok(events.length > LINES);
    });

    it('has the same events as the listing, and ends when the run has ended', async () => {
        const listed = await server.events(finished.runId);
        assert.deepEqual(ids(whole), listed.map((event) => event.id));
        assert.ok(typesOf(whole.map((event) => event.data)).includes('agent.run.completed'));
    });

    it('resumes after any event without loss or duplicate', async () => {
        for (let at = 0; at < whole.length - 1; at++) {
            const stream = await server.stream(`/v1/runs/${finished.runId}/stream`,
                { lastEventId: whole[at].id });
            assert.deepEqual(ids(await stream.all()), ids(whole.slice(at + 1)), `after ${at}`);
        }
    });

    it('resumes after the last event with nothing, and ends', async () => {
        const stream = await server.stream(`/v1/runs/${finished.runId}/stream`,
            { lastEventId: whole.at(-1).id });
        if (stream.status === 200) assert.deepEqual(await stream.all(), []);
        else assert.equal(stream.status, 204);
    });

    it('shows a run live, from before its start to its end', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/live', `${waits(mark)}${chatter}${fixes}`);
        const { runId } = await server.submit(repo.name);
        const stream = await server.stream(`/v1/runs/${runId}/stream`);
        const first = await stream.next();
        assert.equal(first.data.type, 'agent.task.submitted');
        await server.openGate(mark);
        const events = [first, ...(await stream.all())];
        await server.untilRun(runId, 'completed');
        const listed = (await server.events(runId)).map((event) => event.id);
        assert.deepEqual(ids(events), listed);
    });

    it('broken again and again while the run goes on misses nothing', async () => {
        const mark = newMark();
        const repo = await server.repository('acme/broken', `${waits(mark)}${chatter}${fixes}`);
        const { runId } = await server.submit(repo.name);
        const seen = [];
        await server.openGate(mark);
        for (let last; ; ) {
            const stream = await server.stream(`/v1/runs/${runId}/stream`, { lastEventId: last });
            const some = await stream.upTo(3);
            stream.close();
            if (some.length === 0) break;
            seen.push(...some);
            last = some.at(-1).id;
        }
        const listed = (await server.events(runId)).map((event) => event.id);
        assert.deepEqual(ids(seen), listed);
    });

    it('gives many readers of one run the same', async () => {
        const repo = await server.repository('acme/many', chatter + fixes);
        const { runId } = await server.submit(repo.name);
        const streams = await Promise.all(Array.from({ length: 8 }, () =>
            server.stream(`/v1/runs/${runId}/stream`)));
        const all = await Promise.all(streams.map((stream) => stream.all()));
        const listed = (await server.events(runId)).map((event) => event.id);
        for (const events of all) assert.deepEqual(ids(events), listed);
    });

    const refused = [
        { what: 'of an unknown run', path: '/v1/runs/0190b6a0-0000-7000-8000-000000000000/stream',
          status: 404 },
        { what: 'of a bad id', path: '/v1/runs/nonsense/stream', status: 400 },
        { what: 'with a Last-Event-ID that is no number', path: '/v1/events/stream', status: 400,
          lastEventId: 'abc' },
        { what: 'with a negative Last-Event-ID', path: '/v1/events/stream', status: 400,
          lastEventId: '-5' },
        { what: 'without a token', path: '/v1/events/stream', status: 401, token: 'nobody' },
    ];
    for (const { what, path, status, lastEventId, token = undefined } of refused) {
        it(`${what} is refused with ${status}`, async () => {
            const headers = lastEventId ? { 'last-event-id': lastEventId } : {};
            const res = await server.call('GET', path, token ? { headers, token } : { headers });
            assertProblem(res, status);
        });
    }
});

describe('the stream of all events', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '6'] });
    });
    after(() => server.discard());

    it('shows what happens from now on, of every run', async () => {
        const stream = await server.stream('/v1/events/stream');
        const one = await server.repository('acme/all-1', fixes);
        const two = await server.repository('acme/all-2', fixes);
        const { runId: a } = await server.submit(one.name);
        const { runId: b } = await server.submit(two.name);
        const waiting = new Set([a, b]);
        const events = await stream.through((event) => {
            if (event.data.type === 'agent.run.completed') waiting.delete(event.data.runid);
            return waiting.size === 0;
        });
        stream.close();
        assertGrowing(events);
        for (const runId of [a, b]) {
            const listed = (await server.events(runId)).filter((event) => event.runid === runId);
            const got = events.filter((event) => event.data.runid === runId);
            assert.deepEqual(ids(got), listed.map((event) => event.id).slice(0, got.length));
        }
    });

    it('resumes from any position of the whole log', async () => {
        const repo = await server.repository('acme/from', fixes);
        await server.finish(repo.name, 'completed');
        const first = await server.stream('/v1/events/stream', { lastEventId: 0 });
        const some = await first.upTo(12);
        first.close();
        for (const at of [0, 3, 7]) {
            const stream = await server.stream('/v1/events/stream', { lastEventId: some[at].id });
            const rest = await stream.upTo(some.length - at - 1);
            stream.close();
            assert.deepEqual(ids(rest), ids(some.slice(at + 1)));
        }
    });

    it('keeps to its filters of type, run and task', async () => {
        const repo = await server.repository('acme/filters', chatter + fixes);
        const other = await server.repository('acme/filters-other', chatter + fixes);
        const { taskId, runId } = await server.finish(repo.name, 'completed');
        await server.finish(other.name, 'completed');
        const listed = (await server.events(runId)).filter((event) => event.runid === runId);
        const table = [
            { query: `runId=${runId}`, want: listed },
            { query: `runId=${runId}&type=agent.tool.call.*`,
              want: listed.filter((event) => event.type.startsWith('agent.tool.call.')) },
            { query: `runId=${runId}&type=agent.run.completed`,
              want: listed.filter((event) => event.type === 'agent.run.completed') },
            { query: `taskId=${taskId}&type=agent.task.%3E`,
              want: (await server.events(runId)).filter((e) => e.type.startsWith('agent.task.')) },
        ];
        for (const { query, want } of table) {
            const stream = await server.stream(`/v1/events/stream?${query}`, { lastEventId: 0 });
            const got = await stream.upTo(want.length);
            stream.close();
            assert.deepEqual(ids(got), want.map((event) => event.id), query);
        }
    });

    it('loses nothing for a reader that was slow', async () => {
        const stream = await server.stream('/v1/events/stream?type=agent.job.dead_lettered');
        stream.pause();
        const jobs = [];
        for (let i = 0; i < 4; i++) jobs.push(...await makeDeadLetters(server, 'slow', 1000));
        stream.resume();
        const got = await stream.upTo(jobs.length);
        stream.close();
        assert.deepEqual(got.map((event) => event.data.subject), jobs.map((id) => `job/${id}`));
        assertGrowing(got);
    });

    it('is closed, not answered with an error, when the server ends', async () => {
        const own = await start();
        try {
            const mark = newMark();
            const repo = await own.repository('acme/closing', stays(mark));
            const { runId } = await own.submit(repo.name);
            await own.untilRun(runId, 'running');
            const streams = [await own.stream('/v1/events/stream'),
                await own.stream(`/v1/runs/${runId}/stream`)];
            await streams[1].next();
            const stuck = await own.stream('/v1/events/stream');
            stuck.pause();
            for (let i = 0; i < 4; i++) await makeDeadLetters(own, 'stuck', 1000);
            const ended = Promise.all(streams.map((stream) => stream.all()));
            await within(PATIENCE_MS, 'the end', own.stop());
            await ended;
            stuck.close();
            await untilGone(mark);
        } finally {
            await own.discard();
        }
    });
});

// The log is looked at in pieces of 10,000 events (SCAN_ROWS_MAX), and a window of 4 KiB has room
// for a few: here it is full in the middle of a piece, whose other events are not wanted.
describe('a stream with a small window and a filter', () => {
    const WANTED = 40;

    before(async () => {
        server = await start({ config: 'workers: 0\nlimits: {streamBytes: 1048576}\n' });
    });
    after(() => server.discard());

    it('has every event that it wants, however many it passes over', async () => {
        const document = { url: '/nowhere', agent: { command: ['true'], adapter: 'ndjson' } };
        const configure = (i) => server.configure(`acme/wanted-${i}`, document);
        for (let i = 0; i < WANTED; i++) await configure(i);
        for (let i = 0; i < 11; i++) await makeDeadLetters(server, 'other', 1000);
        await configure(WANTED);
        const path = '/v1/events/stream?type=agent.repository.configured';
        const stream = await server.stream(path, { lastEventId: 0 });
        const got = await stream.upTo(WANTED + 1);
        stream.close();
        const listed = await server.list('/v1/events?type=agent.repository.configured');
        assert.deepEqual(ids(got), listed.map((event) => event.id));
    });
});

describe('readers that go away', () => {
    before(async () => {
        server = await start();
    });
    after(() => server.discard());

    it('cost nothing', async () => {
        const streams = await Promise.all(Array.from({ length: 20 }, () =>
            server.stream('/v1/events/stream')));
        assert.equal(await openStreams(), 20);
        for (const stream of streams) stream.close();
        await until('the streams to be forgotten', async (note) => note(await openStreams()) === 0);
        const repo = await server.repository('acme/gone', fixes);
        await server.finish(repo.name, 'completed');
    });
});

// Jobs that failed for good: each is an event.  Their ids, in order.
async function makeDeadLetters(at, queue, count) {
    const jobs = Array.from({ length: count }, () => ({ queue, type: 'x', payload: {} }));
    await at.post('/v1/jobs', { jobs });
    const request = { queues: [queue], worker: 'w', max: count, waitMs: 0, leaseMs: 60_000 };
    const leased = (await at.post('/v1/jobs/lease', request)).jobs;
    const error = { code: 'E_TEST', message: 'x'.repeat(400), retryable: false };
    const failed = leased.map(({ id, epoch }) => ({ id, epoch, error }));
    await at.post('/v1/jobs/fail', { jobs: failed });
    return failed.map(({ id }) => id);
}

async function openStreams() {
    const { text } = await server.call('GET', '/metrics');
    return Number(/^drover_http_streams (\d+)$/m.exec(text)[1]);
}
