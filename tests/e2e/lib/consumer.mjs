// consumer.mjs - a consumer of a queue that goes on whatever falls: the server, its connection, or
// itself.
//
// It leases, works on each job, and reports all of them in one call for each kind of report.  A
// report whose answer is lost is sent again until there is one: the server takes it once.
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from './http.mjs';

export const DONE = Symbol('done');
export const CRASH = Symbol('crash');

export class Consumer {
    // work(job): DONE, CRASH, or the error to fail it with ({code, message, retryable}).
    constructor(server, queue, { name, max = 4, leaseMs = 500, waitMs = 200, work }) {
        Object.assign(this, { server, queue, name, max, leaseMs, waitMs, work });
        this.lives = 0;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    }

    // Once; rejects when the server is away or the connection is cut.
    async call(path, body) {
        const headers = { authorization: `Bearer ${this.server.token}` };
        const res = await request(this.server.url + path,
            { method: 'POST', headers, body, agent: this.agent });
        if (res.status !== 200) throw new Error(`${path}: ${res.status} ${res.text}`);
        return res.json;
    }

    // Until it is answered, or over.
    async insist(path, body) {
        for (;;) {
            try {
                return await this.call(path, body);
            } catch (error) {
                if (this.over()) return { jobs: [] };
                if (/: 4\d\d /.test(error.message)) throw error;
                await sleep(20);
            }
        }
    }

    // Forgets all that it holds, cuts its connection, and is born again under another name.
    async crash() {
        this.lives++;
        this.agent.destroy();
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
        await sleep(10);
    }

    async lease() {
        return (await this.insist('/v1/jobs/lease', {
            queues: [this.queue].flat(), worker: `${this.name}.${this.lives}`, max: this.max,
            waitMs: this.waitMs, leaseMs: this.leaseMs,
        })).jobs;
    }

    async handle(jobs) {
        const done = [];
        const failed = [];
        for (const job of jobs) {
            const verdict = await this.work(job);
            if (verdict === CRASH) return this.crash();
            const ref = { id: job.id, epoch: job.epoch };
            if (verdict === DONE) done.push(ref);
            else failed.push({ ...ref, error: verdict });
        }
        if (done.length > 0) await this.insist('/v1/jobs/complete', { jobs: done });
        if (failed.length > 0) await this.insist('/v1/jobs/fail', { jobs: failed });
        return undefined;
    }

    // Until over() says so.
    async run(over) {
        this.over = over;
        try {
            while (!over()) await this.handle(await this.lease());
        } finally {
            this.agent.destroy();
        }
    }
}

// As many as names, side by side, until over().
export function consume(server, queue, count, options, over) {
    return Promise.all(Array.from({ length: count }, (_, i) =>
        new Consumer(server, queue, { name: `c${i}`, ...options }).run(over)));
}
