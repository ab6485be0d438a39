/*
 * infer.c - the table of infer.h as data.
 */
#include "core/agent/infer.h"

static const struct inference nothing_told = {
    .code = "session_ended_unexpectedly",
    .message = "The agent's session ended without saying how.",
};

/* [success][pull request exists][work was done]; success 0 is an error report. */
static const struct inference outcomes[2][2][2] = {
    [1][1][1] = {.completed = true, .code = "", .message = "The agent finished."},
    [1][1][0] = {.completed = true, .code = "", .message = "The agent finished."},
    [1][0][1] = {.completed = true,
                 .partial = true,
                 .code = "",
                 .message = "The agent finished its work and opened no pull request."},
    [1][0][0] = {.code = "agent_did_nothing",
                 .message = "The agent reported success and changed nothing."},
    [0][1][1] = {.completed = true,
                 .code = "agent_error_but_pr_exists",
                 .message = "The agent reported an error after its pull request was opened."},
    [0][1][0] = {.completed = true,
                 .code = "agent_error_but_pr_exists",
                 .message = "The agent reported an error after its pull request was opened."},
    [0][0][1] = {.code = "agent_error_partial_work",
                 .message = "The agent reported an error and left partial work."},
    [0][0][0] = {.code = "agent_error",
                 .message = "The agent reported an error and changed nothing."},
};

enum report infer_report(const struct session_facts *facts)
{
    if (facts->completion != REPORT_UNKNOWN)
        return facts->completion;
    if (facts->adapter != REPORT_UNKNOWN)
        return facts->adapter;
    if (!facts->exited)
        return REPORT_UNKNOWN;
    return facts->exit_code == 0 ? REPORT_SUCCESS : REPORT_ERROR;
}

struct inference infer_outcome(const struct session_facts *facts)
{
    enum report report = infer_report(facts);
    if (report == REPORT_UNKNOWN)
        return nothing_told;
    struct inference found = outcomes[report == REPORT_SUCCESS][facts->pr_exists]
                                     [facts->has_commits];
    if (report == REPORT_SUCCESS && found.completed && facts->build_failed) {
        found.code = "build_failed_after_agent";
        found.message = "The agent reported success, but the build fails with its work.";
    }
    return found;
}
