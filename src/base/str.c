/*
 * str.c - text helpers.  Everything here is pure and independent of the locale.
 */
#include "base/str.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct str str_of(const char *text)
{
    return text != NULL ? (struct str){text, strlen(text)} : (struct str){"", 0};
}

bool str_same(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool str_is(struct str a, const char *text)
{
    return str_same(a, str_of(text));
}

char *str_dup(struct arena *arena, struct str s)
{
    return arena_strndup(arena, s.at, s.len);
}

bool str_take_line(struct str *rest, struct str *ret_line)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->at, '\n', rest->len);
    size_t len = end != NULL ? (size_t)(end - rest->at) : rest->len;
    *ret_line = (struct str){rest->at, len};
    len += end != NULL;
    *rest = (struct str){rest->at + len, rest->len - len};
    return true;
}

bool text_same(const char *a, const char *b)
{
    return a != NULL && b != NULL ? strcmp(a, b) == 0 : a == b;
}

bool text_empty(const char *text)
{
    return text == NULL || *text == '\0';
}

bool text_starts(const char *text, const char *prefix)
{
    return text != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    if (text == NULL)
        return false;
    size_t len = strlen(text), tail = strlen(suffix);
    return len >= tail && strcmp(text + len - tail, suffix) == 0;
}

char *shell_quote(const char *text, struct arena *arena)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (!text_empty(text) && text[strspn(text, plain)] == '\0')
        return arena_strdup(arena, text);
    size_t len = 2;
    for (const char *at = text; at != NULL && *at; at++)
        len += *at == '\'' ? 4 : 1; /* '\'' */
    char *quoted = arena_alloc(arena, len + 1), *to = quoted;
    *to++ = '\'';
    for (const char *at = text; at != NULL && *at; at++) {
        if (*at == '\'') {
            memcpy(to, "'\\''", 4);
            to += 4;
        } else {
            *to++ = *at;
        }
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

void text_copy(char *to, size_t to_bytes, const char *from)
{
    assert(to_bytes > 0);
    size_t len = from != NULL ? strnlen(from, to_bytes - 1) : 0;
    if (len)
        memmove(to, from, len);
    to[len] = '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool text_to_i64(const char *text, int64_t *ret_value)
{
    if (text == NULL)
        return false;
    bool negative = *text == '-';
    const char *at = negative ? text + 1 : text;
    if (!is_digit(*at))
        return false;
    int64_t value = 0; /* Gathered below zero, where there is room for INT64_MIN. */
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, *at - '0', &value))
            return false;
    }
    if (*at != '\0' || (!negative && value == INT64_MIN))
        return false;
    *ret_value = negative ? value : -value;
    return true;
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* -?digits(.digits)?([eE][+-]?digits)?  strtod alone would take hex, "nan" and spaces too. */
static bool looks_decimal(const char *at)
{
    if (*at == '-')
        at++;
    if (!is_digit(*at))
        return false;
    at = skip_digits(at);
    if (*at == '.') {
        if (!is_digit(at[1]))
            return false;
        at = skip_digits(at + 1);
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        if (!is_digit(*at))
            return false;
        at = skip_digits(at);
    }
    return *at == '\0';
}

