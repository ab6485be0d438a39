/*
 * sink_kafka.c - the sink that is a topic of Kafka, or one for each context.
 *
 *     {name: bus, type: kafka, brokers: ["127.0.0.1:9092"], topic: agent.events.v1}
 *
 *   topic     agent.events.v1, or with {context} in it one for each: agent.{context}.events.v1 has
 *             the events of runs in agent.run.events.v1; those that clients appended are in the
 *             context "external"
 *   key       the partition key: id of the run, else of the task, else of the repository, else the
 *             subject; hashed as Java's client does (murmur2)
 *   headers   content-type: application/cloudevents+json; charset=UTF-8, as the Kafka binding of
 *             CloudEvents asks of structured mode; id: that of the event
 *
 * Invariants
 * 1. A record counts as delivered when all replicas in sync have it (acks=all).
 * 2. The producer is idempotent, so its own retries neither repeat a message nor change the order
 *    of those of one partition.
 * 3. Messages have no time limit of their own, or an earlier one could expire while a later one of
 *    its partition is sent.  What is not acknowledged at the end of a call is taken back at once:
 *    the end of a partition's queue first.  Some of it may have arrived, and is then repeated with
 *    the next batch, from the first record on that failed.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sink/flight.h"
#include "sink/kafka_lib.h"
#include "sink/secret.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    BROKERS_MAX = 8,
    BROKER_BYTES_MAX = 300,
    TOPIC_BYTES_MAX = 249, /* Kafka's own limit. */
    TEXT_BYTES_MAX = 200,
    PATH_BYTES_MAX = 1024,
    PROPERTY_BYTES = 32,
    PURGE_MS = 500,
};
#define CONTEXT     "{context}"
#define EXTERNAL    "external"
#define CLOUD_EVENT "application/cloudevents+json; charset=UTF-8"

struct settings {
    const char *brokers; /* With commas. */
    const char *topic;
    const char *security, *mechanism; /* In librdkafka's words; mechanism: or NULL */
    const char *user;
    struct sink_secret password;
    const char *ca_file;
    const char *target;
};

struct producer {
    const struct settings *settings;
    rd_kafka_t *rk;  /* NULL: to be made by the next batch. */
    uint16_t batch;  /* Tells reports of this batch from those of earlier ones. */
    struct err last; /* What the library said last of brokers that do not answer. */
    struct flight flight;
};

/* ---- configuration ---- */

static void read_brokers(struct fields *fields, struct arena *arena, struct settings *settings)
{
    const struct js *array = NULL;
    CLEANUP(buf_release) struct buf all;
    buf_init(&all, BROKERS_MAX * (BROKER_BYTES_MAX + 1));
    fields_strings(fields, "brokers", FIELD_REQUIRED, BROKERS_MAX,
                   &(struct field_text){1, BROKER_BYTES_MAX}, &array);
    if (array != NULL && js_count(array) == 0)
        fields_fail(fields, "brokers", "brokers must name at least one broker");
    for (size_t i = 0; i < js_count(array) && i < BROKERS_MAX; i++) {
        const char *broker = js_str(js_at(array, i), "");
        if (strpbrk(broker, "/@, ") != NULL)
            fields_fail(fields, "brokers", "a broker is HOST:PORT");
        buf_addf(&all, "%s%s", i > 0 ? "," : "", broker);
    }
    settings->brokers = arena_strdup(arena, buf_text(&all));
}

/* Letters, digits and ._- but for one {context}. */
static bool topic_valid(const char *topic)
{
    const char *context = strstr(topic, CONTEXT);
    for (const char *at = topic; *at != '\0'; at++) {
        if (at == context)
            at += sizeof CONTEXT - 2;
        else if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL)
            return false;
    }
    return !text_same(topic, ".") && !text_same(topic, "..");
}

static void read_topic(struct fields *fields, struct arena *arena, struct settings *settings)
{
    const char *topic = "agent.events.v1";
    fields_string(fields, "topic", FIELD_OPTIONAL,
                  &(struct field_text){1, TOPIC_BYTES_MAX - EVENT_TYPE_MAX}, &topic);
    if (!topic_valid(topic))
        fields_fail(fields, "topic",
                    "topic may hold letters, digits and ._- and one {context}, such as "
                    "agent.{context}.events.v1");
    settings->topic = arena_strdup(arena, topic);
}

