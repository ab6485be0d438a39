/*
 * http_multi.c - an easy handle of libcurl for every request, all in one multi handle.
 */
#include "net/http_multi.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/http_target.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

enum {
    HEAD_BYTES_MAX = 64 * 1024,
    LOOKS_MAX = 8,
    KEPT_CONNECTIONS = 16,
    /* A drover closes a connection that was silent for 75 s: a request that meets the closing would
       fail. */
    KEPT_SECONDS = 50,
    RETRY_AFTER_MAX_S = 24 * 3600,
};

struct http_ask {
    struct http_ask *next, **link; /* In the list of all: *link is this one. */
    struct http_ask_spec spec;     /* Its path and headers are libcurl's. */
    CURL *easy;
    struct curl_slist *lines;
    struct http_once once;
    struct buf head;
    char *url; /* Of the server that it went to. */
    int64_t last_byte_us;
    bool enough;
    char curl_error[CURL_ERROR_SIZE];
};

struct http_multi {
    CURLM *curlm;
    struct http_target target;
    struct http_ask *first;
    size_t count;
};

enum rc http_multi_new(const struct http_client_options *options, struct http_multi **ret_multi,
                       struct err *err)
{
    struct http_target target;
    enum rc rc = http_target_init(&target, options, err);
    if (rc != RC_OK)
        return rc;
    CURLM *curlm = curl->multi_init();
    if (curlm == NULL) {
        http_target_release(&target);
        return err_set(err, RC_IO, "HTTP_CLIENT", "libcurl cannot start");
    }
    curl->multi_setopt(curlm, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
    struct http_multi *multi = mem_alloc(sizeof *multi);
    multi->curlm = curlm;
    multi->target = target;
    *ret_multi = multi;
    return RC_OK;
}

enum rc http_multi_aim(struct http_multi *multi, const struct http_client_options *options,
                       struct err *err)
{
    struct http_target target;
    enum rc rc = http_target_init(&target, options, err);
    if (rc != RC_OK)
        return rc;
    http_target_release(&multi->target);
    multi->target = target;
    return RC_OK;
}

static void ask_free(struct http_multi *multi, struct http_ask *ask)
{
    curl->multi_remove_handle(multi->curlm, ask->easy);
    curl->easy_cleanup(ask->easy);
    curl->slist_free_all(ask->lines);
    buf_release(&ask->head);
    mem_free(ask->url);
    *ask->link = ask->next;
    if (ask->next != NULL)
        ask->next->link = ask->link;
    multi->count--;
    mem_free(ask);
}

void http_multi_free(struct http_multi *multi)
{
    if (multi == NULL)
        return;
    while (multi->first != NULL)
        ask_free(multi, multi->first);
    curl->multi_cleanup(multi->curlm);
    http_target_release(&multi->target);
    mem_free(multi);
}

const char *http_multi_url(const struct http_multi *multi)
{
    return multi->target.url;
}

size_t http_multi_count(const struct http_multi *multi)
{
    return multi->count;
}

static struct http_seen seen_of(const struct http_ask *ask)
{
    char *type = NULL;
    curl_off_t wait_s = 0;
    curl->easy_getinfo(ask->easy, CURLINFO_CONTENT_TYPE, &type);
    curl->easy_getinfo(ask->easy, CURLINFO_RETRY_AFTER, &wait_s);
    wait_s = wait_s < 0 ? 0 : wait_s;                                 /* A time that is past, */
    wait_s = wait_s < RETRY_AFTER_MAX_S ? wait_s : RETRY_AFTER_MAX_S; /* and any number at all. */
    return (struct http_seen){.status = http_status_of(ask->easy),
                              .content_type = type != NULL ? type : "",
                              .head = &ask->head,
                              .retry_ms = (int64_t)wait_s * 1000};
}

static size_t take_bytes(char *bytes, size_t each, size_t count, void *ctx)
{
    struct http_ask *ask = ctx;
    size_t len = each * count;
    struct http_seen seen = seen_of(ask);
    ask->last_byte_us = clock_mono_us();
    ask->enough = !ask->spec.on_bytes(ask->spec.ctx, &seen, (struct str){bytes, len});
    return ask->enough ? 0 : len; /* Less than all ends the transfer. */
}

/* Every line of the head; a status line begins another answer, as after 100 Continue. */
static size_t take_head(char *bytes, size_t each, size_t count, void *ctx)
{
    struct http_ask *ask = ctx;
    size_t len = each * count;
    ask->last_byte_us = clock_mono_us();
    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        buf_clear(&ask->head);
    buf_add(&ask->head, bytes, len);
    return len;
}

static enum rc ask_prepare(struct http_multi *multi, struct http_ask *ask, struct err *err)
{
    const struct http_ask_spec *spec = &ask->spec;
    const struct http_setup setup = {.easy = ask->easy,
                                     .path = spec->path,
                                     .headers = spec->headers,
                                     .lines = &ask->lines,
                                     .curl_error = ask->curl_error};
    bool typed = http_fields_name(spec->headers, "Content-Type");
    if (!typed) /* Without a body it is removed: libcurl has a default of its own for POST. */
        http_lines_add(&ask->lines,
                       spec->body.len > 0 ? "Content-Type: application/json" : "Content-Type:");
    enum rc rc = http_target_prepare(&multi->target, &setup, err);
    if (rc != RC_OK)
        return rc;
    CURL *easy = ask->easy;
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, ask);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, ask);
    curl->easy_setopt(easy, CURLOPT_PRIVATE, ask);
    curl->easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)KEPT_SECONDS);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    ask->once.body = spec->body;
    if (spec->body.len > 0)
        http_once_set(easy, &ask->once);
    curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, spec->method);
    return RC_OK;
}

