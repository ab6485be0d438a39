#include "control/watch/doctor_issues.h"
#include "base/js.h"
#include "store/issue_events.h"
#include "store/issue_states.h"

enum { PAGE_ISSUES = 100, PAGE_EVENTS = 200 };

/* An issue folded from the log. */
struct folding {
    const struct issue_row *row;
    struct issue_life life;
    struct id last_event_id;
    const char *wrong; /* The first thing; NULL: nothing. */
    struct arena *arena;
};

static void fold(struct folding *folding, const struct event *event)
{
    const struct issue_facts facts = {0}; /* What it depended on was done then. */
    struct issue_event step;
    enum issue_kind kind;
    enum issue_rule rule;
    struct js *data = NULL;
    if (!id_same(&event->correlation_id, &folding->row->id) ||
        !issue_kind_of_type(event->type, &kind) || folding->wrong != NULL)
        return;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK ||
        issue_event_decode(kind, data, folding->arena, &step, NULL) != RC_OK) {
        folding->wrong = "an event cannot be read";
    } else {
        step.time_us = event->time_us;
        step.issue_id = folding->row->issue_id;
        /* Texts are the document's, which ends here. */
        const char **texts[] = {&step.agent_id,  &step.branch, &step.pull_request, &step.title,
                                &step.base,      &step.reason, &step.description,  &step.repository,
                                &step.milestone, &step.persona};
        for (size_t i = 0; i < COUNT_OF(texts); i++)
            *texts[i] = arena_strdup(folding->arena, *texts[i]);
        if (issue_step(&folding->life, &step, &facts, folding->arena, &folding->life, &rule) !=
            RC_OK)
            folding->wrong = arena_printf(folding->arena, "%s breaks the rule %s",
                                          issue_kind_name(kind), issue_rule_name(rule));
    }
    folding->last_event_id = event->id;
    js_free(data);
}

static enum rc fold_all(struct folding *folding, struct db *db, struct err *err)
{
    CLEANUP(arena_release) struct arena page_arena = {0};
    struct issue_page page = {.issue_id = folding->row->issue_id, .limit = PAGE_EVENTS};
    size_t count = PAGE_EVENTS;
    enum rc rc = RC_OK;
    while (rc == RC_OK && count == PAGE_EVENTS) {
        struct event *events = NULL;
        arena_reset(&page_arena);
        rc = issue_events_list(db, &page, &page_arena, &events, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            fold(folding, &events[i]);
            page.after_seq = events[i].seq;
        }
    }
    return rc;
}

static enum rc examine(struct db *db, const struct issue_row *row, struct arena *arena,
                       struct issue_findings *findings, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct folding folding = {.row = row, .arena = &scratch};
    enum rc rc = fold_all(&folding, db, err);
    if (rc != RC_OK)
        return rc;
    findings->looked_at++;
    const char *member = issue_differs(&folding.life, &row->life);
    const char *wrong = folding.wrong;
    if (wrong == NULL && member != NULL)
        wrong = arena_printf(&scratch, "%s is not what its events say", member);
    else if (wrong == NULL && !id_same(&folding.last_event_id, &row->last_event_id))
        wrong = "its last event is another one";
    if (wrong != NULL && findings->bad++ == 0)
        findings->first = arena_printf(arena, "issue %s (%s): %s", row->issue_id,
                                       issue_stage_name(row->life.stage), wrong);
    return RC_OK;
}

enum rc doctor_issues(struct db *db, struct arena *arena, struct issue_findings *ret_findings,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena page = {0};
    struct issue_filter filter = {.stage = -1, .limit = PAGE_ISSUES};
    struct issue_findings findings = {0};
    size_t count = PAGE_ISSUES;
    enum rc rc = RC_OK;
    while (rc == RC_OK && count == PAGE_ISSUES && findings.looked_at < DOCTOR_ISSUES_MAX) {
        struct issue_row *rows = NULL;
        arena_reset(&page);
        rc = issue_states_list(db, &filter, &page, &rows, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            rc = examine(db, &rows[i], arena, &findings, err);
            filter.before = rows[i].id;
        }
    }
    if (rc == RC_OK)
        *ret_findings = findings;
    return rc;
}
