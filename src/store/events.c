/*
 * events.c - the append-only log.
 *
 * Events of a run are found through the index of its task: a task has few runs, and the events
 * of the task itself are then read in the same order, without a merge.
 * Types, tags and severities are matched here, not in SQL: rows are read page by page until the
 * limit is filled, the window of the scan or the log ends.  Times do not have to follow the order
 * of the log; the index over them gives places that lie well before and behind, and the walk stays
 * between them.
 */
#include "store/events.h"
#include "base/js.h"
#include "base/js_peek.h"
#include "store/query.h"
#include "store/shapes.h"
#include <assert.h>
#include <string.h>

enum { PAGE_ROWS = 500 };
/* Of event_columns: to match a row before all of it is read. */
enum { TYPE_COLUMN = 2, TAGS_COLUMN = 16, SOURCE_COLUMN = 18, ATTRIBUTES_COLUMN = 20 };

static const struct column event_columns[] = {
    COLUMN(struct event, seq, COLUMN_KEY),
    COLUMN(struct event, id, COLUMN_NEW),
    COLUMN(struct event, type, COLUMN_NEW),
    COLUMN(struct event, version, COLUMN_NEW),
    COLUMN(struct event, workspace_id, COLUMN_NEW),
    COLUMN(struct event, task_id, COLUMN_NEW),
    COLUMN(struct event, run_id, COLUMN_NEW),
    COLUMN(struct event, attempt_id, COLUMN_NEW),
    COLUMN(struct event, subject, COLUMN_NEW),
    COLUMN(struct event, time_us, COLUMN_NEW),
    COLUMN(struct event, run_seq, COLUMN_NEW),
    COLUMN(struct event, correlation_id, COLUMN_NEW),
    COLUMN(struct event, causation_id, COLUMN_NEW),
    COLUMN_AS(struct event, actor.type, "actor_type", COLUMN_NEW),
    COLUMN_AS(struct event, actor.id, "actor_id", COLUMN_NEW),
    COLUMN(struct event, traceparent, COLUMN_NEW),
    COLUMN(struct event, tags, COLUMN_NEW),
    COLUMN(struct event, data, COLUMN_NEW),
    COLUMN(struct event, source, COLUMN_NEW),
    COLUMN(struct event, source_id, COLUMN_NEW),
    COLUMN(struct event, attributes, COLUMN_NEW),
};
const struct shape event_shape = SHAPE("event", struct event, event_columns);

static const struct row_sql sql_append = {
    "event_append",
    "INSERT INTO event_log {values}",
    &event_shape,
    COLUMN_NEW,
};

/* Of appended ones: source and id name an event (event_source). */
static const struct row_sql sql_append_once = {
    "event_append_once",
    "INSERT INTO event_log {values}"
    " ON CONFLICT (source, source_id) WHERE source IS NOT NULL DO NOTHING",
    &event_shape,
    COLUMN_NEW,
};
static const struct sql sql_find_source = {
    "event_find_source",
    "SELECT seq FROM event_log WHERE source = $1 AND source_id = $2",
    "tt",
};

/* Of events whose data name an issue: few, so that the others cost nothing. */
static const struct sql sql_issue = {
    "event_issue",
    "UPDATE event_log SET issue_id = $2 WHERE id = $1",
    "tt",
};

/* $1 after, $2 the last place, $3 since, $4 until, $5 the subject of the list, $6 rows. */
#define EVENT_LIST(where)                                          \
    "SELECT {columns} FROM event_log WHERE seq > $1 AND seq <= $2" \
    " AND time_us >= $3 AND time_us < $4" where " ORDER BY seq LIMIT $6"
#define TASK_OF_RUN " AND task_id = (SELECT task_id FROM runs WHERE id = $5)"

