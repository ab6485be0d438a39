#include "control/watch/doctor_metrics.h"
#include "core/event_types.h"
#include "core/run/run.h"
#include "store/events.h"
#include "store/retention_sums.h"
#include "store/runs.h"
#include "store/trains.h"
#include <string.h>

enum { COUNTER_QUEUED, COUNTER_LANDED, COUNTER_REJECTED, COUNTER_ENDS };

static const char *const types[DOCTOR_COUNTED] = {
    [COUNTER_QUEUED] = EV_RUN_QUEUED,       [COUNTER_LANDED] = EV_TRAIN_LANDED,
    [COUNTER_REJECTED] = EV_TRAIN_REJECTED, [COUNTER_ENDS] = EV_RUN_COMPLETED,
    [COUNTER_ENDS + 1] = EV_RUN_FAILED,     [COUNTER_ENDS + 2] = EV_RUN_CANCELLED,
    [COUNTER_ENDS + 3] = EV_RUN_TIMED_OUT,
};
static const enum run_status ends[] = {RUN_COMPLETED, RUN_FAILED, RUN_CANCELLED, RUN_TIMED_OUT};

const char *doctor_counted_type(int at)
{
    return types[at];
}

int doctor_counted(const char *type)
{
    for (int i = 0; i < DOCTOR_COUNTED; i++)
        if (strcmp(types[i], type) == 0)
            return i;
    return -1;
}

struct counters {
    int64_t log[DOCTOR_COUNTED], rows[DOCTOR_COUNTED];
};

static enum rc read_rows(struct db *db, struct counters *counters, struct err *err)
{
    struct run_counts runs;
    struct train_counts trains;
    enum rc rc = runs_count(db, &runs, err);
    if (rc == RC_OK)
        rc = trains_count(db, &trains, err);
    if (rc != RC_OK)
        return rc;
    for (int i = 0; i < RUN_STATUS_COUNT; i++)
        counters->rows[COUNTER_QUEUED] += runs.by_status[i];
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        counters->rows[COUNTER_ENDS + i] = runs.by_status[ends[i]];
    counters->rows[COUNTER_LANDED] = trains.landed;
    counters->rows[COUNTER_REJECTED] = trains.rejected;
    return RC_OK;
}

/* What retention has deleted counts on both sides. */
static enum rc add_expired(struct db *db, struct counters *counters, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct retention_sum *sums;
    size_t count;
    enum rc rc = retention_sums_list(db, RETENTION_LOG, &arena, &sums, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        int at = doctor_counted(sums[i].name + strlen(RETENTION_LOG));
        if (at >= 0)
            counters->log[at] += sums[i].value;
    }
    if (rc == RC_OK)
        rc = retention_sums_list(db, RETENTION_RUNS, &arena, &sums, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        counters->rows[COUNTER_QUEUED] += sums[i].value;
        for (size_t j = 0; j < COUNT_OF(ends); j++)
            if (text_same(sums[i].name + strlen(RETENTION_RUNS), run_status_name(ends[j])))
                counters->rows[COUNTER_ENDS + j] += sums[i].value;
    }
    return rc;
}

enum rc doctor_metrics(struct db *db, struct arena *arena, struct doctor_check *ret_check,
                       struct err *err)
{
    struct doctor_check check = {
        .name = "metrics",
        .title = "Counters of metrics are what the log adds up to",
    };
    struct counters counters = {0};
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = events_count_types(db, types, DOCTOR_COUNTED, counters.log, err);
    if (rc == RC_OK)
        rc = read_rows(db, &counters, err);
    if (rc == RC_OK)
        rc = add_expired(db, &counters, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < DOCTOR_COUNTED; i++) {
        check.looked_at++;
        if (counters.log[i] != counters.rows[i] && check.bad++ == 0)
            check.first = arena_printf(arena, "%lld events %s, and %lld in the metrics",
                                       (long long)counters.log[i], types[i],
                                       (long long)counters.rows[i]);
    }
    *ret_check = check;
    return RC_OK;
}
