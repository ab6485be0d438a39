/*
 * sink_rabbitmq.c - the sink that is an exchange of RabbitMQ (AMQP 0-9-1).
 *
 *     {name: bus, type: rabbitmq, host: 127.0.0.1, exchange: drover.events, user: drover,
 *      passwordEnv: RABBITMQ_PASSWORD}
 *
 *   exchange      a durable topic exchange, declared when the sink connects
 *   routing key   the type of the event: agent.run.started
 *   message       persistent; message-id is the id of the event, content-type
 *                 application/cloudevents+json, the body the CloudEvent in structured mode; the
 *                 header partitionkey is the key by which order is kept
 *
 * Invariants
 * 1. A record counts as delivered when the broker has confirmed it and has not returned it.
 * 2. A queue has the records of one partition key in order: a message is sent when the one before
 *    it with that key was confirmed.  The broker can refuse one message (a queue that is full, a
 *    type that no queue is bound for) and keep the next one, so those of one key are never on their
 *    way together; those of different keys are.
 * 3. Every message is mandatory.  One that no queue takes is retried, so that nothing is lost
 *    before a queue is bound, or with `unroutable: refuse` becomes a dead letter.
 *
 * Nothing runs between two calls, so AMQP's heartbeats could not be sent: TCP keepalive watches an
 * idle connection instead, and TCP_USER_TIMEOUT bounds what waits to be sent, as when the broker
 * stops reading (connection.blocked).
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sink/amqp_lib.h"
#include "sink/flight.h"
#include "sink/secret.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    TEXT_BYTES_MAX = 255, /* AMQP's short strings. */
    PATH_BYTES_MAX = 1024,
    PORT = 5672,
    PORT_TLS = 5671,
    CHANNEL = 1,
    FRAME_BYTES_MAX = 131072,
    CONNECT_MS = 2500, /* Of all that it takes. */
    SEND_MS = 1500,    /* Of a call; the rest of it is for confirms. */
    UNSENT_MS = 1500,  /* May wait to be sent so long; then the connection is closed. */
    KEEPALIVE_SECONDS = 30,
    CLOSE_MS = 500,
};
#define CA_FILE     "/etc/ssl/certs/ca-certificates.crt"
#define CLOUD_EVENT "application/cloudevents+json"

struct settings {
    const char *host;
    int64_t port;
    const char *vhost, *exchange, *user;
    struct sink_secret password;
    bool tls;
    const char *ca_file;
    bool refuse_unroutable;
    const char *target;
};

struct broker {
    const struct settings *settings;
    amqp_connection_state_t connection; /* NULL: to be opened by the next batch. */
    uint64_t sent_tag;                  /* Delivery tag of the message that was sent last, */
    uint64_t earlier_tag;               /* and of the last one of earlier batches. */
    size_t by_tag[SINK_BATCH_RECORDS];  /* The records of the tags since then. */
    bool returned[SINK_BATCH_RECORDS];  /* Of the batch: no queue took the record. */
    char blocked[200];                  /* Why the broker takes no messages now; "": it does. */
    struct flight flight;
};

/* ---- configuration ---- */

static void read_text(struct fields *fields, const char *key, struct arena *arena,
                      const char **ret_text)
{
    const char *text = *ret_text;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){1, TEXT_BYTES_MAX}, &text);
    *ret_text = arena_strdup(arena, text);
}

static void read_tls(struct fields *fields, struct arena *arena, struct settings *settings)
{
    const char *ca_file = CA_FILE;
    fields_bool(fields, "tls", FIELD_OPTIONAL, &settings->tls);
    fields_string(fields, "caFile", FIELD_OPTIONAL, &(struct field_text){1, PATH_BYTES_MAX},
                  &ca_file);
    if (ca_file[0] != '/')
        fields_fail(fields, "caFile", "caFile must be an absolute path");
    settings->ca_file = arena_strdup(arena, ca_file);
    settings->port = settings->tls ? PORT_TLS : PORT;
    fields_int(fields, "port", FIELD_OPTIONAL, &(struct field_range){1, 65535}, &settings->port);
}

