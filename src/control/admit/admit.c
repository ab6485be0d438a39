/*
 * admit.c - see admit.h.
 *
 * The queued runs of each repository are a line in order of rank.  The round merges those lines: it
 * checks the first of all heads, starts it or leaves it, and advances that line; a line whose
 * repository is full is left out, a full system ends the round.  So its cost depends on the runs
 * that it starts and passes over, not on all that wait.
 *
 * Runs that wait for reasons of their own (a dependency, a user's limit) do not hold back those
 * behind them, and there may be many.  So the merge passes over a bounded number of each line, and
 * a walk checks the runs behind, a part in each round, until the end of the last line:
 *
 *   line A   | merge, every round | walk, round 1 | walk, round 2 |
 *   line B   | merge, every round | walk, round 3 |   ... and from line A again
 *
 * What a check needs is read when a limit is configured, once a round.
 *
 * Each run is checked, and each line moved, by isolate(): a run that cannot be started is failed,
 * a line that cannot be read is left out, and the round continues.
 */
#include "control/admit/admit.h"
#include "base/clock.h"
#include "control/admit/acceptance.h"
#include "control/admit/repo_load.h"
#include "control/commit/elapsed.h"
#include "control/commit/isolate.h"
#include "control/run/account_pool.h"
#include "control/run/account_view.h"
#include "control/run/accounts.h"
#include "control/run/assignment.h"
#include "control/run/candidates.h"
#include "control/run/day_budget.h"
#include "control/run/effective.h"
#include "control/run/ending.h"
#include "control/run/flow.h"
#include "control/run/overloads.h"
#include "control/run/quarantine.h"
#include "control/run/run_batch.h"
#include "control/run/run_tree.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "core/run/admission.h"
#include "store/capacity.h"
#include "store/repositories.h"
#include "store/timers.h"
#include "store/workspaces.h"
#include <assert.h>
#include <string.h>

enum { ADMIT_LOOKS_MAX = 1000, LINE_LOOKS_MAX = 100, WALK_LOOKS_MAX = 100, EXPLAIN_MAX = 1000 };
enum { ACTIVE_ROOM_FIRST = 16 };
#define WALK_PAUSE_US US_PER_SECOND

struct line { /* The queued runs of one repository. */
    struct id repository_id;
    struct repository_row repository;
    struct repo_load load; /* With the current limits, not those of a task's snapshot. */
    struct run_place place;
    struct run_row head;
    bool has_head;
    bool dropped;    /* It could not be read. */
    int passed_over; /* Heads since the last one that started. */
};

struct admission {
    struct context *ctx;
    struct active_row *active;
    size_t active_count, active_room;
    struct line *lines;
    size_t line_count;
    int64_t workspace_max;
    bool cost_used_up; /* Of the day. */
    bool full;         /* Nothing more can start in this round. */
};

/* ---- counting ---- */

static enum rc load_active(struct admission *admission)
{
    struct context *ctx = admission->ctx;
    enum rc rc = runs_active(ctx->db, ctx->arena, &admission->active, &admission->active_count,
                             ctx->err);
    admission->active_room = rc == RC_OK ? admission->active_count : 0;
    return rc;
}

static enum rc load_limits(struct admission *admission)
{
    struct context *ctx = admission->ctx;
    int64_t budget = ctx->limits->cost_per_day_microusd, spent = 0;
    enum rc rc = workspaces_max_active_runs(ctx->db, &ctx->workspace_id, &admission->workspace_max,
                                            ctx->err);
    if (rc == RC_OK && admission->workspace_max == 0)
        admission->workspace_max = ctx->limits->max_active_runs_workspace;
    if (rc == RC_OK && budget > 0)
        rc = day_budget_spent(ctx, &spent);
    admission->cost_used_up = budget > 0 && spent >= budget;
    return rc;
}

static void grow_active(struct admission *admission)
{
    const struct active_row *old = admission->active;
    admission->active_room += admission->active_room / 2 + ACTIVE_ROOM_FIRST;
    admission->active = arena_array(admission->ctx->arena, admission->active_room, sizeof *old);
    if (admission->active_count > 0)
        memcpy(admission->active, old, admission->active_count * sizeof *old);
}

