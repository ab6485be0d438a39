/*
 * command.h - a request that may be refused, on its way through the committer.
 *
 * A command owns an arena: its input, its scratch and its answer all live there, and end with it.
 * The caller makes it, fills the input, posts it, and gets it back through done() exactly once,
 * after the commit (or the refusal), on a committer thread.  Then it is the caller's to free.
 *
 * An answer comes from a committed transaction.  A lane stages a command before it applies it:
 *
 *              stage                keep: committed, what apply wrote is the answer
 *   unstaged ---------> staged ---------------------------------------------------> unstaged
 *      ^                   |
 *      +-------------------+ undo: rolled back, every byte that apply may write is as before
 *
 * Only an unstaged command can be answered or parked, and RC_OK only answers one that was committed
 * (asserted).  So nothing that a rolled-back transaction wrote reaches a client, for any kind of
 * command.
 */
#ifndef CONTROL_COMMIT_COMMAND_H
#define CONTROL_COMMIT_COMMAND_H
#include "base/arena.h"
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/event.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct job_about; /* What a job is about: store/job_marks.h. */
struct context;   /* What a command may use while it is applied: control/commit/context.h. */
struct read_ahead;
struct audit_call; /* audit_trail.h */

/* To add one: a struct that starts with struct command, declared in the header of its noun (as in
   control/admit/retry.h); its ops and its constructor (as in control/admit/retry.c), with `names`
   if it starts from runs, tasks or jobs; and a route that builds it, in api/routes.c. */
struct command_ops {
    const char *name;
    /* Load, decide, save.  All checks come before the first write.  May run again after a
       rolled-back batch: outputs are set anew each time. */
    enum rc (*apply)(struct context *ctx, struct command *command);
    /* NULL, or: names the rows that it starts from (read_ahead.h). */
    void (*names)(const struct command *command, struct read_ahead *read_ahead);
    /* NULL, or: may it wait (a lease that found nothing)?  True parks it until there is work for it
       or wait_until_us passes. */
    bool (*may_wait)(const struct command *command);
    /* Only with may_wait: should it be applied again when this queue has work?  How many jobs would
       it take at most? */
    bool (*wants)(const struct command *command, const char *queue);
    int64_t (*appetite)(const struct command *command);
    /* NULL, or: of the jobs of its queues it takes some only.  Is one of this kind among them? */
    bool (*picks)(const struct command *command, const struct job_about *about);
};

struct command {
    const struct command_ops *ops;
    size_t bytes; /* Of the struct that starts with this one. */
    struct arena arena;
    struct js *tree;      /* The parsed body, kept alive for strings that point into it; or NULL. */
    struct actor actor;   /* Of the request. */
    const char *bound_to; /* Queues that the token is limited to; NULL: no limit. */
    const char *principal; /* Whose leases it may take, renew and settle (principal.h); or NULL. */
    const char *traceparent;
    const struct audit_call *audit; /* Recorded in the audit log with its change; NULL: not. */
    void (*done)(struct command *command);
    void *owner; /* The caller's, for done(). */

    /* The committer's own. */
    struct command *next;
    int64_t arrival;               /* Its place among parked ones (parked.c); 0: none yet. */
    atomic_bool abandoned;         /* The caller disconnected while it was parked. */
    struct command_before *before; /* Staged: what command_undo() puts back; else NULL. */
    bool committed;                /* What apply wrote is of a transaction that was committed. */

    /* What apply writes begins here and ends with the struct that starts with this one.  Memory
       that the command points to is not put back: apply sets it anew. */
    enum rc rc; /* The outcome, valid in done(). */
    /* Set by apply, which returns RC_OK: refused, but something was recorded and must commit
       (a denied task leaves an event). */
    enum rc refused;
    struct err err;
    struct str explained;  /* With a refusal by policy: the decision as a JSON object; or empty. */
    int64_t wait_until_us; /* Set by apply of a command that may wait, with waiter. */
    const char *waiter;    /* The worker's name. */
    int64_t look_us;       /* While parked: apply again at this time; 0: when there is work. */
    struct id made;        /* What it has made, for the audit log; or none. */
    bool audited;          /* Its row is noted: it is not when it is applied again. */
};

/* bytes: of the struct that starts with a struct command. */
void *command_new(const struct command_ops *ops, size_t bytes);
void command_free(struct command *command);

/* A transaction begins to apply it, perhaps a second time; memory: lives as long as that. */
void command_stage(struct command *command, struct arena *memory);
void command_keep(struct command *command); /* The transaction was committed. */
void command_undo(struct command *command); /* It was rolled back.  No-op unless staged. */
#endif
