// sse.mjs - reads a server-sent event stream, one event at a time.
import http from 'node:http';
import { PATIENCE_MS, within } from './wait.mjs';

// Resolves when the answer's head is there: {status, headers, next(), all(), upTo(n), close()}.
// next() gives {id, event, data} with data parsed, or null at the end of the stream.
export function openStream(url, { token, lastEventId, headers = {} } = {}) {
    const all = { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...headers };
    if (lastEventId !== undefined) all['last-event-id'] = String(lastEventId);
    return new Promise((resolve, reject) => {
        const req = http.request(url, { headers: all, agent: false });
        req.on('error', reject);
        req.on('response', (res) => resolve(new Stream(req, res)));
        req.end();
    });
}

class Stream {
    constructor(req, res) {
        this.req = req;
        this.res = res;
        this.status = res.statusCode;
        this.headers = res.headers;
        this.text = '';
        this.closed = false;
        this.queue = [];
        this.wake = () => {};
        res.setEncoding('utf8');
        res.on('data', (part) => this.#take(part));
        const end = () => {
            this.closed = true;
            this.wake();
        };
        res.on('end', end);
        res.on('close', end);
        res.on('error', end);
        req.on('error', end);
    }

    #take(part) {
        this.text += part;
        for (let end; (end = this.text.indexOf('\n\n')) >= 0; ) {
            const event = parseEvent(this.text.slice(0, end));
            this.text = this.text.slice(end + 2);
            if (event) this.queue.push(event);
        }
        this.wake();
    }

    async next(what = 'the next event of the stream') {
        const end = Date.now() + PATIENCE_MS; // Comments that keep it alive are no event.
        while (this.queue.length === 0 && !this.closed) {
            const more = new Promise((resolve) => (this.wake = resolve));
            await within(Math.max(end - Date.now(), 0), what, more);
        }
        return this.queue.shift() ?? null;
    }

    // Everything until the server ends the stream.
    async all() {
        const events = [];
        for (let event; (event = await this.next('the end of the stream')); ) events.push(event);
        return events;
    }

    async upTo(count) {
        const events = [];
        while (events.length < count) {
            const event = await this.next(`event ${events.length + 1} of ${count}`);
            if (!event) break;
            events.push(event);
        }
        return events;
    }

    // Events up to and including the first that pleases.
    async through(pleases) {
        const events = [];
        for (let event; (event = await this.next()); ) {
            events.push(event);
            if (pleases(event)) break;
        }
        return events;
    }

    pause() {
        this.res.pause();
    }

    resume() {
        this.res.resume();
    }

    close() {
        this.req.destroy();
    }
}

// Comments (keep-alive) give nothing.
function parseEvent(block) {
    const event = {};
    const data = [];
    for (const line of block.split('\n')) {
        const colon = line.indexOf(':');
        if (colon === 0) continue;
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (name === 'data') data.push(value);
        else event[name] = value;
    }
    if (data.length === 0) return null;
    return { ...event, data: JSON.parse(data.join('\n')) };
}
