#include "core/conductor/lifecycle.h"
#include <string.h>

static void assign(struct lifecycle *life, const struct lifecycle_event *event, struct arena *arena)
{
    life->assignments++;
    if (life->unassignments > 0)
        life->reassignments++;
    life->assigned_to = event->agent_id == NULL
                            ? NULL
                            : arena_strndup(arena, event->agent_id,
                                            strnlen(event->agent_id, LIFECYCLE_AGENT_MAX));
    life->assigned_us = event->time_us;
}

void lifecycle_apply(struct lifecycle *life, const struct lifecycle_event *event,
                     struct arena *arena)
{
    if (event->kind == ISSUE_EV_COUNT || event->kind == ISSUE_EV_HEARTBEAT)
        return;
    life->status = issue_kind_name(event->kind);
    life->status_us = event->time_us;
    switch (event->kind) {
    case ISSUE_EV_APPROVED:
        if (life->approved_us == 0)
            life->approved_us = event->time_us;
        break;
    case ISSUE_EV_ASSIGNED:
        assign(life, event, arena);
        break;
    case ISSUE_EV_UNASSIGNED:
        life->unassignments++;
        life->assigned_to = NULL;
        life->assigned_us = 0;
        break;
    case ISSUE_EV_DONE:
        life->done_us = event->time_us;
        break;
    default:
        break;
    }
}

int64_t lifecycle_duration_us(const struct lifecycle *life)
{
    return life->approved_us > 0 && life->done_us > 0 ? life->done_us - life->approved_us : -1;
}

int64_t lifecycle_work_us(const struct lifecycle *life)
{
    return life->assigned_us > 0 && life->done_us > 0 ? life->done_us - life->assigned_us : -1;
}
