#include "control/watch/replay.h"
#include "store/events.h"
#include "store/run_diagnostics.h"

enum { REPLAY_PAGE = 500, SNAPSHOT_BYTES_MAX = 64 * 1024 };

/* ---- reading ---- */

enum rc replay_walk(struct db *db, const struct replay_walk *walk, struct err *err)
{
    struct event_filter filter = {.run_id = walk->run_id,
                                  .with_task = true,
                                  .after_seq = walk->after_seq,
                                  .limit = REPLAY_PAGE};
    CLEANUP(arena_release) struct arena page = {0};
    for (size_t count = REPLAY_PAGE; count == REPLAY_PAGE; arena_reset(&page)) {
        struct event *events;
        enum rc rc = events_list(db, &filter, &page, &events, &count, err);
        if (rc != RC_OK)
            return rc;
        for (size_t i = 0; i < count; i++) {
            if (!walk->see(walk->ctx, &events[i]))
                return RC_OK;
            filter.after_seq = events[i].seq;
        }
    }
    return RC_OK;
}

struct str replay_snapshot_text(const struct run_fold *fold, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SNAPSHOT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    run_fold_write(&jw, fold);
    jw_end(&jw, '}');
    if (text.overflow)
        return (struct str){0};
    return (struct str){arena_strndup(arena, text.data, text.len), text.len};
}

/* ---- one run ---- */

struct reader {
    struct replay *replay;
    struct replay_moment at;
    struct arena *arena;
};

static void note_snapshot(struct replay *replay, struct arena *arena)
{
    const struct run_fold *fold = &replay->fold;
    if (replay->made_count == REPLAY_SNAPSHOTS_MAX)
        return;
    struct str text = replay_snapshot_text(fold, arena);
    if (text.len == 0)
        return;
    replay->made[replay->made_count++] = (struct run_snapshot_row){
        .run_id = fold->run_id,
        .sequence_no = fold->events,
        .log_seq = fold->seq,
        .time_us = fold->time_us,
        .version = RUN_FOLD_VERSION,
        .snapshot = text,
    };
}

static bool see_event(void *ctx, const struct event *event)
{
    struct reader *reader = ctx;
    struct replay *replay = reader->replay;
    bool own = id_same(&event->run_id, &replay->fold.run_id);
    int64_t last = reader->at.sequence;
    if (last > 0 && (replay->fold.events >= last || (own && event->run_seq > last)))
        return false;
    if (reader->at.time_us > 0 && event->time_us > reader->at.time_us)
        return false;
    run_fold_apply(&replay->fold, event, reader->arena);
    replay->events_read++;
    if (own && event->run_seq % REPLAY_SNAPSHOT_EVENTS == 0)
        note_snapshot(replay, reader->arena);
    return true;
}

static enum rc from_snapshot(struct db *db, struct replay *replay, const struct replay_moment *at,
                             struct arena *arena, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct run_snapshot_row row;
    const struct run_snapshot_place place = {
        .version = RUN_FOLD_VERSION,
        .sequence_max = at->sequence > 0 ? at->sequence : INT64_MAX,
        .time_max_us = at->time_us > 0 ? at->time_us : INT64_MAX,
    };
    enum rc rc = run_snapshots_latest(db, &replay->fold.run_id, &place, arena, &row, err);
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        return RC_OK;
    }
    struct run_fold fold = {.run_id = replay->fold.run_id};
    if (rc == RC_OK)
        rc = js_parse(row.snapshot.at, row.snapshot.len, &tree, err);
    if (rc == RC_OK)
        rc = run_fold_read(tree, arena, &fold, err);
    if (rc == RC_OK) {
        replay->fold = fold;
        replay->from_sequence = row.sequence_no;
    }
    return rc;
}

enum rc replay_run(struct db *db, const struct id *run_id, const struct replay_options *options,
                   struct arena *arena, struct replay *ret_replay, struct err *err)
{
    struct replay *replay = ret_replay;
    *replay = (struct replay){0};
    run_fold_begin(&replay->fold, run_id);
    enum rc rc = run_diagnostics_removed(db, run_id, &replay->removed, err);
    if (rc == RC_OK && !options->from_start)
        rc = from_snapshot(db, replay, &options->at, arena, err);
    if (rc != RC_OK)
        return rc;
    struct reader reader = {replay, options->at, arena};
    const struct replay_walk walk = {
        .run_id = *run_id, .after_seq = replay->fold.seq, .see = see_event, .ctx = &reader};
    rc = replay_walk(db, &walk, err);
    if (rc == RC_OK && replay->fold.events == 0)
        return err_set(err, RC_NOT_FOUND, "RUN_NOT_FOUND",
                       "run %s had no event yet at that moment; without `at` it is shown as it is",
                       run_id->text);
    return rc;
}

void replay_of_row(const struct run_row *run, struct run_fold *ret_fold)
{
    *ret_fold = (struct run_fold){
        .run_id = run->id,
        .status = run->status,
        .run_no = run->run_no,
        .attempt = run->attempt,
        .requested_by = run->requested_by,
        .task_type = run->task_type,
        .branch = run->branch,
        .base_commit = run->base_commit,
        .agent = run->agent,
        .account = run->account,
        .model = run->model,
        .step = run->step,
        .prompt_sha256 = run->prompt_sha256,
        .plan_sha256 = run->plan_sha256,
        .certificate_sha256 = run->certificate_sha256,
        .turns = run->turns,
        .tokens_in = run->tokens_in,
        .tokens_out = run->tokens_out,
        .cost_microusd = run->cost_microusd,
        .patch_id = run->patch_id,
        .patch_sha256 = run->patch_sha256,
        .question_id = run->question_id,
        .pull_request_id = run->pull_request_id,
        .error_code = run->error_code,
        .error_message = run->error_message,
        .deferred_reason = run->deferred_reason,
        .paused = run->paused_us > 0,
        .lost = run->lost,
        .queued_us = run->queued_us,
        .started_us = run->started_us,
        .ended_us = run->ended_us,
        .events = run->event_seq,
        .last_event_id = run->last_event_id,
    };
}
