/*
 * parked.h - leases that found nothing and wait for work: the register of one node.
 *
 * A lease that is parked holds no rows and no locks: it is applied again from scratch when one of
 * its queues got work, inside the transaction that brought it.
 *
 * Between the query of a lease and its parking another lane, or another node, may have committed
 * jobs for it.  So every such commit is counted: a lease that queried before the last one is not
 * parked but queries once more.
 */
#ifndef CONTROL_COMMIT_PARKED_H
#define CONTROL_COMMIT_PARKED_H
#include "control/commit/command_list.h"
#include "control/commit/context.h"

struct parked; /* Owned by the committer; every call takes its lock. */

struct parked *parked_new(void);
void parked_free(struct parked *parked); /* No lease may be parked. */

/* The count of commits that made jobs ready; to be read before a lease queries. */
int64_t parked_news(struct parked *parked);
void parked_note_work(struct parked *parked);

/* Parks leases that queried at count `news`, in order of their arrival: one that was taken out and
   got nothing has its place again.  Those that have to query again stay in the list. */
void parked_add(struct parked *parked, struct command_list *from, int64_t news);
/* Takes up to max leases of a ready queue, in order of arrival. */
void parked_take(struct parked *parked, const struct round *round, size_t max,
                 struct command_list *into);

/* Leases of workers whose name starts with this wait no more; "" is all.  Must live on. */
void parked_drain(struct parked *parked, const char *worker_prefix);
/* Its caller disconnected, or its worker drains: no client waits for the answer. */
bool parked_gives_up(struct parked *parked, const struct command *command);
/* Takes those that expired or have no client (over), and those whose look_us passed (again). */
struct parked_swept {
    struct command_list over, again;
};
void parked_sweep(struct parked *parked, int64_t now_us, struct parked_swept *ret_swept);
/* The next sweep checks all of them: a client disconnected. */
void parked_look(struct parked *parked);
/* Each is applied again at this time, or before. */
void parked_look_at(struct parked *parked, int64_t look_us);

size_t parked_count(struct parked *parked);
/* No parked lease ends before this; 0: none is parked. */
int64_t parked_next_us(struct parked *parked);
#endif
