// drover.mjs - drover serve on SQLite, over HTTP.  drover_postgres.mjs is the same on PostgreSQL.
//
// A run goes through drover's own pipeline: admit, prepare, hydrate, agent, verify, judge, publish,
// clean.  Admission is the server's; the other steps are leased and completed from outside with the
// least that is a valid result.
//
// A chain is what a service makes of plain jobs: the worker completes its step and names the next,
// which is made in the same commit.  Eight durable steps and no more, as the runs of the peers are.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Http } from './http.mjs';
import { range } from './jobs.mjs';
import { until } from './servers.mjs';

const WAIT_MS = 20000;
const LEASE_MS = 60000;
const REPOSITORY = 'bench/runs';
const STEP_LANES = 4;
const STEPS_PER_LEASE = 32;

export const about = {
    name: 'drover',
    title: 'drover',
    lines: ['queue', 'runs', 'chains'],
    durability: 'SQLite, WAL, synchronous=FULL: an fsync per commit, group commit',
};

// ---- the server ----

export async function serve(kit, args = []) {
    const data = join(kit.dir, 'data');
    const server = kit.spawn('drover', kit.drover, ['serve', '--listen', '127.0.0.1:0', '--data',
        data, '--workers', '0', ...args]);
    const file = join(data, 'server.json');
    const url = await until('drover', () => {
        if (server.exitCode !== null)
            throw Object.assign(new Error(kit.tail('drover')), { final: true });
        return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).url;
    });
    const where = { port: Number(new URL(url).port),
        token: readFileSync(join(data, 'admin.token'), 'utf8').trim() };
    const http = new Http(where);
    await until('drover to be ready', () => http.call('GET', '/readyz'));
    await http.call('PUT', `/v1/repositories/${encodeURIComponent(REPOSITORY)}`, {
        url: '/srv/git/x.git', agent: { command: ['./agent'] }, limits: { maxActiveRuns: 1000 } });
    http.close();
    return { where, versions: [kit.ask(kit.drover, ['--version']).split('\n')[0]] };
}

// ---- jobs ----

export function producer(where) {
    const http = new Http(where);
    return {
        send: (queue, job) => http.post('/v1/jobs',
            { jobs: [{ queue, type: 'note', payload: job.data }] }),
        sendMany: (queue, jobs) => http.post('/v1/jobs',
            { jobs: jobs.map((job) => ({ queue, type: 'note', payload: job.data })) }),
        close: () => http.close(),
    };
}

async function complete(http, jobs) {
    const answer = await http.post('/v1/jobs/complete', { jobs });
    const refused = answer.jobs.find((each) => !each.ok);
    if (refused) throw new Error(`a completion is refused: ${JSON.stringify(refused)}`);
}

// A lane leases, completes all it got in one call, and leases again until it is stopped.
function openLanes(where, { queues, lanes, max, work }) {
    const http = new Http(where);
    let stopping = false;
    const lane = async () => {
        while (!stopping) {
            const { jobs } = await http.post('/v1/jobs/lease',
                { queues, worker: 'bench', max, waitMs: WAIT_MS, leaseMs: LEASE_MS });
            if (jobs.length > 0) await work(http, jobs);
        }
    };
    const failed = (error) => {
        if (!stopping) throw error;
    };
    for (const _ of range(lanes)) lane().catch(failed);
    return () => {
        stopping = true; // Whoever hangs up while it waits gets no job.
        http.close();
    };
}

export function consumer(where) {
    let stop;
    return {
        start(queue, { lanes, batch, took, done }) {
            const work = async (http, jobs) => {
                for (const job of jobs) took(job.payload);
                await complete(http, jobs.map(({ id, epoch }) => ({ id, epoch })));
                done(jobs.length);
            };
            stop = openLanes(where, { queues: [queue], lanes, max: batch, work });
        },
        stop: () => stop(),
        close() {},
    };
}

// ---- runs ----

const SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const COMMIT = 'da39a3ee5e6b4b0d3255bfef95601890afd80709';
const RESULTS = {
    prepare: { baseCommit: COMMIT },
    hydrate: { promptSha256: SHA256, sources: ['task_description'], tokenEstimate: 10 },
    agent: { outcome: 'ended', report: 'success', summary: 'done', turns: 2, costUsd: 0.5,
        patch: { sha256: SHA256, files: 1, linesAdded: 2, linesDeleted: 1, treeHash: COMMIT } },
    verify: { verdict: 'verified', certificateSha256: SHA256,
        checks: [{ name: 'unit', command: 'make test', status: 'passed', exitCode: 0 }] },
    judge: { verdict: 'pass', score: 1, findings: [] },
    publish: { number: 1, url: '/srv/git/x.git#1', headCommit: COMMIT, branch: 'drover/x',
        draft: true },
    clean: {},
};
const LAST = 'clean';

// What is nearest to its end goes first.
const QUEUES = Object.keys(RESULTS).reverse().map((type) => `drover.${type}`);

// ---- chains ----

const CHAIN_STEPS = 8;
const CHAIN_QUEUE = 'chain';

function chainStep(chain, step) {
    return { queue: CHAIN_QUEUE, type: 'step', payload: { chain, step } };
}

const following = ({ chain, step }) => (step < CHAIN_STEPS ? [chainStep(chain, step + 1)] : []);

async function workOnChains(http, jobs, purse) {
    await complete(http, jobs.map(({ id, epoch, payload }) =>
        ({ id, epoch, next: following(payload) })));
    const ended = jobs.filter(({ payload }) => payload.step === CHAIN_STEPS).length;
    if (ended > 0) purse.pay(ended);
}

// ---- both ----

// The worker's process pays when one is at its end.
export function runner(where) {
    const http = new Http(where);
    return {
        async run() {
            await http.post('/v1/tasks',
                { repository: REPOSITORY, description: 'Make the clock run on time' });
            await where.credits.take();
        },
        async chain() {
            await http.post('/v1/jobs', { jobs: [chainStep(randomUUID(), 1)] });
            await where.credits.take();
        },
        close: () => http.close(),
    };
}

async function workOnRuns(http, jobs, purse) {
    await complete(http, jobs.map(({ id, epoch, type }) =>
        ({ id, epoch, result: RESULTS[type] })));
    const ended = jobs.filter((job) => job.type === LAST).length;
    if (ended > 0) purse.pay(ended);
}

export function worker(where) {
    const wish = { lanes: STEP_LANES, max: STEPS_PER_LEASE };
    const stops = [
        openLanes(where, { ...wish, queues: QUEUES,
            work: (http, jobs) => workOnRuns(http, jobs, where.purse) }),
        openLanes(where, { ...wish, queues: [CHAIN_QUEUE],
            work: (http, jobs) => workOnChains(http, jobs, where.purse) }),
    ];
    return { close: () => stops.forEach((stop) => stop()) };
}
