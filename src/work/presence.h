/*
 * presence.h - a worker as it is announced to the server.
 */
#ifndef WORK_PRESENCE_H
#define WORK_PRESENCE_H
#include "work/job/disk.h"
#include "work/tree/retention.h"
#include "work/worker.h"

/* Queues and texts live as long as the options, whose queues are not empty. */
struct port_worker worker_presence(const struct worker_options *options);

/* What else a worker at work reports; each is read as it is now, by any thread. */
struct presence_facts {
    const struct disk *disk;
    const struct retention_total *unpublished;
    const struct scratch_book *scratch;
};
void presence_add(struct port_worker *worker, const struct presence_facts *facts);
#endif
