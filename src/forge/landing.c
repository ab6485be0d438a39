#include "forge/landing.h"
#include "base/clock.h"
#include "base/fault.h"
#include "forge/git/checked_out.h"
#include "forge/git/origin.h"
#include "forge/git/origin_access.h"
#include "forge/local/standing.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { PUSH_TRIES_MAX = 4, FILES_BYTES_MAX = 300 };

/* ---- merging ---- */

/* RC_CONFLICT: the two sides disagree. */
static enum rc merge_trees(const struct git *git, const struct landing *landing, const char *onto,
                           const char *head, struct arena *arena, const char **ret_tree,
                           struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX * 16);
    struct git_call call = {.git_dir = landing->git_dir,
                            .args = GIT_ARGS("merge-tree", "--write-tree", "--name-only",
                                             "--no-messages", "--end-of-options", onto, head),
                            .out = &out,
                            .durable = true,
                            .memory_bytes = GIT_MEMORY_SMALL};
    int status = 0;
    enum rc rc = git_ask(git, &call, &status, err);
    if (rc != RC_OK)
        return rc;
    const char *text = buf_text(&out);
    size_t hash_len = strcspn(text, "\n");
    if (status == 0) {
        *ret_tree = arena_strndup(arena, text, hash_len);
        return RC_OK;
    }
    const char *names = text + hash_len + (text[hash_len] == '\n');
    char *list = arena_strndup(arena, names, strnlen(names, FILES_BYTES_MAX));
    git_clean(list);
    return err_set(err, RC_CONFLICT, "MERGE_CONFLICT",
                   "It does not merge with what is before it; both change: %s", list);
}

static enum rc make_commit(const struct git *git, const struct landing *landing, const char *tree,
                           const char *const *parents, size_t parent_count,
                           const struct landing_car *last, const char *message, struct arena *arena,
                           const char **ret_commit, struct err *err)
{
    const char *const *env = git_author_env(last->time_us, arena);
    const char **args = arena_array(arena, 2 * parent_count + 5, sizeof *args);
    size_t at = 0;
    args[at++] = "commit-tree";
    args[at++] = tree;
    for (size_t i = 0; i < parent_count; i++) {
        args[at++] = "-p";
        args[at++] = parents[i];
    }
    args[at++] = "-F";
    args[at++] = "-";
    struct git_call commit = {.git_dir = landing->git_dir,
                              .args = args,
                              .env = env,
                              .input = str_of(message),
                              .durable = true};
    return git_line(git, &commit, arena, ret_commit, err);
}

static const char *title_of(const struct landing_car *car)
{
    return car->title != NULL ? car->title : car->branch;
}

enum rc landing_merge(const struct git *git, const struct landing *landing, struct arena *arena,
                      struct landing_position *positions, size_t *ret_at, struct err *err)
{
    const char *onto = landing->base;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < landing->count; i++) {
        const struct landing_car *car = &landing->cars[i];
        const char *const parents[] = {onto, car->head};
        const char *message = arena_printf(arena, "Merge pull request #%" PRId64 ": %s\n",
                                           car->number, title_of(car));
        *ret_at = i;
        rc = merge_trees(git, landing, onto, car->head, arena, &positions[i].tree, err);
        if (rc == RC_OK)
            rc = make_commit(git, landing, positions[i].tree, parents, COUNT_OF(parents), car,
                             message, arena, &positions[i].commit, err);
        onto = positions[i].commit;
    }
    return rc;
}

enum rc landing_single(const struct git *git, const struct landing *landing, const char *tree,
                       struct arena *arena, const char **ret_commit, struct err *err)
{
    CLEANUP(buf_release) struct buf message;
    buf_init(&message, GIT_TEXT_MAX);
    const char *parents[LANDING_CARS_MAX + 1] = {landing->base};
    assert(landing->count > 0 && landing->count <= LANDING_CARS_MAX);
    buf_adds(&message, landing->count > 1 ? "Merge pull requests " : "Merge pull request ");
    for (size_t i = 0; i < landing->count; i++) {
        parents[i + 1] = landing->cars[i].head;
        buf_addf(&message, "%s#%" PRId64, i > 0 ? ", " : "", landing->cars[i].number);
    }
    buf_adds(&message, "\n\n");
    for (size_t i = 0; i < landing->count; i++)
        buf_addf(&message, "#%" PRId64 ": %s\n", landing->cars[i].number,
                 title_of(&landing->cars[i]));
    return make_commit(git, landing, tree, parents, landing->count + 1,
                       &landing->cars[landing->count - 1], buf_text(&message), arena, ret_commit,
                       err);
}

