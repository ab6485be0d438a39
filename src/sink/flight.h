/*
 * flight.h - what becomes of each record of a batch while several are on their way at once.
 *
 *   WAITING ──► SENT ──► KEPT       the receiver has confirmed it
 *                 ├────► FAILED     it has not; it may succeed later
 *                 └────► REFUSED    it never will
 *
 * Invariants
 * 1. What a batch has delivered are the records before the first one that was not kept.
 * 2. Records behind that one that were kept are not sent again while the sink is open: those of one
 *    partition do not repeat while another partition is away.  They are remembered by their places
 *    in the log; of too many the earliest are forgotten, and repeat.
 */
#ifndef SINK_FLIGHT_H
#define SINK_FLIGHT_H
#include "sink/sink.h"

/* Of one call of deliver or open: less than the 5 s that sink.h allows. */
enum { FLIGHT_CALL_MS = 4000, FLIGHT_AHEAD_MAX = 2 * SINK_BATCH_RECORDS };

enum flight_state { FLIGHT_WAITING, FLIGHT_SENT, FLIGHT_KEPT, FLIGHT_FAILED, FLIGHT_REFUSED };

struct flight {
    const struct sink_record *records;
    size_t count;
    size_t sent; /* In FLIGHT_SENT. */
    enum flight_state states[SINK_BATCH_RECORDS];
    size_t why_at; /* The first record that failed or was refused; count: none. */
    struct err why;
    bool lined_up; /* Then: */
    size_t ready[SINK_BATCH_RECORDS], ready_first, ready_end;
    size_t followers[SINK_BATCH_RECORDS]; /* The next one with the same key; count: none. */
    /* Kept behind the first failure of an earlier batch, and not met again since: by seq. */
    int64_t ahead[FLIGHT_AHEAD_MAX];
    size_t ahead_count;
};

/* The records outlive the flight. */
void flight_begin(struct flight *flight, const struct sink_record *records, size_t count);
/* The first record from there on that waits; count: none. */
size_t flight_waiting(const struct flight *flight, size_t from);
void flight_sent(struct flight *flight, size_t at);
void flight_kept(struct flight *flight, size_t at);
/* FLIGHT_FAILED or FLIGHT_REFUSED. */
void flight_missed(struct flight *flight, size_t at, enum flight_state state,
                   const struct err *why);
/* The first record that was not kept; count: all were. */
size_t flight_first_missing(const struct flight *flight);
/* Unanswered: the reason where a record was not sent, or not answered; NULL: there was no time left
   to send it, and the rest of the batch may come again at once. */
struct sink_outcome flight_end(struct flight *flight, const struct err *unanswered);

/* For receivers that may keep a record though an earlier one of its key failed: a record becomes
   ready when the one before it with the same partition key was kept. */
void flight_line_up(struct flight *flight);
/* Takes the next one that is ready; false: there is none now. */
bool flight_next_ready(struct flight *flight, size_t *ret_at);
#endif
