#include "work/sandbox/bwrap.h"
#include "base/fd.h"
#include "base/str.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ITEMS_FIRST = 256, PLACES_FIRST = 64 };
static const int64_t cover_bytes_max = INT64_C(256) << 20;

static void *grown(struct arena *arena, const void *old, size_t count, size_t *room, size_t bytes)
{
    *room *= 2;
    void *wider = arena_array(arena, *room, bytes);
    memcpy(wider, old, count * bytes);
    return wider;
}

void bwrap_init(struct bwrap *bwrap, struct arena *arena, bool drops)
{
    *bwrap = (struct bwrap){
        .arena = arena, .room = ITEMS_FIRST, .place_room = PLACES_FIRST, .drops = drops};
    bwrap->items = arena_array(arena, ITEMS_FIRST, sizeof *bwrap->items);
    bwrap->places = arena_array(arena, PLACES_FIRST, sizeof *bwrap->places);
    bwrap->items[0] = NULL;
}

void bwrap_copies_close(struct bwrap_copies *copies)
{
    for (size_t i = 0; i < copies->count; i++)
        fd_closep(&copies->fds[i]);
    copies->count = 0;
}

void bwrap_add(struct bwrap *bwrap, const char *item)
{
    if (bwrap->count + 1 == bwrap->room)
        bwrap->items = grown(bwrap->arena, bwrap->items, bwrap->count, &bwrap->room,
                             sizeof *bwrap->items);
    bwrap->items[bwrap->count++] = item;
    bwrap->items[bwrap->count] = NULL;
}

void bwrap_add_list(struct bwrap *bwrap, const char *const *items)
{
    for (size_t i = 0; items[i] != NULL; i++)
        bwrap_add(bwrap, items[i]);
}

void bwrap_add2(struct bwrap *bwrap, const char *option, const char *value)
{
    bwrap_add(bwrap, option);
    bwrap_add(bwrap, value);
}

void bwrap_add3(struct bwrap *bwrap, const char *option, const char *from, const char *to)
{
    bwrap_add2(bwrap, option, from);
    bwrap_add(bwrap, to);
}

void bwrap_add_number(struct bwrap *bwrap, const char *option, int64_t number)
{
    if (number > 0)
        bwrap_add2(bwrap, option, arena_printf(bwrap->arena, "%" PRId64, number));
}

/* ---- places ---- */

static void note_place(struct bwrap *bwrap, const char *path, enum place_kind kind)
{
    if (bwrap->place_count == bwrap->place_room)
        bwrap->places = grown(bwrap->arena, bwrap->places, bwrap->place_count, &bwrap->place_room,
                              sizeof *bwrap->places);
    struct bwrap_place *place = &bwrap->places[bwrap->place_count++];
    place->path = path;
    place->kind = kind;
}

/* The last of the deepest places on the way to the path, or NULL. */
static const struct bwrap_place *place_of(const struct bwrap *bwrap, const char *path)
{
    const struct bwrap_place *deepest = NULL;
    for (size_t i = 0; i < bwrap->place_count; i++) {
        const struct bwrap_place *place = &bwrap->places[i];
        if (path_is_inside(path, place->path) &&
            (deepest == NULL || strlen(place->path) >= strlen(deepest->path)))
            deepest = place;
    }
    return deepest;
}

bool bwrap_visible(const struct bwrap *bwrap, const char *path)
{
    const struct bwrap_place *place = place_of(bwrap, path);
    return place != NULL && place->kind == PLACE_SHOWN;
}

/* bubblewrap itself makes the directories above a place for its own user alone. */
static void make_way(struct bwrap *bwrap, const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *above = arena_strndup(bwrap->arena, path, (size_t)(slash - path));
        const struct bwrap_place *place = place_of(bwrap, above);
        if (place != NULL && (place->kind == PLACE_SHOWN || strcmp(place->path, above) == 0))
            continue;
        bwrap_add2(bwrap, "--perms", "0755");
        bwrap_add2(bwrap, "--dir", above);
        note_place(bwrap, above, PLACE_MADE);
    }
}

/* ---- what is shown ---- */

