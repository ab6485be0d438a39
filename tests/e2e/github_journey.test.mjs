// github_journey.test.mjs - from an issue on GitHub to a merged pull request (lib/journey.mjs),
// also with a kill -9 of the server and of its worker, a process of its own, between any two steps.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startWithHub } from './lib/github.mjs';
import { assertOnce, assertStory, journey, shepherdOf } from './lib/journey.mjs';
import { RemoteWorker } from './lib/remote.mjs';
import { until } from './lib/wait.mjs';

async function assertEnd(all, end) {
    assertOnce(end);
    await until('the shepherd to be done', async () =>
        (await shepherdOf(all)).state === 'merged');
    await assertStory(all);
}

describe('from an issue on GitHub to a merged pull request', { concurrency: 1 }, () => {
    it('goes all the way', async () => {
        const all = await startWithHub();
        try {
            const end = await journey(all);
            await assertEnd(all, end);
        } finally {
            await all.stop();
        }
    });

    it('goes all the way with a kill -9 between any two steps', async () => {
        const all = await startWithHub({
            config: 'workers: 0\nlease: {leaseMs: 2000, heartbeatMs: 400}\n' });
        const worker = new RemoteWorker(all.server, { name: 'remote' });
        let kills = 0;
        try {
            await worker.start();
            const end = await journey(all, async () => {
                // In turn, so that each is also away while the other is at work.
                const both = [() => all.server.crash(), () => worker.stop('SIGKILL')];
                for (const kill of kills++ % 2 === 0 ? both : both.reverse()) await kill();
                await all.server.startAgain();
                worker.spawn();
            });
            await assertEnd(all, end);
            assert.ok(kills >= 12, `${kills} times`);
        } finally {
            await worker.stop();
            await all.stop();
        }
    });
});