static const void *rabbitmq_decode(struct fields *fields, struct arena *arena)
{
    static const char *const unroutable[] = {"retry", "refuse", NULL};
    struct settings *settings = arena_array(arena, 1, sizeof *settings);
    int choice = 0;
    *settings = (struct settings){.vhost = "/", .exchange = "drover.events", .user = "guest"};
    const char *host = NULL;
    fields_string(fields, "host", FIELD_REQUIRED, &(struct field_text){1, TEXT_BYTES_MAX}, &host);
    if (host != NULL &&
        strpbrk(host, "/@ ") != NULL) /* Not in the message: a URL has a password. */
        fields_fail(
            fields, "host",
            "host is a name or an address, not a URL: user, passwordEnv, port and vhost are "
            "fields of their own");
    settings->host = arena_strdup(arena, host != NULL ? host : "");
    read_tls(fields, arena, settings);
    read_text(fields, "vhost", arena, &settings->vhost);
    read_text(fields, "exchange", arena, &settings->exchange);
    read_text(fields, "user", arena, &settings->user);
    settings->password = sink_secret_decode(
        fields, &(struct sink_secret_keys){"passwordEnv", "passwordFile"}, arena);
    if (!sink_secret_named(&settings->password) && !text_same(settings->user, "guest"))
        fields_fail(fields, "user", "user needs passwordEnv or passwordFile");
    fields_choice(fields, "unroutable", FIELD_OPTIONAL, unroutable, &choice);
    settings->refuse_unroutable = choice == 1;
    settings->target = arena_printf(arena, "%s://%s:%lld vhost %s exchange %s",
                                    settings->tls ? "amqps" : "amqp", settings->host,
                                    (long long)settings->port, settings->vhost, settings->exchange);
    return settings;
}

static const char *rabbitmq_target(const void *settings)
{
    return ((const struct settings *)settings)->target;
}

static bool rabbitmq_same(const void *settings, const void *other)
{
    return text_same(rabbitmq_target(settings), rabbitmq_target(other));
}

/* ---- errors ---- */

static enum rc failed(const char *what, const char *why, struct err *err)
{
    return err_set(err, RC_UNREACHABLE, "SINK_UNREACHABLE", "cannot %s: %.300s", what, why);
}

/* connection.close and channel.close have a text; both are of the same form. */
static enum rc closed(const char *what, const amqp_method_t *method, struct err *err)
{
    const amqp_channel_close_t *close = method->decoded;
    if (method->id != AMQP_CHANNEL_CLOSE_METHOD && method->id != AMQP_CONNECTION_CLOSE_METHOD)
        return failed(what, "an unexpected answer", err);
    return err_set(err, RC_UNREACHABLE, "SINK_UNREACHABLE", "cannot %s: %.*s", what,
                   close->reply_text.len < 300 ? (int)close->reply_text.len : 300,
                   (const char *)close->reply_text.bytes);
}

static enum rc check(const amqp_rpc_reply_t *reply, const char *what, struct err *err)
{
    switch (reply->reply_type) {
    case AMQP_RESPONSE_NORMAL:
        return RC_OK;
    case AMQP_RESPONSE_SERVER_EXCEPTION:
        return closed(what, &reply->reply, err);
    default:
        return failed(what, amqp->amqp_error_string2(reply->library_error), err);
    }
}

/* ---- connecting ---- */

static struct timeval left_until(int64_t deadline_us)
{
    int64_t left_us = deadline_us - clock_mono_us();
    if (left_us < 0)
        left_us = 0;
    return (struct timeval){.tv_sec = (time_t)(left_us / US_PER_SECOND),
                            .tv_usec = (suseconds_t)(left_us % US_PER_SECOND)};
}

static void disconnect(struct broker *broker)
{
    if (broker->connection != NULL)
        (void)amqp->amqp_destroy_connection(broker->connection);
    broker->connection = NULL;
}

static enum rc make_socket(const struct settings *settings, amqp_connection_state_t connection,
                           amqp_socket_t **ret_socket, struct err *err)
{
    *ret_socket = settings->tls ? amqp->amqp_ssl_socket_new(connection)
                                : amqp->amqp_tcp_socket_new(connection);
    if (*ret_socket == NULL)
        return failed("connect to RabbitMQ", "no socket can be made", err);
    if (!settings->tls)
        return RC_OK;
    amqp->amqp_ssl_socket_set_verify_peer(*ret_socket, 1);
    amqp->amqp_ssl_socket_set_verify_hostname(*ret_socket, 1);
    if (amqp->amqp_ssl_socket_set_cacert(*ret_socket, settings->ca_file) != AMQP_STATUS_OK)
        return failed("read the certificates of caFile", settings->ca_file, err);
    return RC_OK;
}

