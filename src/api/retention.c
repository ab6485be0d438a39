/*
 * retention.c - how long things are kept, what was deleted, and what is kept past its time:
 * GET /v1/retention.
 */
#include "api/routes.h"
#include "base/clock.h"
#include "core/run/expiry.h"
#include "store/events.h"
#include "store/expiry.h"
#include "store/retention_sums.h"
#include <string.h>

static void write_rules(struct jw *jw, const struct expiry_rules *rules)
{
    const struct {
        const char *key;
        int64_t us;
    } kinds[] = {
        {"tasksDays", rules->tasks_us},
        {"unpublishedDays", rules->unpublished_us},
        {"jobsDays", rules->jobs_us},
        {"eventsDays", rules->events_us},
        {"diagnosticsDays", rules->diagnostics_us},
        {"deliveriesDays", rules->deliveries_us},
        {"deadLettersDays", rules->dead_letters_us},
        {"unreadDays", rules->unread_us},
    };
    jw_key(jw, "rules");
    jw_begin(jw, '{');
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        jw_kint(jw, kinds[i].key, kinds[i].us / US_PER_DAY);
    jw_end(jw, '}');
}

static const struct retention_sum *find(const struct retention_sum *sums, size_t count,
                                        const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(sums[i].name, name) == 0)
            return &sums[i];
    return NULL;
}

static int64_t value_of(const struct retention_sum *sums, size_t count, const char *name)
{
    const struct retention_sum *sum = find(sums, count, name);
    return sum != NULL ? sum->value : 0;
}

static void write_round(struct jw *jw, const struct retention_sum *sums, size_t count)
{
    int64_t ended_us = value_of(sums, count, MARK_ROUND_US);
    jw_key(jw, "lastRound");
    if (ended_us == 0) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_ktime(jw, "endedAt", ended_us);
    jw_kint(jw, "tookMs", value_of(sums, count, MARK_ROUND_TOOK_US) / US_PER_MS);
    jw_end(jw, '}');
}

static void write_expired(struct jw *jw, const struct retention_sum *sums, size_t count)
{
    size_t prefix = strlen(RETENTION_EXPIRED);
    jw_key(jw, "expired");
    jw_begin(jw, '{');
    for (size_t i = 0; i < count; i++)
        if (text_starts(sums[i].name, RETENTION_EXPIRED))
            jw_kint(jw, sums[i].name + prefix, sums[i].value);
    jw_end(jw, '}');
    jw_kint(jw, "givenBackBytes", value_of(sums, count, MARK_GIVEN_BACK));
    jw_kint(jw, "unreadEvents", value_of(sums, count, MARK_UNREAD));
}

static void write_kept(struct jw *jw, const struct retention_sum *sums, size_t count,
                       struct arena *arena)
{
    jw_key(jw, "kept");
    jw_begin(jw, '[');
    for (int i = 0; i < EXPIRY_KEEP_COUNT; i++) {
        enum expiry_keep keep = (enum expiry_keep)i;
        const struct retention_sum *sum = find(
            sums, count, arena_printf(arena, RETENTION_KEPT "%s", expiry_keep_name(keep)));
        if (sum == NULL || sum->value == 0)
            continue;
        jw_begin(jw, '{');
        jw_kstr(jw, "reason", expiry_keep_name(keep));
        jw_kstr(jw, "meaning", expiry_keep_meaning(keep));
        jw_kint(jw, "tasks", sum->value);
        jw_kstr(jw, "example", sum->note);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

/* Events of tasks that are gone, which wait for a reader of the log. */
static enum rc write_log(struct jw *jw, struct db *db, struct arena *arena, struct err *err)
{
    int64_t waiting = 0, cursor = 0;
    const char *reader = NULL;
    struct event_lag lag = {0};
    enum rc rc = log_unread(db, arena, &cursor, &reader, err);
    bool any = rc == RC_OK;
    if (any)
        rc = expired_tasks_count(db, cursor, &waiting, err);
    if (any && rc == RC_OK)
        rc = events_lag(db, cursor, &lag, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    jw_key(jw, "log");
    jw_begin(jw, '{');
    jw_kint(jw, "expiredTasks", waiting);
    jw_kstr(jw, "slowestReader", any ? reader : NULL);
    jw_kint(jw, "slowestLag", any ? lag.places : 0);
    jw_end(jw, '}');
    return RC_OK;
}

enum rc api_retention(struct call *call, struct db *db, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct retention_sum *sums;
    size_t count = 0;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = retention_sums_list(db, "", arena, &sums, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    write_rules(&jw, &call->api->retention);
    write_round(&jw, sums, count);
    write_expired(&jw, sums, count);
    write_kept(&jw, sums, count, arena);
    rc = write_log(&jw, db, arena, err);
    jw_end(&jw, '}');
    return rc;
}
