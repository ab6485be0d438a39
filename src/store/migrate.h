/*
 * migrate.h - the schema, brought forward step by step.
 *
 * Migrations are data: numbered from 1 without a gap, each applied in a transaction of its own
 * and recorded in schema_migrations.  A migration that has been released is never edited; a new
 * one is added behind it.
 */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H
#include "store/db.h"

struct migration {
    int64_t version;
    const char *name;
    const char *const *statements; /* NULL-terminated, in the dialect's placeholders. */
};

extern const struct migration migrations[];        /* migrations.c */
extern const char *const migration_forge_limits[]; /* migration_forge.c */
extern const size_t migration_count;
extern const char *const migration_intake[];
extern const char *const migration_shepherds[];
extern const char *const migration_trains[];
extern const char *const migration_disks[];
extern const char *const migration_agents[];
extern const char *const migration_scratch[];
extern const char *const migration_batches[];
extern const char *const migration_events[];
extern const char *const migration_traces[];
extern const char *const migration_consumers[];
extern const char *const migration_events_view[];
extern const char *const migration_sinks[];
extern const char *const migration_schemas[];
extern const char *const migration_run_snapshots[];
extern const char *const migration_audit[];
extern const char *const migration_bus[];
extern const char *const migration_inbox[];
extern const char *const migration_inbox_issues[];
extern const char *const migration_conductor[];
extern const char *const migration_retention[];

/* RC_CONFLICT with code SCHEMA_TOO_NEW when the database has a version beyond the list, and with
   SCHEMA_DIFFERS when a migration was applied with other statements than it has now. */
MUST_USE enum rc migrate(struct db *db, const struct migration *list, size_t count,
                         struct err *err);
#endif
