/*
 * http_client.c - one easy handle of libcurl, set up anew for every request.
 *
 * A call runs in curl_easy_perform; a stream runs in a small loop of our own round a multi handle,
 * because only that can check a stop flag and a clock while nothing arrives.
 */
#include "net/http_client.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/mem.h"
#include "net/http_target.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROBLEM_BYTES_MAX = 64 * 1024 };

struct http_client {
    CURL *easy;
    struct http_target target;
    char curl_error[CURL_ERROR_SIZE];
};

/* One request on its way. */
struct transfer {
    struct http_client *client;
    struct curl_slist *headers;
    struct buf *body;                 /* Of a call, or of a stream that was refused. */
    const struct http_stream *stream; /* NULL: a call. */
    bool enough;                      /* on_bytes returned false. */
    const struct http_file *file;     /* What is sent, or NULL. */
    int64_t file_at;
    struct http_once once;
    struct buf *head; /* or NULL */
    const atomic_int *stop;
    int64_t last_byte_us;
};

enum rc http_client_new(const struct http_client_options *options, struct http_client **ret_client,
                        struct err *err)
{
    struct http_target target;
    enum rc rc = http_target_init(&target, options, err);
    if (rc != RC_OK)
        return rc;
    CURL *easy = curl->easy_init();
    if (easy == NULL) {
        http_target_release(&target);
        return err_set(err, RC_IO, "HTTP_CLIENT", "libcurl cannot start");
    }
    struct http_client *client = mem_alloc(sizeof *client);
    client->easy = easy;
    client->target = target;
    *ret_client = client;
    return RC_OK;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    curl->easy_cleanup(client->easy);
    http_target_release(&client->target);
    mem_free(client);
}

void http_client_freep(struct http_client **client)
{
    http_client_free(*client);
}

const char *http_client_url(const struct http_client *client)
{
    return client->target.url;
}

static size_t take_bytes(char *bytes, size_t each, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    struct str chunk = {bytes, each * count};
    int status = http_status_of(transfer->client->easy);
    transfer->last_byte_us = clock_mono_us();
    if (transfer->stream == NULL || status < 200 || status > 299) {
        buf_add(transfer->body, chunk.at, chunk.len);
        return transfer->body->overflow ? 0 : chunk.len;
    }
    transfer->enough = !transfer->stream->on_bytes(transfer->stream->ctx, chunk);
    return transfer->enough ? 0 : chunk.len; /* Less than all ends the transfer. */
}

/* Every line of the head; a status line begins another answer, as after 100 Continue. */
static size_t take_head(char *bytes, size_t each, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    size_t len = each * count;
    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        buf_clear(transfer->head);
    buf_add(transfer->head, bytes, len);
    return len;
}

static void transfer_release(struct transfer *transfer)
{
    curl->slist_free_all(transfer->headers);
}

static enum rc prepare(struct transfer *transfer, const char *path,
                       const struct http_field *headers, struct err *err)
{
    struct http_client *client = transfer->client;
    CURL *easy = client->easy;
    const struct http_setup setup = {.easy = easy,
                                     .path = path,
                                     .headers = headers,
                                     .lines = &transfer->headers,
                                     .curl_error = client->curl_error};
    enum rc rc = http_target_prepare(&client->target, &setup, err);
    if (rc != RC_OK)
        return rc;
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (transfer->head != NULL) {
        buf_clear(transfer->head);
        curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
        curl->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    }
    return RC_OK;
}

static enum rc transport_failed(const struct http_client *client, CURLcode code, struct err *err)
{
    const struct http_fall fall = {client->target.url, client->easy, code, client->curl_error};
    return http_fall_decode(&fall, err);
}

static size_t give_bytes(char *to, size_t each, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    int64_t left = transfer->file->bytes - transfer->file_at;
    size_t want = each * count < (size_t)left ? each * count : (size_t)left;
    if (want == 0)
        return 0;
    ssize_t got = pread(transfer->file->fd, to, want, (off_t)transfer->file_at);
    if (got <= 0) /* Shorter than it was, or not to be read. */
        return CURL_READFUNC_ABORT;
    transfer->file_at += got;
    return (size_t)got;
}

