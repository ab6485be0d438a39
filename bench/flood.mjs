// flood.mjs - measures what one agent can do to the others: `node bench/flood.mjs [seconds]`.
//
// A sandboxed agent opens 3,000 sockets to $DROVER_SOCKET again and again, asks for streams and
// pages that it does not read, begins uploads that it does not end, and writes events as fast as it
// can.  Meanwhile this process times GET /healthz (a new connection each) and the heartbeat of a
// worker over TCP, and reads the server's memory.  Before that it times the same without a flood.
// FLOOD_PREFIX stands before the agent's command: FLOOD_PREFIX="chrt -f 1" with chrt -f 5 for all
// else takes other work on the machine out of the figures.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { cpus, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from '../tests/e2e/lib/http.mjs';
import { start } from '../tests/e2e/lib/server.mjs';
import { until } from '../tests/e2e/lib/wait.mjs';

const SECONDS = Number(process.argv[2] ?? 20);
const EVERY_MS = 5;

const AGENT = `
import net from 'node:net';
const { DROVER_SOCKET: path, DROVER_TOKEN: token, DROVER_RUN_ID: run } = process.env;
const SOCKETS = 3000;
const auth = 'Host: x\\r\\nAuthorization: Bearer ' + token + '\\r\\n';
const says = [
    '', 'GET / HTTP/1.1\\r\\nX-Long: ' + 'x'.repeat(15000),
    'GET /v1/runs/' + run + '/stream HTTP/1.1\\r\\n' + auth + '\\r\\n',
    'GET /v1/runs/' + run + '/events?limit=200 HTTP/1.1\\r\\n' + auth + '\\r\\n',
    'PUT /v1/artifacts/' + 'a'.repeat(64) + ' HTTP/1.1\\r\\n' + auth
        + 'Content-Length: 60000000\\r\\n\\r\\n' + 'x'.repeat(60000),
    'POST /v1/tasks HTTP/1.1\\r\\n' + auth + 'Content-Length: 8000\\r\\n\\r\\n{',
];
let open = 0, at = 0;
const one = () => {
    const socket = net.connect(path);
    open++;
    const bytes = says[at++ % says.length];
    socket.on('connect', () => bytes && socket.write(bytes));
    socket.once('data', () => socket.pause());
    socket.on('error', () => {});
    socket.on('close', () => open--);
    setTimeout(() => socket.destroy(), 2000 + Math.random() * 3000);
};
setInterval(() => { for (let i = 0; open < SOCKETS && i < 200; i++) one(); }, 5);
const line = JSON.stringify({ type: 'tool', name: 'edit', status: 'completed',
    summary: 'y'.repeat(2000) }) + '\\n';
const talk = () => process.stdout.write(line.repeat(20)) ? setImmediate(talk)
    : process.stdout.once('drain', talk);
talk();
setTimeout(() => process.exit(0), ${SECONDS * 1000} + 60000);
`;

const server = await start({ args: ['--workers', '2'], config: 'log: {level: error}\n' });
const status = () => readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
const mb = (field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status())[1]) / 1024;
const fds = () => Number(/FDSize:\s+(\d+)/.exec(status())[1]);

const { token } = await server.post('/v1/tokens', { name: 'fleet', role: 'worker' });
await server.post('/v1/jobs', { jobs: [{ queue: 'held', type: 't', payload: {} }] });
const call = (method, path, body, agent) => request(server.url + path,
    { method, body, headers: { authorization: `Bearer ${token}` }, agent });
const { json: { jobs: [job] } } = await call('POST', '/v1/jobs/lease',
    { queues: ['held'], worker: 'w', leaseMs: 15_000 });

const kept = new http.Agent({ keepAlive: true });
const PROBES = {
    healthz: () => request(`${server.url}/healthz`, { agent: false }),
    heartbeat: () => call('POST', '/v1/jobs/heartbeat', { worker: 'w',
        leases: [{ id: job.id, epoch: job.epoch }], extendMs: 15_000 }, kept),
};

async function probe(name, until_ms) {
    const times = [];
    let bad = 0;
    while (Date.now() < until_ms) {
        const began = process.hrtime.bigint();
        const res = await PROBES[name]().catch(() => null);
        times.push(Number(process.hrtime.bigint() - began) / 1e6);
        if (res?.status !== 200 || (name === 'heartbeat' && !res.json.leases[0].ok)) bad++;
        await sleep(EVERY_MS);
    }
    times.sort((a, b) => a - b);
    const at = (share) => times[Math.floor((times.length - 1) * share)].toFixed(1);
    return `${name.padEnd(10)} ${String(times.length).padStart(6)} calls, ${bad} bad, `
        + `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}

// Of the whole process and of its loop, in seconds.
function cpu() {
    const of = (path) => {
        const fields = readFileSync(path, 'utf8').replace(/^.*\) /, '').split(' ');
        return (Number(fields[11]) + Number(fields[12])) / 100;
    };
    const { pid } = server.child;
    return { all: of(`/proc/${pid}/stat`), loop: of(`/proc/${pid}/task/${pid}/stat`) };
}

async function measure(title, seconds) {
    const before = cpu();
    const end = Date.now() + seconds * 1000;
    const lines = await Promise.all(Object.keys(PROBES).map((name) => probe(name, end)));
    console.log(`${title}\n  ${lines.join('\n  ')}`);
    console.log(`  resident ${mb('VmRSS').toFixed(1)} MB, peak ${mb('VmHWM').toFixed(1)} MB, `
        + `fds ${fds()}`);
    const after = cpu();
    console.log(`  cpu ${(after.all - before.all).toFixed(2)} s, of it the loop `
        + `${(after.loop - before.loop).toFixed(2)} s; load ${loadavg()[0].toFixed(1)} on `
        + `${cpus().length} cores`);
}

try {
    await measure('quiet', 5);
    const command = `${process.env.FLOOD_PREFIX ?? ''} node flood.mjs`;
    const repo = await server.repository('acme/flood', command,
        { files: { 'flood.mjs': AGENT, 'answer.txt': '0\n', 'test.sh': 'true\n' } });
    const { runId, taskId } = await server.submit(repo.name);
    const metrics = async () => (await server.call('GET', '/metrics')).text;
    await until('the flood to arrive', async () => Number(
        /^drover_http_connections_evicted_total (\d+)/m.exec(await metrics())?.[1] ?? 1) > 0);
    await measure(`flood of ${SECONDS} s (${server.walled ? 'sandboxed' : 'no sandbox'})`, SECONDS);
    console.log((await metrics()).split('\n').filter((line) =>
        /^drover_http_(conn|str)/.test(line)).join('\n'));
    console.log(`run ${(await server.run(runId)).status}`);
    await server.cancel(taskId);
    await server.untilTask(taskId, 'cancelled');
} finally {
    kept.destroy();
    const jobs = [{ id: job.id, epoch: job.epoch, result: {} }];
    await call('POST', '/v1/jobs/complete', { jobs });
    await server.discard();
}
