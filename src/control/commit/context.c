#include "control/commit/context.h"
#include "control/commit/event_faults.h"
#include "core/event_tags.h"
#include "core/traceparent.h"
#include "store/events.h"
#include <string.h>

/* Is one of the queue's jobs that became ready, and was not taken since, one that it wants? */
static bool picks_of(const struct round *round, const struct command *command,
                     const struct ready *ready)
{
    if (command->ops->picks == NULL || ready->unmarked)
        return true;
    for (size_t i = 0; i < round->mark_count; i++)
        if (strcmp(round->marks[i].queue, ready->queue) == 0 &&
            command->ops->picks(command, &round->marks[i].about))
            return true;
    return false;
}

bool round_serves(const struct round *round, const struct command *command)
{
    for (size_t i = 0; i < round->ready_count; i++)
        if (command->ops->wants(command, round->ready[i].queue) &&
            picks_of(round, command, &round->ready[i]))
            return true;
    return round->all_ready;
}

struct id context_id(struct context *ctx)
{
    int64_t us = ctx->now_us > *ctx->last_id_us ? ctx->now_us : *ctx->last_id_us + 1;
    *ctx->last_id_us = us;
    return id_new(us, ctx->random);
}

const struct queue_rules *context_queue(const struct context *ctx, const char *queue)
{
    return queue_book_find(ctx->queues, queue);
}

/* NULL: there is no room for another queue. */
static struct ready *note_ready(struct context *ctx, const char *queue)
{
    struct round *round = ctx->round;
    round->brought = true;
    supply_refresh(&round->supply, queue);
    for (size_t i = 0; i < round->ready_count; i++) {
        if (strcmp(round->ready[i].queue, queue) == 0) {
            round->ready[i].jobs++;
            return &round->ready[i];
        }
    }
    if (round->ready_count == ROUND_QUEUES_MAX) {
        round->all_ready = true;
        return NULL;
    }
    struct ready *ready = &round->ready[round->ready_count++];
    *ready = (struct ready){.queue = arena_strdup(ctx->batch_arena, queue), .jobs = 1};
    return ready;
}

void context_ready(struct context *ctx, const char *queue)
{
    struct ready *ready = note_ready(ctx, queue);
    if (ready != NULL)
        ready->unmarked = true;
}

void context_ready_marked(struct context *ctx, const struct job_row *job,
                          const struct job_about *about)
{
    struct round *round = ctx->round;
    struct ready *ready = note_ready(ctx, job->queue);
    if (ready == NULL)
        return;
    if (round->mark_count == ROUND_MARKS_MAX) {
        ready->unmarked = true;
        return;
    }
    round->marks[round->mark_count++] = (struct ready_mark){
        .queue = ready->queue, .job_id = job->id, .about = *about};
}

void context_taken(struct context *ctx, const struct job_row *job)
{
    struct round *round = ctx->round;
    for (size_t i = 0; i < round->mark_count; i++) {
        if (!id_same(&round->marks[i].job_id, &job->id))
            continue;
        round->marks[i] = round->marks[--round->mark_count];
        return;
    }
}

void context_due(struct context *ctx, int64_t due_us)
{
    if (ctx->round->due_us == 0 || due_us < ctx->round->due_us)
        ctx->round->due_us = due_us;
}

void context_audit(struct context *ctx, const struct audit_entry *entry)
{
    struct audit_entry full = *entry;
    const struct audit_call *call = ctx->audit_call;
    full.time_us = ctx->now_us;
    if (full.actor_type == NULL) {
        full.actor_type = ctx->actor.type;
        full.actor_id = ctx->actor.id;
    }
    if (entry->actor_type == NULL && call != NULL) {
        full.token_id = call->token_id;
        full.role = call->role;
        full.address = call->address;
        full.request_id = call->request_id;
    }
    ctx->round->audit = audit_trail_add(ctx->round->audit, &full, ctx->batch_arena);
}

const char *context_own_trace(const struct context *ctx, const struct id *flow,
                              const struct id *run_id)
{
    char *text = arena_alloc(ctx->arena, TRACEPARENT_BYTES);
    traceparent_of_ids(flow, id_is_none(run_id) ? flow : run_id, text);
    return text;
}

/* What is about a repository, and no task. */
static const char *tags_of_subject(const struct context *ctx, const char *subject)
{
    static const char repository[] = "repository/";
    struct event_tags tags = {0};
    if (subject == NULL || !text_starts(subject, repository))
        return NULL;
    event_tags_name(&tags, "repository", subject + strlen(repository));
    return event_tags_text(&tags, ctx->arena);
}

static void fill_in(struct context *ctx, struct event *event)
{
    event->id = context_id(ctx);
    const struct event_type *entry = event_type_find(event->type);
    event->version = entry != NULL ? entry->version : 1;
    if (event->time_us < ctx->now_us)
        event->time_us = ctx->now_us;
    event->workspace_id = ctx->workspace_id;
    event->actor = ctx->actor;
    if (event->tags == NULL && event->source == NULL)
        event->tags = tags_of_subject(ctx, event->subject);
    if (event->traceparent == NULL)
        event->traceparent = ctx->traceparent;
    if (event->traceparent == NULL && !id_is_none(&event->correlation_id))
        event->traceparent = context_own_trace(ctx, &event->correlation_id, &event->run_id);
}

enum rc context_append(struct context *ctx, struct event *event, struct id *ret_id)
{
    fill_in(ctx, event);
    enum rc rc = events_append(ctx->db, event, ctx->err);
    if (rc != RC_OK)
        return rc;
    event_faults_look(event);
    ctx->round->appended = true;
    if (ret_id != NULL)
        *ret_id = event->id;
    return RC_OK;
}

enum rc context_append_once(struct context *ctx, struct event *event, bool *ret_new)
{
    fill_in(ctx, event);
    enum rc rc = events_append_once(ctx->db, event, ret_new, ctx->err);
    if (rc == RC_OK && *ret_new)
        ctx->round->appended = true;
    return rc;
}
