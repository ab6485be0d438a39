// sink_rabbitmq.test.mjs - events go to an exchange of a real RabbitMQ.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertArrived, brokerSuite, change, keyOf, logOf, untilCaughtUp, untilFails, untilSink,
    withBroker } from './lib/broker_suite.mjs';
import { openRabbitMq } from './lib/brokers.mjs';

describe('a sink that is an exchange of RabbitMQ', { concurrency: 1 }, () => {
    let rabbit;
    before(async () => { rabbit = await openRabbitMq(); });
    after(() => rabbit.close());

    brokerSuite(async () => {
        const broker = rabbit.share('drover.events'); // As it is called by default.
        await broker.bind();
        return broker;
    }, ({ routingKey, persistent, key, event }) =>
        assert.deepEqual([routingKey, persistent, key], [event.type, true, keyOf(event)]),
    process.env.DROVER_LONG ? 3 : 1);

    it('waits for a queue that takes an event, and keeps the order of each key', () =>
        withBroker(() => rabbit.share('unbound'), async (server, broker) => {
            await broker.bind(broker.queue, 'agent.queue.paused');
            await change(server, 1);
            await untilCaughtUp(server);
            await Promise.all(['a', 'b'].map((queue) => change(server, 20, queue)));
            const { lastError } = await untilFails(server);
            assert.match(lastError, /no queue is bound .* for agent\.queue\.resumed: bind one/);
            await broker.bind();
            await untilCaughtUp(server);
            assertArrived(await broker.read(), await logOf(server));
        }));

    it('may refuse for good what no queue takes', () =>
        withBroker(() => rabbit.share('refused'), async (server, broker) => {
            await broker.bind(broker.queue, 'agent.queue.paused');
            await change(server, 8);
            const { deadLetters } = await untilCaughtUp(server);
            const log = await logOf(server);
            assertArrived(await broker.read(),
                log.filter(({ type }) => type !== 'agent.queue.resumed'));
            assert.equal(deadLetters, 4);
        }, ', unroutable: refuse'));

    it('keeps the order of each key when a queue is full', () =>
        withBroker(() => rabbit.share('full'), async (server, broker) => {
            await broker.bind(broker.queue, '#', 20);
            await Promise.all(['a', 'b', 'c'].map((queue) => change(server, 30, queue)));
            await untilFails(server);
            for (;;) { // A consumer that makes room now and then.
                broker.taken.push(...await broker.take(broker.queue, 7));
                const { lag } = await untilSink(server, 'answer', () => true);
                if (lag === 0) break;
            }
            assertArrived(await broker.read(), await logOf(server));
        }));
});
