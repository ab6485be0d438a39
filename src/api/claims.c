/*
 * claims.c - an agent claims one piece of work, keeps it and hands it in.
 *
 * The claim is a lease of a job of type pull, so that fences, owners and limits are those of the
 * job protocol (jobs.c).  What is added: it is found by agent, persona, repository and label, its
 * answer has the texts of the prompt and of what went wrong before, and a patch may come with its
 * completion.
 */
#include "api/artifact_gate.h"
#include "api/leasing.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "control/agents/claim.h"
#include "control/queue/complete.h"
#include "core/agent/addressee.h"
#include "store/artifacts.h"
#include <string.h>

enum {
    NAME_BYTES_MAX = 200,
    SUMMARY_BYTES_MAX = 4000,
    MODEL_BYTES_MAX = 200,
    CODE_BYTES_MAX = 100,
    MESSAGE_BYTES_MAX = 4000,
    COUNT_MAX = 1000 * 1000 * 1000
};
#define EPOCH_MAX    ((int64_t)1 << 53)
#define COST_USD_MAX 1e6

/* ---- claim ---- */

static const char *const *read_list(struct fields *fields, const char *key, struct arena *arena)
{
    const struct js *names = NULL;
    fields_strings(fields, key, FIELD_OPTIONAL, LEASE_FILTER_MAX,
                   &(struct field_text){.min = 1, .max = NAME_BYTES_MAX}, &names);
    size_t count = js_count(names);
    if (count == 0)
        return NULL;
    const char **list = arena_array(arena, count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = arena_strdup(arena, js_str(js_at(names, i), ""));
    return list;
}

static size_t list_count(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count > 0 ? count : 1;
}

static void read_filter(struct fields *fields, struct cmd_claim *cmd)
{
    struct lease_filter *filter = &cmd->lease.filter;
    filter->repositories = read_list(fields, "repositories", &cmd->lease.base.arena);
    filter->labels = read_list(fields, "labels", &cmd->lease.base.arena);
    if (list_count(filter->repositories) * list_count(filter->labels) > LEASE_CELLS_MAX)
        fields_fail(fields, "labels", "repositories times labels may be %d at most",
                    LEASE_CELLS_MAX);
}

/* What it does not say is as its agent is registered. */
static void read_addressee(struct fields *fields, struct cmd_claim *cmd)
{
    struct addressee *to = &cmd->to;
    fields_string(fields, "agent", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = AGENT_NAME_MAX}, &to->agent);
    fields_string(fields, "persona", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = PERSONA_NAME_MAX}, &to->persona);
    fields_string(fields, "queue", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 100},
                  &to->queue);
    fields_bool(fields, "general", FIELD_OPTIONAL, &cmd->general);
    cmd->general_given = js_get(fields->object, "general") != NULL;
    if (to->agent != NULL && !agent_name_valid(to->agent))
        fields_fail(fields, "agent", AGENT_NAME_RULE);
    if (to->persona != NULL && !persona_name_valid(to->persona))
        fields_fail(fields, "persona", PERSONA_NAME_RULE);
    if (to->queue != NULL && !queue_name_valid(to->queue))
        fields_fail(fields, "queue", "queue is not a queue's name");
}

/* Into the command's arena: the tree is freed before a wait. */
static void keep_addressee(struct call *call, struct cmd_claim *cmd)
{
    struct arena *arena = &cmd->lease.base.arena;
    struct addressee *to = &cmd->to;
    to->agent = arena_strdup(arena, to->agent);
    to->persona = arena_strdup(arena, to->persona);
    to->queue = arena_strdup(arena, to->queue);
    cmd->bound_agent = auth_bound_agent(&call->who);
    const char *name = to->agent != NULL ? to->agent : call->who.name;
    cmd->lease.worker = arena_strdup(arena, text_empty(name) ? "agent" : name);
}

static enum rc read_claim(struct call *call, struct cmd_claim *cmd, struct err *err)
{
    struct fields fields;
    int64_t wait_ms = 0, lease_ms = 0;
    fields_open(&fields, cmd->lease.base.tree, "", err);
    read_addressee(&fields, cmd);
    read_filter(&fields, cmd);
    fields_int(&fields, "waitMs", FIELD_OPTIONAL, &(struct field_range){0, CLAIM_WAIT_MS_MAX},
               &wait_ms);
    fields_int(&fields, "leaseMs", FIELD_OPTIONAL,
               &(struct field_range){JOB_LEASE_MS_MIN, JOB_LEASE_MS_MAX}, &lease_ms);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    keep_addressee(call, cmd);
    cmd->lease.wait_us = http_draining(call->api->http) ? 0 : wait_ms * US_PER_MS;
    cmd->lease.lease_us = lease_ms * US_PER_MS;
    return RC_OK;
}

