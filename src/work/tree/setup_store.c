#include "work/tree/setup_store.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 10000, NUMBER_BYTES = 64 };

static const char *path_of(const struct setup_store *store, const char *prefix, const char *suffix)
{
    return arena_printf(store->arena, "%s/setup/%s%s%s", store->work_dir, prefix, store->key,
                        suffix);
}

/* ---- to use one ---- */

static bool is_there(const struct setup_store *store, const char **ret_files)
{
    const char *files = path_of(store, "", "/files");
    if (!file_exists(files))
        return false;
    (void)utimensat(AT_FDCWD, path_of(store, "", ""), NULL, AT_SYMLINK_NOFOLLOW);
    *ret_files = files;
    return true;
}

/* Without waiting: many may copy from one at the same time. */
static bool share(const struct setup_store *store, const char **ret_files, int *ret_lock)
{
    CLEANUP(fd_closep)
    int fd = open(path_of(store, "", ".lock"), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) != 0 || !is_there(store, ret_files))
        return false;
    *ret_lock = fd_take(&fd);
    return true;
}

enum rc setup_store_open(const struct setup_store *store, const char **ret_files, int *ret_lock,
                         struct err *err)
{
    enum rc rc = dir_make(arena_printf(store->arena, "%s/setup", store->work_dir), 0700, err);
    if (rc != RC_OK || share(store, ret_files, ret_lock))
        return rc;
    CLEANUP(fd_closep) int lock = -1;
    rc = git_lock(store->git, path_of(store, "", ".lock"), &lock, err);
    if (rc != RC_OK)
        return rc;
    bool there = is_there(store, ret_files);
    if (there && flock(lock, LOCK_SH) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot lock the setup: %s", strerror(errno));
    *ret_lock = fd_take(&lock);
    return there ? RC_OK : RC_NOT_FOUND;
}

/* ---- to make one ---- */

enum rc setup_store_begin(const struct setup_store *store, const char **ret_files, struct err *err)
{
    const char *files = path_of(store, ".new-", "/files");
    enum rc rc = dir_remove(path_of(store, ".new-", ""), err);
    if (rc == RC_OK)
        rc = dir_make(files, 0700, err);
    if (rc == RC_OK)
        *ret_files = files;
    return rc;
}

enum rc setup_store_end(const struct setup_store *store, int64_t bytes, int lock,
                        const char **ret_files, struct err *err)
{
    const char *made = path_of(store, ".new-", ""), *entry = path_of(store, "", "");
    char number[NUMBER_BYTES];
    int len = snprintf(number, sizeof number, "%" PRId64 "\n", bytes);
    enum rc rc = file_write_new(arena_printf(store->arena, "%s/bytes", made), number, (size_t)len,
                                0600, err);
    /* Files that a loss of power empties would be copied into every later tree. */
    if (rc == RC_OK)
        rc = dir_sync_file_system(made, err);
    if (rc == RC_OK && (rename(made, entry) != 0 || flock(lock, LOCK_SH) != 0))
        rc = err_set(err, RC_IO, "IO_ERROR", "cannot keep %.300s: %s", entry, strerror(errno));
    if (rc == RC_OK)
        *ret_files = path_of(store, "", "/files");
    return rc;
}

void setup_store_drop(const struct setup_store *store)
{
    (void)!dir_remove(path_of(store, ".new-", ""), NULL); /* Else setup_store_clear does it. */
}

/* ---- to remove some ---- */

struct entry {
    char name[SHA256_TEXT_BYTES];
    int64_t used_us, bytes;
};

struct listing {
    struct arena arena;
    const char *dir;
    struct entry *entries; /* Of ENTRIES_MAX. */
    size_t count;
};

static int64_t bytes_of(struct listing *listing, const char *name)
{
    int64_t bytes = 0;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, NUMBER_BYTES);
    const char *path = arena_printf(&listing->arena, "%s/%s/bytes", listing->dir, name);
    if (file_read(path, &text, NULL) == RC_OK && text.len > 0)
        buf_cut(&text, text.len - 1); /* The newline. */
    (void)!text_to_i64(buf_text(&text), &bytes);
    return bytes;
}

