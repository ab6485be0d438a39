// turns.mjs - what the scripted model answers, one value a turn.
//
//     says('Done.')                            text, and the end of the work
//     calls(call('Bash', {command}))           calls of tools, by the names that the agent offers
//     fails(429, 'rate_limit_error', words)    an error of the provider
//     drops()                                  the connection is cut
//     holds(gate, turn)                        nothing until the gate is open, then that turn
//
// More of a turn: `usage` {input, cached, cacheWrite, output}, `thinking`, `text` beside calls,
// `times` (so many requests get it, before the next turn is due; default 1), `headers`.
// A turn may also be a function of the request that it answers.

import { PATIENCE_MS, within } from '../../e2e/lib/wait.mjs';

// Tokens of a turn that names none: every turn another number, so that sums prove something.
export const usageOf = (turn, number) => ({
    input: 1000 + 100 * number, cached: 0, cacheWrite: 0, output: 50 + 10 * number, ...turn.usage,
});

export const call = (name, input) => ({ name, input });
export const says = (text, more = {}) => ({ text, ...more });
export const fails = (status, type, message, more = {}) =>
    ({ error: { status, type, message, ...more.error }, headers: more.headers ?? {},
        times: more.times ?? Infinity });
export const drops = (more = {}) => ({ drop: true, ...more });
export const holds = (gate, turn) => ({ ...turn, gate });

export function calls(...words) {
    const last = words.at(-1);
    const more = 'input' in last ? {} : words.pop();
    return { calls: words, ...more };
}

// Something that a test opens.
export class Gate {
    #reached = new Promise((resolve) => (this.arrive = resolve));

    constructor() {
        this.opened = new Promise((resolve) => (this.open = resolve));
    }

    // Resolves with the request that stands at it.
    stands() {
        return within(PATIENCE_MS, 'a request at the gate', this.#reached);
    }
}
