/*
 * sink_nats.c - the sink that is a stream of NATS JetStream.
 *
 *     {name: bus, type: nats, servers: ["nats://127.0.0.1:4222"], stream: drover, subject: drover}
 *
 *   subject        SUBJECT.TYPE: drover.agent.run.started
 *   Nats-Msg-Id    the id of the event: the stream leaves out one that it has had within its window
 *   Content-Type   application/cloudevents+json; the message is the CloudEvent in structured mode
 *
 * Invariants
 * 1. A record counts as delivered when the stream has acknowledged it.
 * 2. The stream keeps a prefix of what is sent: each message but the first of a round names the id
 *    of the one before it (Nats-Expected-Last-Msg-Id), and the stream refuses it when that one is
 *    not its last message.  So a message that failed is never behind one of its run that succeeded,
 *    whether it is sent again by this connection, by the next one or by another node.
 * 3. Other writers of the stream break that chain, which costs a round and no event: the first
 *    message of a round expects nothing, so each round has at least one record more.
 *
 * The library's reconnection is off: a connection that was lost is opened by the next call, after
 * the pause of the relay, and nothing is kept in buffers in the meantime.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/mem.h"
#include "sink/flight.h"
#include "sink/nats_lib.h"
#include "sink/secret.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVERS_MAX = 8,
    SERVER_BYTES_MAX = 300,
    NAME_BYTES_MAX = 100,
    PATH_BYTES_MAX = 1024,
    REPLICAS_MAX = 5,
    SUBJECT_BYTES = NAME_BYTES_MAX + 2 * EVENT_TYPE_MAX,
    REPLY_BYTES = 100,
    CONNECT_MS = 2000, /* All servers together; the rest of a call is for the stream. */
    REQUEST_MS = 700,  /* Each of two requests at most. */
    WRITE_MS = 2000,
};
/* Within it the stream recognises repeated ids. */
#define DUPLICATES_NS (INT64_C(600) * 1000000000)
#define CLOUD_EVENT   "application/cloudevents+json"

struct settings {
    const char *servers[SERVERS_MAX];
    int server_count;
    bool tls;
    const char *stream, *subject;
    int64_t replicas;
    const char *user;
    struct sink_secret password, token;
    const char *credentials_file, *ca_file;
    const char *target;
};

struct bus {
    const struct settings *settings;
    natsConnection *connection; /* NULL: to be opened by the next batch. */
    natsInbox *inbox;           /* Acknowledgements go to INBOX.<number of the message>. */
    natsSubscription *acks;
    uint64_t number; /* Of the message that was sent last. */
    struct flight flight;
};

/* ---- configuration ---- */

/* A word of a subject, or several with dots between them. */
static bool subject_valid(const char *text)
{
    char before = '.';
    for (const char *at = text; *at != '\0'; before = *at++) {
        if (!isalnum((unsigned char)*at) && strchr("_-.", *at) == NULL)
            return false;
        if (*at == '.' && before == '.')
            return false;
    }
    return before != '.';
}

static void read_servers(struct fields *fields, struct arena *arena, struct settings *settings)
{
    const struct js *array = NULL;
    fields_strings(fields, "servers", FIELD_REQUIRED, SERVERS_MAX,
                   &(struct field_text){1, SERVER_BYTES_MAX}, &array);
    if (array != NULL && js_count(array) == 0)
        fields_fail(fields, "servers", "servers must name at least one server");
    for (size_t i = 0; i < js_count(array) && i < SERVERS_MAX; i++) {
        const char *server = js_str(js_at(array, i), "");
        bool tls = text_starts(server, "tls://");
        if (!tls && !text_starts(server, "nats://"))
            fields_fail(fields, "servers", "a server is nats://HOST:PORT or tls://HOST:PORT");
        else if (strpbrk(server, "@, ") != NULL) /* Not in the message: it may be a password. */
            fields_fail(fields, "servers",
                        "a server is one address without a user and a password: use user with "
                        "passwordEnv or passwordFile");
        settings->tls = settings->tls || tls;
        settings->servers[settings->server_count++] = arena_strdup(arena, server);
    }
}

static void read_subject(struct fields *fields, const char *key, struct arena *arena,
                         const char **ret_text)
{
    const char *text = *ret_text;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){1, NAME_BYTES_MAX}, &text);
    if (!subject_valid(text))
        fields_fail(fields, key,
                    "%s may hold letters, digits, - and _, and single dots between them", key);
    *ret_text = arena_strdup(arena, text);
}

