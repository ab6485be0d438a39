/*
 * port_http.c - port calls as requests (docs/PROTOCOL.md, Jobs).
 *
 *     lease        POST /v1/jobs/lease        waits at the server
 *     heartbeat    POST /v1/jobs/heartbeat    and so on: one route for each call
 *     breakers     POST /v1/breakers/{name}/acquire, .../report
 *     messages     GET /v1/jobs/{id}/messages
 *     questions    POST /v1/jobs/{id}/questions, GET and DELETE /v1/jobs/{id}/questions/{question}
 *     announce     POST /v1/workers
 *     reply        POST /v1/replies/{id}
 *     artifacts    PUT, GET /v1/artifacts/{sha256}
 *
 * A report may be sent again after an answer that got lost: the server recognizes it by its epoch.
 */
#include "work/job/port_http.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/mem.h"
#include "work/job/port_link.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 128,
    BREAKER_PATH_BYTES = 1024, /* A name of 256 bytes, all escaped. */
    CALL_MS = 30000,
    BEAT_MS = 5000,           /* Of calls that others wait for: heartbeats, events of an agent. */
    WAIT_SPARE_MS = 10000,    /* For the answer of a lease that has waited. */
    TRANSFER_MS = 10 * 60000, /* Of an artifact, as large as they may be. */
};

struct port_http {
    struct port port;
    struct port_link link;
    atomic_int interrupted;
};

static struct port_http *http_of(struct port *port)
{
    return (struct port_http *)((char *)port - offsetof(struct port_http, port));
}

static struct port_link *link_of(struct port *port)
{
    return &http_of(port)->link;
}

static enum rc odd_answer(struct port *port, struct err *err)
{
    return err_set(err, RC_IO, "ODD_ANSWER", "%s answers in a way that this worker does not know",
                   link_of(port)->url);
}

static void write_ref(struct jw *jw, const struct port_ref *ref)
{
    jw_kstr(jw, "id", ref->id.text);
    jw_kint(jw, "epoch", ref->epoch);
}

static void write_texts(struct jw *jw, const char *key, const char *const *texts)
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (size_t i = 0; texts[i] != NULL; i++)
        jw_str(jw, texts[i]);
    jw_end(jw, ']');
}

/* ---- leases ---- */

static bool read_job(const struct js *item, struct arena *arena, struct port_job *ret_job)
{
    const struct js *payload = js_get(item, "payload");
    const struct js *headers = js_get(item, "headers");
    struct port_job job = {
        .queue = arena_strdup(arena, js_get_str(item, "queue", "")),
        .type = arena_strdup(arena, js_get_str(item, "type", "")),
        .payload = str_of(payload != NULL ? js_text(payload, arena) : "null"),
        .headers = str_of(headers != NULL ? js_text(headers, arena) : NULL),
        .attempt = js_get_int(item, "attempt", 0),
        .epoch = js_get_int(item, "epoch", -1),
    };
    if (!id_parse(js_get_str(item, "id", ""), &job.id) || job.epoch < 0 ||
        !time_parse(js_get_str(item, "leaseUntil", ""), &job.lease_until_us))
        return false;
    *ret_job = job;
    return true;
}

