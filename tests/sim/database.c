#include "tests/sim/database.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "store/pq_lib.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct database {
    const char *postgres; /* or NULL */
    char schema[32];
    char url[1024];
};

static void keep_silent(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static void run(const struct database *database, const char *verb, const char *more)
{
    char text[128];
    struct err err = {0};
    if (pq_lib_load(&err) != RC_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    snprintf(text, sizeof text, "SET lock_timeout = '5s'; %s SCHEMA %s %s", verb, database->schema,
             more);
    PGconn *pg = pq->connectdb(database->postgres);
    pq->setNoticeReceiver(pg, keep_silent, NULL);
    PGresult *result = pq->exec(pg, text);
    if (pq->resultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "%s: %s\n", text, pq->errorMessage(pg));
        exit(1);
    }
    pq->clear(result);
    pq->finish(pg);
}

struct database *database_open(const char *postgres)
{
    struct database *database = mem_alloc(sizeof *database);
    database->postgres = postgres;
    snprintf(database->url, sizeof database->url, "sqlite::memory:");
    if (postgres == NULL)
        return database;
    unsigned char random[8];
    char name[2 * sizeof random + 1];
    secret_bytes(random, sizeof random);
    hex_encode(name, random, sizeof random);
    snprintf(database->schema, sizeof database->schema, "sim_%s", name);
    snprintf(database->url, sizeof database->url, "%s%coptions=-csearch_path%%3D%s", postgres,
             strchr(postgres, '?') == NULL ? '?' : '&', database->schema);
    run(database, "CREATE", "");
    return database;
}

void database_close(struct database *database)
{
    if (database == NULL)
        return;
    if (database->postgres != NULL)
        run(database, "DROP", "CASCADE");
    mem_free(database);
}

const char *database_url(const struct database *database)
{
    return database->url;
}
