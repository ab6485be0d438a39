/*
 * step_clean.c - removes what a run left in the work directory; the mirror stays.  A remote session
 * that may still be alive, since nobody has heard of its end, is stopped.
 */
#include "base/fd.h"
#include "work/compute_remote.h"
#include "work/step.h"

static enum rc stop_session(struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    if (input->config.agent.compute != COMPUTE_REMOTE || !input->session_id || input->session_over)
        return RC_OK;
    enum rc rc = remote_stop_session(step, err);
    return rc == RC_TIMEOUT ? RC_UNREACHABLE : rc; /* The far side's time, not the step's. */
}

enum rc step_clean(struct step *step, struct err *err)
{
    enum rc rc = dir_remove(step->run_dir, err);
    if (rc == RC_OK)
        rc = stop_session(step, err);
    if (rc == RC_OK)
        buf_adds(step->result, "{}");
    return rc;
}
