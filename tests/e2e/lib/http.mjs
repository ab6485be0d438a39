// http.mjs - plain requests over node:http, and raw bytes over a socket.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { PATIENCE_MS } from './wait.mjs';

// body: undefined, bytes or text as they are, or anything else as JSON.
export function request(url, { method = 'GET', headers = {}, body, agent } = {}) {
    const asIs = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = asIs ? body : JSON.stringify(body);
    const all = { ...headers };
    if (body !== undefined) {
        all['content-type'] ??= 'application/json';
        all['content-length'] ??= Buffer.byteLength(bytes);
    }
    for (const name of Object.keys(all)) if (all[name] === null) delete all[name];
    return new Promise((resolve, reject) => {
        const req = http.request(url, { method, headers: all, agent });
        req.setTimeout(PATIENCE_MS, () => req.destroy(new Error(`no answer: ${method} ${url}`)));
        req.on('error', reject);
        req.on('response', (res) => {
            const parts = [];
            res.on('data', (part) => parts.push(part));
            res.on('error', reject);
            res.on('end', () => resolve(answer(res, Buffer.concat(parts))));
        });
        req.end(bytes);
    });
}

function answer(res, bytes) {
    const text = bytes.toString('utf8');
    const type = res.headers['content-type'] ?? '';
    const json = /\bjson\b/.test(type) && text !== '' ? JSON.parse(text) : undefined;
    return { status: res.statusCode, headers: res.headers, bytes, text, json };
}

// Sends bytes, gives back all that came until the server closed or the answer was whole.
export function rawExchange(url, bytes, { closeAfterMs = 30_000 } = {}) {
    const { hostname, port } = new URL(url);
    return new Promise((resolve) => {
        const socket = net.connect(Number(port), hostname, () => socket.write(bytes));
        let text = '';
        const done = () => {
            socket.destroy();
            resolve(text);
        };
        socket.setTimeout(closeAfterMs, done);
        socket.on('error', done);
        socket.on('close', done);
        socket.on('data', (part) => {
            text += part.toString('latin1');
            if (isWhole(text)) done();
        });
    });
}

function isWhole(all) {
    const text = all.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
    const end = text.indexOf('\r\n\r\n');
    const length = /^content-length: *(\d+)/im.exec(text);
    return end >= 0 && length !== null && text.length >= end + 4 + Number(length[1]);
}

export function rawStatus(text) {
    return Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
}

// Every refusal has the same form; `code` and `field` are checked when given.
export function assertProblem(res, status, wanted = {}) {
    assert.equal(typeof wanted, 'object', 'give {code, field}');
    const { code, field } = wanted;
    assert.equal(res.status, status, `status ${res.status}: ${res.text}`);
    assert.match(res.headers['content-type'] ?? '', /^application\/problem\+json\b/);
    const problem = res.json;
    assert.equal(problem.status, status);
    for (const name of ['code', 'title', 'detail']) {
        assert.equal(typeof problem[name], 'string', `${name} in ${res.text}`);
        assert.notEqual(problem[name], '', `${name} in ${res.text}`);
    }
    if (code !== undefined) assert.equal(problem.code, code, res.text);
    if (field !== undefined)
        assert.ok(res.text.includes(field), `the answer does not name ${field}: ${res.text}`);
    assert.ok(res.headers['x-request-id'], 'X-Request-Id is missing');
    return problem;
}
