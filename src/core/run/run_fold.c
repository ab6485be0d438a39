#include "core/run/run_fold.h"
#include "base/clock.h"
#include "core/event_types.h"
#include "core/run/run.h"
#include <math.h>
#include <string.h>

/* ---- the members ---- */

enum member_kind { MEMBER_TEXT, MEMBER_INT, MEMBER_ID, MEMBER_TIME, MEMBER_BOOL, MEMBER_MONEY };

/* How a member is compared with the row. */
enum member_row { ROW_NONE, ROW_COMPLETE, ROW_USAGE, ROW_ALWAYS };

#define AT(member)     offsetof(struct run_fold, member)
#define CHECKS(status) (AT(checks) + sizeof(int64_t) * (status))

/* "a.b": member b of an object a; members of one object stand together.  The status stands apart:
   it is an enum. */
static const struct member {
    const char *name;
    size_t offset;
    enum member_kind kind;
    enum member_row row;
} members[] = {
    {"runNo", AT(run_no), MEMBER_INT, ROW_COMPLETE},
    {"attempt", AT(attempt), MEMBER_INT, ROW_COMPLETE},
    {"requestedBy", AT(requested_by), MEMBER_TEXT, ROW_COMPLETE},
    {"taskType", AT(task_type), MEMBER_TEXT, ROW_COMPLETE},
    {"branch", AT(branch), MEMBER_TEXT, ROW_COMPLETE},
    {"baseCommit", AT(base_commit), MEMBER_TEXT, ROW_COMPLETE},
    {"agent", AT(agent), MEMBER_TEXT, ROW_NONE},
    {"account", AT(account), MEMBER_TEXT, ROW_NONE},
    {"model", AT(model), MEMBER_TEXT, ROW_NONE},
    {"step", AT(step), MEMBER_TEXT, ROW_NONE},
    {"promptSha256", AT(prompt_sha256), MEMBER_TEXT, ROW_COMPLETE},
    {"planSha256", AT(plan_sha256), MEMBER_TEXT, ROW_NONE},
    {"certificateSha256", AT(certificate_sha256), MEMBER_TEXT, ROW_COMPLETE},
    {"turns", AT(turns), MEMBER_INT, ROW_USAGE},
    {"inputTokens", AT(tokens_in), MEMBER_INT, ROW_USAGE},
    {"outputTokens", AT(tokens_out), MEMBER_INT, ROW_USAGE},
    {"costUsd", AT(cost_microusd), MEMBER_MONEY, ROW_USAGE},
    {"patchId", AT(patch_id), MEMBER_ID, ROW_COMPLETE},
    {"patchSha256", AT(patch_sha256), MEMBER_TEXT, ROW_COMPLETE},
    {"patches", AT(patches), MEMBER_INT, ROW_NONE},
    {"verifications.passed", CHECKS(VERIFY_PASSED), MEMBER_INT, ROW_NONE},
    {"verifications.failed", CHECKS(VERIFY_FAILED), MEMBER_INT, ROW_NONE},
    {"verifications.errored", CHECKS(VERIFY_ERRORED), MEMBER_INT, ROW_NONE},
    {"verifications.timedOut", CHECKS(VERIFY_TIMED_OUT), MEMBER_INT, ROW_NONE},
    {"verifications.skipped", CHECKS(VERIFY_SKIPPED), MEMBER_INT, ROW_NONE},
    {"judgeVerdict", AT(judge_verdict), MEMBER_TEXT, ROW_NONE},
    {"approvals.asked", AT(approvals), MEMBER_INT, ROW_NONE},
    {"approvals.open", AT(open_approvals), MEMBER_INT, ROW_NONE},
    {"approvals.kind", AT(approval_kind), MEMBER_TEXT, ROW_NONE},
    {"approvals.status", AT(approval_status), MEMBER_TEXT, ROW_NONE},
    {"approvals.actor", AT(approval_actor), MEMBER_TEXT, ROW_NONE},
    {"questionId", AT(question_id), MEMBER_ID, ROW_COMPLETE},
    {"pullRequest.id", AT(pull_request_id), MEMBER_ID, ROW_COMPLETE},
    {"pullRequest.number", AT(pull_request_number), MEMBER_INT, ROW_NONE},
    {"pullRequest.url", AT(pull_request_url), MEMBER_TEXT, ROW_NONE},
    {"pullRequest.status", AT(pull_request_status), MEMBER_TEXT, ROW_NONE},
    {"errorCode", AT(error_code), MEMBER_TEXT, ROW_ALWAYS},
    {"errorMessage", AT(error_message), MEMBER_TEXT, ROW_COMPLETE},
    {"deferredReason", AT(deferred_reason), MEMBER_TEXT, ROW_COMPLETE},
    {"stopRequested", AT(stop_kind), MEMBER_TEXT, ROW_NONE},
    {"paused", AT(paused), MEMBER_BOOL, ROW_COMPLETE},
    {"lost", AT(lost), MEMBER_INT, ROW_COMPLETE},
    {"queuedAt", AT(queued_us), MEMBER_TIME, ROW_COMPLETE},
    {"admittedAt", AT(admitted_us), MEMBER_TIME, ROW_NONE},
    {"startedAt", AT(started_us), MEMBER_TIME, ROW_COMPLETE},
    {"endedAt", AT(ended_us), MEMBER_TIME, ROW_COMPLETE},
    {"events", AT(events), MEMBER_INT, ROW_ALWAYS},
    {"lastEventId", AT(last_event_id), MEMBER_ID, ROW_ALWAYS},
    {"logSeq", AT(seq), MEMBER_INT, ROW_NONE},
    {"time", AT(time_us), MEMBER_TIME, ROW_NONE},
    {"complete", AT(complete), MEMBER_BOOL, ROW_NONE},
    {"truncated", AT(truncated), MEMBER_BOOL, ROW_NONE},
    {"usageBehind", AT(usage_behind), MEMBER_BOOL, ROW_NONE},
};

