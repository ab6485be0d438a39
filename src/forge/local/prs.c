/*
 * prs.c - pull requests of the local forge after they were opened: what its refs show.
 *
 *     refs/pull/<N>/head         what it shows; its branch is one that points there
 *     refs/drover/closed/<N>     it was closed
 *     HEAD                       the target: refs record no other
 *
 * It is merged when the target leads to its head.  There are no checks, reviews or labels, and
 * numbers of issues are other numbers, so that there is no place for comments: those functions are
 * missing.
 */
#include "forge/port/prs.h"
#include "base/clock.h"
#include "base/hash.h"
#include "forge/git/origin.h"
#include "forge/local/local.h"
#include "forge/local/standing.h"
#include <inttypes.h>
#include <string.h>

#define BRANCHES "refs/heads/"
#define ISSUES   "refs/drover/issues/"

/* ---- one ---- */

/* What git says of a commit: "<seconds>\n<author>\n<subject>". */
static enum rc read_commit(const struct origin *origin, struct pr_view *view, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    struct git_call show = {.git_dir = origin->dir,
                            .args = GIT_ARGS("log", "-1", "--no-show-signature",
                                             "--format=%ct%n%an%n%s", "--end-of-options",
                                             view->head),
                            .out = &out};
    enum rc rc = git_run(origin->git, &show, err);
    struct str rest = buf_str(&out), time = {0}, author = {0}, title = {0};
    if (rc != RC_OK)
        return rc;
    int64_t seconds = 0;
    (void)str_take_line(&rest, &time);
    (void)str_take_line(&rest, &author);
    (void)str_take_line(&rest, &title);
    if (text_to_i64(str_dup(origin->arena, time), &seconds))
        view->updated_us = seconds * US_PER_SECOND;
    view->author = str_dup(origin->arena, author);
    view->title = str_dup(origin->arena, title);
    return RC_OK;
}

/* The first line that git prints; "" when it prints none. */
static enum rc first_line(const struct origin *origin, const char *const *args,
                          const char **ret_line, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    struct git_call call = {.git_dir = origin->dir, .args = args, .out = &out};
    struct str rest, line = {0};
    enum rc rc = git_run(origin->git, &call, err);
    if (rc != RC_OK)
        return rc;
    rest = buf_str(&out);
    (void)str_take_line(&rest, &line);
    *ret_line = line.at != NULL ? str_dup(origin->arena, line) : "";
    return RC_OK;
}

static enum rc find_target(const struct origin *origin, struct pr_view *view, struct err *err)
{
    const char *ref = NULL;
    struct git_call ask = {.git_dir = origin->dir, .args = GIT_ARGS("symbolic-ref", "HEAD")};
    enum rc rc = git_line(origin->git, &ask, origin->arena, &ref, err);
    if (rc == RC_IO || (rc == RC_OK && !text_starts(ref, BRANCHES)))
        return err_set(err, RC_CORRUPT, "NO_TARGET_BRANCH",
                       "HEAD of the repository names no branch: git symbolic-ref HEAD "
                       "refs/heads/NAME says which one pull requests go to.");
    if (rc != RC_OK)
        return rc;
    view->target_branch = ref + strlen(BRANCHES);
    return origin_ref(origin, ref, &view->base, err);
}

/* The first commit of the target itself that has it. */
static enum rc find_merge(const struct origin *origin, struct pr_view *view, struct err *err)
{
    const char *range = arena_printf(origin->arena, "%s..%s", view->head, view->base);
    const char *commit = NULL;
    enum rc rc = first_line(origin,
                            GIT_ARGS("rev-list", "--ancestry-path", "--first-parent", "--reverse",
                                     "--end-of-options", range),
                            &commit, err);
    if (rc == RC_OK)
        view->merge_commit = commit[0] != '\0' ? commit : view->head;
    return rc;
}

static enum rc find_mergeable(const struct origin *origin, struct pr_view *view, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX * 16);
    int status = 0;
    struct git_call merge = {.git_dir = origin->dir,
                             .args = GIT_ARGS("merge-tree", "--write-tree", "--name-only",
                                              "--no-messages", "--end-of-options", view->base,
                                              view->head),
                             .out = &out,
                             .memory_bytes = GIT_MEMORY_SMALL};
    enum rc rc = git_ask(origin->git, &merge, &status, err);
    if (rc == RC_OK)
        view->mergeable = status == 0 ? MERGE_CLEAN : MERGE_CONFLICT;
    return rc;
}

static enum rc find_state(const struct origin *origin, struct pr_view *view, struct err *err)
{
    const char *closed = NULL;
    int status = 1;
    if (view->base == NULL)
        return RC_OK;
    struct git_call ask = {.git_dir = origin->dir,
                           .args = GIT_ARGS("merge-base", "--is-ancestor", view->head, view->base)};
    enum rc rc = git_ask(origin->git, &ask, &status, err);
    if (rc == RC_OK)
        rc = origin_ref(origin, pr_closed_ref(origin->arena, view->number), &closed, err);
    if (rc != RC_OK)
        return rc;
    if (status == 0) {
        view->state = PR_MERGED;
        return find_merge(origin, view, err);
    }
    view->state = closed != NULL ? PR_CLOSED : PR_OPEN;
    return find_mergeable(origin, view, err);
}