enum rc api_claim(struct call *call, struct err *err)
{
    struct cmd_claim *cmd = cmd_claim_new();
    call_own(call, &cmd->lease.base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->lease.base.tree, err);
    if (rc == RC_OK)
        rc = read_claim(call, cmd, err);
    if (rc == RC_OK && cmd->lease.wait_us > 0)
        call_wait(call); /* All that it needs is in the command's arena. */
    return rc;
}

/* ---- its answer ---- */

/* Members of the payload, in this order; null where it has none. */
static const char *const claim_members[] = {
    "taskId",        "runId",        "runNo",     "attempt",       "persona",     "repository",
    "repositoryUrl", "targetBranch", "branch",    "baseCommit",    "title",       "description",
    "issueNumber",   "scope",        "labels",    "executionMode", "model",       "maxTurns",
    "maxBudgetUsd",  "maxTokens",    "timeoutMs", "idleMs",        "runDeadline", "messages",
    "messageSeq",    "answers",
};
static void write_texts(struct jw *jw, const struct cmd_claim *cmd, const struct js *payload)
{
    static const char *const members[] = {[CLAIM_PROMPT] = "prompt",
                                          [CLAIM_PLAN] = "plan",
                                          [CLAIM_FEEDBACK] = "feedback",
                                          [CLAIM_PATCH] = "patch"};
    for (int i = 0; i < CLAIM_TEXT_COUNT; i++) {
        const char *sha256 = claim_text_sha256((enum claim_text)i);
        jw_kstr(jw, members[i], cmd->texts[i]);
        jw_kstr(jw, sha256, js_get_str(payload, sha256, NULL));
    }
}

/* Three ways to hand in the work. */
static void write_hand_in(struct call *call, struct jw *jw, const struct job_row *job,
                          const struct js *payload)
{
    struct arena *arena = &call->http.arena;
    jw_key(jw, "handIn");
    jw_begin(jw, '{');
    jw_key(jw, "patch");
    jw_begin(jw, '{');
    jw_kstr(jw, "path", arena_printf(arena, "/v1/claims/%s/complete", job->id.text));
    jw_kstr(jw, "member", "patch");
    jw_kint(jw, "maxBytes", call->api->body_bytes_max);
    jw_end(jw, '}');
    jw_key(jw, "upload");
    jw_begin(jw, '{');
    jw_kstr(jw, "method", "PUT");
    jw_kstr(jw, "path", arena_printf(arena, "/v1/artifacts/{sha256}?jobId=%s", job->id.text));
    jw_kstr(jw, "member", "patchSha256");
    jw_end(jw, '}');
    jw_key(jw, "push");
    jw_begin(jw, '{');
    jw_kstr(jw, "repositoryUrl", js_get_str(payload, "repositoryUrl", NULL));
    jw_kstr(jw, "branch", js_get_str(payload, "branch", NULL));
    jw_kstr(jw, "baseCommit", js_get_str(payload, "baseCommit", NULL));
    jw_end(jw, '}');
    jw_end(jw, '}');
}

static void write_claim(struct call *call, const struct cmd_claim *cmd)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    const struct job_row *job = &cmd->lease.jobs[0];
    struct err err = {0};
    enum rc rc = js_parse(job->payload.at, job->payload.len, &payload, &err);
    if (rc != RC_OK) {
        call_fail(call, err_wrap(&err, RC_CORRUPT, "the assignment"), &err);
        return;
    }
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "claim");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", job->id.text);
    jw_kint(&jw, "epoch", job->life.epoch);
    jw_ktime(&jw, "leaseUntil", job->life.due_us);
    jw_kstr(&jw, "queue", job->queue);
    for (size_t i = 0; i < COUNT_OF(claim_members); i++) {
        jw_key(&jw, claim_members[i]);
        js_write(&jw, js_get(payload, claim_members[i]));
    }
    write_texts(&jw, cmd, payload);
    write_hand_in(call, &jw, job, payload);
    jw_end(&jw, '}');
    jw_end(&jw, '}');
}

void api_claim_answer(struct call *call, struct command *command)
{
    const struct cmd_claim *cmd = (const struct cmd_claim *)command;
    if (cmd->lease.job_count == 0) {
        struct jw jw = call_answer(call, 200);
        jw_begin(&jw, '{');
        jw_kstr(&jw, "claim", NULL);
        jw_end(&jw, '}');
        return;
    }
    if (http_gone(&call->http))
        leasing_give_back(call, &cmd->lease);
    else
        write_claim(call, cmd);
}