static const void *place(const struct run_fold *fold, const struct member *member)
{
    return (const char *)fold + member->offset;
}

static const char *text_at(const struct run_fold *fold, const struct member *member)
{
    return *(const char *const *)place(fold, member);
}

static int64_t int_at(const struct run_fold *fold, const struct member *member)
{
    return *(const int64_t *)place(fold, member);
}

/* ---- what each event says ---- */

struct folding {
    struct run_fold *fold;
    const struct event *event;
    const struct js *data;
    struct arena *arena;
};

/* A member that the event does not have, or has as null, stays as it is. */
static void keep_text(const struct folding *f, const char **to, const char *key)
{
    const char *text = js_get_str(f->data, key, NULL);
    if (text != NULL && !text_same(text, *to))
        *to = arena_strdup(f->arena, text);
}

static void keep_id(const struct folding *f, struct id *to, const char *key)
{
    struct id id;
    const char *text = js_get_str(f->data, key, NULL);
    if (text != NULL && id_parse(text, &id))
        *to = id;
}

/* Sums of the run, not of an attempt. */
static void keep_usage(const struct folding *f)
{
    const struct js *usage = js_get(f->data, "runUsage");
    if (js_type(usage) != JS_OBJECT)
        return;
    struct run_fold *fold = f->fold;
    fold->turns = js_get_int(usage, "turns", fold->turns);
    fold->tokens_in = js_get_int(usage, "inputTokens", fold->tokens_in);
    fold->tokens_out = js_get_int(usage, "outputTokens", fold->tokens_out);
    fold->cost_microusd = (int64_t)llround(js_num(js_get(usage, "costUsd"), 0) * 1e6);
    fold->usage_behind = false;
    const char *model = js_get_str(usage, "model", NULL);
    if (model != NULL && !text_same(model, fold->model))
        fold->model = arena_strdup(f->arena, model);
}