/* ---- what a push moves ---- */

struct pushing {
    struct forge_call *call;
    const struct landing *landing;
    const char *commit;
    struct arena *arena;
    const char *target_ref;
    struct fence *fences; /* One for each car. */
    bool again;           /* A fence has moved: read all of it once more. */
    size_t at;            /* The car that is not what it was. */
};

static enum rc moved(const struct pushing *pushing, const char *at, struct err *err)
{
    return err_set(err, RC_CONFLICT, "TARGET_ADVANCED", "%.200s is at %.12s, not at %.12s.",
                   pushing->target_ref, at[0] != '\0' ? at : "(nothing)", pushing->landing->base);
}

static enum rc make_fences(struct pushing *pushing, const char *git_dir, struct err *err)
{
    const struct fence_text text = {.act = "land", .holder = pushing->landing->holder.name};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < pushing->landing->count; i++)
        rc = fence_make(&pushing->call->git, git_dir, &text, &pushing->fences[i], err);
    return rc;
}

static const char *fence_of(const struct pushing *pushing, size_t i)
{
    return fence_ref(pushing->landing->cars[i].run_id, pushing->arena);
}

static enum rc may_go_on(const struct pushing *pushing, struct err *err)
{
    const struct forge_holder *holder = &pushing->landing->holder;
    enum rc rc = holder->may_go_on(holder->ctx, err);
    return rc == RC_OK ? fault_point("train.push", err) : rc;
}

/* ---- a repository on this machine ---- */

static enum rc read_value(const struct origin *origin, const char *ref, char to[GIT_HASH_BYTES],
                          struct err *err)
{
    const char *hash = NULL;
    enum rc rc = origin_ref(origin, ref, &hash, err);
    if (rc == RC_OK)
        text_copy(to, GIT_HASH_BYTES, hash != NULL ? hash : "");
    return rc;
}

/* The pull requests are what was verified, and open. */
static enum rc check_pulls(const struct origin *origin, struct pushing *pushing, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < pushing->landing->count; i++) {
        const struct landing_car *car = &pushing->landing->cars[i];
        char head[GIT_HASH_BYTES], closed[GIT_HASH_BYTES];
        pushing->at = i;
        rc = read_value(origin, pr_ref(origin->arena, car->number), head, err);
        if (rc == RC_OK)
            rc = read_value(origin, pr_closed_ref(origin->arena, car->number), closed, err);
        if (rc == RC_OK && (closed[0] != '\0' || !text_same(head, car->head)))
            rc = err_set(err, RC_CONFLICT, "PULL_REQUEST_MOVED",
                         "Pull request %" PRId64 " is closed, or not at %.12s any more.",
                         car->number, car->head);
    }
    return rc;
}

static enum rc read_fences(const struct origin *origin, struct pushing *pushing, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < pushing->landing->count; i++)
        rc = read_value(origin, fence_of(pushing, i), pushing->fences[i].old, err);
    return rc;
}

static enum rc write_refs(const struct origin *origin, const struct pushing *pushing,
                          struct err *err)
{
    const struct landing *landing = pushing->landing;
    CLEANUP(ref_tx_release) struct ref_tx tx;
    ref_tx_begin(&tx);
    for (size_t i = 0; i < landing->count; i++) {
        const struct landing_car *car = &landing->cars[i];
        ref_tx_move(&tx, fence_of(pushing, i), fence_move(&pushing->fences[i]));
        ref_tx_move(&tx, pr_ref(origin->arena, car->number),
                    (struct ref_move){car->head, car->head});
        ref_tx_move(&tx, pr_closed_ref(origin->arena, car->number), (struct ref_move){"", ""});
    }
    ref_tx_move(&tx, pushing->target_ref, (struct ref_move){landing->base, pushing->commit});
    return ref_tx_commit(&tx, origin->git, origin->dir, err);
}