static enum rc http_lease(struct port *port, const struct port_lease_request *lease,
                          struct arena *arena, struct port_job **ret_jobs, size_t *ret_count,
                          struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    write_texts(&exchange.jw, "queues", lease->queues);
    jw_kstr(&exchange.jw, "worker", lease->worker);
    jw_kint(&exchange.jw, "max", lease->max);
    jw_kint(&exchange.jw, "waitMs", lease->wait_ms);
    jw_kint(&exchange.jw, "leaseMs", lease->lease_ms);
    const struct http_call how = {.path = "/v1/jobs/lease",
                                  .timeout_ms = lease->wait_ms + WAIT_SPARE_MS,
                                  .stop = &http_of(port)->interrupted};
    enum rc rc = exchange_send(&exchange, link_of(port), &how, err);
    if (rc == RC_CANCELLED) { /* The server gives back what it would have handed out. */
        *ret_count = 0;
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    const struct js *items = js_get(exchange.tree, "jobs");
    size_t count = js_count(items);
    struct port_job *jobs = arena_array(arena, count, sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        if (!read_job(js_at(items, i), arena, &jobs[i]))
            return odd_answer(port, err);
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return RC_OK;
}

static struct port_beat read_beat(const struct js *item)
{
    const char *hold = js_get_str(item, "hold", "");
    struct port_beat beat = {.ok = js_get_bool(item, "ok", false),
                             .cancel = js_get_bool(item, "cancel", false),
                             .message_seq = js_get_int(item, "messageSeq", 0)};
    if (text_same(hold, "paused"))
        beat.hold = PORT_HOLD_PAUSED;
    else if (text_same(hold, "asking"))
        beat.hold = PORT_HOLD_ASKING;
    return beat;
}

static enum rc http_heartbeat(struct port *port, const char *worker, const struct port_ref *leases,
                              size_t count, int64_t extend_ms, struct port_beat *ret_beats,
                              struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    jw_kstr(&exchange.jw, "worker", worker);
    jw_kint(&exchange.jw, "extendMs", extend_ms);
    jw_key(&exchange.jw, "leases");
    jw_begin(&exchange.jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(&exchange.jw, '{');
        write_ref(&exchange.jw, &leases[i]);
        jw_end(&exchange.jw, '}');
    }
    jw_end(&exchange.jw, ']');
    const struct http_call how = {.path = "/v1/jobs/heartbeat", .timeout_ms = BEAT_MS};
    enum rc rc = exchange_send(&exchange, link_of(port), &how, err);
    if (rc != RC_OK)
        return rc;
    const struct js *items = js_get(exchange.tree, "leases");
    if (js_count(items) != count)
        return odd_answer(port, err);
    for (size_t i = 0; i < count; i++) {
        const struct js *item = js_at(items, i);
        if (!text_same(js_get_str(item, "id", ""), leases[i].id.text))
            return odd_answer(port, err);
        ret_beats[i] = read_beat(item);
    }
    return RC_OK;
}

/* ---- calls for one job ---- */

/* {"jobs": [{"id", "epoch", ... */
static void open_word(struct exchange *exchange, const struct port_ref *lease)
{
    exchange_open(exchange);
    jw_key(&exchange->jw, "jobs");
    jw_begin(&exchange->jw, '[');
    jw_begin(&exchange->jw, '{');
    write_ref(&exchange->jw, lease);
}

static enum rc send_report(struct exchange *exchange, struct port *port,
                           const struct http_call *how, struct err *err)
{
    jw_end(&exchange->jw, '}');
    jw_end(&exchange->jw, ']');
    enum rc rc = exchange_send(exchange, link_of(port), how, err);
    if (rc != RC_OK)
        return rc;
    const struct js *answer = js_at(js_get(exchange->tree, "jobs"), 0);
    if (js_type(js_get(answer, "ok")) != JS_BOOL)
        return odd_answer(port, err);
    if (js_get_bool(answer, "ok", false))
        return RC_OK;
    if (text_same(js_get_str(answer, "code", ""), "RESULT_REFUSED"))
        return err_set(err, RC_INVALID, "RESULT_REFUSED", "%.900s",
                       js_get_str(answer, "message", "the result was refused"));
    return err_set(err, RC_STALE, js_get_str(answer, "code", "LEASE_LOST"),
                   "the lease of this job was lost");
}

static enum rc http_progress(struct port *port, const struct port_ref *lease, struct str events,
                             struct port_beat *ret_beat, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    open_word(&exchange, lease);
    jw_kraw(&exchange.jw, "events", events);
    const struct http_call how = {.path = "/v1/jobs/progress", .timeout_ms = BEAT_MS};
    enum rc rc = send_report(&exchange, port, &how, err);
    if (rc == RC_OK)
        *ret_beat = read_beat(js_at(js_get(exchange.tree, "jobs"), 0));
    return rc;
}

static enum rc read_messages(struct port *port, const struct js *items, struct arena *arena,
                             struct port_message **ret_messages, struct err *err)
{
    size_t count = js_count(items);
    struct port_message *messages = arena_array(arena, count, sizeof *messages);
    for (size_t i = 0; i < count; i++) {
        const char *text = js_get_str(js_at(items, i), "text", NULL);
        messages[i] = (struct port_message){js_get_int(js_at(items, i), "seq", 0),
                                            arena_strdup(arena, text)};
        if (text == NULL || messages[i].seq <= 0)
            return odd_answer(port, err);
    }
    *ret_messages = messages;
    return RC_OK;
}

static enum rc http_messages(struct port *port, const struct port_ref *lease, int64_t after_seq,
                             struct arena *arena, struct port_message **ret_messages,
                             size_t *ret_count, struct err *err)
{
    CLEANUP(buf_release) struct buf answer;
    CLEANUP(js_freep) struct js *tree = NULL;
    char path[PATH_BYTES];
    buf_init(&answer, PORT_ANSWER_MAX);
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/messages?epoch=%" PRId64 "&after=%" PRId64,
                   lease->id.text, lease->epoch, after_seq);
    const struct http_call call = {.method = "GET", .path = path, .timeout_ms = BEAT_MS};
    enum rc rc = port_link_call(link_of(port), &call, &answer, err);
    if (rc != RC_OK)
        return rc;
    const struct js *items = js_parse(answer.data, answer.len, &tree, NULL) == RC_OK
                                 ? js_get(tree, "messages")
                                 : NULL;
    if (js_type(items) != JS_ARRAY)
        return odd_answer(port, err);
    rc = read_messages(port, items, arena, ret_messages, err);
    if (rc == RC_OK)
        *ret_count = js_count(items);
    return rc;
}

static enum rc read_question(struct port *port, const struct js *tree, struct arena *arena,
                             struct port_question *ret_question, struct err *err)
{
    const char *status = js_get_str(tree, "status", "");
    struct port_question question = {
        .open = text_same(status, "pending"),
        .answer = arena_strdup(arena, js_get_str(tree, "answer", NULL))};
    if (!id_parse(js_get_str(tree, "id", ""), &question.id) || status[0] == '\0')
        return odd_answer(port, err);
    *ret_question = question;
    return RC_OK;
}

static enum rc http_ask(struct port *port, const struct port_ref *lease,
                        const struct question_spec *spec, struct arena *arena,
                        struct port_question *ret_question, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    char path[PATH_BYTES];
    exchange_open(&exchange);
    jw_kint(&exchange.jw, "epoch", lease->epoch);
    jw_key(&exchange.jw, "question");
    question_spec_write(&exchange.jw, spec);
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/questions", lease->id.text);
    const struct http_call how = {.path = path, .timeout_ms = BEAT_MS};
    enum rc rc = exchange_send(&exchange, link_of(port), &how, err);
    return rc == RC_OK ? read_question(port, exchange.tree, arena, ret_question, err) : rc;
}

static enum rc call_question(struct port *port, const char *method, const struct port_ref *lease,
                             const struct id *id, struct buf *answer, struct err *err)
{
    char path[2 * PATH_BYTES];
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/questions/%s?epoch=%" PRId64, lease->id.text,
                   id->text, lease->epoch);
    const struct http_call call = {.method = method, .path = path, .timeout_ms = BEAT_MS};
    return port_link_call(link_of(port), &call, answer, err);
}

