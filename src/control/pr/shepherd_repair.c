/*
 * shepherd_repair.c - a repair: a task whose agent starts from the head of the pull request, and
 * whose patch goes on top of it.
 *
 * The task names the pull request and the head.  Its run publishes to the branch only while that
 * still is at this head, so that a push by a person in between is never overwritten.
 */
#include "base/log.h"
#include "control/admit/submit.h"
#include "control/pr/shepherd_flow.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "core/pr/repair_prompt.h"
#include "core/run/untrusted.h"
#include "store/patches.h"
#include "store/runs.h"
#include "store/tasks.h"
#include <assert.h>
#include <string.h>

/* All of their texts escaped. */
enum { THREADS_BYTES_MAX = REPAIR_THREADS_MAX * 8 * (REPAIR_COMMENT_MAX + REPAIR_ANSWER_MAX) };

/* ---- beginning ---- */

/* What reviewers ask for is collected once, for the prompt and for the answers. */
static enum rc collect_threads(struct context *ctx, struct shepherding *it,
                               struct repair_request *request)
{
    struct repair_thread *threads;
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, THREADS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    request->thread_count = repair_threads(it->view, it->row.reviewed_us, ctx->arena, &threads,
                                           &it->row.reviewing_us);
    request->threads = threads;
    repair_threads_write(&jw, threads, request->thread_count);
    assert(!buf.overflow);
    it->row.threads = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
    return RC_OK;
}

static struct submission submission_of(const struct shepherding *it, enum repair_cause cause)
{
    const struct task_row *opener = &it->flow.task;
    struct submission wanted = submission_new();
    int64_t left = it->config->shepherd.max_budget_microusd - it->row.repair_microusd;
    int64_t own = opener->max_budget_microusd > 0 ? opener->max_budget_microusd
                                                  : it->config->limits.max_budget_microusd;
    wanted.repository = opener->repository;
    wanted.task_type = opener->task_type;
    wanted.risk = opener->risk;
    wanted.mode = opener->mode;
    wanted.risk_given = wanted.mode_given = wanted.priority_given = true;
    wanted.priority = opener->priority;
    wanted.target_branch = it->pr.target_branch;
    wanted.scope = opener->scope;
    wanted.overrides = opener->overrides;
    wanted.max_turns = opener->max_turns;
    wanted.max_tokens = opener->max_tokens;
    wanted.max_budget_microusd = own > 0 && own < left ? own : left;
    wanted.requested_by = opener->requested_by;
    wanted.pull_request_id = it->pr.id;
    wanted.head_commit = it->row.head;
    wanted.merge_with = cause == REPAIR_CONFLICT ? it->row.stuck_base : NULL;
    return wanted;
}

static enum rc begin(struct context *ctx, struct shepherding *it, enum repair_cause cause,
                     const struct submitted *answer)
{
    it->row.work = "repair";
    it->row.work_id = answer->task_id;
    it->row.work_head = it->row.head;
    it->row.work_cause = repair_cause_name(cause);
    it->row.repairs++;
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_kstr(&body.jw, "head", it->row.head);
    jw_kstr(&body.jw, "cause", repair_cause_name(cause));
    jw_kstr(&body.jw, "repairTaskId", answer->task_id.text);
    jw_kstr(&body.jw, "repairRunId", answer->run_id.text);
    jw_kint(&body.jw, "repairs", it->row.repairs);
    return flow_emit(ctx, &it->flow, EV_PR_REPAIR_STARTED, &body);
}

enum rc shepherd_repair(struct context *ctx, struct shepherding *it, enum repair_cause cause)
{
    struct repair_request request = {
        .cause = cause,
        .number = it->pr.number,
        .title = it->pr.title,
        .branch = it->pr.branch,
        .target_branch = it->pr.target_branch,
        .fault = it->row.fault,
    };
    char boundary[UNTRUSTED_BOUNDARY_BYTES];
    const uint64_t numbers[2] = {random_next(ctx->random), random_next(ctx->random)};
    request.boundary = untrusted_boundary(boundary, numbers);
    enum rc rc = cause == REPAIR_REVIEW ? collect_threads(ctx, it, &request) : RC_OK;
    if (rc != RC_OK)
        return rc;
    struct submission wanted = submission_of(it, cause);
    struct submitted answer = {0};
    wanted.description = repair_prompt(&request, ctx->arena);
    rc = submit_task(ctx, &wanted, &answer);
    bool refused = rc == RC_OK && answer.refused != RC_OK;
    if (refused || rc == RC_CONFLICT || rc == RC_LIMIT || rc == RC_DENIED || rc == RC_NOT_FOUND) {
        /* The repository is in quarantine, or policy denies it: a person has to see it. */
        const char *why = arena_printf(ctx->arena, "No repair can be started: %s", ctx->err->text);
        err_clear(ctx->err);
        rc = shepherd_walk(ctx, it, SHEPHERD_BLOCKED, why);
        return rc == RC_OK && !it->person_asked ? shepherd_ask(ctx, it, APPROVAL_SHEPHERD, why)
                                                : rc;
    }
    if (rc == RC_OK)
        rc = begin(ctx, it, cause, &answer);
    return rc == RC_OK && cause == REPAIR_CHECKS ? shepherd_note_paid(ctx, it) : rc;
}

/* ---- the end ---- */

