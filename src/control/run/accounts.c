#include "control/run/accounts.h"
#include "core/agent/claims.h"
#include "core/event_types.h"
#include "core/run/admission.h"
#include "core/text/prose.h"
#include "store/timers.h"
#include <string.h>

enum { PARKED_MAX = 1000, REASON_MAX = 500, PASS_JUMPS_MAX = 100 };
/* A limit that is met so long after the account was resumed starts a new count of hits. */
#define HITS_FORGOTTEN_US (4 * US_PER_HOUR)

/* The parked accounts, as read by one batch. */
struct parked_list {
    const struct account_row *rows;
    size_t count;
};

/* ---- asking ---- */

static enum rc load_parked(struct context *ctx)
{
    if (ctx->round->parked_accounts != NULL)
        return RC_OK;
    struct parked_list *list = arena_alloc(ctx->batch_arena, sizeof *list);
    struct account_row *rows;
    enum rc rc = accounts_parked_list(ctx->db, ctx->now_us, PARKED_MAX, ctx->batch_arena, &rows,
                                      &list->count, ctx->err);
    list->rows = rows;
    if (rc == RC_OK)
        ctx->round->parked_accounts = list;
    return rc;
}

/* Its row when it is parked, else NULL. */
static enum rc find_parked(struct context *ctx, const char *name,
                           const struct account_row **ret_row)
{
    enum rc rc = load_parked(ctx);
    if (rc != RC_OK)
        return rc;
    const struct parked_list *list = ctx->round->parked_accounts;
    *ret_row = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (id_same(&list->rows[i].workspace_id, &ctx->workspace_id) &&
            strcmp(list->rows[i].name, name) == 0)
            *ret_row = &list->rows[i];
    return RC_OK;
}

/* A probe is due, and the last one is no longer at work. */
static enum rc may_probe(struct context *ctx, const struct account_row *row, bool *ret_may)
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

static enum rc ask(struct context *ctx, const char *name, enum account_state *ret_state)
{
    const struct account_row *row;
    bool may = false;
    enum rc rc = find_parked(ctx, name, &row);
    if (rc == RC_OK && row != NULL)
        rc = may_probe(ctx, row, &may);
    if (rc == RC_OK)
        *ret_state = row == NULL ? ACCOUNT_OPEN : may ? ACCOUNT_PROBE : ACCOUNT_PARKED;
    return rc;
}

enum rc accounts_gate(struct context *ctx, struct flow *flow, enum account_state *ret_state)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    const char *name = agent_account(&config->agent, ctx->arena);
    rc = ask(ctx, name, ret_state);
    if (rc == RC_OK && *ret_state != ACCOUNT_OPEN && !text_same(flow->run.account, name))
        flow->run.account = name;
    return rc;
}