static void list_entries(struct listing *listing)
{
    DIR *dir = opendir(listing->dir);
    const struct dirent *found;
    struct stat status;
    while (dir != NULL && listing->count < ENTRIES_MAX && (found = readdir(dir)) != NULL) {
        const char *path = arena_printf(&listing->arena, "%s/%s", listing->dir, found->d_name);
        if (!sha256_text_valid(found->d_name) || lstat(path, &status) != 0)
            continue;
        struct entry *entry = &listing->entries[listing->count++];
        text_copy(entry->name, sizeof entry->name, found->d_name);
        entry->used_us = (int64_t)status.st_mtim.tv_sec * US_PER_SECOND +
                         status.st_mtim.tv_nsec / 1000;
        entry->bytes = bytes_of(listing, found->d_name);
    }
    if (dir != NULL)
        (void)closedir(dir);
}

static int by_last_use(const void *a, const void *b)
{
    const struct entry *one = a, *other = b;
    return (one->used_us < other->used_us) - (one->used_us > other->used_us);
}

/* false: it is in use, or cannot be removed now. */
static bool remove_entry(struct listing *listing, const char *name)
{
    CLEANUP(fd_closep) int lock = -1;
    struct err err = {0};
    struct arena *arena = &listing->arena;
    const char *gone = arena_printf(arena, "%s/.new-%s", listing->dir, name);
    enum rc rc = file_lock(arena_printf(arena, "%s/%s.lock", listing->dir, name), 0, &lock, &err);
    if (rc == RC_OK)
        rc = dir_remove(gone, &err);
    /* Never half an entry under its name. */
    if (rc == RC_OK && rename(arena_printf(arena, "%s/%s", listing->dir, name), gone) == 0)
        rc = dir_remove(gone, &err);
    if (rc != RC_OK && rc != RC_CONFLICT)
        LOG(LOG_WARN, "a kept setup cannot be removed", LOG_STR("key", name),
            LOG_STR("error", err.text));
    return rc == RC_OK;
}

/* What a worker that was killed has begun; one whose lock is held is being made. */
static void clear_begun(struct listing *listing)
{
    static const char begun[] = ".new-";
    DIR *dir = opendir(listing->dir);
    const struct dirent *found;
    while (dir != NULL && (found = readdir(dir)) != NULL) {
        if (!text_starts(found->d_name, begun))
            continue;
        const char *name = found->d_name + strlen(begun);
        CLEANUP(fd_closep) int lock = -1;
        const char *path = arena_printf(&listing->arena, "%s/%s.lock", listing->dir, name);
        if (sha256_text_valid(name) && file_lock(path, 0, &lock, NULL) == RC_OK)
            (void)!dir_remove(arena_printf(&listing->arena, "%s/%s", listing->dir, found->d_name),
                              NULL);
    }
    if (dir != NULL)
        (void)closedir(dir);
}

int setup_store_clear(const char *work_dir, const struct setup_limits *limits)
{
    struct listing listing = {.count = 0};
    listing.dir = arena_printf(&listing.arena, "%s/setup", work_dir);
    listing.entries = arena_array(&listing.arena, ENTRIES_MAX, sizeof *listing.entries);
    list_entries(&listing);
    qsort(listing.entries, listing.count, sizeof *listing.entries, by_last_use);
    int64_t bytes = 0;
    int removed = 0;
    for (size_t i = 0; i < listing.count; i++) {
        const struct entry *entry = &listing.entries[i];
        bytes += entry->bytes;
        bool keep = (int64_t)i < limits->count && bytes <= limits->bytes &&
                    entry->used_us > limits->used_after_us;
        removed += !keep && remove_entry(&listing, entry->name);
    }
    clear_begun(&listing);
    arena_release(&listing.arena);
    return removed;
}
