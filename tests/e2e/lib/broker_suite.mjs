// broker_suite.mjs - what holds of every broker that events are copied to.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { callDrover } from './cli.mjs';
import { assertCloudEvent } from './cloudevents.mjs';
import { fixes } from './git.mjs';
import { start } from './server.mjs';
import { until } from './wait.mjs';

export const sinkConfig = (members) =>
    ({ config: `workers: 2\nsinks:\n  - {name: bus, ${members}}\n` });
export const logOf = (server) => server.list('/v1/events?limit=200');
export const statusOf = async (server) =>
    (await server.list('/v1/sinks')).find(({ name }) => name === 'bus');

export function untilSink(server, what, look) {
    return until(`the sink to ${what}`, async (note) => {
        const status = note(await statusOf(server));
        return look(status) ? status : null;
    });
}

export const untilCaughtUp = (server) => untilSink(server, 'have everything',
    ({ state, lag }) => state === 'running' && lag === 0);

// After some failures in a row it tries single events now and then: "open".
export const untilFails = (server) => untilSink(server, 'fail',
    ({ state }) => state === 'retrying' || state === 'open');

// A change of a queue is one event.
export async function change(server, count, queue = 'noise') {
    for (let i = 0; i < count; i++)
        await server.post(`/v1/queues/${queue}/${i % 2 ? 'resume' : 'pause'}`);
}

export const keyOf = (event) => event.runid ?? event.taskid ?? event.data?.repositoryId ??
    event.subject;

// Repeated ones left out: the first one of an id counts.
export const once = (messages) => [...new Map(messages.map((each) => [each.id, each])).values()];

function byKey(events) {
    const keys = new Map();
    for (const event of events) {
        const key = keyOf(event);
        keys.set(key, [...keys.get(key) ?? [], event]);
    }
    return keys;
}

// Each event of the log arrived, as it is there, and in order within its run, task or other key.
export function assertArrived(messages, log) {
    const arrived = byKey(once(messages).map(({ event }) => event));
    const wanted = byKey(log);
    for (const [key, events] of wanted) assert.deepEqual(arrived.get(key), events, key);
    assert.equal(arrived.size, wanted.size);
}

async function finishRuns(server, repo, count) {
    await Promise.all(Array.from({ length: count }, async () => {
        const { runId } = await server.finish(repo.name, 'completed');
        await server.untilCleaned(runId);
    }));
}

async function assertAway(server) {
    const behind = await statusOf(server);
    assert.ok(behind.lag > 10 && behind.lagSeconds > 0, JSON.stringify(behind));
    const { text } = await server.call('GET', '/metrics');
    const lag = Number(/^drover_sink_lag\{sink="bus"\} (\d+)$/m.exec(text)[1]);
    assert.ok(lag >= behind.lag, `${lag} of ${behind.lag}`);
    assert.match((await callDrover(server, ['sinks'])).stdout, /bus .* (retrying|open) /);
}

async function assertBack(server) {
    const status = await untilCaughtUp(server);
    assert.deepEqual([status.lastError, status.deadLetters], [null, 0]);
    const { text } = await server.call('GET', '/metrics');
    assert.match(text, /^drover_sink_lag\{sink="bus"\} 0$/m);
}

// Kills the broker while events are on their way, and starts it again after `body`.
async function whileAway(server, broker, body) {
    const { cursor } = await statusOf(server);
    const noise = Promise.all(['a', 'b', 'c'].map((queue) => change(server, 60, queue)));
    await untilSink(server, 'copy events', (status) => status.cursor > cursor + 10);
    await broker.stop();
    await noise;
    await change(server, 2); // Or all of it had arrived before.
    await untilFails(server);
    await body();
    await broker.start();
}

// Runs body(server, broker) with a broker of brokers.mjs and a server whose sink it is.
export async function withBroker(open, body, more = '') {
    const broker = await open();
    const server = await start(sinkConfig(broker.sink + more));
    try {
        await body(server, broker);
    } finally {
        await server.discard();
        await broker.close();
    }
}

// check(message) looks at what only this broker has.
export function brokerSuite(open, check, kills = 3) {
    it('has every event in order, also of the time when it was away', () =>
        withBroker(open, async (server, broker) => {
            const repo = await server.repository('acme/bus', fixes);
            await finishRuns(server, repo, 2);
            await untilCaughtUp(server);
            const first = await broker.read();
            assertArrived(first, await logOf(server));
            for (const message of first) {
                assertCloudEvent(message.event);
                assert.equal(message.id, message.event.id);
                assert.match(message.contentType, /^application\/cloudevents\+json/);
                check(message);
            }
            for (let kill = 0; kill < kills; kill++)
                await whileAway(server, broker, async () => {
                    if (kill > 0) return;
                    await finishRuns(server, repo, 1); // The rest of drover is unaffected.
                    await assertAway(server);
                });
            await assertBack(server);
            const messages = await broker.read(), log = await logOf(server);
            assertArrived(messages, log);
            const repeated = messages.length - log.length;
            assert.ok(repeated <= kills * 1024, `${repeated} repeated of ${log.length}`);
        }));
}
