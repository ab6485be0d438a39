/*
 * bare.h - the client libraries of brokers in a loop, without drover: what relays are compared to.
 *
 * The same messages with the same settings, as many on their way as the library takes.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H
#include "sink/sink.h"

struct bare_load {
    const struct sink_record *records;
    size_t count;
};

/* Each ends the process when something fails, and returns when all of it is confirmed. */
void bare_file(const struct bare_load *load, const char *path); /* fsync per SINK_BATCH_RECORDS */

/* JetStream; a stream NAME with the subject NAME.> is made first. */
void bare_nats(const struct bare_load *load, int port, const char *name);

/* librdkafka's mock cluster in this process; NULL at the end. */
struct bare_kafka;
struct bare_kafka *bare_kafka_open(void);
const char *bare_kafka_brokers(const struct bare_kafka *kafka);
void bare_kafka_close(struct bare_kafka *kafka);
void bare_kafka(const struct bare_load *load, const struct bare_kafka *kafka, const char *topic);

/* A durable topic exchange NAME with a durable queue for all of it. */
void bare_rabbitmq_bind(int port, const char *name);
void bare_rabbitmq(const struct bare_load *load, int port, const char *name);
#endif
