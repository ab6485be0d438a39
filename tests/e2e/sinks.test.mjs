// sinks.test.mjs - events are copied to a file: each one, in order, also when the server is killed,
// the path cannot be written, or several nodes share the database.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync,
    symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { callDrover } from './lib/cli.mjs';
import { assertCloudEvent, assertHistory } from './lib/cloudevents.mjs';
import { clusterUrl } from './lib/cluster.mjs';
import { makeDatabase } from './lib/database.mjs';
import { fixes } from './lib/git.mjs';
import { discardAll, makeDirectory, Server } from './lib/server.mjs';
import { until } from './lib/wait.mjs';

const sink = (path, more = '') => `  - {name: audit, type: file, path: ${path}${more}}\n`;
const config = (sinks, workers = 2) => ({ config: `workers: ${workers}\nsinks:\n${sinks}` });

// Every line of the file, which must be whole.
function linesOf(path) {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    assert.ok(text === '' || text.endsWith('\n'), 'the last line is torn');
    return text.split('\n').slice(0, -1).map((line) => JSON.parse(line));
}

// How many lines are whole by now: the server may be in the middle of a write.
const countLines = (path) =>
    existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;

const logOf = (server) => server.list('/v1/events?limit=200');
const statusOf = async (server, name = 'audit') =>
    (await server.list('/v1/sinks')).find((each) => each.name === name);

// Its deliveries fail: after some of them its breaker is open.
function untilFailing(server, name) {
    return until('the sink to fail', async (note) => {
        const status = note(await statusOf(server, name));
        return ['retrying', 'open'].includes(status.state) ? status : null;
    });
}

// All that is in the log by now is in the sink.
function untilCaughtUp(server, name) {
    return until('the sink to have everything', async (note) => {
        const status = note(await statusOf(server, name));
        return status.state === 'running' && status.lag === 0 ? status : null;
    });
}

const ids = (events) => events.map(({ id }) => id);

// A change of a queue is one event.
async function change(server, count) {
    for (let i = 0; i < count; i++)
        await server.post(`/v1/queues/noise/${i % 2 ? 'resume' : 'pause'}`);
}

// Runs a test with servers that it names; each is discarded at the end.
function withServers(name, body) {
    it(name, async (t) => {
        const servers = [];
        const make = (options) => {
            servers.push(new Server(options));
            return servers.at(-1);
        };
        try {
            await body(make, t);
            await discardAll(servers);
        } finally {
            for (const each of servers) each.killNow();
        }
    });
}

