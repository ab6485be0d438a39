// mcp_stdio.mjs - `drover mcp` as a client starts it: messages in, messages out, a line each.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { BIN, plainEnv } from './server.mjs';
import { PATIENCE_MS, within } from './wait.mjs';

export const MODERN = '2026-07-28';

// The _meta of a request of 2026-07-28.
export const meta = (more = {}) => ({
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...more,
});

const bridges = new Set();
process.on('exit', () => bridges.forEach((bridge) => bridge.child.kill('SIGKILL')));

export class Bridge {
    constructor(args = [], env = {}) {
        this.child = spawn(BIN, ['mcp', ...args], { env: plainEnv(env), stdio: 'pipe' });
        bridges.add(this);
        this.news = new EventEmitter().setMaxListeners(0);
        this.messages = []; // In order of arrival; taken by next().
        this.onNote = undefined; // Or gets what is no response, in place of next().
        this.rest = '';
        this.err = '';
        this.lastId = 0;
        this.child.stdin.on('error', () => {}); // It may end before it has read.
        this.child.stdout.setEncoding('utf8').on('data', (text) => this.take(text));
        this.child.stderr.setEncoding('utf8').on('data', (text) => (this.err += text));
        this.ended = new Promise((resolve) => this.child.on('close', (code, signal) => {
            bridges.delete(this);
            resolve({ code: code ?? signal, rest: this.rest });
        }));
    }

    // Nothing but whole messages may come, one on each line.
    take(text) {
        this.rest += text;
        if (!text.includes('\n')) return;
        const lines = this.rest.split('\n');
        this.rest = lines.pop();
        for (const line of lines) {
            const message = JSON.parse(line);
            assert.equal(message.jsonrpc, '2.0', line);
            if (message.method && this.onNote) this.onNote(message);
            else this.messages.push(message);
        }
        this.news.emit('lines');
    }

    write(text) {
        this.child.stdin.write(text);
    }

    send(message) {
        this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    }

    // The first message that fits, taken out.
    async next(fits, what = 'a message of the bridge') {
        for (;;) {
            const at = this.messages.findIndex(fits);
            if (at >= 0) return this.messages.splice(at, 1)[0];
            await within(PATIENCE_MS, what,
                Promise.race([once(this.news, 'lines'), this.gone(what)]));
        }
    }

    async gone(what) {
        const { code } = await this.ended;
        throw new Error(`drover mcp ended with ${code} before ${what}: ${this.err}`);
    }

    response(id) {
        return this.next((each) => each.id === id && !each.method, `the response to ${id}`);
    }

    async call(method, params, id = `c${++this.lastId}`) {
        this.send({ id, method, params });
        return this.response(id);
    }

    async result(method, params) {
        const answer = await this.call(method, params);
        assert.equal(answer.error, undefined, JSON.stringify(answer.error));
        return answer.result;
    }

    async close() {
        this.child.stdin.end();
        return this.ended;
    }
}
