// Where a request ends (RFC 9112): bodies of every method, pipelining, chunks, and what can be read
// in two ways.  Raw bytes against the real server.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { start } from './lib/server.mjs';
import { RawClient } from './lib/raw_http.mjs';

let server;
const END = 'Host: x\r\n\r\n';
const HEALTH = `GET /healthz HTTP/1.1\r\n${END}`;
// Answered with an error that shows that it was taken for a request.
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${END}`;
const queue = (name) => `/v1/queues/${name}`;
const auth = () => `Host: x\r\nAuthorization: Bearer ${server.token}\r\n`;
const ask = (path, id) => `GET ${path} HTTP/1.1\r\n${auth()}X-Request-Id: ${id}\r\n\r\n`;

before(async () => {
    server = await start();
    for (const name of ['one', 'two', 'three']) await server.ok('PUT', queue(name), {});
});
after(() => server.discard());

async function withWire(body) {
    const wire = new RawClient(server.url);
    try {
        return await body(wire);
    } finally {
        wire.close();
    }
}

async function assertClosed(wire) {
    assert.equal(await wire.rest(), '', 'nothing follows');
    assert.ok(wire.ended);
}

describe('a body', { concurrency: 4 }, () => {
    for (const method of ['HEAD', 'TRACE', 'OPTIONS', 'GET', 'DELETE']) {
        for (const chunked of [false, true]) {
            it(`of ${method}${chunked ? ' in chunks' : ''} is not the next request`, () =>
                withWire(async (wire) => {
                    const body = chunked
                        ? `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n` : SMUGGLED;
                    const length = chunked ? 'Transfer-Encoding: chunked'
                        : `Content-Length: ${SMUGGLED.length}`;
                    wire.send(`${method} ${queue('one')} HTTP/1.1\r\n${auth()}` +
                        `X-Request-Id: first\r\n${length}\r\n\r\n${body}${ask(queue('two'), 'b')}`);
                    const first = await wire.answer({ headOnly: method === 'HEAD' });
                    assert.equal(first.headers['x-request-id'], 'first');
                    const second = await wire.answer();
                    assert.equal(second.headers['x-request-id'], 'b', second.text);
                    assert.equal(JSON.parse(second.text).name, 'two');
                }));
        }
    }

    it('of a HEAD answer is not sent, and its length is', () => withWire(async (wire) => {
        for (const path of [queue('one'), '/v1/nothing', queue('none')]) {
            wire.send(`HEAD ${path} HTTP/1.1\r\n${auth()}\r\n`);
            wire.send(`GET ${path} HTTP/1.1\r\n${auth()}\r\n`);
            const head = await wire.answer({ headOnly: true });
            const whole = await wire.answer();
            assert.equal(head.status, whole.status);
            assert.equal(Number(head.headers['content-length']), Buffer.byteLength(whole.text));
        }
    }));

    it('that nobody reads closes the connection behind the answer', () =>
        withWire(async (wire) => {
            wire.send('POST /v1/nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n');
            const answer = await wire.answer();
            assert.ok([401, 404, 413].includes(answer.status), answer.text);
            assert.equal(answer.headers.connection, 'close');
            wire.send(SMUGGLED.repeat(1000));
            await assertClosed(wire);
        }));

    it('that the server is asked for first is sent for', () => withWire(async (wire) => {
        const body = JSON.stringify({ queues: ['one'], worker: 'w', max: 1, waitMs: 0 });
        wire.send(`POST /v1/jobs/lease HTTP/1.1\r\n${auth()}Content-Type: application/json\r\n` +
            `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
        const answered = wire.answer();
        await new Promise((resolve) => { wire.socket.once('data', resolve); });
        wire.send(body);
        assert.equal((await answered).status, 200);
        assert.ok(wire.continued);
    }));
});