void bwrap_fresh(struct bwrap *bwrap, const char *path, const char *perms, int64_t bytes)
{
    make_way(bwrap, path);
    bwrap_add2(bwrap, "--perms", perms);
    bwrap_add_number(bwrap, "--size", bytes);
    bwrap_add2(bwrap, "--tmpfs", path);
    note_place(bwrap, path, PLACE_FRESH);
}

void bwrap_show(struct bwrap *bwrap, const char *path, bool writable)
{
    make_way(bwrap, path);
    bwrap_add3(bwrap, writable ? "--bind" : "--ro-bind", path, path);
    note_place(bwrap, path, PLACE_SHOWN);
}

void bwrap_show_at(struct bwrap *bwrap, const char *from, const char *path)
{
    make_way(bwrap, path);
    bwrap_add3(bwrap, "--ro-bind", from, path);
    note_place(bwrap, path, PLACE_SHOWN);
}

/* Only a file that is small when it is opened: bubblewrap reads it to its end. */
static bool copy_file(struct bwrap *bwrap, const char *path)
{
    struct bwrap_copies *copies = bwrap->copies;
    struct stat status;
    if (copies == NULL || copies->count == BWRAP_COPIES_MAX)
        return false;
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size > BWRAP_COPY_BYTES_MAX)
        return false;
    make_way(bwrap, path);
    bwrap_add2(bwrap, "--perms", status.st_mode & S_IXOTH ? "0755" : "0644");
    bwrap_add3(bwrap, "--file", arena_printf(bwrap->arena, "%d", fd), path);
    note_place(bwrap, path, PLACE_SHOWN);
    copies->fds[copies->count++] = fd;
    fd = -1;
    return true;
}

void bwrap_link(struct bwrap *bwrap, const char *path, const char *target)
{
    if (bwrap_visible(bwrap, path))
        return;
    make_way(bwrap, path);
    bwrap_add3(bwrap, "--symlink", target, path);
    note_place(bwrap, path, PLACE_SHOWN);
}

static const char *link_target(const char *path, struct arena *arena)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof target - 1);
    return len > 0 ? arena_strndup(arena, target, (size_t)len) : NULL;
}

void bwrap_show_public(struct bwrap *bwrap, const char *path)
{
    char real[PATH_MAX];
    struct stat status;
    if (stat(path, &status) != 0 || realpath(path, real) == NULL)
        return;
    mode_t needed = S_ISDIR(status.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    bool plain = S_ISDIR(status.st_mode) || S_ISREG(status.st_mode);
    if (!plain || (status.st_mode & needed) != needed || bwrap_visible(bwrap, path))
        return;
    const char *target = link_target(path, bwrap->arena);
    if (target == NULL || !bwrap_visible(bwrap, real)) {
        if (!S_ISREG(status.st_mode) || !copy_file(bwrap, path))
            bwrap_show(bwrap, path, false);
        return;
    }
    bwrap_link(bwrap, path, target);
}

/* The first directory above the path that other users may not pass, or NULL. */
static const char *closed_above(const char *path, struct arena *arena)
{
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        struct stat status;
        const char *above = arena_strndup(arena, path, (size_t)(slash - path));
        if (lstat(above, &status) == 0 && S_ISDIR(status.st_mode) && !(status.st_mode & S_IXOTH))
            return above;
    }
    return NULL;
}

void bwrap_open_way(struct bwrap *bwrap, const char *path)
{
    if (!bwrap->drops || !bwrap_visible(bwrap, path))
        return;
    const char *closed = closed_above(path, bwrap->arena);
    if (closed != NULL && bwrap_visible(bwrap, closed))
        bwrap_fresh(bwrap, closed, "0755", cover_bytes_max);
}

void bwrap_hide(struct bwrap *bwrap, const char *path)
{
    struct stat status;
    if (!bwrap_visible(bwrap, path) || lstat(path, &status) != 0)
        return;
    if (S_ISDIR(status.st_mode)) {
        bwrap_fresh(bwrap, path, "0755", cover_bytes_max);
        return;
    }
    bwrap_add3(bwrap, "--ro-bind", "/dev/null", path);
    note_place(bwrap, path, PLACE_FRESH);
}
