/*
 * hydration.h - a prompt while its parts are gathered.
 *
 * A source that cannot be read is noted as degraded and left out: the run continues with the
 * others.  Only a task that is nothing without the source fails.
 */
#ifndef WORK_STEPS_HYDRATION_H
#define WORK_STEPS_HYDRATION_H
#include "core/pr/issue_view.h"
#include "core/run/memory.h"
#include "core/run/prompt.h"
#include "core/run/untrusted.h"
#include "work/job/attachments.h"
#include "work/job/step.h"

enum {
    HYDRATION_RULES_MAX = 24,
    HYDRATION_PARTS_MAX = 3 + HYDRATION_RULES_MAX + ISSUE_VIEW_COMMENTS_MAX + ISSUE_VIEW_LINKS_MAX +
                          MEMORY_NOTES_MAX + ATTACHMENTS_MAX,
};

struct hydration {
    struct step *step;
    struct prompt_part parts[HYDRATION_PARTS_MAX];
    size_t count;
    bool degraded[PROMPT_KIND_COUNT];
    char boundary[UNTRUSTED_BOUNDARY_BYTES]; /* Of untrusted parts. */
};

/* Texts must live as long as the step's arena. */
void hydration_add(struct hydration *hydration, const struct prompt_part *part);
/* Continues without this source, and reports that.  RC_OK, unless rc is a stop or a timeout of the
   step: then that. */
MUST_USE enum rc hydration_degrade(struct hydration *hydration, enum prompt_kind kind, enum rc rc,
                                   const struct err *err);

/* Rules files at the base commit, read from the mirror, never from the agent's tree. */
MUST_USE enum rc hydrate_rules(struct hydration *hydration, const char *base, struct err *err);
/* The issue, its comments and linked issues: as approved, or from the forge with a few retries. */
MUST_USE enum rc hydrate_issue(struct hydration *hydration, struct err *err);
#endif
