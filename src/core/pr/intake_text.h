/*
 * intake_text.h - the one comment on an issue that says how far its task is.
 *
 * A pure function of what is known: the same facts are the same text, so that a comment is written
 * again only when there is something new.
 */
#ifndef CORE_PR_INTAKE_TEXT_H
#define CORE_PR_INTAKE_TEXT_H
#include "base/buf.h"
#include "core/pr/intake.h"

enum { INTAKE_TEXT_MAX = 8 * 1024 };

struct issue_progress {
    enum issue_state state;
    const char *reason;        /* Why it is in that state; or NULL. */
    const char *asked_by, *by; /* or NULL */
    const char *task_id;       /* NULL: there is no task. */
    int64_t run_no;
    enum task_status status;
    const char *step;     /* Being worked on; or NULL. */
    const char *deferred; /* Why it has not started; or NULL. */
    int64_t cost_microusd;
    const char *question; /* Of the agent, that is open; or NULL. */
    bool approval;        /* A person is to approve the result at drover. */
    int64_t pr_number;    /* 0: none */
    const char *pr_url;
    const char *pr_state; /* draft, open, merged, closed */
    const char *pr_news;  /* Of CI and review, in a line; or NULL. */
    const char *error;    /* How it failed, in a line; or NULL. */
    bool can_retry;
    bool changed; /* The text is not the one that was approved. */
    bool help;
};

/* Markdown, at most INTAKE_TEXT_MAX. */
void issue_progress_write(const struct issue_progress *progress, struct arena *arena,
                          struct buf *into);
#endif
