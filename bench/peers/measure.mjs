// measure.mjs - what is measured, the same for every peer: its servers, one producer's process and
// one consumer's process.
//
//   alone      one caller, one job a call           jobs/s until every call is answered
//   single     16 callers, one job a call
//   batch      4 callers, 100 jobs a call
//   drain      16 consumers, batches of up to 10    jobs/s from the first arrival to the last
//                                                   acknowledgement
//   combined   producers and 16 waiting consumers at once, at most 16 jobs in flight
//   wake-up    one job at a time for 16 waiting consumers, from the call to the arrival
//   idle       memory and processor of all servers while those 16 wait
//   runs       64 at once, eight steps each, from the first submission to the last end
//   chains     the same as plain jobs, each enqueueing the next; set against the runs of the peers
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, memoryMb } from './servers.mjs';

// spentMs: a peer whose loads have taken so long is left out of further rounds.
export const FULL = { rounds: 3, jobs: 10000, alone: 1000, runs: 1000, samples: 150,
    wakeMs: 5000, settleMs: 2000, idleMs: 5000, spentMs: 45000 };
export const QUICK = { rounds: 1, jobs: 800, alone: 100, runs: 128, samples: 30,
    wakeMs: 2000, settleMs: 500, idleMs: 1000, spentMs: 45000 };

const LANES = 16;
const BATCH = 10;
const IN_FLIGHT = 16;
const RUNS_AT_ONCE = 64;
const CALL_MS_MAX = 120000;

// better: which of two values is ahead.  aim: how many times ahead drover should be.  beside: the
// figure that stands for a peer which has none under this key.
export const LINES = [
    { key: 'alone', what: 'enqueue, 1 a call, 1 caller', unit: 'jobs/s', better: 'more' },
    { key: 'single', what: 'enqueue, 1 a call, 16 callers', unit: 'jobs/s', better: 'more' },
    { key: 'batch', what: 'enqueue, 100 a call, 4 callers', unit: 'jobs/s', better: 'more' },
    { key: 'drain', what: 'drain, 16 consumers', unit: 'jobs/s', better: 'more' },
    { key: 'combined', what: 'combined, 16 in flight', unit: 'jobs/s', better: 'more' },
    { key: 'wakeP50', what: 'wake-up, p50', unit: 'ms', better: 'less' },
    { key: 'wakeP99', what: 'wake-up, p99', unit: 'ms', better: 'less' },
    { key: 'memory', what: 'idle, memory', unit: 'MB', better: 'less' },
    { key: 'cpu', what: 'idle, processor', unit: '%', better: 'less' },
    { key: 'runs', what: 'runs of 8 steps', unit: 'runs/s', better: 'more', aim: 10 },
    { key: 'chains', what: 'runs as 8 chained jobs', unit: 'runs/s', better: 'more', aim: 10,
        beside: 'runs' },
];

// ---- client processes ----

class Actor {
    constructor(npm, file, role, where) {
        this.role = role;
        this.child = fork(join(npm, 'actor.mjs'), [file, role, JSON.stringify(where)],
            { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
        this.said = '';
        this.child.stderr.on('data', (chunk) => {
            this.said = (this.said + chunk).slice(-2000);
        });
        this.settle = () => {}; // What to do with the answer that is waited for.
        this.child.on('close', (code) => {
            const end = { error: `the ${role} ended (${code}): ${this.said.trim()}` };
            this.settle(end);
            this.partner?.settle(end); // Which may wait for it in vain.
        });
        this.child.on('error', (error) => this.settle({ error: error.message }));
        this.child.on('message', (message) => this.settle(message));
    }

    async call(verb, wish = {}) {
        let late;
        const { answer, error } = await new Promise((resolve) => {
            this.settle = resolve;
            late = setTimeout(resolve, CALL_MS_MAX, { error: `${verb} takes too long` });
            this.child.send({ verb, wish });
        });
        clearTimeout(late);
        if (error) throw new Error(`${this.role}: ${error}`);
        return answer;
    }

    async close() {
        if (this.partner) this.partner.partner = null;
        if (this.child.connected) await this.call('close').catch(() => {}); // It goes anyway.
        this.child.kill('SIGKILL');
    }
}

// The producer is first: the consumer connects to its credits.
export async function openActors(kit, file, where) {
    const everything = { ...where, credits: join(kit.dir, 'credits') };
    const producer = new Actor(kit.npm, file, 'producer', everything);
    const actors = { producer, close: () => producer.close() };
    try {
        await producer.call('open');
        const consumer = actors.consumer = new Actor(kit.npm, file, 'consumer', everything);
        producer.partner = consumer;
        consumer.partner = producer;
        actors.close = async () => {
            await consumer.close();
            await producer.close();
        };
        await consumer.call('open');
    } catch (error) {
        await actors.close();
        throw error;
    }
    return actors;
}

// ---- queues ----

function percentile(values, share) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)];
}

