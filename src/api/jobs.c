/*
 * jobs.c - the job protocol over HTTP: every call takes many.
 *
 * A lease may wait for work.  Its client is watched meanwhile: when it disconnects, the wait is
 * ended, and jobs that were leased at the same moment are released.
 */
#include "api/job_fields.h"
#include "api/leasing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "control/queue/complete.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/run/progress.h"
#include <stdio.h>

enum { LEASER_NAME_MAX = 200, ERROR_CODE_MAX = 100, ERROR_MESSAGE_MAX = 4000, PATH_BYTES = 48 };
#define EPOCH_MAX ((int64_t)1 << 53)

/* ---- Reading arrays of objects ---- */

static const char *item_path(char to[PATH_BYTES], const char *array, size_t index)
{
    (void)snprintf(to, PATH_BYTES, "%s[%zu]", array, index);
    return to;
}

/* {key: [...]} with up to JOBS_PER_CALL_MAX objects, none of them missing. */
static void fields_items(struct fields *fields, const char *key, const struct js **ret_items)
{
    fields_array(fields, key, FIELD_REQUIRED, JOBS_PER_CALL_MAX, ret_items);
    if (fields->rc == RC_OK && js_count(*ret_items) == 0)
        fields_fail(fields, key, "%s must not be empty", key);
}

static void fields_job_ref(struct fields *fields, struct job_ref *ret_ref)
{
    const char *id = NULL;
    fields_string(fields, "id", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &id);
    if (id != NULL && !id_parse(id, &ret_ref->id))
        fields_fail(fields, "id", "id must be a UUID");
    fields_int(fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, EPOCH_MAX},
               &ret_ref->epoch);
}

/* Reads the body into command->tree, and its one array. */
static enum rc read_items(struct call *call, struct command *command, const char *key,
                          const struct js **ret_items, struct err *err)
{
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &command->tree, err);
    if (rc != RC_OK)
        return rc;
    struct fields fields;
    fields_open(&fields, command->tree, "", err);
    fields_items(&fields, key, ret_items);
    return fields_close(&fields);
}

/* ---- Enqueue ---- */

static enum rc read_job(const struct js *item, size_t index, struct arena *arena,
                        struct job_spec *spec, struct err *err)
{
    char path[PATH_BYTES];
    struct fields fields;
    fields_open(&fields, item, item_path(path, "jobs", index), err);
    fields_job(&fields, arena, spec);
    return fields_close(&fields);
}

enum rc api_job_enqueue(struct call *call, struct err *err)
{
    struct cmd_enqueue *cmd = cmd_enqueue_new();
    call_own(call, &cmd->base);
    const struct js *items = NULL;
    enum rc rc = read_items(call, &cmd->base, "jobs", &items, err);
    if (rc != RC_OK)
        return rc;
    struct arena *arena = &cmd->base.arena;
    struct job_spec *jobs = arena_array(arena, js_count(items), sizeof *jobs);
    cmd->jobs = jobs;
    cmd->count = js_count(items);
    for (size_t i = 0; rc == RC_OK && i < js_count(items); i++)
        rc = read_job(js_at(items, i), i, arena, &jobs[i], err);
    return rc;
}

void api_job_enqueue_answer(struct call *call, struct command *command)
{
    const struct cmd_enqueue *cmd = (const struct cmd_enqueue *)command;
    struct jw jw = call_answer(call, 201);
    jw_begin(&jw, '{');
    jw_key(&jw, "jobs");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < cmd->count; i++) {
        jw_begin(&jw, '{');
        shape_taken(&jw, "id", &cmd->answers[i]);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* ---- Lease ---- */

static void read_worker(struct fields *fields, const char **ret_worker)
{
    fields_string(fields, "worker", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = LEASER_NAME_MAX}, ret_worker);
}

static void read_queues(struct fields *fields, struct cmd_lease *cmd)
{
    const struct js *names = NULL;
    fields_strings(fields, "queues", FIELD_REQUIRED, LEASE_QUEUES_MAX,
                   &(struct field_text){.min = 1, .max = 100}, &names);
    size_t count = js_count(names);
    if (fields->rc == RC_OK && count == 0)
        fields_fail(fields, "queues", "queues must not be empty");
    const char **queues = arena_array(&cmd->base.arena, count + 1, sizeof *queues);
    for (size_t i = 0; i < count; i++) {
        queues[i] = js_str(js_at(names, i), "");
        if (!queue_name_valid(queues[i]))
            fields_fail(fields, "queues", "queues[%zu] is not a queue's name", i);
    }
    cmd->queues = queues;
}

