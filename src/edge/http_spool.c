/*
 * http_spool.c - see http_spool.h.
 */
#include "edge/http_spool.h"
#include "base/clock.h"
#include "edge/spool.h"
#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/socket.h>

enum rc http_spool_begin(struct conn *conn, const struct http_head *head,
                         const struct http_body_plan *plan, struct err *err)
{
    assert(!conn->spool);
    conn->body_chunked = head->chunked;
    conn->body_length = head->chunked ? -1 : head->content_length;
    conn->chunks = (struct http_chunks){0};
    conn->body_byte_us = clock_mono_us();
    struct spool_claim claim = {
        .holder = plan->holder, .admin = plan->admin, .bytes = conn->body_length};
    return spool_begin(conn->http->options.spool, &claim, &conn->spool, err);
}

void http_spool_drop(struct conn *conn)
{
    spool_file_free(conn->spool);
    conn->spool = NULL;
}

bool http_spool_stalled(const struct conn *conn, int64_t now_us)
{
    int64_t stall_us = conn->http->options.stall_ms * US_PER_MS;
    if (!conn->spool || now_us - conn->body_byte_us < stall_us)
        return false;
    char byte; /* After a pause of the loop, bytes may wait in the socket. */
    return recv(bufferevent_getfd(conn->bufev), &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

static enum rc add_content(struct conn *conn, struct str content, struct err *err)
{
    if (spool_file_bytes(conn->spool) + (int64_t)content.len > conn->body_max)
        return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE", "at most %lld bytes are taken here",
                       (long long)conn->body_max);
    return spool_add(conn->spool, content.at, content.len, err);
}

static bool body_is_whole(const struct conn *conn)
{
    return conn->body_chunked ? conn->chunks.state == CHUNKS_DONE
                              : spool_file_bytes(conn->spool) == conn->body_length;
}

/* Takes what belongs to the body off the front of *bytes. */
static enum rc take_body(struct conn *conn, struct str *bytes, struct err *err)
{
    enum rc rc = RC_OK;
    if (!conn->body_chunked) {
        int64_t missing = conn->body_length - spool_file_bytes(conn->spool);
        size_t len = (int64_t)bytes->len < missing ? bytes->len : (size_t)missing;
        rc = add_content(conn, (struct str){bytes->at, len}, err);
        bytes->at += len;
        bytes->len -= len;
        return rc;
    }
    while (rc == RC_OK && bytes->len > 0 && conn->chunks.state != CHUNKS_DONE) {
        struct str content;
        rc = http_chunks_next(&conn->chunks, bytes, &content, err);
        if (rc == RC_OK && content.len > 0)
            rc = add_content(conn, content, err);
    }
    return rc;
}

static void free_content(const void *data, size_t len, void *arg)
{
    (void)data, (void)len;
    spool_file_free(arg);
}

/* libevent finds the body in its input, whole. */
static enum rc hand_over(struct conn *conn, struct evbuffer *input, struct err *err)
{
    int64_t bytes = spool_file_bytes(conn->spool);
    enum rc rc = bytes > 0 ? spool_end(conn->spool, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    int failed = 0;
    if (conn->body_chunked && bytes > 0)
        failed |= evbuffer_add_printf(input, "%llx\r\n", (unsigned long long)bytes) < 0;
    if (bytes > 0) {
        struct str content = spool_file_content(conn->spool);
        failed |= evbuffer_add_reference(input, content.at, content.len, free_content, conn->spool);
        conn->spooled = conn->spool;
        conn->spool = NULL;
    } else {
        http_spool_drop(conn);
    }
    if (conn->body_chunked)
        failed |= evbuffer_add_printf(input, bytes > 0 ? "\r\n0\r\n\r\n" : "0\r\n\r\n") < 0;
    assert(!failed);
    return RC_OK;
}

/* Moves the last bytes of the input into *tail. */
static void cut_tail(struct evbuffer *input, size_t added, struct evbuffer *tail)
{
    size_t keep = evbuffer_get_length(input) - added;
    int failed = evbuffer_add_buffer(tail, input);
    if (keep > 0) /* libevent has not read the head yet. */
        failed |= evbuffer_remove_buffer(tail, input, keep) != (int)keep;
    assert(!failed);
}

enum rc http_spool_feed(struct conn *conn, struct evbuffer *input, size_t added, struct err *err)
{
    struct evbuffer *tail = evbuffer_new();
    assert(tail);
    conn->body_byte_us = clock_mono_us();
    conn->moving = true; /* What happens to the input here is no news. */
    cut_tail(input, added, tail);
    enum rc rc = RC_OK;
    while (rc == RC_OK && evbuffer_get_length(tail) > 0 && !body_is_whole(conn)) {
        struct evbuffer_iovec piece;
        int count = evbuffer_peek(tail, -1, NULL, &piece, 1);
        assert(count >= 1);
        struct str bytes = {piece.iov_base, piece.iov_len};
        rc = take_body(conn, &bytes, err);
        evbuffer_drain(tail, piece.iov_len - bytes.len);
    }
    if (rc == RC_OK && body_is_whole(conn)) {
        rc = hand_over(conn, input, err);
        if (rc == RC_OK && evbuffer_add_buffer(input, tail) != 0)
            assert(0 && "out of memory");
    }
    conn->moving = false;
    evbuffer_free(tail);
    return rc;
}
