#include "control/agents/claim.h"
#include "control/agents/registry.h"
#include "control/commit/principal.h"
#include "control/commit/read_ahead.h"
#include "control/queue/token_scope.h"
#include "control/run/progress.h"
#include "store/artifacts.h"
#include <string.h>

enum { KILLED_MAX = 1000 };
/* A claim waits for less than this. */
#define KILLED_WITHIN_US (2 * CLAIM_WAIT_MS_MAX * US_PER_MS)

/* ---- the agent's row ---- */

static enum rc refuse(struct context *ctx, const struct agent_row *row, const char *field,
                      const char *what)
{
    return err_field(ctx->err, RC_DENIED, "AGENT_NOT_ALLOWED", field,
                     "agent %s is registered for %s: leave out %s, or name its own", row->name,
                     what, field);
}

/* Each of the list is in the array of the row; an empty array has all. */
static bool lies_within(const char *const *list, const struct js *array)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        bool found = js_count(array) == 0;
        for (size_t j = 0; !found && j < js_count(array); j++)
            found = text_same(list[i], js_str(js_at(array, j), NULL));
        if (!found)
            return false;
    }
    return true;
}

/* Into the command's arena: it lives as long as the claim waits. */
static enum rc take_list(struct context *ctx, struct str stored, const char *const **list,
                         bool *ret_within)
{
    CLEANUP(js_freep) struct js *array = NULL;
    *ret_within = true;
    if (stored.len == 0)
        return RC_OK;
    enum rc rc = js_parse(stored.at, stored.len, &array, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "a list of an agent");
    *ret_within = lies_within(*list, array);
    if (*list != NULL || js_count(array) == 0)
        return RC_OK;
    const char **own = arena_array(ctx->arena, js_count(array) + 1, sizeof *own);
    for (size_t i = 0; i < js_count(array); i++)
        own[i] = arena_strdup(ctx->arena, js_str(js_at(array, i), ""));
    *list = own;
    return RC_OK;
}

/* What the claim does not say itself is as the agent is registered. */
static enum rc take_row(struct context *ctx, struct cmd_claim *cmd, const struct agent_row *row)
{
    struct lease_filter *filter = &cmd->lease.filter;
    bool repositories = true, labels = true;
    if (cmd->to.persona != NULL && !text_same(cmd->to.persona, row->persona))
        return refuse(ctx, row, "persona", "another persona");
    enum rc rc = take_list(ctx, row->repositories, &filter->repositories, &repositories);
    if (rc == RC_OK)
        rc = take_list(ctx, row->labels, &filter->labels, &labels);
    if (rc != RC_OK)
        return rc;
    if (!repositories || !labels)
        return refuse(ctx, row, repositories ? "labels" : "repositories",
                      repositories ? "other labels" : "other repositories");
    cmd->to.persona = arena_strdup(ctx->arena, row->persona);
    if (cmd->to.queue == NULL)
        cmd->to.queue = arena_strdup(ctx->arena, row->queue);
    if (!cmd->general_given)
        cmd->general = row->general;
    return RC_OK;
}

static enum rc check_capacity(struct context *ctx, const struct agent_row *row)
{
    int64_t claims;
    enum rc rc = agents_count_claims(ctx->db, row->name, &claims, ctx->err);
    if (rc == RC_OK && claims >= row->capacity)
        return err_set(ctx->err, RC_CONFLICT, "AGENT_FULL",
                       "agent %s has %lld pieces of work, as many as its capacity: complete or "
                       "fail one first",
                       row->name, (long long)claims);
    return rc;
}

/* Locked, and may it claim now?  The row lives in the batch's arena: claims wait by the
   thousand. */
static enum rc check_row(struct context *ctx, const struct cmd_claim *cmd, const char *name,
                         struct agent_row *ret_row)
{
    enum rc rc = agents_by_name(ctx->db, &ctx->workspace_id, name, ctx->batch_arena, ret_row,
                                ctx->err);
    if (rc == RC_OK)
        rc = agent_allows(ctx, &cmd->lease.base, cmd->bound_agent, ret_row);
    if (rc == RC_OK && !instance_may_claim(ret_row->state))
        return err_set(ctx->err, RC_CONFLICT, "AGENT_GONE",
                       "agent %s is %s: it takes no work until it is launched or registered again",
                       ret_row->name, instance_state_name(ret_row->state));
    return rc == RC_OK ? check_capacity(ctx, ret_row) : rc;
}

/* ---- the first look ---- */

