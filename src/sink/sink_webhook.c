/*
 * sink_webhook.c - the sink that is an HTTP server: events are posted to one address.
 *
 *     {name: ci, type: webhook, url: "https://ci.example.org/events", secretEnv: CI_SECRET}
 *
 *     mode: structured    one event per request, as JSON; binary: attributes in headers;
 *                         batch: up to batchEvents events per request
 *     secretFile          or a file that holds the key: one that is replaced is used at once
 *     oldSecretEnv, ...   rotation: requests carry the signatures of both keys
 *     tokenEnv, ...       sent as "Authorization: Bearer ..."
 *     connections: 8      requests under way at once; not with batch
 *     timeoutMs: 3000     of one request
 *
 * Invariants
 * 1. Of events with one partition key one is under way at a time, and the next one is sent after it
 *    was accepted.  Batches are sent one after the other.
 * 2. A call of deliver begins no request that could last beyond CALL_MS, and leaves none under way.
 * 3. What was accepted behind an event that was not is remembered: while the process runs it is not
 *    sent again.
 *
 *     2xx                                             delivered
 *     408, 425, 429, 5xx, 3xx, or no whole answer     again later; Retry-After counts
 *     any other status                                refused for good
 *
 * A redirect is not followed: the signature and the token are for one server.  It is retried rather
 * than refused, since it says nothing about the event.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "net/http_multi.h"
#include "net/url.h"
#include "sink/flight.h"
#include "sink/secret.h"
#include "sink/sink.h"
#include "sink/webhook_request.h"
#include <assert.h>
#include <string.h>

enum {
    CALL_MS = 4800,
    TIMEOUT_MS_MIN = 100,
    TIMEOUT_MS_MAX = 4000,
    TIMEOUT_MS_DEFAULT = 3000,
    CONNECTIONS_DEFAULT = 8,
    CONNECTIONS_MAX = 16,
    BATCH_EVENTS_DEFAULT = 100,
    BATCH_EVENTS_MAX = 256,
    ANSWER_BYTES_MAX = 64 * 1024, /* More than that of an answer is not read. */
};

struct settings {
    const char *url; /* Or in a secret place. */
    struct sink_secret secret_url, key, old_key, token;
    enum webhook_mode mode;
    int64_t connections, timeout_ms, batch_events;
};

struct hook;
/* One request: of a record, or of a batch that begins with it. */
struct post {
    struct hook *hook;
    struct http_ask *ask; /* While it is sent; else NULL. */
    size_t answer_bytes;
};

struct hook {
    const struct settings *settings;
    struct http_multi *multi;
    const char *path;
    struct arena arena; /* Of the path. */
    size_t chunk;       /* Batch mode: so many at once; smaller while a refused one is searched. */
    struct flight flight;

    /* One call of deliver. */
    struct arena call_arena; /* Of requests and keys. */
    struct webhook_keys keys;
    struct post posts[SINK_BATCH_RECORDS];
    size_t under_way;
    bool failed; /* No more requests are begun. */
    struct err failed_why;
};

/* ---- configuration ---- */

/* What is shown must hold no secret: url_parse refuses user names and queries. */
static void read_url(struct fields *fields, struct arena *arena, struct settings *settings)
{
    struct url parsed;
    struct err why = {0};
    const char *url = NULL;
    fields_string(fields, "url", FIELD_OPTIONAL, &(struct field_text){1, URL_TEXT_BYTES - 1}, &url);
    settings->secret_url = sink_secret_decode(
        fields, &(struct sink_secret_keys){"urlEnv", "urlFile"}, arena);
    if ((url == NULL) != sink_secret_named(&settings->secret_url))
        fields_fail(fields, "url", "give either url, or urlEnv or urlFile for a secret one");
    else if (url != NULL && url_parse(url, &parsed, &why) != RC_OK)
        fields_fail(fields, "url",
                    "%.300s; an address with a secret in it belongs into a variable or a file that "
                    "urlEnv or urlFile names",
                    why.text);
    settings->url = arena_strdup(arena, url);
}

