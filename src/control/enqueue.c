/*
 * enqueue.c - jobs come in: many in one commit, or none.
 */
#include "control/enqueue.h"
#include "core/task.h"

static enum rc find_duplicate(struct cx *cx, const struct job_spec *spec,
                              struct enqueue_answer *ret_answer)
{
    ret_answer->duplicate = false;
    if (spec->dedup_key == NULL)
        return RC_OK;
    enum rc rc = jobs_by_dedup(cx->db, spec->queue, spec->dedup_key, &ret_answer->id, cx->err);
    ret_answer->duplicate = rc == RC_OK;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static struct job_row make_row(struct cx *cx, const struct job_spec *spec)
{
    struct queue_config rules = queue_config_default(spec->queue);
    int64_t due_us = cx->now_us + spec->delay_us;
    int64_t ttl_us = spec->ttl_us > 0 ? spec->ttl_us : rules.ttl_us;
    return (struct job_row){
        .id = cx_id(cx),
        .queue = spec->queue,
        .type = spec->type,
        .workspace_id = cx->workspace_id,
        .payload = spec->payload,
        .priority = spec->priority,
        .rank = rank_of(due_us, spec->priority),
        .ordering_key = spec->ordering_key,
        .dedup_key = spec->dedup_key,
        .life = {.state = spec->delay_us > 0 ? JOB_SCHEDULED : JOB_QUEUED,
                 .due_us = due_us,
                 .expires_us = ttl_us > 0 ? cx->now_us + ttl_us : 0,
                 .attempt_max = spec->max_attempts > 0 ? spec->max_attempts : rules.max_attempts},
        .headers = spec->headers,
        .dependency = spec->dependency,
        .saga_id = spec->saga_id,
        .created_us = cx->now_us,
        .updated_us = cx->now_us,
    };
}

enum rc enqueue_one(struct cx *cx, const struct job_spec *spec, struct enqueue_answer *ret_answer)
{
    enum rc rc = find_duplicate(cx, spec, ret_answer);
    if (rc != RC_OK || ret_answer->duplicate)
        return rc;
    struct job_row row = make_row(cx, spec);
    if (spec->ordering_key != NULL) {
        bool head;
        rc = job_keys_enter(cx->db, spec->queue, spec->ordering_key, &row.id, &head, cx->err);
        if (rc != RC_OK)
            return rc;
        if (!head)
            row.life.state = JOB_BLOCKED;
    }
    rc = jobs_insert(cx->db, &row, cx->err);
    if (rc == RC_CONFLICT) /* Another lane was faster: tried again, it is a duplicate. */
        return err_wrap(cx->err, RC_BUSY, "another call brings it just now");
    if (rc != RC_OK)
        return rc;
    ret_answer->id = row.id;
    if (row.life.state == JOB_QUEUED)
        cx_ready(cx, row.queue);
    else if (row.life.state == JOB_SCHEDULED)
        cx_due(cx, row.life.due_us);
    if (row.life.expires_us > 0)
        cx_due(cx, row.life.expires_us);
    return RC_OK;
}

static enum rc apply_enqueue(struct cx *cx, struct command *command)
{
    struct cmd_enqueue *cmd = (struct cmd_enqueue *)command;
    cmd->answers = arena_array(cx->arena, cmd->count, sizeof(*cmd->answers));
    for (size_t i = 0; i < cmd->count; i++) {
        enum rc rc = enqueue_one(cx, &cmd->jobs[i], &cmd->answers[i]);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static const struct command_ops enqueue_ops = {.name = "enqueue", .apply = apply_enqueue};

struct cmd_enqueue *cmd_enqueue_new(void)
{
    return command_new(&enqueue_ops, sizeof(struct cmd_enqueue));
}
