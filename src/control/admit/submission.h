/*
 * submission.h - reads a task that is requested: the body of POST /v1/tasks, and the documents of a
 * batch, of which several make the tasks of its members.
 */
#ifndef CONTROL_ADMIT_SUBMISSION_H
#define CONTROL_ADMIT_SUBMISSION_H
#include "control/admit/submit.h"
#include "core/config/faults.h"

enum { REPOSITORY_NAME_MAX = 200 };

struct submission_reading {
    struct arena *arena; /* For what is not in the tree. */
    const char *path;    /* Of the document in the body, for errors: "", "task", "tasks[3]". */
    /* Of a batch: where it runs, what it depends on and who may override policy is not said in
       here, and nothing is required. */
    bool of_batch;
};
/* Strings live in the tree.  RC_INVALID with the field; *ret_faults: all that is wrong with
   overrides, with their paths in the body, if that is the reason. */
MUST_USE enum rc submission_read(const struct js *document, const struct submission_reading *how,
                                 struct submission *task, struct faults *ret_faults,
                                 struct err *err);
#endif