static enum rc http_withdraw(struct port *port, const struct port_ref *lease, const struct id *id,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf answer;
    buf_init(&answer, PORT_ANSWER_MAX);
    return call_question(port, "DELETE", lease, id, &answer, err);
}

static enum rc http_question(struct port *port, const struct port_ref *lease, const struct id *id,
                             struct arena *arena, struct port_question *ret_question,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf answer;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&answer, PORT_ANSWER_MAX);
    enum rc rc = call_question(port, "GET", lease, id, &answer, err);
    if (rc != RC_OK)
        return rc;
    if (js_parse(answer.data, answer.len, &tree, NULL) != RC_OK)
        return odd_answer(port, err);
    return read_question(port, tree, arena, ret_question, err);
}

static enum rc http_show_life(struct port *port, const struct port_ref *leases, size_t count,
                              struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    jw_key(&exchange.jw, "jobs");
    jw_begin(&exchange.jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(&exchange.jw, '{');
        write_ref(&exchange.jw, &leases[i]);
        jw_kraw(&exchange.jw, "events", STR("[]"));
        jw_end(&exchange.jw, '}');
    }
    jw_end(&exchange.jw, ']');
    const struct http_call how = {.path = "/v1/jobs/progress", .timeout_ms = BEAT_MS};
    return exchange_send(&exchange, link_of(port), &how, err);
}

