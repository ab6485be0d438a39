/*
 * retention.c - see retention.h.
 *
 * The age of a file is that of its last change of status: an agent can write any time into its
 * tree, but not that one.
 */
#include "work/tree/retention.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "work/tree/snapshot.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one snapshot repository in one go. */
#define COUNT_OPTION "--count=20000"
enum {
    REFS_BYTES_MAX = 8 * 1024 * 1024,
    MIRROR_MS = 5 * 60 * 1000,
    NOTE_BYTES_MAX = 512,
};

static const char *const kind_names[] = {[RETENTION_HELD] = "held_patch",
                                         [RETENTION_KEPT] = "kept_tree",
                                         [RETENTION_SNAPSHOTS] = "snapshots"};

const char *retention_kind_name(enum retention_kind kind)
{
    return kind_names[kind];
}

/* A list that is being made. */
struct lister {
    const struct retention *retention;
    struct arena *arena;
    struct retention_item *first;
    bool measure;     /* Sizes of snapshots: one git each. */
    int64_t withheld; /* Left out: their runs have a directory here. */
};

/* Its run may still be in progress. */
static bool has_directory(const struct retention *retention, const struct id *run_id)
{
    CLEANUP(arena_release) struct arena arena = {0};
    return file_exists(arena_printf(&arena, "%s/runs/%s", retention->work_dir, run_id->text));
}

static bool withhold(struct lister *lister, const struct id *run_id)
{
    bool withheld = has_directory(lister->retention, run_id);
    lister->withheld += withheld;
    return withheld;
}

static void add_item(struct lister *lister, const struct retention_item *item)
{
    struct retention_item *copy = arena_alloc(lister->arena, sizeof *copy);
    *copy = *item;
    copy->next = lister->first;
    lister->first = copy;
}

/* Calls visit for every entry of work_dir/name. */
static void each_entry(struct lister *lister, const char *name,
                       void (*visit)(struct lister *lister, const char *path, const char *name))
{
    const char *path = arena_printf(lister->arena, "%s/%s", lister->retention->work_dir, name);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        visit(lister, arena_printf(lister->arena, "%s/%s", path, entry->d_name), entry->d_name);
    (void)closedir(dir);
}

/* ---- notes ---- */

static const char *read_note(const char *path, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, NOTE_BYTES_MAX);
    if (file_read(path, &text, NULL) != RC_OK)
        return NULL;
    const char *line = arena_strndup(arena, buf_text(&text), strcspn(buf_text(&text), "\n"));
    return line[0] ? line : NULL;
}

static void write_note(const char *dir, const char *path, const char *line)
{
    struct err err = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    const char *text = arena_printf(&arena, "%s\n", line);
    enum rc rc = dir_make_durable(dir, 0700, &err);
    if (rc == RC_OK)
        rc = file_write_durable(path, text, strlen(text), 0600, &err);
    if (rc != RC_OK)
        LOG(LOG_WARN, "cannot note what unpublished work belongs to", LOG_STR("path", path),
            LOG_STR("error", err.text));
}

static const char *aside_path(const char *work_dir, const struct id *run_id, struct arena *arena)
{
    return arena_printf(arena, "%s/aside/%s", work_dir, run_id->text);
}

void retention_note(const char *work_dir, const struct id *run_id, const char *repository)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = aside_path(work_dir, run_id, &arena);
    if (repository != NULL && !file_exists(path))
        write_note(arena_printf(&arena, "%s/aside", work_dir), path, repository);
}

void retention_note_worker(const char *work_dir, const char *name)
{
    CLEANUP(arena_release) struct arena arena = {0};
    write_note(work_dir, arena_printf(&arena, "%s/worker", work_dir), name);
}

const char *retention_worker(const struct retention *retention, struct arena *arena)
{
    const char *name = read_note(arena_printf(arena, "%s/worker", retention->work_dir), arena);
    return name != NULL ? name : "-";
}

/* ---- files and trees ---- */

static bool begins_with_run(const char *name, struct id *ret_run_id)
{
    char text[sizeof ret_run_id->text];
    text_copy(text, sizeof text, name);
    return id_parse(text, ret_run_id);
}

/* "<run id>", "<run id>.2", "<run id>-1.diff".  Other names are files of people and are left
   alone. */
