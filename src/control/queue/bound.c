/*
 * bound.c - see bound.h.
 */
#include "control/queue/bound.h"

static enum rc check_one(struct cx *cx, const struct command *command, const struct job_ref *ref)
{
    struct job_row job;
    enum rc rc = jobs_get(cx->db, &ref->id, cx->arena, &job, cx->err);
    if (rc == RC_NOT_FOUND) { /* The command itself answers with that. */
        err_clear(cx->err);
        return RC_OK;
    }
    return rc == RC_OK ? queue_allowed(command->bound_to, job.queue, cx->err) : rc;
}

enum rc bound_check(struct cx *cx, const struct command *command, const struct bound_refs *refs)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; command->bound_to && rc == RC_OK && i < refs->count; i++) {
        const char *at = (const char *)refs->refs + i * refs->stride;
        rc = check_one(cx, command, (const struct job_ref *)at);
    }
    return rc;
}

enum rc bound_check_specs(struct cx *cx, const struct command *command,
                          const struct job_spec *specs, size_t count)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = queue_allowed(command->bound_to, specs[i].queue, cx->err);
    return rc;
}