static enum rc http_complete(struct port *port, const struct port_ref *lease, struct str result,
                             struct port_next *next, struct err *err)
{
    (void)next; /* Requested by a call of its own. */
    CLEANUP(exchange_release) struct exchange exchange;
    open_word(&exchange, lease);
    if (result.len > 0)
        jw_kraw(&exchange.jw, "result", result);
    const struct http_call how = {.path = "/v1/jobs/complete", .timeout_ms = CALL_MS};
    return send_report(&exchange, port, &how, err);
}

static enum rc http_fail(struct port *port, const struct port_ref *lease,
                         const struct port_failure *failure, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    open_word(&exchange, lease);
    jw_key(&exchange.jw, "error");
    jw_begin(&exchange.jw, '{');
    jw_kstr(&exchange.jw, "code", failure->code);
    jw_kstr(&exchange.jw, "message", failure->message != NULL ? failure->message : "");
    jw_kbool(&exchange.jw, "retryable", failure->retryable);
    jw_kbool(&exchange.jw, "policy", failure->policy);
    jw_end(&exchange.jw, '}');
    const struct http_call how = {.path = "/v1/jobs/fail", .timeout_ms = CALL_MS};
    return send_report(&exchange, port, &how, err);
}

static enum rc http_release(struct port *port, const struct port_ref *lease, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    open_word(&exchange, lease);
    const struct http_call how = {.path = "/v1/jobs/release", .timeout_ms = CALL_MS};
    return send_report(&exchange, port, &how, err);
}

static enum rc http_put_off(struct port *port, const struct port_ref *lease,
                            const struct port_wait *wait, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    open_word(&exchange, lease);
    jw_kint(&exchange.jw, "waitMs", wait->ms);
    jw_optstr(&exchange.jw, "code", wait->code);
    jw_optstr(&exchange.jw, "message", wait->message);
    const struct http_call how = {.path = "/v1/jobs/release", .timeout_ms = CALL_MS};
    return send_report(&exchange, port, &how, err);
}

static enum rc get_token(struct port *port, const struct port_ref *lease, const char *path,
                         char *to, size_t to_bytes, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    write_ref(&exchange.jw, lease);
    const struct http_call how = {.path = path, .timeout_ms = CALL_MS};
    enum rc rc = exchange_send(&exchange, link_of(port), &how, err);
    if (rc != RC_OK)
        return rc;
    const char *token = js_get_str(exchange.tree, "token", "");
    if (token[0] == '\0' || strlen(token) >= to_bytes)
        return odd_answer(port, err);
    text_copy(to, to_bytes, token);
    return RC_OK;
}

static enum rc http_run_token(struct port *port, const struct port_ref *lease,
                              const struct id *run_id, char *to, size_t to_bytes, struct err *err)
{
    (void)run_id; /* The server knows which run the lease is for. */
    return get_token(port, lease, "/v1/jobs/run-token", to, to_bytes, err);
}

static enum rc http_agent_token(struct port *port, const struct port_ref *lease, char *to,
                                size_t to_bytes, struct err *err)
{
    return get_token(port, lease, "/v1/jobs/agent-token", to, to_bytes, err);
}

/* ---- the forge ---- */

