/*
 * dead_letters.c - see dead_letters.h.
 *
 * The three commands have one sequence: select, check each under its lock, act, append events.
 * What differs is in struct verb.
 */
#include "control/queue/dead_letters.h"
#include "base/merge_patch.h"
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "control/commit/isolate.h"
#include "control/commit/read_ahead.h"
#include "control/queue/job_hooks.h"
#include "control/queue/jobs.h"
#include "core/event_types.h"
#include "core/step_kind.h"
#include <assert.h>
#include <string.h>

struct refusal {
    const char *code, *message;
};
static const struct refusal not_found = {"NOT_FOUND", "there is no such job"};
static const struct refusal not_dead = {"NOT_DEAD", "the job is not a dead letter"};
static const struct refusal run_ended = {"RUN_ENDED",
                                         "its run has ended with it; retry the task instead"};
static const struct refusal step_patch = {"PATCH_REFUSED",
                                          "the payload of a run's step cannot be changed"};
static const struct refusal saga_moved_on = {
    "SAGA_MOVED_ON", "its saga has moved on without it; start a new saga instead"};
static const struct refusal too_large = {"PAYLOAD_TOO_LARGE",
                                         "the patched payload is larger than a payload may be"};

/* The dead letter being handled; scratch is reset for the next. */
struct work {
    const struct cmd_dead *cmd;
    struct job_row job;
    struct arena scratch;
};

static void work_release(struct work *work)
{
    arena_release(&work->scratch);
}

struct verb {
    const char *event;
    bool split; /* As many events as it takes to name every job; else one. */
    /* Checks and, unless it is a dry run, acts.  *ret_refusal NULL: done. */
    enum rc (*act)(struct context *ctx, struct work *work, const struct refusal **ret_refusal);
};

/* ---- replay ---- */

static enum rc patch_payload(struct context *ctx, struct work *work,
                             const struct refusal **ret_refusal)
{
    struct str payload;
    enum rc rc = merge_patch(work->job.payload, work->cmd->patch, &work->scratch, &payload,
                             ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the payload of a stored job");
    if (payload.len > JOB_PAYLOAD_MAX)
        *ret_refusal = &too_large;
    work->job.payload = payload;
    return RC_OK;
}

static enum rc check_replay(struct context *ctx, struct work *work,
                            const struct refusal **ret_refusal)
{
    bool step = !id_is_none(&work->job.run_id);
    bool patched = work->cmd->patch != NULL;
    const struct step_row *row = step_find(work->job.type);
    bool outlives_run = row != NULL && row->outlives_run;
    enum rc rc = ctx->hooks->jobs->may_replay(ctx, &work->job);
    if (rc != RC_OK && rc != RC_CONFLICT)
        return rc;
    if (rc == RC_CONFLICT)
        *ret_refusal = &saga_moved_on;
    else if (step && id_is_none(&work->job.saga_id) && !outlives_run)
        *ret_refusal = &run_ended;
    else if (step && patched)
        *ret_refusal = &step_patch;
    else if (patched)
        return patch_payload(ctx, work, ret_refusal);
    return RC_OK;
}

static enum rc replay(struct context *ctx, struct work *work, const struct refusal **ret_refusal)
{
    struct job_row *job = &work->job;
    enum rc rc = check_replay(ctx, work, ret_refusal);
    if (rc != RC_OK || *ret_refusal != NULL || work->cmd->dry_run)
        return rc;
    bool head = true;
    if (job->ordering_key != NULL)
        rc = job_keys_enter(ctx->db, job->queue, job->ordering_key, &job->id, &head, ctx->err);
    if (rc != RC_OK)
        return rc;
    struct job_input input = {.event = JOB_EV_REPLAY, .now_us = ctx->now_us, .behind = !head};
    rc = job_step(&job->life, &input, &job->life);
    assert(rc == RC_OK);
    job->updated_us = ctx->now_us;
    job->archived_us = 0;
    job->error_pattern = NULL;
    rc = jobs_save(ctx->db, job, ctx->err);
    if (rc == RC_OK && work->cmd->patch != NULL)
        rc = dead_letters_set_payload(ctx->db, job, ctx->err);
    if (rc == RC_OK && job->life.state == JOB_QUEUED)
        context_ready(ctx, job->queue);
    return rc;
}

static const struct verb verb_replay = {EV_JOB_REPLAYED, true, replay};

/* ---- archive and purge ---- */

static enum rc archive(struct context *ctx, struct work *work, const struct refusal **ret_refusal)
{
    (void)ret_refusal;
    if (work->cmd->dry_run || work->job.archived_us > 0)
        return RC_OK;
    return dead_letters_archive(ctx->db, &work->job.id, ctx->now_us, ctx->err);
}

static const struct verb verb_archive = {EV_JOB_ARCHIVED, true, archive};

static enum rc purge(struct context *ctx, struct work *work, const struct refusal **ret_refusal)
{
    (void)ret_refusal;
    return work->cmd->dry_run ? RC_OK : dead_letters_delete(ctx->db, &work->job.id, ctx->err);
}

static const struct verb verb_purge = {EV_JOB_PURGED, false, purge};

/* ---- telling ---- */

/* Members of an object: those of the filter that are set. */
static void dead_filter_write(struct jw *jw, const struct dead_filter *filter)
{
    jw_optstr(jw, "queue", filter->queue);
    jw_optstr(jw, "type", filter->type);
    jw_optstr(jw, "reason", filter->reason);
    jw_optstr(jw, "errorCode", filter->error_code);
    jw_optstr(jw, "pattern", filter->pattern);
    if (filter->since_us > 0)
        jw_ktime(jw, "since", filter->since_us);
    if (filter->until_us > 0)
        jw_ktime(jw, "until", filter->until_us);
    if (filter->archived != DEAD_BOTH)
        jw_kbool(jw, "archived", filter->archived == DEAD_ARCHIVED);
}

struct dead_event {
    const char *event;
    const struct id *ids;
    size_t named; /* How many of them are named. */
    size_t count;
    const struct dead_filter *filter; /* or NULL */
    const char *detail;               /* A member that is true, or NULL. */
};

static enum rc emit(struct context *ctx, const struct dead_event *dead_event)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kint(&body.jw, "count", (int64_t)dead_event->count);
    jw_key(&body.jw, "jobIds");
    jw_begin(&body.jw, '[');
    for (size_t i = 0; i < dead_event->named; i++)
        jw_str(&body.jw, dead_event->ids[i].text);
    jw_end(&body.jw, ']');
    if (dead_event->filter != NULL) {
        jw_key(&body.jw, "filter");
        jw_begin(&body.jw, '{');
        dead_filter_write(&body.jw, dead_event->filter);
        jw_end(&body.jw, '}');
    }
    if (dead_event->detail != NULL)
        jw_kbool(&body.jw, dead_event->detail, true);
    bool one = dead_event->count == 1;
    struct event event = {
        .type = dead_event->event,
        .subject = one ? arena_printf(ctx->arena, "job/%s", dead_event->ids[0].text)
                       : "dead-letters",
        .data = event_body_close(&body),
    };
    if (one)
        event.correlation_id = dead_event->ids[0];
    return context_append(ctx, &event, NULL);
}

