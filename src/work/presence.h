/*
 * presence.h - a worker as it is announced to the server.
 */
#ifndef WORK_PRESENCE_H
#define WORK_PRESENCE_H
#include "work/worker.h"

/* Queues and texts live as long as the options, whose queues are not empty. */
struct port_worker worker_presence(const struct worker_options *options);
#endif
