/*
 * task.c - a task's words, and its status as a projection of its latest run.
 */
#include "core/run/task.h"
#include "base/clock.h"
#include "base/str.h"
#include "core/text/prose.h"
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static const enum task_status projection[RUN_STATUS_COUNT] = {
    [RUN_QUEUED] = TASK_SUBMITTED,
    [RUN_PREPARING] = TASK_HYDRATING,
    [RUN_CONTEXT_LOADING] = TASK_HYDRATING,
    [RUN_PLANNING] = TASK_RUNNING,
    [RUN_RUNNING] = TASK_RUNNING,
    [RUN_VERIFYING] = TASK_RUNNING,
    [RUN_JUDGING] = TASK_RUNNING,
    [RUN_AWAITING_APPROVAL] = TASK_FINALIZING,
    [RUN_CREATING_PR] = TASK_FINALIZING,
    [RUN_COMPLETED] = TASK_COMPLETED,
    [RUN_FAILED] = TASK_FAILED,
    [RUN_CANCELLED] = TASK_CANCELLED,
    [RUN_TIMED_OUT] = TASK_TIMED_OUT,
};

static const char *const status_names[] = {
    [TASK_SUBMITTED] = "submitted",   [TASK_DEFERRED] = "deferred",
    [TASK_HYDRATING] = "hydrating",   [TASK_RUNNING] = "running",
    [TASK_FINALIZING] = "finalizing", [TASK_COMPLETED] = "completed",
    [TASK_FAILED] = "failed",         [TASK_CANCELLED] = "cancelled",
    [TASK_TIMED_OUT] = "timed_out",   [TASK_STATUS_COUNT] = NULL,
};

const char *const risk_names[] = {
    [RISK_LOW] = "low",
    [RISK_MEDIUM] = "medium",
    [RISK_HIGH] = "high",
    [RISK_COUNT] = NULL,
};

const char *const mode_names[] = {
    [MODE_PATCH_ONLY] = "patch_only",
    [MODE_SUPERVISED_PR] = "supervised_pr",
    [MODE_AUTONOMOUS_PR] = "autonomous_pr",
    [MODE_COUNT] = NULL,
};

enum task_status task_status_of(enum run_status latest, bool deferred)
{
    assert((unsigned)latest < RUN_STATUS_COUNT);
    if (latest == RUN_QUEUED && deferred)
        return TASK_DEFERRED;
    return projection[latest];
}

bool task_is_terminal(enum task_status status)
{
    return status == TASK_COMPLETED || status == TASK_FAILED || status == TASK_CANCELLED ||
           status == TASK_TIMED_OUT;
}

const char *task_status_name(enum task_status status)
{
    assert((unsigned)status < TASK_STATUS_COUNT);
    return status_names[status];
}

const char *risk_name(enum risk risk)
{
    assert((unsigned)risk < RISK_COUNT);
    return risk_names[risk];
}

const char *mode_name(enum mode mode)
{
    assert((unsigned)mode < MODE_COUNT);
    return mode_names[mode];
}

/* The place of name in a NULL-terminated list, or -1. */
static int name_find(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (text_same(names[i], name))
            return i;
    }
    return -1;
}

bool task_status_parse(const char *name, enum task_status *ret_status)
{
    int found = name_find(status_names, name);
    if (found >= 0)
        *ret_status = (enum task_status)found;
    return found >= 0;
}

bool risk_parse(const char *name, enum risk *ret_risk)
{
    int found = name_find(risk_names, name);
    if (found >= 0)
        *ret_risk = (enum risk)found;
    return found >= 0;
}

bool mode_parse(const char *name, enum mode *ret_mode)
{
    int found = name_find(mode_names, name);
    if (found >= 0)
        *ret_mode = (enum mode)found;
    return found >= 0;
}

bool attachment_name_valid(const char *name)
{
    enum { NAME_MAX_BYTES = 200 };
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (name[i] == '/' || (unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return false;
    return len >= 1 && len <= NAME_MAX_BYTES && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

const char *task_title(const char *description, int64_t issue_number, struct arena *arena)
{
    const char *text = description != NULL ? description : "";
    text += strspn(text, " \t\r\n");
    const char *first = arena_strndup(arena, text, strcspn(text, "\r\n"));
    const char *title = prose_line(arena, first, TASK_TITLE_MAX);
    return title[0] != '\0' ? title : arena_printf(arena, "Resolve issue #%" PRId64, issue_number);
}