static void on_queued(const struct folding *f)
{
    struct run_fold *fold = f->fold;
    fold->status = RUN_QUEUED;
    fold->run_no = js_get_int(f->data, "runNo", 0);
    fold->queued_us = f->event->time_us;
    fold->complete = js_get_str(f->data, "branch", NULL) != NULL;
    keep_text(f, &fold->requested_by, "requestedBy");
    keep_text(f, &fold->task_type, "taskType");
    keep_text(f, &fold->branch, "branch");
    keep_text(f, &fold->base_commit, "baseCommit");
}

static void on_deferred(const struct folding *f)
{
    keep_text(f, &f->fold->deferred_reason, "reason");
}

static void on_acquired(const struct folding *f)
{
    if (f->fold->admitted_us == 0)
        f->fold->admitted_us = f->event->time_us;
    keep_text(f, &f->fold->account, "account");
}

static void on_account(const struct folding *f)
{
    keep_text(f, &f->fold->account, "account");
    keep_text(f, &f->fold->agent, "agent");
    keep_text(f, &f->fold->model, "model");
}

static void on_status(const struct folding *f)
{
    struct run_fold *fold = f->fold;
    enum run_status status;
    if (!run_status_parse(js_get_str(f->data, "toStatus", ""), &status))
        return;
    if (fold->status == RUN_AWAITING_APPROVAL && run_is_terminal(status))
        fold->open_approvals = 0; /* No answer is waited for any more. */
    fold->status = status;
    fold->attempt = js_get_int(f->data, "attempt", fold->attempt);
    if (status != RUN_QUEUED)
        fold->deferred_reason = NULL;
    if (!run_is_terminal(status))
        return;
    fold->ended_us = f->event->time_us;
    fold->paused = false;
    fold->question_id = (struct id){0};
}

static void on_started(const struct folding *f)
{
    f->fold->started_us = f->event->time_us;
    keep_text(f, &f->fold->base_commit, "baseCommit");
    keep_text(f, &f->fold->branch, "branch");
}

static void on_end(const struct folding *f)
{
    keep_text(f, &f->fold->error_code, "errorCode");
    keep_text(f, &f->fold->error_message, "errorMessage");
    keep_usage(f);
}

static void on_attempt(const struct folding *f)
{
    f->fold->attempt = js_get_int(f->data, "attempt", f->fold->attempt);
}

static void on_lost(const struct folding *f)
{
    f->fold->lost++;
}

static void on_stop(const struct folding *f)
{
    keep_text(f, &f->fold->stop_kind, "kind");
}

static void on_pause(const struct folding *f)
{
    f->fold->paused = true;
}

static void on_resume(const struct folding *f)
{
    f->fold->paused = false;
    if (text_same(f->fold->deferred_reason, "paused"))
        f->fold->deferred_reason = NULL; /* Admission gives the next reason, if there is one. */
}

static void on_step_started(const struct folding *f)
{
    keep_text(f, &f->fold->step, "step");
    f->fold->usage_behind |= f->fold->truncated;
}

static void on_step_completed(const struct folding *f)
{
    if (!text_same(js_get_str(f->data, "step", ""), "prepare"))
        f->fold->lost = 0;
    keep_text(f, &f->fold->certificate_sha256, "certificateArtifactId");
    keep_usage(f);
}

static void on_context(const struct folding *f)
{
    keep_text(f, &f->fold->prompt_sha256, "promptSha256");
}

static void on_plan(const struct folding *f)
{
    keep_text(f, &f->fold->plan_sha256, "planArtifactId");
}

static void on_chosen(const struct folding *f)
{
    on_context(f);
    on_plan(f);
    on_attempt(f);
    keep_text(f, &f->fold->base_commit, "baseCommit");
}

static void on_patch(const struct folding *f)
{
    f->fold->patches++;
    keep_id(f, &f->fold->patch_id, "patchId");
    keep_text(f, &f->fold->patch_sha256, "diffArtifactId");
}