describe('pipelined requests', { concurrency: 4 }, () => {
    it('are answered in their order', () => withWire(async (wire) => {
        const names = ['one', 'two', 'three'];
        const wanted = Array.from({ length: 60 }, (_, i) => names[i % 3]);
        wire.send(wanted.map((name, i) => ask(queue(name), `p${i}`)).join(''));
        for (const [i, name] of wanted.entries()) {
            const answer = await wire.answer();
            assert.equal(answer.headers['x-request-id'], `p${i}`);
            assert.equal(JSON.parse(answer.text).name, name);
        }
    }));

    it('wait for one that takes its time', () => withWire(async (wire) => {
        const body = JSON.stringify({ queues: ['two'], worker: 'w', max: 1, waitMs: 300 });
        wire.send(`POST /v1/jobs/lease HTTP/1.1\r\n${auth()}X-Request-Id: slow\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}` +
            HEALTH + ask(queue('one'), 'last'));
        assert.equal((await wire.answer()).headers['x-request-id'], 'slow');
        assert.equal((await wire.answer()).status, 200);
        assert.equal((await wire.answer()).headers['x-request-id'], 'last');
    }));

    it('are answered in any number, and bytes of many are not held', () =>
        withWire(async (wire) => {
            const count = 5000; // Far more bytes than the server keeps.
            wire.send(HEALTH.repeat(count));
            for (let i = 0; i < count; i++) assert.equal((await wire.answer()).status, 200);
        }));

    it('end at one that closes', () => withWire(async (wire) => {
        wire.send(`${HEALTH}GET /healthz HTTP/1.1\r\nConnection: close\r\n${END}${SMUGGLED}`);
        assert.equal((await wire.answer()).headers.connection, undefined);
        assert.equal((await wire.answer()).headers.connection, 'close');
        await assertClosed(wire);
    }));

    it('end at one that is refused', () => withWire(async (wire) => {
        wire.send(`${HEALTH}GET /healthz HTTP/1.1\r\nX : y\r\n${END}${SMUGGLED}`);
        assert.equal((await wire.answer()).status, 200);
        assert.equal((await wire.answer()).status, 400);
        await assertClosed(wire);
    }));

    it('of a client that has closed its half are answered', () => withWire(async (wire) => {
        wire.send(HEALTH.repeat(3));
        wire.finish();
        for (let i = 0; i < 3; i++) assert.equal((await wire.answer()).status, 200);
        await assertClosed(wire);
    }));
});

describe('a connection', { concurrency: 4 }, () => {
    const kept = [
        ['HTTP/1.1', '', undefined],
        ['HTTP/1.1', 'Connection: keep-alive\r\n', undefined],
        ['HTTP/1.0', 'Connection: keep-alive\r\n', 'keep-alive'],
    ];
    for (const [version, header, said] of kept) {
        it(`of ${version} ${header.trim()} is kept`, () => withWire(async (wire) => {
            for (let i = 0; i < 2; i++) {
                wire.send(`GET /healthz ${version}\r\n${header}${END}`);
                const answer = await wire.answer();
                assert.equal(answer.status, 200);
                assert.equal(answer.headers.connection, said);
            }
        }));
    }
    for (const [version, header] of [['HTTP/1.0', ''], ['HTTP/1.1', 'Connection: x, Close\r\n']]) {
        it(`of ${version} ${header.trim()} is closed`, () => withWire(async (wire) => {
            wire.send(`GET /healthz ${version}\r\n${header}${END}`);
            const answer = await wire.answer();
            assert.equal(answer.status, 200);
            assert.equal(answer.headers.connection, 'close');
            await assertClosed(wire);
        }));
    }
});

