// sink_kafka.test.mjs - events go to topics of Kafka: librdkafka's mock cluster.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertArrived, brokerSuite, keyOf, logOf, untilCaughtUp, withBroker } from
    './lib/broker_suite.mjs';
import { openKafka } from './lib/brokers.mjs';
import { fixes } from './lib/git.mjs';

describe('a sink that is a topic of Kafka', { concurrency: 2 }, () => {
    const partitions = new Map();
    brokerSuite(openKafka, ({ key, partition, event }) => {
        assert.equal(key, keyOf(event));
        assert.equal(partitions.get(key) ?? partition, partition);
        partitions.set(key, partition);
    });

    it('may be one topic for each context', () =>
        withBroker(openKafka, async (server, broker) => {
            const repo = await server.repository('acme/topics', fixes);
            const { runId } = await server.finish(repo.name, 'completed');
            await server.untilCleaned(runId);
            await untilCaughtUp(server);
            const log = await logOf(server);
            const contexts = new Set(log.map(({ type }) => type.split('.')[1]));
            assert.ok(contexts.has('run') && contexts.has('task') && contexts.size > 4);
            for (const context of contexts)
                assertArrived(await broker.read(`agent.${context}.events.v1`),
                    log.filter(({ type }) => type.split('.')[1] === context));
        }, ', topic: "agent.{context}.events.v1"'));
});
