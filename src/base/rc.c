/*
 * rc.c - names of outcomes, and filling in struct err.
 *
 * The arguments of a message may point into the very err that is being filled
 * (that is how text gets wrapped), so everything is put together aside first.
 */
#include "base/rc.h"
#include "base/str.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[RC_COUNT] = {
    [RC_OK] = "ok",
    [RC_MALFORMED] = "malformed",
    [RC_INVALID] = "invalid",
    [RC_UNAUTHORIZED] = "unauthorized",
    [RC_DENIED] = "denied",
    [RC_NOT_FOUND] = "not_found",
    [RC_CONFLICT] = "conflict",
    [RC_STALE] = "stale",
    [RC_TOO_LARGE] = "too_large",
    [RC_LIMIT] = "limit",
    [RC_BUSY] = "busy",
    [RC_TIMEOUT] = "timeout",
    [RC_CANCELLED] = "cancelled",
    [RC_UNREACHABLE] = "unreachable",
    [RC_IO] = "io",
    [RC_CORRUPT] = "corrupt",
};

const char *rc_name(enum rc rc)
{
    assert(rc >= RC_OK && rc < RC_COUNT);
    return names[rc];
}

static void fill(struct err *err, const char *code, const char *field, const char *fmt,
                 va_list args)
{
    struct err filled;
    memset(&filled, 0, sizeof filled);
    text_copy(filled.code, sizeof filled.code, code);
    text_copy(filled.field, sizeof filled.field, field);
    (void)vsnprintf(filled.text, sizeof filled.text, fmt, args);
    *err = filled;
}

enum rc err_set(struct err *err, enum rc rc, const char *code, const char *fmt, ...)
{
    if (err == NULL)
        return rc;
    va_list args;
    va_start(args, fmt);
    fill(err, code, "", fmt, args);
    va_end(args);
    return rc;
}

enum rc err_field(struct err *err, enum rc rc, const char *code, const char *field, const char *fmt,
                  ...)
{
    if (err == NULL)
        return rc;
    va_list args;
    va_start(args, fmt);
    fill(err, code, field, fmt, args);
    va_end(args);
    return rc;
}

enum rc err_wrap(struct err *err, enum rc rc, const char *what)
{
    if (err == NULL)
        return rc;
    char wrapped[ERR_TEXT_MAX * 2];
    (void)snprintf(wrapped, sizeof wrapped, "%.200s: %s", what, err->text);
    text_copy(err->text, sizeof err->text, wrapped);
    return rc;
}

void err_clear(struct err *err)
{
    if (err != NULL)
        memset(err, 0, sizeof *err);
}