static void on_truncated(const struct folding *f)
{
    f->fold->truncated = f->fold->usage_behind = true;
}

static void on_judged(const struct folding *f)
{
    keep_text(f, &f->fold->judge_verdict, "verdict");
}

static void on_asked(const struct folding *f)
{
    struct run_fold *fold = f->fold;
    fold->approvals++;
    fold->open_approvals++;
    fold->approval_status = "pending";
    fold->approval_actor = NULL;
    keep_text(f, &fold->approval_kind, "kind");
}

static void close_approval(const struct folding *f, const char *status)
{
    struct run_fold *fold = f->fold;
    if (fold->open_approvals > 0)
        fold->open_approvals--;
    fold->approval_status = status;
    keep_text(f, &fold->approval_kind, "kind");
    keep_text(f, &fold->approval_actor, "actor");
}

static void on_approved(const struct folding *f)
{
    close_approval(f, "approved");
}

static void on_rejected(const struct folding *f)
{
    close_approval(f, "rejected");
}

static void on_expired(const struct folding *f)
{
    close_approval(f, "expired");
}

static void on_question(const struct folding *f)
{
    keep_id(f, &f->fold->question_id, "questionId");
}

static void on_answer(const struct folding *f)
{
    f->fold->question_id = (struct id){0};
}

static void on_pull_request(const struct folding *f)
{
    struct run_fold *fold = f->fold;
    keep_id(f, &fold->pull_request_id, "pullRequestId");
    fold->pull_request_number = js_get_int(f->data, "number", fold->pull_request_number);
    keep_text(f, &fold->pull_request_url, "url");
    fold->pull_request_status = "open";
}

static void on_merged(const struct folding *f)
{
    f->fold->pull_request_status = "merged";
}

static void on_closed(const struct folding *f)
{
    f->fold->pull_request_status = "closed";
}

static void on_check(const struct folding *f);

static const struct fact {
    const char *type;
    void (*apply)(const struct folding *f);
    enum verify_status check; /* Of on_check. */
} facts[] = {
    {EV_RUN_STATUS_CHANGED, on_status, 0},
    {EV_STEP_STARTED, on_step_started, 0},
    {EV_STEP_COMPLETED, on_step_completed, 0},
    {EV_MODEL_TURN_COMPLETED, keep_usage, 0},
    {EV_RUN_QUEUED, on_queued, 0},
    {EV_TASK_DEFERRED, on_deferred, 0},
    {EV_RUN_ACQUIRED, on_acquired, 0},
    {EV_ACCOUNT_CHOSEN, on_account, 0},
    {EV_RUN_STARTED, on_started, 0},
    {EV_CONTEXT_LOADED, on_context, 0},
    {EV_PLAN_CREATED, on_plan, 0},
    {EV_CANDIDATE_CHOSEN, on_chosen, 0},
    {EV_PATCH_CREATED, on_patch, 0},
    {EV_VERIFICATION_PASSED, on_check, VERIFY_PASSED},
    {EV_VERIFICATION_FAILED, on_check, VERIFY_FAILED},
    {EV_VERIFICATION_ERRORED, on_check, VERIFY_ERRORED},
    {EV_VERIFICATION_TIMED_OUT, on_check, VERIFY_TIMED_OUT},
    {EV_VERIFICATION_SKIPPED, on_check, VERIFY_SKIPPED},
    {EV_JUDGE_COMPLETED, on_judged, 0},
    {EV_JUDGE_FAILED, on_judged, 0},
    {EV_JUDGE_INCONCLUSIVE, on_judged, 0},
    {EV_COST_RECORDED, keep_usage, 0},
    {EV_RUN_RETRY_WITH_FEEDBACK, on_attempt, 0},
    {EV_RUN_HEARTBEAT_MISSED, on_lost, 0},
    {EV_RUN_CANCEL_REQUESTED, on_stop, 0},
    {EV_RUN_PAUSED, on_pause, 0},
    {EV_RUN_RESUMED, on_resume, 0},
    {EV_QUESTION_ASKED, on_question, 0},
    {EV_QUESTION_ANSWERED, on_answer, 0},
    {EV_QUESTION_EXPIRED, on_answer, 0},
    {EV_QUESTION_WITHDRAWN, on_answer, 0},
    {EV_APPROVAL_REQUESTED, on_asked, 0},
    {EV_APPROVAL_APPROVED, on_approved, 0},
    {EV_APPROVAL_REJECTED, on_rejected, 0},
    {EV_APPROVAL_EXPIRED, on_expired, 0},
    {EV_PR_CREATED, on_pull_request, 0},
    {EV_PR_UPDATED, on_pull_request, 0},
    {EV_PR_MERGED, on_merged, 0},
    {EV_PR_CLOSED, on_closed, 0},
    {EV_EVENTS_TRUNCATED, on_truncated, 0},
    {EV_RUN_COMPLETED, on_end, 0},
    {EV_RUN_FAILED, on_end, 0},
    {EV_RUN_CANCELLED, on_end, 0},
    {EV_RUN_TIMED_OUT, on_end, 0},
};