/* libcurl sends again from the start when a kept connection turns out to be closed. */
static int rewind_bytes(void *ctx, curl_off_t offset, int origin)
{
    struct transfer *transfer = ctx;
    if (origin != SEEK_SET || offset < 0 || offset > transfer->file->bytes)
        return CURL_SEEKFUNC_FAIL;
    transfer->file_at = offset;
    return CURL_SEEKFUNC_OK;
}

static int look_at_stop(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                        curl_off_t up)
{
    const struct transfer *transfer = ctx;
    int status = http_status_of(transfer->client->easy);
    (void)down_total, (void)down, (void)up_total, (void)up;
    return *transfer->stop != 0 && status == 0; /* An answer that has begun is read to its end. */
}

static void set_stop(CURL *easy, struct transfer *transfer)
{
    if (transfer->stop == NULL)
        return;
    curl->easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_at_stop);
    curl->easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
}

static void set_file(CURL *easy, struct transfer *transfer)
{
    curl->easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl->easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->file->bytes);
    curl->easy_setopt(easy, CURLOPT_READFUNCTION, give_bytes);
    curl->easy_setopt(easy, CURLOPT_READDATA, transfer);
    curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_bytes);
    curl->easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
}

static void set_method(CURL *easy, const struct http_call *call, struct transfer *transfer)
{
    if (call->file != NULL) {
        set_file(easy, transfer);
    } else if (call->once && call->body.len > 0) {
        http_once_set(easy, &transfer->once);
    } else if (call->body.len > 0 || text_same(call->method, "POST")) {
        curl->easy_setopt(easy, CURLOPT_POSTFIELDS, call->body.len > 0 ? call->body.at : "");
        curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
    }
    curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

/* The server's message, and when to retry. */
static enum rc refused(const struct http_client *client, const struct buf *body, struct err *err)
{
    curl_off_t wait_s = 0;
    enum rc rc = http_problem_decode(http_status_of(client->easy), buf_str(body), err);
    if (err != NULL && curl->easy_getinfo(client->easy, CURLINFO_RETRY_AFTER, &wait_s) == CURLE_OK)
        err->retry_ms = (int64_t)wait_s * 1000;
    return rc;
}

enum rc http_client_call(struct http_client *client, const struct http_call *call, struct buf *body,
                         struct http_reply *ret_answer, struct err *err)
{
    buf_clear(body);
    CLEANUP(transfer_release)
    struct transfer transfer = {.client = client,
                                .body = body,
                                .file = call->file,
                                .once = {.body = call->body},
                                .head = call->head,
                                .stop = call->stop};
    if (!http_fields_name(call->headers, "Accept"))
        http_lines_add(&transfer.headers, "Accept: application/json");
    /* Without a body the header must be removed: libcurl has a default of its own for POST. */
    if (call->file != NULL)
        http_lines_add(&transfer.headers, "Content-Type: application/octet-stream");
    else if (!http_fields_name(call->headers, "Content-Type"))
        http_lines_add(&transfer.headers,
                       call->body.len > 0 ? "Content-Type: application/json" : "Content-Type:");
    enum rc rc = prepare(&transfer, call->path, call->headers, err);
    if (rc != RC_OK)
        return rc;
    int64_t timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : client->target.timeout_ms;
    curl->easy_setopt(client->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    set_method(client->easy, call, &transfer);
    set_stop(client->easy, &transfer);
    CURLcode code = curl->easy_perform(client->easy);
    if (body->overflow)
        return err_set(err, RC_TOO_LARGE, "ANSWER_TOO_LARGE",
                       "the server's answer is larger than %zu bytes", body->max_bytes);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, call->file == NULL ? RC_CANCELLED : RC_IO, "CALL_STOPPED",
                       "the call to %s was given up", client->target.url);
    if (code != CURLE_OK)
        return transport_failed(client, code, err);
    int status = http_status_of(client->easy);
    if (!call->any_status && (status < 200 || status > 299))
        return refused(client, body, err);
    char *type = NULL;
    curl->easy_getinfo(client->easy, CURLINFO_CONTENT_TYPE, &type);
    ret_answer->status = status;
    text_copy(ret_answer->content_type, sizeof ret_answer->content_type, type != NULL ? type : "");
    return RC_OK;
}

/* Drives the transfer to its end, or to a stop, or to silence. */
static enum rc stream_loop(CURLM *multi, struct transfer *transfer, struct err *err)
{
    const struct http_stream *stream = transfer->stream;
    int running = 1;
    transfer->last_byte_us = clock_mono_us();
    for (;;) {
        if (stream->stop != NULL && *stream->stop)
            return RC_CANCELLED;
        CURLMcode code = curl->multi_perform(multi, &running);
        if (code == CURLM_OK && running > 0)
            code = curl->multi_poll(multi, NULL, 0, HTTP_STREAM_TICK_MS, NULL);
        if (code != CURLM_OK)
            return err_set(err, RC_IO, "HTTP_CLIENT", "libcurl: %s", curl->multi_strerror(code));
        if (running == 0)
            return RC_OK;
        if (stream->on_tick != NULL)
            stream->on_tick(stream->ctx);
        int64_t idle_ms = (clock_mono_us() - transfer->last_byte_us) / US_PER_MS;
        if (idle_ms > stream->idle_timeout_ms)
            return err_set(err, RC_TIMEOUT, "SERVER_TIMEOUT", "nothing came from %s for %lld s",
                           transfer->client->target.url, (long long)(idle_ms / 1000));
    }
}

static enum rc stream_outcome(CURLM *multi, const struct transfer *transfer, struct err *err)
{
    int left = 0;
    const CURLMsg *message = curl->multi_info_read(multi, &left);
    assert(message != NULL && message->msg == CURLMSG_DONE);
    int status = http_status_of(transfer->client->easy);
    if (transfer->enough)
        return RC_OK;
    if (message->data.result != CURLE_OK && !transfer->body->overflow)
        return transport_failed(transfer->client, message->data.result, err);
    if (status < 200 || status > 299)
        return http_problem_decode(status, buf_str(transfer->body), err);
    return RC_OK;
}

enum rc http_client_stream(struct http_client *client, const struct http_stream *stream,
                           struct err *err)
{
    assert(stream->on_bytes != NULL && stream->idle_timeout_ms > 0);
    CLEANUP(buf_release) struct buf refusal;
    buf_init(&refusal, PROBLEM_BYTES_MAX);
    CLEANUP(transfer_release)
    struct transfer transfer = {.client = client,
                                .body = stream->refusal != NULL ? stream->refusal : &refusal,
                                .head = stream->head,
                                .stream = stream};
    enum rc rc = prepare(&transfer, stream->path, stream->headers, err);
    if (rc != RC_OK)
        return rc;
    CURLM *multi = curl->multi_init();
    if (multi == NULL)
        return err_set(err, RC_IO, "HTTP_CLIENT", "libcurl cannot start");
    CURLMcode added = curl->multi_add_handle(multi, client->easy);
    assert(added == CURLM_OK);
    (void)added;
    rc = stream_loop(multi, &transfer, err);
    if (rc == RC_OK)
        rc = stream_outcome(multi, &transfer, err);
    curl->multi_remove_handle(multi, client->easy);
    curl->multi_cleanup(multi);
    return rc;
}

static enum rc rc_of_status(int status)
{
    static const struct {
        int status;
        enum rc rc;
    } table[] = {
        {400, RC_MALFORMED}, {401, RC_UNAUTHORIZED}, {403, RC_DENIED},      {404, RC_NOT_FOUND},
        {408, RC_TIMEOUT},   {409, RC_CONFLICT},     {410, RC_NOT_FOUND},   {413, RC_TOO_LARGE},
        {422, RC_INVALID},   {429, RC_LIMIT},        {502, RC_UNREACHABLE}, {503, RC_BUSY},
        {504, RC_TIMEOUT},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].status == status)
            return table[i].rc;
    }
    return status >= 400 && status <= 499 ? RC_INVALID : RC_IO;
}

enum rc http_problem_decode(int status, struct str body, struct err *err)
{
    enum rc rc = rc_of_status(status);
    CLEANUP(js_freep) struct js *problem = NULL;
    if (js_parse(body.at, body.len, &problem, NULL) != RC_OK)
        problem = NULL;
    char code[16], said[64]; /* For servers other than drover. */
    (void)snprintf(code, sizeof code, "HTTP_%d", status);
    (void)snprintf(said, sizeof said, "the server answered with status %d", status);
    const char *text = js_get_str(problem, "detail", js_get_str(problem, "title", ""));
    return err_field(err, rc, js_get_str(problem, "code", code), js_get_str(problem, "field", ""),
                     "%s", text_empty(text) ? said : text);
}
