#include "core/run/expiry.h"
#include "core/event_types.h"
#include <string.h>

/* ---- tasks ---- */

static const struct {
    const char *name, *meaning;
} keeps[EXPIRY_KEEP_COUNT] = {
    [EXPIRY_GOES] = {"none", "nothing keeps it"},
    [EXPIRY_OPEN] = {"open", "something of it is under way"},
    [EXPIRY_YOUNG] = {"young", "its time is not over"},
    [EXPIRY_PULL_REQUEST] = {"pull_request", "its pull request is open, or still followed"},
    [EXPIRY_TRAIN] = {"train", "its pull request is in a merge train"},
    [EXPIRY_REPAIR] = {"repair", "a task that repaired its pull request is still there"},
    [EXPIRY_DEPENDENT] = {"dependent", "a task that depends on it is still there"},
    [EXPIRY_BATCH] = {"batch", "its batch has not ended, or not so long ago"},
    [EXPIRY_ISSUE] = {"issue", "its issue is at work"},
    [EXPIRY_SAGA] = {"saga", "what it published is being taken back, or that is stuck"},
    [EXPIRY_UNPUBLISHED] = {"unpublished", "its work is published nowhere"},
};

const char *expiry_keep_name(enum expiry_keep keep)
{
    return keeps[keep].name;
}

const char *expiry_keep_meaning(enum expiry_keep keep)
{
    return keeps[keep].meaning;
}

bool expiry_waits(enum expiry_keep keep)
{
    return keep > EXPIRY_YOUNG;
}

int64_t expiry_since(const struct expiry_task *task)
{
    return task->pr_us > task->ended_us ? task->pr_us : task->ended_us;
}

enum expiry_keep expiry_judge_task(const struct expiry_rules *rules, const struct expiry_task *task,
                                   int64_t now_us)
{
    int64_t before_us = expiry_before(rules->tasks_us, now_us);
    if (!task_is_terminal(task->status) || task->open_jobs > 0 || task->timers > 0)
        return EXPIRY_OPEN;
    if (task->ended_us == 0 || task->ended_us >= before_us)
        return EXPIRY_YOUNG;
    if (task->open_prs > 0 || task->followed_prs > 0)
        return EXPIRY_PULL_REQUEST;
    if (task->cars > 0)
        return EXPIRY_TRAIN;
    if (expiry_since(task) >= before_us)
        return EXPIRY_YOUNG;
    if (task->repairs > 0)
        return EXPIRY_REPAIR;
    if (task->dependents > 0)
        return EXPIRY_DEPENDENT;
    if (task->in_batch && (task->batch_ended_us == 0 || task->batch_ended_us >= before_us))
        return EXPIRY_BATCH;
    if (task->issues > 0)
        return EXPIRY_ISSUE;
    return task->sagas > 0 ? EXPIRY_SAGA : EXPIRY_GOES;
}

/* Snapshots of a run that has completed are earlier states of what it left. */
bool expiry_run_unpublished(const struct expiry_run *run)
{
    bool completed = run->status == RUN_COMPLETED;
    if (run->is_kept)
        return true;
    if (run->has_pr || (completed && run->is_losing))
        return false;
    if (completed)
        return run->has_patch;
    return run->has_secrets || (run->snapshot ? !run->published : run->has_patch);
}

/* ---- events ---- */

bool expiry_event_may_go(const char *type, bool about_issue)
{
    static const char *const kept[] = {"conductor.", "agent.issue.", EV_AUDIT_RECORDED};
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (text_starts(type, kept[i]))
            return false;
    return !about_issue;
}

static bool is_plan(const struct event *event)
{
    return strcmp(event->type, EV_PLAN_CREATED) == 0 || strcmp(event->type, EV_PLAN_UPDATED) == 0;
}

bool expiry_event_is_diagnostic(const struct event *event, bool about_issue)
{
    const struct event_type *type = event->source == NULL ? event_type_find(event->type) : NULL;
    return type != NULL && type->volume == VOLUME_DIAGNOSTIC && !is_plan(event) && !about_issue;
}
