/*
 * main.c - brokers for the end-to-end tests: a Kafka to stop and start, and readers of what came.
 *
 *   brokers kafka-mock                      librdkafka's mock cluster; prints its address, then
 *                                           obeys lines on stdin: down, up, slow MS; ends with it
 *   brokers kafka-read BROKERS TOPIC        every message of a topic, as a line of JSON each
 *   brokers amqp-bind PORT EXCHANGE QUEUE KEY [LENGTH]
 *                                           a durable queue for a routing key; with a LENGTH one
 *                                           that refuses more messages than that
 *   brokers amqp-read PORT QUEUE [COUNT]    takes the messages of a queue out, as lines of JSON
 *
 * RabbitMQ is on 127.0.0.1, with the user guest.
 */
#include "base/buf.h"
#include "base/jw.h"
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BROKERS = 3, POLL_MS = 10000, LINE_BYTES_MAX = 8 * 1024 * 1024, CHANNEL = 1 };

static _Noreturn void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "brokers: %s: %s\n", what, why);
    exit(1);
}

struct line {
    struct buf text;
    struct jw jw;
};

static void line_begin(struct line *line)
{
    buf_clear(&line->text);
    line->jw = jw_to(&line->text);
    jw_begin(&line->jw, '{');
}

static void line_end(struct line *line, const void *event, size_t len)
{
    jw_kraw(&line->jw, "event", (struct str){event, len});
    jw_end(&line->jw, '}');
    (void)puts(buf_text(&line->text));
}

static void add_text(struct line *line, const char *key, const void *bytes, size_t len)
{
    jw_key(&line->jw, key);
    jw_strn(&line->jw, bytes, len);
}

/* ---- Kafka ---- */

static rd_kafka_t *make_client(rd_kafka_type_t type, const char *brokers)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if ((brokers != NULL && rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why,
                                              sizeof why) != RD_KAFKA_CONF_OK) ||
        rd_kafka_conf_set(conf, "enable.partition.eof", "true", why, sizeof why) !=
            RD_KAFKA_CONF_OK)
        die("configure", why);
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof why);
    if (rk == NULL)
        die("rd_kafka_new", why);
    return rk;
}

static int kafka_mock(void)
{
    char command[64];
    int ms;
    rd_kafka_t *rk = make_client(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, BROKERS);
    if (cluster == NULL)
        die("mock", "no cluster");
    (void)printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
    (void)fflush(stdout);
    while (fgets(command, sizeof command, stdin) != NULL) {
        if (strcmp(command, "down\n") == 0)
            (void)rd_kafka_mock_broker_set_down(cluster, -1);
        else if (strcmp(command, "up\n") == 0)
            (void)rd_kafka_mock_broker_set_up(cluster, -1);
        else if (sscanf(command, "slow %d", &ms) == 1)
            (void)rd_kafka_mock_broker_set_rtt(cluster, -1, ms);
        (void)printf("done\n");
        (void)fflush(stdout);
    }
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(rk);
    return 0;
}

static void print_kafka(struct line *line, const rd_kafka_message_t *message)
{
    static const char *const names[] = {"content-type", "id"};
    rd_kafka_headers_t *headers = NULL;
    line_begin(line);
    jw_kint(&line->jw, "partition", message->partition);
    add_text(line, "key", message->key, message->key_len);
    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            const void *value;
            size_t size;
            if (rd_kafka_header_get_last(headers, names[i], &value, &size) ==
                RD_KAFKA_RESP_ERR_NO_ERROR)
                add_text(line, names[i], value, size);
        }
    }
    line_end(line, message->payload, message->len);
}

static int count_partitions(rd_kafka_t *rk, rd_kafka_topic_t *topic)
{
    const struct rd_kafka_metadata *about = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, topic, &about, POLL_MS);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("metadata", rd_kafka_err2str(code));
    int count = about->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(about);
    return count;
}

static int kafka_read(const char *brokers, const char *name)
{
    rd_kafka_t *rk = make_client(RD_KAFKA_CONSUMER, brokers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    struct line line;
    buf_init(&line.text, LINE_BYTES_MAX);
    int partitions = count_partitions(rk, topic);
    for (int i = 0; i < partitions; i++)
        if (rd_kafka_consume_start_queue(topic, i, RD_KAFKA_OFFSET_BEGINNING, queue) != 0)
            die("consume", rd_kafka_err2str(rd_kafka_last_error()));
    for (int ended = 0; ended < partitions;) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(queue, POLL_MS);
        if (message == NULL)
            die("consume", "no message and no end");
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            ended++;
        else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            print_kafka(&line, message);
        else
            die("consume", rd_kafka_message_errstr(message));
        rd_kafka_message_destroy(message);
    }
    for (int i = 0; i < partitions; i++)
        (void)rd_kafka_consume_stop(topic, i);
    buf_release(&line.text);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return 0;
}