/* A socket without an option still works, with longer waits. */
static void set_socket_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_SECONDS},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_SECONDS / 3},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, UNSENT_MS},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof options[i].value);
}

static enum rc log_in(struct broker *broker, int64_t deadline_us, struct err *err)
{
    CLEANUP(sink_secret_wipe) struct sink_secret_value password;
    const struct settings *settings = broker->settings;
    enum rc rc = sink_secret_read(&settings->password, &password, err);
    if (rc != RC_OK)
        return rc;
    const struct timeval left = left_until(deadline_us);
    (void)amqp->amqp_set_handshake_timeout(broker->connection, &left);
    amqp_rpc_reply_t reply = amqp->amqp_login(
        broker->connection, settings->vhost, 0, FRAME_BYTES_MAX, 0, AMQP_SASL_METHOD_PLAIN,
        settings->user, sink_secret_named(&settings->password) ? password.text : "guest");
    return check(&reply, "log in to RabbitMQ", err);
}

/* One channel in confirm mode, and the exchange. */
static enum rc set_up(struct broker *broker, int64_t deadline_us, struct err *err)
{
    const amqp_connection_state_t connection = broker->connection;
    struct timeval left = left_until(deadline_us);
    (void)amqp->amqp_set_rpc_timeout(connection, &left);
    (void)amqp->amqp_channel_open(connection, CHANNEL);
    amqp_rpc_reply_t reply = amqp->amqp_get_rpc_reply(connection);
    if (check(&reply, "open a channel of RabbitMQ", err) != RC_OK)
        return RC_UNREACHABLE;
    left = left_until(deadline_us);
    (void)amqp->amqp_set_rpc_timeout(connection, &left);
    (void)amqp->amqp_confirm_select(connection, CHANNEL);
    reply = amqp->amqp_get_rpc_reply(connection);
    if (check(&reply, "ask RabbitMQ for confirms", err) != RC_OK)
        return RC_UNREACHABLE;
    left = left_until(deadline_us);
    (void)amqp->amqp_set_rpc_timeout(connection, &left);
    (void)amqp->amqp_exchange_declare(connection, CHANNEL,
                                      (amqp_bytes_t){strlen(broker->settings->exchange),
                                                     (void *)(uintptr_t)broker->settings->exchange},
                                      (amqp_bytes_t){5, (void *)(uintptr_t) "topic"}, 0, 1, 0, 0,
                                      (amqp_table_t){0, NULL});
    reply = amqp->amqp_get_rpc_reply(connection);
    return check(&reply, "declare the exchange", err);
}

static enum rc connect_broker(struct broker *broker, struct err *err)
{
    const struct settings *settings = broker->settings;
    int64_t deadline_us = clock_mono_us() + CONNECT_MS * US_PER_MS;
    amqp_socket_t *socket = NULL;
    broker->sent_tag = 0;
    broker->blocked[0] = '\0';
    broker->connection = amqp->amqp_new_connection();
    if (broker->connection == NULL)
        return failed("connect to RabbitMQ", "no memory", err);
    enum rc rc = make_socket(settings, broker->connection, &socket, err);
    if (rc != RC_OK)
        return rc;
    const struct timeval left = left_until(deadline_us);
    int status = amqp->amqp_socket_open_noblock(socket, settings->host, (int)settings->port, &left);
    if (status != AMQP_STATUS_OK)
        return failed("connect to RabbitMQ", amqp->amqp_error_string2(status), err);
    set_socket_options(amqp->amqp_get_sockfd(broker->connection));
    rc = log_in(broker, deadline_us, err);
    return rc == RC_OK ? set_up(broker, deadline_us, err) : rc;
}

/* ---- what the broker says ---- */

/* Marks the records of the tags as the broker has them; with `multiple` up to the tag. */
static void settle(struct broker *broker, uint64_t tag, bool multiple, const struct err *refused)
{
    struct flight *flight = &broker->flight;
    struct err err;
    if (tag <= broker->earlier_tag || tag > broker->sent_tag)
        return;
    for (uint64_t each = multiple ? broker->earlier_tag + 1 : tag; each <= tag; each++) {
        size_t at = broker->by_tag[each - broker->earlier_tag - 1];
        if (flight->states[at] != FLIGHT_SENT)
            continue;
        if (refused != NULL) {
            flight_missed(flight, at, FLIGHT_FAILED, refused);
        } else if (broker->returned[at]) {
            (void)!err_set(&err, RC_UNREACHABLE, "SINK_UNROUTABLE",
                           "no queue is bound to the exchange %.100s for %s: bind one, or leave "
                           "the type out with `types`",
                           broker->settings->exchange, flight->records[at].event->type);
            flight_missed(flight, at,
                          broker->settings->refuse_unroutable ? FLIGHT_REFUSED : FLIGHT_FAILED,
                          &err);
        } else {
            flight_kept(flight, at);
        }
    }
}

