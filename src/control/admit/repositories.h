/*
 * repositories.h - commands that onboard, change and remove repositories.
 */
#ifndef CONTROL_ADMIT_REPOSITORIES_H
#define CONTROL_ADMIT_REPOSITORIES_H
#include "control/commit/command.h"

struct cmd_repository_put {
    struct command base;
    const char *name;
    struct str config; /* The checked document as JSON, url included. */
    struct id id;      /* The answer. */
    int64_t version;
    bool created;
};
struct cmd_repository_put *cmd_repository_put_new(void);

struct cmd_repository_remove { /* RC_CONFLICT while runs of it are not finished. */
    struct command base;
    const char *name;
};
struct cmd_repository_remove *cmd_repository_remove_new(void);
#endif