static const struct fact *fact_of(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (strcmp(facts[i].type, type) == 0)
            return &facts[i];
    return NULL;
}

static void on_check(const struct folding *f)
{
    f->fold->checks[fact_of(f->event->type)->check]++;
}

/* ---- one event ---- */

void run_fold_begin(struct run_fold *fold, const struct id *run_id)
{
    *fold = (struct run_fold){.run_id = *run_id, .status = RUN_QUEUED};
}

/* Events of a task that have no run name theirs, if they are about one. */
static bool is_about(const struct event *event, const struct js *data, const struct id *run_id)
{
    if (!id_is_none(&event->run_id))
        return true;
    return text_same(js_get_str(data, "runId", ""), run_id->text);
}

void run_fold_apply(struct run_fold *fold, const struct event *event, struct arena *arena)
{
    bool own = id_same(&event->run_id, &fold->run_id);
    if (!own && !id_is_none(&event->run_id))
        return;
    fold->seq = event->seq;
    fold->time_us = event->time_us;
    if (own) {
        /* Diagnostic events were deleted before it, which may have had the usage (expiry.h). */
        fold->usage_behind |= event->run_seq > fold->events + 1;
        fold->events = event->run_seq;
        fold->last_event_id = event->id;
    }
    const struct fact *fact = event->source == NULL ? fact_of(event->type) : NULL;
    CLEANUP(js_freep) struct js *data = NULL;
    if (fact == NULL ||
        (event->data.len > 0 && js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK))
        return;
    const struct folding folding = {fold, event, data, arena};
    if (is_about(event, data, &fold->run_id))
        fact->apply(&folding);
}

/* ---- as JSON ---- */

static void write_member(struct jw *jw, const struct run_fold *fold, const struct member *member,
                         const char *key)
{
    const struct id *id = place(fold, member);
    switch (member->kind) {
    case MEMBER_TEXT:
        jw_kstr(jw, key, text_at(fold, member));
        break;
    case MEMBER_INT:
        jw_kint(jw, key, int_at(fold, member));
        break;
    case MEMBER_ID:
        jw_kstr(jw, key, id_is_none(id) ? NULL : id->text);
        break;
    case MEMBER_TIME:
        jw_ktime(jw, key, int_at(fold, member));
        break;
    case MEMBER_BOOL:
        jw_kbool(jw, key, *(const bool *)place(fold, member));
        break;
    case MEMBER_MONEY:
        jw_kreal(jw, key, (double)int_at(fold, member) / 1e6);
        break;
    }
}

