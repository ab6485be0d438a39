/*
 * dead_letters.h - what people do with dead letters: send them back to work, put them aside, delete
 * them.  One of many, or all that a filter finds, oldest first, at most DEAD_PER_CALL_MAX in one
 * call.
 *
 * A replayed job keeps its id, its dedup key and the history of its attempts, and re-enters its
 * ordering key; its attempts count from zero, its epoch continues.  A step of a run cannot be
 * replayed: its death has ended the run, whose task can be retried.  Only the cleanup after a run
 * may be replayed, since it moves no run.  Of a saga only the compensation at which it is stuck can
 * be replayed, and it is kept until then.
 */
#ifndef CONTROL_QUEUE_DEAD_LETTERS_H
#define CONTROL_QUEUE_DEAD_LETTERS_H
#include "base/jw.h"
#include "control/commit/command.h"
#include "store/dead_letters.h"

enum { DEAD_PER_CALL_MAX = 1000, DEAD_IDS_PER_EVENT = 100 };

struct dead_answer {
    struct id id;
    const char *code, *message; /* NULL: done. */
};

/* The numbers of a dry run are those that the same call would answer without it. */
struct cmd_dead {
    struct command base;
    const struct id *ids; /* Or NULL: all that the filter finds. */
    size_t id_count;      /* At most DEAD_PER_CALL_MAX. */
    struct dead_filter filter;
    bool dry_run;
    const struct js *patch; /* Replay: a JSON merge patch of the payload, or NULL. */

    int64_t matched;   /* The answer: dead letters that ids or filter select ... */
    int64_t done;      /* ... that this call handled ... */
    int64_t remaining; /* ... and that are left for another call. */
    struct dead_answer *answers;
    size_t answer_count;
};
struct cmd_dead *cmd_replay_new(void);
struct cmd_dead *cmd_archive_new(void);
struct cmd_dead *cmd_purge_new(void);

/* Deletes those past their queue's retention, at most DEAD_PER_CALL_MAX; *ret_more: there may be
   more. */
MUST_USE enum rc dead_letters_expire(struct context *ctx, bool *ret_more);
#endif
