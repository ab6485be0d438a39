// bullmq.mjs - BullMQ on Redis with an append-only file that is flushed before every answer.
import { freePort } from './servers.mjs';

export const about = {
    name: 'bullmq',
    title: 'BullMQ',
    lines: ['queue'],
    packages: ['bullmq', 'ioredis'],
    deb: 'redis-server',
    program: 'redis-server',
    durability: 'Redis, appendonly yes, appendfsync always',
    tuning: 'batch by addBulk, one Worker with concurrency 16, completed jobs are removed',
};

export async function serve(kit) {
    const port = await freePort();
    const redis = kit.spawn('redis', 'redis-server', ['--port', String(port), '--bind',
        '127.0.0.1', '--dir', kit.dir, '--appendonly', 'yes', '--appendfsync', 'always', '--save',
        '', '--maxmemory-policy', 'noeviction', '--no-appendfsync-on-rewrite', 'no']);
    await kit.ready(redis, port);
    const version = /v=(\S+)/.exec(kit.ask('redis-server', ['--version']))[1];
    return { where: { port }, versions: [`Redis ${version}`] };
}

const OPTIONS = { removeOnComplete: true, removeOnFail: true };

export async function producer({ port }) {
    const { Queue } = await import('bullmq');
    const queues = new Map();
    const find = (name) => {
        if (!queues.has(name)) queues.set(name, new Queue(name, {
            connection: { port, host: '127.0.0.1', enableAutoPipelining: true } }));
        return queues.get(name);
    };
    return {
        prepare: (queue) => find(queue).waitUntilReady().then(() => {}),
        send: (queue, job) => find(queue).add('note', job.data, OPTIONS),
        sendMany: (queue, jobs) => find(queue).addBulk(jobs.map((job) =>
            ({ name: 'note', data: job.data, opts: OPTIONS }))),
        async close() {
            for (const queue of queues.values()) await queue.close();
        },
    };
}

export async function consumer({ port }) {
    const { Worker } = await import('bullmq');
    let worker;
    return {
        async start(queue, { lanes, took, done }) {
            worker = new Worker(queue, async (job) => took(job.data), { concurrency: lanes,
                connection: { port, host: '127.0.0.1', maxRetriesPerRequest: null } });
            worker.on('completed', () => done(1));
            worker.on('error', (error) => { throw error; });
            await worker.waitUntilReady();
        },
        stop: () => worker.close(true),
        close() {},
    };
}
