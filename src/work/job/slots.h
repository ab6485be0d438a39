/*
 * slots.h - how many steps of each class a worker runs at the same time.
 *
 *     class   steps (each has its class in core/step_table.c)   default
 *     agent   those that run an agent                           what is asked for: N
 *     check   those that run commands or judges of a repository N / 2, at least 1
 *     short   all others                                        N / 2, at least 2
 *
 * Classes are bulkheads: a step waits only behind steps of its own class.  A worker that is limited
 * to some queues has slots for the classes of those queues only, and a plain number is then for the
 * first class of the table that it serves.
 */
#ifndef WORK_JOB_SLOTS_H
#define WORK_JOB_SLOTS_H
#include "base/rc.h"
#include "core/step_kind.h"

enum { CLASS_SLOTS_MAX = 256, ALL_SLOTS_MAX = STEP_CLASS_COUNT * CLASS_SLOTS_MAX };

const char *class_name(enum step_class class); /* "agent" */

struct slots {
    int of[STEP_CLASS_COUNT]; /* 0: not given, see slots_fill. */
};

/* "8", "agent=8,check=4,short=2" or some of these; a plain number stands in `plain`.  RC_INVALID:
   the text says neither. */
MUST_USE enum rc slots_parse(const char *text, int *ret_plain, struct slots *ret_slots,
                             struct err *err);
/* Gives every class a number: plain for the first that has queues, the default for the others, and
   none to a class without queues.  queues: NULL-terminated. */
void slots_fill(struct slots *slots, int plain, const char *const *queues);
/* The class whose number a worker reports as its number of slots. */
enum step_class slots_main(const struct slots *slots);
#endif
