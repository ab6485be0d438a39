// consume.test.mjs - drover consume: a command for every job of a queue.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch } from './lib/cli.mjs';
import { newMark, processesWith, untilAsleep, untilGone } from './lib/procs.mjs';
import { makeDirectory, start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
let queues = 0;
const DONE = 0, FAILED = 1, USAGE = 2, INTERRUPTED = 130;
const newQueue = () => `consume.q${++queues}`;
const job = (id) => server.get(`/v1/jobs/${id}`);

// Jobs whose type is what a shell makes of them: see doType.
async function enqueue(queue, types, more = {}) {
    const jobs = types.map((type, n) => ({ queue, type, payload: { n }, ...more }));
    return (await server.post('/v1/jobs', { jobs })).jobs.map(({ id }) => id);
}
const doType = ['--', 'sh', '-c', 'eval "$DROVER_TYPE"'];

function consume(queue, ...args) {
    const env = { DROVER_URL: server.url, DROVER_TOKEN: server.token };
    return launch(['consume', queue, ...args], env);
}

async function consumed(status, queue, ...args) {
    const { code, out, err } = await consume(queue, ...args).ended;
    assert.equal(code, status, out + err);
    return err;
}

function untilState(id, state) {
    return until(`job ${id} to be ${state}`, async (note) => {
        const seen = note(await job(id));
        return seen.state === state && seen;
    });
}

// Somebody else takes the job, as soon as it can be had.
async function takeAway(queue) {
    const body = { queues: [queue], worker: 'other', max: 1, waitMs: 10_000, leaseMs: 60_000 };
    return until(`a job of ${queue}`, async () =>
        (await server.post('/v1/jobs/lease', body)).jobs[0]);
}

async function complete({ id, epoch }) {
    const { jobs } = await server.post('/v1/jobs/complete', { jobs: [{ id, epoch }] });
    assert.equal(jobs[0].ok, true);
}

describe('drover consume', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '1'] });
    });
    after(() => server.discard());

    it('lets the end of the command decide over the job', async () => {
        const queue = newQueue();
        await server.ok('PUT', `/v1/queues/${queue}`, { backoff: { baseMs: 3_600_000 } });
        const last = { state: 'dead_letter' }, again = { state: 'scheduled' };
        const table = [
            ['cat', { state: 'succeeded', result: { n: 0 } }],
            ['echo hello', { state: 'succeeded', result: { output: 'hello' } }],
            ['echo 42', { state: 'succeeded', result: { output: 42 } }],
            ['true', { state: 'succeeded', result: {} }],
            ['echo $DROVER_QUEUE $DROVER_ATTEMPT $DROVER_HEADERS',
                { state: 'succeeded', result: { output: `${queue} 1 {}` } }],
            ['echo one >&2; echo two >&2; exit 65',
                { ...last, errorCode: 'exit_65', errorMessage: 'one\ntwo' }],
            ['exit 64', { ...last, errorCode: 'exit_64' }],
            ['exit 77', { ...last, errorCode: 'exit_77' }],
            ['exit 75', { ...again, errorCode: 'exit_75' }],
            ['exit 1', { ...again, errorCode: 'exit_1' }],
            ['kill -9 $$', { ...again, errorCode: 'signal_9' }],
        ];
        const ids = await enqueue(queue, table.map(([type]) => type));
        const told = await consumed(DONE, queue, '--drain', '--slots', '3', ...doType);
        for (const [index, [type, wanted]] of table.entries()) {
            const seen = await job(ids[index]);
            for (const [key, value] of Object.entries(wanted))
                assert.deepEqual(seen[key], value, `${type}: ${key}`);
            assert.match(told, new RegExp(`^${ids[index]} `, 'm'), 'one line for each job');
        }
        assert.match(told, /^5 done, 6 failed$/m);
    });

    it('cuts a result that is too long, and takes binary output', async () => {
        const queue = newQueue();
        const [long, binary] = await enqueue(queue,
            ['head -c 100000 /dev/zero | tr "\\0" x', 'printf "a\\000\\377b"']);
        await consumed(DONE, queue, '--drain', '--quiet', ...doType);
        const { result } = await job(long);
        assert.equal(result.truncated, true);
        assert.match(result.output, /^x{9000,}$/);
        assert.equal((await job(binary)).result.output, 'a \uFFFDb');
    });

    it('tries again what failed, and ends after as many jobs as it was told', async () => {
        const queue = newQueue();
        await server.ok('PUT', `/v1/queues/${queue}`, { backoff: { baseMs: 1, jitterMs: 0 } });
        const [id] = await enqueue(queue, ['test $DROVER_ATTEMPT -gt 1']);
        await consumed(DONE, queue, '--count', '2', ...doType);
        assert.deepEqual((await job(id)).attempts.map(({ outcome }) => outcome),
            ['failed', 'succeeded']);
    });

    it('ends a command that takes too long', async () => {
        const queue = newQueue();
        const mark = newMark();
        const [id] = await enqueue(queue, [`sleep 3000.${mark}`]);
        await consumed(DONE, queue, '--count', '1', '--timeout', '0.3', ...doType);
        assert.equal((await job(id)).errorCode, 'timed_out');
        await untilGone(mark);
    });

    it('runs as many at the same time as it has slots', async () => {
        const queue = newQueue();
        const dir = makeDirectory();
        const ids = await enqueue(queue, ['a', 'b', 'c']);
        await consumed(DONE, queue, '--count', '3', '--slots', '3', '--', 'sh', '-c',
            `touch ${dir}/$DROVER_TYPE; while [ "$(ls ${dir})" != "$(printf 'a\\nb\\nc')" ];` +
            ' do sleep 0.02; done');
        for (const id of ids) assert.equal((await job(id)).state, 'succeeded');
    });

    it('keeps the lease while the command runs, and is listed as a worker', async () => {
        const queue = newQueue();
        const dir = makeDirectory();
        const [id] = await enqueue(queue, [`until [ -e ${dir}/open ]; do sleep 0.02; done`]);
        const { ended } = consume(queue, '--count', '1', '--lease', '2.4', '--name', `n.${queue}`,
            ...doType);
        const first = await untilState(id, 'leased');
        await until('the lease to be renewed twice', async () => {
            const { leaseUntil } = await job(id);
            return Date.parse(leaseUntil) - Date.parse(first.leaseUntil) > 1200;
        });
        const { items } = await server.get('/v1/workers');
        assert.deepEqual(items.find(({ name }) => name === `n.${queue}`).queues, [queue]);
        writeFileSync(join(dir, 'open'), '');
        assert.equal((await ended).code, DONE);
        assert.equal((await job(id)).attempts.length, 1);
    });

    it('ends the command, with all its children, when the lease is lost', async () => {
        const queue = newQueue();
        const mark = newMark();
        await enqueue(queue, [`sleep 3000.${mark} & wait`]);
        const { child, ended } = consume(queue, '--lease', '1.5', ...doType);
        await untilAsleep(mark);
        child.kill('SIGSTOP');
        const taken = await takeAway(queue);
        child.kill('SIGCONT');
        await untilGone(mark);
        await complete(taken);
        child.kill('SIGTERM');
        const { code, err } = await ended;
        assert.equal(code, DONE);
        assert.match(err, /lost/);
    });

    it('leaves a job that comes back when it is killed', async () => {
        const queue = newQueue();
        const mark = newMark();
        const [id] = await enqueue(queue, [`sleep 3000.${mark}`]);
        const { child, ended } = consume(queue, '--lease', '1.5', ...doType);
        await untilAsleep(mark);
        child.kill('SIGKILL');
        await ended;
        const taken = await takeAway(queue);
        assert.equal(taken.id, id);
        await complete(taken);
        for (const { pid } of processesWith(mark)) process.kill(pid, 'SIGKILL');
    });

    it('lets what runs end at the first Ctrl-C, and gives the rest back', async () => {
        const queue = newQueue();
        const dir = makeDirectory();
        const [first, ...rest] = await enqueue(queue,
            [`until [ -e ${dir}/open ]; do sleep 0.02; done`, 'true', 'true']);
        const { child, ended } = consume(queue, '--max', '3', ...doType);
        for (const id of [first, ...rest]) await untilState(id, 'leased');
        child.kill('SIGINT');
        for (const id of rest) assert.equal((await untilState(id, 'queued')).attempts.length, 1);
        assert.equal((await job(first)).state, 'leased');
        writeFileSync(join(dir, 'open'), '');
        const { code, err } = await ended;
        assert.equal(code, INTERRUPTED, err);
        assert.match(err, /1 done, 2 given back/);
        assert.equal((await job(first)).state, 'succeeded');
        await consumed(DONE, queue, '--drain', ...doType);
    });

    it('ends what runs at the second Ctrl-C, and when the time of grace is over', async () => {
        const queue = newQueue();
        for (const args of [[], ['--grace', '0']]) {
            const mark = newMark();
            const [id] = await enqueue(queue, [`sleep 3000.${mark}`]);
            const { child, ended } = consume(queue, ...args, ...doType);
            await untilAsleep(mark);
            child.kill('SIGINT');
            if (args.length === 0)
                await until('it to wind down', async () => {
                    child.kill('SIGINT');
                    return processesWith(mark).length === 0;
                });
            const { code, err } = await ended;
            assert.equal(code, INTERRUPTED, err);
            await untilGone(mark);
            await complete(await takeAway(queue));
            assert.equal((await job(id)).state, 'succeeded');
        }
    });

    it('gives the job back and ends when the command cannot be started', async () => {
        const queue = newQueue();
        const [id] = await enqueue(queue, ['x']);
        assert.match(await consumed(FAILED, queue, '--', 'no-such-program'), /no-such-program/);
        assert.equal((await job(id)).state, 'queued');
        await consumed(DONE, queue, '--drain', '--', 'true');
    });

    it('refuses what makes no sense', async () => {
        for (const args of [[], ['q'], ['q', '--slots', '4', '--max', '2', '--', 'true'],
            ['q', '--count', '1', '--drain', '--', 'true'], ['q/x', '--', 'true'],
            ['q', '--lease', '0', '--', 'true'], ['q', '--name', 'a b', '--', 'true']])
            assert.equal((await launch(['consume', ...args], {}).ended).code, USAGE, args.join());
    });
});

describe('a consumer of a server that goes away', () => {
    it('keeps the command and tells how it ended when the server is back', async () => {
        server = await start({ args: ['--workers', '0'] });
        const dir = makeDirectory();
        const [id] = await enqueue('away', [`until [ -e ${dir}/open ]; do sleep 0.02; done`]);
        const { ended } = consume('away', '--count', '1', ...doType);
        await untilState(id, 'leased');
        await server.crash();
        writeFileSync(join(dir, 'open'), '');
        await server.startAgain();
        assert.equal((await ended).code, DONE);
        assert.equal((await job(id)).state, 'succeeded');
        await server.discard();
    });
});
