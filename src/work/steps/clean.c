/*
 * clean.c - removes what a run left in the work directory; the mirror stays.
 *
 * The work of a run that completed is published: its snapshots are earlier states of it, and are
 * dropped once the origin has shown its pull request, or the server its patch.  Of any other run
 * the last state of the tree is saved in a snapshot before the tree is removed, and that one is
 * pushed to the origin where possible.  A remote session that may still run is stopped, and what
 * the run has leased here (ports, databases) is given back.
 */
#include "base/fd.h"
#include "base/log.h"
#include "work/agent/compute_remote.h"
#include "work/agent/scratch.h"
#include "work/tree/publication.h"
#include "work/tree/rescue.h"
#include "work/tree/worktree.h"

static void log_failure(const struct step *step, const char *text, const struct err *err)
{
    LOG(LOG_WARN, text, LOG_STR("runId", step->input.run_id.text), LOG_STR("error", err->text));
}

/* What is marked is in a stored patch already: a snapshot of it is only a convenience for
   people. */
static enum rc save_work(struct step *step, struct snapshot *ret_last, struct err *err)
{
    struct err why = {0};
    if (worktree_is_unsaved(step))
        return rescue_or_keep(step, "ended", ret_last, err);
    if (step->input.completed || rescue_snapshot(step, "ended", ret_last, &why) == RC_OK)
        return RC_OK;
    log_failure(step, "no snapshot of a patch that was not published", &why);
    *ret_last = (struct snapshot){0};
    return RC_OK;
}

/* A run without a pull request (patch_only) has its patch at the server. */
static enum rc find_published(struct step *step, bool *ret_published, struct err *err)
{
    enum rc rc = publication_has_pr(step, ret_published, err);
    if (rc != RC_OK || *ret_published || step->input.patch_sha256 == NULL)
        return rc;
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)step->input.config.limits.max_patch_bytes);
    rc = step_get(step, step->input.patch_sha256, &patch, err);
    *ret_published = rc == RC_OK;
    return rc;
}

static enum rc drop_published(struct step *step, struct err *err)
{
    bool published = false;
    if (!snapshot_any(step))
        return RC_OK;
    enum rc rc = find_published(step, &published, err);
    if (rc == RC_OK && !published)
        rc = err_set(err, RC_NOT_FOUND, "NOT_FOUND", "the origin has no pull request of the run");
    return rc == RC_OK ? snapshot_drop_all(step, err) : rc;
}

static void settle_snapshots(struct step *step, const struct snapshot *last)
{
    struct err why = {0};
    if (last->ref[0])
        rescue_publish(step, last);
    else if (step->input.completed && drop_published(step, &why) != RC_OK)
        log_failure(step, "snapshots of a completed run stay on this machine", &why);
    if (publication_review(step, &why) != RC_OK)
        log_failure(step, "cannot ask the origin which snapshots it has", &why);
}

static enum rc stop_session(struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    if (input->config.agent.compute != COMPUTE_REMOTE || input->session_id == NULL ||
        input->session_over)
        return RC_OK;
    enum rc rc = remote_stop_session(step, err);
    return rc == RC_TIMEOUT ? RC_UNREACHABLE : rc; /* The remote agent timed out, not the step. */
}

enum rc step_clean(struct step *step, struct err *err)
{
    struct snapshot last = {0};
    enum rc rc = worktree_has_work(step) ? save_work(step, &last, err) : RC_OK;
    if (rc == RC_OK)
        settle_snapshots(step, &last);
    if (rc == RC_OK)
        rc = dir_remove(step->run_dir, err);
    if (rc == RC_OK)
        rc = stop_session(step, err);
    if (rc == RC_OK)
        rc = scratch_release(step, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "keptTree", step->kept_tree);
    jw_end(&jw, '}');
    return RC_OK;
}
