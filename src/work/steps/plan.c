/*
 * plan.c - runs the agent for a plan before it runs for work.
 *
 * It runs as for an attempt (own tree, prompt, adapter, limits), with $DROVER_PHASE=plan and a
 * request for a plan at the end of its prompt.  The plan is what it writes to $DROVER_PLAN, or else
 * its closing summary.  What it does to the tree is thrown away.
 */
#include "base/fd.h"
#include "core/text/redact.h"
#include "work/agent/attempt.h"
#include "work/job/step_secrets.h"
#include "work/tree/small_file.h"
#include "work/tree/worktree.h"
#include <string.h>

enum { PLAN_BYTES_MAX = 256 * 1024, SUMMARY_MAX = 1500 };

/* A plan is made by a command of this worker, for remote and pull agents too. */
static void use_plan_config(struct repo_config *config)
{
    config->agent.compute = COMPUTE_PROCESS;
    config->timeouts.agent_ms = config->plan.timeout_ms;
    if (config->plan.command[0] != NULL)
        memcpy(config->agent.command, config->plan.command, sizeof config->agent.command);
}

static enum rc read_plan(struct attempt *attempt, struct buf *plan, struct err *err)
{
    const char *said = attempt->transcript.summary;
    if (small_file_read(attempt->plan_path, plan) == RC_OK && plan->len > 0)
        return RC_OK;
    if (said[0] != '\0') {
        buf_adds(plan, said);
        return RC_OK;
    }
    enum rc rc = err_set(err, RC_NOT_FOUND, "PLAN_MISSING",
                         "The agent left no plan: it should write one to $DROVER_PLAN.");
    return step_fail(attempt->step, rc, err, (struct port_failure){.code = "plan_missing"});
}

static enum rc keep_plan(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    CLEANUP(buf_release) struct buf plan;
    buf_init(&plan, PLAN_BYTES_MAX);
    const char *sha256 = NULL;
    enum rc rc = read_plan(attempt, &plan, err);
    if (rc != RC_OK)
        return rc;
    const char *text = redact_dup(step_secrets(step), buf_text(&plan), step->arena);
    rc = step_put(step, "plan", "plan.md", str_of(text), &sha256, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "planSha256", sha256);
    step_write_text(&jw, "summary", text, SUMMARY_MAX);
    attempt_write_end(attempt, &jw);
    step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
    return RC_OK;
}

/* Cut short, or with a question, it has no plan to show: the server decides as it does for an
   attempt. */
static enum rc report_cut_short(struct attempt *attempt)
{
    struct jw jw = jw_to(attempt->step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "planSha256", "");
    attempt_write_end(attempt, &jw);
    step_write_artifacts(attempt->step, &jw);
    jw_end(&jw, '}');
    return RC_OK;
}

enum rc step_plan(struct step *step, struct err *err)
{
    use_plan_config(&step->input.config);
    CLEANUP(attempt_release) struct attempt attempt;
    attempt_init(&attempt, step);
    attempt.planning = true;
    enum rc rc = attempt_run(&attempt, err);
    if (rc == RC_OK)
        rc = attempt_take_log(&attempt, err);
    if (rc != RC_OK)
        return rc;
    bool done = attempt.ended.end == COMPUTE_ENDED && attempt.limit == NULL &&
                attempt.record != REPORT_ERROR && attempt.question == NULL;
    return done ? keep_plan(&attempt, err) : report_cut_short(&attempt);
}