static void read_path(struct fields *fields, const char *key, struct arena *arena,
                      const char **ret_path)
{
    const char *path = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){1, PATH_BYTES_MAX}, &path);
    if (path != NULL && path[0] != '/')
        fields_fail(fields, key, "%s must be an absolute path", key);
    *ret_path = arena_strdup(arena, path);
}

static void read_credentials(struct fields *fields, struct arena *arena, struct settings *settings)
{
    const char *user = NULL;
    fields_string(fields, "user", FIELD_OPTIONAL, &(struct field_text){1, NAME_BYTES_MAX}, &user);
    settings->user = arena_strdup(arena, user);
    settings->password = sink_secret_decode(
        fields, &(struct sink_secret_keys){"passwordEnv", "passwordFile"}, arena);
    settings->token = sink_secret_decode(
        fields, &(struct sink_secret_keys){"tokenEnv", "tokenFile"}, arena);
    read_path(fields, "credentialsFile", arena, &settings->credentials_file);
    read_path(fields, "caFile", arena, &settings->ca_file);
    if ((user != NULL) != sink_secret_named(&settings->password))
        fields_fail(fields, "user", "user needs passwordEnv or passwordFile, and they need user");
    if ((user != NULL) + sink_secret_named(&settings->token) +
            (settings->credentials_file != NULL) >
        1)
        fields_fail(fields, "user", "give one of user, tokenEnv or tokenFile, and credentialsFile");
}

static const void *nats_decode(struct fields *fields, struct arena *arena)
{
    struct settings *settings = arena_array(arena, 1, sizeof *settings);
    *settings = (struct settings){.stream = "drover", .subject = "drover", .replicas = 1};
    read_servers(fields, arena, settings);
    read_subject(fields, "stream", arena, &settings->stream);
    if (strchr(settings->stream, '.') != NULL)
        fields_fail(fields, "stream", "the name of a stream has no dots");
    read_subject(fields, "subject", arena, &settings->subject);
    fields_int(fields, "replicas", FIELD_OPTIONAL, &(struct field_range){1, REPLICAS_MAX},
               &settings->replicas);
    read_credentials(fields, arena, settings);
    settings->target = arena_printf(arena, "%s%s stream %s subject %s.>",
                                    settings->server_count > 0 ? settings->servers[0] : "",
                                    settings->server_count > 1 ? ",..." : "", settings->stream,
                                    settings->subject);
    return settings;
}

static const char *nats_target(const void *settings)
{
    return ((const struct settings *)settings)->target;
}

static bool nats_same(const void *settings, const void *other)
{
    return text_same(nats_target(settings), nats_target(other));
}

/* ---- connecting ---- */

/* The library's text of its last error is "(conn.c:2088): No server available". */
static enum rc failed(const char *what, natsStatus status, struct err *err)
{
    natsStatus last = NATS_OK;
    const char *more = nats->nats_GetLastError(&last);
    const char *text = more != NULL && last == status ? strstr(more, "): ") : NULL;
    return err_set(err, RC_UNREACHABLE, "SINK_UNREACHABLE", "cannot %s: %.300s", what,
                   text != NULL ? text + 3 : nats->natsStatus_GetText(status));
}

static void disconnect(struct bus *bus)
{
    nats->natsSubscription_Destroy(bus->acks); /* NULL is fine for all three. */
    nats->natsInbox_Destroy(bus->inbox);
    nats->natsConnection_Destroy(bus->connection);
    bus->acks = NULL;
    bus->inbox = NULL;
    bus->connection = NULL;
}

static natsStatus set_credentials(const struct settings *settings, natsOptions *options,
                                  const char *password, const char *token)
{
    natsStatus status = NATS_OK;
    if (settings->user != NULL)
        status = nats->natsOptions_SetUserInfo(options, settings->user, password);
    if (status == NATS_OK && token[0] != '\0')
        status = nats->natsOptions_SetToken(options, token);
    if (status == NATS_OK && settings->credentials_file != NULL)
        status = nats->natsOptions_SetUserCredentialsFromFiles(options, settings->credentials_file,
                                                               NULL);
    return status;
}

/* The name that the certificate must have: of the one server, or else not checked by the library,
   which takes a single name for all of them. */
