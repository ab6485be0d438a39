/*
 * local.c - the forge that is a repository on disk.
 *
 *     refs/heads/<branch>               the change, as pushed
 *     refs/pull/<N>/head                pull request N, as other forges have it
 *     refs/drover/pulls/<run id>/<N>    which run opened it
 *     refs/drover/closed/<N>            pull request N was closed: what it showed then
 *
 * Opening happens under a lock on a file in the repository, so that two publishers of one run
 * find each other's work.  Both refs are created in one transaction, the run's first: should the
 * machine stop between the two, the run's ref keeps the number taken, and the next try makes the
 * other.  Numbers are taken once: the next one lies above all in either place.
 */
#include "base/fault.h"
#include "base/fd.h"
#include "forge/forge.h"
#include "forge/issues.h"
#include "forge/origin.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The number in the last part of "refs/drover/pulls/<run>/<N>", the one before in
   "refs/pull/<N>/head"; 0 for anything else. */
static int64_t number_of(char *ref)
{
    char *last = strrchr(ref, '/');
    if (!last)
        return 0;
    int64_t number = 0;
    if (text_starts(ref, "refs/pull/")) {
        if (!text_same(last, "/head"))
            return 0;
        *last = '\0';
        last = strrchr(ref, '/');
    }
    return last && text_to_i64(last + 1, &number) && number > 0 ? number : 0;
}

/* The highest number among the refs under the prefixes; 0 when there is none. */
static enum rc highest(const struct origin *origin, const char *const prefixes[2],
                       int64_t *ret_number, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--format=%(refname)", prefixes[0], prefixes[1]),
        .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc != RC_OK)
        return rc;
    int64_t number = 0;
    char *line = out.data;
    while (line && *line) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        int64_t found = number_of(line);
        number = found > number ? found : number;
        line = end ? end + 1 : NULL;
    }
    *ret_number = number;
    return RC_OK;
}

static enum rc run_ref_number(const struct origin *origin, const char *run_id, int64_t *ret_number,
                              struct err *err)
{
    const char *prefix = arena_printf(origin->arena, "refs/drover/pulls/%s/", run_id);
    return highest(origin, (const char *const[2]){prefix, NULL}, ret_number, err);
}

static const char *pull_ref(const struct origin *origin, int64_t number)
{
    return arena_printf(origin->arena, "refs/pull/%" PRId64 "/head", number);
}

/* Makes refs/pull/<N>/head say what the run's ref says: for a try that was cut short. */
static enum rc point_pull(const struct origin *origin, int64_t number, const char *head,
                          struct err *err)
{
    const char *ref = pull_ref(origin, number);
    const char *now = NULL;
    enum rc rc = origin_ref(origin, ref, &now, err);
    if (rc != RC_OK || text_same(now, head))
        return rc;
    /* The old value is named, so that a change in between is noticed; "" is "must not exist". */
    struct git_call update = {.git_dir = origin->dir,
                              .args = GIT_ARGS("update-ref", ref, head, now ? now : "")};
    return git_run(origin->git, &update, err);
}

static enum rc create_refs(const struct origin *origin, const struct forge_change *change,
                           int64_t number, const char *head, struct err *err)
{
    const char *lines = arena_printf(origin->arena,
                                     "start\n"
                                     "create refs/drover/pulls/%s/%" PRId64 " %s\n"
                                     "create refs/pull/%" PRId64 "/head %s\n"
                                     "prepare\ncommit\n",
                                     change->run_id, number, head, number, head);
    struct git_call update = {
        .git_dir = origin->dir, .args = GIT_ARGS("update-ref", "--stdin"), .input = str_of(lines)};
    return git_run(origin->git, &update, err);
}

/* Takes the next free number.  A number that somebody else takes meanwhile, or that a dead git
   left locked, is passed over. */
static enum rc take_number(const struct origin *origin, const struct forge_change *change,
                           const char *head, int64_t *ret_number, struct err *err)
{
    int64_t tried = 0;
    enum rc rc = RC_OK;
    for (int i = 0; i < ORIGIN_TRIES_MAX; i++) {
        int64_t number = 0;
        static const char *const everywhere[2] = {"refs/pull/", "refs/drover/pulls/"};
        rc = highest(origin, everywhere, &number, err);
        if (rc != RC_OK)
            return rc;
        number = number >= tried ? number + 1 : tried + 1;
        rc = create_refs(origin, change, number, head, err);
        if (rc == RC_OK) {
            *ret_number = number;
            return RC_OK;
        }
        if (rc != RC_IO)
            return rc;
        tried = number;
    }
    return err_wrap(err, rc, "cannot take a number for the pull request");
}