/* The head of a message that came back: its confirm follows. */
static void take_returned(struct broker *broker, const amqp_basic_properties_t *head)
{
    const struct flight *flight = &broker->flight;
    for (size_t i = 0; i < flight->count; i++) {
        const char *id = flight->records[i].event->id.text;
        if (head->message_id.len == strlen(id) &&
            memcmp(head->message_id.bytes, id, head->message_id.len) == 0)
            broker->returned[i] = true;
    }
}

static enum rc take_method(struct broker *broker, const amqp_method_t *method, struct err *err)
{
    struct err refused;
    const amqp_basic_ack_t *ack = method->decoded;
    const amqp_basic_nack_t *nack = method->decoded;
    const amqp_connection_blocked_t *blocked = method->decoded;
    switch (method->id) {
    case AMQP_BASIC_ACK_METHOD:
        settle(broker, ack->delivery_tag, ack->multiple, NULL);
        return RC_OK;
    case AMQP_BASIC_NACK_METHOD:
        (void)!err_set(&refused, RC_UNREACHABLE, "SINK_REFUSED",
                       "RabbitMQ did not keep an event: a queue is full, or failed");
        settle(broker, nack->delivery_tag, nack->multiple, &refused);
        return RC_OK;
    case AMQP_CONNECTION_BLOCKED_METHOD:
        (void)snprintf(broker->blocked, sizeof broker->blocked,
                       "RabbitMQ takes no messages now: %.*s",
                       blocked->reason.len < 100 ? (int)blocked->reason.len : 100,
                       (const char *)blocked->reason.bytes);
        return RC_OK;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        broker->blocked[0] = '\0';
        return RC_OK;
    case AMQP_CHANNEL_CLOSE_METHOD:
    case AMQP_CONNECTION_CLOSE_METHOD:
        return closed("publish to RabbitMQ", method, err);
    default: /* basic.return: its head comes next. */
        return RC_OK;
    }
}

/* Takes one frame; RC_TIMEOUT: there was none until then. */
static enum rc take_frame(struct broker *broker, int64_t deadline_us, struct err *err)
{
    amqp_frame_t frame;
    const struct timeval left = left_until(deadline_us);
    amqp->amqp_maybe_release_buffers(broker->connection);
    int status = amqp->amqp_simple_wait_frame_noblock(broker->connection, &frame, &left);
    if (status == AMQP_STATUS_TIMEOUT)
        return err_set(err, RC_TIMEOUT, "SINK_UNREACHABLE",
                       "RabbitMQ has not confirmed an event in time");
    if (status != AMQP_STATUS_OK)
        return failed("publish to RabbitMQ", amqp->amqp_error_string2(status), err);
    if (frame.frame_type == AMQP_FRAME_HEADER)
        take_returned(broker, frame.payload.properties.decoded);
    return frame.frame_type == AMQP_FRAME_METHOD ? take_method(broker, &frame.payload.method, err)
                                                 : RC_OK;
}

/* All that has arrived: the broker may have closed the connection while it was idle. */
static enum rc take_arrived(struct broker *broker, struct err *err)
{
    enum rc rc = RC_OK;
    while (rc == RC_OK)
        rc = take_frame(broker, 0, err);
    return rc == RC_TIMEOUT ? RC_OK : rc;
}

static enum rc ensure_connected(struct broker *broker, struct err *err)
{
    if (broker->connection != NULL && take_arrived(broker, err) == RC_OK)
        return RC_OK;
    disconnect(broker);
    enum rc rc = connect_broker(broker, err);
    if (rc != RC_OK)
        disconnect(broker);
    return rc;
}

