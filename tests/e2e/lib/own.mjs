// own.mjs - a test with a server of its own, to be killed as it likes.
import { it } from 'node:test';
import { start } from './server.mjs';

// Leases outlast the test: what goes on after a restart was released, not expired.
export const LONG_LEASES = 'lease: {leaseMs: 600000, heartbeatMs: 1000}\n';

// body(server, t); options as start() has them.
export function withServer(name, options, body) {
    it(name, async (t) => {
        const server = await start(options);
        try {
            await body(server, t);
        } finally {
            await server.discard();
        }
    });
}
