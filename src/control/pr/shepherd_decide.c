/*
 * shepherd_decide.c - what is known beside the view, the decision, and the acts that follow.
 */
#include "base/log.h"
#include "control/admit/decide.h"
#include "control/pr/shepherd_flow.h"
#include "control/pr/train.h"
#include "core/event_types.h"
#include "forge/port/forge.h"
#include "store/timers.h"
#include <assert.h>

#define SOON_US (5 * US_PER_SECOND)
enum { LONG_POLLS = 10, PASSED_BYTES_MAX = 16 * 1024, REASON_BYTES = 400 };
/* Acts that a worker does at the forge. */
#define FORGE_ACTS                                                                       \
    (ACT_RERUN | ACT_READY | ACT_CERTIFICATE | ACT_ANSWER | ACT_MERGE | ACT_AUTO_MERGE | \
     ACT_ENQUEUE | ACT_CLOSE)

void shepherd_event_open(struct event_body *body, const struct shepherding *it)
{
    event_body_open(body);
    jw_kstr(&body->jw, "pullRequestId", it->pr.id.text);
    jw_kint(&body->jw, "number", it->pr.number);
}

/* ---- moves ---- */

static enum rc emit_move(struct context *ctx, struct shepherding *it, enum shepherd_state to,
                         const char *reason)
{
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_kstr(&body.jw, "fromState", shepherd_state_name(it->row.state));
    jw_kstr(&body.jw, "toState", shepherd_state_name(to));
    jw_kstr(&body.jw, "reason", reason);
    jw_optstr(&body.jw, "head", it->row.head);
    return flow_emit(ctx, &it->flow, EV_PR_STATE_CHANGED, &body);
}

enum rc shepherd_walk(struct context *ctx, struct shepherding *it, enum shepherd_state state,
                      const char *reason)
{
    enum rc rc = RC_OK;
    for (int moves = 0; rc == RC_OK && it->row.state != state; moves++) {
        enum shepherd_state next = shepherd_toward(it->row.state, state);
        assert(moves < SHEPHERD_MOVES_MAX && next != it->row.state);
        rc = emit_move(ctx, it, next, reason);
        it->row.state = next;
    }
    it->row.reason = reason;
    return rc;
}

enum rc shepherd_new_head(struct context *ctx, struct shepherding *it, const char *head)
{
    struct shepherd_row *row = &it->row;
    bool first = row->head == NULL;
    bool own = text_same(head, it->pr.head_commit);
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_optstr(&body.jw, "fromHead", row->head);
    jw_kstr(&body.jw, "head", head);
    jw_kstr(&body.jw, "by", own ? "drover" : "another");
    row->head = arena_strdup(ctx->arena, head);
    row->head_since_us = ctx->now_us;
    row->verifies = row->reruns = row->merges = row->rounds = 0;
    row->rerun_us = row->acts = 0;
    row->passed = (struct str){0};
    if (first && own)
        return RC_OK;
    enum rc rc = flow_emit(ctx, &it->flow, EV_PR_HEAD_CHANGED, &body);
    if (rc == RC_OK)
        rc = shepherd_take_back(ctx, it);
    if (rc != RC_OK || own)
        return rc;
    /* What another has pushed is respected: it is adopted, and verified before anything else. */
    it->pr.head_commit = row->head;
    it->pr.updated_us = ctx->now_us;
    return pull_requests_save(ctx->db, &it->pr, ctx->err);
}

enum rc shepherd_ended(struct context *ctx, struct shepherding *it, const char *commit)
{
    bool merged = commit != NULL;
    enum rc rc = shepherd_stop_work(ctx, it, "The pull request is over");
    if (rc == RC_OK)
        rc = shepherd_take_back(ctx, it);
    if (rc == RC_OK && !merged)
        rc = train_leave(ctx, &it->pr.id, "The pull request was closed");
    if (rc == RC_OK && text_same(it->pr.status, "open"))
        rc = merged ? decide_merged(ctx, &it->flow, &it->pr, commit)
                    : decide_closed(ctx, &it->flow, &it->pr, "closed at the forge");
    if (rc == RC_OK)
        rc = shepherd_walk(ctx, it, merged ? SHEPHERD_MERGED : SHEPHERD_CLOSED,
                           merged ? "It is merged" : "It was closed without being merged");
    if (rc == RC_OK)
        rc = timers_clear(ctx->db, TIMER_SHEPHERD, &it->pr.id, ctx->err);
    it->row.ended_us = ctx->now_us;
    it->row.job_id = (struct id){0};
    return rc;
}

