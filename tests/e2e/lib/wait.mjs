// wait.mjs - bounded waiting: ask again until the answer is good, or say what was seen last.
import { setTimeout as sleep } from 'node:timers/promises';

// Far more than anything needs: for a build with sanitizers on a busy machine.
export const PATIENCE_MS = 240_000;
const LOOK_EVERY_MS = 20;
// What takes long is looked at less often: looks of five files at once took a third of the machine.
const LOOK_SLOWER = 1.5;
const LOOK_SLOWEST_MS = 400;

// Resolves with the first truthy answer of look(); rejects after PATIENCE_MS.  look() may call
// note(x) to keep what it saw for the message.
export async function until(what, look, patienceMs = PATIENCE_MS, everyMs = LOOK_EVERY_MS) {
    const deadline = Date.now() + patienceMs;
    let seen, pauseMs = everyMs;
    const note = (x) => ((seen = x), x);
    for (;;) {
        const answer = await look(note);
        if (answer) return answer;
        if (Date.now() > deadline) {
            const last = seen === undefined ? '' : `; last seen: ${brief(seen)}`;
            throw new Error(`waited ${patienceMs} ms for ${what}${last}`);
        }
        await sleep(pauseMs);
        pauseMs = Math.min(pauseMs * LOOK_SLOWER, Math.max(everyMs, LOOK_SLOWEST_MS));
    }
}

// Rejects when the promise takes longer; the timer does not hold the process.
export function within(ms, what, promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function brief(value) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length > 1500 ? `${text.slice(0, 1500)}...` : text;
}