static natsStatus expect_host(const struct settings *settings, natsOptions *options)
{
    char host[SERVER_BYTES_MAX + 1];
    if (settings->server_count != 1)
        return NATS_OK;
    text_copy(host, sizeof host, strstr(settings->servers[0], "://") + 3);
    char *begin = host, *end = strrchr(host, ':');
    if (host[0] == '[' && strchr(host, ']') != NULL) {
        begin++;
        end = strchr(host, ']');
    }
    if (end != NULL)
        *end = '\0';
    return nats->natsOptions_SetExpectedHostname(options, begin);
}

static natsStatus set_tls(const struct settings *settings, natsOptions *options)
{
    natsStatus status = NATS_OK;
    if (!settings->tls)
        return status;
    status = nats->natsOptions_SetSecure(options, true);
    if (status == NATS_OK && settings->ca_file != NULL)
        status = nats->natsOptions_LoadCATrustedCertificates(options, settings->ca_file);
    return status == NATS_OK ? expect_host(settings, options) : status;
}

static natsStatus set_options(const struct settings *settings, natsOptions *options)
{
    natsStatus status = nats->natsOptions_SetServers(options, (const char **)settings->servers,
                                                     settings->server_count);
    if (status == NATS_OK)
        status = nats->natsOptions_SetName(options, "drover");
    if (status == NATS_OK)
        status = nats->natsOptions_SetTimeout(options, CONNECT_MS / settings->server_count);
    if (status == NATS_OK)
        status = nats->natsOptions_SetWriteDeadline(options, WRITE_MS);
    if (status == NATS_OK)
        status = nats->natsOptions_SetAllowReconnect(options, false);
    return status == NATS_OK ? set_tls(settings, options) : status;
}

static enum rc open_connection(struct bus *bus, struct err *err)
{
    CLEANUP(sink_secret_wipe) struct sink_secret_value password;
    CLEANUP(sink_secret_wipe) struct sink_secret_value token;
    const struct settings *settings = bus->settings;
    enum rc rc = sink_secret_read(&settings->password, &password, err);
    if (rc == RC_OK)
        rc = sink_secret_read(&settings->token, &token, err);
    if (rc != RC_OK)
        return rc;
    natsOptions *options = NULL;
    natsStatus status = nats->natsOptions_Create(&options);
    if (status == NATS_OK)
        status = set_options(settings, options);
    if (status == NATS_OK)
        status = set_credentials(settings, options, password.text, token.text);
    if (status == NATS_OK)
        status = nats->natsConnection_Connect(&bus->connection, options);
    if (status != NATS_OK)
        rc = failed("connect to NATS", status, err);
    nats->natsOptions_Destroy(options);
    return rc;
}

/* Every message of the connection has its acknowledgement at a subject of its own. */
static enum rc open_inbox(struct bus *bus, struct err *err)
{
    char all[REPLY_BYTES];
    natsStatus status = nats->natsInbox_Create(&bus->inbox);
    if (status == NATS_OK) {
        (void)snprintf(all, sizeof all, "%s.*", (const char *)bus->inbox);
        status = nats->natsConnection_SubscribeSync(&bus->acks, bus->connection, all);
    }
    return status == NATS_OK ? RC_OK : failed("subscribe to acknowledgements", status, err);
}

static natsStatus make_stream(const struct settings *settings, jsCtx *js, jsOptions *options)
{
    jsStreamConfig config;
    jsErrCode code = 0;
    char subject[NAME_BYTES_MAX + 3];
    const char *subjects[] = {subject};
    (void)snprintf(subject, sizeof subject, "%s.>", settings->subject);
    natsStatus status = nats->jsStreamConfig_Init(&config);
    if (status != NATS_OK)
        return status;
    config.Name = settings->stream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Replicas = settings->replicas;
    config.Duplicates = DUPLICATES_NS;
    return nats->js_AddStream(NULL, js, &config, options, &code);
}

/* One that is there stays as its owner has made it. */
static enum rc see_stream(struct bus *bus, struct err *err)
{
    const struct settings *settings = bus->settings;
    jsCtx *js = NULL;
    jsOptions options;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = nats->jsOptions_Init(&options);
    options.Wait = REQUEST_MS;
    if (status == NATS_OK)
        status = nats->natsConnection_JetStream(&js, bus->connection, &options);
    if (status == NATS_OK)
        status = nats->js_GetStreamInfo(&info, js, settings->stream, &options, &code);
    if (status == NATS_NOT_FOUND)
        status = make_stream(settings, js, &options);
    enum rc rc = status == NATS_OK ? RC_OK : failed("find or make the stream", status, err);
    nats->jsStreamInfo_Destroy(info);
    nats->jsCtx_Destroy(js);
    return rc;
}

