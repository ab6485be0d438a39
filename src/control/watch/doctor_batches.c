#include "control/watch/doctor_batches.h"
#include "control/run/run_batch.h"
#include "store/batches.h"
#include "store/timers.h"

enum { OPEN_MAX = 1000, NEWEST_MAX = 200 };

static void found(struct doctor_check *check, struct arena *arena, const struct batch_row *batch,
                  const char *what)
{
    if (check->bad++ == 0)
        check->first = arena_printf(arena, "batch %s (%s): %s", batch->id.text,
                                    batch_status_name(batch->status), what);
}

static enum rc has_timer(struct db *db, const struct batch_row *batch, struct arena *scratch,
                         bool *ret_has, struct err *err)
{
    struct timer_row *timers;
    size_t count;
    enum rc rc = timers_of(db, &batch->id, scratch, &timers, &count, err);
    *ret_has = false;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        *ret_has |= text_same(timers[i].kind, TIMER_BATCH) ||
                    text_same(timers[i].kind, TIMER_BATCH_NET);
    return rc;
}

static enum rc examine_open(struct db *db, struct arena *arena, const struct batch_row *batch,
                            struct doctor_check *check, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct batch_counts counts;
    bool has;
    enum rc rc = has_timer(db, batch, &scratch, &has, err);
    if (rc == RC_OK)
        rc = batches_counts(db, &batch->id, &counts, err);
    if (rc != RC_OK)
        return rc;
    if (!has)
        found(check, arena, batch, "no timer moves it on");
    else if (!batch_goes_on(batch->status) && counts.of[PHASE_WAITING] > 0)
        found(check, arena, batch, "members wait in it");
    return RC_OK;
}

static enum rc examine_members(struct db *db, struct arena *arena, const struct batch_row *batch,
                               struct doctor_check *check, struct err *err)
{
    int64_t strays = 0;
    enum rc rc = batches_strays(db, &batch->id, &strays, err);
    if (rc == RC_OK && strays > 0)
        found(check, arena, batch, "members and tasks do not belong to each other");
    return rc;
}

enum rc doctor_batches(struct db *db, struct arena *arena, struct doctor_check *check,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena page = {0};
    const struct batch_filter newest = {.status = -1, .limit = NEWEST_MAX};
    struct batch_row *rows;
    size_t count;
    enum rc rc = batches_open(db, OPEN_MAX, &page, &rows, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = examine_open(db, arena, &rows[i], check, err);
    if (rc == RC_OK)
        rc = batches_list(db, &newest, &page, &rows, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = examine_members(db, arena, &rows[i], check, err);
    if (rc == RC_OK)
        check->looked_at += (int64_t)count;
    return rc;
}
