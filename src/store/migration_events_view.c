/*
 * migration_events_view.c - the log as people query it in SQL: the view events, with the types that
 * an engine has for times, UUIDs and JSON, and indexes for a correlation and for an issue.
 *
 *   type            as in the log; conductor.issue.approved is ISSUE_APPROVED
 *   status          REJECTED: the event says that something was refused; else ACCEPTED
 *   correlation_id  of the log; without one, one of its issue, else the event's own id
 *
 * On PostgreSQL the index over correlations casts every one of them: a row that the view could not
 * show is not stored.
 */
#include "store/migrate.h"

const char *const migration_events_view[] = {
    "{event_functions}",
    "DROP VIEW events",
    "ALTER TABLE event_log ADD COLUMN issue_id {text}", /* data.issueId: events.c */
    "UPDATE event_log SET issue_id = CAST({event_data} ->> 'issueId' AS text)"
    " WHERE CAST(data AS text) LIKE '{%\"issueId\"%'",
    "CREATE VIEW events AS SELECT {event_id} AS id,"
    " CASE WHEN type LIKE 'conductor.%'"
    "  THEN upper(replace(replace(substr(type, 11), '.', '_'), '-', '_')) ELSE type END AS type,"
    " CASE WHEN type LIKE '%.rejected' OR type LIKE '%.refused' OR type LIKE '%.denied'"
    "  THEN 'REJECTED' ELSE 'ACCEPTED' END AS status,"
    " actor_type || ':' || actor_id AS actor, {event_data} AS data, {event_parent} AS parent_id,"
    " {event_correlation} AS correlation_id, {event_time} AS created_at FROM event_log",

    "CREATE INDEX event_log_correlation ON event_log (({event_correlation}), seq)",
    "CREATE INDEX event_log_issue ON event_log (issue_id, seq) WHERE issue_id IS NOT NULL",
    "{event_data_index}",
    NULL,
};
