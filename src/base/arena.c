/*
 * arena.c - chunks in a list, filled from the front.
 *
 *     arena -> [chunk being filled] -> [full or oversized] -> ... -> NULL
 *
 * Chunks double up to CHUNK_MAX.  A block too large for that gets a chunk of
 * its own behind the current one, whose room is thereby not wasted.  Reset
 * keeps the current chunk only, so one large request does not pin memory.
 */
#include "base/arena.h"
#include "base/mem.h"
#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 16, CHUNK_MIN = 4096, CHUNK_MAX = 256 * 1024 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t room;
    size_t used;
    alignas(ALIGNMENT) unsigned char data[];
};

static struct arena_chunk *chunk_new(size_t room)
{
    struct arena_chunk *chunk = mem_grow(NULL, sizeof *chunk + room);
    chunk->next = NULL;
    chunk->room = room;
    chunk->used = 0;
    return chunk;
}

static struct arena_chunk *chunk_for(struct arena *arena, size_t bytes)
{
    struct arena_chunk *current = arena->chunk;
    if (current != NULL && current->room - current->used >= bytes)
        return current;
    size_t room = current != NULL ? current->room * 2 : CHUNK_MIN;
    if (room > CHUNK_MAX)
        room = CHUNK_MAX;
    if (current != NULL && bytes > room) {
        struct arena_chunk *own = chunk_new(bytes);
        own->next = current->next;
        current->next = own;
        return own;
    }
    struct arena_chunk *fresh = chunk_new(bytes > room ? bytes : room);
    fresh->next = current;
    arena->chunk = fresh;
    return fresh;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    assert(bytes < SIZE_MAX / 2);
    size_t rounded = bytes ? (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
    struct arena_chunk *chunk = chunk_for(arena, rounded);
    void *block = chunk->data + chunk->used;
    chunk->used += rounded;
    arena->used_bytes += rounded;
    memset(block, 0, rounded);
    return block;
}

void *arena_array(struct arena *arena, size_t count, size_t each)
{
    assert(each == 0 || count < SIZE_MAX / 2 / each);
    return arena_alloc(arena, count * each);
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);
    if (len)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    assert(len >= 0);
    char *text = arena_alloc(arena, (size_t)len + 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}

static void free_list(struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        mem_free(chunk);
        chunk = next;
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *kept = arena->chunk;
    if (kept != NULL && kept->room > CHUNK_MAX) {
        arena_release(arena);
        return;
    }
    if (kept != NULL) {
        free_list(kept->next);
        kept->next = NULL;
        kept->used = 0;
    }
    arena->used_bytes = 0;
}

void arena_release(struct arena *arena)
{
    if (arena == NULL)
        return;
    free_list(arena->chunk);
    arena->chunk = NULL;
    arena->used_bytes = 0;
}

struct arena_mark arena_mark(const struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunk;
    return (struct arena_mark){
        .chunk = chunk,
        .next = chunk != NULL ? chunk->next : NULL,
        .chunk_bytes = chunk != NULL ? chunk->used : 0,
        .used_bytes = arena->used_bytes,
    };
}

static void free_until(struct arena_chunk **link, const struct arena_chunk *kept)
{
    while (*link != kept) {
        struct arena_chunk *chunk = *link;
        *link = chunk->next;
        mem_free(chunk);
    }
}

/* Newer chunks are in front of the marked one; oversized ones may also be right behind it. */
void arena_rewind(struct arena *arena, const struct arena_mark *mark)
{
    free_until(&arena->chunk, mark->chunk);
    if (mark->chunk != NULL) {
        free_until(&mark->chunk->next, mark->next);
        mark->chunk->used = mark->chunk_bytes;
    }
    arena->used_bytes = mark->used_bytes;
}
