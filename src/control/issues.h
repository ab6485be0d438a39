/*
 * issues.h - the log hears what was done to an issue.
 *
 * The issue itself lives with its forge, which has taken the change already; a server that dies
 * right then leaves the issue changed and the event untold.
 */
#ifndef CONTROL_ISSUES_H
#define CONTROL_ISSUES_H
#include "base/str.h"
#include "control/command.h"

struct cmd_issue_told {
    struct command base;
    const char *event; /* EV_ISSUE_... */
    struct id repository_id;
    const char *repository;
    int64_t number;
    const char *title;
    struct str labels;     /* A JSON array. */
    int64_t comment_count; /* With this one. */
};
struct cmd_issue_told *cmd_issue_told_new(void);
#endif