static void read_secrets(struct fields *fields, struct arena *arena, struct settings *settings)
{
    settings->key = sink_secret_decode(
        fields, &(struct sink_secret_keys){"secretEnv", "secretFile"}, arena);
    settings->old_key = sink_secret_decode(
        fields, &(struct sink_secret_keys){"oldSecretEnv", "oldSecretFile"}, arena);
    settings->token = sink_secret_decode(
        fields, &(struct sink_secret_keys){"tokenEnv", "tokenFile"}, arena);
    if (sink_secret_named(&settings->old_key) && !sink_secret_named(&settings->key))
        fields_fail(fields, settings->old_key.file != NULL ? "oldSecretFile" : "oldSecretEnv",
                    "the key of before needs that of now, in secretEnv or secretFile");
}

static const void *webhook_decode(struct fields *fields, struct arena *arena)
{
    static const char *const modes[] = {[WEBHOOK_STRUCTURED] = "structured",
                                        [WEBHOOK_BINARY] = "binary",
                                        [WEBHOOK_BATCH] = "batch",
                                        NULL};
    struct settings *settings = arena_array(arena, 1, sizeof *settings);
    int mode = WEBHOOK_STRUCTURED;
    *settings = (struct settings){.connections = CONNECTIONS_DEFAULT,
                                  .timeout_ms = TIMEOUT_MS_DEFAULT,
                                  .batch_events = BATCH_EVENTS_DEFAULT};
    read_url(fields, arena, settings);
    read_secrets(fields, arena, settings);
    fields_choice(fields, "mode", FIELD_OPTIONAL, modes, &mode);
    settings->mode = (enum webhook_mode)mode;
    fields_int(fields, "connections", FIELD_OPTIONAL, &(struct field_range){1, CONNECTIONS_MAX},
               &settings->connections);
    fields_int(fields, "timeoutMs", FIELD_OPTIONAL,
               &(struct field_range){TIMEOUT_MS_MIN, TIMEOUT_MS_MAX}, &settings->timeout_ms);
    fields_int(fields, "batchEvents", FIELD_OPTIONAL, &(struct field_range){1, BATCH_EVENTS_MAX},
               &settings->batch_events);
    return settings;
}

static const char *webhook_target(const void *settings)
{
    const struct settings *own = settings;
    if (own->url != NULL)
        return own->url;
    return own->secret_url.file != NULL ? own->secret_url.file : own->secret_url.variable;
}

/* A receiver tells events apart by their ids. */
static bool webhook_same(const void *settings, const void *other)
{
    (void)settings, (void)other;
    return false;
}

/* ---- opening ---- */

/* A secret that is not named adds no key. */
static enum rc add_key(struct hook *hook, const struct sink_secret *secret, struct err *err)
{
    CLEANUP(sink_secret_wipe) struct sink_secret_value value;
    enum rc rc = sink_secret_read(secret, &value, err);
    if (rc != RC_OK || !sink_secret_named(secret))
        return rc;
    const char *text = arena_strdup(&hook->call_arena, value.text);
    rc = webhook_key_decode(text, &hook->call_arena, &hook->keys.items[hook->keys.count], err);
    if (rc != RC_OK)
        return err_wrap(err, rc, secret->file != NULL ? secret->file : secret->variable);
    hook->keys.count++;
    return RC_OK;
}

/* For each call: a file may have been replaced. */
static enum rc read_keys(struct hook *hook, struct err *err)
{
    hook->keys.count = 0;
    enum rc rc = add_key(hook, &hook->settings->key, err);
    return rc == RC_OK ? add_key(hook, &hook->settings->old_key, err) : rc;
}

static void webhook_close(void *sink)
{
    struct hook *hook = sink;
    http_multi_free(hook->multi);
    arena_release(&hook->arena);
    arena_release(&hook->call_arena);
    mem_free(hook);
}

/* The text is in no message: with a mistake in its first word it is a secret still. */
static enum rc check_secret_url(const struct sink_secret *secret, const char *server,
                                struct err *err)
{
    struct url parsed;
    struct err ignored = {0};
    if (!sink_secret_named(secret) || url_parse(server, &parsed, &ignored) == RC_OK)
        return RC_OK;
    return err_set(err, RC_INVALID, "SINK_SETTINGS",
                   "%.300s holds no address such as https://HOST/PATH, without a user and a "
                   "password",
                   secret->file != NULL ? secret->file : secret->variable);
}

