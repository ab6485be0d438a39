// Two clients with different tokens behind one real proxy, which sends their requests over shared
// connections to the server: every answer belongs to its request.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dice } from './lib/dice.mjs';
import { openProxy } from './lib/proxy.mjs';
import { start } from './lib/server.mjs';
import { RawClient } from './lib/raw_http.mjs';

const REQUESTS = 5000;
const CONNECTIONS = 2; // Of each client, at a time.
const SEED = Number(process.env.DROVER_SEED ?? Date.now() % 1_000_000_000);

let server;
const issued = new Set(); // Ids of requests, of all clients.

// One client: its token, its queue and its jobs, which the other never asks for.
class Client {
    constructor(name, token, seed) {
        this.name = name;
        this.token = token;
        this.roll = dice(seed);
        this.jobs = [];
        this.count = 0;
        this.kinds = {};
    }

    pick(list) {
        return list[Math.floor(this.roll() * list.length)];
    }

    // The bytes of a request, and what its answer must be.
    request({ method = 'GET', path = `/v1/queues/${this.name}`, body = '', chunked = false,
        token = this.token, more = '', status = 200, text, kind, last = false, raw }) {
        const id = `${this.name}-${++this.count}`;
        issued.add(id);
        this.kinds[kind] = (this.kinds[kind] ?? 0) + 1;
        const auth = token ? `Authorization: Bearer ${token}\r\n` : '';
        const type = body ? 'Content-Type: application/json\r\n' : '';
        const length = chunked ? 'Transfer-Encoding: chunked\r\n'
            : body ? `Content-Length: ${body.length}\r\n` : '';
        const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${auth}X-Request-Id: ${id}\r\n`;
        const bytes = raw ? head + raw
            : `${head}${type}${length}${more}\r\n${chunked ? this.chunks(body) : body}`;
        return { id, bytes, method, statuses: [status].flat(), text, kind, last, own: !raw };
    }

    // In pieces of any size, some with extensions, the last perhaps with trailers.
    chunks(body) {
        let out = '';
        for (let at = 0; at < body.length;) {
            const piece = body.slice(at, at + 1 + Math.floor(this.roll() * body.length));
            out += `${piece.length.toString(16)}${this.roll() < 0.2 ? ';a=b' : ''}\r\n${piece}\r\n`;
            at += piece.length;
        }
        return `${out}0\r\n${this.roll() < 0.2 ? 'X-Trailer: Host: y\r\n' : ''}\r\n`;
    }

    // A request in a body: a server that takes it for one answers it.
    smuggled() {
        const id = `smuggled-${this.name}`;
        return `GET /v1/tokens HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n\r\n`;
    }

    // last: refused before its body is there, which the server does to chunks without a token or a
    // route.  Then nginx drops what comes behind on the connection, without a "Connection: close".
    next() {
        const mine = (text) => assert.ok(text.includes(`"${this.name}"`), text);
        const jobs = [{ queue: this.name, type: 't', payload: { of: this.name } }];
        const chunked = this.roll() < 0.5;
        const roll = this.roll();
        if (roll < 0.15) return this.request({ kind: 'GET', text: mine });
        if (roll < 0.25) return this.request({ kind: 'HEAD', method: 'HEAD' });
        if (roll < 0.40)
            return this.request({ kind: 'HEAD with a body', method: 'HEAD', chunked,
                body: this.smuggled() });
        if (roll < 0.45)
            return this.request({ kind: 'GET with a body', chunked, body: this.smuggled(),
                text: mine });
        if (roll < 0.50)
            return this.request({ kind: 'TRACE with a body', method: 'TRACE', chunked,
                body: this.smuggled(), status: [405, 413], last: chunked });
        if (roll < 0.62)
            return this.request({ kind: 'POST', method: 'POST', path: '/v1/jobs', chunked,
                body: JSON.stringify({ jobs }),
                more: this.roll() < 0.1 ? 'Expect: 100-continue\r\n' : '',
                status: [200, 201], text: (text) => this.jobs.push(JSON.parse(text).jobs[0].id) });
        if (roll < 0.74 && this.jobs.length > 0) {
            const id = this.pick(this.jobs);
            return this.request({ kind: 'GET a job', path: `/v1/jobs/${id}`, text: (text) => {
                mine(text);
                assert.equal(JSON.parse(text).id, id);
            } });
        }
        if (roll < 0.80)
            return this.request({ kind: 'not found', path: `/v1/nothing/${this.name}`,
                status: 404 });
        if (roll < 0.86)
            return this.request({ kind: 'no token', token: null, chunked, status: 401,
                body: this.smuggled(), last: chunked });
        if (roll < 0.91)
            return this.request({ kind: 'malformed JSON', method: 'POST', path: '/v1/jobs', chunked,
                body: '{"queue":', status: 400 });
        if (roll < 0.96)
            return this.request({ kind: 'refused early', method: 'POST', path: '/v1/jobs',
                token: null, body: this.smuggled().repeat(400), status: 401, last: true });
        return this.request({ kind: 'bad framing', method: 'POST', path: '/v1/jobs', last: true,
            status: [400, 413, 422, 431, 501], raw: this.pick([
                'Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef',
                'Content-Length: +5\r\n\r\nabcde',
                'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
                'Transfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n',
                'Transfer-Encoding: chunked\r\n\r\nzz\r\nabcde\r\n0\r\n\r\n',
                'Transfer-Encoding: chunked\r\n\r\n1\r\nabcde\r\n0\r\n\r\n',
                'X : y\r\nContent-Length: 0\r\n\r\n',
                'X: y\0\r\nContent-Length: 0\r\n\r\n',
            ]) });
    }

    check(asked, answer, other) {
        const what = `${asked.id} (${asked.kind}) got ${answer.status} ` +
            `${JSON.stringify(answer.headers)} ${answer.text.slice(0, 300)}`;
        const id = answer.headers['x-request-id'];
        // What the proxy refuses itself, or the server before it knows the headers, has another id.
        const byProxy = asked.method === 'TRACE' && answer.headers.server !== undefined;
        if (asked.own && !byProxy) assert.equal(id, asked.id, what);
        else assert.ok(id === asked.id || !issued.has(id), what);
        assert.ok(asked.statuses.includes(answer.status), what);
        assert.ok(!answer.text.includes(`"${other.name}"`), what);
        if (asked.text && answer.status < 300) asked.text(answer.text);
    }
}

// A body that comes behind its head reaches the server behind it, too: one that does not wait for
// it takes it for a request.  The pauses only make that likely, nothing depends on their length.
async function sendInPieces(wire, bytes, roll) {
    for (let at = 0; at < bytes.length;) {
        const end = bytes.indexOf('\r\n\r\n', at);
        const to = roll() < 0.5 && end >= 0 ? end + 4 : bytes.length;
        wire.send(bytes.slice(at, to));
        at = to;
        if (at < bytes.length) await sleep(roll() * 4);
    }
}

// Sends all of them behind each other, and reads the answers.  True: the connection ends.
async function converse(wire, client, other, batch) {
    const bytes = batch.map((asked) => asked.bytes).join('');
    if (batch[0].whole) wire.send(bytes);
    else await sendInPieces(wire, bytes, client.roll);
    while (batch.length > 0) {
        const asked = batch.shift();
        const answer = await wire.answer({ headOnly: asked.method === 'HEAD' });
        // nginx closes behind its answer to TRACE.  Where this client still writes by then, the
        // write fails and the answer is lost.  In one write each must be answered.
        if (!answer && asked.own && wire.cut && !asked.whole) {
            batch.unshift({ ...asked, whole: true });
            return true;
        }
        // A proxy may close on bad framing without a word, and with bytes unread.
        assert.ok(answer || !asked.own, `no answer to ${asked.id} (${asked.kind})`);
        if (answer) client.check(asked, answer, other);
        if (asked.last || answer.headers.connection === 'close') return true;
    }
    return false;
}

// Asks for `count` things over one connection after the other, some behind each other at once.
// What ends a connection is sent alone: a proxy that closes with bytes unread resets it, and
// answers that the client has not read yet are lost.
async function talk(client, other, path, count) {
    let wire = new RawClient(path);
    let held = null;
    try {
        for (let done = 0; done < count;) {
            const batch = held ? [held] : [];
            held = null;
            const size = Math.min(count - done, 1 + Math.floor(client.roll() * 4));
            while (batch.length < size && !batch[0]?.last && !held) {
                const next = client.next();
                if (next.last && batch.length > 0) held = next;
                else batch.push(next);
            }
            done += batch.length;
            while (batch.length > 0) {
                if (!await converse(wire, client, other, batch)) continue;
                wire.close();
                wire = new RawClient(path);
            }
        }
    } finally {
        wire.close();
    }
}

before(async () => {
    server = await start();
});
after(() => server.discard());

describe('behind', { concurrency: 1 }, () => {
    for (const kind of ['haproxy', 'nginx']) {
        it(`${kind} each of ${REQUESTS} answers belongs to its request`, async (t) => {
            t.diagnostic(`DROVER_SEED=${SEED}`);
            const { token } = await server.post('/v1/tokens', { name: kind, role: 'operator' });
            const clients = [new Client(`${kind}-admin`, server.token, SEED),
                new Client(`${kind}-operator`, token, SEED + 1)];
            for (const { name } of clients) await server.ok('PUT', `/v1/queues/${name}`, {});
            const proxy = await openProxy(kind, server);
            try {
                const count = REQUESTS / clients.length / CONNECTIONS;
                await Promise.all(clients.flatMap((client, i) =>
                    Array.from({ length: CONNECTIONS }, () =>
                        talk(client, clients[1 - i], proxy.path, count))));
            } catch (err) {
                err.message += `\nDROVER_SEED=${SEED}\n${proxy.log()}`;
                throw err;
            } finally {
                await proxy.stop();
            }
            for (const { name, kinds } of clients) t.diagnostic(`${name} ${JSON.stringify(kinds)}`);
        });
    }
});