static enum rc find_branch(const struct origin *origin, struct pr_view *view, struct err *err)
{
    const char *ref = NULL;
    enum rc rc = first_line(origin,
                            GIT_ARGS("for-each-ref", "--format=%(refname)",
                                     arena_printf(origin->arena, "--points-at=%s", view->head),
                                     BRANCHES),
                            &ref, err);
    if (rc == RC_OK && text_starts(ref, BRANCHES))
        view->head_branch = ref + strlen(BRANCHES);
    return rc;
}

static enum rc local_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                          struct pr_view *ret_view, struct err *err)
{
    static const char *none[] = {NULL};
    struct origin origin = {.git = &call->git, .arena = arena};
    struct pr_view view = {.number = ref->number, .labels = none, .head_branch = ""};
    enum rc rc = origin_open(&origin, ref->url, err);
    if (rc == RC_OK)
        rc = origin_ref(&origin, pr_ref(arena, ref->number), &view.head, err);
    if (rc == RC_OK && view.head == NULL)
        return err_set(err, RC_NOT_FOUND, "PULL_REQUEST_NOT_FOUND",
                       "The repository has no pull request %" PRId64 ".", ref->number);
    if (rc == RC_OK)
        rc = read_commit(&origin, &view, err);
    if (rc == RC_OK)
        rc = find_target(&origin, &view, err);
    if (rc == RC_OK)
        rc = find_state(&origin, &view, err);
    if (rc == RC_OK)
        rc = find_branch(&origin, &view, err);
    if (rc != RC_OK)
        return rc;
    view.url = forge_local.pr_url(&forge_local, ref->url, ref->number, arena);
    *ret_view = view;
    return RC_OK;
}

/* ---- what changed ---- */

struct listing {
    struct changed_answer answer;
    int64_t since_us;
    struct arena *arena;
};

/* "<ref> <seconds>": a pull request, or the last thing that happened to an issue. */
static void add_line(struct listing *listing, struct str line)
{
    char *ref = str_dup(listing->arena, line), *time = ref;
    int64_t seconds = 0;
    (void)strsep(&time, " ");
    bool is_pr = text_starts(ref, "refs/pull/");
    struct forge_changed changed = {.is_pr = is_pr};
    if (is_pr)
        changed.number = pr_number_of(ref);
    else if (!text_starts(ref, ISSUES) || !text_to_i64(ref + strlen(ISSUES), &changed.number))
        return;
    if (time == NULL || !text_to_i64(time, &seconds) || changed.number <= 0)
        return;
    changed.updated_us = seconds * US_PER_SECOND;
    /* A commit of a pull request may be older than its opening, and refs have no date. */
    if (!is_pr && changed.updated_us < listing->since_us)
        return;
    if (listing->answer.count == PRS_CHANGED_MAX) {
        listing->answer.more = true;
        return;
    }
    listing->answer.items[listing->answer.count++] = changed;
}

/* Every change of a pull request or an issue changes one of these refs. */
static enum rc local_changed(struct forge_call *call, const struct changed_query *query,
                             struct arena *arena, struct changed_answer *ret_answer,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    char hash[SHA256_TEXT_BYTES];
    struct origin origin = {.git = &call->git, .arena = arena};
    enum rc rc = origin_open(&origin, query->url, err);
    if (rc != RC_OK)
        return rc;
    struct git_call list = {
        .git_dir = origin.dir,
        .args = GIT_ARGS("for-each-ref", "--sort=committerdate",
                         "--format=%(refname) %(committerdate:unix) %(objectname)", "refs/pull/",
                         "refs/drover/closed/", ISSUES, BRANCHES),
        .out = &out};
    rc = git_run(origin.git, &list, err);
    if (rc != RC_OK)
        return rc;
    sha256_hex(out.data, out.len, hash);
    struct listing listing = {.since_us = query->since_us, .arena = arena};
    listing.answer.etag = arena_strdup(arena, hash);
    listing.answer.same = text_same(query->etag, hash);
    listing.answer.items = arena_array(arena, PRS_CHANGED_MAX, sizeof(struct forge_changed));
    struct str rest = buf_str(&out), line;
    while (!listing.answer.same && str_take_line(&rest, &line)) {
        const char *blank = memrchr(line.at, ' ', line.len);
        line.len = blank != NULL ? (size_t)(blank - line.at) : line.len;
        add_line(&listing, line);
    }
    *ret_answer = listing.answer;
    return RC_OK;
}

const struct pr_ops prs_local = {
    .view = local_view,
    .changed = local_changed,
};
