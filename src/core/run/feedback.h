/*
 * feedback.h - a failed check, summarized so that it fits a prompt.
 */
#ifndef CORE_RUN_FEEDBACK_H
#define CORE_RUN_FEEDBACK_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

enum verify_status {
    VERIFY_PASSED,
    VERIFY_FAILED,
    VERIFY_ERRORED, /* It could not be run: the infrastructure's fault. */
    VERIFY_TIMED_OUT,
    VERIFY_SKIPPED,
    VERIFY_STATUS_COUNT
};
enum failure_category {
    FAILURE_NONE,
    FAILURE_COMPILE_ERROR,
    FAILURE_TEST_FAILURE,
    FAILURE_LINT_FAILURE,
    FAILURE_DEPENDENCY, /* A package or the network is not there. */
    FAILURE_OUT_OF_MEMORY,
    FAILURE_RESOURCE_LIMIT, /* It passed another limit of agent.resources. */
    FAILURE_TIMEOUT,
    FAILURE_INFRASTRUCTURE, /* The check itself could not be run. */
    FAILURE_PATCH_DOES_NOT_APPLY,
    FAILURE_CATEGORY_COUNT
};
enum { FEEDBACK_SUMMARY_MAX = 4000, FEEDBACK_LINE_MAX = 300 };

const char *verify_status_name(enum verify_status status);
MUST_USE bool verify_status_parse(const char *name, enum verify_status *ret_status);
const char *failure_category_name(enum failure_category category); /* "" for none. */

/* The verdict of all checks of a patch: "failed" when one that is not optional did not pass,
   "verified" when one passed, else "unverifiable". */
struct verify_outcome {
    enum verify_status status;
    bool optional;
};
const char *verify_verdict(const struct verify_outcome *outcomes, size_t count);

struct check_output {
    const char *command;
    int exit_code;
    int signal;
    struct str log; /* stdout and stderr, maybe only its tail. */
};
enum failure_category feedback_category(const struct check_output *check);
/* The most informative lines (errors first, then the tail), at most FEEDBACK_SUMMARY_MAX bytes,
   valid UTF-8. */
char *feedback_summary(const struct check_output *check, struct arena *arena);
/* One line for timelines and events, at most FEEDBACK_LINE_MAX bytes. */
char *feedback_line(const struct check_output *check, struct arena *arena);
#endif