static void count_started(struct admission *admission, const struct run_row *run)
{
    if (admission->active_count == admission->active_room)
        grow_active(admission);
    admission->active[admission->active_count++] = (struct active_row){
        .workspace_id = run->workspace_id,
        .repository_id = run->repository_id,
        .requested_by = run->requested_by,
        .task_type = run->task_type,
        .count = 1,
    };
}

/* NULL: it had no queued run when the lines were opened. */
static struct line *line_of(const struct admission *admission, const struct id *repository_id)
{
    for (size_t i = 0; i < admission->line_count; i++)
        if (id_same(&admission->lines[i].repository_id, repository_id))
            return &admission->lines[i];
    return NULL;
}

static int64_t task_type_max(const struct committer_limits *limits, const char *type)
{
    for (size_t i = 0; i < limits->task_type_count; i++)
        if (text_same(limits->task_types[i].name, type))
            return limits->task_types[i].max;
    return 0;
}

static void count_active(const struct admission *admission, const struct run_row *run,
                         struct start_facts *facts)
{
    for (size_t i = 0; i < admission->active_count; i++) {
        const struct active_row *row = &admission->active[i];
        facts->of[CHECK_SYSTEM].used += row->count;
        facts->of[CHECK_SANDBOX].used += row->count - row->asking;
        if (id_same(&row->workspace_id, &run->workspace_id))
            facts->of[CHECK_WORKSPACE].used += row->count;
        if (id_same(&row->repository_id, &run->repository_id))
            facts->of[CHECK_REPOSITORY].used += row->count;
        if (text_same(row->requested_by, run->requested_by))
            facts->of[CHECK_USER].used += row->count;
        if (text_same(row->task_type, run->task_type))
            facts->of[CHECK_TASK_TYPE].used += row->count;
    }
}

static const char *describe_budget(const struct admission *admission)
{
    char until[TIME_TEXT_BYTES];
    time_format(until, day_start_us(admission->ctx->now_us) + US_PER_DAY);
    return arena_printf(
        admission->ctx->arena,
        "the workspace's budget of %.2f USD for today is used up; the run can start at %s",
        (double)admission->ctx->limits->cost_per_day_microusd / 1e6, until);
}

/* All facts but those of the repository's load. */
static struct start_facts facts_for(const struct admission *admission, const struct flow *flow,
                                    const struct line *line)
{
    struct context *ctx = admission->ctx;
    const struct run_row *run = &flow->run;
    const struct committer_limits *limits = ctx->limits;
    struct start_facts facts = {0};
    facts.of[CHECK_USER] = (struct start_fact){
        0, limits->max_active_runs_user, arena_printf(ctx->arena, "user %s", run->requested_by)};
    facts.of[CHECK_REPOSITORY] = (struct start_fact){0, line->load.limits.active_max,
                                                     line->repository.name};
    facts.of[CHECK_TASK_TYPE] = (struct start_fact){0, task_type_max(limits, run->task_type),
                                                    run->task_type};
    facts.of[CHECK_WORKSPACE] = (struct start_fact){0, admission->workspace_max, "this workspace"};
    facts.of[CHECK_SANDBOX] = (struct start_fact){0, limits->sandboxes, "this server"};
    facts.of[CHECK_SYSTEM] = (struct start_fact){0, limits->max_active_runs, "this server"};
    if (admission->cost_used_up)
        facts.of[CHECK_COST_TODAY] = (struct start_fact){1, 1, describe_budget(admission)};
    count_active(admission, run, &facts);
    return facts;
}

/* ---- one run ---- */

/* It has a slot; no worker has its first job yet. */
static enum rc emit_acquired(struct context *ctx, struct flow *flow)
{
    const struct run_row *run = &flow->run;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "runId", run->id.text);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kint(&body.jw, "runNo", run->run_no);
    jw_kstr(&body.jw, "repositoryId", run->repository_id.text);
    jw_kstr(&body.jw, "jobId", run->job_id.text);
    jw_kint(&body.jw, "priority", flow->task.priority);
    jw_kint(&body.jw, "waitedMs", elapsed_ms(ctx, run->queued_us));
    jw_optstr(&body.jw, "account", run->account);
    return flow_emit(ctx, flow, EV_RUN_ACQUIRED, &body);
}