static void read_security(struct fields *fields, struct arena *arena, struct settings *settings)
{
    static const char *const securities[] = {"plaintext", "ssl", "sasl_plaintext", "sasl_ssl",
                                             NULL};
    static const char *const mechanisms[] = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", NULL};
    const char *user = NULL, *ca_file = NULL;
    int security = 0, mechanism = 0;
    fields_choice(fields, "security", FIELD_OPTIONAL, securities, &security);
    fields_choice(fields, "mechanism", FIELD_OPTIONAL, mechanisms, &mechanism);
    fields_string(fields, "user", FIELD_OPTIONAL, &(struct field_text){1, TEXT_BYTES_MAX}, &user);
    fields_string(fields, "caFile", FIELD_OPTIONAL, &(struct field_text){1, PATH_BYTES_MAX},
                  &ca_file);
    if (ca_file != NULL && ca_file[0] != '/')
        fields_fail(fields, "caFile", "caFile must be an absolute path");
    settings->password = sink_secret_decode(
        fields, &(struct sink_secret_keys){"passwordEnv", "passwordFile"}, arena);
    bool sasl = text_starts(securities[security], "sasl_");
    if (sasl != (user != NULL) || sasl != sink_secret_named(&settings->password))
        fields_fail(fields, "security",
                    "sasl_plaintext and sasl_ssl need user and passwordEnv or passwordFile, and "
                    "only they have them");
    settings->security = securities[security];
    settings->mechanism = sasl ? mechanisms[mechanism] : NULL;
    settings->user = arena_strdup(arena, user);
    settings->ca_file = arena_strdup(arena, ca_file);
}

static const void *kafka_decode(struct fields *fields, struct arena *arena)
{
    struct settings *settings = arena_array(arena, 1, sizeof *settings);
    *settings = (struct settings){0};
    read_brokers(fields, arena, settings);
    read_topic(fields, arena, settings);
    read_security(fields, arena, settings);
    settings->target = arena_printf(arena, "%s topic %s", settings->brokers, settings->topic);
    return settings;
}

static const char *kafka_target(const void *settings)
{
    return ((const struct settings *)settings)->target;
}

static bool kafka_same(const void *settings, const void *other)
{
    return text_same(kafka_target(settings), kafka_target(other));
}

/* ---- reports of the library, all within rd_kafka_poll ---- */

static bool never_accepted(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
           code == RD_KAFKA_RESP_ERR_INVALID_MSG || code == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

static void miss(struct producer *producer, size_t at, rd_kafka_resp_err_t code)
{
    struct err err;
    (void)!err_set(&err, never_accepted(code) ? RC_TOO_LARGE : RC_UNREACHABLE, "SINK_REFUSED",
                   "Kafka did not keep an event: %s", kafka->rd_kafka_err2str(code));
    flight_missed(&producer->flight, at, never_accepted(code) ? FLIGHT_REFUSED : FLIGHT_FAILED,
                  &err);
}

/* What a message carries: its batch and its place in there. */
static void *mark_of(const struct producer *producer, size_t at)
{
    return (void *)(((uintptr_t)producer->batch << 16) | at);
}

static void take_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx)
{
    (void)rk;
    struct producer *producer = ctx;
    struct flight *flight = &producer->flight;
    uintptr_t mark = (uintptr_t)message->_private;
    size_t at = mark & 0xffff;
    if (mark >> 16 != producer->batch || at >= flight->count || flight->states[at] != FLIGHT_SENT)
        return;
    bool purged = message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                  message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        flight_kept(flight, at);
    else if (purged)
        flight_missed(flight, at, FLIGHT_FAILED, &producer->last);
    else
        miss(producer, at, message->err);
}

