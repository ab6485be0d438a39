/*
 * queues.h - commands that change the rules of a queue.
 */
#ifndef CONTROL_QUEUE_QUEUES_H
#define CONTROL_QUEUE_QUEUES_H
#include "control/commit/command.h"
#include "core/queue/queue_config.h"

enum queue_change { QUEUE_CONFIGURE, QUEUE_PAUSE, QUEUE_RESUME };

struct cmd_queue {
    struct command base;
    const char *name;
    enum queue_change change;
    const struct js *document; /* QUEUE_CONFIGURE: replaces what was set before. */
    int64_t version;           /* The one that the caller has seen; -1: any. */
    int64_t new_version;       /* The answer. */
};
struct cmd_queue *cmd_queue_new(void);
#endif
