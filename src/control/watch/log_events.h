/*
 * log_events.h - lines of the server's own log as events of the bus (drover.log.written): never in
 * the log of events, only for the file and the table that keep them.
 *
 *   LOG() --> queue --> thread --> bus --> log_file, log_store
 *
 * The thread that logs only copies its line into the queue: it waits for no disk, no database and
 * no subscriber.  A queue that is full loses its oldest lines, which are counted.  Lines of the
 * threads that do this work are not taken.  Without a file and a table there is no queue, no thread
 * and no cost.
 */
#ifndef CONTROL_WATCH_LOG_EVENTS_H
#define CONTROL_WATCH_LOG_EVENTS_H
#include "control/watch/log_file.h"
#include "control/watch/log_store.h"

struct log_events; /* Owned by its starter; NULL: neither is wanted. */

struct log_events_options {
    struct bus *bus;
    struct committer *committer;
    const char *node; /* Must live on. */
    struct log_file_config file;
    struct log_store_config store;
};
MUST_USE enum rc log_events_start(const struct log_events_options *options,
                                  struct log_events **ret_events, struct err *err);
/* Takes no more lines and writes those that are there, within so long.  The committer must still
   run.  NULL is fine. */
void log_events_stop(struct log_events *events, int64_t drain_us);
#endif