/* One publisher at a time, here and on all other workers. */
static enum rc lock_pulls(const struct origin *origin, int *ret_lock, struct err *err)
{
    return origin_lock(origin, "drover-pulls.lock", ret_lock, err);
}

static enum rc find_or_create(const struct origin *origin, const struct forge_change *change,
                              const char *head, int64_t *ret_number, struct err *err)
{
    CLEANUP(fd_closep) int lock = -1;
    int64_t number = 0;
    enum rc rc = lock_pulls(origin, &lock, err);
    if (rc == RC_OK)
        rc = run_ref_number(origin, change->run_id, &number, err);
    if (rc != RC_OK)
        return rc;
    rc = number > 0 ? point_pull(origin, number, head, err)
                    : take_number(origin, change, head, &number, err);
    if (rc == RC_OK)
        *ret_number = number;
    return rc;
}

static const char *url_of(const char *origin_url, int64_t number, struct arena *arena)
{
    char *url = arena_printf(arena, "%s#refs/pull/%" PRId64 "/head", origin_url, number);
    git_redact(url);
    return url;
}

/* The tree of a commit; NULL when there is no such commit. */
static enum rc tree_of(const struct origin *origin, const char *commit, const char **ret_tree,
                       struct err *err)
{
    return origin_ref(origin, arena_printf(origin->arena, "%s^{tree}", commit), ret_tree, err);
}

/* Puts the branch of the origin into head if it shows the same files as head does. */
static enum rc find_pushed(const struct origin *origin, const struct forge_change *change,
                           char head[GIT_HASH_BYTES], bool *ret_found, struct err *err)
{
    struct origin scratch = {.git = origin->git, .dir = change->scratch, .arena = origin->arena};
    const char *branch = arena_printf(origin->arena, "refs/heads/%s", change->branch);
    const char *there = NULL, *tree_there = NULL, *tree = NULL;
    *ret_found = false;
    enum rc rc = origin_ref(origin, branch, &there, err);
    if (rc != RC_OK || !there)
        return rc;
    rc = tree_of(origin, there, &tree_there, err);
    if (rc == RC_OK)
        rc = tree_of(&scratch, head, &tree, err);
    if (rc != RC_OK || !tree || !text_same(tree, tree_there))
        return rc;
    text_copy(head, GIT_HASH_BYTES, there);
    *ret_found = true;
    return RC_OK;
}

static enum rc push_unless_there(const struct origin *origin, const struct forge_change *change,
                                 char head[GIT_HASH_BYTES], struct err *err)
{
    bool there = false;
    enum rc rc = find_pushed(origin, change, head, &there, err);
    return rc == RC_OK && !there ? forge_push(origin->git, change, head, err) : rc;
}

static enum rc local_open_pull(const struct git *git, const struct forge_change *change,
                               struct arena *arena, struct forge_pull *ret_pull, struct err *err)
{
    struct origin origin = {.git = git, .arena = arena};
    struct forge_pull pull = {.number = 0};
    enum rc rc = origin_open(&origin, change->url, err);
    if (rc == RC_OK)
        rc = fault_point("publish.commit", err);
    if (rc == RC_OK)
        rc = forge_commit(git, change, pull.head, err);
    if (rc == RC_OK)
        rc = change->may_go_on(change->ctx, err);
    if (rc == RC_OK)
        rc = fault_point("publish.push", err);
    if (rc == RC_OK)
        rc = push_unless_there(&origin, change, pull.head, err);
    if (rc == RC_OK)
        rc = change->may_go_on(change->ctx, err);
    if (rc == RC_OK)
        rc = fault_point("publish.number", err);
    if (rc == RC_OK)
        rc = find_or_create(&origin, change, pull.head, &pull.number, err);
    if (rc == RC_OK)
        rc = fault_point("publish.numbered", err);
    if (rc != RC_OK)
        return rc;
    pull.url = url_of(change->url, pull.number, arena);
    *ret_pull = pull;
    return RC_OK;
}

/* --- look --- */

/* Has drover opened it, for whatever run? */
static enum rc is_ours(const struct origin *origin, int64_t number, bool *ret_ours, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    const char *pattern = arena_printf(origin->arena, "refs/drover/pulls/*/%" PRId64, number);
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--count=1", "--format=%(refname)", pattern),
        .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc == RC_OK)
        *ret_ours = out.len > 0;
    return rc;
}

