// worker.mjs - a worker played by hand: it takes steps of runs over HTTP and says what it likes.
// The server must run without workers of its own (--workers 0).
import assert from 'node:assert/strict';
import { until } from './wait.mjs';

export const STEPS = ['prepare', 'hydrate', 'agent', 'verify', 'judge', 'publish'];
// The state of the run while the step waits or works.
export const STATES = ['preparing', 'context_loading', 'running', 'verifying', 'judging',
    'creating_pr'];

const SHA = 'a'.repeat(64);
const COMMIT = 'b'.repeat(40);

// What a step that went well answers.
const RESULTS = {
    prepare: { baseCommit: COMMIT },
    hydrate: { promptSha256: SHA, sources: ['task'], tokenEstimate: 10, truncated: false },
    agent: {
        outcome: 'ended', report: 'success', exited: true, exitCode: 0, signal: 0, summary: 'done',
        turns: 1, inputTokens: 10, outputTokens: 5, costUsd: 0.01, model: 'hand', sandbox: 'none',
        patch: { sha256: SHA, bytes: 100, files: 1, linesAdded: 1, linesDeleted: 1,
            treeHash: COMMIT, paths: ['answer.txt'] },
    },
    verify: {
        verdict: 'verified', treeHash: COMMIT, certificateSha256: SHA,
        checks: [{ name: 'unit', command: 'sh test.sh', status: 'passed', exitCode: 0, signal: 0,
            category: '', summary: '', reportSha256: SHA, durationMs: 5 }],
    },
    judge: { verdict: 'pass', score: 1, findings: [] },
    publish: { number: 1, url: 'file:///srv/x.git#1', headCommit: COMMIT, draft: true },
};

export class HandWorker {
    // token: the leases are its own; the server's admin.token when absent.
    constructor(server, name, token) {
        this.server = server;
        this.name = name;
        this.headers = token ? { authorization: `Bearer ${token}` } : {};
    }

    post(path, body) {
        return this.server.post(path, body, this.headers);
    }

    // The job of this step of the run.
    async take(step, runId, leaseMs = 60_000) {
        return until(`a job ${step} of run ${runId}`, async () => {
            const { jobs } = await this.post('/v1/jobs/lease',
                { queues: [`drover.${step}`], worker: this.name, max: 1, waitMs: 1000, leaseMs });
            assert.ok(jobs.length === 0 || jobs[0].payload.runId === runId, 'a job of another run');
            return jobs[0];
        });
    }

    async complete(job, more = {}) {
        const result = { ...RESULTS[job.type], ...more };
        if (job.type === 'publish') result.branch = job.payload.branch;
        const jobs = [{ id: job.id, epoch: job.epoch, result }];
        return (await this.post('/v1/jobs/complete', { jobs })).jobs[0];
    }

    async fail(job, error) {
        const jobs = [{ id: job.id, epoch: job.epoch, error }];
        return (await this.post('/v1/jobs/fail', { jobs })).jobs[0];
    }

    async heartbeat(job, extendMs = 60_000) {
        const leases = [{ id: job.id, epoch: job.epoch }];
        const body = { worker: this.name, leases, extendMs };
        return (await this.post('/v1/jobs/heartbeat', body)).leases[0];
    }

    // Does every step before this one.
    async walkTo(step, runId) {
        for (const each of STEPS.slice(0, STEPS.indexOf(step)))
            assert.equal((await this.complete(await this.take(each, runId))).ok, true, each);
    }
}