static enum rc choose_queues(struct context *ctx, struct cmd_claim *cmd)
{
    const char *bound_to = cmd->lease.base.bound_to;
    const char *const *all = addressee_queues(&cmd->to, cmd->general, ctx->arena);
    const char **queues = arena_array(ctx->arena, ADDRESSEE_QUEUES_MAX + 1, sizeof *queues);
    size_t count = 0;
    enum rc rc = RC_OK;
    for (size_t i = 0; all[i] != NULL; i++) {
        rc = queue_allowed(bound_to, all[i], ctx->err);
        if (rc == RC_OK)
            queues[count++] = all[i];
    }
    cmd->lease.queues = queues;
    if (count == 0)
        return rc;
    err_clear(ctx->err);
    return RC_OK;
}

/* One that is not registered is as welcome: cmd->agent stays NULL. */
static enum rc meet_agent(struct context *ctx, struct cmd_claim *cmd, struct agent_row *row)
{
    const char *name = cmd->to.agent != NULL ? cmd->to.agent : cmd->bound_agent;
    if (name == NULL)
        return RC_OK;
    if (cmd->bound_agent != NULL && !text_same(cmd->bound_agent, name))
        return err_field(ctx->err, RC_DENIED, "AGENT_NOT_ALLOWED", "agent",
                         "this token is that of agent %s and cannot act for %s", cmd->bound_agent,
                         name);
    enum rc rc = check_row(ctx, cmd, name, row);
    if (rc == RC_NOT_FOUND && cmd->bound_agent != NULL)
        return err_set(ctx->err, RC_CONFLICT, "AGENT_GONE", "agent %s was deleted", name);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    cmd->agent = cmd->to.agent = cmd->lease.worker = arena_strdup(ctx->arena, row->name);
    return take_row(ctx, cmd, row);
}

static enum rc resolve(struct context *ctx, struct cmd_claim *cmd)
{
    struct agent_row row;
    enum rc rc = meet_agent(ctx, cmd, &row);
    if (cmd->to.queue == NULL)
        cmd->to.queue = AGENT_QUEUE_DEFAULT;
    if (rc == RC_OK)
        rc = addressee_check(&cmd->to, ctx->arena, ctx->err);
    if (rc == RC_OK)
        rc = choose_queues(ctx, cmd);
    if (rc == RC_OK && cmd->agent != NULL)
        rc = agent_heard(ctx, &row);
    cmd->resolved = rc == RC_OK;
    return rc;
}

/* ---- woken ---- */

/* Read once in a batch, for all claims that look again. */
struct killed_agents {
    const char **names;
    size_t count;
};

static enum rc read_killed(struct context *ctx, const struct killed_agents **ret_killed)
{
    struct round *round = ctx->round;
    if (round->killed == NULL) {
        struct killed_agents *killed = arena_alloc(ctx->batch_arena, sizeof *killed);
        enum rc rc = agents_killed_since(ctx->db, ctx->now_us - KILLED_WITHIN_US, KILLED_MAX,
                                         ctx->batch_arena, &killed->names, &killed->count,
                                         ctx->err);
        if (rc != RC_OK)
            return rc;
        round->killed = killed;
    }
    *ret_killed = round->killed;
    return RC_OK;
}

/* It was killed while it waited, or work is there that it may not have any more. */
static enum rc look_again(struct context *ctx, struct cmd_claim *cmd)
{
    const struct killed_agents *killed;
    struct agent_row row;
    bool found;
    enum rc rc = read_killed(ctx, &killed);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < killed->count; i++)
        if (strcmp(killed->names[i], cmd->agent) == 0)
            return err_set(ctx->err, RC_CONFLICT, "AGENT_GONE", "agent %s was killed", cmd->agent);
    rc = lease_finds(ctx, &cmd->lease, &found);
    if (rc != RC_OK || !found)
        return rc;
    rc = check_row(ctx, cmd, cmd->agent, &row);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, RC_CONFLICT, "AGENT_GONE", "agent %s was deleted", cmd->agent);
    return rc;
}

/* ---- its texts ---- */

const char *claim_text_sha256(enum claim_text text)
{
    static const char *const members[] = {
        [CLAIM_PROMPT] = "promptSha256",
        [CLAIM_PLAN] = "planSha256",
        [CLAIM_FEEDBACK] = "feedbackSha256",
        [CLAIM_PATCH] = "patchSha256",
    };
    return members[text];
}

/* NULL: it is not a text that fits.  Its hash is in the claim, so that it can be read elsewhere. */
static const char *read_text(struct context *ctx, const char *sha256)
{
    const struct artifact_source source = {ctx->store, ctx->db};
    CLEANUP(buf_release) struct buf text;
    struct err err = {0};
    int64_t bytes = 0;
    buf_init(&text, CLAIM_TEXT_BYTES_MAX);
    if (sha256 == NULL || artifact_stat(&source, sha256, &bytes, &err) != RC_OK ||
        bytes > CLAIM_TEXT_BYTES_MAX || artifact_read(&source, sha256, &text, &err) != RC_OK ||
        text.overflow || memchr(buf_text(&text), '\0', text.len) != NULL)
        return NULL;
    return arena_strndup(ctx->arena, text.data, text.len);
}