describe('a sink of events', { concurrency: 3 }, () => {
    withServers('has each event of several runs once and in order', async (make) => {
        const path = join(makeDirectory(), 'events.ndjson');
        const server = make(config(sink(path)));
        await server.start();
        const repo = await server.repository('acme/sink', fixes);
        const runs = await Promise.all([1, 2, 3].map(() => server.finish(repo.name, 'completed')));
        await Promise.all(runs.map(({ runId }) => server.untilCleaned(runId)));
        const status = await untilCaughtUp(server);
        assert.deepEqual(linesOf(path), await logOf(server));
        for (const event of linesOf(path)) assertCloudEvent(event);
        for (const { taskId } of runs)
            assertHistory(linesOf(path).filter((event) => event.taskid === taskId));
        assert.deepEqual([status.name, status.type, status.lag, status.lagSeconds,
            status.lastError, status.deadLetters, status.lastDeadLetter],
        ['audit', 'file', 0, 0, null, 0, null]);
        const { text } = await server.call('GET', '/metrics');
        assert.match(text, /^drover_sink_lag\{sink="audit"\} 0$/m);
        const table = await callDrover(server, ['sinks']);
        assert.equal(table.status, 0, table.stderr);
        assert.match(table.stdout, /^audit +file +\S+events\.ndjson +running +0 /m);
        const { stdout } = await callDrover(server, ['sinks', '--json']);
        assert.deepEqual(JSON.parse(stdout).items[0], await statusOf(server));
        const { token } = await server.post('/v1/tokens', { name: 'eyes', role: 'viewer' });
        assert.equal((await server.call('GET', '/v1/sinks', { token })).status, 200);
        const worker = await server.post('/v1/tokens', { name: 'hands', role: 'worker' });
        assert.equal((await server.call('GET', '/v1/sinks', { token: worker.token })).status, 403);
    });

    withServers('may want some types only, from the end of the log on', async (make) => {
        const dir = makeDirectory();
        const server = make(config(sink(join(dir, 'all'))));
        await server.start();
        await change(server, 3);
        await untilCaughtUp(server);
        await server.stop();
        const late = make({ ...config(sink(join(dir, 'all')) +
            `  - {name: late, type: file, path: ${join(dir, 'late')}, from: end,` +
            ' types: [agent.queue.resumed]}\n') });
        late.data = server.data; // The same one, with another configuration.
        late.db = server.db;
        await late.start();
        await until('the new sink to start',
            async () => (await statusOf(late, 'late')).state === 'running');
        const before = (await logOf(late)).length;
        await change(late, 4);
        await untilCaughtUp(late);
        await untilCaughtUp(late, 'late');
        const log = await logOf(late);
        assert.deepEqual(ids(linesOf(join(dir, 'all'))), ids(log));
        assert.deepEqual(ids(linesOf(join(dir, 'late'))),
            ids(log.slice(before).filter(({ type }) => type === 'agent.queue.resumed')));
    });

    withServers('loses nothing when the server is killed, and repeats only at the seam',
        async (make) => {
            const KILLS = 4;
            const path = join(makeDirectory(), 'events.ndjson');
            const server = make(config(sink(path)));
            await server.start();
            const repo = await server.repository('acme/killed', fixes);
            const submitted = [];
            for (let kill = 0; kill < KILLS; kill++) {
                submitted.push(await server.submit(repo.name));
                const before = countLines(path);
                const noise = change(server, 1000).catch(() => {}); // Until it is killed.
                await until('events to arrive', () => countLines(path) > before + 60);
                await server.crash();
                await noise;
                if (kill === 0) appendFileSync(path, '{"specversion":"1.0","id":"to'); // Torn.
                await server.start();
            }
            for (const { taskId } of submitted) await server.untilTask(taskId, 'completed');
            for (const { runId } of submitted) await server.untilCleaned(runId);
            await untilCaughtUp(server);
            const lines = linesOf(path), log = await logOf(server);
            assert.deepEqual([...new Map(lines.map((event) => [event.id, event])).values()], log);
            const place = new Map(log.map(({ id }, i) => [id, i]));
            const steps = lines.slice(1).map(({ id }, i) => place.get(id) - place.get(lines[i].id));
            assert.ok(steps.every((step) => step <= 1), 'an event is missing before its successor');
            const seams = steps.filter((step) => step !== 1);
            assert.ok(seams.length <= KILLS, `${seams.length} seams after ${KILLS} kills`);
        });

    withServers('whose path cannot be written to says why, and catches up', async (make) => {
        const dir = makeDirectory();
        const path = join(dir, 'missing', 'events.ndjson');
        const server = make(config(sink(path)));
        await server.start();
        const { lastError } = await untilFailing(server);
        assert.match(lastError, /No such file/);
        const repo = await server.repository('acme/unharmed', fixes);
        const { runId } = await server.finish(repo.name, 'completed');
        await server.untilCleaned(runId);
        const behind = await statusOf(server);
        assert.ok(behind.lag > 10 && behind.lagSeconds > 0, JSON.stringify(behind));
        const { stdout } = await callDrover(server, ['sinks']);
        assert.match(stdout, /(retrying|open) .*No such file/);
        mkdirSync(join(dir, 'missing'));
        await untilCaughtUp(server);
        assert.deepEqual(linesOf(path), await logOf(server));
        assert.equal((await statusOf(server)).lastError, null);
        rmSync(join(dir, 'missing'), { recursive: true }); // Under the open file.
        await change(server, 1);
        await untilFailing(server);
        mkdirSync(join(dir, 'missing'));
        await untilCaughtUp(server);
        assert.deepEqual(ids(linesOf(path)), ids((await logOf(server)).slice(-1)));
    });

    withServers('cannot be a file of drover\'s own', async (make) => {
        const link = join(makeDirectory(), 'link');
        const server = make(config(sink(join(link, 'drover.db'))));
        await server.start();
        await server.stop();
        symlinkSync(server.data, link);
        await assert.rejects(server.start(), /drover's own files.*outside of the data directory/s);
        server.ending = true; // As it should.
    });

    withServers('that another program rotates continues in a new file', async (make) => {
        const path = join(makeDirectory(), 'events.ndjson');
        const server = make(config(sink(path), 0));
        await server.start();
        await change(server, 4);
        await untilCaughtUp(server);
        renameSync(path, `${path}.old`);
        await change(server, 4);
        await untilCaughtUp(server);
        assert.deepEqual([...linesOf(`${path}.old`), ...linesOf(path)], await logOf(server));
        assert.equal(linesOf(path).length, 4);
    });

    withServers('is driven by one of two nodes at a time, and by the other when that one dies',
        async (make) => {
            const db = makeDatabase(clusterUrl());
            const dir = makeDirectory();
            const paths = ['a', 'b'].map((name) => join(dir, name));
            const nodes = paths.map((path) => make({ ...config(sink(path)), db }));
            await Promise.all(nodes.map((node) => node.start()));
            const repo = await nodes[0].repository('acme/nodes', fixes);
            const both = () => paths.flatMap(linesOf);
            const [{ runId }] = await Promise.all([nodes[0].finish(repo.name, 'completed'),
                ...nodes.map((node, i) => node.post(`/v1/queues/noise${i}/pause`)),
                change(nodes[0], 100), change(nodes[1], 100)]);
            await nodes[0].untilCleaned(runId);
            await untilCaughtUp(nodes[0]);
            assert.deepEqual(both(), await logOf(nodes[0]));
            const status = await statusOf(nodes[1]);
            assert.equal(status.target, paths[1]);
            assert.deepEqual(await statusOf(nodes[0]), { ...status, target: paths[0] });
            const driver = paths.findIndex((path) => linesOf(path).length > 0);
            assert.equal(linesOf(paths[1 - driver]).length, 0, 'both nodes drive it');
            await nodes[driver].crash();
            const other = nodes[1 - driver];
            await change(other, 50);
            await untilCaughtUp(other);
            const log = await logOf(other);
            const copied = [...linesOf(paths[driver]), ...linesOf(paths[1 - driver])];
            assert.deepEqual([...new Map(copied.map((event) => [event.id, event])).values()], log);
            await nodes[driver].start();
        });
});
