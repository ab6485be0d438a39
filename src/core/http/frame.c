#include "core/http/frame.h"
#include <assert.h>
#include <string.h>

void http_frame_init(struct http_frame *frame, const struct http_head_limits *limits)
{
    *frame = (struct http_frame){.limits = limits};
    buf_init(&frame->gathered, limits->bytes_max + 1);
}

void http_frame_release(struct http_frame *frame)
{
    buf_release(&frame->gathered);
}

bool http_frame_is_idle(const struct http_frame *frame)
{
    return frame->state == FRAME_HEAD && frame->gathered.len == 0 && frame->lead != LEAD_CR;
}

static void take(struct str *bytes, size_t len)
{
    bytes->at += len;
    bytes->len -= len;
}

static enum http_frame_event refuse(struct http_frame *frame, struct http_frame_out *out,
                                    int status)
{
    frame->state = FRAME_BROKEN;
    out->status = status;
    out->head_only = frame->head_only;
    return FRAME_REFUSE;
}

static enum http_frame_event refuse_rc(struct http_frame *frame, struct http_frame_out *out,
                                       enum rc rc)
{
    bool large = rc == RC_TOO_LARGE;
    bool trailer = frame->chunks.state == CHUNKS_TRAILER;
    return refuse(frame, out, !large ? 400 : trailer ? 431 : 413);
}

/* Some clients send an empty line behind a body (RFC 9112, 2.2).  false: it is broken. */
static bool skip_lead(struct http_frame *frame, struct str *bytes)
{
    if (frame->lead == LEAD_NONE && bytes->len > 0) {
        frame->lead = bytes->at[0] == '\r' ? LEAD_CR : LEAD_OVER;
        take(bytes, frame->lead == LEAD_CR);
    }
    if (frame->lead == LEAD_CR && bytes->len > 0) {
        if (bytes->at[0] != '\n')
            return false;
        frame->lead = LEAD_OVER;
        take(bytes, 1);
    }
    return true;
}

static enum http_frame_event take_head(struct http_frame *frame, struct str text,
                                       struct http_frame_out *out)
{
    int status = http_head_parse(text, frame->limits, &out->head, &out->err);
    if (status)
        return refuse(frame, out, status);
    frame->state = out->head.chunked ? FRAME_CHUNKED : FRAME_LENGTH;
    frame->left = out->head.content_length > 0 ? out->head.content_length : 0;
    frame->chunks = (struct http_chunks){0};
    return FRAME_BEGIN;
}

/* A head that arrived whole is read in place; one in pieces is gathered. */
static enum http_frame_event next_of_head(struct http_frame *frame, struct str *bytes,
                                          struct http_frame_out *out)
{
    if (!skip_lead(frame, bytes)) {
        (void)err_set(&out->err, RC_MALFORMED, "MALFORMED_REQUEST",
                      "lines of a request's head must end in CR LF");
        return refuse(frame, out, 400);
    }
    if (bytes->len == 0)
        return FRAME_MORE;
    size_t had = frame->gathered.len, length = 0;
    struct str text = *bytes;
    if (had > 0) {
        buf_add(&frame->gathered, bytes->at, bytes->len);
        text = buf_str(&frame->gathered);
    }
    /* No more is scanned than would be gathered, so that pieces of any size end the same way. */
    if (text.len > frame->limits->bytes_max + 1)
        text.len = frame->limits->bytes_max + 1;
    frame->head_only = text.len > 5 && memcmp(text.at, "HEAD ", 5) == 0;
    int status = http_scan(&frame->scan, text, &length, &out->err);
    if (status == 0 && length == 0 && text.len <= frame->limits->bytes_max) {
        if (had == 0)
            buf_add(&frame->gathered, bytes->at, bytes->len);
        take(bytes, bytes->len);
        return FRAME_MORE;
    }
    if (status)
        return refuse(frame, out, status);
    if (length == 0) {
        (void)err_set(&out->err, RC_TOO_LARGE, "HEADERS_TOO_LARGE",
                      "the request's headers are too large");
        return refuse(frame, out, 431);
    }
    take(bytes, length - had);
    text.len = length;
    return take_head(frame, text, out);
}

static enum http_frame_event end_of_request(struct http_frame *frame)
{
    frame->state = FRAME_HEAD;
    frame->lead = LEAD_NONE;
    frame->head_only = false;
    frame->scan = (struct http_scan){0};
    return FRAME_END;
}

static enum http_frame_event next_of_length(struct http_frame *frame, struct str *bytes,
                                            struct http_frame_out *out)
{
    if (frame->left == 0)
        return end_of_request(frame);
    if (bytes->len == 0)
        return FRAME_MORE;
    size_t len = (int64_t)bytes->len < frame->left ? bytes->len : (size_t)frame->left;
    out->content = (struct str){bytes->at, len};
    frame->left -= (int64_t)len;
    take(bytes, len);
    return FRAME_CONTENT;
}

static enum http_frame_event next_of_chunks(struct http_frame *frame, struct str *bytes,
                                            struct http_frame_out *out)
{
    enum rc rc = http_chunks_next(&frame->chunks, bytes, &out->content, &out->err);
    if (rc != RC_OK)
        return refuse_rc(frame, out, rc);
    if (out->content.len > 0)
        return FRAME_CONTENT;
    return frame->chunks.state == CHUNKS_DONE ? end_of_request(frame) : FRAME_MORE;
}

enum http_frame_event http_frame_next(struct http_frame *frame, struct str *bytes,
                                      struct http_frame_out *out)
{
    assert(frame->state != FRAME_BROKEN);
    if (frame->state != FRAME_HEAD && frame->gathered.len > 0) { /* The head was parsed. */
        buf_release(&frame->gathered);
        buf_init(&frame->gathered, frame->limits->bytes_max + 1);
    }
    switch (frame->state) {
    case FRAME_HEAD:
        return next_of_head(frame, bytes, out);
    case FRAME_LENGTH:
        return next_of_length(frame, bytes, out);
    case FRAME_CHUNKED:
        return next_of_chunks(frame, bytes, out);
    case FRAME_BROKEN:
        break;
    }
    return FRAME_MORE;
}
