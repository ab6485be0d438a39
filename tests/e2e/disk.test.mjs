// disk.test.mjs - a worker whose disk is low starts nothing new, and people see why.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { fixes } from './lib/git.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;

describe('a disk that is low', () => {
    before(async () => {
        server = await start({ config: `disk: {reserveBytes: ${2 ** 50}}\n` });
    });
    after(() => server.discard());

    it('is reported for the worker, and by the doctor', async () => {
        await until('the worker says so', async () => {
            const { items } = await server.get('/v1/workers');
            return items.some(({ diskLow, diskFree }) => diskLow && diskFree > 0);
        });
        const { diskLow, healthy } = await server.get('/v1/doctor');
        assert.equal(diskLow.length, 1);
        assert.ok(healthy);
        const listed = await launch(['workers', '--data', server.data], {}).ended;
        assert.match(listed.out, /DISK FREE/);
        assert.match(listed.out, /, low/);
        const words = await launch(['doctor', '--data', server.data], {}).ended;
        assert.match(words.out, /the disk of .* is low/);
    });

    it('lets a run that waits for space be cancelled', async () => {
        const repo = await server.repository('acme/full', fixes);
        const { taskId } = await server.submit(repo.name);
        await server.call('POST', `/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
    });
});

describe('a run that may use more than is free', () => {
    before(async () => {
        server = await start({ config: 'disk: {reserveBytes: 1}\n' });
    });
    after(() => server.discard());

    it('is put off', async () => {
        const agent = { command: ['/bin/sh', '-c', fixes], adapter: 'ndjson',
            resources: { diskBytes: 2 ** 46 } };
        const repo = await server.repository('acme/large', fixes, { agent });
        const { taskId } = await server.submit(repo.name);
        await until('it waits', async () => {
            const { items } = await server.get('/v1/jobs?queue=drover.prepare');
            return items.some((job) => JSON.stringify(job).includes('disk_low'));
        });
        await server.call('POST', `/v1/tasks/${taskId}/cancel`);
        await server.untilTask(taskId, 'cancelled');
    });
});
