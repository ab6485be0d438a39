/*
 * guard.c - see guard.h.
 *
 * Pages that processes share since a fork would be counted for each of them; before a command is
 * killed for that, the exact shares are read from the kernel, which is slower.
 *
 * A file that was deleted while it is open has no name that a walk could find, and memory in a
 * file of memfd_create is in no process: both are found among the open files.
 */
#include "work/sandbox/guard.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "work/sandbox/proc_tree.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOOK_EVERY_MS = 250,
    LOOK_SELDOM_MS = 60 * 1000,
    LOOK_SHARE = 50,      /* A measurement may take one part in so many of the time. */
    SLICE_ENTRIES = 4000, /* Of a walk, at one go. */
    ENTRY_BYTES = 1024,   /* What an empty file costs: names and inodes run out too. */
    BLOCK_BYTES = 512,    /* Of st_blocks. */
    SEEN_MAX = 4096,      /* Twice as many as are stored. */
};

void guard_init(struct guard *guard, const struct resource_config *limits, int64_t now_us)
{
    int64_t first_us = now_us + LOOK_EVERY_MS * US_PER_MS;
    *guard = (struct guard){
        .limits = *limits,
        .processes_us = first_us,
        .disk_us = limits->disk_bytes > 0 ? first_us : INT64_MAX,
    };
}

static void walk_end(struct guard *guard)
{
    while (guard->walk.depth > 0)
        (void)closedir(guard->walk.open[--guard->walk.depth]);
    guard->walk.next_dir = 0;
    guard->walk.bytes = guard->walk.cost_us = 0;
}

void guard_release(struct guard *guard)
{
    walk_end(guard);
}

static int64_t pause_after(int64_t cost_us)
{
    int64_t pause_us = cost_us * LOOK_SHARE;
    if (pause_us < LOOK_EVERY_MS * US_PER_MS)
        return LOOK_EVERY_MS * US_PER_MS;
    return pause_us > LOOK_SELDOM_MS * US_PER_MS ? LOOK_SELDOM_MS * US_PER_MS : pause_us;
}

static void pass(struct guard *guard, const char *limit, int64_t used, int64_t allowed)
{
    guard->limit = limit;
    (void)snprintf(guard->text, sizeof guard->text, "%s: %" PRId64 " in use, %" PRId64 " allowed",
                   limit, used, allowed);
}

/* ---- disk ---- */

static void enter(struct guard *guard, int parent_fd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    if (guard->walk.depth == GUARD_DEPTH_MAX) {
        /* No legitimate tree is so deep, and below it files of any size can be hidden. */
        guard->walk.bytes = INT64_MAX / 2;
        return;
    }
    int fd = openat(parent_fd, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent_fd, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent_fd, name, flags); /* Files could be hidden in unreadable directories. */
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir != NULL)
        guard->walk.open[guard->walk.depth++] = dir;
    else
        fd_close(fd);
}

/* The next entry of the walk. */
static void visit(struct guard *guard)
{
    DIR *dir = guard->walk.open[guard->walk.depth - 1];
    // cppcheck-suppress readdirCalled
    const struct dirent *entry = readdir(dir); /* The stream is not shared. */
    struct stat status;
    if (entry == NULL) {
        (void)closedir(dir);
        guard->walk.depth--;
        return;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
        fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    guard->walk.bytes += ENTRY_BYTES + (int64_t)status.st_blocks * BLOCK_BYTES;
    if (S_ISDIR(status.st_mode))
        enter(guard, dirfd(dir), entry->d_name);
}

/* A slice of a walk; returns the time of the next. */
static int64_t look_at_disk(struct guard *guard, int64_t now_us)
{
    int64_t allowed = guard->limits.disk_bytes;
    if (guard->walk.depth == 0 && guard->walk.next_dir == 0)
        guard->walk.bytes = guard->deleted_bytes;
    for (int i = 0; i < SLICE_ENTRIES && guard->walk.bytes <= allowed; i++) {
        if (guard->walk.depth > 0)
            visit(guard);
        else if (guard->walk.next_dir < guard->dir_count)
            enter(guard, AT_FDCWD, guard->dirs[guard->walk.next_dir++]);
        else
            break;
    }
    int64_t end_us = clock_mono_us();
    guard->walk.cost_us += end_us - now_us;
    if (guard->walk.bytes > allowed)
        pass(guard, "disk_limit", guard->walk.bytes, allowed);
    else if (guard->walk.depth > 0 || guard->walk.next_dir < guard->dir_count)
        return end_us + US_PER_MS;
    int64_t pause_us = pause_after(guard->walk.cost_us);
    walk_end(guard);
    return end_us + pause_us;
}

/* ---- memory and processes ---- */

struct family {
    struct proc_tree tree;
    int64_t memory_bytes, threads;
    int64_t nameless_bytes; /* Of open files that are neither on disk nor have a name. */
    int64_t deleted_bytes;
    struct {
        dev_t device;
        ino_t inode;
    } seen[SEEN_MAX]; /* Many processes may have one file open: a table, by hash. */
    size_t seen_count;
};

/* The number of a line "Name:   123 kB"; 0 when there is none. */
static int64_t number_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/* false: it was seen before, or the table is full. */
static bool is_new(struct family *family, const struct stat *file)
{
    if (family->seen_count >= SEEN_MAX / 2)
        return false;
    size_t at = (size_t)(file->st_ino * 2654435761u) % SEEN_MAX;
    for (; family->seen[at].inode != 0; at = (at + 1) % SEEN_MAX) {
        if (family->seen[at].inode == file->st_ino && family->seen[at].device == file->st_dev)
            return false;
    }
    family->seen[at].inode = file->st_ino;
    family->seen[at].device = file->st_dev;
    family->seen_count++;
    return true;
}

static void add_nameless(struct family *family, pid_t pid, dev_t disk)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *files = opendir(path);
    const struct dirent *entry;
    // cppcheck-suppress readdirCalled
    while (files != NULL && (entry = readdir(files)) != NULL) {
        struct stat file;
        if (entry->d_name[0] == '.' || fstatat(dirfd(files), entry->d_name, &file, 0) != 0)
            continue;
        if (!S_ISREG(file.st_mode) || file.st_nlink > 0 || !is_new(family, &file))
            continue;
        int64_t bytes = (int64_t)file.st_blocks * BLOCK_BYTES;
        *(file.st_dev == disk ? &family->deleted_bytes : &family->nameless_bytes) += bytes;
    }
    if (files != NULL)
        (void)closedir(files);
}

