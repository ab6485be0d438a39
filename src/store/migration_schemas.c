/*
 * migration_schemas.c - the table of schemas.c: schemas that clients have registered; and the row
 * that batches of events lock (SETTING_EVENT_BATCHES).
 */
#include "store/migrate.h"

const char *const migration_schemas[] = {
    "CREATE TABLE schemas ("
    " name {text} NOT NULL,"
    " version {int} NOT NULL," /* From 1; never given twice. */
    " document {json} NOT NULL,"
    " created_by {text} NOT NULL,"
    " created_us {int} NOT NULL,"
    " removed_us {int} NOT NULL," /* 0: it is there */
    " PRIMARY KEY (name, version)) {plain_table}",
    "INSERT INTO settings (key, value) VALUES ('event_batches', '')",
    NULL,
};
