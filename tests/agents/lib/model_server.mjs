// model_server.mjs - a model on loopback that answers with a script, in the formats of the vendors.
//
// A script is a list of turns (turns.mjs).  The n-th request of an agent gets the n-th turn;
// requests beside its work, such as for a title of the session, get a short text of their own.
// Each request is checked against what its vendor documents; `problems` has what was wrong with
// any of them, also requests beyond the script and to addresses that no format has.  `requests`
// keeps all that came, and `answers` the tokens of what was answered.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { PATIENCE_MS, within } from '../../e2e/lib/wait.mjs';
import { cut } from './sse.mjs';
import { fails, usageOf } from './turns.mjs';
import * as anthropic from './wire_anthropic.mjs';
import * as chat from './wire_chat.mjs';
import * as gemini from './wire_gemini.mjs';
import * as responses from './wire_responses.mjs';

const FORMATS = [anthropic, responses, chat, gemini];
const SIDE_TURN = { text: 'Answer', usage: { input: 200, cached: 0, cacheWrite: 0, output: 8 } };

const KINDS = ['input', 'cached', 'cacheWrite', 'output'];

// What answers have used up, of each kind of tokens.
export function tokensOf(answers) {
    const sum = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    for (const { usage } of answers) for (const kind of KINDS) sum[kind] += usage[kind];
    return sum;
}

// And in money.  prices: USD for a million tokens; a kind that has none costs as much as `input`.
export function costOf(answers, prices) {
    const sum = tokensOf(answers);
    return KINDS.reduce((usd, kind) => usd + (sum[kind] * (prices[kind] ?? prices.input)) / 1e6, 0);
}

// Ids as vendors have them: a prefix and something that is never the same.
class Ids {
    constructor() {
        this.count = 0;
    }

    next(prefix) {
        return `${prefix}_${String(++this.count).padStart(8, '0')}`;
    }
}

function parse(text) {
    try {
        return text === '' ? {} : JSON.parse(text);
    } catch {
        return null;
    }
}

export class Model {
    constructor(turns, { side = SIDE_TURN } = {}) {
        this.turns = turns;
        this.side = side;
        this.at = 0; // The turn that is due.
        this.served = 0; // How often it was given.
        this.requests = [];
        this.problems = [];
        this.answers = []; // {model, usage, side, calls: names of tools}
        this.ids = new Ids();
    }

    async open() {
        this.server = http.createServer((req, res) => this.#handle(req, res).catch((error) => {
            this.problems.push(`${req.method} ${req.url}: ${error.stack}`);
            cut(res);
        }));
        this.server.keepAliveTimeout = PATIENCE_MS;
        this.server.listen(0, '127.0.0.1');
        await once(this.server, 'listening');
        this.port = this.server.address().port;
        this.host = `127.0.0.1:${this.port}`;
        this.url = `http://${this.host}`;
        return this;
    }

    close() {
        this.server.closeAllConnections();
        this.server.close();
    }

    // What comes from now on has a script of its own.
    goOn(...turns) {
        this.turns = turns;
        this.at = 0;
        this.served = 0;
    }

    // The requests that got a turn of the script, in order.
    get main() {
        return this.requests.filter(({ kind, side }) => kind === 'turn' && !side);
    }

    assertSound() {
        assert.deepEqual(this.problems, []);
        assert.ok(this.main.length > 0, 'no request came');
    }

    // Waits for the n-th request (from 1) that gets a turn of the script.
    async request(number) {
        const wait = async () => {
            while (this.main.length < number)
                await new Promise((resolve) => (this.wake = resolve));
            return this.main[number - 1];
        };
        return within(PATIENCE_MS, `request ${number} of the agent`, wait());
    }


    async #handle(req, res) {
        const parts = [];
        for await (const part of req) parts.push(part);
        const url = new URL(req.url, this.url);
        const { pathname } = url;
        const format = FORMATS.find((each) => each.route(req.method, pathname));
        if (!format) {
            this.problems.push(`${req.method} ${req.url}: no format has this`);
            res.writeHead(404, { 'content-type': 'application/json' }).end('{}');
            return;
        }
        const route = format.route(req.method, pathname);
        const body = parse(Buffer.concat(parts).toString('utf8'));
        const request = { at: Date.now(), format: format.name, path: req.url,
            query: url.searchParams, headers: req.headers, body: body ?? {}, ...route };
        if (body === null) this.problems.push(`${req.url}: the body is no JSON`);
        if (route.kind === 'turn') await this.#turn(format, request, res);
        else this.#other(format, request, res);
    }

    // Everything that is no turn.
    #other(format, request, res) {
        this.requests.push(request);
        const given = format[request.kind]?.(request) ?? null;
        res.writeHead(200, { 'content-type': 'application/json' })
            .end(given === null ? '' : JSON.stringify(given));
    }

    async #turn(format, request, res) {
        Object.assign(request, format.read(request.body, request));
        for (const problem of format.problems(request))
            this.problems.push(`${request.path}: ${problem}`);
        const turn = request.side ? this.side : this.#next(request);
        this.requests.push(request);
        this.wake?.();
        const closed = new Promise((resolve) => res.on('close', resolve));
        if (turn.gate) {
            turn.gate.arrive(request);
            await Promise.race([turn.gate.opened, closed]);
        }
        if (res.destroyed) return; // The client has hung up: the turn costs nothing.
        if (turn.drop) return cut(res);
        if (turn.error) return this.#fail(format, turn, res);
        const usage = usageOf(turn, this.main.length);
        this.answers.push({ model: request.model, usage, side: request.side,
            calls: (turn.calls ?? []).map((each) => each.name) });
        format.answer(res, turn, { request, usage, ids: this.ids });
    }

    #next(request) {
        let turn = this.turns[this.at];
        if (turn === undefined) {
            this.problems.push(`${request.path}: the script has ${this.turns.length} turns only`);
            return fails(400, 'invalid_request_error', 'no turn left');
        }
        if (++this.served >= (turn.times ?? 1)) {
            this.at++;
            this.served = 0;
        }
        if (typeof turn === 'function') turn = turn(request);
        return turn;
    }

    #fail(format, turn, res) {
        const { headers, body } = format.failure(turn.error, this.ids);
        res.writeHead(turn.error.status,
            { 'content-type': 'application/json', ...headers, ...turn.headers });
        res.end(JSON.stringify(body));
    }
}

export const openModel = (turns, options) => new Model(turns, options).open();