/* ---- what is known ---- */

static enum pr_work work_of(const struct shepherd_row *row)
{
    if (row->work == NULL)
        return WORK_NONE;
    return text_same(row->work, "repair") ? WORK_REPAIR : WORK_REBASE;
}

static enum pr_person person_of(const struct shepherding *it)
{
    if (it->row.stopped)
        return PERSON_STOPS;
    return it->person_asked ? PERSON_ASKED : PERSON_NONE;
}

/* As the repository's train is configured, and as the forge can. */
static enum pr_way way_of(const struct shepherding *it)
{
    switch (it->config->train.use) {
    case TRAIN_USE_DROVER:
        return WAY_TRAIN;
    case TRAIN_USE_AUTO:
        return it->can & CAN_AUTO_MERGE ? WAY_AUTO : WAY_DIRECT;
    case TRAIN_USE_QUEUE:
        return it->can & CAN_QUEUE ? WAY_QUEUE : WAY_DIRECT;
    case TRAIN_USE_OFF:
        break;
    }
    return WAY_DIRECT;
}

static struct shepherd_known known_of(const struct context *ctx, const struct shepherding *it)
{
    const struct shepherd_row *row = &it->row;
    const struct shepherd_config *rules = &it->config->shepherd;
    bool in_time = ctx->now_us - row->budget_since_us < rules->max_hours * US_PER_HOUR;
    bool paid = row->repair_microusd >= rules->max_budget_microusd;
    return (struct shepherd_known){
        .now_us = ctx->now_us,
        .certified_head = row->certified_head,
        .certificate_good = row->certified,
        .verify_left = row->verifies < SHEPHERD_VERIFIES_MAX,
        .shown = text_same(row->shown_head, row->head) || !(it->can & CAN_PUT_CHECK) ||
                 row->certificate_sha256 == NULL,
        .work = work_of(row),
        .work_head = row->work_head,
        .failure = row->cause,
        .conflict_head = row->conflict_head,
        .rebase_head = row->stuck_head,
        .empty_head = row->empty_head,
        .head_since_us = row->head_since_us,
        .rerun_us = row->rerun_us,
        .reviewed_us = row->reviewed_us,
        .unanswered = row->unanswered && (it->can & CAN_THREADS),
        .person = person_of(it),
        .merge = rules->merge,
        .granted_head = row->granted_head,
        .merge_asked = it->merge_asked,
        .merge_refused = row->merges >= SHEPHERD_MERGES_MAX && row->submitted_head == NULL,
        .forge_reviews = (it->can & CAN_REVIEW) != 0,
        .forge_checks = (it->can & CAN_CHECKS) != 0,
        .submitted = row->submitted_head != NULL && text_same(row->submitted_head, row->head),
        .way = way_of(it),
        .may_rerun = (it->can & CAN_RERUN_CHECK) && row->reruns < rules->reruns && in_time,
        .may_repair = row->repairs < rules->repairs && !paid && in_time,
        .may_rebase = row->rebases < rules->rebases && in_time,
        .in_time = in_time,
        .quiet_us = rules->quiet_ms * US_PER_MS,
        .settle_us = rules->settle_ms * US_PER_MS,
    };
}

/* Checks that have passed at this head: one of them that fails later is flaky. */
static void note_passed(struct context *ctx, struct shepherding *it)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, PASSED_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < it->view->check_count; i++)
        if (it->view->checks[i].state == CHECK_PASSED && !it->view->checks[i].own)
            jw_str(&jw, it->view->checks[i].name);
    jw_end(&jw, ']');
    bool any = buf.len > 2 && !buf.overflow;
    if (any) /* What has passed once stays: the list of a rerun may be shorter. */
        it->row.passed = (struct str){arena_strndup(ctx->arena, buf.data, buf.len), buf.len};
}

/* ---- acts ---- */

