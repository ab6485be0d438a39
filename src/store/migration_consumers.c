/*
 * migration_consumers.c - places in the log that clients keep here (consumers.h), and events that
 * handlers have dealt with (processed_events.h).
 */
#include "store/migrate.h"

const char *const migration_consumers[] = {
    "CREATE TABLE consumers ("
    " name {text} NOT NULL PRIMARY KEY,"
    " types {json},"              /* Patterns; NULL: every event. */
    " cursor_seq {int} NOT NULL," /* Events up to here are acknowledged. */
    " epoch {int} NOT NULL,"      /* Another after each seek: cursors given before are void. */
    " acked_us {int} NOT NULL,"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",

    "CREATE TABLE processed_events ("
    " consumer {text} NOT NULL,"
    " event_id {text} NOT NULL,"
    " processed_us {int} NOT NULL,"
    " PRIMARY KEY (consumer, event_id)) {keyed_table}",
    "CREATE INDEX processed_events_age ON processed_events (processed_us)",
    NULL,
};
