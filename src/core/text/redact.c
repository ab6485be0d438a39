#include "core/text/redact.h"
#include <assert.h>
#include <string.h>

enum {
    MARK_BYTES_MAX = 64,
    GROWTH_MAX = 8 /* A mark in place of the last, short line of a key. */
};

void redact_init(struct redactor *redactor, const struct secrets *secrets, struct redact_sink sink)
{
    *redactor = (struct redactor){.secrets = secrets, .sink = sink};
    buf_init(&redactor->line, REDACT_LINE_MAX);
}

void redact_release(struct redactor *redactor)
{
    buf_release(&redactor->line);
}

static void give(struct redactor *redactor, const char *bytes, size_t len)
{
    if (len > 0)
        redactor->sink.take(redactor->sink.ctx, bytes, len);
}

static void give_mark(struct redactor *redactor, const char *rule)
{
    CLEANUP(buf_release) struct buf mark;
    buf_init(&mark, MARK_BYTES_MAX);
    buf_addf(&mark, "[redacted:%s]", rule);
    give(redactor, mark.data, mark.len);
}

/* Gives out the text up to `upto`, or up to the end of a secret that lies across it; returns how
   far that was. */
static size_t give_line(struct redactor *redactor, struct str line, size_t upto)
{
    struct secret_scan scan = secrets_scan(redactor->secrets, line, &redactor->key);
    struct secret secret;
    size_t at = 0;
    while (secrets_next(&scan, &secret)) {
        if (secret.at >= upto)
            continue;
        give(redactor, line.at + at, secret.at - at);
        give_mark(redactor, secret.rule);
        at = secret.at + secret.len;
    }
    if (at < upto) {
        give(redactor, line.at + at, upto - at);
        at = upto;
    }
    return at;
}

/* Adds to the line that is held; when it has become too long all but the overlap goes out. */
static void hold(struct redactor *redactor, const char *bytes, size_t len)
{
    struct buf *line = &redactor->line;
    while (len > 0) {
        size_t room = REDACT_LINE_MAX - line->len;
        size_t part = len < room ? len : room;
        buf_add(line, bytes, part);
        bytes += part;
        len -= part;
        if (line->len == REDACT_LINE_MAX)
            buf_drop(line, give_line(redactor, buf_str(line), REDACT_LINE_MAX - REDACT_OVERLAP));
    }
    assert(!line->overflow);
}

static void end_held(struct redactor *redactor)
{
    struct str line = buf_str(&redactor->line);
    (void)give_line(redactor, line, line.len);
    buf_clear(&redactor->line);
}

/* Whole lines, which go out in as few pieces as the secrets in them allow. */
static void give_lines(struct redactor *redactor, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    const char *clean = bytes; /* From here on nothing was found, and nothing given out. */
    while (bytes < end) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t line_len = (size_t)((stop != NULL ? stop : end) - bytes);
        struct str line = {bytes, line_len};
        struct secret_scan scan = secrets_scan(redactor->secrets, line, &redactor->key);
        struct secret secret;
        while (secrets_next(&scan, &secret)) {
            give(redactor, clean, (size_t)(bytes + secret.at - clean));
            give_mark(redactor, secret.rule);
            clean = bytes + secret.at + secret.len;
        }
        bytes += line_len + (stop != NULL);
    }
    give(redactor, clean, (size_t)(end - clean));
}

void redact_add(struct redactor *redactor, const char *bytes, size_t len)
{
    if (redactor->secrets == NULL) {
        give(redactor, bytes, len);
        return;
    }
    if (redactor->line.len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) : len;
        hold(redactor, bytes, part);
        if (end == NULL)
            return;
        end_held(redactor);
        bytes += part;
        len -= part;
    }
    const char *last = memrchr(bytes, '\n', len);
    size_t whole = last != NULL ? (size_t)(last - bytes) + 1 : 0;
    give_lines(redactor, bytes, whole);
    hold(redactor, bytes + whole, len - whole);
}

void redact_end(struct redactor *redactor)
{
    if (redactor->line.len > 0)
        end_held(redactor);
}

static void take_text(void *ctx, const char *bytes, size_t len)
{
    buf_add(ctx, bytes, len);
}

void redact_text(const struct secrets *secrets, struct str text, struct buf *into)
{
    CLEANUP(redact_release) struct redactor redactor;
    redact_init(&redactor, secrets, (struct redact_sink){.take = take_text, .ctx = into});
    redact_add(&redactor, text.at, text.len);
    redact_end(&redactor);
}

char *redact_dup(const struct secrets *secrets, const char *text, struct arena *arena)
{
    if (text == NULL)
        return NULL;
    size_t len = strlen(text);
    CLEANUP(buf_release) struct buf clean;
    buf_init(&clean, len * GROWTH_MAX + MARK_BYTES_MAX);
    redact_text(secrets, (struct str){text, len}, &clean);
    assert(!clean.overflow);
    return str_dup(arena, buf_str(&clean));
}