/* ---- heartbeat ---- */

static void read_agent(struct fields *fields, const char **ret_agent)
{
    fields_string(fields, "agent", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = AGENT_NAME_MAX}, ret_agent);
}

static void read_epoch(struct fields *fields, struct job_ref *ref)
{
    fields_int(fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, EPOCH_MAX}, &ref->epoch);
}

static enum rc read_body(struct call *call, struct command *command, struct job_ref *ref,
                         struct err *err)
{
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &ref->id, err);
    return rc == RC_OK ? call_json(call, &command->tree, err) : rc;
}

enum rc api_claim_heartbeat(struct call *call, struct err *err)
{
    struct cmd_claim_beat *cmd = cmd_claim_beat_new();
    call_own(call, &cmd->base);
    enum rc rc = read_body(call, &cmd->base, &cmd->ref, err);
    if (rc != RC_OK)
        return rc;
    struct fields fields;
    int64_t extend_ms = JOB_LEASE_MS_DEFAULT;
    fields_open(&fields, cmd->base.tree, "", err);
    read_agent(&fields, &cmd->agent);
    read_epoch(&fields, &cmd->ref);
    fields_int(&fields, "extendMs", FIELD_OPTIONAL,
               &(struct field_range){JOB_LEASE_MS_MIN, JOB_LEASE_MS_MAX}, &extend_ms);
    fields_array(&fields, "events", FIELD_OPTIONAL, JOBS_PER_CALL_MAX, &cmd->events);
    cmd->extend_us = extend_ms * US_PER_MS;
    return fields_close(&fields);
}

static struct jw open_answer(struct call *call, const struct id *id,
                             const struct job_answer *answer)
{
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", id->text);
    jw_kbool(&jw, "ok", answer->ok);
    jw_optstr(&jw, "code", answer->code);
    jw_optstr(&jw, "field", answer->field);
    jw_optstr(&jw, "message", answer->message);
    return jw;
}

void api_claim_heartbeat_answer(struct call *call, struct command *command)
{
    const struct cmd_claim_beat *cmd = (const struct cmd_claim_beat *)command;
    struct jw jw = open_answer(call, &cmd->ref.id, &cmd->answer);
    leasing_write_orders(&jw, &cmd->answer);
    jw_ktime(&jw, "leaseUntil", cmd->answer.until_us);
    jw_end(&jw, '}');
}

/* ---- fail ---- */

enum rc api_claim_fail(struct call *call, struct err *err)
{
    struct cmd_fail *cmd = cmd_fail_new();
    call_own(call, &cmd->base);
    struct job_failed *failed = arena_alloc(&cmd->base.arena, sizeof *failed);
    cmd->jobs = failed;
    cmd->count = 1;
    enum rc rc = read_body(call, &cmd->base, &failed->ref, err);
    if (rc != RC_OK)
        return rc;
    struct fields fields;
    const char *agent = NULL;
    failed->code = "agent_failed";
    fields_open(&fields, cmd->base.tree, "", err);
    read_agent(&fields, &agent);
    read_epoch(&fields, &failed->ref);
    fields_string(&fields, "code", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = CODE_BYTES_MAX}, &failed->code);
    fields_string(&fields, "message", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = MESSAGE_BYTES_MAX}, &failed->message);
    fields_bool(&fields, "retryable", FIELD_OPTIONAL, &failed->retryable);
    return fields_close(&fields);
}

void api_claim_fail_answer(struct call *call, struct command *command)
{
    const struct cmd_fail *cmd = (const struct cmd_fail *)command;
    const struct job_answer *answer = &cmd->answers[0];
    struct jw jw = open_answer(call, &cmd->jobs[0].ref.id, answer);
    jw_kstr(&jw, "state", answer->ok ? job_state_name(answer->state) : NULL);
    jw_end(&jw, '}');
}

/* ---- complete ---- */

struct completion {
    const char *summary, *model, *patch, *patch_sha256;
    int64_t turns, input_tokens, output_tokens;
    double cost_usd;
    const struct js *question;
};