static void rabbitmq_close(void *sink)
{
    struct broker *broker = sink;
    const struct timeval wait = {.tv_usec = CLOSE_MS * US_PER_MS};
    if (broker->connection != NULL) {
        (void)amqp->amqp_set_rpc_timeout(broker->connection, &wait);
        (void)amqp->amqp_connection_close(broker->connection, AMQP_REPLY_SUCCESS);
    }
    disconnect(broker);
    mem_free(broker);
}

static enum rc rabbitmq_open(const void *settings, void **ret_sink, struct err *err)
{
    enum rc rc = amqp_lib_load(err);
    if (rc != RC_OK)
        return rc;
    struct broker *broker = mem_alloc(sizeof *broker);
    broker->settings = settings;
    rc = ensure_connected(broker, err);
    if (rc == RC_OK)
        *ret_sink = broker;
    else
        rabbitmq_close(broker);
    return rc;
}

/* ---- publishing ---- */

/* The library's functions take bytes that they do not write to. */
static amqp_bytes_t bytes_of(const char *text)
{
    return (amqp_bytes_t){strlen(text), (void *)(uintptr_t)text};
}

static enum rc publish(struct broker *broker, size_t at, struct err *err)
{
    const struct sink_record *record = &broker->flight.records[at];
    const struct event *event = record->event;
    char key[EVENT_KEY_BYTES];
    amqp_table_entry_t header = {
        .key = bytes_of("partitionkey"),
        .value = {.kind = AMQP_FIELD_KIND_UTF8,
                  .value.bytes = bytes_of(event_partition_key(event, key))},
    };
    const amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                  AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                  AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_APP_ID_FLAG,
        .content_type = bytes_of(CLOUD_EVENT),
        .headers = {1, &header},
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = bytes_of(event->id.text),
        .timestamp = (uint64_t)(event->time_us / US_PER_SECOND),
        .type = bytes_of(event->type),
        .app_id = bytes_of("drover"),
    };
    int status = amqp->amqp_basic_publish(
        broker->connection, CHANNEL, bytes_of(broker->settings->exchange), bytes_of(event->type), 1,
        0, &properties, (amqp_bytes_t){record->json.len, (void *)(uintptr_t)record->json.at});
    if (status != AMQP_STATUS_OK)
        return failed("publish to RabbitMQ", amqp->amqp_error_string2(status), err);
    broker->by_tag[broker->sent_tag++ - broker->earlier_tag] = at;
    flight_sent(&broker->flight, at);
    return RC_OK;
}

/* Sends each record as soon as its turn has come, until all that were sent are settled. */
static enum rc publish_all(struct broker *broker, int64_t begin_us, struct err *err)
{
    struct flight *flight = &broker->flight;
    size_t at;
    enum rc rc = RC_OK;
    do {
        while (rc == RC_OK && broker->blocked[0] == '\0' &&
               clock_mono_us() < begin_us + SEND_MS * US_PER_MS && flight_next_ready(flight, &at))
            rc = publish(broker, at, err);
        if (rc == RC_OK && flight->sent > 0)
            rc = take_frame(broker, begin_us + FLIGHT_CALL_MS * US_PER_MS, err);
    } while (rc == RC_OK && flight->sent > 0);
    return rc;
}

static struct sink_outcome rabbitmq_deliver(void *sink, const struct sink_record *records,
                                            size_t count)
{
    struct broker *broker = sink;
    struct flight *flight = &broker->flight;
    struct err err = {0};
    int64_t begin_us = clock_mono_us();
    flight_begin(flight, records, count);
    flight_line_up(flight);
    memset(broker->returned, 0, sizeof broker->returned);
    enum rc rc = ensure_connected(broker, &err);
    if (rc != RC_OK)
        return flight_end(flight, &err);
    broker->earlier_tag = broker->sent_tag;
    rc = publish_all(broker, begin_us, &err);
    if (broker->blocked[0] != '\0')
        (void)!err_set(&err, RC_UNREACHABLE, "SINK_UNREACHABLE", "%s", broker->blocked);
    if (rc != RC_OK)
        disconnect(broker); /* What is not confirmed by now is sent again. */
    return flight_end(flight, rc == RC_OK && broker->blocked[0] == '\0' ? NULL : &err);
}

const struct sink_ops sink_rabbitmq = {
    .type = "rabbitmq",
    .decode = rabbitmq_decode,
    .target = rabbitmq_target,
    .same = rabbitmq_same,
    .open = rabbitmq_open,
    .deliver = rabbitmq_deliver,
    .close = rabbitmq_close,
};
