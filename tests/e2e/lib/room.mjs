// room.mjs - tests of time limits that pass on a slow machine.
import { PATIENCE_MS } from './wait.mjs';

// A test of a time limit needs the rest to happen within that limit, and how long that takes is
// the machine's affair.  attempt(limitMs) throws TooSlow when the limit was over before the part
// that it tests had begun: then it is repeated with four times the limit.
export class TooSlow extends Error {}

export async function withRoom(limitMs, attempt) {
    for (;;) {
        try {
            return await attempt(limitMs);
        } catch (error) {
            if (!(error instanceof TooSlow) || limitMs > PATIENCE_MS) throw error;
            limitMs *= 4;
        }
    }
}
