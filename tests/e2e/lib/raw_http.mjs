// raw_http.mjs - bytes on a socket, and the answers that come back, read strictly (RFC 9112): what
// does not look like an answer is an error, never skipped.
import net from 'node:net';
import { PATIENCE_MS, within } from './wait.mjs';

export class RawClient {
    #bytes = Buffer.alloc(0);
    #ended = false;
    #wake = () => {};

    // target: a URL, or the path of a unix socket.
    constructor(target) {
        const at = target.startsWith('/') ? { path: target }
            : { host: new URL(target).hostname, port: Number(new URL(target).port) };
        this.socket = net.connect({ ...at, allowHalfOpen: true });
        this.socket.setNoDelay(true);
        this.socket.on('error', (err) => {
            // Node drops what it has not read yet when a write fails.
            this.cut = err.syscall === 'write';
            this.#end();
        });
        this.socket.on('end', () => this.#end());
        this.socket.on('close', () => this.#end());
        this.socket.on('data', (part) => {
            this.#bytes = Buffer.concat([this.#bytes, part]);
            this.#wake();
        });
    }

    #end() {
        this.#ended = true;
        this.#wake();
    }

    get ended() {
        return this.#ended;
    }

    send(bytes) {
        if (!this.socket.destroyed && this.socket.writable) this.socket.write(bytes, 'latin1');
    }

    // The client says that it sends no more.
    finish() {
        this.socket.end();
    }

    close() {
        this.socket.destroy();
    }

    // Until look(bytes) gives something else than undefined; null at the end.
    #await(what, look) {
        const found = async () => {
            for (;;) {
                const got = look(this.#bytes);
                if (got !== undefined) return got;
                if (this.#ended) return null;
                await new Promise((resolve) => { this.#wake = resolve; });
            }
        };
        return within(PATIENCE_MS, what, found());
    }

    #take(count) {
        const taken = this.#bytes.subarray(0, count);
        this.#bytes = this.#bytes.subarray(count);
        return taken;
    }

    // The next answer; null: the connection ended instead.  headOnly: it answers a HEAD.
    async answer({ headOnly = false } = {}) {
        for (;;) {
            const head = await this.#head();
            if (head === null || head.status !== 100) {
                if (head === null || headOnly || head.status === 204 || head.status === 304)
                    return head && { ...head, text: '' };
                return { ...head, text: (await this.#body(head.headers)).toString('utf8') };
            }
            this.continued = true;
        }
    }

    async #head() {
        const end = await this.#await('the head of an answer', (bytes) => {
            const at = bytes.indexOf('\r\n\r\n');
            return at < 0 ? undefined : at;
        });
        if (end === null) {
            if (this.#bytes.length > 0)
                throw new Error(`no answer: ${JSON.stringify(this.#bytes.toString('latin1'))}`);
            return null;
        }
        const lines = this.#take(end + 4).toString('latin1').slice(0, -4).split('\r\n');
        const first = /^HTTP\/1\.[01] (\d{3}) /.exec(lines[0]);
        if (!first) throw new Error(`not the first line of an answer: ${JSON.stringify(lines[0])}`);
        const headers = {};
        for (const line of lines.slice(1)) {
            const field = /^([!-9;-~]+):[ \t]*(.*?)[ \t]*$/.exec(line);
            if (!field) throw new Error(`not a header: ${JSON.stringify(line)}`);
            headers[field[1].toLowerCase()] = field[2];
        }
        return { status: Number(first[1]), headers };
    }

    async #exactly(count) {
        const there = await this.#await(`${count} bytes`,
            (bytes) => (bytes.length >= count ? true : undefined));
        if (!there)
            throw new Error(`the answer ends after ${this.#bytes.length} of ${count} bytes`);
        return this.#take(count);
    }

    async #line() {
        const end = await this.#await('a line', (bytes) => {
            const at = bytes.indexOf('\r\n');
            return at < 0 ? undefined : at;
        });
        if (end === null) throw new Error('the answer ends inside a chunk');
        return this.#take(end + 2).toString('latin1').slice(0, -2);
    }

    async #body(headers) {
        if (headers['transfer-encoding'] === 'chunked') {
            const parts = [];
            for (;;) {
                const size = parseInt(await this.#line(), 16);
                if (size === 0) break;
                parts.push(await this.#exactly(size));
                if (await this.#line() !== '') throw new Error('a chunk is longer than it says');
            }
            while (await this.#line() !== '');
            return Buffer.concat(parts);
        }
        if (headers['content-length'] !== undefined)
            return this.#exactly(Number(headers['content-length']));
        await this.#await('the end', () => undefined);
        return this.#take(this.#bytes.length);
    }

    // All that comes until the server closes.
    async rest() {
        await this.#await('the end', () => undefined);
        return this.#take(this.#bytes.length).toString('latin1');
    }
}
