/*
 * bwrap.h - bubblewrap's argument list while it is put together, and what it shows so far.
 *
 * The root inside is an empty directory.  A path is visible when the deepest place on the way to
 * it is shown, not fresh: later arguments cover earlier ones.
 */
#ifndef WORK_SANDBOX_BWRAP_H
#define WORK_SANDBOX_BWRAP_H
#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place_kind { PLACE_SHOWN, PLACE_FRESH, PLACE_MADE }; /* MADE: an empty directory, --dir. */
struct bwrap_place {
    const char *path;
    enum place_kind kind;
};

/* Small files that bubblewrap copies into the sandbox: a mount for each would take longer. */
enum { BWRAP_COPIES_MAX = 64, BWRAP_COPY_BYTES_MAX = 256 * 1024 };
struct bwrap_copies {
    int fds[BWRAP_COPIES_MAX]; /* Owned: closed by bwrap_copies_close() after the start. */
    size_t count;
};

struct bwrap {
    struct arena *arena;
    const char **items; /* NULL-terminated. */
    size_t count, room;
    struct bwrap_place *places;
    size_t place_count, place_room;
    bool drops; /* The command gets another user, so directories must be open to it. */
    struct bwrap_copies *copies; /* NULL: all files are mounted. */
};

void bwrap_copies_close(struct bwrap_copies *copies); /* For CLEANUP too. */

void bwrap_init(struct bwrap *bwrap, struct arena *arena, bool drops);
void bwrap_add(struct bwrap *bwrap, const char *item);
void bwrap_add_list(struct bwrap *bwrap, const char *const *items);
void bwrap_add2(struct bwrap *bwrap, const char *option, const char *value);
void bwrap_add3(struct bwrap *bwrap, const char *option, const char *from, const char *to);
void bwrap_add_number(struct bwrap *bwrap, const char *option, int64_t number); /* 0: nothing */

/* An empty file system of bounded size; perms as of chmod(1). */
void bwrap_fresh(struct bwrap *bwrap, const char *path, const char *perms, int64_t bytes);
/* The path from outside, at the same path. */
void bwrap_show(struct bwrap *bwrap, const char *path, bool writable);
/* A file from elsewhere, read-only. */
void bwrap_show_at(struct bwrap *bwrap, const char *from, const char *path);
/* A directory or file as it is outside: shown, or where it is a link to something visible, linked;
   a small file is copied where that is possible.
   Nothing when other users may not read it, or it is not there. */
void bwrap_show_public(struct bwrap *bwrap, const char *path);
/* A link at the path; nothing where something is shown there. */
void bwrap_link(struct bwrap *bwrap, const char *path, const char *target);
/* Before something is shown: with drops, a visible directory above it that other users may not
   pass is covered by an empty one. */
void bwrap_open_way(struct bwrap *bwrap, const char *path);
/* Covers the path by something empty where it would be visible. */
void bwrap_hide(struct bwrap *bwrap, const char *path);
bool bwrap_visible(const struct bwrap *bwrap, const char *path);
#endif
