/*
 * arena.h - memory that lives as long as one request, command or tick.
 *
 * Blocks are handed out from chunks and given back all at once.  An arena is
 * owned by one thread at a time.  A zeroed struct arena is a valid empty one.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include "base/rc.h"
#include <stdarg.h>
#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunk; /* The one being filled; links to the full ones. */
    size_t used_bytes;         /* Handed out since the last reset, for limits and metrics. */
};

void *arena_alloc(struct arena *arena, size_t bytes);              /* Zeroed, 16-aligned. */
void *arena_array(struct arena *arena, size_t count, size_t each); /* Zeroed. */
char *arena_strdup(struct arena *arena, const char *text);         /* NULL stays NULL. */
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_reset(struct arena *arena);   /* Keeps one chunk for reuse. */
void arena_release(struct arena *arena); /* Gives everything back. */

/* Gives back what was handed out since the mark.  No reset or release in between. */
struct arena_mark {
    struct arena_chunk *chunk, *next;
    size_t chunk_bytes, used_bytes;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, const struct arena_mark *mark);
#endif
