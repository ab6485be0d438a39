#include "control/run/accounts.h"
#include "control/run/account_pool.h"
#include "control/run/account_view.h"
#include "core/agent/claims.h"
#include "core/event_types.h"
#include "core/run/admission.h"
#include "core/text/prose.h"
#include "store/timers.h"
#include <string.h>

enum { REASON_MAX = 500, PASS_JUMPS_MAX = 100 };
/* A limit that is met so long after the account was resumed starts a new count of hits. */
#define HITS_FORGOTTEN_US (4 * US_PER_HOUR)

/* ---- asking ---- */

enum rc accounts_may_probe(struct context *ctx, const struct account_row *row, bool *ret_may)
{
    *ret_may = row->probe_us <= ctx->now_us;
    if (!*ret_may || id_is_none(&row->probe_run_id))
        return RC_OK;
    enum run_status status;
    enum rc rc = runs_status_of(ctx->db, &row->probe_run_id, ctx->arena, &status, ctx->err);
    if (rc == RC_OK)
        *ret_may = !run_is_active(status);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc accounts_pass(struct context *ctx, struct run_row *head)
{
    for (int jumps = 0; jumps < PASS_JUMPS_MAX; jumps++) {
        if (head->pool == NULL || !account_view_is_empty(ctx, head->pool))
            return RC_OK;
        struct run_place place = {head->rank, head->id};
        const char *pool = head->pool;
        enum rc rc = runs_next_queued_but(ctx->db, &head->repository_id, &place, pool, ctx->arena,
                                          head, ctx->err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* ---- parking ---- */

static enum rc emit(struct context *ctx, const char *type, const struct account_row *row,
                    const char *reason)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "account", row->name);
    jw_ktime(&body.jw, "parkedUntil", row->parked_until_us);
    jw_optstr(&body.jw, "reason", reason);
    jw_kint(&body.jw, "hits", row->hits);
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "account/%s", row->name),
        .correlation_id = row->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

static void count_hit(const struct context *ctx, struct account_row *row)
{
    if (ctx->now_us - row->updated_us > HITS_FORGOTTEN_US)
        row->hits = 0;
    row->hits++;
}

static int64_t wait_until(const struct context *ctx, const struct js *quota, int64_t hits,
                          enum adapter adapter)
{
    struct limit_wait wait = {.hits = hits, .adapter = adapter};
    wait.told = time_parse(js_get_str(quota, "resetsAt", ""), &wait.reported_us);
    return claim_wait_until(&wait, ctx->now_us);
}

/* The account as its timer and the lines of admission will find it. */
static enum rc save(struct context *ctx, struct account_row *row)
{
    row->updated_us = ctx->now_us;
    account_view_forget(ctx);
    enum rc rc = accounts_save(ctx->db, row, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (row->parked_until_us == 0)
        return timers_clear(ctx->db, TIMER_ACCOUNT_RESET, &row->id, ctx->err);
    bool probes = row->probe_us > ctx->now_us && row->probe_us < row->parked_until_us;
    struct timer_row timer = {.kind = TIMER_ACCOUNT_RESET,
                              .subject = row->id,
                              .due_us = probes ? row->probe_us : row->parked_until_us};
    context_due(ctx, timer.due_us);
    return timers_set(ctx->db, &timer, ctx->err);
}

/* Locked; made when it is missing. */
static enum rc take_row(struct context *ctx, const char *name, struct account_row *ret_row)
{
    struct account_key key = {.id = context_id(ctx),
                              .workspace_id = ctx->workspace_id,
                              .name = name,
                              .now_us = ctx->now_us};
    return accounts_take(ctx->db, &key, ctx->arena, ret_row, ctx->err);
}

/* Runs that were active when the first of them met the limit meet it too: the account is parked
   once, and longer when a later one reports a later reset.  A limit that a probe meets counts as a
   new hit. */
static enum rc park(struct context *ctx, const struct flow *flow, enum adapter adapter,
                    const struct js *quota, int64_t *ret_until_us)
{
    struct account_row row;
    enum rc rc = take_row(ctx, flow->run.account, &row);
    if (rc != RC_OK)
        return rc;
    bool is_parked = row.parked_until_us > ctx->now_us;
    bool of_probe = is_parked && id_same(&row.probe_run_id, &flow->run.id);
    bool told = js_get_str(quota, "resetsAt", NULL) != NULL;
    if (!is_parked || of_probe)
        count_hit(ctx, &row);
    int64_t until_us = wait_until(ctx, quota, row.hits, adapter);
    bool later = until_us > row.parked_until_us;
    *ret_until_us = row.parked_until_us;
    if (is_parked && !(of_probe && told) && !(later && (of_probe || told)))
        return RC_OK;
    *ret_until_us = until_us;
    if (!is_parked) {
        row.probes = 0;
        row.probe_run_id = (struct id){0};
        row.probe_us = ctx->now_us + claim_probe_us(0);
    }
    row.parked_us = ctx->now_us;
    row.parked_until_us = until_us;
    const char *said = js_get_str(quota, "message", "a usage limit was met");
    row.reason = arena_strndup(ctx->arena, said, prose_fit(said, strlen(said), REASON_MAX));
    rc = save(ctx, &row);
    return rc == RC_OK ? emit(ctx, EV_ACCOUNT_PARKED, &row, row.reason) : rc;
}

enum rc accounts_queue_again(struct context *ctx, struct flow *flow,
                             const struct account_wait *waiting)
{
    flow->run.deferred_reason = admission_reason(waiting->check);
    flow->run.deferred_detail = waiting->detail;
    flow->run.pool = NULL; /* Admission looks for an account at once. */
    flow->run.job_id = (struct id){0};
    flow->run.deadline_us = 0;
    enum rc rc = flow_move(ctx, flow, RUN_EV_DEFER, waiting->detail);
    if (rc == RC_OK)
        rc = pool_book(ctx, &flow->run);
    if (rc == RC_OK)
        rc = timers_clear(ctx->db, TIMER_RUN_DEADLINE, &flow->run.id, ctx->err);
    if (rc != RC_OK)
        return rc;
    ctx->round->admit = true; /* Its slot is free for others. */
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "taskId", flow->task.id.text);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kstr(&body.jw, "reason", flow->run.deferred_reason);
    jw_kstr(&body.jw, "detail", waiting->detail);
    jw_kstr(&body.jw, "account", waiting->account);
    return flow_emit_task(ctx, flow, EV_TASK_DEFERRED, &body);
}

const char *accounts_held_detail(const struct run_row *run, struct arena *arena)
{
    char until[TIME_TEXT_BYTES];
    return arena_printf(arena, "its agent reported a usage limit; it is tried again at %s",
                        time_format(until, run->held_until_us));
}

/* The limit is reported by the agent only, so it holds back only the agent's own run, and that on
   the accounts of which its agent has reported one. */
static enum rc hold_run(struct context *ctx, struct flow *flow, enum adapter adapter,
                        const struct js *quota)
{
    struct run_row *run = &flow->run;
    bool first = run->held_until_us <= ctx->now_us; /* Of a series. */
    run->quota_hits++;
    run->tried_accounts = first || run->tried_accounts == NULL
                              ? run->account
                              : arena_printf(ctx->arena, "%s %s", run->tried_accounts,
                                             run->account);
    run->held_until_us = wait_until(ctx, quota, run->quota_hits, adapter);
    struct timer_row timer = {
        .kind = TIMER_RUN_HELD, .subject = run->id, .due_us = run->held_until_us};
    struct account_wait waiting = {CHECK_REPORTED_QUOTA, accounts_held_detail(run, ctx->arena),
                                   run->account};
    context_due(ctx, timer.due_us);
    enum rc rc = timers_set(ctx->db, &timer, ctx->err);
    return rc == RC_OK ? accounts_queue_again(ctx, flow, &waiting) : rc;
}

enum rc accounts_release(struct context *ctx, const struct id *run_id)
{
    (void)run_id; /* Admission checks its held_until_us. */
    ctx->round->admit = true;
    return RC_OK;
}

enum rc accounts_defer(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct agent_config *agent;
    const struct js *quota = js_get(result, "quota");
    enum rc rc = pool_agent(ctx, flow, &agent);
    if (rc != RC_OK)
        return rc;
    if (flow->run.account == NULL)
        flow->run.account = agent_account(agent, ctx->arena);
    struct limit_claim claim = {
        .compute = agent->compute,
        .adapter = agent->adapter,
        .is_record = js_get_bool(quota, "record", false),
        .ended = js_get_bool(quota, "ended", false),
        .failed = js_get_bool(result, "exited", false) && js_get_int(result, "exitCode", 0) != 0,
    };
    if (claim_reach(&claim) != CLAIM_ACCOUNT)
        return hold_run(ctx, flow, agent->adapter, quota);
    int64_t until_us = 0;
    rc = park(ctx, flow, agent->adapter, quota, &until_us);
    if (rc != RC_OK)
        return rc;
    char until[TIME_TEXT_BYTES];
    struct account_wait waiting = {CHECK_QUOTA,
                                   arena_printf(ctx->arena, "account %s waits for its reset at %s",
                                                flow->run.account, time_format(until, until_us)),
                                   flow->run.account};
    return accounts_queue_again(ctx, flow, &waiting);
}

/* ---- probing ---- */

static enum rc emit_probe(struct context *ctx, const struct account_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "account", row->name);
    jw_kstr(&body.jw, "probeRunId", row->probe_run_id.text);
    jw_ktime(&body.jw, "parkedUntil", row->parked_until_us);
    jw_kint(&body.jw, "probes", row->probes);
    struct event event = {
        .type = EV_ACCOUNT_PROBED,
        .subject = arena_printf(ctx->arena, "account/%s", row->name),
        .correlation_id = row->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

enum rc accounts_probe(struct context *ctx, const struct flow *flow, const char *name,
                       bool *ret_taken)
{
    struct account_row row;
    *ret_taken = false;
    enum rc rc = accounts_by_name(ctx->db, &ctx->workspace_id, name, ctx->arena, &row, ctx->err);
    /* Locked now: another node may have taken the probe, or the account is in use again. */
    if (rc == RC_OK && row.parked_until_us > ctx->now_us)
        rc = accounts_may_probe(ctx, &row, ret_taken);
    if (rc != RC_OK || !*ret_taken)
        return rc;
    row.probes++;
    row.probe_us = ctx->now_us + claim_probe_us(row.probes);
    row.probe_run_id = flow->run.id;
    rc = save(ctx, &row);
    return rc == RC_OK ? emit_probe(ctx, &row) : rc;
}

/* ---- in use ---- */

enum rc accounts_enter(struct context *ctx, struct flow *flow, bool *ret_held)
{
    struct account_offer offer;
    *ret_held = false;
    enum rc rc = pool_ask(ctx, flow, &offer);
    if (rc == RC_OK)
        rc = pool_take(ctx, flow, &offer);
    if (rc != RC_OK || offer.choice.at != ACCOUNT_NONE)
        return rc;
    *ret_held = true;
    struct pool_refusal refusal = pool_refusal(ctx, flow, &offer);
    struct account_wait waiting = {refusal.check, refusal.detail, refusal.account};
    return accounts_queue_again(ctx, flow, &waiting);
}

/* Neither of these is about its parking: updated_us, by which hits are forgotten, stays. */
enum rc accounts_note_use(struct context *ctx, const char *name, const struct id *run_id)
{
    struct account_row row;
    enum rc rc = take_row(ctx, name, &row);
    if (rc != RC_OK)
        return rc;
    row.used_us = ctx->now_us;
    row.used_run_id = *run_id;
    account_view_note(ctx, &row);
    return accounts_save(ctx->db, &row, ctx->err);
}

enum rc accounts_note_cost(struct context *ctx, const char *name, int64_t microusd)
{
    struct account_row row;
    enum rc rc = take_row(ctx, name, &row);
    if (rc != RC_OK)
        return rc;
    int64_t day_us = ctx->now_us - ctx->now_us % US_PER_DAY; /* UTC */
    if (row.day_us != day_us)
        row.day_microusd = 0;
    row.day_us = day_us;
    row.day_microusd += microusd;
    row.total_microusd += microusd;
    return accounts_save(ctx->db, &row, ctx->err);
}

/* ---- windows ---- */

static bool has_usage(const struct js *events)
{
    for (size_t i = 0; i < js_count(events); i++)
        if (text_same(js_get_str(js_at(events, i), "type", ""), EV_ACCOUNT_USAGE))
            return true;
    return false;
}

static bool take_window(const struct context *ctx, const struct agent_config *agent,
                        const struct js *data, struct account_windows *windows)
{
    struct window_claim claim = {
        .compute = agent->compute,
        .adapter = agent->adapter,
        .window = js_get_str(data, "window", NULL),
        .utilization = js_num(js_get(data, "utilization"), 0),
        .status = js_get_str(data, "status", NULL),
    };
    struct account_window window;
    claim.told = time_parse(js_get_str(data, "resetsAt", ""), &claim.resets_us);
    return claim_window(&claim, ctx->now_us, &window) && account_windows_take(windows, &window);
}

static bool take_events(const struct context *ctx, const struct agent_config *agent,
                        const struct js *events, struct account_windows *windows)
{
    bool changed = false;
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        if (text_same(js_get_str(event, "type", ""), EV_ACCOUNT_USAGE))
            changed |= take_window(ctx, agent, js_get(event, "data"), windows);
    }
    return changed;
}

/* Reports come with every call of the model: the row is locked only when one brings news. */
static enum rc save_windows(struct context *ctx, const struct run_row *run,
                            const struct agent_config *agent, const struct js *events)
{
    const struct seen_account *seen;
    struct account_windows windows = {0};
    enum rc rc = account_view_find(ctx, run->account, &seen);
    if (rc != RC_OK)
        return rc;
    if (seen != NULL)
        windows = seen->windows;
    if (!take_events(ctx, agent, events, &windows))
        return RC_OK;
    struct account_row row;
    rc = take_row(ctx, run->account, &row);
    if (rc == RC_OK)
        rc = account_windows_parse(row.windows, ctx->arena, &windows, ctx->err);
    if (rc != RC_OK || !take_events(ctx, agent, events, &windows))
        return rc;
    row.windows = account_windows_text(&windows, ctx->arena);
    account_view_forget(ctx);
    return accounts_save(ctx->db, &row, ctx->err);
}

enum rc accounts_usage(struct context *ctx, const struct run_row *run, const struct js *events)
{
    if (run->account == NULL || !has_usage(events))
        return RC_OK;
    CLEANUP(flow_release) struct flow flow = {.run = *run};
    const struct agent_config *agent;
    enum rc rc = tasks_get(ctx->db, &run->task_id, ctx->arena, &flow.task, ctx->err);
    if (rc == RC_OK)
        rc = pool_agent(ctx, &flow, &agent);
    return rc == RC_OK ? save_windows(ctx, run, agent, events) : rc;
}

/* ---- in use again ---- */

static enum rc resume(struct context *ctx, struct account_row *row, const char *reason)
{
    row->parked_until_us = row->probe_us = 0;
    row->probe_run_id = (struct id){0};
    enum rc rc = save(ctx, row);
    ctx->round->admit = true;
    return rc == RC_OK ? emit(ctx, EV_ACCOUNT_RESUMED, row, reason) : rc;
}

enum rc accounts_reset(struct context *ctx, const struct id *account_id)
{
    struct account_row row;
    enum rc rc = accounts_get(ctx->db, account_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || row.parked_until_us == 0)
        return rc == RC_NOT_FOUND ? RC_OK : rc; /* Resumed by hand. */
    if (row.parked_until_us <= ctx->now_us)
        return resume(ctx, &row, "the limit is lifted");
    ctx->round->admit = true; /* A probe may be due. */
    return save(ctx, &row);
}

enum rc accounts_proved(struct context *ctx, const struct run_row *run)
{
    const struct seen_account *seen = NULL;
    enum rc rc = run->account != NULL ? account_view_find(ctx, run->account, &seen) : RC_OK;
    bool parked = rc == RC_OK && seen != NULL && seen->row.parked_until_us > ctx->now_us;
    if (!parked || !id_same(&seen->row.probe_run_id, &run->id))
        return rc;
    struct account_row row;
    rc = accounts_by_name(ctx->db, &ctx->workspace_id, run->account, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || row.parked_until_us == 0 || !id_same(&row.probe_run_id, &run->id))
        return rc;
    row.hits = 0;
    return resume(ctx, &row, "a probe succeeded");
}

static enum rc apply_resume(struct context *ctx, struct command *command)
{
    struct cmd_account *cmd = (struct cmd_account *)command;
    enum rc rc = accounts_by_name(ctx->db, &ctx->workspace_id, cmd->name, ctx->arena, &cmd->row,
                                  ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "ACCOUNT_NOT_FOUND",
                       "no account %s was ever parked; see drover accounts", cmd->name);
    if (rc != RC_OK || cmd->row.parked_until_us == 0)
        return rc;
    return resume(ctx, &cmd->row, cmd->reason != NULL ? cmd->reason : "by hand");
}

/* A person knows better than a probe: none is let through before the time. */
static enum rc apply_park(struct context *ctx, struct command *command)
{
    struct cmd_account *cmd = (struct cmd_account *)command;
    struct account_row *row = &cmd->row;
    bool configured = account_configs_find(ctx->accounts, cmd->name) != NULL;
    enum rc rc = configured ? take_row(ctx, cmd->name, row)
                            : accounts_by_name(ctx->db, &ctx->workspace_id, cmd->name, ctx->arena,
                                               row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "ACCOUNT_NOT_FOUND",
                       "there is no account %s; see drover accounts", cmd->name);
    if (rc == RC_OK && cmd->until_us <= ctx->now_us)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "until", "until must lie ahead");
    if (rc != RC_OK)
        return rc;
    const char *reason = cmd->reason != NULL ? cmd->reason : "by hand";
    row->reason = arena_strndup(ctx->arena, reason, prose_fit(reason, strlen(reason), REASON_MAX));
    row->parked_us = ctx->now_us;
    row->parked_until_us = row->probe_us = cmd->until_us;
    row->probes = 0;
    row->probe_run_id = (struct id){0};
    rc = save(ctx, row);
    return rc == RC_OK ? emit(ctx, EV_ACCOUNT_PARKED, row, row->reason) : rc;
}

static const struct command_ops resume_ops = {.name = "account_resume", .apply = apply_resume};
static const struct command_ops park_ops = {.name = "account_park", .apply = apply_park};

struct cmd_account *cmd_account_resume_new(void)
{
    return command_new(&resume_ops, sizeof(struct cmd_account));
}

struct cmd_account *cmd_account_park_new(void)
{
    return command_new(&park_ops, sizeof(struct cmd_account));
}
