#include "api/doctor_syncs.h"
#include "base/clock.h"
#include "control/admit/repo_follow.h"
#include "store/syncs.h"
#include "store/timers.h"
#include <stdlib.h>

enum { SYNCS_PAGE = 100, SYNCS_MAX = 1000 };
/* An outage of the forge is no finding, a repository that is not followed any more is. */
#define FAILING_US US_PER_HOUR

struct syncs_look {
    struct call *call;
    struct db *db;
    struct doctor_check check;
    int64_t now_us;
};

static enum rc has_timer(struct syncs_look *look, const struct id *repository_id, bool *ret_has,
                         struct err *err)
{
    struct timer_row *timers;
    size_t count;
    enum rc rc = timers_of(look->db, repository_id, &look->call->http.arena, &timers, &count, err);
    *ret_has = false;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        *ret_has |= text_same(timers[i].kind, TIMER_SYNC);
    return rc;
}

static enum rc examine(struct syncs_look *look, const struct sync_row *row, struct err *err)
{
    struct arena *arena = &look->call->http.arena;
    const char *wrong = NULL;
    bool followed = false;
    int64_t good_us = row->last_sync_us > 0 ? row->last_sync_us : row->created_us;
    enum rc rc = has_timer(look, &row->repository_id, &followed, err);
    if (rc != RC_OK)
        return rc;
    if (!followed)
        wrong = "its forge is not asked any more: restart the server";
    else if (row->secret != NULL && text_empty(getenv(row->secret)))
        wrong = arena_printf(arena,
                             "this server has no variable %s, so it refuses every delivery of the "
                             "webhook",
                             row->secret);
    else if (row->last_error != NULL && look->now_us - good_us > FAILING_US)
        wrong = arena_printf(arena, "its forge could not be asked for over an hour: %s",
                             row->last_error);
    look->check.looked_at++;
    if (wrong != NULL && look->check.bad++ == 0)
        look->check.first = arena_printf(arena, "repository %s: %s", row->repository, wrong);
    return RC_OK;
}

enum rc doctor_syncs_add(struct call *call, struct db *db, struct doctor_report *report,
                         struct err *err)
{
    struct clock clock = control_clock(call->api->control);
    struct syncs_look look = {
        .call = call,
        .db = db,
        .check =
            {.name = "syncs",
             .title = "Every repository at a hosted forge is followed, by webhooks or polling"},
        .now_us = clock_now_us(&clock),
    };
    const char *after = NULL;
    size_t count = SYNCS_PAGE;
    enum rc rc = RC_OK;
    while (rc == RC_OK && count == SYNCS_PAGE && look.check.looked_at < SYNCS_MAX) {
        struct sync_row *rows;
        rc = syncs_list(db, after, SYNCS_PAGE, &call->http.arena, &rows, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            rc = examine(&look, &rows[i], err);
            after = rows[i].repository_id.text;
        }
    }
    if (rc == RC_OK)
        doctor_add(report, &look.check, &call->http.arena);
    return rc;
}
