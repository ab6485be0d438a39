#include "bench/cluster.h"
#include "base/proc.h"
#include "base/str.h"
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

enum { TOOL_MS = 120 * 1000, OUTPUT_BYTES_MAX = 64 * 1024, STATEMENT_BYTES = 256 };
#define TOOL "tools/postgres"

static const char settings[] =
    "SELECT 'postgresql ' || current_setting('server_version') || string_agg(' ' || name || '=' ||"
    " setting, '' ORDER BY name) FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit',"
    " 'full_page_writes', 'wal_sync_method')";

static enum rc run_tool(const struct cluster *cluster, const char *action, const char *mode,
                        struct buf *output, struct err *err)
{
    const char *const argv[] = {TOOL, action, cluster->dir, mode, NULL};
    CLEANUP(buf_release) struct buf complaint;
    buf_init(&complaint, OUTPUT_BYTES_MAX);
    struct proc_result result;
    enum rc rc = proc_run(&(struct proc_spec){.argv = argv}, (struct str){0}, output, &complaint,
                          &(struct proc_limits){.timeout_ms = TOOL_MS}, &result, err);
    if (rc == RC_OK && (result.timed_out || result.exit.code != 0))
        rc = err_set(err, RC_IO, "TOOL_FAILED", "%s %s: %s", TOOL, action, buf_text(&complaint));
    return rc;
}

/* One statement, and the first value of what it gives. */
static void ask(const struct cluster *cluster, const char *text, struct str to)
{
    PGconn *pg = PQconnectdb(cluster->url);
    PGresult *result = PQexec(pg, text);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("%s: %s", text, PQerrorMessage(pg));
    if (to.len > 0)
        text_copy((char *)to.at, to.len, PQgetvalue(result, 0, 0));
    PQclear(result);
    PQfinish(pg);
}

bool cluster_start(const struct bench *bench, struct cluster *ret_cluster, struct err *err)
{
    CLEANUP(buf_release) struct buf output;
    buf_init(&output, BENCH_PATH_BYTES);
    *ret_cluster = (struct cluster){0};
    (void)snprintf(ret_cluster->dir, sizeof ret_cluster->dir, "%s/postgres", bench->dir);
    if (run_tool(ret_cluster, "start", NULL, &output, err) != RC_OK)
        return false;
    text_copy(ret_cluster->url, sizeof ret_cluster->url, buf_text(&output));
    ret_cluster->url[strcspn(ret_cluster->url, "\n")] = '\0';
    char *durability = ret_cluster->durability;
    ask(ret_cluster, settings, (struct str){durability, sizeof ret_cluster->durability});
    return true;
}

void cluster_stop(struct cluster *cluster)
{
    struct err err = {0};
    /* Its data go, too. */
    bench_must(run_tool(cluster, "stop", "immediate", NULL, &err), &err, cluster->dir);
}

void cluster_schema(const struct cluster *cluster, const char *name, char to[BENCH_URL_BYTES])
{
    char text[STATEMENT_BYTES];
    (void)snprintf(text, sizeof text,
                   "SET client_min_messages = warning; DROP SCHEMA IF EXISTS %s CASCADE;"
                   " CREATE SCHEMA %s",
                   name, name);
    ask(cluster, text, (struct str){0});
    int len = snprintf(to, BENCH_URL_BYTES, "%s&options=-csearch_path%%3D%s", cluster->url, name);
    if (len >= BENCH_URL_BYTES)
        bench_die("%s: the URL is too long", cluster->url);
}
