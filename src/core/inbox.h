/*
 * inbox.h - what needs a person: its kinds, their order, and the command that answers each.
 *
 * An item is ranked by a moment: since when it waits, brought forward by what it is, by what waits
 * behind it, and by its task's priority.
 *
 *     rank = min(since, expires - 24 h) - head start of the kind - 2 h for each item behind it, at
 *            most 24 - 30 min for each step of priority above 100
 *
 * The earliest is first.  A rank does not depend on the present, so the order of two items stays as
 * it is while both wait, and a page can continue after any item.
 *
 * To add a kind: a row of the table in inbox.c, and a source in store/inbox.c.
 */
#ifndef CORE_INBOX_H
#define CORE_INBOX_H
#include "base/arena.h"
#include "base/rc.h"
#include "core/role.h"
#include <stdbool.h>
#include <stdint.h>

enum inbox_kind {
    INBOX_ESCALATION, /* The Conductor cannot go on with an issue. */
    INBOX_GATE,       /* A sensitive change waits for its gate. */
    INBOX_QUARANTINE, /* No run works on a repository. */
    INBOX_COST_LIMIT, /* Runs wait until the next day: limits.costPerDayUsd. */
    INBOX_TRAIN,      /* A merge train cannot go on. */
    INBOX_APPROVAL,
    INBOX_QUESTION,
    INBOX_ACCOUNT,      /* Parked, and runs wait for it. */
    INBOX_SAGA,         /* Stuck at a compensation. */
    INBOX_BATCH,        /* Stopped by failures or its budget. */
    INBOX_BUDGET,       /* A task ended because its budget was used up. */
    INBOX_SINK,         /* Its breaker is open. */
    INBOX_SINK_LETTERS, /* Events that a sink has refused. */
    INBOX_DEAD_LETTERS, /* Of one queue. */
    INBOX_KIND_COUNT
};
extern const char *const inbox_kind_names[]; /* NULL-terminated, in the order of the enum. */
const char *inbox_kind_name(enum inbox_kind kind);
MUST_USE bool inbox_kind_parse(const char *name, enum inbox_kind *ret_kind);

struct inbox_facts {
    enum inbox_kind kind;
    int64_t since_us;
    int64_t expires_us; /* 0: never */
    int64_t behind;     /* Tasks, runs, pull requests or events that wait for it. */
    int64_t priority;   /* Of its task; 100 is usual, less is earlier. */
};
int64_t inbox_rank(const struct inbox_facts *facts);

/* Of two items: by rank, then by kind, then by key; negative: a is first. */
struct inbox_place {
    int64_t rank_us;
    enum inbox_kind kind;
    const char *key;
};
int inbox_compare(const struct inbox_place *a, const struct inbox_place *b);

/* Who may answer it: operator, or admin only. */
enum role inbox_role(enum inbox_kind kind);

/* What stands for it on the command line and in the API, in the arena.  argument: what the command
   takes, as it is stored: an id or a name. */
struct inbox_ways {
    const char *command; /* Answers it; takes inbox_role, or admin. */
    const char *show;    /* Shows it. */
    const char *href;    /* The resource. */
};
struct inbox_ways inbox_ways(enum inbox_kind kind, const char *key, const char *argument,
                             struct arena *arena);
#endif
