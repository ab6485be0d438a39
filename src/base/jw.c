/*
 * jw.c - writing JSON straight into a buffer.
 */
#include "base/jw.h"
#include "base/clock.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jw jw_to(struct buf *buf)
{
    return (struct jw){.buf = buf};
}

/* Every value begins here: what follows it will need a comma. */
static void separate(struct jw *jw)
{
    if (jw->comma)
        buf_addc(jw->buf, ',');
    jw->comma = true;
}

void jw_begin(struct jw *jw, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    separate(jw);
    buf_addc(jw->buf, bracket);
    jw->comma = false;
}

void jw_end(struct jw *jw, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    buf_addc(jw->buf, bracket);
    jw->comma = true;
}

static void add_escaped(struct buf *buf, unsigned char c)
{
    static const char names[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                 ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    if (c < sizeof names && names[c]) {
        const char pair[] = {'\\', names[c]};
        buf_add(buf, pair, sizeof pair);
    } else { /* Below 0x20, and a text may be full of them: without printf. */
        const char code[] = {'\\', 'u', '0', '0', (char)('0' + c / 16), "0123456789abcdef"[c % 16]};
        buf_add(buf, code, sizeof code);
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void add_quoted(struct buf *buf, const char *text, size_t len)
{
    buf_addc(buf, '"');
    size_t start = 0, i = 0; /* The bytes from start to i go out as they are. */
    while (i < len) {
        unsigned char c = (unsigned char)text[i];
        if (is_plain(c)) {
            i++;
            continue;
        }
        size_t step = c < 0x80 ? 0 : utf8_len(text + i, len - i);
        if (step) {
            i += step;
            continue;
        }
        buf_add(buf, text + start, i - start);
        if (c < 0x80)
            add_escaped(buf, c);
        else
            buf_adds(buf, "\xef\xbf\xbd");
        start = ++i;
    }
    buf_add(buf, text + start, i - start);
    buf_addc(buf, '"');
}

void jw_key(struct jw *jw, const char *key)
{
    separate(jw);
    add_quoted(jw->buf, key, strlen(key));
    buf_addc(jw->buf, ':');
    jw->comma = false;
}

void jw_str(struct jw *jw, const char *text)
{
    if (text != NULL)
        jw_strn(jw, text, strlen(text));
    else
        jw_null(jw);
}

void jw_strn(struct jw *jw, const char *text, size_t len)
{
    separate(jw);
    add_quoted(jw->buf, text != NULL ? text : "", text != NULL ? len : 0);
}

/* Without printf: most members of most objects are numbers. */
void jw_int(struct jw *jw, int64_t value)
{
    char text[20]; /* INT64_MIN has as many. */
    size_t at = sizeof text;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        text[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        text[--at] = '-';
    separate(jw);
    buf_add(jw->buf, text + at, sizeof text - at);
}

void jw_real(struct jw *jw, double value)
{
    if (!isfinite(value)) {
        jw_null(jw);
        return;
    }
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    separate(jw);
    buf_adds(jw->buf, text);
}

void jw_bool(struct jw *jw, bool value)
{
    separate(jw);
    buf_adds(jw->buf, value ? "true" : "false");
}

void jw_null(struct jw *jw)
{
    separate(jw);
    buf_adds(jw->buf, "null");
}

void jw_raw(struct jw *jw, struct str json)
{
    if (json.len == 0) {
        jw_null(jw);
        return;
    }
    separate(jw);
    buf_add(jw->buf, json.at, json.len);
}

void jw_kstr(struct jw *jw, const char *key, const char *text)
{
    jw_key(jw, key);
    jw_str(jw, text);
}

void jw_kint(struct jw *jw, const char *key, int64_t value)
{
    jw_key(jw, key);
    jw_int(jw, value);
}

void jw_kreal(struct jw *jw, const char *key, double value)
{
    jw_key(jw, key);
    jw_real(jw, value);
}

void jw_kbool(struct jw *jw, const char *key, bool value)
{
    jw_key(jw, key);
    jw_bool(jw, value);
}

void jw_kraw(struct jw *jw, const char *key, struct str json)
{
    jw_key(jw, key);
    jw_raw(jw, json);
}

void jw_ktime(struct jw *jw, const char *key, int64_t time_us)
{
    char text[TIME_TEXT_BYTES];
    jw_kstr(jw, key, time_us ? time_format(text, time_us) : NULL);
}

void jw_optstr(struct jw *jw, const char *key, const char *text)
{
    if (!text_empty(text))
        jw_kstr(jw, key, text);
}
