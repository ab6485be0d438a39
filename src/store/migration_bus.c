/*
 * migration_bus.c - tags of events (core/event_tags.h), in the row of a run for those to come, and
 * the lines of the server's log that are kept (log_lines.h).
 */
#include "store/migrate.h"

const char *const migration_bus[] = {
    "ALTER TABLE event_log ADD COLUMN tags {text}",
    "ALTER TABLE runs ADD COLUMN tags {text}",

    "CREATE TABLE log_lines ("
    " seq {seq_key},"
    " time_us {int} NOT NULL,"
    " level {int} NOT NULL," /* enum log_level */
    " node {text} NOT NULL,"
    " run_id {text},"
    " message {text} NOT NULL,"
    " fields {json} NOT NULL) {plain_table}",
    "CREATE INDEX log_lines_time ON log_lines (time_us, seq)",
    "CREATE INDEX log_lines_run ON log_lines (run_id, seq) WHERE run_id IS NOT NULL",
    NULL,
};
