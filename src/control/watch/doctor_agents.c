#include "control/watch/doctor_agents.h"
#include "store/agents.h"

enum { AGENTS_PAGE = 500 };

/* NULL: it is as it should be. */
static const char *wrong_with(const struct agent_row *agent, const struct job_row *job)
{
    bool runs = agent->config.len > 0 && instance_has_process(agent->state);
    if (!runs)
        return id_is_none(&agent->job_id) ? NULL : "has a job and no process";
    if (job == NULL)
        return "has no job that runs its process";
    return job_is_settled(job->life.state) ? "has a job that has ended" : NULL;
}

static enum rc examine(struct db *db, const struct agent_row *agent, struct arena *arena,
                       struct doctor_check *check, struct err *err)
{
    struct job_row job;
    enum rc rc = RC_NOT_FOUND;
    if (!id_is_none(&agent->job_id))
        rc = jobs_get(db, &agent->job_id, arena, &job, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    const char *wrong = wrong_with(agent, rc == RC_OK ? &job : NULL);
    check->looked_at++;
    if (wrong != NULL && check->bad++ == 0)
        check->first = arena_printf(arena, "agent %s (%s): %s", agent->name,
                                    instance_state_name(agent->state), wrong);
    err_clear(err);
    return RC_OK;
}

enum rc doctor_agents(struct db *db, struct arena *arena, struct doctor_check *check,
                      struct err *err)
{
    struct agent_filter filter = {.state = -1, .limit = AGENTS_PAGE};
    struct agent_row *rows = NULL;
    size_t count = AGENTS_PAGE;
    enum rc rc = RC_OK;
    while (rc == RC_OK && count == AGENTS_PAGE) {
        rc = agents_list(db, &filter, arena, &rows, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++)
            rc = examine(db, &rows[i], arena, check, err);
        if (rc == RC_OK && count > 0)
            filter.before = rows[count - 1].id;
    }
    return rc;
}