static enum rc read_completion(const struct js *tree, struct job_ref *ref,
                               struct completion *completion, struct err *err)
{
    struct fields fields;
    const char *agent = NULL;
    *completion = (struct completion){
        .turns = -1, .input_tokens = -1, .output_tokens = -1, .cost_usd = -1};
    fields_open(&fields, tree, "", err);
    read_agent(&fields, &agent);
    read_epoch(&fields, ref);
    fields_string(&fields, "summary", FIELD_OPTIONAL,
                  &(struct field_text){.max = SUMMARY_BYTES_MAX}, &completion->summary);
    fields_string(&fields, "patch", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ARTIFACT_BYTES_MAX}, &completion->patch);
    fields_string(&fields, "patchSha256", FIELD_OPTIONAL,
                  &(struct field_text){.min = 64, .max = 64}, &completion->patch_sha256);
    fields_string(&fields, "model", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = MODEL_BYTES_MAX}, &completion->model);
    fields_int(&fields, "turns", FIELD_OPTIONAL, &(struct field_range){0, COUNT_MAX},
               &completion->turns);
    fields_int(&fields, "inputTokens", FIELD_OPTIONAL, &(struct field_range){0, INT64_C(1) << 50},
               &completion->input_tokens);
    fields_int(&fields, "outputTokens", FIELD_OPTIONAL, &(struct field_range){0, INT64_C(1) << 50},
               &completion->output_tokens);
    fields_real(&fields, "costUsd", FIELD_OPTIONAL, &(struct field_real){0, COST_USD_MAX},
                &completion->cost_usd);
    fields_object(&fields, "question", FIELD_OPTIONAL, &completion->question);
    if (completion->patch != NULL && completion->patch_sha256 != NULL)
        fields_fail(&fields, "patch", "give patch or patchSha256, not both");
    return fields_close(&fields);
}

static void key_count(struct jw *jw, const char *key, int64_t count)
{
    if (count >= 0)
        jw_kint(jw, key, count);
}

/* The result that the job protocol takes for a job of type pull. */
static struct str result_of(const struct completion *completion, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 4 * JOB_RESULT_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "status", "success");
    jw_optstr(&jw, "summary", completion->summary);
    jw_optstr(&jw, "patchSha256", completion->patch_sha256);
    jw_optstr(&jw, "model", completion->model);
    key_count(&jw, "turns", completion->turns);
    key_count(&jw, "inputTokens", completion->input_tokens);
    key_count(&jw, "outputTokens", completion->output_tokens);
    if (completion->cost_usd >= 0)
        jw_kreal(&jw, "costUsd", completion->cost_usd);
    if (completion->question != NULL) {
        jw_key(&jw, "question");
        js_write(&jw, completion->question);
    }
    jw_end(&jw, '}');
    if (text.overflow)
        return (struct str){NULL, JOB_RESULT_MAX + 1};
    return (struct str){arena_strndup(arena, text.data, text.len), text.len};
}

/* Scanned as an upload is, and stored before the completion that names it. */
static enum rc store_patch(struct call *call, struct db *db, const struct id *job_id,
                           struct completion *completion, struct err *err)
{
    if (completion->patch == NULL)
        return RC_OK;
    struct str content = str_of(completion->patch);
    char *sha256 = arena_alloc(&call->http.arena, SHA256_TEXT_BYTES);
    completion->patch_sha256 = sha256;
    enum rc rc = artifact_check_for_job(call, db, job_id, content, err);
    if (rc == RC_STALE) { /* The command knows whether it is a repetition. */
        err_clear(err);
        sha256_hex(content.at, content.len, sha256);
        return RC_OK;
    }
    return rc == RC_OK ? artifact_put(call->api->store, content, sha256, err) : rc;
}

enum rc api_claim_complete(struct call *call, struct db *db, struct err *err)
{
    struct cmd_complete *cmd = cmd_complete_new();
    call_own(call, &cmd->base);
    struct job_done *done = arena_alloc(&cmd->base.arena, sizeof *done);
    struct completion completion;
    cmd->jobs = done;
    cmd->count = 1;
    enum rc rc = read_body(call, &cmd->base, &done->ref, err);
    if (rc == RC_OK)
        rc = read_completion(cmd->base.tree, &done->ref, &completion, err);
    if (rc == RC_OK)
        rc = store_patch(call, db, &done->ref.id, &completion, err);
    if (rc != RC_OK)
        return rc;
    done->result = result_of(&completion, &cmd->base.arena);
    if (done->result.len > JOB_RESULT_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "summary",
                         "summary and question must have %d bytes at most, as JSON",
                         JOB_RESULT_MAX);
    rc = call_commit(call, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = open_answer(call, &done->ref.id, &cmd->answers[0]);
    jw_end(&jw, '}');
    return RC_OK;
}
