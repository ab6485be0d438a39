/*
 * prose.h - text for people, and cut to size for them: never in the middle of a character.
 */
#ifndef CORE_TEXT_PROSE_H
#define CORE_TEXT_PROSE_H
#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>

/* Is it UTF-8 text to be read: without control characters but tab, line feed and carriage return,
   and not all white space? */
bool prose_is_plain(const char *text);
/* The longest length <= max at which the text may be cut without splitting a UTF-8 character. */
size_t prose_fit(const char *text, size_t len, size_t max);
/* At most max bytes of the text on one line: runs of white space and control characters become one
   space, "..." where cut. */
char *prose_line(struct arena *arena, const char *text, size_t max);
#endif