static void write_seen(struct jw *jw, const struct forge_limit_seen *seen)
{
    jw_key(jw, "seen");
    jw_begin(jw, '{');
    jw_kint(jw, "limit", seen->limit);
    jw_kint(jw, "remaining", seen->remaining);
    jw_ktime(jw, "resetAt", seen->reset_us > 0 ? seen->reset_us : 0);
    jw_kint(jw, "retryMs", seen->retry_ms);
    jw_kbool(jw, "secondary", seen->secondary);
    jw_end(jw, '}');
}

static void write_calls(struct jw *jw, const struct port_forge_request *request)
{
    jw_key(jw, "calls");
    jw_begin(jw, '{');
    jw_kstr(jw, "host", request->host);
    jw_kstr(jw, "resource", request->resource);
    jw_kint(jw, "want", request->want);
    jw_kint(jw, "used", request->used);
    jw_kint(jw, "back", request->back);
    if (request->seen != NULL)
        write_seen(jw, request->seen);
    jw_end(jw, '}');
}

static enum rc http_forge_access(struct port *port, const struct port_ref *lease,
                                 const struct port_forge_request *wish,
                                 struct port_forge_answer *ret_answer, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    write_ref(&exchange.jw, lease);
    jw_kstr(&exchange.jw, "access", forge_access_name(wish->access));
    jw_kbool(&exchange.jw, "token", wish->token);
    jw_optstr(&exchange.jw, "refused", wish->refused_sha256);
    if (wish->host != NULL)
        write_calls(&exchange.jw, wish);
    const struct http_call how = {.path = "/v1/jobs/forge-access", .timeout_ms = CALL_MS};
    enum rc rc = exchange_send(&exchange, link_of(port), &how, err);
    if (rc != RC_OK)
        return rc;
    struct port_forge_answer answer = {
        .calls = js_get_int(exchange.tree, "calls", 0),
        .retry_ms = js_get_int(exchange.tree, "retryAfterMs", 0),
    };
    const char *token = js_get_str(exchange.tree, "token", "");
    const char *expires = js_get_str(exchange.tree, "expiresAt", NULL);
    if (strlen(token) >= sizeof answer.token.text ||
        (expires != NULL && !time_parse(expires, &answer.token.expires_us)))
        return odd_answer(port, err);
    text_copy(answer.token.text, sizeof answer.token.text, token);
    text_copy(answer.why, sizeof answer.why, js_get_str(exchange.tree, "why", ""));
    *ret_answer = answer;
    forge_token_wipe(&answer.token);
    return RC_OK;
}

static enum rc http_app_deliveries(struct port *port, const struct port_ref *lease,
                                   const struct port_hook_request *wish, struct buf *into,
                                   struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    write_ref(&exchange.jw, lease);
    if (wish->handle != NULL)
        jw_kstr(&exchange.jw, "handle", wish->handle);
    else
        jw_kint(&exchange.jw, "sinceUs", wish->since_us);
    const struct http_call how = {.path = "/v1/jobs/app-deliveries", .timeout_ms = CALL_MS};
    enum rc rc = exchange_send(&exchange, link_of(port), &how, err);
    if (rc == RC_OK)
        buf_add(into, exchange.answer.data, exchange.answer.len);
    return rc;
}

/* ---- breakers ---- */

static enum rc exchange_breaker(struct exchange *exchange, struct port *port, const char *name,
                                const char *verb, struct err *err)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, BREAKER_PATH_BYTES);
    buf_adds(&path, "/v1/breakers/");
    url_add_escaped(&path, name);
    buf_addf(&path, "/%s", verb);
    if (path.overflow)
        return err_set(err, RC_MALFORMED, "INVALID_NAME", "the breaker's name is too long");
    const struct http_call how = {.path = buf_text(&path), .timeout_ms = BEAT_MS};
    return exchange_send(exchange, link_of(port), &how, err);
}

static enum rc http_breaker_ask(struct port *port, const char *name,
                                struct port_verdict *ret_verdict, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    enum rc rc = exchange_breaker(&exchange, port, name, "acquire", err);
    if (rc == RC_OK)
        *ret_verdict = (struct port_verdict){
            .allowed = js_get_bool(exchange.tree, "allowed", true),
            .retry_ms = js_get_int(exchange.tree, "retryAfterMs", 0),
        };
    return rc;
}

