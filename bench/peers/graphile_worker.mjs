// graphile_worker.mjs - graphile-worker on PostgreSQL.  Tuned as its manual says for throughput: a
// local queue (its prefetch) and completions that are written together.
import { setTimeout as pause } from 'node:timers/promises';

const SETTLE_MS = 1;

export const about = {
    name: 'graphile-worker',
    title: 'graphile',
    lines: ['queue'],
    packages: ['graphile-worker'],
    durability: 'PostgreSQL, fsync and synchronous_commit on',
    tuning: 'localQueue of lanes × batch, completeJobBatchDelay 0, batch by addJobs',
};

export function serve(kit) {
    const { url, version } = kit.postgres();
    return { where: { url }, versions: [`PostgreSQL ${version}`] };
}

async function quiet() {
    const { Logger } = await import('graphile-worker');
    return new Logger(() => () => {});
}

export async function producer({ url }) {
    const { makeWorkerUtils } = await import('graphile-worker');
    const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 16,
        logger: await quiet() });
    await utils.migrate();
    return {
        send: (queue, job) => utils.addJob(queue, job.data),
        sendMany: (queue, jobs) => utils.addJobs(jobs.map((job) =>
            ({ identifier: queue, payload: job.data }))),
        close: () => utils.release(),
    };
}

export async function consumer({ url }) {
    const { makeWorkerUtils, run } = await import('graphile-worker');
    const logger = await quiet();
    const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 1, logger });
    await utils.migrate();
    let runner;
    return {
        async start(queue, { lanes, batch, took, done }) {
            runner = await run({ noHandleSignals: true, taskList: { [queue]: took }, preset: {
                worker: { connectionString: url, concurrentJobs: lanes, maxPoolSize: lanes + 4,
                    localQueue: { size: lanes * batch }, completeJobBatchDelay: 0, logger } } });
            runner.events.on('job:complete', () => done(1));
            runner.events.on('job:error', ({ error }) => { throw error; });
        },
        // Completions are written behind the event: the table says when all are.
        async settle() {
            const left = () => utils.withPgClient((client) => client.query(
                'select 1 from graphile_worker._private_jobs limit 1'));
            while ((await left()).rowCount > 0) await pause(SETTLE_MS);
        },
        stop: () => runner.stop(),
        close: () => utils.release(),
    };
}
