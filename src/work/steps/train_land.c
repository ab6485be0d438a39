/*
 * train_land.c - moves the target to positions of a merge train that were verified, by a push or by
 * the forge's own merge; or leaves the merge to the forge altogether.
 *
 * A try that was killed after its push is found by the target: it has the commit.
 */
#include "base/fault.h"
#include "work/job/repo_step.h"
#include "work/steps/hauling.h"
#include <inttypes.h>

#define CODE "train_failed"

static enum rc fail(struct hauling *hauling, enum rc rc, const struct err *err)
{
    bool stopped = rc == RC_STALE || rc == RC_CANCELLED || rc == RC_LIMIT;
    return stopped ? rc : step_forge_fail(hauling->step, rc, err, CODE);
}

static enum rc report_gone(struct hauling *hauling, size_t at, const struct err *why)
{
    haul_report(hauling, &(struct haul_outcome){.name = "gone", .at = at, .detail = why->text});
    return RC_OK;
}

/* ---- by push ---- */

/* What is made now is what was verified: else it is verified once more. */
static bool is_verified(const struct hauling *hauling)
{
    size_t count = hauling->landing.count;
    bool same = hauling->merged == count;
    for (size_t i = hauling->landing.single ? count - 1 : 0; same && i < count; i++)
        same = text_same(hauling->positions[i].tree, hauling->trees[i]);
    return same;
}

static enum rc report_landed(struct hauling *hauling, const char *commit)
{
    haul_report(hauling, &(struct haul_outcome){
                             .name = "landed", .at = hauling->landing.count, .commit = commit});
    return RC_OK;
}

/* On this machine the push compares that itself.  *ret_at: the one that is not; count: all are. */
static enum rc find_not_open(struct hauling *hauling, size_t *ret_at, struct err *err)
{
    const struct pr_ops *prs = hauling->ops->prs;
    struct pr_view view;
    enum rc rc = RC_OK;
    *ret_at = hauling->landing.count;
    if (text_same(hauling->ops->name, "local") || prs == NULL || prs->view == NULL)
        return RC_OK;
    for (size_t i = 0; rc == RC_OK && i < hauling->landing.count; i++) {
        const struct landing_car *car = &hauling->cars[i];
        const struct pr_ref ref = {.url = hauling->landing.url, .number = car->number};
        rc = prs->view(&hauling->call, &ref, hauling->step->arena, &view, err);
        if (rc != RC_OK || (view.state == PR_OPEN && text_same(view.head, car->head)))
            continue;
        *ret_at = i;
        (void)err_set(err, RC_CONFLICT, "PULL_REQUEST_MOVED",
                      "Pull request %" PRId64 " is not open any more, or not at %.12s.",
                      car->number, car->head);
        return RC_OK;
    }
    return rc;
}

static enum rc push(struct hauling *hauling, const char *goal, struct err *err)
{
    size_t at = 0;
    enum rc rc = haul_open_forge(hauling, err);
    if (rc != RC_OK)
        return rc;
    rc = find_not_open(hauling, &at, err);
    if (rc != RC_OK)
        return fail(hauling, rc, err);
    if (at < hauling->landing.count)
        return report_gone(hauling, at, err);
    rc = landing_push(&hauling->call, &hauling->landing, goal, &at, err);
    if (rc == RC_OK)
        return report_landed(hauling, goal);
    if (text_same(err->code, "PULL_REQUEST_MOVED"))
        return report_gone(hauling, at, err);
    if (!text_same(err->code, "TARGET_ADVANCED"))
        return fail(hauling, rc, err);
    rc = haul_fetch(hauling, err);
    return rc == RC_OK ? haul_moved(hauling, err) : rc;
}

static enum rc land_by_push(struct hauling *hauling, struct err *err)
{
    const char *goal = NULL;
    bool landed = false;
    if (!is_verified(hauling))
        return haul_moved(hauling, err);
    enum rc rc = haul_goal(hauling, &goal, err);
    if (rc == RC_OK)
        rc = haul_is_ancestor(hauling, goal, hauling->tip, &landed, err);
    if (rc != RC_OK)
        return rc;
    if (landed) {
        rc = landing_found(&hauling->call, &hauling->landing, err);
        return rc == RC_OK ? report_landed(hauling, goal) : rc;
    }
    if (!text_same(hauling->tip, hauling->landing.base))
        return haul_moved(hauling, err);
    return push(hauling, goal, err);
}

/* ---- by the forge ---- */

/* Forges merge no drafts.  One that was put into the train is meant to be merged. */
static enum rc make_ready(struct hauling *hauling, const struct landing_car *car, bool *ret_made,
                          struct err *err)
{
    const struct pr_ops *prs = hauling->ops->prs;
    const struct pr_ref ref = {.url = hauling->landing.url, .number = car->number};
    struct pr_view view;
    *ret_made = false;
    if (!(hauling->ops->can & CAN_DRAFT) || prs == NULL || prs->view == NULL ||
        prs->mark_ready == NULL)
        return RC_OK;
    enum rc rc = prs->view(&hauling->call, &ref, hauling->step->arena, &view, err);
    if (rc != RC_OK || !view.draft || view.state != PR_OPEN)
        return rc;
    *ret_made = true;
    return prs->mark_ready(&hauling->call, &ref, err);
}

