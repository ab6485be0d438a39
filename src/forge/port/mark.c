#include "forge/port/mark.h"
#include "base/str.h"
#include <string.h>

const char *mark_add(struct arena *arena, const char *text, const char *key)
{
    return arena_printf(arena, "%s\n\n<!-- drover:%s -->", text, key);
}

/* Only the last line counts: a person who quotes a comment of drover's writes below the quote. */
bool mark_is(const char *text, const char *key)
{
    if (text == NULL)
        return false;
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    const char *line = memrchr(text, '\n', len);
    line = line != NULL ? line + 1 : text;
    const char *end = text + len, *open = "<!-- drover:", *close = " -->";
    size_t key_len = strlen(key);
    return (size_t)(end - line) == strlen(open) + key_len + strlen(close) &&
           text_starts(line, open) && strncmp(line + strlen(open), key, key_len) == 0 &&
           strncmp(end - strlen(close), close, strlen(close)) == 0;
}
