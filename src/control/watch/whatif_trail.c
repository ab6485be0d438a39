#include "control/watch/whatif_trail.h"
#include "control/watch/replay.h"
#include "core/event_types.h"
#include "core/run/run.h"
#include <string.h>

enum { POINTS_MAX = 4000 };

struct trail {
    struct run_fold fold;
    struct arena *scratch; /* For the fold. */
    int64_t at_us;         /* Time up to which is counted: */
    int64_t work_us, active_us;
    bool waits_otherwise; /* It is held back by what no simulation decides. */
    int64_t ready_us;
    struct whatif_point points[POINTS_MAX];
    size_t point_count;
};

/* The checks that whatif.c makes. */
static bool is_simulated(const char *reason)
{
    static const enum admission_check checks[] = {
        CHECK_USER,    CHECK_REPOSITORY, CHECK_TASK_TYPE, CHECK_WORKSPACE,
        CHECK_SANDBOX, CHECK_SYSTEM,     CHECK_COST_TODAY};
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        if (text_same(admission_reason(checks[i]), reason))
            return true;
    return false;
}

/* The time since the last event, by what the run was doing. */
static void count_time(struct trail *trail, int64_t until_us)
{
    const struct run_fold *fold = &trail->fold;
    int64_t passed = trail->at_us > 0 && until_us > trail->at_us ? until_us - trail->at_us : 0;
    trail->at_us = until_us;
    if (!run_is_active(fold->status))
        return;
    trail->active_us += passed;
    if (!fold->paused && id_is_none(&fold->question_id) && fold->status != RUN_AWAITING_APPROVAL)
        trail->work_us += passed;
}

static void add_point(struct trail *trail, int64_t attempt)
{
    const struct run_fold *fold = &trail->fold;
    if (trail->point_count == POINTS_MAX)
        return;
    trail->points[trail->point_count++] = (struct whatif_point){
        .work_us = trail->work_us,
        .turns = fold->turns,
        .tokens = fold->tokens_in + fold->tokens_out,
        .cost_microusd = fold->cost_microusd,
        .attempt = attempt,
    };
}

/* Attempts that are paid from the budget: not those for what people have said. */
static int64_t paid_attempt(const struct event *event)
{
    CLEANUP(js_freep) struct js *data = NULL;
    if (strcmp(event->type, EV_RUN_RETRY_WITH_FEEDBACK) != 0 ||
        js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK)
        return 0;
    const char *reason = js_get_str(data, "reason", "");
    bool paid = strcmp(reason, "message") != 0 && strcmp(reason, "question") != 0;
    return paid ? js_get_int(data, "attempt", 0) : 0;
}

/* Until it is admitted: since when can only limits have held it back? */
static void note_wait(struct trail *trail, const struct event *event)
{
    const struct run_fold *fold = &trail->fold;
    if (trail->ready_us == 0)
        trail->ready_us = fold->queued_us;
    if (strcmp(event->type, EV_TASK_DEFERRED) == 0 && fold->admitted_us == 0) {
        bool simulated = is_simulated(fold->deferred_reason);
        if (simulated && trail->waits_otherwise)
            trail->ready_us = event->time_us;
        trail->waits_otherwise = !simulated;
    }
    if (strcmp(event->type, EV_RUN_ACQUIRED) == 0 && trail->waits_otherwise) {
        trail->ready_us = event->time_us;
        trail->waits_otherwise = false;
    }
}

static bool see_event(void *ctx, const struct event *event)
{
    struct trail *trail = ctx;
    const struct run_fold before = trail->fold;
    count_time(trail, event->time_us);
    run_fold_apply(&trail->fold, event, trail->scratch);
    note_wait(trail, event);
    const struct run_fold *now = &trail->fold;
    int64_t attempt = paid_attempt(event);
    if (attempt > 0 || now->turns != before.turns || now->cost_microusd != before.cost_microusd ||
        now->tokens_in != before.tokens_in || now->tokens_out != before.tokens_out)
        add_point(trail, attempt);
    return true;
}

enum rc whatif_trail(struct db *db, struct whatif_run *run, int64_t end_us, struct arena *arena,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct trail *trail = arena_alloc(&scratch, sizeof *trail);
    trail->scratch = &scratch;
    run_fold_begin(&trail->fold, &run->id);
    const struct replay_walk walk = {.run_id = run->id, .see = see_event, .ctx = trail};
    enum rc rc = replay_walk(db, &walk, err);
    if (rc != RC_OK)
        return rc;
    if (!run_is_terminal(trail->fold.status))
        count_time(trail, end_us);
    run->admitted_us = trail->fold.admitted_us;
    run->ready_us = trail->ready_us;
    run->asking_us = trail->active_us > trail->work_us ? trail->active_us - trail->work_us : 0;
    run->point_count = trail->point_count;
    struct whatif_point *points = arena_array(arena, trail->point_count + 1, sizeof *points);
    memcpy(points, trail->points, trail->point_count * sizeof *points);
    run->points = points;
    return RC_OK;
}
