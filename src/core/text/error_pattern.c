/*
 * error_pattern.c - see error_pattern.h.
 *
 * One walk over the text.  At every place the scans of the table below are tried, from the most to
 * the least specific; the first that matches returns its length.  What none matches is copied.  A
 * scan never reads farther than SCAN_MAX bytes, so the walk is linear.
 */
#include "core/text/error_pattern.h"
#include "base/str.h"
#include <stdbool.h>
#include <string.h>

#define NUMBER "<n>"

enum { SCAN_MAX = 512, HEX_MIN = 7, QUADS = 4, EMAIL_MAX = 64 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t span(const char *at, bool (*fits)(char c))
{
    size_t len = 0;
    while (len < SCAN_MAX && fits(at[len]))
        len++;
    return len;
}

/* The length, unless a word continues behind it. */
static size_t ended(const char *at, size_t len)
{
    return is_word(at[len]) ? 0 : len;
}

/* Sentences end in dots and brackets that are not of the thing. */
static size_t trimmed(const char *at, size_t len)
{
    while (len > 0 && strchr(".,:;!?)]}>", at[len - 1]) != NULL)
        len--;
    return len;
}

/* ---- what may stand there: each gives the bytes that it takes, or 0 ---- */

/* An apostrophe within a word is none, and so is a quote that nothing closes. */
static size_t match_quoted(const char *at)
{
    char quote = at[0];
    if (quote != '"' && quote != '\'' && quote != '`')
        return 0;
    for (size_t i = 1; i < SCAN_MAX && at[i] != '\0' && at[i] != '\n'; i++) {
        if (at[i] == '\\' && at[i + 1] != '\0')
            i++;
        else if (at[i] == quote && !is_word(at[i + 1]))
            return i + 1;
    }
    return 0;
}

static bool is_scheme(char c)
{
    return is_word(c) || c == '+' || c == '-' || c == '.';
}

static bool in_url(char c)
{
    return c != '\0' && !is_space(c) && strchr("\"'`<>", c) == NULL;
}

static size_t match_url(const char *at)
{
    size_t scheme = span(at, is_scheme);
    if (scheme < 2 || strncmp(at + scheme, "://", 3) != 0)
        return 0;
    return trimmed(at, scheme + 3 + span(at + scheme + 3, in_url));
}

static size_t match_uuid(const char *at)
{
    static const char fields[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof fields - 1; i++)
        if (fields[i] == 'x' ? !is_hex(at[i]) : at[i] != '-')
            return 0;
    return ended(at, sizeof fields - 1);
}

/* With ":port" behind it, if it is there. */
static size_t with_port(const char *at, size_t len)
{
    size_t port = at[len] == ':' ? span(at + len + 1, is_digit) : 0;
    return port > 0 ? ended(at, len + 1 + port) : len;
}

static size_t match_ipv4(const char *at)
{
    size_t len = 0;
    for (int i = 0; i < QUADS; i++) {
        if (i > 0 && at[len++] != '.')
            return 0;
        size_t digits = span(at + len, is_digit);
        if (digits == 0 || digits > 3)
            return 0;
        len += digits;
    }
    return ended(at, with_port(at, len));
}

static bool in_ipv6(char c)
{
    return is_hex(c) || c == ':';
}

/* "::" or seven colons distinguish it from a time of day. */
static bool is_ipv6(const char *at, size_t len)
{
    size_t colons = 0;
    bool twice = false;
    for (size_t i = 0; i < len; i++) {
        colons += at[i] == ':';
        twice |= at[i] == ':' && i + 1 < len && at[i + 1] == ':';
    }
    return len > 2 && (twice || colons == 7) && colons <= 7;
}

static size_t match_ipv6(const char *at)
{
    bool bracket = at[0] == '[';
    size_t len = span(at + bracket, in_ipv6);
    while (len > 2 && at[bracket + len - 1] == ':' && at[bracket + len - 2] != ':')
        len--; /* "::1: refused" */
    if (!is_ipv6(at + bracket, len))
        return 0;
    if (!bracket)
        return ended(at, len);
    return at[len + 1] == ']' ? ended(at, with_port(at, len + 2)) : 0;
}

static bool in_mailbox(char c)
{
    return is_word(c) || c == '.' || c == '+' || c == '-' || c == '_';
}

static size_t match_email(const char *at)
{
    size_t box = span(at, in_mailbox);
    if (box == 0 || box > EMAIL_MAX || at[box] != '@')
        return 0;
    size_t host = trimmed(at + box + 1, span(at + box + 1, in_mailbox));
    return host > 0 && memchr(at + box + 1, '.', host) != NULL ? box + 1 + host : 0;
}

static bool in_path(char c)
{
    return is_word(c) || (c & 0x80) != 0 || (c != '\0' && strchr("/._-+@%=~:", c) != NULL);
}

/* From a root, or with so many parts, or with a file's ending: "and/or" and "I/O" are none. */
static size_t match_path(const char *at)
{
    size_t len = trimmed(at, span(at, in_path));
    size_t slashes = 0;
    for (size_t i = 0; i < len; i++)
        slashes += at[i] == '/';
    if (slashes == 0 || len < 2)
        return 0;
    bool rooted = at[0] == '/' || at[0] == '~' || at[0] == '.';
    return rooted || slashes > 1 || memchr(at, '.', len) != NULL ? len : 0;
}

/* Digits alone are a number. */
static size_t match_hex(const char *at)
{
    bool marked = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    size_t len = span(at + (marked ? 2 : 0), is_hex);
    if (marked)
        return len > 0 ? ended(at, len + 2) : 0;
    size_t digits = span(at, is_digit), any = 0;
    for (size_t i = 0; i < len; i++)
        any += is_digit(at[i]);
    return len >= HEX_MIN && digits < len && any > 0 ? ended(at, len) : 0;
}

/* "12", "1.5", "1,000", with the sign in front. */
static size_t match_number(const char *at)
{
    size_t len = at[0] == '-' || at[0] == '+' ? 1 : 0;
    size_t digits = span(at + len, is_digit);
    if (digits == 0)
        return 0;
    len += digits;
    while (len < SCAN_MAX && (at[len] == '.' || at[len] == ',') && is_digit(at[len + 1]))
        len += 1 + span(at + len + 1, is_digit);
    return len;
}

static const struct {
    size_t (*match)(const char *at);
    const char *shown;
} kinds[] = {
    {match_quoted, "<text>"},  {match_url, "<url>"},      {match_uuid, "<uuid>"},
    {match_ipv4, "<address>"}, {match_ipv6, "<address>"}, {match_email, "<address>"},
    {match_path, "<path>"},    {match_hex, "<hex>"},      {match_number, NUMBER},
};

/* ---- the walk ---- */

struct pattern {
    char text[ERROR_PATTERN_MAX + 1];
    size_t len;
    bool full;
};

static void add(struct pattern *to, const char *text, size_t len)
{
    to->full |= len > ERROR_PATTERN_MAX - to->len;
    if (to->full)
        return;
    memcpy(to->text + to->len, text, len);
    to->len += len;
}

/* The start of a word may be anything, its middle only a number. */
static size_t find(const char *at, bool starts, const char **ret_shown)
{
    *ret_shown = NUMBER;
    if (!starts)
        return is_digit(at[0]) ? match_number(at) : 0;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t len = kinds[i].match(at);
        *ret_shown = kinds[i].shown;
        if (len > 0)
            return len;
    }
    return 0;
}

char *error_pattern(const char *text, struct arena *arena)
{
    struct pattern to = {.len = 0};
    const char *end = text + strlen(text);
    bool starts = true, spaced = false;
    while (text < end && !to.full) {
        if (is_space(*text)) {
            starts = spaced = true;
            text++;
            continue;
        }
        if (spaced && to.len > 0)
            add(&to, " ", 1);
        spaced = false;
        const char *shown;
        size_t len = find(text, starts, &shown);
        if (len > 0) {
            add(&to, shown, strlen(shown));
        } else {
            size_t whole = utf8_len(text, (size_t)(end - text));
            len = whole > 0 ? whole : 1;
            add(&to, whole > 0 ? text : "?", len);
        }
        text += len;
        starts = !is_word(text[-1]);
    }
    return arena_strndup(arena, to.text, to.len);
}