static enum rc http_breaker_report(struct port *port, const char *name,
                                   const struct port_outcome *outcome, struct err *err)
{
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    jw_kbool(&exchange.jw, "ok", outcome->ok);
    jw_optstr(&exchange.jw, "error", outcome->error);
    return exchange_breaker(&exchange, port, name, "report", err);
}

/* ---- artifacts ---- */

static enum rc put_artifact(struct port *port, const char *sha256, const struct http_call *what,
                            struct err *err)
{
    CLEANUP(buf_release) struct buf answer;
    char path[PATH_BYTES];
    buf_init(&answer, PORT_ANSWER_MAX);
    (void)snprintf(path, sizeof path, "/v1/artifacts/%s", sha256);
    struct http_call call = *what;
    call.method = "PUT";
    call.path = path;
    call.timeout_ms = TRANSFER_MS;
    return port_link_call(link_of(port), &call, &answer, err);
}

static enum rc http_artifact_put(struct port *port, struct str bytes, char ret_sha256[65],
                                 struct err *err)
{
    char sha256[SHA256_TEXT_BYTES];
    sha256_hex(bytes.at, bytes.len, sha256);
    enum rc rc = put_artifact(port, sha256, &(struct http_call){.body = bytes}, err);
    if (rc == RC_OK)
        text_copy(ret_sha256, SHA256_TEXT_BYTES, sha256);
    return rc;
}

static enum rc http_artifact_put_file(struct port *port, const char *path, char ret_sha256[65],
                                      int64_t *ret_bytes, struct err *err)
{
    char sha256[SHA256_TEXT_BYTES];
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? RC_NOT_FOUND : RC_IO, "IO_ERROR",
                       "cannot open %.300s: %s", path, strerror(errno));
    struct http_file file = {.fd = fd};
    /* No process writes to it any more: what is hashed here is what is sent afterwards. */
    if (sha256_file(fd, sha256, &file.bytes) != RC_OK)
        return err_set(err, RC_IO, "IO_ERROR", "cannot read %.300s: %s", path, strerror(errno));
    enum rc rc = put_artifact(port, sha256, &(struct http_call){.file = &file}, err);
    if (rc != RC_OK)
        return rc;
    text_copy(ret_sha256, SHA256_TEXT_BYTES, sha256);
    *ret_bytes = file.bytes;
    return RC_OK;
}

static enum rc http_artifact_get(struct port *port, const char *sha256, struct buf *into,
                                 struct err *err)
{
    char path[PATH_BYTES], got[SHA256_TEXT_BYTES];
    (void)snprintf(path, sizeof path, "/v1/artifacts/%s", sha256);
    const struct http_call call = {.method = "GET", .path = path, .timeout_ms = TRANSFER_MS};
    enum rc rc = port_link_call(link_of(port), &call, into, err);
    if (rc != RC_OK)
        return rc;
    sha256_hex(into->data, into->len, got);
    if (text_same(got, sha256))
        return RC_OK;
    return err_set(err, RC_IO, "HASH_MISMATCH", "artifact %.12s did not come whole", sha256);
}

/* ---- presence ---- */

