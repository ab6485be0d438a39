/*
 * workers.c - the announcements of workers, and their listing.
 *
 * A worker sends {name, slots, busy, queues, version, host, pid, state, unpublishedCount,
 * unpublishedBytes, diskFree, diskLow, leasedPorts, leasedDatabases} at its start and with every
 * heartbeat, so that a server that has lost this state soon has it again.  The answer holds the
 * length of leases.
 */
#include "control/watch/workers.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"

enum {
    HOST_BYTES_MAX = 255,
    VERSION_BYTES_MAX = 64,
    QUEUES_MAX = 64,
    QUEUE_BYTES_MAX = 100,
    STATE_BYTES_MAX = 16,
    LEASED_MAX = 1000000,
};
#define PID_MAX ((int64_t)1 << 31)

static const char *const presences[] = {"active", "draining", "left", NULL};
enum { PRESENCE_ACTIVE, PRESENCE_DRAINING, PRESENCE_LEFT };

static enum rc read_worker(const struct js *tree, struct cmd_worker_seen *cmd, struct err *err)
{
    struct worker_row *worker = &cmd->worker;
    const struct js *queues = NULL;
    int presence = PRESENCE_ACTIVE;
    struct fields fields;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "name", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = WORKER_NAME_MAX}, &worker->name);
    fields_string(&fields, "host", FIELD_REQUIRED, &(struct field_text){.max = HOST_BYTES_MAX},
                  &worker->host);
    fields_string(&fields, "version", FIELD_REQUIRED,
                  &(struct field_text){.max = VERSION_BYTES_MAX}, &worker->version);
    fields_int(&fields, "pid", FIELD_REQUIRED, &(struct field_range){1, PID_MAX}, &worker->pid);
    fields_int(&fields, "slots", FIELD_REQUIRED, &(struct field_range){1, WORKER_SLOTS_MAX},
               &worker->slots);
    fields_int(&fields, "busy", FIELD_OPTIONAL, &(struct field_range){0, WORKER_SLOTS_MAX},
               &worker->busy);
    fields_strings(&fields, "queues", FIELD_REQUIRED, QUEUES_MAX,
                   &(struct field_text){.min = 1, .max = QUEUE_BYTES_MAX}, &queues);
    fields_choice(&fields, "state", FIELD_OPTIONAL, presences, &presence);
    fields_int(&fields, "unpublishedCount", FIELD_OPTIONAL, &(struct field_range){0, INT64_MAX / 2},
               &worker->unpublished_count);
    fields_int(&fields, "unpublishedBytes", FIELD_OPTIONAL, &(struct field_range){0, INT64_MAX / 2},
               &worker->unpublished_bytes);
    worker->disk_free = -1;
    fields_int(&fields, "diskFree", FIELD_OPTIONAL, &(struct field_range){0, INT64_MAX / 2},
               &worker->disk_free);
    fields_bool(&fields, "diskLow", FIELD_OPTIONAL, &worker->disk_low);
    fields_int(&fields, "leasedPorts", FIELD_OPTIONAL, &(struct field_range){0, LEASED_MAX},
               &worker->leased_ports);
    fields_int(&fields, "leasedDatabases", FIELD_OPTIONAL, &(struct field_range){0, LEASED_MAX},
               &worker->leased_databases);
    if (worker->name != NULL && !worker_name_valid(worker->name))
        fields_fail(&fields, "name", "a worker's name has letters, digits, '.', '_' and '-'");
    worker->draining = presence == PRESENCE_DRAINING;
    cmd->left = presence == PRESENCE_LEFT;
    if (queues != NULL)
        worker->queues = str_of(js_text(queues, &cmd->base.arena));
    return fields_close(&fields);
}

enum rc api_worker_announce(struct call *call, struct err *err)
{
    struct cmd_worker_seen *cmd = cmd_worker_seen_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = read_worker(cmd->base.tree, cmd, err);
    if (rc != RC_OK)
        return rc;
    /* Else two workers would share a row of the listing. */
    if (text_same(cmd->worker.name, control_node(call->api->control)))
        return err_field(err, RC_CONFLICT, "WORKER_NAME_TAKEN", "name",
                         "%s is the name of this server's own worker; choose another (--name)",
                         cmd->worker.name);
    cmd->worker.lease_us = call->api->lease_ms * US_PER_MS;
    return RC_OK;
}

void api_worker_announce_answer(struct call *call, struct command *command)
{
    const struct cmd_worker_seen *cmd = (const struct cmd_worker_seen *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", cmd->worker.name);
    jw_kint(&jw, "leaseMs", call->api->lease_ms);
    jw_kint(&jw, "heartbeatMs", call->api->heartbeat_ms);
    jw_end(&jw, '}');
}

static void write_worker(struct jw *jw, const struct worker_row *worker)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", worker->name);
    jw_kstr(jw, "state", worker->state);
    jw_kint(jw, "slots", worker->slots);
    jw_kint(jw, "busy", worker->busy);
    jw_kraw(jw, "queues", worker->queues);
    jw_kstr(jw, "version", worker->version);
    jw_kstr(jw, "host", worker->host);
    jw_kint(jw, "pid", worker->pid);
    jw_ktime(jw, "startedAt", worker->started_us);
    jw_ktime(jw, "lastSeenAt", worker->last_seen_us);
    jw_kint(jw, "unpublishedCount", worker->unpublished_count);
    jw_kint(jw, "unpublishedBytes", worker->unpublished_bytes);
    if (worker->disk_free >= 0)
        jw_kint(jw, "diskFree", worker->disk_free);
    jw_kbool(jw, "diskLow", worker->disk_low);
    jw_kint(jw, "leasedPorts", worker->leased_ports);
    jw_kint(jw, "leasedDatabases", worker->leased_databases);
    jw_end(jw, '}');
}

enum rc api_worker_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct clock clock = control_clock(call->api->control);
    struct worker_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    struct worker_filter filter = {
        .now_us = clock_now_us(&clock), .after = list.after, .limit = list.query_limit};
    params_text(&list.params, "state", STATE_BYTES_MAX, &filter.state);
    if (filter.state != NULL && !text_same(filter.state, "active") &&
        !text_same(filter.state, "draining") && !text_same(filter.state, "lost"))
        params_fail(&list.params, "state", "state is active, draining or lost");
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = workers_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_worker(&list.jw, &rows[i]);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}