/* The pull request whose head is the commit; the oldest, should there be several. */
static enum rc find_foreign(const struct origin *origin, const char *head, int64_t *ret_number,
                            struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    struct git_call list = {.git_dir = origin->dir,
                            .args = GIT_ARGS("for-each-ref", "--format=%(refname)",
                                             "--sort=creatordate", "--points-at", head,
                                             "refs/pull/"),
                            .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    char *line = out.data;
    *ret_number = 0;
    while (rc == RC_OK && line && *line && *ret_number == 0) {
        bool ours = false;
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        int64_t number = number_of(line);
        if (number > 0)
            rc = is_ours(origin, number, &ours, err);
        *ret_number = ours ? 0 : number;
        line = end ? end + 1 : NULL;
    }
    return rc;
}

static enum rc local_look(const struct git *git, const struct forge_question *question,
                          struct arena *arena, struct forge_found *ret_found, struct err *err)
{
    struct origin origin = {.git = git, .arena = arena};
    struct forge_found found = {.pull_number = 0};
    const char *head = NULL;
    enum rc rc = origin_open(&origin, question->url, err);
    if (rc == RC_OK)
        rc = origin_ref(&origin, arena_printf(arena, "refs/heads/%s^{commit}", question->branch),
                        &head, err);
    if (rc == RC_OK && head)
        rc = find_foreign(&origin, head, &found.pull_number, err);
    if (rc != RC_OK)
        return rc;
    if (head)
        text_copy(found.head, sizeof found.head, head);
    if (found.pull_number > 0)
        found.pull_url = url_of(question->url, found.pull_number, arena);
    *ret_found = found;
    return RC_OK;
}

/* --- withdraw --- */

/* Every commit of a run names it in its last lines (step_publish.c). */
static enum rc is_of_run(const struct origin *origin, const char *ref, const char *run_id,
                         bool *ret_own, struct err *err)
{
    const char *value = NULL;
    struct git_call ask = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--format=%(trailers:key=Drover-Run,valueonly)", ref)};
    enum rc rc = git_line(origin->git, &ask, origin->arena, &value, err);
    if (rc == RC_OK)
        *ret_own = text_same(value, run_id);
    return rc;
}

static enum rc delete_branch(const struct origin *origin, const struct forge_withdrawal *withdrawal,
                             enum forge_branch *ret_branch, struct err *err)
{
    const char *ref = arena_printf(origin->arena, "refs/heads/%s", withdrawal->branch);
    const char *head = NULL;
    bool own = false;
    enum rc rc = origin_ref(origin, ref, &head, err);
    if (rc == RC_OK && !head) {
        *ret_branch = BRANCH_ABSENT;
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = is_of_run(origin, ref, withdrawal->run_id, &own, err);
    if (rc == RC_OK && own)
        rc = withdrawal->may_go_on(withdrawal->ctx, err);
    /* The old value is named, so that a push in between is noticed. */
    struct git_call drop = {.git_dir = origin->dir,
                            .args = GIT_ARGS("update-ref", "-d", ref, head)};
    if (rc == RC_OK && own)
        rc = git_run(origin->git, &drop, err);
    if (rc == RC_OK)
        *ret_branch = own ? BRANCH_DELETED : BRANCH_FOREIGN;
    return rc;
}

static enum rc local_withdraw(const struct git *git, const struct forge_withdrawal *withdrawal,
                              enum forge_branch *ret_branch, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(fd_closep) int lock = -1;
    struct origin origin = {.git = git, .arena = &arena};
    int64_t number = 0;
    enum rc rc = origin_open(&origin, withdrawal->url, err);
    if (rc == RC_OK)
        rc = lock_pulls(&origin, &lock, err);
    if (rc == RC_OK)
        rc = run_ref_number(&origin, withdrawal->run_id, &number, err);
    if (rc == RC_OK && number > 0)
        *ret_branch = BRANCH_PULLED;
    else if (rc == RC_OK)
        rc = delete_branch(&origin, withdrawal, ret_branch, err);
    return rc;
}

/* --- whose it is --- */

struct ownership {
    int64_t number;
    const char *run_id, *branch;
    const char *head; /* What the pull request shows. */
};

/* One that drover opened has the ref of its run.  One that the run's agent opened shows the run's
   branch, as long as that is there. */
static enum rc check_owned(const struct origin *origin, const struct ownership *owner,
                           struct err *err)
{
    const char *own = NULL, *branch = NULL;
    bool ours = false;
    enum rc rc = origin_ref(
        origin,
        arena_printf(origin->arena, "refs/drover/pulls/%s/%" PRId64, owner->run_id, owner->number),
        &own, err);
    if (rc != RC_OK || own)
        return rc;
    rc = is_ours(origin, owner->number, &ours, err);
    if (rc == RC_OK && !ours)
        rc = origin_ref(origin, arena_printf(origin->arena, "refs/heads/%s", owner->branch),
                        &branch, err);
    if (rc != RC_OK || (!ours && (!branch || text_same(branch, owner->head))))
        return rc;
    return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OWN",
                   "Pull request %" PRId64 " is not that of run %.40s: %s.", owner->number,
                   owner->run_id, ours ? "another run opened it" : "it shows another branch");
}

/* --- close --- */

static const char *closed_ref(const struct origin *origin, int64_t number)
{
    return arena_printf(origin->arena, "refs/drover/closed/%" PRId64, number);
}

static enum rc local_close(const struct git *git, const struct forge_closing *closing,
                           struct err *err)
{
    assert(closing->number > 0);
    CLEANUP(arena_release) struct arena arena = {0};
    struct origin origin = {.git = git, .arena = &arena};
    const char *head = NULL;
    enum rc rc = origin_open(&origin, closing->url, err);
    if (rc == RC_OK)
        rc = origin_ref(&origin, pull_ref(&origin, closing->number), &head, err);
    if (rc != RC_OK || !head)
        return rc;
    struct ownership owner = {closing->number, closing->run_id, closing->branch, head};
    rc = check_owned(&origin, &owner, err);
    if (rc != RC_OK)
        return rc;
    struct git_call mark = {
        .git_dir = origin.dir,
        .args = GIT_ARGS("update-ref", closed_ref(&origin, closing->number), head)};
    return git_run(git, &mark, err);
}

static enum rc check_not_closed(const struct origin *origin, int64_t number, struct err *err)
{
    const char *closed = NULL;
    enum rc rc = origin_ref(origin, closed_ref(origin, number), &closed, err);
    if (rc == RC_OK && closed)
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN",
                       "Pull request %" PRId64 " is closed.", number);
    return rc;
}