static enum rc act(struct context *ctx, struct shepherding *it,
                   const struct shepherd_decision *decided)
{
    enum rc rc = RC_OK;
    unsigned acts = decided->acts;
    if (acts & ACT_STOP_WORK)
        rc = shepherd_stop_work(ctx, it, decided->reason);
    if (rc == RC_OK && (acts & ACT_LEAVE)) {
        it->row.submitted_head = NULL;
        rc = train_leave(ctx, &it->pr.id, decided->reason);
    }
    if (rc == RC_OK && (acts & ACT_TRAIN)) {
        it->row.submitted_head = it->row.head;
        rc = train_enter(ctx, &it->pr, it->flow.task.priority == 0);
    }
    if (rc == RC_OK && (acts & (ACT_REBASE | ACT_VERIFY)))
        rc = shepherd_rebase(ctx, it, (acts & ACT_VERIFY) != 0);
    if (rc == RC_OK && (acts & ACT_REPAIR))
        rc = shepherd_repair(ctx, it, decided->cause);
    if (rc == RC_OK && (acts & ACT_ASK))
        rc = shepherd_ask(ctx, it, APPROVAL_SHEPHERD, decided->reason);
    if (rc == RC_OK && (acts & ACT_ASK_MERGE))
        rc = shepherd_ask(ctx, it, APPROVAL_MERGE, decided->reason);
    if (rc == RC_OK && (acts & FORGE_ACTS))
        rc = shepherd_attend(ctx, it, acts & FORGE_ACTS);
    return rc;
}

static int64_t delay_of(const struct context *ctx, const struct shepherding *it,
                        enum shepherd_wait wait)
{
    int64_t poll_us = it->config->shepherd.poll_ms * US_PER_MS;
    int64_t quiet_us = it->config->shepherd.quiet_ms * US_PER_MS;
    int64_t said_us = review_last_us(it->view, it->row.reviewed_us);
    switch (wait) {
    case WAIT_SOON:
        return poll_us < SOON_US ? poll_us : SOON_US;
    case WAIT_QUIET:
        quiet_us -= ctx->now_us - said_us;
        return quiet_us > 0 && quiet_us < poll_us ? quiet_us : poll_us;
    case WAIT_LONG:
        return LONG_POLLS * poll_us;
    case WAIT_POLL:
    case WAIT_NEVER:
        break;
    }
    return poll_us;
}

/* With the checks that are red, for people. */
static const char *explain(struct context *ctx, const struct shepherding *it,
                           const struct shepherd_decision *decided)
{
    CLEANUP(buf_release) struct buf text;
    bool red = false;
    buf_init(&text, REASON_BYTES);
    buf_adds(&text, decided->reason);
    bool about_checks = decided->state == SHEPHERD_FAILING || decided->state == SHEPHERD_BLOCKED;
    for (size_t i = 0; about_checks && i < it->view->check_count; i++) {
        const struct check_view *check = &it->view->checks[i];
        if (!check_counts(it->view, check) || !check_is_red(check))
            continue;
        buf_addf(&text, "%s%.80s", red ? ", " : ": ", check->name);
        red = true;
    }
    return arena_strdup(ctx->arena, buf_text(&text));
}

enum rc shepherd_decide_on(struct context *ctx, struct shepherding *it)
{
    struct pr_view *view = (struct pr_view *)it->view;
    if (!(it->can & CAN_DRAFT))
        view->draft = false; /* Nothing there to be marked as ready. */
    if (it->row.submitted_head != NULL && !text_same(it->row.submitted_head, it->row.head) &&
        it->config->train.use != TRAIN_USE_DROVER)
        it->row.submitted_head = NULL; /* The forge drops what has another head. */
    note_passed(ctx, it);
    struct shepherd_known known = known_of(ctx, it);
    struct shepherd_facts facts = shepherd_facts_of(view, &known);
    struct shepherd_decision decided = shepherd_decide(&facts);
    shepherd_check(&facts, &decided);
    if (shepherd_is_final(decided.state))
        return shepherd_ended(ctx, it,
                              decided.state == SHEPHERD_MERGED
                                  ? (view->merge_commit != NULL ? view->merge_commit : view->head)
                                  : NULL);
    enum rc rc = RC_OK;
    if (facts.checks == CHECKS_GREEN && facts.certificate == CERT_GOOD)
        rc = shepherd_note_cure(ctx, it);
    if (rc == RC_OK)
        rc = shepherd_walk(ctx, it, decided.state, explain(ctx, it, &decided));
    if (rc == RC_OK)
        rc = act(ctx, it, &decided);
    return rc == RC_OK ? shepherding_look_in(ctx, it, delay_of(ctx, it, decided.wait)) : rc;
}
