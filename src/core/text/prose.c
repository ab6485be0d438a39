/*
 * prose.c - text for people, and cut to size for them.
 */
#include "core/text/prose.h"
#include <assert.h>
#include <string.h>

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* U+0080 to U+009F are control characters as well; terminals act on them. */
static bool is_control(const unsigned char *at)
{
    if (at[0] == 0xc2)
        return at[1] >= 0x80 && at[1] <= 0x9f;
    return (at[0] < ' ' && at[0] != '\n' && at[0] != '\t' && at[0] != '\r') || at[0] == 0x7f;
}

bool prose_is_plain(const char *text)
{
    bool blank = true;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (is_control(at))
            return false;
        blank &= *at <= ' ';
    }
    return !blank;
}

size_t prose_fit(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    size_t fit = max;
    while (fit > 0 && is_continuation(text[fit]))
        fit--;
    return fit;
}

/* Of white space or a control character: how many bytes it has; 0: it is neither. */
static size_t blank_bytes(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    if (bytes[0] == 0xc2 && is_control(bytes))
        return 2;
    return bytes[0] <= ' ' || bytes[0] == 0x7f ? 1 : 0;
}

char *prose_line(struct arena *arena, const char *text, size_t max)
{
    static const char dots[] = "...";
    assert(max > sizeof dots);
    size_t len = strlen(text);
    size_t room = len < max ? len : max + 1; /* One more byte shows that it must be cut. */
    char *line = arena_alloc(arena, room + 1);
    size_t used = 0;
    for (size_t i = 0, blank; i < len && used<room; i += blank> 0 ? blank : 1) {
        blank = blank_bytes(text + i);
        if (blank == 0)
            line[used++] = text[i];
        else if (used > 0 && line[used - 1] != ' ')
            line[used++] = ' ';
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    if (used > max) {
        used = prose_fit(line, used, max - (sizeof dots - 1));
        memcpy(line + used, dots, sizeof dots - 1);
        used += sizeof dots - 1;
    }
    line[used] = '\0';
    return line;
}