// Every line that a proxy may read in another way than the server does.
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const LINE = 'POST /v1/jobs/lease HTTP/1.1\r\n';
const refused = [
    ['Content-Length and Transfer-Encoding',
        `${LINE}Host: x\r\nContent-Length: 5\r\n${CHUNKED}0\r\n\r\n`],
    ['Content-Length twice', `${LINE}Host: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n`],
    ['a list as Content-Length', `${LINE}Host: x\r\nContent-Length: 0, 0\r\n\r\n`],
    ['a coding that is not chunked', `${LINE}Host: x\r\nTransfer-Encoding: identity\r\n\r\n`],
    ['chunked not as the last coding',
        `${LINE}Host: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n`],
    ['HTTP/1.0 with Transfer-Encoding', `POST / HTTP/1.0\r\nHost: x\r\n${CHUNKED}0\r\n\r\n`],
    ['a folded header', `GET /healthz HTTP/1.1\r\nX: a\r\n b\r\n${END}`],
    ['a bare CR in a header', `GET /healthz HTTP/1.1\r\nX: a\rY: b\r\n${END}`],
    ['a bare LF in a header', `GET /healthz HTTP/1.1\r\nX: a\nY: b\r\n${END}`],
    ['bare LFs alone', 'GET /healthz HTTP/1.1\nHost: x\n\n'],
    ['a bare LF at the end', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\n'],
    ['a space before the colon', `GET /healthz HTTP/1.1\r\nX : a\r\n${END}`],
    ['a NUL', `GET /healthz HTTP/1.1\r\nX: a\0b\r\n${END}`],
    ['two hosts', `GET /healthz HTTP/1.1\r\nHost: y\r\n${END}`],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['another host in the target', `GET http://y/healthz HTTP/1.1\r\n${END}`],
    ['a fragment in the target', `GET /healthz#a HTTP/1.1\r\n${END}`],
    ['two empty lines before it', `\r\n\r\n${HEALTH}`],
    ['a chunk size of 0x1d', `${LINE}Host: x\r\n${CHUNKED}0x1d\r\n`],
    ['a chunk size of +1d', `${LINE}Host: x\r\n${CHUNKED}+1d\r\n`],
    ['a chunk size after a space', `${LINE}Host: x\r\n${CHUNKED} 1d\r\n`],
    ['a chunk size before a space', `${LINE}Host: x\r\n${CHUNKED}1d \r\n`],
    ['a negative chunk size', `${LINE}Host: x\r\n${CHUNKED}-1\r\n`],
    ['a huge chunk size', `${LINE}Host: x\r\n${CHUNKED}fffffffffffffffff\r\n`],
    ['no chunk size', `${LINE}Host: x\r\n${CHUNKED}\r\n`],
    ['a bare LF behind a chunk size', `${LINE}Host: x\r\n${CHUNKED}1\nx\r\n0\r\n\r\n`],
    ['a bare LF behind a chunk', `${LINE}Host: x\r\n${CHUNKED}1\r\nx\n0\r\n\r\n`],
    ['a chunk that is too long', `${LINE}Host: x\r\n${CHUNKED}1\r\nxy\r\n0\r\n\r\n`],
    ['no empty line behind the chunks', `${LINE}Host: x\r\n${CHUNKED}0\r\n${HEALTH}`],
    ['a bare LF behind the chunks', `${LINE}Host: x\r\n${CHUNKED}0\r\n\n`],
    ['a folded trailer', `${LINE}Host: x\r\n${CHUNKED}0\r\n a: b\r\n\r\n`],
    ['an unknown method', `FROB /healthz HTTP/1.1\r\n${END}`, 501],
    ['CONNECT', `CONNECT x:80 HTTP/1.1\r\n${END}`, 501],
    ['a coding nobody knows', `${LINE}Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`, 501],
    ['another version', `GET /healthz HTTP/2.0\r\n${END}`, 505],
    ['another expectation', `GET /healthz HTTP/1.1\r\nExpect: magic\r\n${END}`, 417],
    ['a long target', `GET /${'a'.repeat(9000)} HTTP/1.1\r\n${END}`, 414],
    ['long headers', `GET /healthz HTTP/1.1\r\nX: ${'a'.repeat(90_000)}\r\n${END}`, 431],
    ['long trailers', `${LINE}Host: x\r\n${CHUNKED}0\r\nX: ${'a'.repeat(9000)}\r\n\r\n`, 431],
    ['long extensions', `${LINE}Host: x\r\n${CHUNKED}1;${'a'.repeat(9000)}\r\nx`, 413],
];

describe('a request with', { concurrency: 4 }, () => {
    for (const [what, bytes, status = 400] of refused) {
        it(`${what} gets ${status}, and nothing behind it is read`, () =>
            withWire(async (wire) => {
                wire.send(bytes + SMUGGLED);
                const answer = await wire.answer();
                assert.equal(answer?.status, status, answer?.text);
                assert.equal(answer.headers['content-type'], 'application/problem+json');
                assert.equal(answer.headers.connection, 'close');
                await assertClosed(wire);
            }));
    }

    for (const end of ['GET /healthz HTTP/1.1\r\nHost: x\r\n',
        `${LINE}Host: x\r\nContent-Length: 10\r\n\r\nabc`, `${LINE}Host: x\r\n${CHUNKED}0\r\n`]) {
        it(`no end gets 400 when its client sends no more (${end.length} bytes)`, () =>
            withWire(async (wire) => {
                wire.send(end);
                wire.finish();
                assert.equal((await wire.answer()).status, 400);
                await assertClosed(wire);
            }));
    }

    it('TRACE is refused', () => withWire(async (wire) => {
        wire.send(`TRACE /healthz HTTP/1.1\r\nX-Secret: s3cret\r\n${END}${HEALTH}`);
        const answer = await wire.answer();
        assert.equal(answer.status, 405);
        assert.ok(!answer.text.includes('s3cret'));
        assert.equal((await wire.answer()).status, 200);
    }));

    const lease = JSON.stringify({ queues: ['one'], worker: 'w', max: 1, waitMs: 0 });
    const size = lease.length.toString(16);
    const taken = [
        ['extensions of chunks', `${size};a=b;c="d"\r\n${lease}\r\n0;e\r\n\r\n`],
        ['an empty line behind it', `${size}\r\n${lease}\r\n0\r\n\r\n\r\n`],
        // As headers they would change who asks, and be refused or obeyed.
        ['trailers', `${size}\r\n${lease}\r\n0\r\nAuthorization: Bearer x\r\nHost: y\r\n` +
            'Content-Length: 5\r\nContent-Type: text/plain\r\nX-Request-Id: other\r\n\r\n'],
    ];
    for (const [what, body] of taken) {
        it(`${what} is taken, and the next one too`, () => withWire(async (wire) => {
            wire.send(`${LINE}${auth()}Content-Type: application/json\r\nX-Request-Id: mine\r\n` +
                `${CHUNKED}${body}${HEALTH}`);
            const answer = await wire.answer();
            assert.equal(answer.status, 200, answer.text);
            assert.equal(answer.headers['x-request-id'], 'mine');
            assert.equal((await wire.answer()).status, 200);
        }));
    }
});