/* --- merge --- */

/* A branch that stands checked out beside its repository would seem changed by a merge. */
static enum rc check_not_checked_out(const struct origin *origin, const char *target,
                                     struct err *err)
{
    const char *bare = NULL, *head = NULL;
    struct git_call ask = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("config", "--type=bool", "--default", "false", "--get", "core.bare")};
    enum rc rc = git_line(origin->git, &ask, origin->arena, &bare, err);
    if (rc != RC_OK || text_same(bare, "true"))
        return rc;
    struct git_call where = {.git_dir = origin->dir,
                             .args = GIT_ARGS("rev-parse", "--symbolic-full-name", "HEAD")};
    rc = git_line(origin->git, &where, origin->arena, &head, err);
    if (rc == RC_OK && text_same(head, target))
        return err_set(err, RC_CONFLICT, "BRANCH_CHECKED_OUT",
                       "%.200s is checked out in %.200s; merge it there.", target, origin->dir);
    return rc;
}

struct merging {
    const char *target_ref;
    const char *target, *head; /* Commits. */
    const char *message;
};

static enum rc merge_tree(const struct origin *origin, const struct merging *merging,
                          const char **ret_tree, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX * 16);
    struct git_call call = {.git_dir = origin->dir,
                            .args = GIT_ARGS("merge-tree", "--write-tree", "--name-only",
                                             "--no-messages", merging->target, merging->head),
                            .out = &out,
                            .memory_bytes = GIT_MEMORY_SMALL};
    int status = 0;
    enum rc rc = git_ask(origin->git, &call, &status, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    size_t hash_len = strcspn(text, "\n");
    if (status == 0) {
        *ret_tree = arena_strndup(origin->arena, text, hash_len);
        return RC_OK;
    }
    const char *names = text + hash_len + (text[hash_len] == '\n');
    char *list = arena_strndup(origin->arena, names, strnlen(names, 200));
    for (char *at = list; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    return err_set(err, RC_CONFLICT, "MERGE_CONFLICT",
                   "It cannot be merged by itself; the two sides disagree about: %s", list);
}

/* One try: the old value of the target is named, so that a push in between is not undone. */
static enum rc merge_once(const struct origin *origin, const struct merging *merging,
                          const char **ret_commit, struct err *err)
{
    const char *tree = NULL, *commit = NULL;
    enum rc rc = merge_tree(origin, merging, &tree, err);
    if (rc != RC_OK)
        return rc;
    struct git_call make = {.git_dir = origin->dir,
                            .args = GIT_ARGS("commit-tree", tree, "-p", merging->target, "-p",
                                             merging->head, "-F", "-"),
                            .input = str_of(merging->message)};
    rc = git_line(origin->git, &make, origin->arena, &commit, err);
    if (rc != RC_OK)
        return rc;
    struct git_call update = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("update-ref", merging->target_ref, commit, merging->target)};
    rc = git_run(origin->git, &update, err);
    if (rc == RC_OK)
        *ret_commit = commit;
    return rc;
}