enum rc http_multi_start(struct http_multi *multi, const struct http_ask_spec *spec,
                         struct http_ask **ret_ask, struct err *err)
{
    assert(spec->on_bytes != NULL && spec->on_end != NULL && spec->idle_timeout_ms > 0);
    CURL *easy = curl->easy_init();
    if (easy == NULL)
        return err_set(err, RC_IO, "HTTP_CLIENT", "libcurl cannot start");
    struct http_ask *ask = mem_alloc(sizeof *ask);
    ask->easy = easy;
    ask->spec = *spec;
    ask->url = mem_strdup(multi->target.url);
    ask->last_byte_us = clock_mono_us();
    buf_init(&ask->head, HEAD_BYTES_MAX);
    ask->next = multi->first;
    ask->link = &multi->first;
    if (ask->next != NULL)
        ask->next->link = &ask->next;
    multi->first = ask;
    multi->count++;
    enum rc rc = ask_prepare(multi, ask, err);
    if (rc == RC_OK && curl->multi_add_handle(multi->curlm, easy) != CURLM_OK)
        rc = err_set(err, RC_IO, "HTTP_CLIENT", "libcurl cannot start a request");
    if (rc != RC_OK)
        ask_free(multi, ask);
    else
        *ret_ask = ask;
    return rc;
}

void http_multi_cancel(struct http_multi *multi, struct http_ask *ask)
{
    ask_free(multi, ask);
}

/* on_end may start and cancel others: the request is still in the list, but no longer in the multi
   handle. */
static void end(struct http_multi *multi, struct http_ask *ask, enum rc rc, const struct err *err)
{
    struct http_seen seen = seen_of(ask);
    curl->multi_remove_handle(multi->curlm, ask->easy);
    ask->spec.on_end(ask->spec.ctx, &seen, rc, err);
    ask_free(multi, ask);
}

static void hand_out_ends(struct http_multi *multi)
{
    const CURLMsg *message = NULL;
    int left = 0;
    while ((message = curl->multi_info_read(multi->curlm, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct http_ask *ask = NULL;
        CURLcode code = message->data.result; /* The message is gone once the handle is removed. */
        struct err err = {0};
        curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&ask);
        assert(ask != NULL);
        enum rc rc = RC_OK;
        if (code != CURLE_OK && !ask->enough)
            rc = http_fall_decode(&(struct http_fall){ask->url, ask->easy, code, ask->curl_error},
                                  &err);
        end(multi, ask, rc, &err);
    }
}

static int64_t idle_left_ms(const struct http_ask *ask)
{
    return ask->spec.idle_timeout_ms - (clock_mono_us() - ask->last_byte_us) / US_PER_MS;
}

static struct http_ask *find_silent(const struct http_multi *multi)
{
    for (struct http_ask *ask = multi->first; ask != NULL; ask = ask->next) {
        if (idle_left_ms(ask) < 0)
            return ask;
    }
    return NULL;
}

void http_multi_step(struct http_multi *multi)
{
    int running = 0;
    CURLMcode code = curl->multi_perform(multi->curlm, &running);
    assert(code == CURLM_OK); /* Out of memory, or a misuse. */
    (void)code;
    hand_out_ends(multi);
    struct http_ask *silent = NULL;
    while ((silent = find_silent(multi)) != NULL) { /* Anew each time: on_end changes the list. */
        struct err err = {0};
        enum rc rc = err_set(&err, RC_TIMEOUT, "SERVER_TIMEOUT", "nothing came from %s for %lld s",
                             silent->url, (long long)(silent->spec.idle_timeout_ms / 1000));
        end(multi, silent, rc, &err);
    }
}

static int wait_ms(const struct http_multi *multi, int timeout_ms)
{
    int64_t ms = timeout_ms < 0 ? INT_MAX : timeout_ms;
    for (const struct http_ask *ask = multi->first; ask != NULL; ask = ask->next) {
        int64_t left_ms = idle_left_ms(ask) + 1;
        ms = left_ms < ms ? left_ms : ms;
    }
    return ms > 0 ? (int)ms : 0;
}

void http_multi_wait(struct http_multi *multi, struct pollfd *looks, size_t count, int timeout_ms)
{
    struct curl_waitfd fds[LOOKS_MAX];
    assert(count <= LOOKS_MAX);
    if (multi->count == 0) {
        (void)poll(looks, (nfds_t)count, timeout_ms);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool in = (looks[i].events & POLLIN) != 0, out = (looks[i].events & POLLOUT) != 0;
        fds[i] = (struct curl_waitfd){
            .fd = looks[i].fd,
            .events = (short)((in ? CURL_WAIT_POLLIN : 0) | (out ? CURL_WAIT_POLLOUT : 0)),
        };
    }
    (void)curl->multi_poll(multi->curlm, fds, (unsigned)count, wait_ms(multi, timeout_ms), NULL);
    /* libcurl does not pass on POLLHUP and POLLERR, which is all that the end of a pipe gives. */
    (void)poll(looks, (nfds_t)count, 0);
}