static bool is_ours(const char *name, struct id *ret_run_id)
{
    if (!begins_with_run(name, ret_run_id))
        return false;
    const char *rest = name + strlen(ret_run_id->text);
    size_t digits = *rest == '.' || *rest == '-' ? strspn(rest + 1, "0123456789") : 0;
    return *rest == '\0' || (*rest == '.' && digits > 0 && rest[1 + digits] == '\0') ||
           (*rest == '-' && digits > 0 && text_same(rest + 1 + digits, ".diff"));
}

static void list_file(struct lister *lister, const char *path, const char *name)
{
    struct retention_item item = {.path = path, .count = 1};
    struct stat info;
    if (!is_ours(name, &item.run_id) || lstat(path, &info) != 0 || withhold(lister, &item.run_id))
        return;
    item.kind = text_ends(name, ".diff") ? RETENTION_HELD : RETENTION_KEPT;
    item.put_us = (int64_t)info.st_ctim.tv_sec * US_PER_SECOND;
    item.bytes = dir_usage(path).bytes;
    item.repository = read_note(
        aside_path(lister->retention->work_dir, &item.run_id, lister->arena), lister->arena);
    add_item(lister, &item);
}

static enum rc remove_file(const struct retention_item *item, struct err *err)
{
    struct stat info;
    if (lstat(item->path, &info) == 0 && S_ISDIR(info.st_mode))
        return dir_remove(item->path, err);
    if (unlink(item->path) == 0 || errno == ENOENT)
        return RC_OK;
    return err_set(err, RC_IO, "IO_ERROR", "cannot remove %.300s: %s", item->path, strerror(errno));
}

/* ---- snapshots ---- */

/* One ref of either kind. */
struct mark {
    int64_t put_us;
    char commit[GIT_HASH_BYTES], ref[SNAPSHOT_REF_BYTES];
    const char *repository; /* NULL: not known. */
    struct id run_id;
    bool published; /* Of a snapshot: there is the same below PUBLISHED_REFS. */
};

struct mark_list {
    struct mark *at; /* By name. */
    size_t count;
};

static struct git git_of(const struct retention *retention, struct arena *arena)
{
    return (struct git){
        .home = arena_printf(arena, "%s/git", retention->work_dir),
        .cancel = retention->cancel,
        .deadline_us = clock_mono_us() + MIRROR_MS * US_PER_MS,
    };
}

/* "<seconds> <commit> <ref> [<repository>]" */
static bool read_mark(const char *line, const char *prefix, struct mark *ret)
{
    long long seconds = 0;
    int end = 0;
    *ret = (struct mark){0};
    if (sscanf(line, "%lld %64s %159s %n", &seconds, ret->commit, ret->ref, &end) != 3 ||
        !text_starts(ret->ref, prefix) || !git_hash_valid(ret->commit) ||
        !begins_with_run(ret->ref + strlen(prefix), &ret->run_id))
        return false;
    ret->put_us = (int64_t)seconds * US_PER_SECOND;
    ret->repository = end > 0 && line[end] ? line + end : NULL;
    return true;
}

/* Of the same run and number, and for the same commit. */
static int compare_marks(const void *a, const void *b)
{
    const struct mark *snapshot = a, *published = b;
    return strcmp(snapshot->ref + strlen(SNAPSHOT_REFS), published->ref + strlen(PUBLISHED_REFS));
}

static const char mark_format[] = "--format=%(committerdate:unix) %(objectname) %(refname) "
                                  "%(contents:trailers:key=" SNAPSHOT_REPOSITORY_KEY ",valueonly)";

/* The marks below the prefix, by name; in the arena. */
static enum rc read_marks(const struct retention *retention, const char *repository,
                          const char *prefix, struct arena *arena, struct mark_list *ret,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf refs;
    buf_init(&refs, REFS_BYTES_MAX);
    const struct git git = git_of(retention, arena);
    struct git_call list = {.git_dir = repository,
                            .args = GIT_ARGS("for-each-ref", COUNT_OPTION, mark_format, prefix),
                            .out = &refs};
    enum rc rc = git_run(&git, &list, err);
    if (rc != RC_OK)
        return rc;
    size_t lines = 0;
    for (size_t i = 0; i < refs.len; i++)
        lines += refs.data[i] == '\n';
    ret->at = arena_array(arena, lines + 1, sizeof *ret->at);
    const char *text = buf_text(&refs);
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        if (read_mark(arena_strndup(arena, text, len), prefix, &ret->at[ret->count]))
            ret->count++;
    }
    return RC_OK;
}

