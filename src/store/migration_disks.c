/*
 * migration_disks.c - what workers report of their disks: workers.h.
 */
#include "store/migrate.h"

const char *const migration_disks[] = {
    "ALTER TABLE workers ADD COLUMN disk_free {int} NOT NULL DEFAULT -1",
    "ALTER TABLE workers ADD COLUMN disk_low {int} NOT NULL DEFAULT 0",
    NULL,
};