static void take_error(rd_kafka_t *rk, int code, const char *reason, void *ctx)
{
    (void)rk;
    struct producer *producer = ctx;
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || producer->last.text[0] == '\0')
        (void)!err_set(&producer->last, RC_UNREACHABLE, "SINK_UNREACHABLE", "Kafka: %.300s",
                       reason);
}

/* The library would write to stderr; what matters comes as errors and reports. */
static void take_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk, (void)level, (void)facility, (void)text;
}

/* ---- the producer ---- */

static enum rc set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err *err)
{
    char why[256] = "";
    if (value == NULL ||
        kafka->rd_kafka_conf_set(conf, name, value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return RC_OK;
    return err_set(err, RC_INVALID, "SINK_SETTINGS", "librdkafka refuses %s: %s", name,
                   text_same(name, "sasl.password") ? "of sasl.password" : why);
}

static enum rc configure(const struct settings *settings, rd_kafka_conf_t *conf, struct err *err)
{
    CLEANUP(sink_secret_wipe) struct sink_secret_value password;
    char largest[PROPERTY_BYTES];
    enum rc rc = sink_secret_read(&settings->password, &password, err);
    (void)snprintf(largest, sizeof largest, "%d", SINK_BATCH_BYTES + 65536);
    const struct {
        const char *name, *value;
    } properties[] = {
        {"bootstrap.servers", settings->brokers},
        {"client.id", "drover"},
        {"enable.idempotence", "true"},
        {"acks", "all"},
        {"message.timeout.ms", "0"},
        {"message.max.bytes", largest},
        {"linger.ms", "1"},
        {"partitioner", "murmur2_random"},
        {"socket.connection.setup.timeout.ms", "2000"},
        {"request.timeout.ms", "3000"},
        {"reconnect.backoff.max.ms", "1000"},
        {"log.connection.close", "false"},
        {"security.protocol", settings->security},
        {"sasl.mechanism", settings->mechanism},
        {"sasl.username", settings->user},
        {"sasl.password", settings->user != NULL ? password.text : NULL},
        {"ssl.ca.location", settings->ca_file},
    };
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(properties); i++)
        rc = set(conf, properties[i].name, properties[i].value, err);
    return rc;
}

static enum rc make_producer(struct producer *producer, struct err *err)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = kafka->rd_kafka_conf_new();
    enum rc rc = configure(producer->settings, conf, err);
    kafka->rd_kafka_conf_set_opaque(conf, producer);
    kafka->rd_kafka_conf_set_dr_msg_cb(conf, take_report);
    kafka->rd_kafka_conf_set_error_cb(conf, take_error);
    kafka->rd_kafka_conf_set_log_cb(conf, take_log);
    if (rc == RC_OK) {
        producer->rk = kafka->rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
        if (producer->rk == NULL)
            rc = err_set(err, RC_INVALID, "SINK_SETTINGS", "librdkafka makes no producer: %s", why);
    }
    if (rc != RC_OK)
        kafka->rd_kafka_conf_destroy(conf);
    return rc;
}

static void end_producer(struct producer *producer)
{
    if (producer->rk != NULL)
        kafka->rd_kafka_destroy(producer->rk);
    producer->rk = NULL;
}

static void kafka_close(void *sink)
{
    struct producer *producer = sink;
    end_producer(producer);
    mem_free(producer);
}

/* Without a connection: the library connects by itself, and the first batch waits for it. */
static enum rc kafka_open(const void *settings, void **ret_sink, struct err *err)
{
    enum rc rc = kafka_lib_load(err);
    if (rc != RC_OK)
        return rc;
    struct producer *producer = mem_alloc(sizeof *producer);
    producer->settings = settings;
    rc = make_producer(producer, err);
    if (rc == RC_OK)
        *ret_sink = producer;
    else
        kafka_close(producer);
    return rc;
}

/* ---- publishing ---- */

/* The second word of drover's own types: "run" of agent.run.started. */
static void add_context(const struct event *event, struct buf *to)
{
    const char *dot = strchr(event->type, '.');
    if (event->source != NULL || dot == NULL)
        buf_adds(to, EXTERNAL);
    else
        buf_add(to, dot + 1, strcspn(dot + 1, "."));
}

