/*
 * lifecycle.c - what the log says of an issue, and of the agents that work on issues.
 */
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include "store/issue_events.h"
#include "store/issue_states.h"
#include "store/workspaces.h"
#include <string.h>

enum {
    PAGE_ROWS = 200,
    EVENTS_MAX = 10000,             /* Of one issue; later ones are left out. */
    EVENTS_BYTES_MAX = 1024 * 1024, /* Of them in the answer; the one that passes it is the last. */
    EVENTS_BUF_MAX = 6 * 1024 * 1024,
};

static double seconds(int64_t us)
{
    return (double)us / (double)US_PER_SECOND;
}

struct story {
    struct arena *arena; /* Of the call: for what the life holds. */
    struct lifecycle life;
    struct buf events; /* Joined by commas. */
    bool truncated;    /* Not all events are in it. */
    int64_t count;
    struct id correlation_id;
};

static void story_add(struct story *story, const struct event *event, struct arena *arena)
{
    const struct lifecycle_event step = issue_event_of(event, arena);
    lifecycle_apply(&story->life, &step, story->arena);
    story->count++;
    if (id_is_none(&story->correlation_id))
        story->correlation_id = event->correlation_id;
    if (story->events.len >= EVENTS_BYTES_MAX) {
        story->truncated = true;
        return;
    }
    if (story->events.len > 0)
        buf_adds(&story->events, ",");
    struct jw jw = jw_to(&story->events);
    event_write(&jw, event);
}

/* What the rules see; an issue that was never approved as one has no stage. */
static void write_stage(struct jw *jw, const struct issue_row *row)
{
    const struct issue_life *life = &row->life;
    jw_kstr(jw, "stage", issue_stage_name(life->stage));
    jw_ktime(jw, "stageAt", life->stage_us);
    jw_kstr(jw, "branch", life->branch);
    jw_kstr(jw, "pullRequest", life->pull_request);
    jw_key(jw, "abandonedBranches");
    jw_begin(jw, '[');
    struct str rest = str_of(life->abandoned), line;
    while (str_take_line(&rest, &line))
        jw_strn(jw, line.at, line.len);
    jw_end(jw, ']');
    jw_kbool(jw, "reviewed", life->reviewed);
    jw_kint(jw, "smokeFailures", life->smoke_failures);
    jw_kint(jw, "stuckAgents", life->stuck_agents);
    jw_ktime(jw, "gateOpenSince", life->gate_us);
    jw_kint(jw, "slaSeconds", life->sla_us / US_PER_SECOND);
    jw_kstr(jw, "title", life->title);
    jw_kstr(jw, "repository", life->repository);
    jw_kstr(jw, "milestone", life->milestone);
    jw_kstr(jw, "persona", life->persona);
    jw_kint(jw, "priority", life->priority);
    jw_kraw(jw, "labels", life->labels.len > 0 ? life->labels : STR("[]"));
    jw_kraw(jw, "dependsOn", life->depends_on.len > 0 ? life->depends_on : STR("[]"));
    jw_kstr(jw, "taskId", id_or_null(&life->task_id));
}

static enum rc story_read(struct story *story, struct db *db, const char *issue, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct issue_page page = {.issue_id = issue, .limit = PAGE_ROWS};
    size_t count = PAGE_ROWS;
    enum rc rc = RC_OK;
    while (rc == RC_OK && count == PAGE_ROWS && story->count < EVENTS_MAX) {
        struct event *events = NULL;
        arena_reset(&arena);
        rc = issue_events_list(db, &page, &arena, &events, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            story_add(story, &events[i], &arena);
            page.after_seq = events[i].seq;
        }
    }
    story->truncated |= story->count >= EVENTS_MAX;
    if (rc == RC_OK && story->count == 0)
        return err_set(err, RC_NOT_FOUND, "ISSUE_UNKNOWN",
                       "no event of the log names the issue %s in its data (issueId)", issue);
    return rc;
}

static void write_story(struct jw *jw, const char *issue, const struct story *story,
                        const struct issue_row *row)
{
    const struct lifecycle *life = &story->life;
    int64_t duration_us = lifecycle_duration_us(life);
    jw_begin(jw, '{');
    jw_kstr(jw, "issueId", issue);
    jw_kstr(jw, "correlationId", id_or_null(&story->correlation_id));
    jw_kstr(jw, "status", life->status);
    jw_ktime(jw, "statusAt", life->status_us);
    jw_kstr(jw, "assignedTo", life->assigned_to);
    jw_ktime(jw, "approvedAt", life->approved_us);
    jw_ktime(jw, "doneAt", life->done_us);
    jw_key(jw, "durationSeconds");
    if (duration_us >= 0)
        jw_real(jw, seconds(duration_us));
    else
        jw_null(jw);
    jw_kint(jw, "assignments", life->assignments);
    jw_kint(jw, "reassignments", life->reassignments);
    if (row != NULL)
        write_stage(jw, row);
    jw_key(jw, "events");
    jw_begin(jw, '[');
    if (story->events.len > 0)
        jw_raw(jw, buf_str(&story->events));
    jw_end(jw, ']');
    jw_kbool(jw, "truncated", story->truncated);
    jw_end(jw, '}');
}