void run_fold_write(struct jw *jw, const struct run_fold *fold)
{
    struct str open = {0};
    jw_kstr(jw, "status", run_status_name(fold->status));
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const char *name = members[i].name, *dot = strchr(name, '.');
        struct str group = {name, dot != NULL ? (size_t)(dot - name) : 0};
        bool same = group.len == open.len &&
                    (group.len == 0 || memcmp(group.at, open.at, group.len) == 0);
        if (!same && open.len > 0)
            jw_end(jw, '}');
        if (!same && group.len > 0) {
            char key[32];
            text_copy(key, group.len + 1 < sizeof key ? group.len + 1 : sizeof key, name);
            jw_key(jw, key);
            jw_begin(jw, '{');
        }
        open = group;
        write_member(jw, fold, &members[i], dot != NULL ? dot + 1 : name);
    }
}

static void read_member(const struct js *value, const struct member *member, struct arena *arena,
                        struct run_fold *fold)
{
    void *at = (char *)fold + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT:
        *(const char **)at = arena_strdup(arena, js_str(value, NULL));
        break;
    case MEMBER_INT:
        *(int64_t *)at = js_int(value, 0);
        break;
    case MEMBER_ID:
        if (!id_parse(js_str(value, ""), at))
            *(struct id *)at = (struct id){0};
        break;
    case MEMBER_TIME:
        if (!time_parse(js_str(value, ""), at))
            *(int64_t *)at = 0;
        break;
    case MEMBER_BOOL:
        *(bool *)at = js_bool(value, false);
        break;
    case MEMBER_MONEY:
        *(int64_t *)at = (int64_t)llround(js_num(value, 0) * 1e6);
        break;
    }
}

enum rc run_fold_read(const struct js *object, struct arena *arena, struct run_fold *ret_fold,
                      struct err *err)
{
    struct run_fold fold = {.run_id = ret_fold->run_id};
    if (!run_status_parse(js_get_str(object, "status", ""), &fold.status))
        return err_set(err, RC_CORRUPT, "CORRUPT", "a snapshot of run %s has no known status",
                       fold.run_id.text);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        read_member(js_path(object, members[i].name), &members[i], arena, &fold);
    *ret_fold = fold;
    return RC_OK;
}

/* ---- compared with the row ---- */

static bool compares(const struct run_fold *fold, const struct member *member)
{
    switch (member->row) {
    case ROW_NONE:
        return false;
    case ROW_COMPLETE:
        return fold->complete;
    case ROW_USAGE:
        return fold->complete && !fold->usage_behind;
    case ROW_ALWAYS:
        return true;
    }
    return false;
}

static bool same_member(const struct run_fold *a, const struct run_fold *b,
                        const struct member *member)
{
    switch (member->kind) {
    case MEMBER_TEXT:
        return text_empty(text_at(a, member)) ? text_empty(text_at(b, member))
                                              : text_same(text_at(a, member), text_at(b, member));
    case MEMBER_ID:
        return id_same(place(a, member), place(b, member));
    case MEMBER_BOOL:
        return *(const bool *)place(a, member) == *(const bool *)place(b, member);
    default:
        return int_at(a, member) == int_at(b, member);
    }
}

static const char *shown(const struct run_fold *fold, const struct member *member,
                         struct arena *arena)
{
    enum { SHOWN_MAX = 400 };
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SHOWN_MAX);
    struct jw jw = jw_to(&text);
    write_member(&jw, fold, member, "");
    size_t key = strlen("\"\":");
    return arena_strdup(arena, text.len > key ? buf_text(&text) + key : "");
}

const char *run_fold_differs(const struct run_fold *fold, const struct run_fold *row,
                             struct arena *arena, const char **ret_detail)
{
    if (fold->status != row->status) {
        *ret_detail = arena_printf(arena, "the log says %s, the row %s",
                                   run_status_name(fold->status), run_status_name(row->status));
        return "status";
    }
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct member *member = &members[i];
        if (!compares(fold, member) || same_member(fold, row, member))
            continue;
        *ret_detail = arena_printf(arena, "the log says %s, the row %s", shown(fold, member, arena),
                                   shown(row, member, arena));
        return member->name;
    }
    return NULL;
}
