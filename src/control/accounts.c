/*
 * accounts.c - see accounts.h.
 */
#include "control/accounts.h"
#include "core/admission.h"
#include "core/event_types.h"
#include "core/prose.h"
#include "store/timers.h"
#include <string.h>

enum { PARKED_MAX = 1000, REASON_MAX = 500, PASS_JUMPS_MAX = 100 };

/* What one batch knows of parked accounts. */
struct parked_list {
    const struct account_row *rows;
    size_t count;
};

/* ---- asking ----------------------------------------------------------------------------- */

static enum rc load_parked(struct cx *cx)
{
    if (cx->round->parked_accounts != NULL)
        return RC_OK;
    struct parked_list *list = arena_alloc(cx->batch_arena, sizeof *list);
    struct account_row *rows;
    enum rc rc = accounts_parked_list(cx->db, cx->now_us, PARKED_MAX, cx->batch_arena, &rows,
                                      &list->count, cx->err);
    list->rows = rows;
    if (rc == RC_OK)
        cx->round->parked_accounts = list;
    return rc;
}

enum rc accounts_parked(struct cx *cx, const char *name, bool *ret_parked)
{
    enum rc rc = load_parked(cx);
    if (rc != RC_OK)
        return rc;
    const struct parked_list *list = cx->round->parked_accounts;
    *ret_parked = false;
    for (size_t i = 0; i < list->count; i++)
        *ret_parked |= id_same(&list->rows[i].workspace_id, &cx->workspace_id) &&
                       strcmp(list->rows[i].name, name) == 0;
    return RC_OK;
}

enum rc accounts_gate(struct cx *cx, struct flow *flow, bool *ret_parked)
{
    const struct repo_config *config;
    enum rc rc = flow_config(cx, flow, &config);
    if (rc != RC_OK)
        return rc;
    const char *name = agent_account(&config->agent, cx->arena);
    rc = accounts_parked(cx, name, ret_parked);
    if (rc == RC_OK && *ret_parked && !text_same(flow->run.account, name))
        flow->run.account = name;
    return rc;
}