/* An issue that only clients' own events name has none. */
static enum rc find_row(struct db *db, const char *issue, struct arena *arena,
                        struct issue_row *ret_row, bool *ret_has, struct err *err)
{
    struct workspace_row workspace;
    enum rc rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    if (rc != RC_OK)
        return rc;
    rc = issue_states_peek(db, &(struct issue_ref){workspace.id, issue}, arena, ret_row, err);
    *ret_has = rc == RC_OK;
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(err);
    return RC_OK;
}

enum rc api_lifecycle_get(struct call *call, struct db *db, struct err *err)
{
    const char *issue = call->vars[0];
    struct story story = {.arena = &call->http.arena};
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK && strlen(issue) > EVENT_ISSUE_MAX)
        rc = err_set(err, RC_MALFORMED, "INVALID_NAME", "an issue's id has at most %d bytes",
                     EVENT_ISSUE_MAX);
    if (rc != RC_OK)
        return rc;
    buf_init(&story.events, EVENTS_BUF_MAX);
    CLEANUP(tx_abort) struct tx tx = {0}; /* Events and row are of one moment. */
    struct issue_row row;
    bool has_row = false;
    rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = story_read(&story, db, issue, err);
    if (rc == RC_OK)
        rc = find_row(db, issue, story.arena, &row, &has_row, err);
    if (rc == RC_OK) {
        struct jw jw = call_answer(call, 200);
        write_story(&jw, issue, &story, has_row ? &row : NULL);
    }
    buf_release(&story.events);
    return rc;
}

/* ---- a listing ---- */

static void write_issue(struct jw *jw, const struct issue_row *row)
{
    const struct lifecycle *life = &row->life.life;
    jw_begin(jw, '{');
    jw_kstr(jw, "issueId", row->issue_id);
    jw_kstr(jw, "correlationId", row->id.text);
    jw_kstr(jw, "status", life->status);
    jw_ktime(jw, "statusAt", life->status_us);
    jw_kstr(jw, "assignedTo", life->assigned_to);
    jw_ktime(jw, "assignedAt", life->assigned_us);
    jw_ktime(jw, "approvedAt", life->approved_us);
    jw_ktime(jw, "doneAt", life->done_us);
    jw_kint(jw, "reassignments", life->reassignments);
    write_stage(jw, row);
    jw_optstr(jw, "description", row->life.description);
    jw_end(jw, '}');
}

enum rc api_lifecycle_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct issue_row *rows = NULL;
    const char *stage = NULL;
    enum issue_stage parsed;
    listing_open(&list, call, CURSOR_ID, err);
    struct issue_filter filter = {.stage = -1, .before = list.before, .limit = list.query_limit};
    params_text(&list.params, "assignedTo", ISSUE_EVENT_NAME_MAX, &filter.agent);
    params_text(&list.params, "milestone", ISSUE_EVENT_NAME_MAX, &filter.milestone);
    params_text(&list.params, "repository", ISSUE_EVENT_NAME_MAX, &filter.repository);
    params_text(&list.params, "stage", ISSUE_EVENT_NAME_MAX, &stage);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK && stage != NULL && !issue_stage_parse(stage, &parsed))
        rc = err_field(err, RC_MALFORMED, "INVALID_FIELD", "stage", "%s is no stage", stage);
    if (rc == RC_OK && stage != NULL)
        filter.stage = (int)parsed;
    filter.at_work = filter.agent != NULL && stage == NULL; /* What it should be working on. */
    if (rc == RC_OK)
        rc = issue_states_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_issue(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

/* The quickest first. */
enum rc api_agent_efficiency(struct call *call, struct db *db, struct err *err)
{
    struct agent_work *work = NULL;
    size_t count = 0;
    bool all = true;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = issue_events_work(db, &call->http.arena, &work, &count, &all, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(&jw, '{');
        jw_kstr(&jw, "agentId", work[i].agent_id);
        jw_kint(&jw, "issues", work[i].issues);
        jw_kreal(&jw, "averageSeconds", seconds(work[i].total_us) / (double)work[i].issues);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_kbool(&jw, "truncated", !all);
    jw_end(&jw, '}');
    return RC_OK;
}