async function measureIdle(kit, scale, figures) {
    await pause(scale.settleMs);
    const pids = kit.pids();
    const before = cpuSeconds(pids);
    await pause(scale.idleMs);
    figures.cpu = 100 * (cpuSeconds(pids) - before) / (scale.idleMs / 1000);
    figures.memory = memoryMb(kit.pids());
}

async function measureWaiting(kit, { producer, consumer }, wish, figures) {
    const { scale } = wish, queue = 'wake';
    await producer.call('prepare', { queue });
    await consumer.call('start', { queue, lanes: LANES, batch: 1, waiting: true });
    if (wish.idle) await measureIdle(kit, scale, figures);
    await producer.call('wake', { queue, samples: scale.samples, ms: scale.wakeMs });
    const { wakes } = await consumer.call('stop');
    figures.wakeP50 = 1000 * percentile(wakes, 0.5);
    figures.wakeP99 = 1000 * percentile(wakes, 0.99);
}

// Every job that is enqueued is drained: the next load finds an empty queue.
async function measureLoad({ producer, consumer }, load) {
    await producer.call('prepare', load);
    const enqueued = await producer.call('enqueue', load);
    await consumer.call('start',
        { queue: load.queue, lanes: LANES, batch: BATCH, total: load.total });
    const drained = await consumer.call('finishAll');
    return { enqueue: load.total / enqueued.seconds, drain: load.total / drained.seconds };
}

async function measureCombined({ producer, consumer }, { queue, total }) {
    await producer.call('prepare', { queue });
    await consumer.call('start', { queue, lanes: LANES, batch: BATCH, total });
    const [{ begin }, { end }] = await Promise.all([
        producer.call('combined', { queue, total, inFlight: IN_FLIGHT }),
        consumer.call('finishAll')]);
    return total / (end - begin);
}

async function measureQueue(actors, scale, figures) {
    const total = scale.jobs;
    const alone = await measureLoad(actors,
        { queue: 'alone', total: scale.alone, lanes: 1, perCall: 1 });
    const single = await measureLoad(actors,
        { queue: 'single', total, lanes: LANES, perCall: 1 });
    const batch = await measureLoad(actors,
        { queue: 'batch', total, lanes: 4, perCall: 100 });
    figures.alone = alone.enqueue;
    figures.single = single.enqueue;
    figures.batch = batch.enqueue;
    figures.drain = Math.max(single.drain, batch.drain);
    figures.combined = await measureCombined(actors, { queue: 'combined', total });
}

// ---- runs ----

async function measureRuns({ producer }, scale, kind) {
    const { seconds } = await producer.call('runs',
        { kind, total: scale.runs, atOnce: RUNS_AT_ONCE });
    return scale.runs / seconds;
}

// One round of one peer whose servers run: {key: value}.  wish: {about, file, where, scale, idle};
// idle: measure that, too.
export async function measure(kit, wish) {
    const { about: { lines }, scale } = wish, figures = {};
    const actors = await openActors(kit, wish.file, wish.where);
    try {
        if (lines.includes('queue')) {
            await measureWaiting(kit, actors, wish, figures);
            await measureQueue(actors, scale, figures);
        } else if (wish.idle) {
            await measureIdle(kit, scale, figures);
        }
        if (lines.includes('runs')) figures.runs = await measureRuns(actors, scale, 'run');
        if (lines.includes('chains')) figures.chains = await measureRuns(actors, scale, 'chain');
    } finally {
        await actors.close();
    }
    return figures;
}
