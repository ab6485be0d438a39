/*
 * untrusted.c - see untrusted.h.
 *
 *     <<<UNTRUSTED 0123456789abcdef0123456789abcdef BEGIN>>>
 *     the text
 *     <<<UNTRUSTED 0123456789abcdef0123456789abcdef END>>>
 */
#include "core/run/untrusted.h"
#include "base/str.h"
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORD "<<<UNTRUSTED"
static const char begin_word[] = "BEGIN", end_word[] = "END";

char *untrusted_boundary(char to[UNTRUSTED_BOUNDARY_BYTES], const uint64_t random[2])
{
    (void)snprintf(to, UNTRUSTED_BOUNDARY_BYTES, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return to;
}

static uint32_t code_point(const unsigned char *at, size_t bytes)
{
    switch (bytes) {
    case 2:
        return (at[0] & 0x1fU) << 6 | (at[1] & 0x3fU);
    case 3:
        return (at[0] & 0x0fU) << 12 | (at[1] & 0x3fU) << 6 | (at[2] & 0x3fU);
    case 4:
        return (at[0] & 0x07U) << 18 | (at[1] & 0x3fU) << 12 | (at[2] & 0x3fU) << 6 |
               (at[3] & 0x3fU);
    default:
        return at[0];
    }
}

/* Not seen by a person who reads the text, or changes the order in which it is seen. */
static bool is_hidden(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0x00, 0x08},       {0x0b, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},
        {0x061c, 0x061c},   {0x115f, 0x1160}, {0x180e, 0x180e}, {0x200b, 0x200f},
        {0x202a, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (code >= ranges[i].from && code <= ranges[i].to)
            return true;
    return false;
}

/* Bytes at the front that are left out; 0: none. */
static size_t left_out(const char *at, size_t left, const char *boundary)
{
    size_t len = strlen(boundary);
    if (len > 0 && left >= len && strncasecmp(at, boundary, len) == 0)
        return len;
    if (strncmp(at, "<!--", 4) == 0) {
        const char *end = strstr(at + 4, "-->");
        return end != NULL ? (size_t)(end + 3 - at) : left; /* An open one hides all the rest. */
    }
    size_t bytes = utf8_len(at, left);
    if (bytes == 0)
        return 1;
    return is_hidden(code_point((const unsigned char *)at, bytes)) ? bytes : 0;
}

/* One time over the text; what is left out may leave something behind that is to go as well. */
static bool clean_once(const char *text, const char *boundary, struct buf *into)
{
    bool changed = false;
    for (size_t left = strlen(text); left > 0;) {
        size_t gone = left_out(text, left, boundary);
        size_t bytes = gone > 0 ? gone : utf8_len(text, left);
        if (gone == 0 && strncasecmp(text, WORD, sizeof WORD - 1) == 0) {
            buf_adds(into, "(((untrusted");
            bytes = sizeof WORD - 1;
            changed = true;
        } else if (gone == 0) {
            buf_add(into, text, bytes);
        }
        changed |= gone > 0;
        text += bytes;
        left -= bytes;
    }
    return changed;
}

const char *untrusted_clean(const char *text, const char *boundary, struct arena *arena)
{
    enum { PASSES_MAX = 4 };
    struct buf passes[2];
    bool again = true;
    for (int i = 0; i < 2; i++)
        buf_init(&passes[i], strlen(text) + 1);
    buf_adds(&passes[0], text);
    for (int i = 0; again && i < PASSES_MAX; i++) {
        buf_clear(&passes[1]);
        again = clean_once(buf_text(&passes[0]), boundary, &passes[1]);
        struct buf next = passes[1];
        passes[1] = passes[0];
        passes[0] = next;
    }
    char *clean = arena_strdup(arena, buf_text(&passes[0]));
    /* Nested deeper than any text that is meant to be read: nothing may begin there any more. */
    for (char *at = clean; again && *at; at++) {
        if (*at == '<')
            *at = '(';
    }
    for (int i = 0; i < 2; i++)
        buf_release(&passes[i]);
    return clean;
}

const char *untrusted_name(const char *login, struct arena *arena)
{
    size_t len = strnlen(login, UNTRUSTED_NAME_MAX);
    char *name = arena_strndup(arena, login, len);
    for (char *at = name; *at; at++) {
        if (!isalnum((unsigned char)*at) && strchr("-_.[]@/:", *at) == NULL)
            *at = '?';
    }
    return *name ? name : "an unknown person";
}

void untrusted_line(struct buf *into, const char *boundary, bool begins)
{
    buf_addf(into, WORD " %s %s>>>\n", boundary, begins ? begin_word : end_word);
}

size_t untrusted_line_bytes(const char *boundary, bool begins)
{
    return strlen(WORD "  >>>\n") + strlen(boundary) + strlen(begins ? begin_word : end_word);
}