/* Two listings: marks of one kind must not use up the count of the other. */
static enum rc find_marks(const struct retention *retention, const char *repository,
                          struct arena *arena, struct mark_list *ret, struct err *err)
{
    struct mark_list published = {0};
    enum rc rc = read_marks(retention, repository, SNAPSHOT_REFS, arena, ret, err);
    if (rc == RC_OK && ret->count > 0)
        rc = read_marks(retention, repository, PUBLISHED_REFS, arena, &published, err);
    for (size_t i = 0; rc == RC_OK && i < ret->count; i++) {
        struct mark *mark = &ret->at[i];
        const struct mark *twin = bsearch(mark, published.at, published.count, sizeof *mark,
                                          compare_marks);
        mark->published = twin != NULL && text_same(twin->commit, mark->commit);
    }
    return rc;
}

/* What the commit has and no ref of the mirror has.  0: git could not compute it. */
static int64_t size_of_commit(const struct retention *retention, const char *mirror,
                              const char *commit)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct git git = git_of(retention, &arena);
    const char *line = NULL;
    int64_t bytes = 0;
    struct git_call ask = {.git_dir = mirror,
                           .args = GIT_ARGS("rev-list", "--objects", "--disk-usage", commit,
                                            "--not", "--alternate-refs")};
    if (git_line(&git, &ask, &arena, &line, NULL) != RC_OK || !text_to_i64(line, &bytes))
        return 0;
    return bytes;
}

/* The run's snapshots that are published, or those that are not; first: the first of the run. */
static void list_run(struct lister *lister, const char *path, const struct mark_list *marks,
                     size_t first, bool published)
{
    CLEANUP(buf_release) struct buf orders;
    buf_init(&orders, REFS_BYTES_MAX);
    const struct mark *newest = NULL;
    const char *repository = NULL;
    int64_t count = 0;
    for (size_t i = first; i < marks->count; i++) {
        const struct mark *mark = &marks->at[i];
        if (!id_same(&mark->run_id, &marks->at[first].run_id))
            break;
        repository = repository != NULL ? repository
                                        : mark->repository; /* The same for all of a run. */
        if (mark->published != published)
            continue;
        count++;
        newest = newest == NULL || mark->put_us >= newest->put_us ? mark : newest;
        buf_addf(&orders, "delete %s %s\n", mark->ref, mark->commit);
        if (published)
            buf_addf(&orders, "delete " PUBLISHED_REFS "%s\n", mark->ref + strlen(SNAPSHOT_REFS));
    }
    if (newest == NULL || withhold(lister, &newest->run_id))
        return;
    add_item(
        lister,
        &(struct retention_item){
            .kind = RETENTION_SNAPSHOTS,
            .run_id = newest->run_id,
            .path = path,
            .repository = repository != NULL ? arena_strdup(lister->arena, repository) : NULL,
            .put_us = newest->put_us,
            .bytes = lister->measure ? size_of_commit(lister->retention, path, newest->commit) : 0,
            .count = count,
            .published = published,
            .orders = arena_strdup(lister->arena, buf_text(&orders)),
        });
}

static void list_repository(struct lister *lister, const char *path, const char *name)
{
    if (!text_ends(name, SNAPSHOT_SUFFIX))
        return;
    CLEANUP(arena_release) struct arena arena = {0};
    struct mark_list marks = {0};
    struct err err = {0};
    enum rc rc = find_marks(lister->retention, path, &arena, &marks, &err);
    if (rc != RC_OK && rc != RC_CANCELLED)
        LOG(LOG_WARN, "cannot list the snapshots in a repository", LOG_STR("repository", path),
            LOG_STR("error", err.text));
    for (size_t i = 0; rc == RC_OK && i < marks.count; i++) {
        if (i > 0 && id_same(&marks.at[i].run_id, &marks.at[i - 1].run_id))
            continue;
        list_run(lister, path, &marks, i, true);
        list_run(lister, path, &marks, i, false);
    }
}

