/*
 * prose.h - text cut to size for people: never in the middle of a character.
 */
#ifndef CORE_TEXT_PROSE_H
#define CORE_TEXT_PROSE_H
#include "base/arena.h"
#include <stddef.h>

/* The longest length <= max at which the text may be cut without splitting a UTF-8 character. */
size_t prose_fit(const char *text, size_t len, size_t max);
/* At most max bytes of the text on one line: white space runs become one space, "..." where cut. */
char *prose_line(struct arena *arena, const char *text, size_t max);
#endif
