/*
 * terminal.h - what programs print, as a terminal would show it in the end: escapes and control
 * characters go, a progress line keeps what it showed last, bytes that are not UTF-8 become '?'.
 */
#ifndef CORE_TEXT_TERMINAL_H
#define CORE_TEXT_TERMINAL_H
#include "base/arena.h"
#include "base/str.h"

/* Copies a line without its end, clean; returns the end of the copy, which is never longer. */
char *terminal_line(char *to, struct str line);
/* The last lines of a text, clean and together at most max bytes.  `cut`: the text is the end of a
   longer one, so its first line may not be whole; it is left out unless it is the only one. */
char *terminal_last_lines(struct arena *arena, struct str text, bool cut, size_t max);
#endif
