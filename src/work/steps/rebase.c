/*
 * rebase.c - the head of a pull request, rebased onto its target or as it is: verified on a clean
 * checkout, and pushed if it is new.
 *
 *   payload.shepherd  {number, branch, targetBranch, head, mode: rebase | verify}
 *   result            {outcome, head, target, certificateSha256, feedbackSha256, detail}
 *
 *   verified   the head, new or old, has passed and stands at the branch
 *   failed     it has not; what is new was not pushed
 *   conflict   it does not apply
 *   empty      the target has all of it
 *   moved      the branch is not at the head that was told: others have pushed
 */
#include "base/fault.h"
#include "base/fd.h"
#include "forge/port/branch_move.h"
#include "work/job/repo_step.h"
#include "work/tree/tree_merge.h"
#include "work/tree/worktree.h"
#include <string.h>

enum { DETAIL_BYTES_MAX = 2000 };

struct rebasing {
    struct step *step;
    struct forge_call *call;
    const struct forge_ops *forge;
    const char *branch, *target_branch, *head;
    int64_t number;
    bool verify_only;
    const char *scratch;
    const char *target; /* Its tip. */
    const char *made;   /* The head that is verified; the same as head, or new. */
    const char *outcome;
    const char *detail;
    const char *certificate, *feedback;
};

static enum rc tip_of(struct step *step, const char *branch, const char **ret_commit,
                      struct err *err)
{
    struct git git = step_git(step);
    struct git_call ask = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options",
                         arena_printf(step->arena, "refs/heads/%s^{commit}", branch))};
    enum rc rc = git_line(&git, &ask, step->arena, ret_commit, err);
    if (rc == RC_IO) { /* There is no such branch. */
        *ret_commit = NULL;
        err_clear(err);
        return RC_OK;
    }
    return rc;
}

static enum rc is_on_top(struct rebasing *rebasing, bool *ret_on_top, struct err *err)
{
    struct git git = step_git(rebasing->step);
    struct git_call ask = {
        .git_dir = rebasing->step->mirror,
        .args = GIT_ARGS("merge-base", "--is-ancestor", rebasing->target, rebasing->head)};
    int status = 1;
    enum rc rc = git_ask(&git, &ask, &status, err);
    *ret_on_top = rc == RC_OK && status == 0;
    return rc;
}

/* Sets `made`, or the outcome. */
static enum rc make_head(struct rebasing *rebasing, struct err *err)
{
    struct step *step = rebasing->step;
    const struct tree_rebase rebase = {rebasing->scratch, rebasing->head, rebasing->target};
    struct tree_rebased rebased;
    bool on_top = rebasing->verify_only;
    enum rc rc = on_top ? RC_OK : is_on_top(rebasing, &on_top, err);
    if (rc != RC_OK || on_top) {
        rebasing->made = rebasing->head;
        return rc;
    }
    rc = dir_make(step->run_dir, 0700, err);
    if (rc == RC_OK)
        rc = dir_remove(rebasing->scratch, err);
    if (rc == RC_OK)
        rc = git_borrow(step->mirror, rebasing->scratch, err);
    if (rc == RC_OK)
        rc = tree_rebase(step, &rebase, &rebased, err);
    if (rc != RC_OK)
        return rc;
    rebasing->made = rebased.head;
    if (rebased.head == NULL) {
        rebasing->outcome = "conflict";
        rebasing->detail = arena_printf(step->arena, "The two sides disagree about %s",
                                        rebased.conflicts);
    } else if (rebased.empty) {
        rebasing->outcome = "empty";
    }
    return RC_OK;
}

/* What the new head changes, for a checkout that starts from the target: the mirror lacks it. */
static enum rc put_patch(struct rebasing *rebasing, const char **ret_sha256, struct err *err)
{
    struct step *step = rebasing->step;
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)step->input.config.limits.max_patch_bytes);
    struct git git = step_git(step);
    struct git_call diff = {.git_dir = rebasing->scratch,
                            .args = GIT_ARGS("diff", "--binary", "--full-index", "--no-color",
                                             "--no-ext-diff", "--no-textconv", rebasing->target,
                                             rebasing->made),
                            .out = &patch};
    enum rc rc = git_run(&git, &diff, err);
    if (rc == RC_OK && patch.overflow)
        return err_set(err, RC_TOO_LARGE, "PATCH_TOO_LARGE",
                       "The pull request is larger than limits.maxPatchBytes.");
    return rc == RC_OK ? step_put(step, "patch", "rebased.patch", buf_str(&patch), ret_sha256, err)
                       : rc;
}

