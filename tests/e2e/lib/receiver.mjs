// receiver.mjs - a receiver of webhooks: keeps what it accepts, checks signatures, does as told.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { PATIENCE_MS } from './wait.mjs';

// Does one of the signatures fit the key?
export function isSigned(headers, text, key) {
    const id = headers['webhook-id'], time = headers['webhook-timestamp'];
    const mac = createHmac('sha256', key).update(`${id}.${time}.${text}`).digest('base64');
    return (headers['webhook-signature'] ?? '').split(' ').includes(`v1,${mac}`);
}

function eventsOf(headers, text) {
    const type = headers['content-type'] ?? '';
    if (type.startsWith('application/cloudevents-batch+json')) return JSON.parse(text);
    if (type.startsWith('application/cloudevents+json')) return [JSON.parse(text)];
    const event = { data: text === '' ? undefined : JSON.parse(text), datacontenttype: type };
    for (const [name, value] of Object.entries(headers))
        if (name.startsWith('ce-')) event[name.slice(3)] = decodeURIComponent(value);
    return [event];
}

export class Receiver {
    // judge(event, request): the status of the answer, or a function that gets the response.
    constructor(judge = () => 204) {
        this.judge = judge;
        this.events = []; // Accepted, in order.
        this.requests = []; // {headers, text}, all of them.
    }

    async open(port = 0) {
        // A request that a killed server did not finish is none.
        this.server = http.createServer((req, res) => this.#answer(req, res).catch((error) => {
            if (!req.errored) throw error;
        }));
        this.server.keepAliveTimeout = PATIENCE_MS; // No delivery meets the closing of its line.
        this.server.listen(port, '127.0.0.1');
        await once(this.server, 'listening');
        this.port = this.server.address().port;
        this.url = `http://127.0.0.1:${this.port}/events`;
        return this;
    }

    async #answer(req, res) {
        const parts = [];
        for await (const part of req) parts.push(part);
        const request = { headers: req.headers, text: Buffer.concat(parts).toString('utf8') };
        this.requests.push(request);
        const events = eventsOf(request.headers, request.text);
        const verdicts = events.map((event) => this.judge(event, request));
        const verdict = verdicts.find((each) => each !== 204) ?? 204;
        if (typeof verdict === 'function') return verdict(res);
        if (verdict === 204) this.events.push(...events);
        res.writeHead(verdict).end();
    }

    // As if its machine was gone; open(port) brings it back.
    close() {
        this.server.closeAllConnections();
        this.server.close();
    }
}

// Repeated ones left out: by source and id, as the standard says.
export const distinct = (events) =>
    [...new Map(events.map((event) => [`${event.source} ${event.id}`, event])).values()];

const keyOf = (event) => event.runid ?? event.taskid ?? event.data?.repositoryId ?? event.subject ??
    event.source;

// All of the log, and of one key in the order of the log: as they first came.
export function assertComplete(events, log) {
    const got = distinct(events), last = new Map();
    assert.deepEqual(got.map(({ logseq }) => Number(logseq)).sort((a, b) => a - b),
        log.map(({ logseq }) => Number(logseq)));
    for (const event of got) {
        const seq = Number(event.logseq), key = keyOf(event);
        assert.ok(seq > (last.get(key) ?? 0), `${seq} of ${key} came after ${last.get(key)}`);
        last.set(key, seq);
    }
}
