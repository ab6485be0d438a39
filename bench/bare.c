#include "bench/bare.h"
#include "base/fd.h"
#include "base/mem.h"
#include "bench/bench.h"
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <errno.h>
#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <nats/nats.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = SINK_BATCH_RECORDS, WAIT_MS = 60000, CHANNEL = 1, NAME_BYTES = 128 };
#define CLOUD_EVENT "application/cloudevents+json"

/* ---- a file ---- */

void bare_file(const struct bare_load *load, const char *path)
{
    struct err err = {0};
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CLEANUP(buf_release) struct buf lines;
    buf_init(&lines, SINK_BATCH_BYTES);
    if (fd < 0)
        bench_die("%s: %s", path, strerror(errno));
    for (size_t i = 0; i < load->count; i++) {
        buf_add(&lines, load->records[i].json.at, load->records[i].json.len);
        buf_addc(&lines, '\n');
        if ((i + 1) % SINK_BATCH_RECORDS != 0 && i + 1 < load->count)
            continue;
        bench_must(fd_write_all(fd, lines.data, lines.len, &err), &err, path);
        if (fsync(fd) != 0)
            bench_die("%s: %s", path, strerror(errno));
        buf_clear(&lines);
    }
}

/* ---- NATS ---- */

static void nats_must(natsStatus status, const char *what)
{
    if (status != NATS_OK)
        bench_die("%s: %s", what, natsStatus_GetText(status));
}

static jsCtx *open_stream(natsConnection *connection, const char *name)
{
    jsCtx *js = NULL;
    jsOptions options;
    jsStreamConfig config;
    char subject[NAME_BYTES];
    const char *subjects[] = {subject};
    (void)snprintf(subject, sizeof subject, "%s.>", name);
    nats_must(jsOptions_Init(&options), "options");
    options.PublishAsync.MaxPending = WINDOW;
    options.PublishAsync.StallWait = WAIT_MS;
    nats_must(natsConnection_JetStream(&js, connection, &options), "JetStream");
    nats_must(jsStreamConfig_Init(&config), "stream");
    config.Name = name;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    nats_must(js_AddStream(NULL, js, &config, NULL, NULL), "stream");
    return js;
}

void bare_nats(const struct bare_load *load, int port, const char *name)
{
    natsConnection *connection = NULL;
    jsPubOptions wait;
    char url[NAME_BYTES], subject[NAME_BYTES + EVENT_TYPE_MAX];
    (void)snprintf(url, sizeof url, "nats://127.0.0.1:%d", port);
    nats_must(natsConnection_ConnectTo(&connection, url), url);
    jsCtx *js = open_stream(connection, name);
    for (size_t i = 0; i < load->count; i++) {
        const struct sink_record *record = &load->records[i];
        natsMsg *message = NULL;
        (void)snprintf(subject, sizeof subject, "%s.%s", name, record->event->type);
        nats_must(natsMsg_Create(&message, subject, NULL, record->json.at, (int)record->json.len),
                  "message");
        nats_must(natsMsgHeader_Set(message, "Nats-Msg-Id", record->event->id.text), "header");
        nats_must(natsMsgHeader_Set(message, "Content-Type", CLOUD_EVENT), "header");
        nats_must(js_PublishMsgAsync(js, &message, NULL), "publish");
    }
    nats_must(jsPubOptions_Init(&wait), "options");
    wait.MaxWait = WAIT_MS;
    nats_must(js_PublishAsyncComplete(js, &wait), "acknowledgements");
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

/* ---- Kafka ---- */

struct bare_kafka {
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *cluster;
};

static rd_kafka_t *make_producer(const char *brokers)
{
    static const char *const properties[][2] = {{"enable.idempotence", "true"},
                                                {"acks", "all"},
                                                {"linger.ms", "1"},
                                                {"partitioner", "murmur2_random"}};
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, NULL);
    for (size_t i = 0; brokers != NULL && i < COUNT_OF(properties); i++)
        if (rd_kafka_conf_set(conf, properties[i][0], properties[i][1], why, sizeof why) !=
            RD_KAFKA_CONF_OK)
            bench_die("kafka: %s", why);
    if (brokers != NULL &&
        rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof why) != RD_KAFKA_CONF_OK)
        bench_die("kafka: %s", why);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (rk == NULL)
        bench_die("kafka: %s", why);
    return rk;
}

struct bare_kafka *bare_kafka_open(void)
{
    struct bare_kafka *kafka = mem_alloc(sizeof *kafka);
    kafka->rk = make_producer(NULL);
    kafka->cluster = rd_kafka_mock_cluster_new(kafka->rk, 1);
    return kafka;
}

const char *bare_kafka_brokers(const struct bare_kafka *kafka)
{
    return rd_kafka_mock_cluster_bootstraps(kafka->cluster);
}

void bare_kafka_close(struct bare_kafka *kafka)
{
    rd_kafka_mock_cluster_destroy(kafka->cluster);
    rd_kafka_destroy(kafka->rk);
    mem_free(kafka);
}

