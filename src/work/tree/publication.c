#include "work/tree/publication.h"
#include "base/fd.h"
#include "base/log.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of one snapshot repository in one review; the rest follows when these are marked or pruned. */
#define COUNT_OPTION "--count=1000"
enum {
    SNAPSHOTS_MAX = 1000,
    LIST_BYTES_MAX = 4 * 1024 * 1024,
    ORIGIN_BYTES_MAX = 64 * 1024 * 1024,
    REVIEW_EVERY_HOURS = 1,
};

/* Calls visit with every line; stops when one fails. */
struct line_reader {
    enum rc (*visit)(void *ctx, const char *line, struct err *err);
    void *ctx;
};

static enum rc each_line(const char *text, struct arena *arena, const struct line_reader *reader,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t len; rc == RC_OK && *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        rc = reader->visit(reader->ctx, arena_strndup(arena, text, len), err);
    }
    return rc;
}

static enum rc ask_origin(struct step *step, const char *const *patterns, struct buf *out,
                          struct err *err)
{
    struct git git = step_git(step);
    struct git_call ask = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("ls-remote", "--quiet", "--refs", "origin", patterns[0], patterns[1]),
        .origin = step->input.config.url,
        .out = out};
    return git_run(&git, &ask, err);
}

/* ---- marks ---- */

static const char mark_format[] = "--format=update " PUBLISHED_REFS
                                  "%(refname:lstrip=3) %(objectname)";

/* The run's snapshots that the commit leads to, itself included. */
static enum rc mark(struct step *step, const char *run_id, const char *commit, struct err *err)
{
    struct git git = step_git(step);
    CLEANUP(buf_release) struct buf orders;
    CLEANUP(fd_closep) int lock = -1;
    buf_init(&orders, LIST_BYTES_MAX);
    struct git_call list = {
        .git_dir = mirror_snapshots(step),
        .args = GIT_ARGS("for-each-ref", arena_printf(step->arena, "--merged=%s", commit),
                         mark_format, arena_printf(step->arena, SNAPSHOT_REFS "%s/", run_id)),
        .out = &orders};
    enum rc rc = git_run(&git, &list, err);
    if (rc != RC_OK || orders.len == 0)
        return rc;
    struct git_call update = {.git_dir = mirror_snapshots(step),
                              .args = GIT_ARGS("update-ref", "--no-deref", "--stdin"),
                              .input = buf_str(&orders),
                              .durable = true};
    rc = git_lock(&git, arena_printf(step->arena, "%s.lock", mirror_snapshots(step)), &lock, err);
    return rc == RC_OK ? git_run(&git, &update, err) : rc;
}

enum rc publication_confirm(struct step *step, const struct snapshot *snapshot,
                            const char *origin_ref, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LIST_BYTES_MAX);
    enum rc rc = ask_origin(step, (const char *const[]){origin_ref, NULL}, &out, err);
    if (rc != RC_OK)
        return rc;
    const char *wanted = arena_printf(step->arena, "%s\t%s\n", snapshot->commit, origin_ref);
    if (strstr(buf_text(&out), wanted) == NULL)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "the origin does not show %.200s",
                       origin_ref);
    return mark(step, step->input.run_id.text, snapshot->commit, err);
}

enum rc publication_has_pr(struct step *step, bool *ret_has, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LIST_BYTES_MAX);
    const char *pattern = arena_printf(step->arena, "refs/drover/pulls/%s/*",
                                       step->input.run_id.text);
    enum rc rc = ask_origin(step, (const char *const[]){pattern, NULL}, &out, err);
    if (rc == RC_OK)
        *ret_has = out.len > 0;
    return rc;
}

/* ---- the review ---- */

struct review {
    struct step *step;
    const char *marked; /* "\n<run id>/<n> <commit>\n...", of all that are marked. */
    struct snapshot open[SNAPSHOTS_MAX];
    size_t open_count;
};

static enum rc add_open(void *ctx, const char *line, struct err *err)
{
    struct review *review = ctx;
    struct snapshot found = {0};
    (void)err;
    if (review->open_count == SNAPSHOTS_MAX ||
        sscanf(line, "%64s %64s %159s", found.commit, found.tree, found.ref) != 3 ||
        !text_starts(found.ref, SNAPSHOT_REFS))
        return RC_OK;
    const char *mark_line = arena_printf(review->step->arena, "\n%s %s\n",
                                         found.ref + strlen(SNAPSHOT_REFS), found.commit);
    if (strstr(review->marked, mark_line) == NULL)
        review->open[review->open_count++] = found;
    return RC_OK;
}