static enum rc emit_all(struct context *ctx, const struct cmd_dead *cmd, const struct verb *verb,
                        const struct id *ids, size_t count)
{
    enum rc rc = RC_OK;
    for (size_t at = 0; rc == RC_OK && at < count;) {
        size_t left = count - at;
        size_t named = left < DEAD_IDS_PER_EVENT ? left : DEAD_IDS_PER_EVENT;
        struct dead_event dead_event = {
            .event = verb->event,
            .ids = ids + at,
            .named = named,
            .count = verb->split ? named : left,
            .filter = cmd->ids == NULL ? &cmd->filter : NULL,
            .detail = cmd->patch != NULL ? "transformed" : NULL,
        };
        rc = emit(ctx, &dead_event);
        at += dead_event.count;
    }
    return rc;
}

/* ---- the commands ---- */

/* Another call may have been faster: checked under its lock. */
static enum rc handle(struct context *ctx, const struct verb *verb, struct work *work,
                      const struct id *id, const struct refusal **ret_refusal)
{
    *ret_refusal = NULL;
    arena_reset(&work->scratch);
    enum rc rc = jobs_get(ctx->db, id, &work->scratch, &work->job, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        *ret_refusal = &not_found;
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    if (work->job.life.state != JOB_DEAD_LETTER) {
        *ret_refusal = &not_dead;
        return RC_OK;
    }
    return verb->act(ctx, work, ret_refusal);
}

static enum rc choose(struct context *ctx, struct cmd_dead *cmd, struct id **ret_ids,
                      size_t *ret_count)
{
    if (cmd->ids != NULL) {
        assert(cmd->id_count <= DEAD_PER_CALL_MAX);
        *ret_ids = arena_array(ctx->arena, cmd->id_count, sizeof **ret_ids);
        memcpy(*ret_ids, cmd->ids, cmd->id_count * sizeof **ret_ids);
        *ret_count = cmd->id_count;
        return RC_OK;
    }
    enum rc rc = dead_letters_count(ctx->db, &cmd->filter, &cmd->matched, ctx->err);
    if (rc == RC_OK)
        rc = dead_letters_pick(ctx->db, &cmd->filter, DEAD_PER_CALL_MAX, ctx->arena, ret_ids,
                               ret_count, ctx->err);
    if (rc == RC_OK && cmd->matched < (int64_t)*ret_count)
        cmd->matched = (int64_t)*ret_count; /* More died between the two queries. */
    if (rc == RC_OK)
        cmd->remaining = cmd->matched - (int64_t)*ret_count;
    return rc;
}

static enum rc apply(struct context *ctx, struct cmd_dead *cmd, const struct verb *verb)
{
    struct id *ids = NULL;
    size_t count = 0, done = 0;
    cmd->matched = cmd->done = cmd->remaining = 0;
    enum rc rc = choose(ctx, cmd, &ids, &count);
    if (rc != RC_OK)
        return rc;
    CLEANUP(work_release) struct work work = {.cmd = cmd};
    cmd->answers = arena_array(ctx->arena, count, sizeof *cmd->answers);
    cmd->answer_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct refusal *refusal;
        rc = handle(ctx, verb, &work, &ids[i], &refusal);
        if (rc != RC_OK)
            return rc;
        cmd->answers[i] = (struct dead_answer){.id = ids[i]};
        if (refusal != NULL) {
            cmd->answers[i].code = refusal->code;
            cmd->answers[i].message = refusal->message;
        }
        if (cmd->ids != NULL && refusal != &not_found && refusal != &not_dead)
            cmd->matched++;
        if (refusal == NULL)
            ids[done++] = cmd->answers[i].id;
    }
    cmd->done = (int64_t)done;
    return cmd->dry_run ? RC_OK : emit_all(ctx, cmd, verb, ids, done);
}