static enum rc ensure_connected(struct bus *bus, struct err *err)
{
    if (bus->connection != NULL && !nats->natsConnection_IsClosed(bus->connection))
        return RC_OK;
    disconnect(bus);
    enum rc rc = open_connection(bus, err);
    if (rc == RC_OK)
        rc = open_inbox(bus, err);
    if (rc == RC_OK)
        rc = see_stream(bus, err);
    if (rc != RC_OK)
        disconnect(bus);
    return rc;
}

static void nats_close(void *sink)
{
    struct bus *bus = sink;
    disconnect(bus);
    mem_free(bus);
}

static enum rc nats_open(const void *settings, void **ret_sink, struct err *err)
{
    enum rc rc = nats_lib_load(err);
    if (rc != RC_OK)
        return rc;
    struct bus *bus = mem_alloc(sizeof *bus);
    bus->settings = settings;
    rc = ensure_connected(bus, err);
    if (rc == RC_OK)
        *ret_sink = bus;
    else
        nats_close(bus);
    return rc;
}

/* ---- publishing ---- */

/* SUBJECT.TYPE; words that a type leaves empty become "_": "a..b" is no subject. */
static void subject_of(const struct settings *settings, const char *type, char to[SUBJECT_BYTES])
{
    size_t len = (size_t)snprintf(to, SUBJECT_BYTES, "%s.", settings->subject);
    for (const char *at = type; len + 3 < SUBJECT_BYTES; at++) {
        if ((*at == '.' || *at == '\0') && to[len - 1] == '.')
            to[len++] = '_';
        if (*at == '\0')
            break;
        to[len++] = *at;
    }
    to[len] = '\0';
}

static natsStatus publish(struct bus *bus, const struct sink_record *record,
                          const struct event *before)
{
    char subject[SUBJECT_BYTES], reply[REPLY_BYTES];
    natsMsg *message = NULL;
    subject_of(bus->settings, record->event->type, subject);
    (void)snprintf(reply, sizeof reply, "%s.%llu", (const char *)bus->inbox,
                   (unsigned long long)++bus->number);
    natsStatus status = nats->natsMsg_Create(&message, subject, reply, record->json.at,
                                             (int)record->json.len);
    if (status == NATS_OK)
        status = nats->natsMsgHeader_Set(message, "Nats-Msg-Id", record->event->id.text);
    if (status == NATS_OK)
        status = nats->natsMsgHeader_Set(message, "Nats-Expected-Stream", bus->settings->stream);
    if (status == NATS_OK && before != NULL)
        status = nats->natsMsgHeader_Set(message, "Nats-Expected-Last-Msg-Id", before->id.text);
    if (status == NATS_OK)
        status = nats->natsMsgHeader_Set(message, "Content-Type", CLOUD_EVENT);
    if (status == NATS_OK)
        status = nats->natsConnection_PublishMsg(bus->connection, message);
    nats->natsMsg_Destroy(message);
    return status;
}

/* One after the other, up to one that cannot be sent. */
static natsStatus publish_from(struct bus *bus, size_t from)
{
    struct flight *flight = &bus->flight;
    struct err err;
    for (size_t at = from; at < flight->count; at++) {
        const struct event *before = at > from ? flight->records[at - 1].event : NULL;
        natsStatus status = publish(bus, &flight->records[at], before);
        if (status == NATS_MAX_PAYLOAD) {
            (void)!err_set(&err, RC_TOO_LARGE, "EVENT_TOO_LARGE",
                           "the event is larger than max_payload of the NATS server");
            flight_missed(flight, at, FLIGHT_REFUSED, &err);
            return NATS_OK;
        }
        if (status != NATS_OK)
            return status;
        flight_sent(flight, at);
    }
    return NATS_OK;
}

/* ---- acknowledgements ---- */

struct round {
    size_t from;           /* The record that was sent first, */
    uint64_t first_number; /* and the number of its message. */
    bool chain_broken;     /* Another writer's message came between two of ours. */
};