static enum rc start(struct admission *admission, struct flow *flow,
                     const struct repo_config *config)
{
    struct context *ctx = admission->ctx;
    enum rc rc = flow_move(ctx, flow, RUN_EV_ADMIT, "Admitted: a slot is free");
    if (rc == RC_OK)
        rc = assignment_enqueue(ctx, flow, STEP_PREPARE);
    if (rc == RC_OK)
        rc = emit_acquired(ctx, flow);
    if (rc == RC_OK)
        rc = timers_clear(ctx->db, TIMER_QUEUE_DEADLINE, &flow->run.id, ctx->err);
    int64_t left_us = config->timeouts.run_ms * US_PER_MS;
    if (rc == RC_OK)
        rc = run_tree_time(ctx, &flow->run, &left_us);
    if (rc == RC_OK)
        rc = run_clock_start(ctx, &flow->run, left_us);
    if (rc == RC_OK)
        rc = flow_save(ctx, flow);
    if (rc == RC_OK)
        count_started(admission, &flow->run);
    return rc;
}

/* What a run waits for. */
struct waiting {
    const char *detail;
    const char *pool, *account; /* If that is an account; else NULL. */
};

static bool is_about_accounts(enum admission_check check)
{
    return check == CHECK_ACCOUNT || check == CHECK_QUOTA || check == CHECK_REPORTED_QUOTA;
}

/* A new reason is appended as an event; a new detail of the same one is only stored. */
static enum rc defer(struct context *ctx, struct flow *flow, enum admission_check check,
                     const struct waiting *waiting)
{
    const char *reason = admission_reason(check);
    const char *detail = waiting->detail;
    bool for_account = is_about_accounts(check);
    bool same_pool = text_same(flow->run.pool, for_account ? waiting->pool : NULL);
    if (!same_pool)
        flow->run.pool = for_account ? waiting->pool : NULL;
    bool told = text_same(flow->run.deferred_reason, reason);
    if (told && text_same(flow->run.deferred_detail, detail))
        return same_pool ? RC_OK : flow_save(ctx, flow);
    flow->run.deferred_reason = reason;
    flow->run.deferred_detail = detail;
    flow->task.status = task_status_of(flow->run.status, true);
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "reason", reason);
    jw_kstr(&body.jw, "detail", detail);
    if (for_account)
        jw_kstr(&body.jw, "account", waiting->account);
    enum rc rc = told ? RC_OK : flow_emit_task(ctx, flow, EV_TASK_DEFERRED, &body);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

static enum rc warn_of_overlap(struct context *ctx, struct flow *flow,
                               const struct meeting *meeting)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "otherRunId", meeting->run_id.text);
    jw_kstr(&body.jw, "wanted", meeting->overlap.wanted);
    jw_kstr(&body.jw, "held", meeting->overlap.held);
    jw_kstr(&body.jw, "detail", meeting->detail);
    return flow_emit_task(ctx, flow, EV_TASK_OVERLAP, &body);
}

static enum rc fail_dependency(struct context *ctx, struct flow *flow, const struct id *broken)
{
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "dependency_failed",
        .message = arena_printf(ctx->arena, "Task %s, on which this one depends, did not complete",
                                broken->text),
    };
    enum rc rc = flow_end(ctx, flow, &ending);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

/* None of its accounts is free: that is what the run waits for, if for nothing before it. */
static void account_fact(struct context *ctx, const struct flow *flow,
                         const struct account_offer *offer, struct start_facts *facts,
                         struct waiting *waiting)
{
    if (offer->choice.at != ACCOUNT_NONE)
        return;
    struct pool_refusal refusal = pool_refusal(ctx, flow, offer);
    facts->of[refusal.check] = (struct start_fact){1, 1, refusal.detail};
    waiting->pool = offer->pool;
    waiting->account = refusal.account;
    pool_note_empty(ctx, offer);
}

