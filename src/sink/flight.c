#include "sink/flight.h"
#include <assert.h>
#include <string.h>

/* Was it kept already?  Then it is forgotten: the batch knows it. */
static bool take_ahead(struct flight *flight, int64_t seq)
{
    for (size_t i = 0; i < flight->ahead_count; i++) {
        if (flight->ahead[i] == seq) {
            flight->ahead_count--;
            memmove(&flight->ahead[i], &flight->ahead[i + 1],
                    (flight->ahead_count - i) * sizeof *flight->ahead);
            return true;
        }
    }
    return false;
}

static void add_ahead(struct flight *flight, int64_t seq)
{
    if (flight->ahead_count == FLIGHT_AHEAD_MAX)
        (void)take_ahead(flight, flight->ahead[0]);
    flight->ahead[flight->ahead_count++] = seq;
}

void flight_begin(struct flight *flight, const struct sink_record *records, size_t count)
{
    assert(count <= SINK_BATCH_RECORDS);
    flight->records = records;
    flight->count = count;
    flight->sent = 0;
    flight->why_at = count;
    flight->lined_up = false;
    for (size_t i = 0; i < count; i++)
        flight->states[i] = take_ahead(flight, records[i].event->seq) ? FLIGHT_KEPT
                                                                      : FLIGHT_WAITING;
}

size_t flight_waiting(const struct flight *flight, size_t from)
{
    while (from < flight->count && flight->states[from] != FLIGHT_WAITING)
        from++;
    return from;
}

void flight_sent(struct flight *flight, size_t at)
{
    assert(flight->states[at] == FLIGHT_WAITING);
    flight->states[at] = FLIGHT_SENT;
    flight->sent++;
}

static void leave_sent(struct flight *flight, size_t at, enum flight_state state)
{
    if (flight->states[at] == FLIGHT_SENT)
        flight->sent--;
    flight->states[at] = state;
}

void flight_kept(struct flight *flight, size_t at)
{
    leave_sent(flight, at, FLIGHT_KEPT);
    if (flight->lined_up && flight->followers[at] < flight->count)
        flight->ready[flight->ready_end++] = flight->followers[at];
}

void flight_missed(struct flight *flight, size_t at, enum flight_state state, const struct err *why)
{
    assert(state == FLIGHT_FAILED || state == FLIGHT_REFUSED);
    leave_sent(flight, at, state);
    if (at >= flight->why_at)
        return;
    flight->why_at = at;
    flight->why = *why;
}

size_t flight_first_missing(const struct flight *flight)
{
    size_t at = 0;
    while (at < flight->count && flight->states[at] == FLIGHT_KEPT)
        at++;
    return at;
}

struct sink_outcome flight_end(struct flight *flight, const struct err *unanswered)
{
    size_t missing = flight_first_missing(flight);
    if (missing == flight->count)
        return (struct sink_outcome){.verdict = SINK_DELIVERED, .delivered = missing};
    for (size_t i = missing + 1; i < flight->count; i++) {
        if (flight->states[i] == FLIGHT_KEPT)
            add_ahead(flight, flight->records[i].event->seq);
    }
    enum flight_state state = flight->states[missing];
    if (unanswered == NULL && state == FLIGHT_WAITING && missing > 0)
        return (struct sink_outcome){.verdict = SINK_DELIVERED, .delivered = missing};
    struct sink_outcome outcome = {
        .verdict = state == FLIGHT_REFUSED ? SINK_REFUSED : SINK_RETRY,
        .delivered = missing,
    };
    if (flight->why_at == missing)
        outcome.why = flight->why;
    else if (unanswered != NULL)
        outcome.why = *unanswered;
    else
        (void)!err_set(&outcome.why, RC_TIMEOUT, "SINK_UNREACHABLE", "the receiver is too slow");
    return outcome;
}

/* ---- in line by their keys ---- */

enum { SLOTS = 2 * SINK_BATCH_RECORDS };

/* FNV-1a.  Two keys with one hash wait for each other, which costs time and nothing else. */
static uint64_t key_hash(const struct event *event)
{
    char key[EVENT_KEY_BYTES];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = event_partition_key(event, key); *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash;
}

struct slot {
    uint64_t hash;
    size_t last; /* 1 + the last record with it; 0: the slot is free. */
};

static struct slot *find_slot(struct slot slots[SLOTS], uint64_t hash)
{
    size_t at = (size_t)(hash % SLOTS);
    while (slots[at].last != 0 && slots[at].hash != hash)
        at = (at + 1) % SLOTS;
    return &slots[at];
}

void flight_line_up(struct flight *flight)
{
    struct slot slots[SLOTS];
    memset(slots, 0, sizeof slots);
    flight->lined_up = true;
    flight->ready_first = flight->ready_end = 0;
    for (size_t i = 0; i < flight->count; i++) {
        flight->followers[i] = flight->count;
        if (flight->states[i] != FLIGHT_WAITING)
            continue;
        uint64_t hash = key_hash(flight->records[i].event);
        struct slot *slot = find_slot(slots, hash);
        if (slot->last == 0)
            flight->ready[flight->ready_end++] = i;
        else
            flight->followers[slot->last - 1] = i;
        *slot = (struct slot){hash, i + 1};
    }
}

bool flight_next_ready(struct flight *flight, size_t *ret_at)
{
    if (flight->ready_first == flight->ready_end)
        return false;
    *ret_at = flight->ready[flight->ready_first++];
    return true;
}
