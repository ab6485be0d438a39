/*
 * jw.h - writing JSON straight into a buffer: no tree, no malloc per value.
 *
 *     struct jw jw = jw_to(&buf);
 *     jw_begin(&jw, '{');
 *     jw_kstr(&jw, "id", id);  jw_kint(&jw, "n", 3);
 *     jw_key(&jw, "items"); jw_begin(&jw, '['); ... jw_end(&jw, ']');
 *     jw_end(&jw, '}');
 *
 * The writer places the commas.  Bytes that are not UTF-8 are written as
 * U+FFFD, so that output is always valid JSON.
 */
#ifndef BASE_JW_H
#define BASE_JW_H
#include "base/buf.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

struct jw {
    struct buf *buf;
    bool comma; /* A value stands before the next one. */
};

struct jw jw_to(struct buf *buf);
void jw_begin(struct jw *jw, char bracket); /* '{' or '[' */
void jw_end(struct jw *jw, char bracket);   /* '}' or ']' */
void jw_key(struct jw *jw, const char *key);
void jw_str(struct jw *jw, const char *text); /* NULL writes null. */
void jw_strn(struct jw *jw, const char *text, size_t len);
void jw_int(struct jw *jw, int64_t value);
void jw_real(struct jw *jw, double value); /* Shortest text that reads back the same. */
void jw_bool(struct jw *jw, bool value);
void jw_null(struct jw *jw);
void jw_raw(struct jw *jw, struct str json); /* JSON that is written already; empty is null. */

/* Key and value in one. */
void jw_kstr(struct jw *jw, const char *key, const char *text); /* null when NULL */
void jw_kint(struct jw *jw, const char *key, int64_t value);
void jw_kreal(struct jw *jw, const char *key, double value);
void jw_kbool(struct jw *jw, const char *key, bool value);
void jw_kraw(struct jw *jw, const char *key, struct str json);
void jw_ktime(struct jw *jw, const char *key, int64_t time_us); /* RFC 3339; null when 0. */

/* Key and value, left out altogether when the text is NULL or "". */
void jw_optstr(struct jw *jw, const char *key, const char *text);
#endif