static enum rc find_open(struct review *review, struct err *err)
{
    struct step *step = review->step;
    struct git git = step_git(step);
    CLEANUP(buf_release) struct buf marked;
    CLEANUP(buf_release) struct buf snapshots;
    buf_init(&marked, LIST_BYTES_MAX);
    buf_init(&snapshots, LIST_BYTES_MAX);
    struct git_call list_marked = {.git_dir = mirror_snapshots(step),
                                   .args = GIT_ARGS("for-each-ref",
                                                    "--format=%(refname:lstrip=3) %(objectname)",
                                                    PUBLISHED_REFS),
                                   .out = &marked};
    struct git_call list = {.git_dir = mirror_snapshots(step),
                            .args = GIT_ARGS("for-each-ref", COUNT_OPTION, "--sort=committerdate",
                                             "--format=%(objectname) %(tree) %(refname)",
                                             SNAPSHOT_REFS),
                            .out = &snapshots};
    buf_addc(&marked, '\n');
    enum rc rc = git_run(&git, &list, err);
    if (rc == RC_OK && snapshots.len > 0)
        rc = git_run(&git, &list_marked, err);
    if (rc != RC_OK)
        return rc;
    review->marked = buf_text(&marked);
    rc = each_line(buf_text(&snapshots), step->arena,
                   &(struct line_reader){.visit = add_open, .ctx = review}, err);
    review->marked = NULL;
    return rc;
}

/* Is it a snapshot of the run that "<prefix><run id>/..." belongs to? */
static bool same_run(const struct snapshot *open, const char *ref, const char *prefix)
{
    if (!text_starts(ref, prefix))
        return false;
    const char *run = ref + strlen(prefix), *own = open->ref + strlen(SNAPSHOT_REFS);
    size_t len = strcspn(run, "/");
    return strcspn(own, "/") == len && strncmp(run, own, len) == 0;
}

/* NULL when neither the mirror nor the snapshot repository has the commit. */
static const char *tree_of(struct step *step, const char *commit)
{
    struct git git = step_git(step);
    const char *tree = NULL;
    struct git_call ask = {.git_dir = mirror_snapshots(step),
                           .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options",
                                            arena_printf(step->arena, "%s^{tree}", commit))};
    return git_line(&git, &ask, step->arena, &tree, NULL) == RC_OK ? tree : NULL;
}

/* "<commit>\t<ref>" of the origin. */
static enum rc compare(void *ctx, const char *line, struct err *err)
{
    struct review *review = ctx;
    struct step *step = review->step;
    char commit[GIT_HASH_BYTES], ref[SNAPSHOT_REF_BYTES];
    if (sscanf(line, "%64s %159s", commit, ref) != 2 || !git_hash_valid(commit))
        return RC_OK;
    const char *tree = NULL;
    for (size_t i = 0; i < review->open_count; i++) {
        const struct snapshot *open = &review->open[i];
        bool same = same_run(open, ref, SNAPSHOT_REFS) && text_same(open->commit, commit);
        if (same_run(open, ref, "refs/drover/pulls/")) {
            tree = tree != NULL ? tree : tree_of(step, commit);
            same = text_same(tree, open->tree);
        }
        if (!same)
            continue;
        const char *own = open->ref + strlen(SNAPSHOT_REFS);
        enum rc rc = mark(step, arena_strndup(step->arena, own, strcspn(own, "/")), open->commit,
                          err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* True once an hour, and then it is noted. */
static bool is_due(struct step *step)
{
    const char *path = arena_printf(step->arena, "%s/published.checked", mirror_snapshots(step));
    struct stat info;
    int64_t now_us = clock_now_us(&step->site->clock);
    int64_t every_us = REVIEW_EVERY_HOURS * US_PER_HOUR;
    if (stat(path, &info) == 0 && now_us - (int64_t)info.st_mtim.tv_sec * US_PER_SECOND < every_us)
        return false;
    return file_write_durable(path, "", 0, 0600, NULL) == RC_OK;
}

enum rc publication_review(struct step *step, struct err *err)
{
    if (!mirror_has_snapshots(step) || !is_due(step))
        return RC_OK;
    struct review *review = arena_alloc(step->arena, sizeof *review);
    review->step = step;
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_BYTES_MAX);
    enum rc rc = find_open(review, err);
    if (rc != RC_OK || review->open_count == 0)
        return rc;
    const char *const patterns[] = {SNAPSHOT_REFS "*", "refs/drover/pulls/*"};
    rc = ask_origin(step, patterns, &out, err);
    if (rc != RC_OK)
        return rc;
    return each_line(buf_text(&out), step->arena,
                     &(struct line_reader){.visit = compare, .ctx = review}, err);
}
