/*
 * pr_text.h - what a pull request says of itself: what changed, why, how it was verified, what it
 * cost, and how to run it again.
 */
#ifndef WORK_STEPS_PR_TEXT_H
#define WORK_STEPS_PR_TEXT_H
#include "core/run/patch.h"
#include "work/job/step.h"

struct pr_facts {
    const struct step_input *input;
    const struct patch_stats *patch;
    const struct js *certificate; /* NULL: nothing was verified. */
};

/* Of the commit, below its title: the same at every try. */
const char *pr_commit_message(const struct pr_facts *facts, struct arena *arena);
/* Markdown.  Its first line is a hidden mark with task and run, so that no text of others that
   follows can pass for it. */
const char *pr_body(const struct pr_facts *facts, struct arena *arena);
/* The checks alone: summary of the check that shows the certificate. */
const char *pr_certificate_text(const struct pr_facts *facts, struct arena *arena);
/* One line: "verified: 3 of 3 checks passed". */
const char *pr_certificate_title(const struct js *certificate, struct arena *arena);
#endif
