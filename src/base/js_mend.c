#include "base/js_mend.h"
#include "base/js.h"
#include <string.h>

enum { DIGITS_MAX = 18, EXPONENT_DIGITS_MAX = 2, ESCAPE_BYTES = 6 };

/* The rest of the text, and where it goes. */
struct mend {
    const char *at, *end;
    struct buf *into;
};

static size_t left(const struct mend *mend)
{
    return (size_t)(mend->end - mend->at);
}

static void copy(struct mend *mend, size_t len)
{
    buf_add(mend->into, mend->at, len);
    mend->at += len;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- strings ---- */

/* The unit of an escape \uXXXX at this place; -1: there is none. */
static int unit_at(const char *at, const char *end)
{
    int unit = 0;
    if (end - at < ESCAPE_BYTES || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < ESCAPE_BYTES; i++) {
        char c = at[i];
        int digit = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(int unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

static void mend_escape(struct mend *mend)
{
    int unit = unit_at(mend->at, mend->end);
    if (is_high(unit) && is_low(unit_at(mend->at + ESCAPE_BYTES, mend->end))) {
        copy(mend, 2 * (size_t)ESCAPE_BYTES);
    } else if (unit == 0 || is_high(unit) || is_low(unit)) {
        buf_adds(mend->into, "\\ufffd");
        mend->at += ESCAPE_BYTES;
    } else {
        copy(mend, left(mend) > 1 ? 2 : 1);
    }
}

/* From the quote behind which it stands to its end. */
static void mend_string(struct mend *mend)
{
    copy(mend, 1);
    while (mend->at < mend->end && *mend->at != '"') {
        const char *plain = mend->at;
        while (plain < mend->end && *plain >= ' ' && *plain != '"' && *plain != '\\')
            plain++;
        copy(mend, (size_t)(plain - mend->at));
        if (mend->at == mend->end || *mend->at == '"')
            break;
        size_t whole = utf8_len(mend->at, left(mend));
        if (*mend->at == '\\') {
            mend_escape(mend);
        } else if ((unsigned char)*mend->at < ' ') {
            buf_addc(mend->into, ' ');
            mend->at++;
        } else if (whole > 0) {
            copy(mend, whole);
        } else {
            buf_adds(mend->into, "\xef\xbf\xbd");
            mend->at++;
        }
    }
    if (mend->at < mend->end)
        copy(mend, 1);
}

/* ---- numbers and nesting ---- */

static void mend_number(struct mend *mend)
{
    const char *digits = mend->at + (*mend->at == '-'), *after = digits;
    while (after < mend->end && is_digit(*after))
        after++;
    const char *end = after, *exponent = NULL;
    while (end < mend->end && (is_digit(*end) || strchr(".eE+-", *end) != NULL)) {
        if (*end == 'e' || *end == 'E')
            exponent = end + 1;
        end++;
    }
    if (exponent != NULL) {
        exponent += exponent < end && (*exponent == '+' || *exponent == '-');
        size_t len = (size_t)(end - exponent);
        copy(mend, (size_t)(exponent - mend->at));
        buf_add(mend->into, mend->at,
                len < EXPONENT_DIGITS_MAX ? len : (size_t)EXPONENT_DIGITS_MAX);
        mend->at = end;
    } else if (end == after && after - digits > DIGITS_MAX) {
        copy(mend, (size_t)(digits - mend->at));
        for (int i = 0; i < DIGITS_MAX; i++)
            buf_addc(mend->into, '9');
        mend->at = end;
    } else {
        copy(mend, (size_t)(end - mend->at));
    }
}

/* A bracket too deep, and all that it holds. */
static void skip_value(struct mend *mend)
{
    size_t depth = 0;
    bool quoted = false;
    buf_adds(mend->into, "null");
    for (; mend->at < mend->end; mend->at++) {
        char c = *mend->at;
        if (quoted && c == '\\')
            mend->at += mend->at + 1 < mend->end;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            depth++;
        else if (!quoted && (c == ']' || c == '}') && --depth == 0)
            break;
    }
    mend->at += mend->at < mend->end;
}

void js_mend(struct str text, struct buf *into)
{
    struct mend mend = {text.at, text.at + text.len, into};
    int depth = 0;
    while (mend.at < mend.end) {
        char c = *mend.at;
        bool opens = c == '[' || c == '{';
        if (c == '"') {
            mend_string(&mend);
        } else if (c == '-' || is_digit(c)) {
            mend_number(&mend);
        } else if (opens && depth == JS_DEPTH_MAX) {
            skip_value(&mend);
        } else {
            depth += opens - (c == ']' || c == '}');
            copy(&mend, 1);
        }
    }
}
