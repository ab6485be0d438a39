// pg_boss.mjs - pg-boss on PostgreSQL.  Its worker looks for jobs twice a second at most: those who
// wait for single jobs use it; those who drain fetch again at once while there is work.
import { setTimeout as pause } from 'node:timers/promises';
import { range } from './jobs.mjs';

const POLL_SECONDS = 0.5; // The least it takes.
const EMPTY_MS = 5;

export const about = {
    name: 'pg-boss',
    title: 'pg-boss',
    lines: ['queue'],
    packages: ['pg-boss'],
    durability: 'PostgreSQL, fsync and synchronous_commit on',
    tuning: 'batch by insert; drained by fetch and complete in batches; wake-up by work(), '
        + 'polling at its least, 0.5 s',
};

export function serve(kit) {
    const { url, version } = kit.postgres();
    return { where: { url }, versions: [`PostgreSQL ${version}`] };
}

async function openBoss(url, options) {
    const { default: PgBoss } = await import('pg-boss');
    const boss = new PgBoss({ connectionString: url, max: 16, schedule: false, ...options });
    boss.on('error', (error) => { throw error; });
    await boss.start();
    return boss;
}

export async function producer({ url }) {
    const boss = await openBoss(url, { supervise: false });
    return {
        prepare: (queue) => boss.createQueue(queue),
        send: (queue, job) => boss.send(queue, job.data),
        sendMany: (queue, jobs) => boss.insert(jobs.map((job) =>
            ({ name: queue, data: job.data }))),
        close: () => boss.stop({ graceful: false }),
    };
}

export async function consumer({ url }) {
    const boss = await openBoss(url, {});
    let stopping = false, lanesEnd = [], worked = null;

    async function lane(queue, { batch, took, done }) {
        while (!stopping) {
            const jobs = await boss.fetch(queue, { batchSize: batch });
            for (const job of jobs) took(job.data);
            if (jobs.length > 0) {
                await boss.complete(queue, jobs.map((job) => job.id));
                done(jobs.length);
            } else {
                await pause(EMPTY_MS);
            }
        }
    }

    async function wait(queue, { batch, took, done }) {
        await boss.work(queue, { batchSize: batch, pollingIntervalSeconds: POLL_SECONDS },
            (jobs) => {
                for (const job of jobs) took(job.data);
                done(jobs.length);
            });
    }

    return {
        async start(queue, wish) {
            stopping = false;
            worked = wish.waiting ? queue : null;
            if (wish.waiting) for (const _ of range(wish.lanes)) await wait(queue, wish);
            else lanesEnd = range(wish.lanes).map(() => lane(queue, wish));
        },
        async stop() {
            stopping = true;
            if (worked) await boss.offWork(worked);
            await Promise.all(lanesEnd);
        },
        close: () => boss.stop({ graceful: false }),
    };
}
