// queues_cli.test.mjs - queues on the command line, and views that refresh.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { launch, launchOnTerminal } from './lib/cli.mjs';
import { start } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

let server;
let queues = 0;
const DONE = 0, USAGE = 2, REFUSED = 4, UNREACHABLE = 5, INTERRUPTED = 130;
const newQueue = () => `cli.q${++queues}`;
const reach = () => ({ DROVER_URL: server.url, DROVER_TOKEN: server.token });

async function cli(status, ...args) {
    const { code, out, err } = await launch(args, reach()).ended;
    assert.equal(code, status, `drover ${args.join(' ')}: exit ${code}\n${out}${err}`);
    return status === DONE ? out : err;
}
const ok = (...args) => cli(DONE, ...args);
const json = async (...args) => JSON.parse(await ok(...args, '--json'));
const config = async (queue) => (await json('queue', 'show', queue)).config;

describe('queues on the command line', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
    });
    after(() => server.discard());

    it('are set rule by rule, each change over the one before', async () => {
        const queue = newQueue();
        await ok('queue', 'set', queue, 'maxLength=10000', 'backoff.baseMs=500', 'ordering=none');
        await ok('queue', 'set', queue, 'backoff.maxMs=9000', 'maxLength=');
        assert.deepEqual(await config(queue),
            { backoff: { baseMs: 500, maxMs: 9000 }, ordering: 'none' });
        await ok('queue', 'set', queue, 'backoff.baseMs=', 'backoff.maxMs=');
        assert.deepEqual(await config(queue), { ordering: 'none' });
    });

    it('keep changes that are made at the same time', async () => {
        const queue = newQueue();
        const rules = ['maxLength=1', 'concurrency=2', 'ratePerSecond=3', 'ttlMs=4'];
        await Promise.all(rules.map((rule) => ok('queue', 'set', queue, rule)));
        assert.deepEqual(await config(queue),
            { maxLength: 1, concurrency: 2, ratePerSecond: 3, ttlMs: 4 });
    });

    it('are set from a file as a whole', async () => {
        const queue = newQueue();
        const file = join(server.dir, `${queue}.yaml`);
        await ok('queue', 'set', queue, 'maxLength=5');
        writeFileSync(file, 'leaseMs: 30000\nshed: {dropLowAt: 100}\n');
        await ok('queue', 'set', queue, '--file', file);
        assert.deepEqual(await config(queue), { leaseMs: 30000, shed: { dropLowAt: 100 } });
        const { child, ended } = launch(['queue', 'set', queue, '--file', '-'], reach(), 'pipe');
        child.stdin.end('{"leaseMs": 20000}');
        assert.equal((await ended).code, DONE);
        assert.deepEqual(await config(queue), { leaseMs: 20000 });
    });

    it('refuse rules that they do not know, by name', async () => {
        assert.match(await cli(REFUSED, 'queue', 'set', newQueue(), 'maxLenght=5'), /maxLenght/);
        assert.match(await cli(REFUSED, 'queue', 'set', newQueue(), 'maxLength=many'),
            /maxLength/);
        await cli(USAGE, 'queue', 'set', newQueue(), 'maxLength');
        await cli(USAGE, 'queue', 'set', newQueue());
        await cli(USAGE, 'queue', 'set', newQueue(), 'a=1', '--file', 'x');
    });

    it('show what was set beside what holds', async () => {
        const queue = newQueue();
        await ok('queue', 'set', queue, 'maxLength=77');
        await ok('enqueue', queue, 'send');
        const shown = await ok('queue', 'show', queue);
        assert.match(shown, /^Jobs +1 queued$/m);
        assert.match(shown, /^maxLength +77 +set$/m);
        assert.match(shown, /^backoff\.baseMs +2000 +default$/m);
        assert.match(shown, /^Level +normal$/m);
        const listed = await ok('queue', 'list');
        assert.match(listed, /^QUEUE +LEVEL +PAUSED +QUEUED/m);
        assert.match(listed, new RegExp(`^${queue} +normal +no +1 `, 'm'));
    });

    it('are paused and resumed', async () => {
        const queue = newQueue();
        await ok('enqueue', queue, 'send');
        await ok('queue', 'pause', queue);
        assert.match(await ok('queue', 'show', queue), /^Paused +yes/m);
        await ok('consume', queue, '--drain', '--', 'true');
        assert.equal((await json('queue', 'show', queue)).jobs.queued, 1);
        await ok('queue', 'resume', queue);
        await ok('consume', queue, '--drain', '--', 'true');
        assert.equal((await json('queue', 'show', queue)).jobs.succeeded, 1);
    });

    it('take jobs with all their options', async () => {
        const queue = newQueue();
        const { jobs: [{ id }] } = await json('enqueue', queue, 'send', '{"to": "ann"}', '--key',
            'ann', '--dedup', 'd1', '--delay', '3600', '--priority', '7', '--ttl', '7200',
            '--max-attempts', '9', '--dependency', 'smtp');
        const job = await server.get(`/v1/jobs/${id}`);
        assert.deepEqual([job.state, job.priority, job.payload, job.orderingKey, job.maxAttempts],
            ['scheduled', 7, { to: 'ann' }, 'ann', 9]);
        assert.match(await ok('enqueue', queue, 'send', '--dedup', 'd1'), /already/);
    });

    it('take a payload from a file and from standard input', async () => {
        const queue = newQueue();
        const file = join(server.dir, `${queue}.json`);
        writeFileSync(file, '[1, 2]\n');
        const { jobs: [{ id }] } = await json('enqueue', queue, 'send', `@${file}`);
        assert.deepEqual((await server.get(`/v1/jobs/${id}`)).payload, [1, 2]);
        const { child, ended } = launch(['enqueue', queue, 'send', '-', '--json'], reach(), 'pipe');
        child.stdin.end('"text"');
        const { jobs: [second] } = JSON.parse((await ended).out);
        assert.equal((await server.get(`/v1/jobs/${second.id}`)).payload, 'text');
        assert.match(await cli(USAGE, 'enqueue', queue, 'send', 'text'), /JSON/);
        await cli(USAGE, 'enqueue', queue, 'send', '@/no/such/file');
    });
});

