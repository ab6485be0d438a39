/*
 * migration_sinks.c - sinks that are made by the API, that are paused, and what they have done.
 */
#include "store/migrate.h"

const char *const migration_sinks[] = {
    "ALTER TABLE sinks ADD COLUMN config {json}", /* NULL: the server's configuration has it. */
    "ALTER TABLE sinks ADD COLUMN paused {int} NOT NULL DEFAULT 0",
    "ALTER TABLE sinks ADD COLUMN revision {int} NOT NULL DEFAULT 0",
    "ALTER TABLE sinks ADD COLUMN breaker_open {int} NOT NULL DEFAULT 0",
    "ALTER TABLE sinks ADD COLUMN delivered {int} NOT NULL DEFAULT 0",
    "ALTER TABLE sinks ADD COLUMN refused {int} NOT NULL DEFAULT 0",
    "ALTER TABLE sinks ADD COLUMN retries {int} NOT NULL DEFAULT 0",
    "ALTER TABLE sink_dead_letters ADD COLUMN replay {int} NOT NULL DEFAULT 0",
    NULL,
};