static enum rc remove_refs(const struct retention *retention, const struct retention_item *item,
                           struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(fd_closep) int lock = -1;
    const struct git git = git_of(retention, &arena);
    struct git_call drop = {.git_dir = item->path,
                            .args = GIT_ARGS("update-ref", "--no-deref", "--stdin"),
                            .input = str_of(item->orders)};
    enum rc rc = git_lock(&git, arena_printf(&arena, "%s.lock", item->path), &lock, err);
    return rc == RC_OK ? git_run(&git, &drop, err) : rc;
}

/* ---- all of it ---- */

static struct retention_item *list_all(const struct retention *retention, struct arena *arena,
                                       bool measure, int64_t *ret_withheld)
{
    struct lister lister = {.retention = retention, .arena = arena, .measure = measure};
    each_entry(&lister, "held", list_file);
    each_entry(&lister, "kept", list_file);
    each_entry(&lister, "mirrors", list_repository);
    if (ret_withheld != NULL)
        *ret_withheld = lister.withheld;
    return lister.first;
}

struct retention_item *retention_list(const struct retention *retention, struct arena *arena,
                                      int64_t *ret_withheld)
{
    return list_all(retention, arena, true, ret_withheld);
}

enum rc retention_remove(const struct retention *retention, const struct retention_item *item,
                         struct err *err)
{
    if (has_directory(retention, &item->run_id)) /* Since it was listed. */
        return err_set(err, RC_CONFLICT, "RUN_AT_WORK", "the run has a directory in %.300s/runs",
                       retention->work_dir);
    return item->kind == RETENTION_SNAPSHOTS ? remove_refs(retention, item, err)
                                             : remove_file(item, err);
}

void retention_clear(const struct retention *retention, int64_t before_us)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct retention_item *item = list_all(retention, &arena, false, NULL);
    for (; item != NULL; item = item->next) {
        struct err err = {0};
        if (!item->published || item->put_us >= before_us)
            continue;
        if (retention_remove(retention, item, &err) != RC_OK)
            LOG(LOG_WARN, "published snapshots stay on this machine for now",
                LOG_STR("repository", item->path), LOG_STR("error", err.text));
        else
            LOG(LOG_INFO, "removed old snapshots that the origin has",
                LOG_STR("runId", item->run_id.text), LOG_STR("repository", item->path),
                LOG_INT("count", item->count));
    }
}

struct retention_total retention_total(const struct retention *retention)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct retention_total total = {0};
    for (const struct retention_item *item = retention_list(retention, &arena, NULL); item != NULL;
         item = item->next) {
        total.count += !item->published;
        total.bytes += item->published ? 0 : item->bytes;
    }
    return total;
}

/* ---- has it changed? ---- */

static void add_time(uint64_t *signature, const char *path)
{
    struct stat info = {0};
    uint64_t time = stat(path, &info) == 0 ? (uint64_t)info.st_mtim.tv_sec * 1000000007U +
                                                 (uint64_t)info.st_mtim.tv_nsec
                                           : 1;
    *signature = *signature * UINT64_C(0x100000001b3) + time;
}

uint64_t retention_signature(const struct retention *retention)
{
    static const char *const dirs[] = {"held", "kept", "runs", "mirrors"};
    static const char *const parts[] = {SNAPSHOT_REFS, PUBLISHED_REFS, "packed-refs"};
    CLEANUP(arena_release) struct arena arena = {0};
    uint64_t signature = 1;
    for (size_t i = 0; i < COUNT_OF(dirs); i++)
        add_time(&signature, arena_printf(&arena, "%s/%s", retention->work_dir, dirs[i]));
    const char *mirrors = arena_printf(&arena, "%s/mirrors", retention->work_dir);
    DIR *dir = opendir(mirrors);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        for (size_t i = 0; i < COUNT_OF(parts) && text_ends(entry->d_name, SNAPSHOT_SUFFIX); i++)
            add_time(&signature,
                     arena_printf(&arena, "%s/%s/%s", mirrors, entry->d_name, parts[i]));
    }
    if (dir != NULL)
        (void)closedir(dir);
    return signature;
}
