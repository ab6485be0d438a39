// claimers.test.mjs - two agents on one task: impossible.  Fifty claim one agent's work.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { start } from './lib/server.mjs';
import { HandWorker } from './lib/worker.mjs';

const CLAIMERS = 50;
let server;

const claimers = Array.from({ length: CLAIMERS }, (_, i) => `claimer-${i}`);

// What each of them gets: at most one job.
const claim = (queue, waitMs) => Promise.all(claimers.map(async (worker) => {
    const body = { queues: [queue], worker, max: 1, waitMs, leaseMs: 60_000 };
    const { jobs } = await server.post('/v1/jobs/lease', body);
    return { worker, job: jobs[0] };
}));

// Each says that it is done, under whatever it may believe its epoch to be: the second one under
// that of a lease before, as somebody who had the job and lost it.
const complete = (job, result) => Promise.all(claimers.map(async (worker, i) => {
    const epoch = i === 1 ? job.epoch - 1 : job.epoch + i;
    const jobs = [{ id: job.id, epoch, result }];
    return (await server.post('/v1/jobs/complete', { jobs })).jobs[0];
}));

async function assertOneWins(queue, result, repository) {
    const hand = new HandWorker(server, 'hand');
    const { runId } = await server.submit(repository);
    await hand.walkTo('hydrate', runId);
    const waiting = claim(queue, 2000); // They wait before the work is there.
    assert.equal((await hand.complete(await hand.take('hydrate', runId))).ok, true);
    const claimed = (await waiting).filter(({ job }) => job);
    assert.equal(claimed.length, 1, 'one of fifty has it');
    const [{ job }] = claimed;
    assert.equal(job.payload.runId, runId);
    assert.deepEqual((await claim(queue, 0)).filter((each) => each.job), [], 'and nobody else');
    const answers = await complete(job, result);
    assert.equal(answers[0].ok, true);
    for (const answer of answers.slice(1))
        assert.deepEqual([answer.ok, answer.code], [false, 'LEASE_LOST']);
    const events = await server.events(runId);
    const started = events.filter(({ type, data }) =>
        type === 'agent.step.started' && data.jobId === job.id);
    assert.equal(started.length, 1);
    return { job, runId };
}

describe('fifty claimers of one agent\'s work', () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('one wins, on the queue of drover\'s own workers', async () => {
        await server.repository('acme/process', 'exit 0');
        const result = { outcome: 'ended', report: 'error', patch: null };
        await assertOneWins('drover.agent', result, 'acme/process');
    });

    it('one wins, on a queue that agents lease from', async () => {
        await server.repository('acme/pull', '', { agent: { compute: 'pull' } });
        const result = { status: 'success' };
        const { runId } = await assertOneWins('agents', result, 'acme/pull');
        assert.equal((await server.run(runId)).step, 'collect');
    });
});