static void name_jobs(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_dead *cmd = (const struct cmd_dead *)command;
    for (size_t i = 0; i < cmd->id_count; i++)
        read_ahead_job(read_ahead, &cmd->ids[i]);
}

static enum rc apply_replay(struct context *ctx, struct command *command)
{
    struct cmd_dead *cmd = (struct cmd_dead *)command;
    cmd->filter.only = DEAD_REPLAYABLE;
    return apply(ctx, cmd, &verb_replay);
}

static enum rc apply_archive(struct context *ctx, struct command *command)
{
    struct cmd_dead *cmd = (struct cmd_dead *)command;
    cmd->filter.archived = DEAD_OPEN;
    return apply(ctx, cmd, &verb_archive);
}

static enum rc apply_purge(struct context *ctx, struct command *command)
{
    return apply(ctx, (struct cmd_dead *)command, &verb_purge);
}

static const struct command_ops replay_ops = {
    .name = "replay", .apply = apply_replay, .names = name_jobs};
static const struct command_ops archive_ops = {
    .name = "archive", .apply = apply_archive, .names = name_jobs};
static const struct command_ops purge_ops = {
    .name = "purge", .apply = apply_purge, .names = name_jobs};

struct cmd_dead *cmd_replay_new(void)
{
    return command_new(&replay_ops, sizeof(struct cmd_dead));
}

struct cmd_dead *cmd_archive_new(void)
{
    return command_new(&archive_ops, sizeof(struct cmd_dead));
}

struct cmd_dead *cmd_purge_new(void)
{
    return command_new(&purge_ops, sizeof(struct cmd_dead));
}

/* ---- retention ---- */

struct expiry { /* Of one queue. */
    struct dead_filter filter;
    int64_t limit;
    size_t count;
};

static enum rc expire_queue(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct expiry *expiry = subject;
    const struct dead_filter *filter = &expiry->filter;
    size_t *ret_count = &expiry->count;
    struct id *ids;
    enum rc rc = dead_letters_pick_oldest(ctx->db, filter, expiry->limit, ctx->arena, &ids,
                                          ret_count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < *ret_count; i++)
        rc = dead_letters_delete(ctx->db, &ids[i], ctx->err);
    if (rc != RC_OK || *ret_count == 0)
        return rc;
    struct dead_event dead_event = {
        .event = EV_JOB_PURGED,
        .ids = ids,
        .named = *ret_count < DEAD_IDS_PER_EVENT ? *ret_count : DEAD_IDS_PER_EVENT,
        .count = *ret_count,
        .filter = filter,
        .detail = "retention",
    };
    return emit(ctx, &dead_event);
}

/* They stay until the next time. */
static enum rc expire_later(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    ((struct expiry *)subject)->count = 0;
    return RC_OK;
}

enum rc dead_letters_expire(struct context *ctx, bool *ret_more)
{
    static isolate_try *const tries[] = {expire_queue, expire_later, NULL};
    const char **queues;
    size_t queue_count;
    int64_t left = DEAD_PER_CALL_MAX;
    enum rc rc = dead_letters_queues(ctx->db, ctx->arena, &queues, &queue_count, ctx->err);
    for (size_t i = 0; rc == RC_OK && left > 0 && i < queue_count; i++) {
        int64_t keep_us = context_queue(ctx, queues[i])->config.dead.retention_us;
        if (keep_us == 0 || keep_us >= ctx->now_us)
            continue;
        struct expiry expiry = {.filter = {.queue = queues[i],
                                           .until_us = ctx->now_us - keep_us,
                                           .archived = DEAD_BOTH,
                                           .only = DEAD_NEEDLESS},
                                .limit = left};
        const struct isolated one = {"queue", queues[i], &expiry, tries};
        rc = isolate(ctx, &one);
        left -= (int64_t)expiry.count;
    }
    *ret_more = left == 0;
    return rc;
}