static enum rc open_hook(struct hook *hook, struct err *err)
{
    const struct settings *settings = hook->settings;
    CLEANUP(sink_secret_wipe) struct sink_secret_value url = {""};
    CLEANUP(sink_secret_wipe) struct sink_secret_value token = {""};
    enum rc rc = sink_secret_read(&settings->secret_url, &url, err);
    if (rc == RC_OK)
        rc = sink_secret_read(&settings->token, &token, err);
    if (rc == RC_OK)
        rc = read_keys(hook, err); /* To report a bad one early. */
    if (rc != RC_OK)
        return rc;
    struct url_parts parts = url_split(settings->url != NULL ? settings->url : url.text,
                                       &hook->arena);
    hook->path = parts.path;
    rc = check_secret_url(&settings->secret_url, parts.server, err);
    if (rc != RC_OK)
        return rc;
    const struct http_client_options options = {
        .url = parts.server,
        .token = sink_secret_named(&settings->token) ? token.text : NULL,
        .connect_timeout_ms = settings->timeout_ms};
    return http_multi_new(&options, &hook->multi, err);
}

static enum rc webhook_open(const void *settings, void **ret_sink, struct err *err)
{
    struct hook *hook = mem_alloc(sizeof *hook);
    hook->settings = settings;
    hook->chunk = (size_t)hook->settings->batch_events;
    enum rc rc = open_hook(hook, err);
    if (rc != RC_OK)
        webhook_close(hook);
    else
        *ret_sink = hook;
    return rc;
}

/* ---- one request ---- */

static bool is_transient(int status)
{
    return status < 200 || (status >= 300 && status < 400) || status == 408 || status == 425 ||
           status == 429 || status >= 500;
}

static void note_failure(struct hook *hook, size_t at, const struct err *why)
{
    flight_missed(&hook->flight, at, FLIGHT_FAILED, why);
    if (!hook->failed)
        hook->failed_why = *why;
    hook->failed = true;
}

static void note_status(struct hook *hook, size_t at, const struct http_seen *seen)
{
    struct err why = {0};
    const char *url = http_multi_url(hook->multi);
    if (seen->status >= 300 && seen->status < 400)
        (void)!err_set(&why, RC_UNREACHABLE, "WEBHOOK_REDIRECT",
                       "%s answered %d, a redirect, which is not followed: change the address", url,
                       seen->status);
    else
        (void)!err_set(&why, RC_UNREACHABLE, "WEBHOOK_STATUS", "%s answered %d", url, seen->status);
    why.retry_ms = seen->retry_ms;
    if (is_transient(seen->status))
        note_failure(hook, at, &why);
    else
        flight_missed(&hook->flight, at, FLIGHT_REFUSED, &why);
}

static bool on_bytes(void *ctx, const struct http_seen *seen, struct str bytes)
{
    struct post *post = ctx;
    (void)seen;
    post->answer_bytes += bytes.len;
    return post->answer_bytes <= ANSWER_BYTES_MAX;
}

static void on_end(void *ctx, const struct http_seen *seen, enum rc rc, const struct err *err)
{
    struct post *post = ctx;
    struct hook *hook = post->hook;
    size_t at = (size_t)(post - hook->posts);
    post->ask = NULL;
    hook->under_way--;
    if (rc != RC_OK)
        note_failure(hook, at, err);
    else if (seen->status >= 200 && seen->status <= 299)
        flight_kept(&hook->flight, at);
    else
        note_status(hook, at, seen);
}

/* Sends records from `at` on. */
static void start(struct hook *hook, size_t at, size_t count)
{
    struct post *post = &hook->posts[at];
    struct clock clock = clock_real();
    struct webhook_request request;
    struct err err = {0};
    const struct webhook_spec spec = {.mode = hook->settings->mode,
                                      .keys = &hook->keys,
                                      .now_us = clock_now_us(&clock),
                                      .records = &hook->flight.records[at],
                                      .count = count};
    if (webhook_request_make(&spec, &hook->call_arena, &request, &err) != RC_OK) {
        flight_missed(&hook->flight, at, FLIGHT_REFUSED, &err);
        return;
    }
    const struct http_ask_spec ask = {
        .method = "POST",
        .path = hook->path,
        .headers = request.headers,
        .body = request.body,
        .idle_timeout_ms = hook->settings->timeout_ms,
        .on_bytes = on_bytes,
        .on_end = on_end,
        .ctx = post,
    };
    *post = (struct post){.hook = hook};
    flight_sent(&hook->flight, at);
    if (http_multi_start(hook->multi, &ask, &post->ask, &err) == RC_OK)
        hook->under_way++;
    else
        note_failure(hook, at, &err);
}