/* ---- RabbitMQ ---- */

static void must(amqp_connection_state_t connection, const char *what)
{
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        die(what, reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION
                      ? "the server refuses it"
                      : amqp_error_string2(reply.library_error));
}

static amqp_connection_state_t open_rabbitmq(const char *port)
{
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    int status = amqp_socket_open(socket, "127.0.0.1", (int)strtol(port, NULL, 10));
    if (status != AMQP_STATUS_OK)
        die("connect", amqp_error_string2(status));
    amqp_rpc_reply_t reply = amqp_login(connection, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                        AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        die("log in", "refused");
    (void)amqp_channel_open(connection, CHANNEL);
    must(connection, "open a channel");
    return connection;
}

static int amqp_bind(char **args, int count)
{
    amqp_connection_state_t connection = open_rabbitmq(args[0]);
    amqp_bytes_t exchange = amqp_cstring_bytes(args[1]), queue = amqp_cstring_bytes(args[2]);
    amqp_table_entry_t limits[] = {
        {amqp_cstring_bytes("x-max-length"), {.kind = AMQP_FIELD_KIND_I32}},
        {amqp_cstring_bytes("x-overflow"),
         {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("reject-publish")}},
    };
    limits[0].value.value.i32 = count > 4 ? (int32_t)strtol(args[4], NULL, 10) : 0;
    (void)amqp_exchange_declare(connection, CHANNEL, exchange, amqp_cstring_bytes("topic"), 0, 1, 0,
                                0, amqp_empty_table);
    must(connection, "declare the exchange");
    (void)amqp_queue_declare(connection, CHANNEL, queue, 0, 1, 0, 0,
                             (amqp_table_t){count > 4 ? 2 : 0, limits});
    must(connection, "declare the queue");
    (void)amqp_queue_bind(connection, CHANNEL, queue, exchange, amqp_cstring_bytes(args[3]),
                          amqp_empty_table);
    must(connection, "bind the queue");
    (void)amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
    (void)amqp_destroy_connection(connection);
    return 0;
}

static void print_message(struct line *line, const amqp_basic_get_ok_t *got,
                          const amqp_message_t *message)
{
    const amqp_basic_properties_t *head = &message->properties;
    line_begin(line);
    add_text(line, "routingKey", got->routing_key.bytes, got->routing_key.len);
    add_text(line, "id", head->message_id.bytes, head->message_id.len);
    add_text(line, "content-type", head->content_type.bytes, head->content_type.len);
    jw_kbool(&line->jw, "persistent", head->delivery_mode == AMQP_DELIVERY_PERSISTENT);
    for (int i = 0; i < head->headers.num_entries; i++) {
        const amqp_table_entry_t *entry = &head->headers.entries[i];
        if (entry->key.len == 12 && memcmp(entry->key.bytes, "partitionkey", 12) == 0)
            add_text(line, "key", entry->value.value.bytes.bytes, entry->value.value.bytes.len);
    }
    line_end(line, message->body.bytes, message->body.len);
}

static int amqp_read(char **args, int count)
{
    amqp_connection_state_t connection = open_rabbitmq(args[0]);
    amqp_bytes_t queue = amqp_cstring_bytes(args[1]);
    long most = count > 2 ? strtol(args[2], NULL, 10) : -1;
    struct line line;
    buf_init(&line.text, LINE_BYTES_MAX);
    for (; most != 0; most--) {
        amqp_message_t message;
        amqp_rpc_reply_t reply = amqp_basic_get(connection, CHANNEL, queue, 1);
        if (reply.reply_type != AMQP_RESPONSE_NORMAL)
            die("get", "refused");
        if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD)
            break;
        const amqp_basic_get_ok_t *got = reply.reply.decoded;
        reply = amqp_read_message(connection, CHANNEL, &message, 0);
        if (reply.reply_type != AMQP_RESPONSE_NORMAL)
            die("read", "no message");
        print_message(&line, got, &message);
        amqp_destroy_message(&message);
        amqp_maybe_release_buffers(connection);
    }
    buf_release(&line.text);
    (void)amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
    (void)amqp_destroy_connection(connection);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "kafka-mock") == 0 && argc == 2)
        return kafka_mock();
    if (strcmp(what, "kafka-read") == 0 && argc == 4)
        return kafka_read(argv[2], argv[3]);
    if (strcmp(what, "amqp-bind") == 0 && argc >= 6)
        return amqp_bind(argv + 2, argc - 2);
    if (strcmp(what, "amqp-read") == 0 && argc >= 4)
        return amqp_read(argv + 2, argc - 2);
    (void)fputs(
        "usage: brokers kafka-mock | kafka-read BROKERS TOPIC |\n"
        "       amqp-bind PORT EXCHANGE QUEUE KEY [LENGTH] | amqp-read PORT QUEUE [COUNT]\n",
        stderr);
    return 2;
}