static const struct sql sql_list_all = {
    "event_list_all",
    EVENT_LIST(" AND $5 IS NULL"),
    "iiiiti",
};
static const struct sql sql_list_run = {
    "event_list_run",
    EVENT_LIST(TASK_OF_RUN " AND run_id = $5"),
    "iiiiti",
};
static const struct sql sql_list_run_and_task = {
    "event_list_run_and_task",
    EVENT_LIST(TASK_OF_RUN " AND (run_id = $5 OR run_id IS NULL)"),
    "iiiiti",
};
static const struct sql sql_list_task = {
    "event_list_task",
    EVENT_LIST(" AND task_id = $5"),
    "iiiiti",
};
/* The places in the log next to a time, one index lookup each. */
static const struct sql sql_place_before = {
    "event_place_before",
    "SELECT seq FROM event_log WHERE time_us < $1 ORDER BY time_us DESC, seq DESC LIMIT 1",
    "i",
};
static const struct sql sql_place_after = {
    "event_place_after",
    "SELECT seq FROM event_log WHERE time_us >= $1 ORDER BY time_us, seq LIMIT 1",
    "i",
};
/* The window of a scan (scan.h) of a task's events, or a run's. */
#define EVENT_WALK(task)                                                                   \
    "SELECT seq FROM event_log WHERE task_id = " task " AND seq > $2 ORDER BY seq LIMIT 1" \
    " OFFSET $3"
static const struct sql sql_walk_task = {"event_walk_task", EVENT_WALK("$1"), "tii"};
static const struct sql sql_walk_run = {
    "event_walk_run",
    EVENT_WALK("(SELECT task_id FROM runs WHERE id = $1)"),
    "tii",
};
static const struct sql sql_count_types = {
    "event_count_types",
    "SELECT type, count(*) FROM event_log WHERE source IS NULL AND type IN"
    " ($1, $2, $3, $4, $5, $6, $7, $8) GROUP BY type",
    "tttttttt",
};
static const struct sql sql_last_seq = {
    "event_last_seq",
    "SELECT coalesce(max(seq), 0) FROM event_log",
    "",
};

static const struct sql sql_lag = {
    "event_lag",
    "SELECT (SELECT coalesce(max(seq), 0) FROM event_log),"
    " (SELECT time_us FROM event_log WHERE seq > $1 ORDER BY seq LIMIT 1)",
    "i",
};

/* data.issueId, a text or a number, as text; NULL: there is none. */
static const char *issue_of(const struct event *event, struct arena *arena)
{
    static const char key[] = "\"issueId\"";
    CLEANUP(js_freep) struct js *value = NULL;
    const struct str data = event->data;
    if (data.len == 0 || data.at[0] != '{' ||
        memmem(data.at, data.len, key, sizeof key - 1) == NULL)
        return NULL;
    struct str raw = js_peek(data, "issueId");
    if (raw.len == 0 || js_parse(raw.at, raw.len, &value, NULL) != RC_OK)
        return NULL;
    const char *text = NULL;
    if (js_type(value) == JS_STRING)
        text = js_str(value, "");
    else if (js_type(value) == JS_INT)
        text = arena_printf(arena, "%lld", (long long)js_int(value, 0));
    if (text == NULL || text[0] == '\0' || strlen(text) > EVENT_ISSUE_MAX)
        return NULL;
    return arena_strdup(arena, text);
}

static enum rc note_issue(struct db *db, const struct event *event, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *issue = issue_of(event, &arena);
    int64_t changed; /* Asked for, so that the text need not outlive this call. */
    return issue == NULL
               ? RC_OK
               : db_exec(db, &sql_issue, P_LIST(P_ID(&event->id), P_TEXT(issue)), &changed, err);
}

enum rc events_append(struct db *db, const struct event *event, struct err *err)
{
    enum rc rc = row_exec(db, &sql_append, event, NULL, err);
    return rc == RC_OK ? note_issue(db, event, err) : rc;
}

enum rc events_append_once(struct db *db, const struct event *event, bool *ret_new, struct err *err)
{
    int64_t changed = 0;
    assert(event->source != NULL && event->source_id != NULL);
    enum rc rc = row_exec(db, &sql_append_once, event, &changed, err);
    if (rc == RC_OK && changed > 0)
        rc = note_issue(db, event, err);
    if (rc == RC_OK)
        *ret_new = changed > 0;
    return rc;
}

