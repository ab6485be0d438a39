// jobs.mjs - jobs through the HTTP API of a real server on SQLite: every answer is durable.
//
//   node bench/jobs.mjs [SECONDS]      how long each row is measured, default 3
//
// enqueue      POST /v1/jobs with so many jobs a call, from so many connections at once
// round trip   enqueue, lease and complete, each with so many jobs a call
import { start } from '../tests/e2e/lib/server.mjs';

const seconds = Number(process.argv[2] ?? 3);
const payload = { note: 'x'.repeat(400) };
const rows = [
    { connections: 1, batch: 1 },
    { connections: 16, batch: 1 },
    { connections: 64, batch: 1 },
    { connections: 4, batch: 100 },
];

function newJobs(queue, count) {
    return Array.from({ length: count }, () => ({ queue, type: 'bench', payload }));
}

async function enqueue(server, queue, batch) {
    await server.post('/v1/jobs', { jobs: newJobs(queue, batch) });
    return batch;
}

async function roundTrip(server, queue, batch) {
    await enqueue(server, queue, batch);
    const wish = { queues: [queue], worker: 'bench', max: batch, waitMs: 1000, leaseMs: 60_000 };
    const { jobs } = await server.post('/v1/jobs/lease', wish);
    await server.post('/v1/jobs/complete', { jobs: jobs.map(({ id, epoch }) => ({ id, epoch })) });
    return jobs.length;
}

function percentile(sorted, share) {
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

// Calls `once` from all connections until the time is over.
async function measure(server, once, { connections, batch }, name) {
    const begin = performance.now();
    const until = begin + seconds * 1000;
    const tookMs = [];
    let jobs = 0;
    const loop = async (lane) => {
        while (performance.now() < until) {
            const callBegin = performance.now();
            jobs += await once(server, `bench.${name}.${connections}x${batch}.${lane}`, batch);
            tookMs.push(performance.now() - callBegin);
        }
    };
    await Promise.all(Array.from({ length: connections }, (_, lane) => loop(lane)));
    const elapsed = (performance.now() - begin) / 1000;
    tookMs.sort((a, b) => a - b);
    const cells = [
        name.padEnd(10),
        String(connections).padStart(11),
        String(batch).padStart(10),
        (jobs / elapsed).toFixed(0).padStart(10),
        percentile(tookMs, 0.5).toFixed(1).padStart(10),
        percentile(tookMs, 0.99).toFixed(1).padStart(10),
    ];
    console.log(cells.join('  '));
}

const server = await start({ args: ['--workers', '0'] });
server.agent.maxSockets = 256;
try {
    console.log('what        connections  jobs/call      jobs/s    p50 (ms)    p99 (ms)');
    for (const row of rows) await measure(server, enqueue, row, 'enqueue');
    for (const row of rows) await measure(server, roundTrip, row, 'roundtrip');
} finally {
    await server.discard();
}
