#include "core/conductor/react.h"

static struct reaction writes(enum issue_kind event, const char *reason)
{
    return (struct reaction){REACT_WRITE, event, reason};
}

static struct reaction after_smoke(const struct issue_life *issue)
{
    if (issue->external)
        return writes(ISSUE_EV_ESCALATED, SMOKE_REASON_EXTERNAL);
    if (issue->smoke_failures >= ISSUE_SMOKE_MAX)
        return writes(ISSUE_EV_STUCK, "smoke_retries");
    bool in_house = !id_is_none(&issue->task_id);
    return (struct reaction){.kind = in_house && !issue->fixing ? REACT_FIX : REACT_NOTHING};
}

static struct reaction while_waiting(const struct issue_life *issue)
{
    if (issue->stuck_agents >= ISSUE_STUCK_MAX)
        return writes(ISSUE_EV_ESCALATED, "two_stuck_agents");
    if (issue_branches_full(issue))
        return writes(ISSUE_EV_ESCALATED, "too_many_branches");
    return (struct reaction){.kind = REACT_ASSIGN};
}

struct reaction issue_react(const struct issue_life *issue)
{
    switch (issue->stage) {
    case STAGE_WAITING:
        return while_waiting(issue);
    case STAGE_SMOKE_FAILED:
        return after_smoke(issue);
    case STAGE_STUCK:
        return writes(ISSUE_EV_UNASSIGNED, "stuck");
    case STAGE_ESCALATED:
        if (issue->life.assigned_to != NULL)
            return writes(ISSUE_EV_UNASSIGNED, "escalated");
        break;
    default:
        break;
    }
    return (struct reaction){.kind = REACT_NOTHING};
}
