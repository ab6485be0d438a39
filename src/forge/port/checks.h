/*
 * checks.h - checks and statuses of a commit at a forge: reads them, their logs, runs one again,
 * and puts drover's own.
 */
#ifndef FORGE_PORT_CHECKS_H
#define FORGE_PORT_CHECKS_H
#include "core/pr/pr_view.h"
#include "forge/port/call.h"

enum { CHECK_LOG_MAX = 1024 * 1024 }; /* The end of a log; what comes before is dropped. */

/* drover's own check on a commit: what its certificate says. */
struct forge_check {
    const char *commit;
    const char *name; /* "drover" */
    const char *key;  /* The run: the same commit, name and key are the same check. */
    enum check_state state;
    const char *title;   /* One line. */
    const char *summary; /* Markdown. */
    const char *url;     /* or NULL */
};

/* Errors as in prs.h. */
struct check_ops {
    enum rc (*of_commit)(struct forge_call *call, const char *url, const char *commit,
                         struct arena *arena, struct check_view **ret_checks, size_t *ret_count,
                         struct err *err);
    /* The end of its log.  RC_NOT_FOUND: it has none. */
    enum rc (*log)(struct forge_call *call, const char *url, const struct check_view *check,
                   struct buf *into, struct err *err);
    enum rc (*rerun)(struct forge_call *call, const char *url, const struct check_view *check,
                     struct err *err);
    enum rc (*put)(struct forge_call *call, const char *url, const struct forge_check *check,
                   struct err *err);
};
#endif