/* The queues of an agent that was launched also hold work that is not for it: a claim knows its
   repositories, its labels and its capacity, and is settled when it is killed. */
static enum rc check_queues(const struct call *call, const struct cmd_lease *cmd, struct err *err)
{
    enum rc rc = RC_OK;
    if (auth_bound_agent(&call->who) != NULL)
        return err_set(err, RC_DENIED, "AGENT_NOT_ALLOWED",
                       "this token is that of agent %s, which takes its work with POST /v1/claims",
                       auth_bound_agent(&call->who));
    for (size_t i = 0; rc == RC_OK && cmd->queues[i] != NULL; i++)
        rc = queue_allowed(auth_bound_to(&call->who), cmd->queues[i], err);
    return rc;
}

static enum rc read_lease(const struct js *tree, struct cmd_lease *cmd, struct err *err)
{
    struct fields fields;
    int64_t wait_ms = 0, lease_ms = 0;
    cmd->max = 1;
    fields_open(&fields, tree, "", err);
    read_queues(&fields, cmd);
    read_worker(&fields, &cmd->worker);
    fields_int(&fields, "max", FIELD_OPTIONAL, &(struct field_range){1, JOBS_PER_CALL_MAX},
               &cmd->max);
    fields_int(&fields, "waitMs", FIELD_OPTIONAL, &(struct field_range){0, JOB_WAIT_MS_MAX},
               &wait_ms);
    fields_int(&fields, "leaseMs", FIELD_OPTIONAL,
               &(struct field_range){JOB_LEASE_MS_MIN, JOB_LEASE_MS_MAX}, &lease_ms);
    cmd->wait_us = wait_ms * US_PER_MS;
    cmd->lease_us = lease_ms * US_PER_MS;
    return fields_close(&fields);
}

/* Copies what it needs while it waits. */
static void prepare_to_wait(struct call *call, struct cmd_lease *cmd)
{
    struct arena *arena = &cmd->base.arena;
    const char **queues = arena_array(arena, LEASE_QUEUES_MAX + 1, sizeof *queues);
    for (size_t i = 0; cmd->queues[i] != NULL; i++)
        queues[i] = arena_strdup(arena, cmd->queues[i]);
    cmd->queues = queues;
    cmd->worker = arena_strdup(arena, cmd->worker);
    call_wait(call);
}

enum rc api_job_lease(struct call *call, struct err *err)
{
    struct cmd_lease *cmd = cmd_lease_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = read_lease(cmd->base.tree, cmd, err);
    if (rc == RC_OK)
        rc = check_queues(call, cmd, err);
    if (rc != RC_OK)
        return rc;
    if (http_draining(call->api->http))
        cmd->wait_us = 0;
    if (cmd->wait_us > 0)
        prepare_to_wait(call, cmd);
    return RC_OK;
}

