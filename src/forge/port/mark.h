/*
 * mark.h - a key in a text at a forge, which readers of the page do not see.
 *
 *     <!-- drover:KEY -->     as the last line of the text
 *
 * By it drover finds a comment of its own again, by no words of its text.
 */
#ifndef FORGE_PORT_MARK_H
#define FORGE_PORT_MARK_H
#include "base/arena.h"
#include <stdbool.h>

/* The text with the mark of the key below it. */
const char *mark_add(struct arena *arena, const char *text, const char *key);
/* NULL has no mark. */
bool mark_is(const char *text, const char *key);
#endif
