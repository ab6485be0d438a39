#include "control/watch/doctor_log.h"
#include "control/watch/replay.h"
#include "store/run_diagnostics.h"

enum { HISTORY_PAGE = 100 };

struct reading {
    struct run_fold fold;
    struct arena *arena;
    struct run_snapshot_row *snapshots;
    size_t snapshot_count, next; /* Next: to be compared. */
    bool disorder;
    int64_t seen;      /* Events of the run. */
    const char *stale; /* The first snapshot that differs. */
};

/* A snapshot of this version is what the fold is at its place; as text, so that no member is left
   out. */
static void compare_snapshot(struct reading *reading)
{
    const struct run_snapshot_row *row = &reading->snapshots[reading->next];
    CLEANUP(js_freep) struct js *tree = NULL;
    struct run_fold stored = {.run_id = reading->fold.run_id};
    bool same = js_parse(row->snapshot.at, row->snapshot.len, &tree, NULL) == RC_OK &&
                run_fold_read(tree, reading->arena, &stored, NULL) == RC_OK &&
                row->log_seq == reading->fold.seq && row->time_us == reading->fold.time_us;
    if (same) {
        struct str now = replay_snapshot_text(&reading->fold, reading->arena);
        struct str then = replay_snapshot_text(&stored, reading->arena);
        same = str_same(now, then);
    }
    if (!same && reading->stale == NULL)
        reading->stale = arena_printf(reading->arena,
                                      "its snapshot at event %lld differs from its events",
                                      (long long)row->sequence_no);
}

static bool see_event(void *ctx, const struct event *event)
{
    struct reading *reading = ctx;
    bool own = id_same(&event->run_id, &reading->fold.run_id);
    reading->disorder |= own && event->run_seq <= reading->fold.events;
    reading->seen += own;
    run_fold_apply(&reading->fold, event, reading->arena);
    while (own && reading->next < reading->snapshot_count &&
           reading->snapshots[reading->next].sequence_no <= event->run_seq) {
        if (reading->snapshots[reading->next].version == RUN_FOLD_VERSION)
            compare_snapshot(reading);
        reading->next++;
    }
    return true;
}

enum rc doctor_log(struct db *db, const struct run_row *run, struct arena *arena,
                   struct log_findings *ret_findings, struct err *err)
{
    struct reading reading = {.arena = arena};
    int64_t removed = 0;
    run_fold_begin(&reading.fold, &run->id);
    enum rc rc = run_snapshots_of(db, &run->id, arena, &reading.snapshots, &reading.snapshot_count,
                                  err);
    if (rc == RC_OK)
        rc = run_diagnostics_removed(db, &run->id, &removed, err);
    const struct replay_walk walk = {.run_id = run->id, .see = see_event, .ctx = &reading};
    if (rc == RC_OK)
        rc = replay_walk(db, &walk, err);
    if (rc != RC_OK)
        return rc;
    struct log_findings findings = {.snapshot = reading.stale};
    if (reading.disorder || reading.fold.events != run->event_seq ||
        reading.seen + removed != run->event_seq)
        findings.sequence = "its events have a gap";
    struct run_fold row;
    const char *detail = NULL;
    replay_of_row(run, &row);
    const char *member = run_fold_differs(&reading.fold, &row, arena, &detail);
    if (member != NULL)
        findings.fold = arena_printf(arena, "%s: %s", member, detail);
    *ret_findings = findings;
    return RC_OK;
}

/* ---- all runs ---- */

static void note(struct doctor_check *check, const struct run_row *run, const char *what,
                 struct arena *arena)
{
    if (what != NULL && check->bad++ == 0)
        check->first = arena_printf(arena, "run %s (%s): %s", run->id.text,
                                    run_status_name(run->status), what);
}

static enum rc examine_page(struct db *db, struct run_filter *filter, struct arena *arena,
                            struct doctor_check *check, size_t *ret_count, struct err *err)
{
    CLEANUP(arena_release) struct arena page = {0};
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(tx_abort) struct tx tx = {0};
    struct run_row *rows;
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = runs_list(db, filter, &page, &rows, ret_count, err);
    for (size_t i = 0; rc == RC_OK && i < *ret_count; i++) {
        struct log_findings findings = {0};
        rc = doctor_log(db, &rows[i], &scratch, &findings, err);
        if (rc != RC_OK)
            return rc;
        check->looked_at++;
        note(check, &rows[i], findings.fold, arena);
        filter->before = rows[i].id;
        arena_reset(&scratch);
    }
    return rc;
}

enum rc doctor_history(struct db *db, struct arena *arena, struct doctor_check *ret_check,
                       struct err *err)
{
    struct doctor_check check = {
        .name = "history",
        .title = "The events of every run since the beginning fold to its row",
    };
    struct run_filter filter = {.status = -1, .limit = HISTORY_PAGE};
    enum rc rc = RC_OK;
    for (size_t count = HISTORY_PAGE; rc == RC_OK && count == HISTORY_PAGE;)
        rc = examine_page(db, &filter, arena, &check, &count, err);
    if (rc == RC_OK)
        *ret_check = check;
    return rc;
}
