/*
 * infer.h - the outcome of an agent session, from what it reported and what it left.
 *
 *   self-report        PR    commits           outcome
 *   success, end_turn  yes   > 0               completed
 *   success, end_turn  yes   > 0, build failed completed, warning build_failed_after_agent
 *   success, end_turn  no    > 0               completed, partial: a PR may still be opened
 *   success, end_turn  no    0                 failed: agent_did_nothing
 *   error              yes   > 0               completed, warning agent_error_but_pr_exists
 *   error              no    > 0               failed: agent_error_partial_work
 *   error              no    0                 failed: agent_error
 *   unknown            any   any               failed: session_ended_unexpectedly
 */
#ifndef CORE_AGENT_INFER_H
#define CORE_AGENT_INFER_H
#include <stdbool.h>

enum report { REPORT_UNKNOWN, REPORT_SUCCESS, REPORT_ERROR };

struct session_facts {
    enum report completion; /* From the completion record ($DROVER_RESULT). */
    enum report adapter;    /* From the agent's own output stream. */
    bool exited;            /* It ended by itself; exit_code holds. */
    int exit_code;
    bool pr_exists;
    bool has_commits; /* Commits, or uncommitted changes that became the patch. */
    bool build_failed;
};

struct inference {
    bool completed;
    bool partial;
    const char *code;    /* The error code when failed, the warning or "" when completed. */
    const char *message; /* A sentence for people. */
};

/* Completion record over adapter result over exit code (0 is success). */
enum report infer_report(const struct session_facts *facts);
struct inference infer_outcome(const struct session_facts *facts);
#endif
