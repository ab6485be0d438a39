#include "store/issue_events.h"
#include "base/js.h"
#include "base/js_peek.h"
#include "store/query.h"
#include "store/shapes.h"
#include <stdlib.h>
#include <string.h>

/* A correlation that drover gave comes before one that follows from the issue's name. */
static const struct sql sql_list = {
    "issue_event_list",
    "SELECT {columns} FROM event_log WHERE seq > $2 AND (issue_id = $1"
    " OR {event_correlation} = (SELECT {event_correlation} FROM event_log WHERE issue_id = $1"
    "  ORDER BY correlation_id IS NULL, seq LIMIT 1))"
    " ORDER BY seq LIMIT $3",
    "tii",
};
/* Issue by issue, each in order. */
static const struct sql sql_work = {
    "issue_event_work",
    "SELECT issue_id, type, time_us, data FROM event_log WHERE issue_id IS NOT NULL"
    " ORDER BY issue_id, seq LIMIT $1",
    "i",
};

enum rc issue_events_list(struct db *db, const struct issue_page *page, struct arena *arena,
                          struct event **ret_events, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(page->issue_id), P_INT(page->after_seq), P_LIMIT(page->limit)),
                     &event_shape, arena, ret_events, ret_count, err);
}

static const char *agent_of(struct str data, struct arena *arena)
{
    CLEANUP(js_freep) struct js *value = NULL;
    struct str raw = data.len > 0 && data.at[0] == '{' ? js_peek(data, "agentId") : (struct str){0};
    if (raw.len == 0 || js_parse(raw.at, raw.len, &value, NULL) != RC_OK)
        return NULL;
    return arena_strdup(arena, js_str(value, NULL));
}

struct lifecycle_event issue_event_of(const struct event *event, struct arena *arena)
{
    struct lifecycle_event step = {.agent_id = agent_of(event->data, arena),
                                   .time_us = event->time_us};
    if (!issue_kind_guess(event->type, &step.kind))
        step.kind = ISSUE_EV_COUNT;
    return step;
}

/* ---- the work of agents ---- */

struct tally {
    struct arena *arena;      /* Of the answer. */
    struct arena scratch;     /* For one event, */
    struct arena issue_arena; /* and for one issue. */
    struct lifecycle life;    /* Of the issue that is read. */
    char issue[EVENT_ISSUE_MAX + 1];
    struct agent_work *work; /* AGENT_WORK_MAX of them. */
    size_t count;
    bool all;
};

static struct agent_work *work_of(struct tally *tally, const char *agent)
{
    for (size_t i = 0; i < tally->count; i++)
        if (strcmp(tally->work[i].agent_id, agent) == 0)
            return &tally->work[i];
    if (tally->count == AGENT_WORK_MAX)
        return NULL;
    tally->work[tally->count].agent_id = arena_strdup(tally->arena, agent);
    return &tally->work[tally->count++];
}

static void end_issue(struct tally *tally)
{
    int64_t work_us = lifecycle_work_us(&tally->life);
    if (work_us >= 0 && !text_empty(tally->life.assigned_to)) {
        struct agent_work *work = work_of(tally, tally->life.assigned_to);
        if (work == NULL) {
            tally->all = false;
        } else {
            work->issues++;
            work->total_us += work_us;
        }
    }
    tally->life = (struct lifecycle){0};
    arena_reset(&tally->issue_arena);
}

static void take_row(struct tally *tally, struct rows *rows)
{
    const char *issue = row_text(rows, 0);
    if (strcmp(issue, tally->issue) != 0) {
        end_issue(tally);
        text_copy(tally->issue, sizeof tally->issue, issue);
    }
    arena_reset(&tally->scratch);
    const char *type = row_dup(rows, 1, &tally->scratch);
    enum issue_kind kind;
    if (!issue_kind_guess(type, &kind))
        return;
    const struct lifecycle_event event = {
        .kind = kind,
        .agent_id = agent_of(row_bytes(rows, 3, &tally->scratch), &tally->scratch),
        .time_us = row_int(rows, 2),
    };
    lifecycle_apply(&tally->life, &event, &tally->issue_arena);
}

/* By average, then by name. */
static int by_speed(const void *a, const void *b)
{
    const struct agent_work *x = a, *y = b;
    double left = (double)x->total_us / (double)x->issues;
    double right = (double)y->total_us / (double)y->issues;
    if (left != right)
        return left < right ? -1 : 1;
    return strcmp(x->agent_id, y->agent_id);
}

static enum rc read_all(struct tally *tally, struct db *db, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    int64_t read = 0;
    enum rc rc = db_query(db, &sql_work, P_LIST(P_LIMIT(AGENT_WORK_EVENTS_MAX + 1)), &rows, err);
    while (rc == RC_OK && (rc = rows_next(&rows, err)) == RC_OK) {
        if (read++ == AGENT_WORK_EVENTS_MAX) {
            tally->all = false;
            break;
        }
        take_row(tally, &rows);
    }
    end_issue(tally);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc issue_events_work(struct db *db, struct arena *arena, struct agent_work **ret_work,
                          size_t *ret_count, bool *ret_all, struct err *err)
{
    struct tally tally = {.arena = arena, .all = true};
    tally.work = arena_array(arena, AGENT_WORK_MAX, sizeof *tally.work);
    enum rc rc = read_all(&tally, db, err);
    arena_release(&tally.scratch);
    arena_release(&tally.issue_arena);
    if (rc != RC_OK)
        return rc;
    if (tally.count > 0)
        qsort(tally.work, tally.count, sizeof *tally.work, by_speed);
    *ret_work = tally.work;
    *ret_count = tally.count;
    *ret_all = tally.all;
    return RC_OK;
}