/* With the claim itself: a second trip to the store would double the time that it takes. */
static void read_texts(struct context *ctx, struct cmd_claim *cmd)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    const struct str *job = cmd->lease.job_count > 0 ? &cmd->lease.jobs[0].payload : NULL;
    if (job == NULL || js_parse(job->at, job->len, &payload, NULL) != RC_OK)
        return;
    for (int i = 0; i < CLAIM_TEXT_COUNT; i++)
        cmd->texts[i] = read_text(ctx,
                                  js_get_str(payload, claim_text_sha256((enum claim_text)i), NULL));
}

/* ---- the command ---- */

static enum rc apply_claim(struct context *ctx, struct command *command)
{
    struct cmd_claim *cmd = (struct cmd_claim *)command;
    enum rc rc = RC_OK;
    if (!cmd->resolved)
        rc = resolve(ctx, cmd);
    else if (cmd->agent != NULL)
        rc = look_again(ctx, cmd);
    if (rc == RC_OK)
        rc = lease_apply(ctx, command);
    if (rc == RC_OK)
        read_texts(ctx, cmd);
    return rc;
}

static bool claim_wants(const struct command *command, const char *queue)
{
    const struct cmd_claim *cmd = (const struct cmd_claim *)command;
    static const char bell[] = "agent/"; /* agent_bell() */
    bool rung = cmd->agent != NULL && text_starts(queue, bell) &&
                strcmp(queue + strlen(bell), cmd->agent) == 0;
    return rung || lease_wants(command, queue);
}

static const struct command_ops claim_ops = {
    .name = "claim",
    .apply = apply_claim,
    .may_wait = lease_may_wait,
    .wants = claim_wants,
    .appetite = lease_appetite,
    .picks = lease_picks,
};

struct cmd_claim *cmd_claim_new(void)
{
    struct cmd_claim *cmd = command_new(&claim_ops, sizeof *cmd);
    cmd->lease.max = 1;
    cmd->lease.filter.marked = true;
    cmd->general = true;
    return cmd;
}

/* ---- heartbeat ---- */

/* Events are taken only if the lease can be renewed: nothing is written otherwise. */
static enum rc take_events(struct context *ctx, const struct cmd_claim_beat *cmd,
                           const char **ret_worker, struct job_answer *ret_told)
{
    const struct job_progress progress = {cmd->ref, cmd->events};
    struct job_row job;
    enum rc rc = lease_load(ctx, &cmd->base, &cmd->ref, &job, ret_told);
    if (rc != RC_OK || !ret_told->ok)
        return rc;
    *ret_worker = job.worker;
    if (cmd->agent != NULL && !worker_may_renew(cmd->agent, job.worker)) {
        *ret_told = (struct job_answer){.code = "LEASE_LOST", .state = job.life.state};
        return RC_OK;
    }
    return cmd->events != NULL ? progress_take(ctx, &cmd->base, &progress, ret_told) : RC_OK;
}

static enum rc apply_beat(struct context *ctx, struct command *command)
{
    struct cmd_claim_beat *cmd = (struct cmd_claim_beat *)command;
    struct token_scope_refs refs = {&cmd->ref, sizeof cmd->ref, 1};
    const struct renewal renewal = {cmd->ref, cmd->agent, cmd->extend_us};
    const char *worker = NULL;
    struct job_answer told;
    cmd->answer = (struct job_answer){0};
    enum rc rc = token_scope_check(ctx, command, &refs);
    if (rc == RC_OK)
        rc = take_events(ctx, cmd, &worker, &told);
    if (rc != RC_OK)
        return rc;
    cmd->answer = told;
    if (!told.ok)
        return RC_OK;
    rc = lease_renew(ctx, command, &renewal, &cmd->answer);
    if (rc == RC_OK && cmd->answer.ok) { /* A limit that this very report has passed. */
        cmd->answer.cancel |= told.cancel;
        cmd->answer.code = told.code;
        rc = agent_heard_by_name(ctx, worker);
    }
    return rc;
}

static void beat_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_job(read_ahead, &((const struct cmd_claim_beat *)command)->ref.id);
}

static const struct command_ops beat_ops = {
    .name = "claim_beat", .apply = apply_beat, .names = beat_names};

struct cmd_claim_beat *cmd_claim_beat_new(void)
{
    return command_new(&beat_ops, sizeof(struct cmd_claim_beat));
}