/* ---- one call ---- */

struct deadline {
    int64_t begin_us; /* No request begins after this, */
    int64_t end_us;   /* and none lasts beyond that. */
};

static struct deadline deadline_of(const struct hook *hook)
{
    int64_t now_us = clock_mono_us();
    return (struct deadline){
        .begin_us = now_us + (CALL_MS - hook->settings->timeout_ms) * US_PER_MS,
        .end_us = now_us + CALL_MS * US_PER_MS,
    };
}

static void cancel_all(struct hook *hook)
{
    for (size_t i = 0; i < hook->flight.count; i++) {
        struct post *post = &hook->posts[i];
        struct err why = {0};
        if (post->ask == NULL)
            continue;
        http_multi_cancel(hook->multi, post->ask);
        post->ask = NULL;
        hook->under_way--;
        (void)!err_set(&why, RC_TIMEOUT, "SERVER_TIMEOUT", "%s did not answer in time",
                       http_multi_url(hook->multi));
        note_failure(hook, i, &why);
    }
}

/* Moves requests, and waits until one can move. */
static void turn(struct hook *hook, const struct deadline *deadline)
{
    http_multi_step(hook->multi);
    if (hook->under_way == 0)
        return;
    int64_t left_us = deadline->end_us - clock_mono_us();
    if (left_us <= 0)
        cancel_all(hook);
    else
        http_multi_wait(hook->multi, NULL, 0, (int)(left_us / US_PER_MS) + 1);
}

static bool may_start(const struct hook *hook, const struct deadline *deadline)
{
    return !hook->failed && clock_mono_us() < deadline->begin_us;
}

static void send_each(struct hook *hook)
{
    struct deadline deadline = deadline_of(hook);
    size_t connections = (size_t)hook->settings->connections, at;
    flight_line_up(&hook->flight);
    for (;;) {
        while (hook->under_way < connections && may_start(hook, &deadline) &&
               flight_next_ready(&hook->flight, &at))
            start(hook, at, 1);
        if (hook->under_way == 0)
            return;
        turn(hook, &deadline);
    }
}

/* A batch that is refused is cut in halves until the refused event stands alone.  The fate of the
   first one is that of all. */
static void send_batches(struct hook *hook)
{
    struct deadline deadline = deadline_of(hook);
    struct flight *flight = &hook->flight;
    size_t at = 0;
    while (at < flight->count && may_start(hook, &deadline)) {
        size_t count = flight->count - at < hook->chunk ? flight->count - at : hook->chunk;
        start(hook, at, count);
        while (hook->under_way > 0)
            turn(hook, &deadline);
        if (flight->states[at] == FLIGHT_REFUSED && count > 1) {
            flight_begin(flight, flight->records, flight->count);
            for (size_t i = 0; i < at; i++)
                flight_kept(flight, i);
            hook->chunk = count / 2;
            continue;
        }
        if (flight->states[at] != FLIGHT_KEPT)
            return;
        for (size_t i = at + 1; i < at + count; i++)
            flight_kept(flight, i);
        at += count;
        size_t most = (size_t)hook->settings->batch_events;
        hook->chunk = hook->chunk * 2 < most ? hook->chunk * 2 : most;
    }
}

static struct sink_outcome webhook_deliver(void *sink, const struct sink_record *records,
                                           size_t count)
{
    struct hook *hook = sink;
    struct sink_outcome outcome = {.verdict = SINK_RETRY};
    assert(count > 0 && count <= SINK_BATCH_RECORDS && hook->under_way == 0);
    hook->failed = false;
    if (read_keys(hook, &outcome.why) == RC_OK) {
        flight_begin(&hook->flight, records, count);
        if (hook->settings->mode == WEBHOOK_BATCH)
            send_batches(hook);
        else
            send_each(hook);
        outcome = flight_end(&hook->flight, hook->failed ? &hook->failed_why : NULL);
    }
    arena_reset(&hook->call_arena);
    return outcome;
}

const struct sink_ops sink_webhook = {
    .type = "webhook",
    .decode = webhook_decode,
    .target = webhook_target,
    .same = webhook_same,
    .open = webhook_open,
    .deliver = webhook_deliver,
    .close = webhook_close,
};
