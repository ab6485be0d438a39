#include "control/watch/bus_filter.h"

static bool match_ids(const struct bus_filter *filter, const struct envelope *envelope)
{
    bool same_task = id_same(&filter->task_id, &envelope->task_id);
    if (!id_is_none(&filter->run_id)) {
        if (id_same(&filter->run_id, &envelope->run_id))
            return true;
        return filter->with_task && same_task && id_is_none(&envelope->run_id);
    }
    return id_is_none(&filter->task_id) || same_task;
}

bool bus_filter_match(const struct bus_filter *filter, const struct envelope *envelope)
{
    bool line = envelope->seq == 0;
    return line == filter->lines && (line || envelope->seq > filter->after_seq) &&
           match_ids(filter, envelope) &&
           event_selector_match(&filter->selector, &envelope->traits);
}
