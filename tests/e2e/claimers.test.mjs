// claimers.test.mjs - two agents on one task: impossible.  Fifty claim one agent's work.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { request } from './lib/http.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';
import { HandWorker } from './lib/worker.mjs';

const CLAIMERS = 50;
let server;

const claimers = Array.from({ length: CLAIMERS }, (_, i) => `claimer-${i}`);

// All of them ask.  got: the jobs that they have so far; hangUp() ends the wait of the others.
function claim(queue, waitMs) {
    const agent = new http.Agent({ maxSockets: CLAIMERS });
    const headers = { authorization: `Bearer ${server.token}` };
    const got = [];
    const answered = Promise.all(claimers.map(async (worker) => {
        const body = { queues: [queue], worker, max: 1, waitMs, leaseMs: 60_000 };
        const res = await request(`${server.url}/v1/jobs/lease`,
            { method: 'POST', headers, body, agent });
        got.push(...res.json.jobs);
    }));
    const hangUp = () => {
        answered.catch(() => {}); // They are cut off.
        agent.destroy();
    };
    return { got, answered, hangUp };
}

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
    const hydrate = await hand.take('hydrate', runId);
    const waiting = claim(queue, 30_000);
    await server.untilParked(CLAIMERS); // They wait before the work is there.
    assert.equal((await hand.complete(hydrate)).ok, true);
    await until('one of them to have it', () => waiting.got.length > 0);
    await server.untilParked(CLAIMERS - 1);
    const late = claim(queue, 0);
    await late.answered;
    assert.deepEqual(late.got, [], 'nobody who comes later has it');
    waiting.hangUp();
    assert.equal(waiting.got.length, 1, 'one of fifty has it');
    const [job] = waiting.got;
    assert.equal(job.payload.runId, runId);
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