enum rc accounts_pass(struct context *ctx, struct run_row *head)
{
    for (int jumps = 0; jumps < PASS_JUMPS_MAX; jumps++) {
        enum account_state state;
        if (!text_same(head->deferred_reason, admission_reason(CHECK_QUOTA)) ||
            head->account == NULL)
            return RC_OK;
        enum rc rc = ask(ctx, head->account, &state);
        if (rc != RC_OK || state != ACCOUNT_PARKED)
            return rc;
        struct run_place place = {head->rank, head->id};
        struct run_left left = {.reason = admission_reason(CHECK_QUOTA), .account = head->account};
        rc = runs_next_queued_but(ctx->db, &head->repository_id, &place, &left, ctx->arena, head,
                                  ctx->err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

struct waiting {
    enum admission_check check; /* For what. */
    const char *detail, *account;
};

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
    ctx->round->parked_accounts = NULL;
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

/* Runs that were active when the first of them met the limit meet it too: the account is parked
   once, and longer when a later one reports a later reset.  A limit that a probe meets counts as a
   new hit. */
static enum rc park(struct context *ctx, const struct flow *flow, const struct agent_config *agent,
                    const struct js *quota)
{
    struct account_key key = {.id = context_id(ctx),
                              .workspace_id = ctx->workspace_id,
                              .name = agent_account(agent, ctx->arena),
                              .now_us = ctx->now_us};
    struct account_row row;
    enum rc rc = accounts_take(ctx->db, &key, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    bool is_parked = row.parked_until_us > ctx->now_us;
    bool of_probe = is_parked && id_same(&row.probe_run_id, &flow->run.id);
    bool told = js_get_str(quota, "resetsAt", NULL) != NULL;
    if (!is_parked || of_probe)
        count_hit(ctx, &row);
    int64_t until_us = wait_until(ctx, quota, row.hits, agent->adapter);
    bool later = until_us > row.parked_until_us;
    if (is_parked && !(of_probe && told) && !(later && (of_probe || told)))
        return RC_OK;
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

/* Back to the queue.  The run's time limit starts anew with the next start. */
static enum rc queue_again(struct context *ctx, struct flow *flow, const struct waiting *waiting)
{
    flow->run.deferred_reason = admission_reason(waiting->check);
    flow->run.deferred_detail = waiting->detail;
    flow->run.job_id = (struct id){0};
    flow->run.deadline_us = 0;
    enum rc rc = flow_move(ctx, flow, RUN_EV_DEFER, waiting->detail);
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

static enum rc queue_parked(struct context *ctx, struct flow *flow, const char *account)
{
    struct waiting waiting = {CHECK_QUOTA, arena_printf(ctx->arena, QUOTA_DETAIL, account),
                              account};
    return queue_again(ctx, flow, &waiting);
}

const char *accounts_held_detail(const struct run_row *run, struct arena *arena)
{
    char until[TIME_TEXT_BYTES];
    return arena_printf(arena, "its agent reported a usage limit; it is tried again at %s",
                        time_format(until, run->held_until_us));
}

/* The limit is reported by the agent only, so it holds back only the agent's own run. */
static enum rc hold_run(struct context *ctx, struct flow *flow, const struct agent_config *agent,
                        const struct js *quota)
{
    struct run_row *run = &flow->run;
    run->quota_hits++;
    run->held_until_us = wait_until(ctx, quota, run->quota_hits, agent->adapter);
    struct timer_row timer = {
        .kind = TIMER_RUN_HELD, .subject = run->id, .due_us = run->held_until_us};
    struct waiting waiting = {CHECK_REPORTED_QUOTA, accounts_held_detail(run, ctx->arena),
                              agent_account(agent, ctx->arena)};
    context_due(ctx, timer.due_us);
    enum rc rc = timers_set(ctx->db, &timer, ctx->err);
    return rc == RC_OK ? queue_again(ctx, flow, &waiting) : rc;
}

enum rc accounts_release(struct context *ctx, const struct id *run_id)
{
    (void)run_id; /* Admission checks its held_until_us. */
    ctx->round->admit = true;
    return RC_OK;
}

enum rc accounts_defer(struct context *ctx, struct flow *flow, const struct js *result)
{
    const struct repo_config *config;
    const struct js *quota = js_get(result, "quota");
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct limit_claim claim = {
        .compute = config->agent.compute,
        .adapter = config->agent.adapter,
        .is_record = js_get_bool(quota, "record", false),
        .ended = js_get_bool(quota, "ended", false),
        .failed = js_get_bool(result, "exited", false) && js_get_int(result, "exitCode", 0) != 0,
    };
    if (claim_reach(&claim) != CLAIM_ACCOUNT)
        return hold_run(ctx, flow, &config->agent, quota);
    rc = park(ctx, flow, &config->agent, quota);
    return rc == RC_OK ? queue_parked(ctx, flow, agent_account(&config->agent, ctx->arena)) : rc;
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

enum rc accounts_probe(struct context *ctx, const struct flow *flow, bool *ret_taken)
{
    struct account_row row;
    *ret_taken = false;
    enum rc rc = accounts_by_name(ctx->db, &ctx->workspace_id, flow->run.account, ctx->arena, &row,
                                  ctx->err);
    /* Locked now: another node may have taken the probe, or the account is in use again. */
    if (rc == RC_OK && row.parked_until_us > ctx->now_us)
        rc = may_probe(ctx, &row, ret_taken);
    if (rc != RC_OK || !*ret_taken)
        return rc;
    row.probes++;
    row.probe_us = ctx->now_us + claim_probe_us(row.probes);
    row.probe_run_id = flow->run.id;
    rc = save(ctx, &row);
    return rc == RC_OK ? emit_probe(ctx, &row) : rc;
}

enum rc accounts_hold(struct context *ctx, struct flow *flow, bool *ret_held)
{
    enum account_state state;
    const struct account_row *row = NULL;
    bool probes = false;
    *ret_held = false;
    enum rc rc = accounts_gate(ctx, flow, &state);
    if (rc == RC_OK && state != ACCOUNT_OPEN)
        rc = find_parked(ctx, flow->run.account, &row);
    if (rc != RC_OK || row == NULL || id_same(&row->probe_run_id, &flow->run.id))
        return rc; /* In use, or this run is its probe. */
    if (state == ACCOUNT_PROBE)
        rc = accounts_probe(ctx, flow, &probes);
    *ret_held = rc == RC_OK && !probes;
    return *ret_held ? queue_parked(ctx, flow, flow->run.account) : rc;
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
    const struct account_row *parked = NULL;
    enum rc rc = run->account != NULL ? find_parked(ctx, run->account, &parked) : RC_OK;
    if (rc != RC_OK || parked == NULL || !id_same(&parked->probe_run_id, &run->id))
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

static const struct command_ops resume_ops = {.name = "account_resume", .apply = apply_resume};

struct cmd_account *cmd_account_resume_new(void)
{
    return command_new(&resume_ops, sizeof(struct cmd_account));
}
