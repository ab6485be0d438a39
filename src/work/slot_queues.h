/*
 * slot_queues.h - which queues the slots of a class lease from.
 */
#ifndef WORK_SLOT_QUEUES_H
#define WORK_SLOT_QUEUES_H
#include "core/step_kind.h"

/* NULL-terminated lists, by class. */
struct slot_queues {
    const char *all[STEP_CLASS_COUNT][STEP_ROWS_MAX + 1];
    const char *frugal[STEP_CLASS_COUNT][STEP_ROWS_MAX + 1]; /* Without those that need space. */
};

struct slot_queues slot_queues_split(const struct step_queues *queues);
#endif
