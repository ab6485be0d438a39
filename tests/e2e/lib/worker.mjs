// worker.mjs - a worker played by hand: it takes steps of runs over HTTP and says what it likes.
// The server must run without workers of its own (--workers 0).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { until } from './wait.mjs';

export const STEPS = ['prepare', 'hydrate', 'agent', 'verify', 'judge', 'publish'];
// The state of the run while the step waits or works.
export const STATES = ['preparing', 'context_loading', 'running', 'verifying', 'judging',
    'creating_pr'];

export const COMMIT = 'b'.repeat(40);
export const PATCH = 'diff --git a/answer.txt b/answer.txt\n--- a/answer.txt\n+++ b/answer.txt\n'
    + '@@ -1 +1 @@\n-41\n+42\n';

// Numbers of pull requests are the forge's to give: each run has one of its own here.
const numberOf = (runId) => 2 + parseInt(
    createHash('sha256').update(runId).digest('hex').slice(0, 7), 16);

// What the certificate of a verification says, of the job's run and its configured checks.
export function certificateOf({ payload }, more = {}) {
    const checks = (payload.config.verify ?? []).map(({ name, command, optional = false }) => ({
        name, command, status: 'passed', exitCode: 0, signal: 0, durationMs: 5, optional,
    }));
    const { taskId, runId, attempt, baseCommit, patchSha256 } = payload;
    return {
        version: 1, taskId, runId, attempt, baseCommit, treeHash: COMMIT, patchSha256,
        sandbox: 'none', verdict: checks.length > 0 ? 'verified' : 'unverifiable', checks, ...more,
    };
}

// What a step that went well answers; what it names is stored.
const HONEST = {
    prepare: async () => ({ baseCommit: COMMIT }),
    hydrate: async (store) => ({ promptSha256: await store('prompt'), sources: ['task'],
        tokenEstimate: 10, truncated: false }),
    agent: async (store) => ({
        outcome: 'ended', report: 'success', exited: true, exitCode: 0, signal: 0, summary: 'done',
        turns: 1, inputTokens: 10, outputTokens: 5, costUsd: 0.01, model: 'hand', sandbox: 'none',
        patch: { sha256: await store(PATCH), bytes: PATCH.length, files: 1, linesAdded: 1,
            linesDeleted: 1, treeHash: COMMIT, paths: ['answer.txt'] },
    }),
    verify: async (store, job) => {
        const certificate = certificateOf(job);
        const report = await store('ok\n');
        return {
            verdict: certificate.verdict, treeHash: COMMIT,
            certificateSha256: await store(JSON.stringify(certificate)),
            checks: certificate.checks.map((check) => ({
                ...check, category: '', summary: '', reportSha256: report })),
        };
    },
    judge: async () => ({ verdict: 'pass', judges: [
        { name: 'rules', kind: 'rules', verdict: 'pass', score: 1, findings: [] }] }),
    publish: async (store, { payload }) => {
        const number = numberOf(payload.runId);
        return { number, url: `${payload.config.url}#refs/pull/${number}/head`,
            headCommit: COMMIT, branch: payload.branch, draft: payload.draft };
    },
    clean: async () => ({}),
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

    // The honest result of the job.
    result(job) {
        return HONEST[job.type]((text) => this.server.upload(text), job);
    }

    // Says these very words.
    async claim(job, result) {
        const jobs = [{ id: job.id, epoch: job.epoch, result }];
        return (await this.post('/v1/jobs/complete', { jobs })).jobs[0];
    }

    async complete(job, more = {}) {
        return this.claim(job, { ...await this.result(job), ...more });
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
        for (const each of STEPS.slice(0, STEPS.indexOf(step))) {
            const answer = await this.complete(await this.take(each, runId));
            assert.equal(answer.ok, true, `${each}: ${answer.message ?? answer.code}`);
        }
    }
}
