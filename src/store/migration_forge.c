/*
 * migration_forge.c - the tables of forge_limits.c.
 */
#include "store/migrate.h"

const char *const migration_forge_limits[] = {
    /* What a forge has left of its rate limit: core/pr/governor.h. */
    "CREATE TABLE forge_limits ("
    " host {text} NOT NULL,"
    " credential {text} NOT NULL,"
    " resource {text} NOT NULL,"
    " calls {int} NOT NULL,"
    " remaining {int} NOT NULL,"
    " reset_us {int} NOT NULL,"
    " granted {int} NOT NULL,"
    " blocked_us {int} NOT NULL,"
    " strikes {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " PRIMARY KEY (host, credential, resource)) {keyed_table}",

    "CREATE TABLE forge_limit_shares ("
    " host {text} NOT NULL,"
    " credential {text} NOT NULL,"
    " resource {text} NOT NULL,"
    " repository {text} NOT NULL,"
    " window_us {int} NOT NULL,"
    " used {int} NOT NULL,"
    " PRIMARY KEY (host, credential, resource, repository)) {keyed_table}",
    NULL,
};