/* Other tasks that the run waits for, and its batch. */
struct waits {
    bool dependency;
    const char *candidates; /* What its candidates do, or NULL. */
    const char *batch;      /* Why its batch holds it back, or NULL. */
};

static void note_waits(struct context *ctx, const struct run_row *run, const struct waits *waits,
                       struct start_facts *facts)
{
    if (run->paused_us > 0)
        facts->of[CHECK_PAUSED] = (struct start_fact){
            1, 1, arena_printf(ctx->arena, "%s has paused the run", run->paused_by)};
    if (waits->dependency)
        facts->of[CHECK_DEPENDENCY] = (struct start_fact){
            1, 1, "a task that it depends on has not completed"};
    if (waits->candidates != NULL)
        facts->of[CHECK_CANDIDATES] = (struct start_fact){1, 1, waits->candidates};
    if (waits->batch != NULL)
        facts->of[CHECK_BATCH] = (struct start_fact){1, 1, waits->batch};
}

/* Evaluates every check; starts the run, or leaves it with the reason why it waits. */
static enum rc decide(struct admission *admission, struct flow *flow, struct line *line,
                      const struct waits *waits, enum admission_check *ret_check)
{
    struct context *ctx = admission->ctx;
    const struct repo_config *config;
    struct repo_load_view view = {0};
    struct account_offer offer;
    struct waiting waiting = {0};
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct start_facts facts = facts_for(admission, flow, line);
    note_waits(ctx, &flow->run, waits, &facts);
    /* The account of its agent matters where its agent is to work. */
    bool works = !candidates_work(flow);
    rc = works ? pool_ask(ctx, flow, &offer) : RC_OK;
    if (rc != RC_OK)
        return rc;
    if (works)
        account_fact(ctx, flow, &offer, &facts, &waiting);
    const char *overloaded = overloads_detail(ctx, &flow->run);
    if (overloaded != NULL)
        facts.of[CHECK_OVERLOADED] = (struct start_fact){1, 1, overloaded};
    if (admission_start(&facts) == ADMISSION_PASSED)
        rc = repo_load_check(ctx, &line->load, flow, &view, &facts);
    if (rc == RC_OK && works && admission_start(&facts) == ADMISSION_PASSED) {
        rc = pool_take(ctx, flow, &offer);
        account_fact(ctx, flow, &offer, &facts, &waiting);
    }
    if (rc != RC_OK)
        return rc;
    enum admission_check check = admission_start(&facts);
    *ret_check = check;
    repo_load_join(&line->load, &view, check);
    if (check != ADMISSION_PASSED) {
        waiting.detail = admission_detail(check, &facts, ctx->arena);
        return defer(ctx, flow, check, &waiting);
    }
    if (view.warn)
        rc = warn_of_overlap(ctx, flow, &view.meeting);
    return rc == RC_OK ? start(admission, flow, config) : rc;
}

struct look { /* At one run. */
    struct admission *admission;
    struct line *line;
    const struct id *run_id;
    enum admission_check check; /* The outcome. */
    size_t active_before;
    struct repo_load load_before;
};

