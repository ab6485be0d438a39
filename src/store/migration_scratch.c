/*
 * migration_scratch.c - what workers report of the ports and databases that runs have leased there:
 * workers.h; and what finds the cars of trains that are forgotten: trains.h.
 */
#include "store/migrate.h"

const char *const migration_scratch[] = {
    "ALTER TABLE workers ADD COLUMN leased_ports {int} NOT NULL DEFAULT 0",
    "ALTER TABLE workers ADD COLUMN leased_databases {int} NOT NULL DEFAULT 0",
    "CREATE INDEX train_cars_old ON train_cars (ended_us) WHERE ended_us > 0",
    NULL,
};