enum rc accounts_pass(struct cx *cx, struct run_row *head)
{
    for (int jumps = 0; jumps < PASS_JUMPS_MAX; jumps++) {
        bool parked = false;
        if (!text_same(head->deferred_reason, admission_reason(CHECK_QUOTA)) ||
            head->account == NULL)
            return RC_OK;
        enum rc rc = accounts_parked(cx, head->account, &parked);
        if (rc != RC_OK || !parked)
            return rc;
        struct run_place place = {head->rank, head->id};
        struct run_left left = {.reason = admission_reason(CHECK_QUOTA), .account = head->account};
        rc = runs_next_queued_but(cx->db, &head->repository_id, &place, &left, cx->arena, head,
                                  cx->err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* ---- parking ---------------------------------------------------------------------------- */

static enum rc tell(struct cx *cx, const char *type, const struct account_row *row,
                    const char *reason)
{
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "account", row->name);
    jw_ktime(&note.jw, "parkedUntil", row->parked_until_us);
    jw_optstr(&note.jw, "reason", reason);
    jw_kint(&note.jw, "hits", row->hits);
    struct event event = {
        .type = type,
        .subject = arena_printf(cx->arena, "account/%s", row->name),
        .correlation_id = row->id,
        .data = note_close(&note),
    };
    return cx_append(cx, &event, NULL);
}

/* A limit that is met long after the account came into use again is the first of its own row. */
static void count_hit(const struct cx *cx, struct account_row *row)
{
    if (cx->now_us - row->updated_us > ACCOUNT_REST_MINUTES_MAX * US_PER_MINUTE)
        row->hits = 0;
    row->hits++;
}

static int64_t rest_us(int64_t first_us, int64_t hits)
{
    int64_t longest_us = ACCOUNT_REST_MINUTES_MAX * US_PER_MINUTE;
    int64_t rest = first_us;
    for (int64_t i = 1; i < hits && rest < longest_us; i++)
        rest *= 2;
    return rest < longest_us ? rest : longest_us;
}

/* Told, guessed, or passed while the agent's work was being put away: then a short rest will do. */
static int64_t parked_until(const struct cx *cx, const struct account_row *row,
                            const struct js *quota)
{
    int64_t told_us = 0, latest_us = cx->now_us + ACCOUNT_PARK_DAYS_MAX * US_PER_DAY;
    if (!time_parse(js_get_str(quota, "resetsAt", ""), &told_us))
        return cx->now_us + rest_us(ACCOUNT_REST_MINUTES * US_PER_MINUTE, row->hits);
    if (told_us <= cx->now_us)
        return cx->now_us + rest_us(US_PER_SECOND, row->hits);
    return told_us < latest_us ? told_us : latest_us; /* It is an agent that says so. */
}

/* The account as its timer and the lines of admission will find it. */
static enum rc set_parked(struct cx *cx, struct account_row *row, int64_t until_us)
{
    row->parked_until_us = until_us;
    row->updated_us = cx->now_us;
    cx->round->parked_accounts = NULL;
    enum rc rc = accounts_save(cx->db, row, cx->err);
    if (rc != RC_OK)
        return rc;
    if (until_us == 0)
        return timers_clear(cx->db, TIMER_ACCOUNT_RESET, &row->id, cx->err);
    struct timer_row timer = {.kind = TIMER_ACCOUNT_RESET, .subject = row->id, .due_us = until_us};
    cx_due(cx, until_us);
    return timers_set(cx->db, &timer, cx->err);
}

/* Runs that were under way when the first of them met the limit meet it too: the account is parked
   once, and longer when a later one says so. */
static enum rc park(struct cx *cx, const char *name, const struct js *quota)
{
    struct account_key key = {
        .id = cx_id(cx), .workspace_id = cx->workspace_id, .name = name, .now_us = cx->now_us};
    struct account_row row;
    enum rc rc = accounts_take(cx->db, &key, cx->arena, &row, cx->err);
    if (rc != RC_OK)
        return rc;
    bool is_parked = row.parked_until_us > cx->now_us;
    if (!is_parked)
        count_hit(cx, &row);
    int64_t until_us = parked_until(cx, &row, quota);
    bool told = js_get_str(quota, "resetsAt", NULL) != NULL;
    if (is_parked && (!told || until_us <= row.parked_until_us))
        return RC_OK;
    row.parked_us = cx->now_us;
    const char *said = js_get_str(quota, "message", "a usage limit was met");
    row.reason = arena_strndup(cx->arena, said, prose_fit(said, strlen(said), REASON_MAX));
    rc = set_parked(cx, &row, until_us);
    return rc == RC_OK ? tell(cx, EV_ACCOUNT_PARKED, &row, row.reason) : rc;
}

/* Back to the line.  Its time limit starts anew with the next start. */
static enum rc queue_again(struct cx *cx, struct flow *flow, const char *account)
{
    flow->run.deferred_reason = admission_reason(CHECK_QUOTA);
    flow->run.deferred_detail = arena_printf(cx->arena, QUOTA_DETAIL, account);
    flow->run.job_id = (struct id){0};
    flow->run.deadline_us = 0;
    enum rc rc = flow_move(cx, flow, RUN_EV_DEFER,
                           arena_printf(cx->arena, "Account %s is parked", account));
    if (rc == RC_OK)
        rc = timers_clear(cx->db, TIMER_RUN_DEADLINE, &flow->run.id, cx->err);
    if (rc != RC_OK)
        return rc;
    cx->round->admit = true; /* Its slot is free for others. */
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "taskId", flow->task.id.text);
    jw_kstr(&note.jw, "runId", flow->run.id.text);
    jw_kstr(&note.jw, "reason", admission_reason(CHECK_QUOTA));
    jw_kstr(&note.jw, "detail", flow->run.deferred_detail);
    jw_kstr(&note.jw, "account", account);
    return flow_tell_task(cx, flow, EV_TASK_DEFERRED, &note);
}

enum rc accounts_defer(struct cx *cx, struct flow *flow, const struct js *quota)
{
    const struct repo_config *config;
    enum rc rc = flow_config(cx, flow, &config);
    if (rc != RC_OK)
        return rc;
    const char *name = agent_account(&config->agent, cx->arena);
    rc = park(cx, name, quota);
    return rc == RC_OK ? queue_again(cx, flow, name) : rc;
}

enum rc accounts_hold(struct cx *cx, struct flow *flow, bool *ret_held)
{
    *ret_held = false;
    enum rc rc = accounts_gate(cx, flow, ret_held);
    return rc == RC_OK && *ret_held ? queue_again(cx, flow, flow->run.account) : rc;
}

/* ---- in use again ----------------------------------------------------------------------- */

static enum rc resume(struct cx *cx, struct account_row *row, const char *reason)
{
    enum rc rc = set_parked(cx, row, 0);
    cx->round->admit = true;
    return rc == RC_OK ? tell(cx, EV_ACCOUNT_RESUMED, row, reason) : rc;
}

enum rc accounts_reset(struct cx *cx, const struct id *account_id)
{
    struct account_row row;
    enum rc rc = accounts_get(cx->db, account_id, cx->arena, &row, cx->err);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc == RC_OK && (row.parked_until_us == 0 || row.parked_until_us > cx->now_us))
        return RC_OK; /* Resumed by hand, or parked again. */
    return rc == RC_OK ? resume(cx, &row, "the limit is lifted") : rc;
}

static enum rc apply_resume(struct cx *cx, struct command *command)
{
    struct cmd_account *cmd = (struct cmd_account *)command;
    enum rc rc = accounts_by_name(cx->db, &cx->workspace_id, cmd->name, cx->arena, &cmd->row,
                                  cx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(cx->err, rc, "ACCOUNT_NOT_FOUND",
                       "no account %s was ever parked; see drover accounts", cmd->name);
    if (rc != RC_OK || cmd->row.parked_until_us == 0)
        return rc;
    return resume(cx, &cmd->row, cmd->reason != NULL ? cmd->reason : "by hand");
}

static const struct command_ops resume_ops = {.name = "account_resume", .apply = apply_resume};

struct cmd_account *cmd_account_resume_new(void)
{
    return command_new(&resume_ops, sizeof(struct cmd_account));
}