enum rc events_find_source(struct db *db, const struct event *event, int64_t *ret_seq,
                           struct err *err)
{
    return query_int(db, &sql_find_source, P_LIST(P_TEXT(event->source), P_TEXT(event->source_id)),
                     ret_seq, err);
}

static const struct sql *list_fields(const struct event_filter *filter)
{
    if (!id_is_none(&filter->run_id))
        return filter->with_task ? &sql_list_run_and_task : &sql_list_run;
    return id_is_none(&filter->task_id) ? &sql_list_all : &sql_list_task;
}

/* What is left to read: after < seq <= last. */
struct span {
    int64_t after_seq, last_seq;
    int64_t since_us, until_us;
};

/* Leaves out what lies before the last event that is surely too early, and behind the first one
   that is surely too late. */
static enum rc span_narrow(struct db *db, struct span *span, struct err *err)
{
    int64_t seq = 0;
    enum rc rc = RC_OK;
    if (span->since_us > EVENT_SKEW_US)
        rc = query_int(db, &sql_place_before, P_LIST(P_INT(span->since_us - EVENT_SKEW_US)), &seq,
                       err);
    if (rc == RC_OK && seq > span->after_seq)
        span->after_seq = seq;
    if ((rc != RC_OK && rc != RC_NOT_FOUND) || span->until_us > INT64_MAX - EVENT_SKEW_US)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    rc = query_int(db, &sql_place_after, P_LIST(P_INT(span->until_us + EVENT_SKEW_US)), &seq, err);
    if (rc == RC_OK && seq < span->last_seq)
        span->last_seq = seq;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* Ends the span where the scan has to; *ret_end is that place, or 0. */
static enum rc span_limit(struct db *db, const struct event_filter *filter, struct span *span,
                          int64_t *ret_end, struct err *err)
{
    int64_t rows_max = filter->scan->rows_max, end;
    assert(rows_max > 0);
    bool of_run = !id_is_none(&filter->run_id);
    enum rc rc = RC_OK;
    if (!of_run && id_is_none(&filter->task_id)) /* Numbers of events have few gaps. */
        end = span->after_seq <= INT64_MAX - rows_max ? span->after_seq + rows_max : INT64_MAX;
    else
        rc = query_int(db, of_run ? &sql_walk_run : &sql_walk_task,
                       P_LIST(P_ID(of_run ? &filter->run_id : &filter->task_id),
                              P_INT(span->after_seq), P_INT(rows_max - 1)),
                       &end, err);
    if (rc != RC_OK || end >= span->last_seq)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    span->last_seq = *ret_end = end;
    return RC_OK;
}

/* Is there more of the log behind the end of the scan? */
static enum rc any_behind(struct db *db, int64_t *end, struct err *err)
{
    int64_t last;
    enum rc rc = *end == 0 ? RC_OK : events_last_seq(db, &last, err);
    if (rc == RC_OK && *end != 0 && last <= *end)
        *end = 0;
    return rc;
}

static bool narrows(const struct event_filter *filter)
{
    return filter->type_pattern != NULL ||
           (filter->selector != NULL && event_selector_narrows(filter->selector));
}

static bool row_matches(struct rows *rows, const struct event_filter *filter)
{
    const char *type = row_text(rows, TYPE_COLUMN);
    if (filter->type_pattern != NULL && !event_type_match(filter->type_pattern, type))
        return false;
    if (filter->selector == NULL)
        return true;
    const struct event outline = {.type = type,
                                  .source = row_text(rows, SOURCE_COLUMN),
                                  .attributes = str_of(row_text(rows, ATTRIBUTES_COLUMN))};
    const struct event_traits traits = {type, row_text(rows, TAGS_COLUMN),
                                        event_severity_of(&outline)};
    return event_selector_match(filter->selector, &traits);
}

/* Adds what matches of the next rows_max events; *ret_more: the page was full. */
static enum rc page_read(struct db *db, const struct event_filter *filter, struct span *span,
                         struct arena *arena, struct row_list *list, bool *ret_more,
                         struct err *err)
{
    const struct id *subject = id_is_none(&filter->run_id) ? &filter->task_id : &filter->run_id;
    int64_t rows_max = narrows(filter) ? PAGE_ROWS : filter->limit;
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query_as(db, list_fields(filter), &event_shape,
                             P_LIST(P_INT(span->after_seq), P_INT(span->last_seq),
                                    P_INT(span->since_us), P_INT(span->until_us), P_ID(subject),
                                    P_INT(rows_max)),
                             &rows, err);
    if (rc != RC_OK)
        return rc;
    int64_t seen = 0;
    while ((int64_t)list->count < filter->limit && (rc = rows_next(&rows, err)) == RC_OK) {
        seen++;
        span->after_seq = row_int(&rows, 0);
        if (!row_matches(&rows, filter))
            continue;
        struct event *event = row_list_add(list, sizeof *event, arena);
        rc = read_columns(&event_shape, &(struct row_reader){.rows = &rows, .arena = arena}, event,
                          err);
        if (rc != RC_OK)
            return rc;
    }
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_more = seen == rows_max;
    return RC_OK;
}

enum rc events_list(struct db *db, const struct event_filter *filter, struct arena *arena,
                    struct event **ret_events, size_t *ret_count, struct err *err)
{
    assert(filter->limit > 0);
    struct span span = {
        .after_seq = filter->after_seq,
        .last_seq = filter->until_seq == 0 ? INT64_MAX : filter->until_seq,
        .since_us = filter->since_us,
        .until_us = filter->until_us == 0 ? INT64_MAX : filter->until_us,
    };
    bool of_all = id_is_none(&filter->run_id) && id_is_none(&filter->task_id);
    bool timed = filter->since_us != 0 || filter->until_us != 0;
    bool filtered = timed || narrows(filter) || !id_is_none(&filter->run_id);
    int64_t end = 0;
    enum rc rc = of_all && timed ? span_narrow(db, &span, err) : RC_OK;
    if (rc == RC_OK && filter->scan != NULL && filtered)
        rc = span_limit(db, filter, &span, &end, err);
    struct row_list list = {0};
    bool more = true;
    while (rc == RC_OK && more && (int64_t)list.count < filter->limit)
        rc = page_read(db, filter, &span, arena, &list, &more, err);
    if (rc == RC_OK && (int64_t)list.count < filter->limit)
        rc = any_behind(db, &end, err);
    if (rc != RC_OK)
        return rc;
    if (filter->scan != NULL)
        filter->scan->end_seq = (int64_t)list.count < filter->limit ? end : 0;
    *ret_events = list.rows;
    *ret_count = list.count;
    return RC_OK;
}

enum rc events_count_types(struct db *db, const char *const *types, size_t count,
                           int64_t *ret_counts, struct err *err)
{
    struct param params[EVENT_TYPES_COUNTED];
    assert(count <= EVENT_TYPES_COUNTED);
    for (size_t i = 0; i < EVENT_TYPES_COUNTED; i++)
        params[i] = P_TEXT(i < count ? types[i] : NULL);
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_count_types, params, EVENT_TYPES_COUNTED, &rows, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < count; i++)
        ret_counts[i] = 0;
    while ((rc = rows_next(&rows, err)) == RC_OK)
        for (size_t i = 0; i < count; i++)
            if (text_same(types[i], row_text(&rows, 0)))
                ret_counts[i] = row_int(&rows, 1);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

enum rc events_last_seq(struct db *db, int64_t *ret_seq, struct err *err)
{
    return query_int(db, &sql_last_seq, NULL, 0, ret_seq, err);
}

enum rc events_lag(struct db *db, int64_t after_seq, struct event_lag *ret_lag, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_lag, P_LIST(P_INT(after_seq)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc != RC_OK)
        return rc;
    int64_t last = row_int(&rows, 0);
    *ret_lag = (struct event_lag){.places = last > after_seq ? last - after_seq : 0,
                                  .first_us = row_int(&rows, 1)};
    return RC_OK;
}
