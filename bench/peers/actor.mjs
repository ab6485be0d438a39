// actor.mjs - a client process: the producer's or the consumer's side of one peer, doing the loads
// that measure.mjs asks for.  Calls come over the channel of the parent: {verb, wish} -> {answer}.
//
// A peer's file gives, all of them optional beyond what its lines need:
//
//   producer(where)  -> {prepare(queue), send(queue, job), sendMany(queue, jobs), close()}
//                       a send resolves when the peer has said that the job is durable
//   consumer(where)  -> {start(queue, {lanes, batch, took, done}), settle(), stop(), close()}
//                       took(data): a job has arrived; done(count): so many are acknowledged
//   runner(where)    -> {run(), chain(), close()}    one run, or chain, of eight steps, from its
//                       submission to its end
//   worker(where)    -> {close()}    who works on the steps, if that is another process
//
// Times are of CLOCK_MONOTONIC, which is one for all processes.
import { setTimeout as pause } from 'node:timers/promises';
import { Credits, openPurse } from './credits.mjs';
import { makeJob, now, range } from './jobs.mjs';

const WAKE_PAUSE_MS = 10;

async function inLanes(lanes, work) {
    await Promise.all(range(lanes).map(work));
}

// ---- the producer's process ----

class Producer {
    static async open(peer, where) {
        const self = new Producer();
        self.credits = await Credits.listen(where.credits);
        self.client = await peer.producer?.({ ...where, credits: self.credits });
        self.runner = await peer.runner?.({ ...where, credits: self.credits });
        return self;
    }

    prepare({ queue }) {
        return this.client.prepare?.(queue);
    }

    async enqueue({ queue, total, lanes, perCall }) {
        const job = makeJob();
        const many = range(perCall).map(() => job);
        let sent = 0;
        const begin = now();
        await inLanes(lanes, async () => {
            while (sent < total) {
                sent += perCall;
                if (perCall === 1) await this.client.send(queue, job);
                else await this.client.sendMany(queue, many);
            }
        });
        return { seconds: now() - begin };
    }

    // The next one is enqueued when one is done; the consumer knows when the last one is.
    async combined({ queue, total, inFlight }) {
        const job = makeJob();
        let sent = 0;
        this.credits.reset(inFlight);
        const begin = now();
        await inLanes(inFlight, async () => {
            while (sent < total) {
                sent++;
                await this.credits.take();
                await this.client.send(queue, job);
            }
        });
        return { begin };
    }

    // One job at a time, while all consumers wait.
    async wake({ queue, samples, ms }) {
        this.credits.reset(0);
        const end = now() + ms / 1000;
        for (let i = 0; i < samples && now() < end; i++) {
            await pause(WAKE_PAUSE_MS + Math.random() * WAKE_PAUSE_MS);
            await this.client.send(queue, makeJob(now()));
            await this.credits.take();
        }
        return {};
    }

    // kind: which of the runner's calls.
    async runs({ kind, total, atOnce }) {
        let sent = 0;
        this.credits.reset(0);
        const begin = now();
        await inLanes(atOnce, async () => {
            while (sent < total) {
                sent++;
                await this.runner[kind]();
            }
        });
        return { seconds: now() - begin };
    }

    async close() {
        await this.client?.close();
        await this.runner?.close();
        this.credits.close();
        return {};
    }
}

// ---- the consumer's process ----

class Consumer {
    static async open(peer, where) {
        const self = new Consumer();
        self.purse = await openPurse(where.credits);
        self.client = await peer.consumer?.(where);
        self.worker = await peer.worker?.({ ...where, purse: self.purse });
        return self;
    }

    // Those who wait for work, 16 at a time, until finish or stop.
    async start({ queue, lanes, batch, waiting, total = Infinity }) {
        this.wakes = [];
        this.first = 0;
        let left = total;
        this.finished = new Promise((resolve) => {
            this.finish = resolve;
        });
        await this.client.start(queue, { lanes, batch, waiting,
            took: (data) => {
                this.first ||= now();
                if (data.at > 0) this.wakes.push(now() - data.at);
            },
            done: (count) => {
                left -= count;
                this.purse.pay(count);
                if (left <= 0) this.finish();
            } });
        return {};
    }

    // From the arrival of the first job until the last one is acknowledged.
    async finishAll() {
        await this.finished;
        await this.client.settle?.();
        const end = now();
        await this.client.stop();
        return { end, seconds: end - this.first };
    }

    async stop() {
        await this.client.stop();
        return { wakes: this.wakes };
    }

    async close() {
        await this.client?.close();
        await this.worker?.close();
        this.purse.close();
        return {};
    }
}

// ---- the channel ----

const [file, role, where] = process.argv.slice(2);
const peer = await import(`./${file}`);
const opened = (role === 'producer' ? Producer : Consumer).open(peer, JSON.parse(where));

async function answer({ verb, wish }) {
    try {
        const self = await opened;
        process.send({ answer: verb === 'open' ? {} : await self[verb](wish) ?? {} });
    } catch (error) {
        process.send({ error: error.stack ?? String(error) });
    }
}

opened.catch(() => {}); // Told to who calls.
process.on('message', answer);
process.on('disconnect', () => process.exit(1));