/* By the repository's checks, as any patch. */
static enum rc verify(struct rebasing *rebasing, struct err *err)
{
    struct step *step = rebasing->step;
    CLEANUP(js_freep) struct js *result = NULL;
    bool fresh = !text_same(rebasing->made, rebasing->head);
    step->input.base_commit = fresh ? rebasing->target : rebasing->head;
    step->input.patch_sha256 = NULL;
    enum rc rc = fresh ? put_patch(rebasing, &step->input.patch_sha256, err) : RC_OK;
    if (rc == RC_OK)
        rc = fault_point("rebase.verify", err);
    if (rc == RC_OK)
        rc = step_verify(step, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(step->result), step->result->len, &result, err);
    if (rc != RC_OK)
        return rc;
    buf_clear(step->result);
    struct arena *arena = step->arena;
    bool failed = strcmp(js_get_str(result, "verdict", ""), "failed") == 0;
    rebasing->outcome = failed ? "failed" : "verified";
    rebasing->certificate = arena_strdup(arena, js_get_str(result, "certificateSha256", NULL));
    rebasing->feedback = arena_strdup(arena, js_get_str(result, "feedbackSha256", NULL));
    if (failed)
        rebasing->detail = fresh ? "Rebased onto the target, its checks fail"
                                 : "Its checks fail on a clean checkout";
    return RC_OK;
}

static enum rc push(struct rebasing *rebasing, struct err *err)
{
    struct step *step = rebasing->step;
    const struct forge_change change = {
        .holder = step_holder(step),
        .url = step->input.config.url,
        .mirror = step->mirror,
        .scratch = rebasing->scratch,
        .run_id = step->input.run_id.text,
        .branch = rebasing->branch,
        .target_branch = rebasing->target_branch,
        .number = rebasing->number,
    };
    const struct branch_move move = {
        .change = &change, .head = rebasing->made, .from = rebasing->head};
    enum rc rc = branch_move(rebasing->call, rebasing->forge, &move, err);
    if (rc == RC_CONFLICT) {
        rebasing->outcome = "moved";
        rebasing->detail = arena_strdup(step->arena, err->text);
        err_clear(err);
        return RC_OK;
    }
    return rc;
}

static enum rc rebase(struct rebasing *rebasing, struct err *err)
{
    struct step *step = rebasing->step;
    const char *there = NULL;
    enum rc rc = worktree_fetch(step, err);
    if (rc == RC_OK)
        rc = tip_of(step, rebasing->branch, &there, err);
    if (rc == RC_OK)
        rc = tip_of(step, rebasing->target_branch, &rebasing->target, err);
    if (rc != RC_OK)
        return rc;
    if (rebasing->target == NULL)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "The repository has no branch %.200s.",
                       rebasing->target_branch);
    if (!text_same(there, rebasing->head)) {
        rebasing->outcome = "moved";
        return RC_OK;
    }
    rc = make_head(rebasing, err);
    if (rc == RC_OK && rebasing->outcome == NULL)
        rc = verify(rebasing, err);
    bool fresh = rebasing->made != NULL && !text_same(rebasing->made, rebasing->head);
    if (rc == RC_OK && fresh && strcmp(rebasing->outcome, "verified") == 0)
        rc = push(rebasing, err);
    return rc;
}

/* Those of the run that opened the pull request keep their names. */
static void name_artifacts(const struct rebasing *rebasing)
{
    struct step *step = rebasing->step;
    const char *of = rebasing->made != NULL ? rebasing->made : rebasing->head;
    for (size_t i = 0; i < step->artifact_count; i++)
        step->artifacts[i].name = arena_printf(step->arena, "%.12s-%s", of,
                                               step->artifacts[i].name);
}

static void write_result(const struct rebasing *rebasing)
{
    struct step *step = rebasing->step;
    name_artifacts(rebasing);
    bool verified = strcmp(rebasing->outcome, "verified") == 0;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "outcome", rebasing->outcome);
    jw_kstr(&jw, "head", verified ? rebasing->made : rebasing->head);
    jw_kstr(&jw, "target", rebasing->target);
    jw_kstr(&jw, "certificateSha256", rebasing->certificate);
    jw_kstr(&jw, "feedbackSha256", rebasing->feedback);
    step_write_text(&jw, "detail", rebasing->detail, DETAIL_BYTES_MAX);
    step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
}

enum rc step_rebase(struct step *step, struct err *err)
{
    const struct js *told = js_get(step->input.payload, "shepherd");
    struct rebasing rebasing = {
        .step = step,
        .number = js_get_int(told, "number", 0),
        .branch = js_get_str(told, "branch", step->input.branch),
        .target_branch = js_get_str(told, "targetBranch", step->input.target_branch),
        .head = js_get_str(told, "head", NULL),
        .verify_only = strcmp(js_get_str(told, "mode", ""), "verify") == 0,
        .scratch = worktree_path(step, "rebase.git"),
    };
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    rebasing.call = &call;
    if (rebasing.head == NULL || !git_hash_valid(rebasing.head))
        return err_set(err, RC_INVALID, "INVALID_FIELD", "The payload names no head.");
    enum rc rc = step_forge_open(step, ACCESS_WRITE, &call, &rebasing.forge, err);
    if (rc != RC_OK)
        return step_forge_fail(step, rc, err, "rebase_failed");
    rc = rebase(&rebasing, err);
    if (rc == RC_OK)
        write_result(&rebasing);
    worktree_drop(step, step->run_dir); /* The run is over: nothing else needs it. */
    return rc;
}