/* With the files of the worktree that shows the target. */
static enum rc write_checked_out(const struct origin *origin, const struct pushing *pushing,
                                 const struct checked_out *found, struct err *err)
{
    size_t count = pushing->landing->count;
    struct checked_out_ref *refs = arena_array(origin->arena, count, sizeof *refs);
    for (size_t i = 0; i < count; i++)
        refs[i] = (struct checked_out_ref){fence_of(pushing, i), fence_move(&pushing->fences[i])};
    const struct checked_out_move move = {
        .branch_ref = pushing->target_ref,
        .branch = {pushing->landing->base, pushing->commit},
        .fence_ref = refs[0].ref,
        .fence = refs[0].move,
        .further = refs + 1,
        .further_count = count - 1,
    };
    return checked_out_push(origin, found, &move, err);
}

static enum rc write_here(const struct origin *origin, const struct pushing *pushing,
                          struct err *err)
{
    const char *tree = NULL;
    struct checked_out found;
    enum rc rc = origin_ref(origin, arena_printf(origin->arena, "%s^{tree}", pushing->commit),
                            &tree, err);
    if (rc == RC_OK)
        rc = checked_out_find(origin, pushing->target_ref, &found, err);
    if (rc != RC_OK)
        return rc;
    const struct checked_out_question question = {
        .branch_ref = pushing->target_ref, .merged_ref = pushing->commit, .merged_tree = tree};
    if (found.tree != NULL)
        rc = checked_out_may_move(origin, &question, &found, err);
    if (rc != RC_OK)
        return rc;
    return found.tree != NULL && !found.updated ? write_checked_out(origin, pushing, &found, err)
                                                : write_refs(origin, pushing, err);
}

static enum rc try_here(const struct origin *origin, struct pushing *pushing, struct err *err)
{
    char target[GIT_HASH_BYTES];
    enum rc rc = read_value(origin, pushing->target_ref, target, err);
    if (rc == RC_OK && !text_same(target, pushing->landing->base))
        return moved(pushing, target, err);
    if (rc == RC_OK)
        rc = check_pulls(origin, pushing, err);
    if (rc == RC_OK)
        rc = read_fences(origin, pushing, err);
    if (rc == RC_OK)
        rc = may_go_on(pushing, err);
    if (rc == RC_OK)
        rc = write_here(origin, pushing, err);
    pushing->again = rc == RC_IO;
    return rc;
}

static enum rc push_here(struct pushing *pushing, struct err *err)
{
    const struct landing *landing = pushing->landing;
    struct origin origin = {.git = &pushing->call->git, .arena = pushing->arena};
    enum rc rc = origin_open(&origin, landing->url, err);
    if (rc == RC_OK)
        rc = make_fences(pushing, origin.dir, err);
    if (rc == RC_OK)
        rc = origin_take_objects(&origin, landing->git_dir, pushing->commit, NULL, err);
    int tries = 0;
    do
        rc = rc == RC_OK || pushing->again ? try_here(&origin, pushing, err) : rc;
    while (rc == RC_IO && pushing->again && ++tries < PUSH_TRIES_MAX);
    return rc;
}

/* ---- elsewhere ---- */

/* "<hash>\t<ref>" for each ref that is there. */
static void take_line(struct pushing *pushing, struct str line, char target[GIT_HASH_BYTES])
{
    const char *tab = memchr(line.at, '\t', line.len);
    if (tab == NULL || (size_t)(tab - line.at) >= GIT_HASH_BYTES)
        return;
    struct str ref = {tab + 1, line.len - (size_t)(tab + 1 - line.at)};
    const char *hash = arena_strndup(pushing->arena, line.at, (size_t)(tab - line.at));
    if (str_is(ref, pushing->target_ref))
        text_copy(target, GIT_HASH_BYTES, hash);
    for (size_t i = 0; i < pushing->landing->count; i++) {
        if (str_is(ref, fence_of(pushing, i)))
            text_copy(pushing->fences[i].old, GIT_HASH_BYTES, hash);
    }
}

static enum rc read_there(struct pushing *pushing, char target[GIT_HASH_BYTES], struct err *err)
{
    const struct landing *landing = pushing->landing;
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    const char **args = arena_array(pushing->arena, landing->count + 6, sizeof *args);
    size_t at = 0;
    args[at++] = "ls-remote";
    args[at++] = "--quiet";
    args[at++] = "origin";
    args[at++] = pushing->target_ref;
    for (size_t i = 0; i < landing->count; i++) {
        pushing->fences[i].old[0] = '\0';
        args[at++] = fence_of(pushing, i);
    }
    struct git_call list = {
        .git_dir = landing->git_dir, .args = args, .origin = landing->url, .out = &out};
    enum rc rc = git_run(&pushing->call->git, &list, err);
    struct str rest = buf_str(&out), line;
    target[0] = '\0';
    while (rc == RC_OK && str_take_line(&rest, &line))
        take_line(pushing, line, target);
    return rc;
}

