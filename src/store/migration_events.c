/*
 * migration_events.c - events that clients have appended to the log: core/cloud_event.h.
 */
#include "store/migrate.h"

const char *const migration_events[] = {
    "ALTER TABLE event_log ADD COLUMN source {text}",
    "ALTER TABLE event_log ADD COLUMN source_id {text}",
    "ALTER TABLE event_log ADD COLUMN attributes {json}",
    "CREATE UNIQUE INDEX event_source ON event_log (source, source_id) WHERE source IS NOT NULL",
    NULL,
};