/* The task's latest run, and what all of them have cost; read without locks. */
static enum rc sum_runs(struct context *ctx, const struct id *task_id, struct run_row *ret_latest,
                        int64_t *ret_microusd)
{
    struct run_row *runs;
    size_t count;
    enum rc rc = runs_of_task(ctx->db, task_id, ctx->arena, &runs, &count, ctx->err);
    if (rc == RC_OK && count == 0)
        return err_set(ctx->err, RC_CORRUPT, "RUN_MISSING", "task %s has no run", task_id->text);
    if (rc != RC_OK)
        return rc;
    *ret_latest = runs[0];
    *ret_microusd = 0;
    for (size_t i = 0; i < count; i++) {
        *ret_microusd += runs[i].cost_microusd;
        if (runs[i].run_no > ret_latest->run_no)
            *ret_latest = runs[i];
    }
    return RC_OK;
}

/* What the agent says of each thread stands in the summary of its patch. */
static enum rc take_answers(struct context *ctx, struct shepherding *it, const struct run_row *run)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf buf;
    struct repair_thread *threads;
    struct patch_row patch = {0};
    buf_init(&buf, THREADS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    enum rc rc = js_parse(it->row.threads.at, it->row.threads.len, &tree, ctx->err);
    if (rc == RC_OK && !id_is_none(&run->patch_id))
        rc = patches_get(ctx->db, &run->patch_id, ctx->arena, &patch, ctx->err);
    if (rc != RC_OK)
        return rc;
    size_t count = repair_threads_read(tree, ctx->arena, &threads);
    repair_take_answers(threads, count, patch.summary, ctx->arena);
    repair_threads_write(&jw, threads, count);
    it->row.threads = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
    it->row.unanswered = count > 0;
    return shepherd_propose_rules(ctx, it);
}

/* The branch has the repair: its head is verified, and what it was for is dealt with. */
static enum rc take_repair(struct context *ctx, struct shepherding *it, const struct run_row *run)
{
    bool review = text_same(it->row.work_cause, repair_cause_name(REPAIR_REVIEW));
    it->row.certified_head = it->pr.head_commit;
    it->row.certified = run->certificate_sha256 != NULL;
    it->row.certificate_sha256 = run->certificate_sha256;
    if (!review)
        return RC_OK;
    it->row.reviewed_us = it->row.reviewing_us;
    return it->row.threads.len > 0 ? take_answers(ctx, it, run) : RC_OK;
}

static enum rc emit_end(struct context *ctx, struct shepherding *it, const struct run_row *run,
                        bool published)
{
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_optstr(&body.jw, "cause", it->row.work_cause);
    jw_kstr(&body.jw, "repairTaskId", run->task_id.text);
    jw_kstr(&body.jw, "repairRunId", run->id.text);
    jw_kstr(&body.jw, "status", run_status_name(run->status));
    jw_kbool(&body.jw, "published", published);
    jw_optstr(&body.jw, "head", published ? it->pr.head_commit : NULL);
    jw_optstr(&body.jw, "certificate", published ? run->certificate_sha256 : NULL);
    jw_kreal(&body.jw, "costUsd", (double)run->cost_microusd / 1e6);
    return flow_emit(ctx, &it->flow, EV_PR_REPAIR_ENDED, &body);
}

enum rc shepherd_settle_repair(struct context *ctx, struct shepherding *it)
{
    struct run_row run;
    int64_t cost = 0;
    if (!text_same(it->row.work, "repair"))
        return RC_OK;
    enum rc rc = sum_runs(ctx, &it->row.work_id, &run, &cost);
    if (rc != RC_OK || !run_is_terminal(run.status))
        return rc;
    bool published = id_same(&run.pull_request_id, &it->pr.id);
    if (rc == RC_OK && published)
        rc = take_repair(ctx, it, &run);
    if (rc == RC_OK)
        rc = emit_end(ctx, it, &run, published);
    it->row.repair_microusd += cost;
    it->row.work = NULL;
    return rc;
}

/* ---- before the end ---- */

/* The forge shows a push before its worker has reported it.  A repair pushes when it publishes; a
   rebase at any time.  Both end soon: that they have pushed nothing is known then. */
enum rc shepherd_pushes(struct context *ctx, const struct shepherding *it, bool *ret_may)
{
    struct run_row run;
    struct job_row job;
    int64_t cost;
    *ret_may = false;
    if (it->row.work == NULL || text_same(it->row.work, "verify") ||
        !text_same(it->row.work_head, it->row.head))
        return RC_OK;
    if (text_same(it->row.work, "repair")) {
        enum rc rc = sum_runs(ctx, &it->row.work_id, &run, &cost);
        *ret_may = rc == RC_OK && run.status == RUN_CREATING_PR;
        return rc;
    }
    enum rc rc = jobs_get(ctx->db, &it->row.work_id, ctx->arena, &job, ctx->err);
    *ret_may = rc == RC_OK && !job_is_settled(job.life.state);
    return rc;
}

/* shepherding_load has locked it. */
static enum rc stop_repair(struct context *ctx, const struct id *run_id, const char *reason)
{
    CLEANUP(flow_release) struct flow flow = {0};
    bool stopping;
    struct stop_request request = {.kind = RUN_STOP_CANCEL, .by = "drover", .reason = reason};
    enum rc rc = flow_load(ctx, run_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    return stop_run(ctx, &flow, &request, &stopping);
}

/* A rebase that is under way is left to itself: it pushes only onto the head that it began with,
   and its report is not waited for any more. */
enum rc shepherd_stop_work(struct context *ctx, struct shepherding *it, const char *reason)
{
    enum rc rc = RC_OK;
    struct run_row run;
    int64_t cost = 0;
    if (it->row.work == NULL)
        return RC_OK;
    if (text_same(it->row.work, "repair")) {
        rc = sum_runs(ctx, &it->row.work_id, &run, &cost);
        if (rc == RC_OK)
            rc = stop_repair(ctx, &run.id, reason);
    }
    it->row.repair_microusd += cost;
    it->row.work = NULL;
    return rc;
}