/* One push.  fences: with them, atomically; a server that cannot do that gets the target alone,
   still with the value that it must have. */
static enum rc push_refs(const struct pushing *pushing, bool fences, struct err *err)
{
    const struct landing *landing = pushing->landing;
    struct arena *arena = pushing->arena;
    size_t count = fences ? landing->count : 0, at = 0;
    const char **args = arena_array(arena, 2 * count + 10, sizeof *args);
    args[at++] = "push";
    args[at++] = "--porcelain";
    args[at++] = "--no-progress";
    if (fences)
        args[at++] = "--atomic";
    args[at++] = arena_printf(arena, "--force-with-lease=%s:%s", pushing->target_ref,
                              landing->base);
    for (size_t i = 0; i < count; i++)
        args[at++] = arena_printf(arena, "--force-with-lease=%s:%s", fence_of(pushing, i),
                                  fence_move(&pushing->fences[i]).from);
    args[at++] = "origin";
    args[at++] = arena_printf(arena, "%s:%s", pushing->commit, pushing->target_ref);
    for (size_t i = 0; i < count; i++)
        args[at++] = arena_printf(arena, "%s:%s", fence_move(&pushing->fences[i]).to,
                                  fence_of(pushing, i));
    const struct git_call push = {
        .git_dir = landing->git_dir, .args = args, .origin = landing->url};
    return git_run(&pushing->call->git, &push, err);
}

static enum rc try_there(struct pushing *pushing, struct err *err)
{
    char target[GIT_HASH_BYTES];
    enum rc rc = read_there(pushing, target, err);
    if (rc == RC_OK && !text_same(target, pushing->landing->base))
        return moved(pushing, target, err);
    if (rc == RC_OK)
        rc = may_go_on(pushing, err);
    if (rc == RC_OK)
        rc = push_refs(pushing, true, err);
    if (rc == RC_IO && strstr(err->text, "does not support --atomic") != NULL)
        rc = push_refs(pushing, false, err);
    if (rc == RC_IO && strcasestr(err->text, "protected branch") != NULL) {
        const struct err why = *err;
        return err_set(
            err, RC_CONFLICT, "TARGET_PROTECTED",
            "The forge protects %.100s from pushes: set train.land to api, or let drover "
            "push there. %.200s",
            pushing->landing->target_branch, why.text);
    }
    pushing->again = rc == RC_IO;
    return rc;
}

static enum rc push_there(struct pushing *pushing, struct err *err)
{
    int tries = 0;
    enum rc rc = make_fences(pushing, pushing->landing->git_dir, err);
    if (rc != RC_OK)
        return rc;
    do
        rc = try_there(pushing, err);
    while (rc == RC_IO && pushing->again && ++tries < PUSH_TRIES_MAX);
    return rc;
}

/* ---- both ---- */

enum rc landing_push(struct forge_call *call, const struct landing *landing, const char *commit,
                     size_t *ret_at, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    assert(landing->count > 0);
    struct pushing pushing = {
        .call = call,
        .landing = landing,
        .commit = commit,
        .arena = &arena,
        .target_ref = arena_printf(&arena, "refs/heads/%s", landing->target_branch),
        .fences = arena_array(&arena, landing->count, sizeof(struct fence)),
    };
    bool here = origin_is_here(landing->url);
    *ret_at = 0;
    enum rc rc = here ? push_here(&pushing, err) : push_there(&pushing, err);
    *ret_at = pushing.at;
    if (rc == RC_IO && here)
        return origin_explain(&call->git, landing->url,
                              err_wrap(err, rc, "cannot move the target branch"), err);
    return rc == RC_OK ? fault_point("train.pushed", err) : rc;
}

enum rc landing_found(struct forge_call *call, const struct landing *landing, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct origin origin = {.git = &call->git, .arena = &arena};
    if (!origin_is_here(landing->url))
        return RC_OK;
    enum rc rc = origin_open(&origin, landing->url, err);
    return rc == RC_OK ? origin_sync(&origin, err) : rc;
}