static enum rc is_merged(const struct origin *origin, const struct merging *merging,
                         bool *ret_merged, struct err *err)
{
    struct git_call ask = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("merge-base", "--is-ancestor", merging->head, merging->target)};
    int status = 1;
    enum rc rc = git_ask(origin->git, &ask, &status, err);
    if (rc == RC_OK)
        *ret_merged = status == 0;
    return rc;
}

/* Tries until nobody else moves the target in between. */
static enum rc merge_into(const struct origin *origin, struct merging *merging,
                          const char **ret_commit, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < ORIGIN_TRIES_MAX; i++) {
        rc = origin_ref(origin, merging->target_ref, &merging->target, err);
        if (rc == RC_OK && !merging->target)
            return err_set(err, RC_NOT_FOUND, "BRANCH_NOT_FOUND",
                           "There is no %.200s to merge into.", merging->target_ref);
        bool merged = false;
        if (rc == RC_OK)
            rc = is_merged(origin, merging, &merged, err);
        if (rc != RC_OK)
            return rc;
        if (merged) {
            *ret_commit = merging->target;
            return RC_OK;
        }
        rc = merge_once(origin, merging, ret_commit, err);
        if (rc != RC_IO)
            return rc;
    }
    return err_wrap(err, rc, "cannot move the target branch");
}

/* Only the files that were verified are merged. */
static enum rc check_shows(const struct origin *origin, const struct forge_merge *merge,
                           const char *head, struct err *err)
{
    const char *tree = NULL;
    if (!merge->expected_tree)
        return RC_OK;
    enum rc rc = tree_of(origin, head, &tree, err);
    if (rc != RC_OK || text_same(tree, merge->expected_tree))
        return rc;
    return err_set(err, RC_CONFLICT, "HEAD_NOT_VERIFIED",
                   "Pull request %" PRId64
                   " shows the tree %.12s, and the run's patch makes %.12s.",
                   merge->number, tree ? tree : "(none)", merge->expected_tree);
}

static enum rc local_merge(const struct git *git, const struct forge_merge *merge,
                           char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    assert(merge->number > 0);
    CLEANUP(arena_release) struct arena arena = {0};
    struct origin origin = {.git = git, .arena = &arena};
    struct merging merging = {
        .target_ref = arena_printf(&arena, "refs/heads/%s", merge->target_branch),
        .message = merge->message,
    };
    enum rc rc = origin_open(&origin, merge->url, err);
    if (rc == RC_OK)
        rc = check_not_checked_out(&origin, merging.target_ref, err);
    if (rc == RC_OK)
        rc = check_not_closed(&origin, merge->number, err);
    if (rc == RC_OK)
        rc = origin_ref(&origin, pull_ref(&origin, merge->number), &merging.head, err);
    if (rc != RC_OK)
        return rc;
    if (!merging.head)
        return err_set(err, RC_NOT_FOUND, "PULL_REQUEST_NOT_FOUND",
                       "The repository has no pull request %" PRId64 ".", merge->number);
    if (merge->expected_head && !text_same(merging.head, merge->expected_head))
        return err_set(err, RC_CONFLICT, "HEAD_MOVED",
                       "Pull request %" PRId64 " now stands at %.12s, not at %.12s.", merge->number,
                       merging.head, merge->expected_head);
    const char *commit = NULL;
    struct ownership owner = {merge->number, merge->run_id, merge->branch, merging.head};
    rc = check_owned(&origin, &owner, err);
    if (rc == RC_OK)
        rc = check_shows(&origin, merge, merging.head, err);
    if (rc == RC_OK)
        rc = merge_into(&origin, &merging, &commit, err);
    if (rc == RC_OK)
        text_copy(ret_commit, GIT_HASH_BYTES, commit);
    return rc;
}

const struct forge_ops forge_local = {
    .name = "local",
    .look = local_look,
    .open_pull = local_open_pull,
    .withdraw = local_withdraw,
    .merge = local_merge,
    .close = local_close,
    .pull_url = url_of,
    .issues = &issues_local,
};
