/*
 * replay.c - a run as it was at a moment: GET /v1/runs/{id}/replay?at=TIME|SEQUENCE.
 */
#include "control/watch/replay.h"
#include "api/routes.h"
#include "base/clock.h"
#include "control/watch/replay_keep.h"

enum { AT_BYTES_MAX = 40, SEQUENCE_DIGITS_MAX = 15 };

/* Digits are the number of an event of the run, all else is a time. */
static void read_moment(struct params *params, struct replay_moment *ret_at)
{
    const char *at = NULL;
    params_text(params, "at", AT_BYTES_MAX, &at);
    if (at == NULL)
        return;
    size_t digits = 0;
    int64_t sequence = 0;
    for (; at[digits] >= '0' && at[digits] <= '9' && digits < SEQUENCE_DIGITS_MAX; digits++)
        sequence = sequence * 10 + (at[digits] - '0');
    if (at[digits] == '\0' && sequence > 0)
        ret_at->sequence = sequence;
    else if (!time_parse(at, &ret_at->time_us) || ret_at->time_us <= 0)
        params_fail(params, "at",
                    "at must be a time like 2026-01-31T12:00:00Z, or the number of an event of the "
                    "run, from 1");
}

/* Without a moment: does the fold equal the row? */
static void write_difference(struct jw *jw, const struct run_fold *fold, const struct run_row *run,
                             struct arena *arena)
{
    struct run_fold row;
    const char *detail = NULL;
    replay_of_row(run, &row);
    const char *member = run_fold_differs(fold, &row, arena, &detail);
    jw_key(jw, "differs");
    if (member == NULL) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "member", member);
    jw_kstr(jw, "detail", detail);
    jw_end(jw, '}');
}

enum rc api_run_replay(struct call *call, struct db *db, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct id id;
    struct params params;
    struct replay_options options = {0};
    struct run_row run;
    struct replay *replay = arena_alloc(arena, sizeof *replay);
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    read_moment(&params, &options.at);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    CLEANUP(tx_abort) struct tx tx = {0};
    if (rc == RC_OK)
        rc = tx_begin(db, &tx, err); /* Row and events of one moment. */
    if (rc == RC_OK)
        rc = runs_get(db, &id, arena, &run, err);
    if (rc == RC_OK)
        rc = replay_run(db, &id, &options, arena, replay, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "runId", run.id.text);
    jw_kstr(&jw, "taskId", run.task_id.text);
    run_fold_write(&jw, &replay->fold);
    jw_kint(&jw, "eventsRead", replay->events_read);
    jw_kint(&jw, "fromSnapshot", replay->from_sequence);
    if (options.at.sequence == 0 && options.at.time_us == 0)
        write_difference(&jw, &replay->fold, &run, arena);
    jw_end(&jw, '}');
    tx_abort(&tx);
    replay_keep(control_committer(call->api->control), replay);
    return RC_OK;
}