/* {"stream": NAME, "seq": N} or {"error": {"code", "err_code", "description"}} */
static void settle(struct flight *flight, struct round *round, size_t at, const struct js *ack)
{
    const struct js *error = js_get(ack, "error");
    int64_t code = js_get_int(error, "err_code", 0);
    struct err err;
    if (error == NULL && js_get(ack, "seq") != NULL) {
        flight_kept(flight, at);
        return;
    }
    if (code == JSStreamWrongLastMsgIDErr && flight_first_missing(flight) == at)
        round->chain_broken = true;
    (void)!err_set(&err, code == JSStreamMessageExceedsMaximumErr ? RC_TOO_LARGE : RC_UNREACHABLE,
                   "SINK_REFUSED", "the stream did not keep an event: %.300s",
                   js_get_str(error, "description", "its answer is not understood"));
    flight_missed(flight, at,
                  code == JSStreamMessageExceedsMaximumErr ? FLIGHT_REFUSED : FLIGHT_FAILED, &err);
}

static void take_ack(struct bus *bus, struct round *round, natsMsg *message)
{
    struct flight *flight = &bus->flight;
    CLEANUP(js_freep) struct js *ack = NULL;
    struct err err;
    const char *dot = strrchr(nats->natsMsg_GetSubject(message), '.');
    uint64_t number = strtoull(dot + 1, NULL, 10);
    size_t at = round->from + (size_t)(number - round->first_number);
    if (number < round->first_number || at >= flight->count || flight->states[at] != FLIGHT_SENT)
        return; /* Of an earlier batch. */
    if (nats->natsMsg_IsNoResponders(message)) {
        (void)!err_set(&err, RC_UNREACHABLE, "SINK_UNREACHABLE",
                       "no stream takes %s.%s: JetStream is off, or the stream %s lacks %s.>",
                       bus->settings->subject, flight->records[at].event->type,
                       bus->settings->stream, bus->settings->subject);
        flight_missed(flight, at, FLIGHT_FAILED, &err);
        return;
    }
    if (js_parse(nats->natsMsg_GetData(message), (size_t)nats->natsMsg_GetDataLength(message), &ack,
                 NULL) != RC_OK)
        ack = NULL;
    settle(flight, round, at, ack);
}

static natsStatus collect(struct bus *bus, struct round *round, int64_t deadline_us)
{
    while (bus->flight.sent > 0) {
        natsMsg *message = NULL;
        int64_t left_ms = (deadline_us - clock_mono_us()) / US_PER_MS;
        if (left_ms <= 0)
            return NATS_TIMEOUT;
        natsStatus status = nats->natsSubscription_NextMsg(&message, bus->acks, left_ms);
        if (status != NATS_OK)
            return status;
        take_ack(bus, round, message);
        nats->natsMsg_Destroy(message);
    }
    return NATS_OK;
}

/* Sends what is left, and waits for the answers. */
static natsStatus run_round(struct bus *bus, struct round *round, int64_t deadline_us)
{
    struct flight *flight = &bus->flight;
    round->from = flight_first_missing(flight);
    round->first_number = bus->number + 1;
    round->chain_broken = false;
    for (size_t at = round->from; at < flight->count; at++)
        flight->states[at] = FLIGHT_WAITING;
    flight->why_at = flight->count;
    natsStatus sent = publish_from(bus, round->from);
    int64_t left_ms = (deadline_us - clock_mono_us()) / US_PER_MS;
    if (sent == NATS_OK && left_ms > 0) /* Or the end of the batch waits in the buffer. */
        sent = nats->natsConnection_FlushTimeout(bus->connection, left_ms);
    natsStatus status = collect(bus, round, deadline_us);
    return sent != NATS_OK ? sent : status;
}

static struct sink_outcome nats_deliver(void *sink, const struct sink_record *records, size_t count)
{
    struct bus *bus = sink;
    struct flight *flight = &bus->flight;
    struct round round;
    struct err err = {0};
    int64_t deadline_us = clock_mono_us() + FLIGHT_CALL_MS * US_PER_MS;
    flight_begin(flight, records, count);
    if (ensure_connected(bus, &err) != RC_OK)
        return flight_end(flight, &err);
    natsStatus status;
    do {
        status = run_round(bus, &round, deadline_us);
    } while (status == NATS_OK && round.chain_broken && clock_mono_us() < deadline_us);
    if (status != NATS_OK) {
        (void)!failed("publish to NATS", status, &err);
        disconnect(bus); /* Answers that come late are of no use. */
    }
    return flight_end(flight, &err);
}

const struct sink_ops sink_nats = {
    .type = "nats",
    .decode = nats_decode,
    .target = nats_target,
    .same = nats_same,
    .open = nats_open,
    .deliver = nats_deliver,
    .close = nats_close,
};
