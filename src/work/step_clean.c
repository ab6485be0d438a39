/*
 * step_clean.c - removes what a run left in the work directory; the mirror stays.
 */
#include "base/fd.h"
#include "work/step.h"

enum rc step_clean(struct step *step, struct err *err)
{
    enum rc rc = dir_remove(step->run_dir, err);
    if (rc == RC_OK)
        buf_adds(step->result, "{}");
    return rc;
}