/* All processes below the top, the top included. */
static void find_family(struct family *family, pid_t top, const struct guard *guard)
{
    char text[PROC_FILE_BYTES];
    struct stat disk = {0};
    int64_t threads_max = guard->limits.processes;
    if (guard->dir_count > 0)
        (void)stat(guard->dirs[0], &disk);
    struct proc_tree *tree = &family->tree;
    tree->count = 1;
    tree->at[0].pid = top;
    for (size_t i = 0; i < tree->count; i++) {
        pid_t pid = tree->at[i].pid;
        const char *status = proc_tree_read(pid, "status", text);
        int64_t kilobytes = number_of(status, "RssAnon:") + number_of(status, "RssShmem:") +
                            number_of(status, "VmSwap:");
        family->memory_bytes += kilobytes * 1024;
        add_nameless(family, pid, disk.st_dev);
        family->threads += proc_tree_add_children(tree, pid);
        if (threads_max > 0 && family->threads > threads_max)
            return; /* Enough is known, and there may be very many. */
    }
}

/* Where processes share pages, the share of each is read; a process without one counts in full. */
static int64_t exact_memory(const struct family *family)
{
    int64_t kilobytes = 0;
    char text[PROC_FILE_BYTES];
    for (size_t i = 0; i < family->tree.count; i++) {
        pid_t pid = family->tree.at[i].pid;
        const char *rollup = proc_tree_read(pid, "smaps_rollup", text);
        int64_t anon = number_of(rollup, "Pss_Anon:") + number_of(rollup, "Pss_Shmem:") +
                       number_of(rollup, "SwapPss:");
        if (rollup[0] == '\0') {
            const char *status = proc_tree_read(pid, "status", text);
            anon = number_of(status, "RssAnon:") + number_of(status, "RssShmem:");
        }
        kilobytes += anon;
    }
    return kilobytes * 1024;
}

static void check_family(struct guard *guard, const struct family *family)
{
    const struct resource_config *limits = &guard->limits;
    int64_t memory = family->memory_bytes + family->nameless_bytes;
    guard->deleted_bytes = family->deleted_bytes;
    if (limits->processes > 0 && family->threads > limits->processes) {
        pass(guard, "process_limit", family->threads, limits->processes);
    } else if (limits->memory_bytes > 0 && memory > limits->memory_bytes) {
        int64_t exact = exact_memory(family) + family->nameless_bytes;
        if (exact > limits->memory_bytes)
            pass(guard, "memory_limit", exact, limits->memory_bytes);
    }
}

static int64_t look_at_processes(struct guard *guard, int64_t now_us)
{
    if (guard->top > 0) {
        struct family *family = mem_alloc(sizeof *family);
        find_family(family, guard->top, guard);
        check_family(guard, family);
        mem_free(family);
    }
    int64_t end_us = clock_mono_us();
    return end_us + pause_after(end_us - now_us);
}

int64_t guard_tick(struct guard *guard, int64_t now_us)
{
    if (guard->limit == NULL && now_us >= guard->processes_us)
        guard->processes_us = look_at_processes(guard, now_us);
    if (guard->limit == NULL && now_us >= guard->disk_us)
        guard->disk_us = look_at_disk(guard, clock_mono_us());
    if (guard->limit != NULL)
        return INT64_MAX;
    return guard->processes_us < guard->disk_us ? guard->processes_us : guard->disk_us;
}
