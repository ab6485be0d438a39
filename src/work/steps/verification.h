/*
 * verification.h - the results of the checks, and how they are reported: certificate, feedback,
 * result.
 */
#ifndef WORK_STEPS_VERIFICATION_H
#define WORK_STEPS_VERIFICATION_H
#include "core/run/feedback.h"
#include "work/job/step.h"

/* An output of an earlier check, as it was put into a check's tree. */
struct carried {
    const char *path, *from;
    int64_t files, bytes;
    int64_t skipped; /* Not carried: files of the patch, and what is no file, directory or link. */
};

/* One check and its result. */
struct check {
    const char *name, *command;
    enum verify_status status;
    enum failure_category category;
    int exit_code, signal;
    int64_t duration_ms;
    bool optional;       /* It is reported, and does not fail the patch. */
    const char *line;    /* One line for people; NULL when it passed. */
    const char *summary; /* For the agent; NULL when it passed. */
    struct str log;      /* The end of its output; empty when it passed. */
    const char *report;  /* Artifact of the output, or NULL. */
    struct carried *carried;
    size_t carried_count;
};

enum { VERIFICATION_CHECKS_MAX = CONFIG_VERIFIERS_MAX + 1 }; /* And `apply`. */

struct verification {
    const char *base;
    const char *tree_hash; /* NULL: the patch did not apply. */
    struct check checks[VERIFICATION_CHECKS_MAX];
    size_t count;
};

/* Runs the checks of the step's configuration, on the step's base with its patch, if any
   (verify.c).  Works in the directory `name` of the run's, which is removed. */
MUST_USE enum rc verification_run(struct step *step, const char *name,
                                  struct verification *ret_found, struct err *err);

/* "failed": one that is not optional did not pass; else "verified" when one passed, and
   "unverifiable" when none did. */
const char *verification_verdict(const struct verification *verification);

/* Stores the certificate, and the feedback when something failed; writes the result. */
MUST_USE enum rc verification_report(struct step *step, const struct verification *verification,
                                     struct err *err);
#endif
