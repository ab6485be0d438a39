#include "work/slot_queues.h"

struct slot_queues slot_queues_split(const struct step_queues *queues)
{
    struct slot_queues split = {0};
    size_t all[STEP_CLASS_COUNT] = {0}, frugal[STEP_CLASS_COUNT] = {0};
    for (const char *const *queue = queues->names; *queue != NULL; queue++) {
        enum step_class class = step_class_of(*queue);
        split.all[class][all[class]++] = *queue;
        if (!step_find_queue(*queue)->fills_disk)
            split.frugal[class][frugal[class]++] = *queue;
    }
    return split;
}