void bare_kafka(const struct bare_load *load, const struct bare_kafka *kafka, const char *topic)
{
    rd_kafka_t *rk = make_producer(bare_kafka_brokers(kafka));
    char key[EVENT_KEY_BYTES];
    for (size_t i = 0; i < load->count; i++) {
        const struct sink_record *record = &load->records[i];
        size_t key_len = strlen(event_partition_key(record->event, key));
        rd_kafka_resp_err_t code = rd_kafka_producev(
            rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, key_len),
            RD_KAFKA_V_VALUE((void *)(uintptr_t)record->json.at, record->json.len),
            RD_KAFKA_V_HEADER("content-type", CLOUD_EVENT, -1),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            (void)rd_kafka_poll(rk, 1);
            i--;
        } else if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
            bench_die("kafka: %s", rd_kafka_err2str(code));
        }
    }
    if (rd_kafka_flush(rk, WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
        bench_die("kafka: not all is acknowledged");
    rd_kafka_destroy(rk);
}

/* ---- RabbitMQ ---- */

static void amqp_must(amqp_connection_state_t connection, const char *what)
{
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        bench_die("rabbitmq: %s is refused", what);
}

static amqp_connection_state_t open_rabbitmq(int port)
{
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    int status = amqp_socket_open(socket, "127.0.0.1", port);
    if (status != AMQP_STATUS_OK)
        bench_die("rabbitmq: %s", amqp_error_string2(status));
    amqp_rpc_reply_t reply = amqp_login(connection, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                        AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        bench_die("rabbitmq: no login");
    (void)amqp_channel_open(connection, CHANNEL);
    amqp_must(connection, "a channel");
    return connection;
}

static void close_rabbitmq(amqp_connection_state_t connection)
{
    (void)amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
    (void)amqp_destroy_connection(connection);
}

void bare_rabbitmq_bind(int port, const char *name)
{
    amqp_connection_state_t connection = open_rabbitmq(port);
    amqp_bytes_t bytes = amqp_cstring_bytes(name);
    (void)amqp_exchange_declare(connection, CHANNEL, bytes, amqp_cstring_bytes("topic"), 0, 1, 0, 0,
                                amqp_empty_table);
    amqp_must(connection, "the exchange");
    (void)amqp_queue_declare(connection, CHANNEL, bytes, 0, 1, 0, 0, amqp_empty_table);
    amqp_must(connection, "the queue");
    (void)amqp_queue_bind(connection, CHANNEL, bytes, bytes, amqp_cstring_bytes("#"),
                          amqp_empty_table);
    amqp_must(connection, "the binding");
    close_rabbitmq(connection);
}

struct confirms {
    bool *done;   /* By delivery tag. */
    uint64_t low; /* All up to this one are. */
    size_t count;
};

static void wait_confirm(amqp_connection_state_t connection, struct confirms *confirms)
{
    amqp_frame_t frame;
    amqp_maybe_release_buffers(connection);
    int status = amqp_simple_wait_frame(connection, &frame);
    if (status != AMQP_STATUS_OK || frame.frame_type != AMQP_FRAME_METHOD ||
        frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
        bench_die("rabbitmq: no confirm");
    const amqp_basic_ack_t *ack = frame.payload.method.decoded;
    uint64_t tag = ack->multiple ? confirms->low + 1 : ack->delivery_tag;
    for (; tag <= ack->delivery_tag; tag++) {
        confirms->count += !confirms->done[tag];
        confirms->done[tag] = true;
    }
    if (ack->multiple && ack->delivery_tag > confirms->low)
        confirms->low = ack->delivery_tag;
}

static void publish(amqp_connection_state_t connection, const char *exchange,
                    const struct sink_record *record)
{
    const amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                  AMQP_BASIC_MESSAGE_ID_FLAG,
        .content_type = amqp_cstring_bytes(CLOUD_EVENT),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = amqp_cstring_bytes(record->event->id.text),
    };
    amqp_bytes_t body = {record->json.len, (void *)(uintptr_t)record->json.at};
    if (amqp_basic_publish(connection, CHANNEL, amqp_cstring_bytes(exchange),
                           amqp_cstring_bytes(record->event->type), 1, 0, &properties,
                           body) != AMQP_STATUS_OK)
        bench_die("rabbitmq: not sent");
}

void bare_rabbitmq(const struct bare_load *load, int port, const char *name)
{
    amqp_connection_state_t connection = open_rabbitmq(port);
    struct confirms confirms = {.done = mem_array(load->count + 1, sizeof(bool))};
    (void)amqp_confirm_select(connection, CHANNEL);
    amqp_must(connection, "confirm mode");
    for (size_t i = 0; i < load->count; i++) {
        while (i - confirms.count >= WINDOW)
            wait_confirm(connection, &confirms);
        publish(connection, name, &load->records[i]);
    }
    while (confirms.count < load->count)
        wait_confirm(connection, &confirms);
    close_rabbitmq(connection);
    mem_free(confirms.done);
}
