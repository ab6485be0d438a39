#include "core/text/terminal.h"
#include <string.h>

enum { ESCAPE_BYTES_MAX = 128 };

/* Bytes of the terminal escape at the start, which is ESC; at least 1. */
static size_t escape_bytes(struct str text)
{
    size_t max = text.len < ESCAPE_BYTES_MAX ? text.len : ESCAPE_BYTES_MAX;
    if (max < 2)
        return max;
    if (text.at[1] == '[') { /* CSI: parameters, then one final byte. */
        for (size_t i = 2; i < max; i++) {
            if (text.at[i] >= 0x40 && text.at[i] <= 0x7e)
                return i + 1;
        }
        return 2;
    }
    if (text.at[1] == ']') { /* OSC: up to BEL or ESC \. */
        for (size_t i = 2; i < max; i++) {
            if (text.at[i] == '\a')
                return i + 1;
            if (text.at[i] == '\033' && i + 1 < max && text.at[i + 1] == '\\')
                return i + 2;
        }
    }
    return 2;
}

char *terminal_line(char *to, struct str line)
{
    char *start = to;
    bool returned = false; /* The next character overwrites the line. */
    while (line.len > 0) {
        size_t bytes = 1;
        unsigned char c = (unsigned char)line.at[0];
        if (c == '\033') {
            bytes = escape_bytes(line);
        } else if (c == '\r') {
            returned = true;
        } else if (c == '\t' || (c >= ' ' && c != 0x7f)) {
            to = returned ? start : to;
            returned = false;
            bytes = utf8_len(line.at, line.len);
            if (bytes == 0)
                *to++ = '?';
            else
                to = (char *)memcpy(to, line.at, bytes) + bytes;
            bytes += bytes == 0;
        }
        line = (struct str){line.at + bytes, line.len - bytes};
    }
    return to;
}

char *terminal_last_lines(struct arena *arena, struct str text, bool cut, size_t max)
{
    char *clean = arena_alloc(arena, text.len + 1), *to = clean;
    struct str line;
    const char *first = memchr(text.at, '\n', text.len);
    size_t skipped = cut && first != NULL ? (size_t)(first - text.at) + 1 : 0;
    if (skipped < text.len)
        text = (struct str){text.at + skipped, text.len - skipped};
    while (str_take_line(&text, &line)) {
        char *end = terminal_line(to, line);
        if (end == to) /* Blank lines say nothing. */
            continue;
        *end = '\n';
        to = end + 1;
    }
    to -= to > clean; /* The last line feed. */
    *to = '\0';
    size_t len = (size_t)(to - clean);
    if (len <= max)
        return clean;
    const char *from = clean + (len - max);
    const char *next = strchr(from - 1, '\n'); /* From there on lines are whole. */
    if (next != NULL && next[1] != '\0')
        return clean + (next + 1 - clean);
    while (((unsigned char)*from & 0xc0) == 0x80)
        from++;
    return clean + (from - clean);
}