enum rc port_http_hello(struct port_http *http, const struct port_worker *worker,
                        struct port_terms *ret_terms, struct err *err)
{
    static const char *const presences[] = {
        [PORT_ACTIVE] = "active", [PORT_DRAINING] = "draining", [PORT_LEFT] = "left"};
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    jw_kstr(&exchange.jw, "name", worker->name);
    jw_kstr(&exchange.jw, "host", worker->host);
    jw_kint(&exchange.jw, "pid", worker->pid);
    jw_kstr(&exchange.jw, "version", DROVER_VERSION);
    jw_kint(&exchange.jw, "slots", worker->slots);
    jw_kint(&exchange.jw, "busy", worker->busy);
    write_texts(&exchange.jw, "queues", worker->queues);
    jw_kstr(&exchange.jw, "state", presences[worker->presence]);
    jw_kint(&exchange.jw, "unpublishedCount", worker->unpublished_count);
    jw_kint(&exchange.jw, "unpublishedBytes", worker->unpublished_bytes);
    if (worker->disk_free >= 0)
        jw_kint(&exchange.jw, "diskFree", worker->disk_free);
    jw_kbool(&exchange.jw, "diskLow", worker->disk_low);
    jw_kint(&exchange.jw, "leasedPorts", worker->leased_ports);
    jw_kint(&exchange.jw, "leasedDatabases", worker->leased_databases);
    const struct http_call how = {.path = "/v1/workers", .timeout_ms = BEAT_MS};
    enum rc rc = exchange_send(&exchange, &http->link, &how, err);
    if (rc != RC_OK)
        return rc;
    struct port_terms terms = {.lease_ms = js_get_int(exchange.tree, "leaseMs", 0),
                               .heartbeat_ms = js_get_int(exchange.tree, "heartbeatMs", 0)};
    if (terms.heartbeat_ms <= 0 || terms.lease_ms <= terms.heartbeat_ms)
        return odd_answer(&http->port, err);
    *ret_terms = terms;
    return RC_OK;
}

static enum rc http_announce(struct port *port, const struct port_worker *worker, struct err *err)
{
    struct port_terms terms; /* Those of the start stay. */
    return port_http_hello(http_of(port), worker, &terms, err);
}

static void http_interrupt(struct port *port)
{
    atomic_store(&http_of(port)->interrupted, 1);
}

/* ---- replies ---- */

enum rc port_http_reply(struct port_http *http, const char *reply_to, struct str payload,
                        struct err *err)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES * 2);
    buf_adds(&path, "/v1/replies/");
    url_add_escaped(&path, reply_to);
    if (path.overflow)
        return err_set(err, RC_MALFORMED, "INVALID_ID", "replyTo is too long");
    CLEANUP(exchange_release) struct exchange exchange;
    exchange_open(&exchange);
    jw_kraw(&exchange.jw, "payload", payload);
    jw_end(&exchange.jw, '}');
    const struct http_call call = {.method = "POST",
                                   .path = buf_text(&path),
                                   .body = buf_str(&exchange.body),
                                   .timeout_ms = CALL_MS};
    return port_link_call(&http->link, &call, &exchange.answer, err);
}

/* ---- create and free ---- */

static const struct port_ops http_ops = {
    .lease = http_lease,
    .heartbeat = http_heartbeat,
    .progress = http_progress,
    .messages = http_messages,
    .ask = http_ask,
    .question = http_question,
    .withdraw = http_withdraw,
    .show_life = http_show_life,
    .complete = http_complete,
    .fail = http_fail,
    .release = http_release,
    .put_off = http_put_off,
    .artifact_put = http_artifact_put,
    .artifact_put_file = http_artifact_put_file,
    .artifact_get = http_artifact_get,
    .run_token = http_run_token,
    .agent_token = http_agent_token,
    .forge_access = http_forge_access,
    .app_deliveries = http_app_deliveries,
    .breaker_ask = http_breaker_ask,
    .breaker_report = http_breaker_report,
    .announce = http_announce,
    .interrupt = http_interrupt,
};

enum rc port_http_new(const struct port_http_options *options, struct port_http **ret_port,
                      struct err *err)
{
    struct port_http *http = mem_alloc(sizeof *http);
    const struct http_client_options to = {.url = options->url, .token = options->token};
    enum rc rc = port_link_init(&http->link, &to, err);
    if (rc != RC_OK) {
        mem_free(http);
        return rc;
    }
    http->port.ops = &http_ops;
    *ret_port = http;
    return RC_OK;
}

void port_http_free(struct port_http *http)
{
    if (http == NULL)
        return;
    port_link_release(&http->link);
    mem_free(http);
}

struct port *port_http_port(struct port_http *http)
{
    return &http->port;
}

const char *port_http_url(const struct port_http *http)
{
    return http->link.url;
}