void api_job_lease_answer(struct call *call, struct command *command)
{
    const struct cmd_lease *cmd = (const struct cmd_lease *)command;
    if (http_gone(&call->http)) {
        if (cmd->job_count)
            leasing_give_back(call, cmd);
        return;
    }
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "jobs");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < cmd->job_count; i++) {
        const struct job_row *job = &cmd->jobs[i];
        jw_begin(&jw, '{');
        jw_kstr(&jw, "id", job->id.text);
        jw_kstr(&jw, "queue", job->queue);
        jw_kstr(&jw, "type", job->type);
        jw_kraw(&jw, "payload", job->payload);
        if (job->headers.len > 0)
            jw_kraw(&jw, "headers", job->headers);
        jw_kint(&jw, "attempt", job->life.attempt + 1);
        jw_kint(&jw, "epoch", job->life.epoch);
        jw_ktime(&jw, "leaseUntil", job->life.due_us);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* ---- Calls about leased jobs ---- */

/* What each kind of call answers in addition to id and ok. */
enum report_members { WITH_ORDERS = 1, WITH_STATE = 2 };

struct report_answers {
    const struct job_ref *refs; /* The first; the next is stride bytes further. */
    size_t stride;
    const struct job_answer *answers;
    size_t count;
    /* NULL, or: adds members to the answer for this job. */
    void (*more)(struct jw *jw, const struct job_ref *ref);
};

static void answer_reports(struct call *call, const char *key, const struct report_answers *report,
                           unsigned members)
{
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, key);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < report->count; i++) {
        const struct job_ref *ref = (const struct job_ref *)((const char *)report->refs +
                                                             i * report->stride);
        const struct job_answer *answer = &report->answers[i];
        jw_begin(&jw, '{');
        jw_kstr(&jw, "id", ref->id.text);
        jw_kbool(&jw, "ok", answer->ok);
        if (members & WITH_ORDERS)
            leasing_write_orders(&jw, answer);
        jw_optstr(&jw, "code", answer->code);
        jw_optstr(&jw, "field", answer->field);
        jw_optstr(&jw, "message", answer->message);
        if (members & WITH_STATE)
            jw_kstr(&jw, "state", answer->ok ? job_state_name(answer->state) : NULL);
        if (report->more != NULL)
            report->more(&jw, ref);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* {key: [{id, epoch}]} */
static enum rc read_refs(const struct js *items, const char *key, struct arena *arena,
                         const struct job_ref **ret_refs, struct err *err)
{
    struct job_ref *refs = arena_array(arena, js_count(items), sizeof *refs);
    for (size_t i = 0; i < js_count(items); i++) {
        char path[PATH_BYTES];
        struct fields fields;
        fields_open(&fields, js_at(items, i), item_path(path, key, i), err);
        fields_job_ref(&fields, &refs[i]);
        enum rc rc = fields_close(&fields);
        if (rc != RC_OK)
            return rc;
    }
    *ret_refs = refs;
    return RC_OK;
}

static enum rc read_heartbeat(const struct js *tree, struct cmd_heartbeat *cmd, struct err *err)
{
    struct fields fields;
    const struct js *items = NULL;
    int64_t extend_ms = JOB_LEASE_MS_DEFAULT;
    fields_open(&fields, tree, "", err);
    read_worker(&fields, &cmd->worker);
    fields_items(&fields, "leases", &items);
    fields_int(&fields, "extendMs", FIELD_OPTIONAL,
               &(struct field_range){JOB_LEASE_MS_MIN, JOB_LEASE_MS_MAX}, &extend_ms);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = read_refs(items, "leases", &cmd->base.arena, &cmd->leases, err);
    cmd->count = js_count(items);
    cmd->extend_us = extend_ms * US_PER_MS;
    return rc;
}

enum rc api_job_heartbeat(struct call *call, struct err *err)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_heartbeat(cmd->base.tree, cmd, err) : rc;
}

void api_job_heartbeat_answer(struct call *call, struct command *command)
{
    const struct cmd_heartbeat *cmd = (const struct cmd_heartbeat *)command;
    struct report_answers report = {cmd->leases, sizeof *cmd->leases, cmd->answers, cmd->count,
                                    NULL};
    answer_reports(call, "leases", &report, WITH_ORDERS);
}

enum rc api_job_progress(struct call *call, struct err *err)
{
    struct cmd_progress *cmd = cmd_progress_new();
    call_own(call, &cmd->base);
    const struct js *items = NULL;
    enum rc rc = read_items(call, &cmd->base, "jobs", &items, err);
    if (rc != RC_OK)
        return rc;
    struct job_progress *jobs = arena_array(&cmd->base.arena, js_count(items), sizeof *jobs);
    cmd->jobs = jobs;
    cmd->count = js_count(items);
    for (size_t i = 0; rc == RC_OK && i < js_count(items); i++) {
        char path[PATH_BYTES];
        struct fields fields;
        fields_open(&fields, js_at(items, i), item_path(path, "jobs", i), err);
        fields_job_ref(&fields, &jobs[i].ref);
        fields_array(&fields, "events", FIELD_REQUIRED, JOBS_PER_CALL_MAX, &jobs[i].events);
        rc = fields_close(&fields);
    }
    return rc;
}

