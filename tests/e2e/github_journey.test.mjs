// github_journey.test.mjs - from an issue on GitHub to a merged pull request (lib/journey.mjs),
// also with a kill -9 of server and workers between any two steps.
import { describe, it } from 'node:test';
import { startWithHub } from './lib/github.mjs';
import { assertOnce, journey, shepherdOf } from './lib/journey.mjs';
import { until } from './lib/wait.mjs';

describe('from an issue on GitHub to a merged pull request', { concurrency: 1 }, () => {
    it('goes all the way', async () => {
        const all = await startWithHub();
        try {
            const end = await journey(all);
            assertOnce(end);
            await until('the shepherd to be done', async () =>
                (await shepherdOf(all)).state === 'merged');
        } finally {
            await all.stop();
        }
    });

    it('goes all the way with a kill -9 between any two steps', async () => {
        const all = await startWithHub({ config: 'lease: {leaseMs: 5000, heartbeatMs: 1000}\n' });
        try {
            const end = await journey(all, async () => {
                await all.server.crash();
                await all.server.startAgain();
            });
            assertOnce(end);
        } finally {
            await all.stop();
        }
    });
});
