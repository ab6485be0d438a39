/*
 * issues.h - the command that records a change of an issue in the log, and has intake look at it.
 *
 * The issue itself is stored by its forge, which has made the change already; a server that dies
 * right then leaves the issue changed and no event.
 */
#ifndef CONTROL_PR_ISSUES_H
#define CONTROL_PR_ISSUES_H
#include "base/str.h"
#include "control/commit/command.h"

struct cmd_issue_event {
    struct command base;
    const char *event; /* EV_ISSUE_... */
    struct id repository_id;
    const char *repository;
    int64_t number;
    const char *title;
    struct str labels;     /* A JSON array. */
    int64_t comment_count; /* With this one. */
};
struct cmd_issue_event *cmd_issue_event_new(void);
#endif