void api_job_progress_answer(struct call *call, struct command *command)
{
    const struct cmd_progress *cmd = (const struct cmd_progress *)command;
    struct report_answers report = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->answers, cmd->count,
                                    NULL};
    answer_reports(call, "jobs", &report, WITH_ORDERS);
}

static enum rc read_next(const struct js *items, const char *path, struct arena *arena,
                         struct job_done *done, struct err *err)
{
    size_t count = js_count(items);
    struct job_spec *next = arena_array(arena, count, sizeof *next);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct fields fields;
        char *inner = arena_printf(arena, "%s.next[%zu]", path, i);
        fields_open(&fields, js_at(items, i), inner, err);
        fields_job(&fields, arena, &next[i]);
        rc = fields_close(&fields);
    }
    done->next = next;
    done->next_count = count;
    return rc;
}

static enum rc read_done(const struct js *item, size_t index, struct arena *arena,
                         struct job_done *done, struct err *err)
{
    char path[PATH_BYTES];
    struct fields fields;
    const struct js *result = NULL, *next = NULL;
    fields_open(&fields, item, item_path(path, "jobs", index), err);
    fields_job_ref(&fields, &done->ref);
    fields_object(&fields, "result", FIELD_OPTIONAL, &result);
    fields_array(&fields, "next", FIELD_OPTIONAL, JOBS_PER_CALL_MAX, &next);
    if (result != NULL)
        done->result = str_of(js_text(result, arena));
    if (done->result.len > JOB_RESULT_MAX)
        fields_fail(&fields, "result", "result must have at most %d bytes", JOB_RESULT_MAX);
    enum rc rc = fields_close(&fields);
    return rc == RC_OK && next != NULL ? read_next(next, path, arena, done, err) : rc;
}

enum rc api_job_complete(struct call *call, struct err *err)
{
    struct cmd_complete *cmd = cmd_complete_new();
    call_own(call, &cmd->base);
    const struct js *items = NULL;
    enum rc rc = read_items(call, &cmd->base, "jobs", &items, err);
    if (rc != RC_OK)
        return rc;
    struct arena *arena = &cmd->base.arena;
    struct job_done *jobs = arena_array(arena, js_count(items), sizeof *jobs);
    cmd->jobs = jobs;
    cmd->count = js_count(items);
    size_t next_count = 0;
    for (size_t i = 0; rc == RC_OK && i < js_count(items); i++) {
        rc = read_done(js_at(items, i), i, arena, &jobs[i], err);
        next_count += jobs[i].next_count;
    }
    if (rc == RC_OK && next_count > JOBS_PER_CALL_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "jobs",
                         "next may name at most %d jobs in one call, all together",
                         JOBS_PER_CALL_MAX);
    return rc;
}

/* The ref is the first member of what was done. */
static void write_next(struct jw *jw, const struct job_ref *ref)
{
    const struct job_done *done = (const struct job_done *)ref;
    if (done->made == NULL)
        return;
    jw_key(jw, "next");
    jw_begin(jw, '[');
    for (size_t i = 0; i < done->next_count; i++) {
        jw_begin(jw, '{');
        shape_taken(jw, "id", &done->made[i]);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

void api_job_complete_answer(struct call *call, struct command *command)
{
    const struct cmd_complete *cmd = (const struct cmd_complete *)command;
    struct report_answers report = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->answers, cmd->count,
                                    write_next};
    answer_reports(call, "jobs", &report, 0);
}

static enum rc read_failure(const struct js *item, size_t index, struct job_failed *job,
                            struct err *err)
{
    char path[PATH_BYTES], error_path[PATH_BYTES + 8];
    struct fields fields;
    const struct js *error = NULL;
    fields_open(&fields, item, item_path(path, "jobs", index), err);
    fields_job_ref(&fields, &job->ref);
    fields_object(&fields, "error", FIELD_REQUIRED, &error);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    (void)snprintf(error_path, sizeof error_path, "%s.error", path);
    int class = -1;
    job->message = "";
    job->retryable = true;
    fields_open(&fields, error, error_path, err);
    fields_string(&fields, "code", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ERROR_CODE_MAX}, &job->code);
    fields_string(&fields, "message", FIELD_OPTIONAL,
                  &(struct field_text){.max = ERROR_MESSAGE_MAX}, &job->message);
    fields_bool(&fields, "retryable", FIELD_OPTIONAL, &job->retryable);
    fields_bool(&fields, "policy", FIELD_OPTIONAL, &job->policy);
    fields_choice(&fields, "category", FIELD_OPTIONAL, error_class_names, &class);
    rc = fields_close(&fields);
    if (rc == RC_OK && class >= 0) {
        job->classed = true;
        job->class = (enum error_class) class;
    }
    return rc;
}

