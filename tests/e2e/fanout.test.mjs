// fanout.test.mjs - many streams on one busy run: every event once and in order on each; a stream
// whose client reads nothing is disconnected, and the others do not notice.  DROVER_LONG: 1,000.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { fixes, waits } from './lib/git.mjs';
import { newMark } from './lib/procs.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const STREAMS = process.env.DROVER_LONG ? 1000 : 60;
const EVENTS = 200; // With 4 KiB each more than the buffers of a connection hold.
// A reader that this process has no time for must not look like one that stalls.
const UNREAD_S = process.env.DROVER_LONG ? 30 : 5;
const BATCH = 50;
const FILLER = 'x'.repeat(4096);
const CONFIG = `limits: {streams: ${2 * STREAMS}, connections: ${2 * STREAMS + 100},
         unreadSeconds: ${UNREAD_S}}\n`;

// Only the ids of events, as the bytes arrive: a thousand parsers of JSON would be what is slow.
class Reader {
    ids = [];
    ended = false; // As the protocol has it, not cut off.
    closed = false;
    #rest = '';

    static open(server, path) {
        const reader = new Reader();
        const headers = { authorization: `Bearer ${server.token}` };
        return new Promise((resolve, reject) => {
            const req = http.get(server.url + path, { agent: false, headers }, (res) => {
                reader.res = res;
                res.setEncoding('latin1');
                res.on('data', (part) => reader.#take(part));
                res.on('end', () => (reader.ended = true));
                res.on('close', () => (reader.closed = true));
                res.on('error', () => {});
                assert.equal(res.statusCode, 200);
                resolve(reader);
            });
            req.on('error', (error) => (reader.res ? undefined : reject(error)));
        });
    }

    #take(part) {
        const text = this.#rest + part;
        const end = text.lastIndexOf('\n\n');
        if (end < 0) {
            this.#rest = text;
            return;
        }
        for (let at = 0; (at = text.indexOf('id: ', at)) >= 0 && at < end;) {
            if (at === 0 || text[at - 1] === '\n')
                this.ids.push(Number(text.slice(at + 4, text.indexOf('\n', at))));
            at = text.indexOf('\n\n', at);
        }
        this.#rest = text.slice(end + 2);
    }
}

describe(`${STREAMS} streams of one busy run`, () => {
    let server, run, mark;
    before(async () => {
        server = await start({ config: CONFIG, args: ['--workers', '2'] });
        mark = newMark();
        const repo = await server.repository('acme/busy', `${waits(mark)}${fixes}`);
        run = await server.submit(repo.name);
        await server.untilRun(run.runId, 'running');
    });
    after(() => server.discard());

    const gauge = async (name) => Number((await server.call('GET', '/metrics')).text
        .split('\n').find((line) => line.startsWith(`${name} `)).split(' ')[1]);

    async function append(from) {
        await server.post('/v1/events', Array.from({ length: BATCH }, (_, i) => ({
            specversion: '1.0', id: `${from + i}`, source: 'https://fan.example.com',
            type: 'com.fan.out', runid: run.runId, data: { n: from + i, filler: FILLER },
        })), { 'content-type': 'application/cloudevents-batch+json' });
    }

    it('have every event once, in order; one that stalls is disconnected', async () => {
        const path = `/v1/runs/${run.runId}/stream`;
        const readers = [];
        for (let i = 0; i < STREAMS; i += 50)
            readers.push(...await Promise.all(Array.from({ length: Math.min(50, STREAMS - i) },
                () => Reader.open(server, path))));
        const stalled = await Reader.open(server, path);
        stalled.res.pause();
        assert.equal(await gauge('drover_http_streams'), STREAMS + 1);
        for (let i = 0; i < EVENTS; i += BATCH) await append(i);
        await until('the stalled one to be disconnected', async (note) =>
            note(await gauge('drover_http_streams')) === STREAMS);
        assert.ok(readers.every(({ closed }) => !closed));

        await append(EVENTS);
        await server.openGate(mark);
        await server.untilRun(run.runId, 'completed');
        await until('all streams to end', (note) =>
            note(readers.filter(({ closed }) => !closed).length) === 0);
        const want = (await server.events(run.runId)).map(({ logseq }) => Number(logseq));
        assert.ok(want.length > EVENTS + BATCH);
        for (const reader of readers) {
            assert.ok(reader.ended);
            assert.deepEqual(reader.ids, want);
        }
        stalled.res.resume();
        await until('the stalled one to see it', () => stalled.closed);
        assert.ok(!stalled.ended, 'it was cut off');
        assert.deepEqual(stalled.ids, want.slice(0, stalled.ids.length));
        assert.ok(stalled.ids.length < want.length);
    });

    it('that are disconnected continue where they were', async () => {
        const all = await Reader.open(server, `/v1/runs/${run.runId}/stream`);
        await until('it to end', () => all.closed);
        const middle = all.ids[Math.floor(all.ids.length / 2)];
        const rest = await Reader.open(server,
            `/v1/runs/${run.runId}/stream?lastEventId=${middle}`);
        await until('it to end', () => rest.closed);
        assert.deepEqual(rest.ids, all.ids.filter((id) => id > middle));
    });
});