/* Starts the run, ends it, or finds the check that holds it back. */
static enum rc try_run(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct look *look = subject;
    struct line *line = look->line;
    CLEANUP(flow_release) struct flow flow = {0};
    struct dependency_state dependencies = {0};
    enum rc rc = flow_load(ctx, look->run_id, &flow);
    if (rc == RC_OK && flow.run.status != RUN_QUEUED)
        return RC_OK; /* Cancelled while its lock was waited for. */
    if (rc == RC_OK)
        rc = tasks_dependencies(ctx->db, &flow.task.id, &dependencies, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (line->repository.quarantined_us > 0)
        return quarantine_end_run(ctx, &flow, &line->repository);
    if (!id_is_none(&dependencies.broken))
        return fail_dependency(ctx, &flow, &dependencies.broken);
    struct waits waits = {.dependency = dependencies.pending > 0};
    enum candidates_gate gate;
    rc = candidates_gate(ctx, &flow, &gate, &waits.candidates);
    if (rc != RC_OK || gate == CANDIDATES_FAILED)
        return rc;
    rc = run_batch_gate(ctx, &flow.run, &waits.batch);
    if (rc != RC_OK)
        return rc;
    return decide(look->admission, &flow, line, &waits, &look->check);
}

static void forget_look(struct look *look)
{
    look->check = ADMISSION_PASSED;
    look->admission->active_count = look->active_before;
    repo_load_restore(&look->line->load, &look->load_before);
}

static enum rc fail_run(struct context *ctx, void *subject, const struct failure *why)
{
    struct look *look = subject;
    forget_look(look);
    return stop_failed(ctx, look->run_id, why);
}

/* The run keeps its place, and the next round checks it again. */
static enum rc pass_run(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    forget_look(subject);
    return RC_OK;
}

static enum rc look_at(struct admission *admission, struct line *line, const struct id *run_id,
                       enum admission_check *ret_check)
{
    static isolate_try *const tries[] = {try_run, fail_run, pass_run, NULL};
    struct look look = {
        .admission = admission,
        .line = line,
        .run_id = run_id,
        .check = ADMISSION_PASSED,
        .active_before = admission->active_count,
        .load_before = line->load,
    };
    const struct isolated one = {"run", run_id->text, &look, tries};
    enum rc rc = isolate(admission->ctx, &one);
    *ret_check = look.check;
    return rc;
}

/* ---- the merge of the lines ---- */

static enum rc read_head(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct line *line = subject;
    enum rc rc = runs_next_queued(ctx->db, &line->repository_id, &line->place, ctx->arena,
                                  &line->head, ctx->err);
    if (rc == RC_OK)
        rc = accounts_pass(ctx, &line->head);
    line->has_head = rc == RC_OK;
    if (rc == RC_OK)
        line->place = (struct run_place){line->head.rank, line->head.id};
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* None of its runs is checked in this round. */
static enum rc drop_line(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    struct line *line = subject;
    line->has_head = false;
    line->dropped = true;
    return RC_OK;
}

static enum rc isolate_line(struct context *ctx, struct line *line, isolate_try *const *tries)
{
    const struct isolated one = {"repository", line->repository_id.text, line, tries};
    return isolate(ctx, &one);
}

static enum rc advance(struct context *ctx, struct line *line)
{
    static isolate_try *const tries[] = {read_head, drop_line, NULL};
    return isolate_line(ctx, line, tries);
}

static enum rc open_line(struct context *ctx, void *subject, const struct failure *why)
{
    struct line *line = subject;
    struct repository_row *row = &line->repository;
    enum rc rc = repositories_get(ctx->db, &line->repository_id, ctx->arena, row, ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, row);
    repo_load_open(&line->load, row, known != NULL ? &known->config : NULL);
    return read_head(ctx, line, why);
}

static enum rc open_lines(struct admission *admission)
{
    static isolate_try *const tries[] = {open_line, drop_line, NULL};
    struct context *ctx = admission->ctx;
    struct id *ids;
    enum rc rc = runs_queued_repositories(ctx->db, &ctx->workspace_id, ctx->arena, &ids,
                                          &admission->line_count, ctx->err);
    if (rc != RC_OK)
        return rc;
    admission->lines = arena_array(ctx->arena, admission->line_count, sizeof(struct line));
    for (size_t i = 0; rc == RC_OK && i < admission->line_count; i++) {
        admission->lines[i].repository_id = ids[i];
        admission->lines[i].place.rank = INT64_MIN;
        rc = isolate_line(ctx, &admission->lines[i], tries);
    }
    return rc;
}

/* Of those lines that have not been passed over for long. */
static struct line *first_line(struct admission *admission)
{
    struct line *first = NULL;
    for (size_t i = 0; i < admission->line_count; i++) {
        struct line *line = &admission->lines[i];
        if (line->has_head && line->passed_over < LINE_LOOKS_MAX &&
            (first == NULL || line->head.rank < first->head.rank))
            first = line;
    }
    return first;
}

/* Checks the head; the next one takes its place, unless the limit that holds it back holds back
   all. */
static enum rc pass_head(struct admission *admission, struct line *line)
{
    enum admission_check check;
    struct id run_id = line->head.id;
    enum rc rc = look_at(admission, line, &run_id, &check);
    if (rc != RC_OK)
        return rc;
    enum reach reach = check == ADMISSION_PASSED ? REACH_RUN : admission_reach(check);
    line->passed_over = check == ADMISSION_PASSED ? 0 : line->passed_over + 1;
    admission->full = reach == REACH_EVERYONE;
    if (reach == REACH_RUN)
        return advance(admission->ctx, line);
    line->has_head = false;
    return RC_OK;
}

static enum rc merge_lines(struct admission *admission)
{
    enum rc rc = RC_OK;
    for (int looks = 0; rc == RC_OK && !admission->full && looks < ADMIT_LOOKS_MAX; looks++) {
        struct line *line = first_line(admission);
        if (line == NULL)
            return RC_OK;
        rc = pass_head(admission, line);
    }
    return rc;
}

/* ---- the walk behind the merge ---- */

/* Behind the place where the last round stopped, if the merge has not come so far itself. */
static enum rc jump(struct context *ctx, struct line *line, const struct run_place *place)
{
    bool beyond = line->place.rank > place->rank ||
                  (line->place.rank == place->rank &&
                   strcmp(line->place.id.text, place->id.text) > 0);
    if (!line->has_head || beyond)
        return RC_OK;
    line->place = *place;
    return advance(ctx, line);
}

/* The line in which the walk continues; lines are in order of their ids. */
static enum rc take_up(struct admission *admission, const struct admit_walk *walk, size_t *ret_at)
{
    size_t at = 0;
    while (at < admission->line_count &&
           strcmp(admission->lines[at].repository_id.text, walk->repository_id.text) < 0)
        at++;
    *ret_at = at;
    if (at == admission->line_count ||
        !id_same(&admission->lines[at].repository_id, &walk->repository_id))
        return RC_OK;
    return jump(admission->ctx, &admission->lines[at], &walk->place);
}

/* Checks the runs that the merge has left.  The files of runs that were skipped are not read: one
   of them that waits for its files may be overtaken by one behind it. */
static enum rc walk_on(struct admission *admission, struct admit_walk *walk)
{
    size_t at;
    enum rc rc = take_up(admission, walk, &at);
    for (int looks = 0; rc == RC_OK && at < admission->line_count;) {
        struct line *line = &admission->lines[at];
        if (!line->has_head) {
            at++;
            continue;
        }
        if (looks++ == WALK_LOOKS_MAX) {
            context_due(admission->ctx, admission->ctx->now_us + WALK_PAUSE_US);
            return RC_OK;
        }
        struct admit_walk here = {line->repository_id, line->place};
        rc = pass_head(admission, line);
        if (admission->full)
            return rc; /* The next round takes it up here. */
        *walk = here;
    }
    if (rc == RC_OK)
        *walk = (struct admit_walk){0};
    return rc;
}

/* Runs that the merge did not reach get the reason why they wait, too.  One that was submitted
   after the lines were opened has requested an admission round of its own. */
static enum rc explain_rest(struct admission *admission)
{
    struct context *ctx = admission->ctx;
    struct run_row *rows;
    size_t count;
    enum rc rc = runs_queued_unexplained(ctx->db, &ctx->workspace_id, EXPLAIN_MAX, ctx->arena,
                                         &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        enum admission_check check;
        struct line *line = line_of(admission, &rows[i].repository_id);
        if (line != NULL && !line->dropped)
            rc = look_at(admission, line, &rows[i].id, &check);
    }
    return rc;
}

enum rc admit_queued(struct context *ctx, struct admit_walk *walk)
{
    struct admission admission = {.ctx = ctx};
    account_view_forget(ctx); /* Commands of the batch may have ended runs. */
    enum rc rc = open_lines(&admission);
    if (rc != RC_OK || admission.line_count == 0)
        return rc;
    rc = load_active(&admission);
    if (rc == RC_OK)
        rc = load_limits(&admission);
    if (rc == RC_OK)
        rc = merge_lines(&admission);
    if (rc == RC_OK && !admission.full)
        rc = walk_on(&admission, walk);
    if (rc == RC_OK)
        rc = explain_rest(&admission);
    return rc;
}