enum rc api_job_fail(struct call *call, struct err *err)
{
    struct cmd_fail *cmd = cmd_fail_new();
    call_own(call, &cmd->base);
    const struct js *items = NULL;
    enum rc rc = read_items(call, &cmd->base, "jobs", &items, err);
    if (rc != RC_OK)
        return rc;
    struct job_failed *jobs = arena_array(&cmd->base.arena, js_count(items), sizeof *jobs);
    cmd->jobs = jobs;
    cmd->count = js_count(items);
    for (size_t i = 0; rc == RC_OK && i < js_count(items); i++)
        rc = read_failure(js_at(items, i), i, &jobs[i], err);
    return rc;
}

void api_job_fail_answer(struct call *call, struct command *command)
{
    const struct cmd_fail *cmd = (const struct cmd_fail *)command;
    struct report_answers report = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->answers, cmd->count,
                                    NULL};
    answer_reports(call, "jobs", &report, WITH_STATE);
}

static enum rc read_release(const struct js *item, size_t index, struct job_ref *ref,
                            struct job_wait *wait, struct err *err)
{
    char path[PATH_BYTES];
    struct fields fields;
    int64_t wait_ms = 0;
    fields_open(&fields, item, item_path(path, "jobs", index), err);
    fields_job_ref(&fields, ref);
    fields_int(&fields, "waitMs", FIELD_OPTIONAL, &(struct field_range){0, JOB_PUT_OFF_MS_MAX},
               &wait_ms);
    fields_string(&fields, "code", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 100},
                  &wait->code);
    fields_string(&fields, "message", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 4096},
                  &wait->message);
    wait->wait_us = wait_ms * US_PER_MS;
    return fields_close(&fields);
}

enum rc api_job_release(struct call *call, struct err *err)
{
    struct cmd_release *cmd = cmd_release_new();
    call_own(call, &cmd->base);
    const struct js *items = NULL;
    enum rc rc = read_items(call, &cmd->base, "jobs", &items, err);
    if (rc != RC_OK)
        return rc;
    struct job_ref *refs = arena_array(&cmd->base.arena, js_count(items), sizeof *refs);
    struct job_wait *waits = arena_array(&cmd->base.arena, js_count(items), sizeof *waits);
    cmd->leases = refs;
    cmd->waits = waits;
    cmd->count = js_count(items);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = read_release(js_at(items, i), i, &refs[i], &waits[i], err);
    return rc;
}

void api_job_release_answer(struct call *call, struct command *command)
{
    const struct cmd_release *cmd = (const struct cmd_release *)command;
    struct report_answers report = {cmd->leases, sizeof *cmd->leases, cmd->answers, cmd->count,
                                    NULL};
    answer_reports(call, "jobs", &report, 0);
}

/* Only the holder of the lease of a run's job may have the token of its agent. */
enum rc api_job_run_token(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct job_ref ref = {0};
    struct job_row job;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc != RC_OK)
        return rc;
    struct fields fields;
    fields_open(&fields, tree, "", err);
    fields_job_ref(&fields, &ref);
    rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = jobs_get(db, &ref.id, &call->http.arena, &job, err);
    if (rc == RC_OK)
        rc = queue_allowed(auth_bound_to(&call->who), job.queue, err);
    if (rc != RC_OK)
        return rc;
    if (!job_leased_to(&job.life, ref.epoch, call->who.principal.text))
        return err_set(err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    if (id_is_none(&job.run_id))
        return err_set(err, RC_CONFLICT, "NOT_A_STEP", "this job belongs to no run");
    char token[RUN_TOKEN_BYTES];
    control_run_token(call->api->control, &job.run_id, token);
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "token", token);
    jw_end(&jw, '}');
    return RC_OK;
}
