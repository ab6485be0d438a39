/*
 * shepherd.c - see shepherd.h: the timer, the row, and what the train reports.
 */
#include "control/pr/shepherd.h"
#include "control/admit/decide.h"
#include "control/pr/shepherd_flow.h"
#include "core/run/run.h"
#include "store/timers.h"
#include <string.h>

/* A timer is due at least this often: what is lost is found again. */
#define BACKSTOP_US (15 * US_PER_MINUTE)

enum rc shepherd_look(struct context *ctx, const struct id *pull_request_id)
{
    return timer_start(ctx, TIMER_SHEPHERD, pull_request_id, ctx->now_us);
}

/* ---- the row ---- */

static enum rc begin_row(struct context *ctx, struct shepherding *it)
{
    const struct run_row *run = &it->flow.run;
    it->fresh = true;
    it->row = (struct shepherd_row){
        .pull_request_id = it->pr.id,
        .repository_id = it->pr.repository_id,
        .state = SHEPHERD_OPEN,
        .budget_since_us = ctx->now_us,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    /* What the run has published was verified, unless the agent opened it itself. */
    if (run->certificate_sha256 != NULL && run->foreign_pr.len == 0) {
        it->row.certified_head = it->pr.head_commit;
        it->row.certified = true;
        it->row.certificate_sha256 = run->certificate_sha256;
    }
    return RC_OK;
}

/* What is done to the pull request may stop its repair.  So the run of that is locked before the
   pull request, in the order in which a repair that publishes locks them (read_ahead.h); its id is
   higher than that of the run that opened it.  A repair that begins meanwhile is not locked. */
static enum rc lock_repair(struct context *ctx, const struct id *pull_request_id)
{
    struct id run_id;
    struct run_row run;
    enum rc rc = shepherds_repair_run(ctx->db, pull_request_id, &run_id, ctx->err);
    if (rc == RC_OK)
        rc = runs_get(ctx->db, &run_id, ctx->arena, &run, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        rc = RC_OK;
    }
    return rc;
}

enum rc shepherding_load(struct context *ctx, const struct id *pull_request_id,
                         struct shepherding *ret)
{
    struct id run_id;
    enum rc rc = pull_requests_run_of(ctx->db, pull_request_id, &run_id, ctx->err);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, &ret->flow);
    if (rc == RC_OK)
        rc = lock_repair(ctx, pull_request_id);
    if (rc == RC_OK)
        rc = pull_requests_get(ctx->db, pull_request_id, ctx->arena, &ret->pr, ctx->err);
    if (rc == RC_OK)
        rc = flow_config(ctx, &ret->flow, &ret->config);
    if (rc != RC_OK)
        return rc;
    rc = shepherds_get(ctx->db, pull_request_id, ctx->arena, &ret->row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        rc = begin_row(ctx, ret);
    }
    ret->followed = rc == RC_OK && ret->config->shepherd.enabled &&
                    strcmp(ret->pr.status, "open") == 0 && !shepherd_is_final(ret->row.state);
    return rc;
}

void shepherding_release(struct shepherding *it)
{
    flow_release(&it->flow);
}

enum rc shepherding_save(struct context *ctx, struct shepherding *it)
{
    it->row.updated_us = ctx->now_us;
    enum rc rc = it->fresh ? shepherds_insert(ctx->db, &it->row, ctx->err)
                           : shepherds_save(ctx->db, &it->row, ctx->err);
    it->fresh = false;
    return rc == RC_OK ? flow_save(ctx, &it->flow) : rc;
}

enum rc shepherding_look_in(struct context *ctx, const struct shepherding *it, int64_t delay_us)
{
    return timer_start(ctx, TIMER_SHEPHERD, &it->pr.id, ctx->now_us + delay_us);
}

/* ---- the timer ---- */

/* Is a job of the shepherd still on its way? */
static enum rc job_is_open(struct context *ctx, const struct id *job_id, bool *ret_open)
{
    struct job_row job;
    *ret_open = false;
    if (id_is_none(job_id))
        return RC_OK;
    enum rc rc = jobs_get(ctx->db, job_id, ctx->arena, &job, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    *ret_open = rc == RC_OK && !job_is_settled(job.life.state);
    return rc;
}

/* A rebase whose job is gone has ended without a word. */
static enum rc settle_rebase(struct context *ctx, struct shepherding *it)
{
    bool open = false;
    if (it->row.work == NULL || strcmp(it->row.work, "repair") == 0)
        return RC_OK;
    enum rc rc = job_is_open(ctx, &it->row.work_id, &open);
    if (rc == RC_OK && !open)
        it->row.work = NULL;
    return rc;
}

static enum rc look_now(struct context *ctx, struct shepherding *it)
{
    bool open;
    enum rc rc = shepherd_settle_repair(ctx, it);
    if (rc == RC_OK)
        rc = settle_rebase(ctx, it);
    if (rc == RC_OK)
        rc = shepherd_hear(ctx, it);
    if (rc == RC_OK)
        rc = job_is_open(ctx, &it->row.job_id, &open);
    if (rc != RC_OK)
        return rc;
    it->row.again = open;
    return open ? RC_OK : shepherd_observe(ctx, it);
}

enum rc shepherd_due(struct context *ctx, const struct id *pull_request_id)
{
    CLEANUP(shepherding_release) struct shepherding it = {0};
    enum rc rc = shepherding_load(ctx, pull_request_id, &it);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK; /* It was removed. */
    }
    if (rc != RC_OK)
        return rc;
    bool over = strcmp(it.pr.status, "open") != 0 && !shepherd_is_final(it.row.state);
    if (over && it.config->shepherd.enabled && !it.fresh) {
        rc = shepherd_ended(ctx, &it, it.pr.merge_commit);
        return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
    }
    if (!it.followed)
        return RC_OK;
    rc = look_now(ctx, &it);
    if (rc == RC_OK)
        rc = shepherding_look_in(ctx, &it, BACKSTOP_US);
    return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
}

/* ---- the train ---- */

enum rc shepherd_train_ended(struct context *ctx, const struct id *pull_request_id,
                             const struct train_outcome *outcome)
{
    CLEANUP(shepherding_release) struct shepherding it = {0};
    enum rc rc = shepherding_load(ctx, pull_request_id, &it);
    if (rc != RC_OK)
        return rc;
    bool landed = outcome->end == TRAIN_LANDED;
    if (!it.followed) { /* No shepherd follows it: one that landed is recorded, and no more. */
        bool open = strcmp(it.pr.status, "open") == 0;
        return landed && open ? decide_merged(ctx, &it.flow, &it.pr, outcome->commit) : RC_OK;
    }
    if (landed) {
        rc = shepherd_ended(ctx, &it, outcome->commit);
        return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
    }
    const char *head = it.row.submitted_head;
    it.row.submitted_head = NULL;
    if (outcome->end == TRAIN_REJECTED &&
        head != NULL) { /* Its certificate was for another base. */
        it.row.certified_head = head;
        it.row.certified = false;
        it.row.fault = outcome->detail;
    } else if (outcome->end == TRAIN_CONFLICT) {
        it.row.conflict_head = head;
        it.row.fault = outcome->detail;
    }
    if (outcome->end == TRAIN_REJECTED && head != NULL)
        rc = shepherd_take_fault(ctx, &it);
    if (rc == RC_OK)
        rc = shepherding_look_in(ctx, &it, 0);
    return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
}