describe('a view that refreshes', { concurrency: 4 }, () => {
    before(async () => {
        server = await start({ args: ['--workers', '0'] });
        await server.post('/v1/jobs', { jobs: [{ queue: 'views', type: 'x' }] });
    });
    after(() => server.discard());

    const views = [['queue', 'list'], ['queue', 'show', 'views'], ['dlq', 'list'], ['workers'],
        ['tasks'], ['runs']];
    for (const view of views) {
        it(`is there for drover ${view.join(' ')}, one document a line with --json`, async () => {
            const { child, result, ended } = launch(
                [...view, '--watch', '--every', '0.1', '--json'], reach());
            await until('three lines', () => result.out.split('\n').length > 3);
            child.kill('SIGINT');
            const { code, out } = await ended;
            assert.equal(code, INTERRUPTED);
            for (const line of out.trimEnd().split('\n')) JSON.parse(line);
        });
    }

    it('prints block after block where there is no terminal', async () => {
        const { child, result, ended } = launch(
            ['queue', 'list', '--watch', '--every', '0.1'], reach());
        await until('three blocks', () => result.out.split('\n\n').length > 2);
        child.kill('SIGINT');
        const { code, out } = await ended;
        assert.equal(code, INTERRUPTED);
        const blocks = out.split('\n\n');
        assert.ok(blocks.every((block) => /^QUEUE.*\nviews /.test(block)), out);
        assert.ok(!out.includes('\u001b'));
    });

    it('ends as the command does when it cannot begin', async () => {
        const env = { DROVER_URL: 'http://127.0.0.1:1', DROVER_TOKEN: 'x' };
        const { code, err } = await launch(['queue', 'list', '--watch'], env).ended;
        assert.equal(code, UNREACHABLE);
        assert.match(err, /127\.0\.0\.1:1/);
        await cli(USAGE, 'queue', 'list', '--watch', '--every', '0.01');
    });

    it('draws in place on a terminal, cuts what does not fit, and leaves it sane', async (t) => {
        if (spawnSync('script', ['--version']).error) return t.skip('script(1) is not here');
        const { child, result, ended } = launchOnTerminal(
            ['queue', 'show', 'views', '--watch', '--every', '0.1'], reach(), { rows: 8 });
        const screens = () => result.out.split('\u001b[H').slice(1);
        await until('three screens', () => screens().length > 3);
        child.stdin.write('\u0003');
        const { code, out } = await ended;
        assert.equal(code, INTERRUPTED);
        for (const screen of screens().slice(0, 3)) {
            const lines = screen.split('\n');
            assert.match(lines[0], /^drover queue show +every 0.1 s +\d\d:\d\d:\d\d/);
            assert.match(lines[1], /^Queue +views/);
            assert.equal(lines.length, 8, screen);
            assert.match(lines[7], /^\.\.\. \d+ more lines than fit/);
        }
        assert.ok(out.startsWith('\u001b[?25l'), 'the cursor is hidden');
        assert.match(out, /\u001b\[\?7h\u001b\[\?25h\r+\n$/, 'and comes back');
    });
});

describe('a view of a server that goes away', () => {
    it('says so and goes on when it is back', async (t) => {
        if (spawnSync('script', ['--version']).error) return t.skip('script(1) is not here');
        server = await start({ args: ['--workers', '0'] });
        const args = ['queue', 'list', '--watch', '--every', '0.1'];
        const terminal = launchOnTerminal(args, reach());
        const pipe = launch(args, reach());
        await until('something to be seen', () =>
            /No queues/.test(terminal.result.out) && /No queues/.test(pipe.result.out));
        await server.crash();
        await until('it to be noticed', () =>
            /server unreachable, trying again/.test(terminal.result.out) &&
            /server unreachable, trying again/.test(pipe.result.err));
        await server.startAgain();
        await server.post('/v1/jobs', { jobs: [{ queue: 'back', type: 'x' }] });
        await until('the news', () =>
            /back +normal/.test(terminal.result.out) && /back +normal/.test(pipe.result.out));
        terminal.child.stdin.write('\u0003');
        pipe.child.kill('SIGINT');
        assert.equal((await terminal.ended).code, INTERRUPTED);
        const { code, err } = await pipe.ended;
        assert.equal(code, INTERRUPTED);
        assert.equal(err.match(/trying again/g).length, 1, 'said once');
        await server.discard();
    });
});