static void topic_of(const struct settings *settings, const struct event *event, struct buf *to)
{
    const char *context = strstr(settings->topic, CONTEXT);
    buf_clear(to);
    if (context == NULL) {
        buf_adds(to, settings->topic);
        return;
    }
    buf_add(to, settings->topic, (size_t)(context - settings->topic));
    add_context(event, to);
    buf_adds(to, context + sizeof CONTEXT - 1);
}

static rd_kafka_resp_err_t produce(struct producer *producer, size_t at, struct buf *topic)
{
    const struct sink_record *record = &producer->flight.records[at];
    char key[EVENT_KEY_BYTES];
    size_t key_len = strlen(event_partition_key(record->event, key));
    topic_of(producer->settings, record->event, topic);
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = buf_text(topic)},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {key, key_len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {(void *)(uintptr_t)record->json.at, record->json.len}},
        {.vtype = RD_KAFKA_VTYPE_HEADER,
         .u.header = {"content-type", CLOUD_EVENT, sizeof CLOUD_EVENT - 1}},
        {.vtype = RD_KAFKA_VTYPE_HEADER, .u.header = {"id", record->event->id.text, -1}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = record->event->time_us / US_PER_MS},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = mark_of(producer, at)},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
    };
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_error_t *error = kafka->rd_kafka_produceva(producer->rk, parts, COUNT_OF(parts));
    if (error != NULL) {
        code = kafka->rd_kafka_error_code(error);
        kafka->rd_kafka_error_destroy(error);
    }
    return code;
}

/* Up to one that the library does not take. */
static void produce_all(struct producer *producer)
{
    struct flight *flight = &producer->flight;
    CLEANUP(buf_release) struct buf topic;
    buf_init(&topic, TOPIC_BYTES_MAX + 1);
    for (size_t at = flight_waiting(flight, 0); at < flight->count;
         at = flight_waiting(flight, at + 1)) {
        rd_kafka_resp_err_t code = produce(producer, at, &topic);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
            miss(producer, at, code);
            return;
        }
        flight_sent(flight, at);
    }
}

static void poll_until(struct producer *producer, int64_t deadline_us)
{
    int64_t left_ms;
    while (producer->flight.sent > 0 && (left_ms = (deadline_us - clock_mono_us()) / US_PER_MS) > 0)
        (void)kafka->rd_kafka_poll(producer->rk, (int)left_ms);
}

/* After it no message of the batch is in the hands of the library, or there is no library. */
static void take_back(struct producer *producer)
{
    char why[256];
    if (producer->flight.sent > 0) {
        (void)kafka->rd_kafka_purge(producer->rk,
                                    RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        poll_until(producer, clock_mono_us() + PURGE_MS * US_PER_MS);
    }
    if (producer->flight.sent > 0 ||
        kafka->rd_kafka_fatal_error(producer->rk, why, sizeof why) != RD_KAFKA_RESP_ERR_NO_ERROR)
        end_producer(producer);
}

static struct sink_outcome kafka_deliver(void *sink, const struct sink_record *records,
                                         size_t count)
{
    struct producer *producer = sink;
    struct flight *flight = &producer->flight;
    struct err err = {0};
    int64_t deadline_us = clock_mono_us() + (FLIGHT_CALL_MS - PURGE_MS) * US_PER_MS;
    flight_begin(flight, records, count);
    producer->batch++;
    (void)!err_set(&producer->last, RC_UNREACHABLE, "SINK_UNREACHABLE",
                   "Kafka has not acknowledged an event in time: no broker answers, or there is no "
                   "topic for it");
    if (producer->rk == NULL && make_producer(producer, &err) != RC_OK)
        return flight_end(flight, &err);
    produce_all(producer);
    poll_until(producer, deadline_us);
    take_back(producer);
    return flight_end(flight, &producer->last);
}

const struct sink_ops sink_kafka = {
    .type = "kafka",
    .decode = kafka_decode,
    .target = kafka_target,
    .same = kafka_same,
    .open = kafka_open,
    .deliver = kafka_deliver,
    .close = kafka_close,
};
