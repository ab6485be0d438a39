/*
 * hydrate_issue.c - the issue of a task, and the comments on it.
 *
 * Calls to a forge that cannot answer are retried with growing pauses.  Then a task with a text of
 * its own continues without the issue; one that is nothing but the issue fails, to be retried later
 * when that may help.
 */
#include "work/job/repo_step.h"
#include "work/job/retry.h"
#include "work/steps/hydration.h"
#include <inttypes.h>

enum { TRIES_MAX = 3 };

/* False when a stop was requested meanwhile, or no time is left. */
static bool wait_a_little(const struct step *step, int failures, struct random *random)
{
    int64_t ms = retry_pause_ms(failures, random);
    int64_t left_ms = step_left_ms(step);
    return ms < left_ms && !stop_wait(step->stop, ms);
}

static enum rc ask_forge(struct step *step, struct issue *ret_issue, struct err *err)
{
    const struct step_input *input = &step->input;
    const struct issue_ops *ops = NULL;
    struct random random = random_from_os();
    enum rc rc = issues_find(input->config.forge, &ops, err);
    if (rc != RC_OK)
        return rc;
    const struct forge_ops *forge = NULL;
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    rc = step_forge_open(step, ACCESS_READ, &call, &forge, err);
    if (rc != RC_OK)
        return rc;
    for (int tries = 1;; tries++) {
        rc = ops->get(&call, input->config.url, input->issue_number, step->arena, ret_issue, err);
        if (!retry_may_help(rc) || tries == TRIES_MAX || !wait_a_little(step, tries, &random))
            return rc;
    }
}

static void add_issue(struct hydration *hydration, const struct issue *issue)
{
    struct arena *arena = hydration->step->arena;
    const char *title = arena_printf(arena, "#%" PRId64 " %s", issue->number, issue->title);
    const char *body = text_empty(issue->body) ? "(It has no text but its title.)" : issue->body;
    hydration_add(hydration, &(struct prompt_part){PROMPT_ISSUE, title, body});
    for (int64_t i = 0; i < issue->comment_count; i++)
        hydration_add(hydration, &(struct prompt_part){PROMPT_COMMENT, issue->comments[i].author,
                                                       issue->comments[i].body});
}

enum rc hydrate_issue(struct hydration *hydration, struct err *err)
{
    struct step *step = hydration->step;
    const struct step_input *input = &step->input;
    if (input->issue_number == 0)
        return RC_OK;
    struct issue issue;
    enum rc rc = ask_forge(step, &issue, err);
    if (rc == RC_OK) {
        add_issue(hydration, &issue);
        return RC_OK;
    }
    if (rc == RC_LIMIT) /* It waits for the forge's limit. */
        return rc;
    if (!text_empty(input->description))
        return hydration_degrade(hydration, PROMPT_ISSUE, rc, err);
    if (rc == RC_TIMEOUT || rc == RC_CANCELLED)
        return rc;
    const struct port_failure failure = {.code = "issue_unavailable",
                                         .retryable = retry_may_help(rc)};
    (void)err_wrap(err, rc, "the task is nothing but its issue, which cannot be read");
    return step_fail(step, rc, err, failure);
}