bool text_to_double(const char *text, double *ret_value)
{
    if (text == NULL || !looks_decimal(text))
        return false;
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

size_t utf8_len(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    if (len == 0 || at[0] == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    /* The second byte's range excludes overlong forms, surrogates and what lies past U+10FFFF. */
    unsigned char low = 0x80, high = 0xbf;
    size_t need;
    if (at[0] >= 0xc2 && at[0] <= 0xdf) {
        need = 2;
    } else if (at[0] >= 0xe0 && at[0] <= 0xef) {
        need = 3;
        low = at[0] == 0xe0 ? 0xa0 : 0x80;
        high = at[0] == 0xed ? 0x9f : 0xbf;
    } else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        need = 4;
        low = at[0] == 0xf0 ? 0x90 : 0x80;
        high = at[0] == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    if (len < need || at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    return need;
}

bool text_utf8_valid(const char *text, size_t len)
{
    while (len > 0) {
        size_t step = utf8_len(text, len);
        if (step == 0)
            return false;
        text += step;
        len -= step;
    }
    return true;
}

/* Takes one code point off the front (one byte where it is not UTF-8); 0 at the end. */
static uint32_t take_char(const char **at)
{
    const unsigned char *bytes = (const unsigned char *)*at;
    if (bytes[0] == 0)
        return 0;
    size_t len = utf8_len(*at, strnlen(*at, 4));
    *at += len ? len : 1;
    if (len < 2)
        return bytes[0];
    uint32_t point = bytes[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++)
        point = (point << 6) | (bytes[i] & 0x3fU);
    return point;
}

/* pattern stands behind '['.  NULL when no ']' ends the class, which makes the '[' a plain one. */
static const char *match_class(const char *pattern, uint32_t c, bool *ret_matched)
{
    bool negated = *pattern == '!' || *pattern == '^';
    if (negated)
        pattern++;
    bool matched = false;
    const char *first = pattern; /* A ']' here is a member. */
    while (*pattern != '\0' && (*pattern != ']' || pattern == first)) {
        uint32_t low = take_char(&pattern), high = low;
        if (*pattern == '-' && pattern[1] != ']' && pattern[1] != '\0') {
            pattern++;
            high = take_char(&pattern);
        }
        matched = matched || (c >= low && c <= high);
    }
    if (*pattern != ']')
        return NULL;
    *ret_matched = matched != negated;
    return pattern + 1;
}

/* One pattern element that is not a star against one character; false leaves both alone. */
static bool match_one(const char **pattern, const char **path)
{
    const char *p = *pattern, *s = *path;
    if (*p == '\0' || *s == '\0')
        return false;
    uint32_t c = take_char(&s);
    bool matched = false;
    const char *behind = *p == '[' ? match_class(p + 1, c, &matched) : NULL;
    if (behind != NULL) {
        p = behind;
        matched = matched && c != '/';
    } else if (*p == '?') {
        p++;
        matched = c != '/';
    } else {
        if (*p == '\\' && p[1] != '\0')
            p++;
        matched = take_char(&p) == c;
    }
    if (!matched)
        return false;
    *pattern = p;
    *path = s;
    return true;
}

/* Where to continue when what followed a star did not match. */
struct retry {
    const char *pattern; /* Behind the star; NULL when there was none. */
    const char *path;    /* Where its next attempt begins. */
    bool whole;          /* "**" followed by '/': takes whole components only. */
};

/* Lets the star take one more character, or for "**" + '/' one more component. */
static bool retry_next(struct retry *retry, bool cross)
{
    if (retry->pattern == NULL || *retry->path == '\0' || (!cross && *retry->path == '/'))
        return false;
    if (!retry->whole) {
        (void)take_char(&retry->path);
        return true;
    }
    const char *slash = strchr(retry->path, '/');
    if (slash == NULL)
        return false;
    retry->path = slash + 1;
    return true;
}

/*
 * Two places to come back to are enough.  A later "*" makes an earlier one
 * irrelevant, because within a component it can take everything that the earlier
 * one would have; a later "**" does the same to everything before it.  So the cost
 * is at most quadratic in the path, never exponential.
 */
bool glob_match(const char *pattern, const char *path)
{
    const char *start = pattern;
    struct retry one = {0}, any = {0};
    while (*path != '\0' || *pattern != '\0') {
        if (pattern[0] == '*' && pattern[1] == '*') {
            bool component = pattern == start || pattern[-1] == '/';
            pattern += strspn(pattern, "*");
            bool whole = component && *pattern == '/';
            if (whole)
                pattern++; /* "**" and its '/' may stand for nothing at all. */
            any = (struct retry){pattern, path, whole};
            one = (struct retry){0};
        } else if (*pattern == '*') {
            one = (struct retry){++pattern, path, false};
        } else if (match_one(&pattern, &path)) {
            continue;
        } else if (retry_next(&one, false)) {
            pattern = one.pattern;
            path = one.path;
        } else if (retry_next(&any, true)) {
            one = (struct retry){0};
            pattern = any.pattern;
            path = any.path;
        } else {
            return false;
        }
    }
    return true;
}

bool path_is_inside(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    while (len > 0 && dir[len - 1] == '/')
        len--;
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool glob_is_plain(const char *pattern)
{
    return strpbrk(pattern, "*?[\\") == NULL;
}

bool glob_covers(const char *pattern, const char *path)
{
    size_t len = strlen(pattern);
    if (len > 0 && pattern[len - 1] == '/')
        len--;
    if (glob_is_plain(pattern) && strncmp(path, pattern, len) == 0 && path[len] == '/')
        return true;
    return glob_match(pattern, path);
}

void text_slug(char *to, size_t to_bytes, const char *from)
{
    assert(to_bytes > 0);
    size_t len = 0;
    bool dash = false;
    for (; from != NULL && *from != '\0'; from++) {
        char c = *from >= 'A' && *from <= 'Z' ? (char)(*from - 'A' + 'a') : *from;
        if ((c < 'a' || c > 'z') && !is_digit(c)) {
            dash = len > 0;
            continue;
        }
        if (len + dash + 1 >= to_bytes)
            break;
        if (dash)
            to[len++] = '-';
        dash = false;
        to[len++] = c;
    }
    to[len] = '\0';
    if (len == 0)
        text_copy(to, to_bytes, "task");
}

void hex_encode(char *to, const unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *to = '\0';
}
