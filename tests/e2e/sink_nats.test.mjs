// sink_nats.test.mjs - events go to a stream of a real NATS server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { assertArrived, brokerSuite, change, logOf, sinkConfig, untilCaughtUp, untilFails,
    untilSink, withBroker } from './lib/broker_suite.mjs';
import { openNats } from './lib/brokers.mjs';
import { start } from './lib/server.mjs';

describe('a sink that is a stream of NATS', { concurrency: 2 }, () => {
    brokerSuite(openNats, ({ subject, event }) => assert.equal(subject, `drover.${event.type}`));

    it('shares its stream with other writers, and leaves out what the server cannot take', () =>
        withBroker(() => openNats('max_payload: 2000\n'), async (server, broker) => {
            await untilSink(server, 'connect', ({ state }) => state === 'running');
            await broker.use(async (client) => {
                const { config } = await client.stream('drover');
                assert.deepEqual([config.subjects, config.storage, config.duplicate_window],
                    [['drover.>'], 'file', 600e9]);
                let writing = true;
                const other = (async () => {
                    while (writing) await client.request('drover.other', 'hello');
                })();
                await Promise.all(['a', 'b', 'c'].map((queue) => change(server, 40, queue)));
                const large = { specversion: '1.0', id: 'large', source: 'https://ci.example.com',
                    type: 'com.example..large', data: 'x'.repeat(3000) };
                const small = { ...large, id: 'small', data: 'x' };
                for (const event of [large, small])
                    await server.call('POST', '/v1/events', { body: event,
                        headers: { 'content-type': 'application/cloudevents+json' } });
                const { deadLetters, lastDeadLetter } = await untilCaughtUp(server);
                writing = false;
                await other;
                assert.equal(deadLetters, 1);
                assert.match(lastDeadLetter.message, /max_payload/);
                const own = (await client.messages('drover'))
                    .filter(({ subject }) => subject !== 'drover.other');
                assert.equal(own.at(-1).subject, 'drover.com.example._.large');
                const log = (await logOf(server)).filter(({ id }) => id !== 'large');
                assertArrived(own.map(({ headers, text }) => ({ id: headers['Nats-Msg-Id'],
                    event: JSON.parse(text) })), log);
                assert.equal(own.length, log.length);
            });
        }));

    it('logs in with a password that is shown nowhere, and loads no other client', async () => {
        const broker = await openNats('authorization { user: drover, password: hunter2 }\n');
        const server = await start({ ...sinkConfig(
            `${broker.sink}, user: drover, passwordEnv: BUS_PASSWORD`),
        env: { BUS_PASSWORD: 'hunter3' } });
        try {
            const { lastError } = await untilFails(server);
            assert.match(lastError, /auth/i);
            await server.stop();
            server.env.BUS_PASSWORD = 'hunter2';
            await server.start();
            await untilCaughtUp(server);
            const shown = JSON.stringify(await server.list('/v1/sinks'));
            assert.doesNotMatch(shown + lastError + server.said(), /hunter/);
            const loaded = readFileSync(`/proc/${server.child.pid}/maps`, 'utf8');
            assert.match(loaded, /libnats/);
            assert.doesNotMatch(loaded, /librdkafka|librabbitmq/);
        } finally {
            await server.discard();
            await broker.close();
        }
    });
});
