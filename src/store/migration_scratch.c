/*
 * migration_scratch.c - what workers report of the ports and databases that runs have leased there:
 * workers.h.
 */
#include "store/migrate.h"

const char *const migration_scratch[] = {
    "ALTER TABLE workers ADD COLUMN leased_ports {int} NOT NULL DEFAULT 0",
    "ALTER TABLE workers ADD COLUMN leased_databases {int} NOT NULL DEFAULT 0",
    NULL,
};
