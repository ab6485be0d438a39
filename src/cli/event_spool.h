/*
 * event_spool.h - events that could not be delivered yet, kept on disk.
 *
 *     ROOT            $DROVER_SPOOL, else DIR/event-spool (paths.h, without --data)
 *     ROOT/KEY        events for one server; KEY is made of its address and, in a sandbox, the run
 *     KEY/target      that address, for people
 *     KEY/waiting     a disk queue (base/disk_queue.h) of CloudEvents, one JSON object each
 *     KEY/refused     a disk queue of {refusedAt, code, reason, event}: the newest that the server
 *                     refused for good
 *     KEY/failure     {at, code, reason}: why the last delivery stopped; absent after a success
 *
 *   keep ──► waiting ──► sent in order, up to 500 a call ──► accepted, or known already: removed
 *                          │   ├─ one event is refused ────► refused, and the others are sent
 *                          └───┴─ away, busy, no valid token: all stay, and the reason is noted
 *
 * An event has its id before it is kept, and the server takes one of a source and id once: what a
 * crash shows again is not appended again.
 */
#ifndef CLI_EVENT_SPOOL_H
#define CLI_EVENT_SPOOL_H
#include "base/disk_queue.h"
#include "base/rc.h"
#include "base/str.h"
#include "cli/command.h"

enum {
    SPOOL_EVENTS_MAX = 100 * 1000,
    SPOOL_BYTES_MAX = 64 * 1024 * 1024,
    SPOOL_REFUSED_MAX = 1000,
    SPOOL_REFUSED_BYTES_MAX = 8 * 1024 * 1024,
    SPOOL_KEY_LEN = 16,
};

struct event_spool {
    const char *key;
    const char *dir;
    const char *target; /* "" when it is not known. */
    struct disk_queue waiting, refused;
};

/* That of the server which the command line means; nothing is made yet.  Texts in cli->arena. */
MUST_USE enum rc event_spool_open(struct cli *cli, struct event_spool *ret, struct err *err);
/* That of another server, by its key.  RC_NOT_FOUND. */
MUST_USE enum rc event_spool_open_key(struct cli *cli, const char *key, struct event_spool *ret,
                                      struct err *err);
/* The keys of all, in order. */
MUST_USE enum rc event_spool_list(struct cli *cli, const char *const **ret_keys, size_t *ret_count,
                                  struct err *err);

/* Puts events behind those that wait.  RC_LIMIT, SPOOL_FULL: none was kept. */
MUST_USE enum rc event_spool_keep(const struct event_spool *spool, const struct str *events,
                                  size_t count, struct err *err);
/* Notes why events wait: shown by event_spool_failure, until a delivery succeeds. */
void event_spool_note(struct cli *cli, const struct event_spool *spool, const struct err *why);
/* What failed may succeed later with the same events: the server is away, or busy. */
bool event_spool_is_away(enum rc rc);
/* The last delivery ended with a timeout a moment ago: the next one would only wait too. */
bool event_spool_is_slow(struct cli *cli, const struct event_spool *spool);

struct event_tally {
    size_t accepted, duplicates, refused;
    size_t waiting;        /* When it ended. */
    int64_t damaged_bytes; /* In the spool, passed over. */
    struct str about;      /* In: an event whose refusal is of interest; or empty. */
    struct err about_err;  /* Out: why it was refused; code "": it was not. */
};
/* Delivers what waits, in order; the tally is filled in either way.  RC_BUSY, SPOOL_IN_USE: another
   process has delivered for all of wait_ms. */
MUST_USE enum rc event_spool_deliver(struct cli *cli, const struct event_spool *spool, int wait_ms,
                                     struct event_tally *tally, struct err *err);
/* Sends events in one call, past the spool: all or none. */
MUST_USE enum rc event_spool_send(struct cli *cli, const struct str *events, size_t count,
                                  struct event_tally *tally, struct err *err);

/* Why the last delivery stopped, in cli->arena; NULL: it did not. */
const char *event_spool_failure(struct cli *cli, const struct event_spool *spool);
/* Removes all that was refused. */
MUST_USE enum rc event_spool_forget(const struct event_spool *spool, struct err *err);
#endif