static enum rc merge_one(struct hauling *hauling, size_t at, char commit[GIT_HASH_BYTES],
                         struct err *err)
{
    struct step *step = hauling->step;
    const struct landing_car *car = &hauling->cars[at];
    const struct forge_merge merge = {
        .forge = step->input.config.forge,
        .url = hauling->landing.url,
        .number = car->number,
        .run_id = car->run_id,
        .branch = car->branch,
        .expected_head = car->head,
        .target_branch = hauling->landing.target_branch,
        .message = arena_printf(step->arena, "Merge pull request #%" PRId64 ": %s", car->number,
                                car->title != NULL ? car->title : car->branch),
    };
    enum rc rc = step_still_mine(step, err);
    if (rc == RC_OK)
        rc = fault_point("train.push", err);
    if (rc == RC_OK)
        rc = hauling->ops->merge(hauling->ops, &hauling->call, &merge, commit, err);
    bool made = false;
    struct err why = {0};
    if (rc == RC_CONFLICT && make_ready(hauling, car, &made, &why) == RC_OK && made)
        rc = hauling->ops->merge(hauling->ops, &hauling->call, &merge, commit, err);
    return rc == RC_OK ? fault_point("train.pushed", err) : rc;
}

/* Does the target show the files that were verified? */
static enum rc shows(struct hauling *hauling, const char *tree, bool *ret_shows, struct err *err)
{
    struct git git = step_git(hauling->step);
    const char *now = NULL;
    enum rc rc = haul_fetch(hauling, err);
    if (rc != RC_OK)
        return rc;
    struct git_call ask = {
        .git_dir = hauling->step->mirror,
        .args = GIT_ARGS("rev-parse", "--verify", "--end-of-options",
                         arena_printf(hauling->step->arena, "%s^{tree}", hauling->tip))};
    rc = git_line(&git, &ask, hauling->step->arena, &now, err);
    if (rc == RC_OK)
        *ret_shows = text_same(now, tree);
    return rc;
}

/* One after the other, for as long as the target shows what was verified. */
static enum rc land_by_forge(struct hauling *hauling, struct err *err)
{
    size_t landed = 0;
    bool same = true, done = false;
    char commit[GIT_HASH_BYTES] = "";
    if (!is_verified(hauling))
        return haul_moved(hauling, err);
    enum rc rc = haul_open_forge(hauling, err);
    /* An earlier try may have merged some. */
    while (rc == RC_OK && landed < hauling->landing.count) {
        rc = haul_is_merged(hauling, landed, true, &done, err);
        if (rc != RC_OK || !done)
            break;
        landed++;
    }
    if (rc == RC_OK && landed == 0 && !text_same(hauling->tip, hauling->landing.base))
        return haul_moved(hauling, err);
    /* Since then others may have pushed: onto that nothing was verified. */
    if (rc == RC_OK && landed > 0 && landed < hauling->landing.count)
        rc = shows(hauling, hauling->positions[landed - 1].tree, &same, err);
    while (rc == RC_OK && same && landed < hauling->landing.count) {
        rc = merge_one(hauling, landed, commit, err);
        if (rc == RC_OK)
            rc = shows(hauling, hauling->positions[landed].tree, &same, err);
        landed += rc == RC_OK;
    }
    if (rc == RC_CONFLICT && landed == 0)
        return report_gone(hauling, 0, err);
    if (rc != RC_OK && rc != RC_CONFLICT)
        return fail(hauling, rc, err);
    haul_report(hauling,
                &(struct haul_outcome){
                    .name = "landed", .at = landed, .commit = hauling->tip, .unverified = !same});
    return RC_OK;
}

enum rc haul_land(struct hauling *hauling, struct err *err)
{
    struct git git = step_git(hauling->step);
    size_t at = 0;
    struct err clash = {0};
    enum rc rc = landing_merge(&git, &hauling->landing, hauling->step->arena, hauling->positions,
                               &at, &clash);
    hauling->merged = rc == RC_OK ? hauling->landing.count : 0;
    if (rc != RC_OK && rc != RC_CONFLICT) {
        *err = clash;
        return rc;
    }
    return hauling->step->input.config.train.api ? land_by_forge(hauling, err)
                                                 : land_by_push(hauling, err);
}

/* ---- handed over ---- */

enum rc haul_hand(struct hauling *hauling, struct err *err)
{
    bool queue = hauling->step->input.config.train.use == TRAIN_USE_QUEUE;
    const struct landing_car *car = &hauling->cars[0];
    const struct pr_ref ref = {.url = hauling->landing.url, .number = car->number};
    enum rc rc = haul_open_forge(hauling, err);
    if (rc != RC_OK)
        return rc;
    const struct pr_ops *prs = hauling->ops->prs;
    unsigned can = queue ? CAN_QUEUE : CAN_AUTO_MERGE;
    if (prs == NULL || (hauling->ops->can & can) == 0) {
        (void)err_set(err, RC_CONFLICT, "FORGE_CANNOT",
                      "The forge %s has no %s: set train.use to drover.", hauling->ops->name,
                      queue ? "merge queue" : "auto-merge");
        return report_gone(hauling, 0, err);
    }
    bool made = false;
    rc = make_ready(hauling, car, &made, err);
    if (rc != RC_OK)
        return fail(hauling, rc, err);
    rc = queue ? prs->enqueue(&hauling->call, &ref, car->head, err)
               : prs->auto_merge(&hauling->call, &ref, car->head, MERGE_WAY_MERGE, err);
    if (rc == RC_CONFLICT || rc == RC_NOT_FOUND)
        return report_gone(hauling, 0, err);
    if (rc != RC_OK)
        return fail(hauling, rc, err);
    haul_report(hauling, &(struct haul_outcome){.name = "handed"});
    return RC_OK;
}
