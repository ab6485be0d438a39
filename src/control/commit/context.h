/*
 * context.h - what a command may use while it is applied: the open transaction, the time,
 * random numbers, and the round, in which it notes what the batch should do next.
 *
 * Time and randomness are data: the same command with the same context on the same rows does the
 * same.
 */
#ifndef CONTROL_COMMIT_CONTEXT_H
#define CONTROL_COMMIT_CONTEXT_H
#include "base/arena.h"
#include "base/random.h"
#include "base/rc.h"
#include "control/commit/audit_trail.h"
#include "control/commit/committer.h"
#include "control/commit/hooks.h"
#include "control/commit/queue_book.h"
#include "control/commit/supply.h"
#include "control/commit/swarms.h"
#include "core/event.h"
#include "store/db.h"
#include "store/job_marks.h"

enum { ROUND_QUEUES_MAX = 32, ROUND_LOADS_MAX = 16, ROUND_MARKS_MAX = 64 };

struct breaker_book;
struct config_book;

struct subscriber_list;
struct known_notes;
struct past_list;
struct account_view;
struct killed_agents;

/* The effects of one batch, for the work at its end and after its commit. */
struct round {
    bool appended;  /* Events were appended. */
    int64_t due_us; /* The earliest due time set; 0: none. */
    bool admit;     /* Something changed that may let a queued run start. */
    bool all_ready; /* Any queue may have work: more than fit below. */
    bool brought;   /* Jobs became ready. */
    struct ready {
        const char *queue; /* Lives as long as the batch. */
        int64_t jobs;
        bool unmarked;         /* It is not known what all of them are about. */
    } ready[ROUND_QUEUES_MAX]; /* Queues that got work. */
    size_t ready_count;
    struct ready_mark {
        const char *queue;
        struct id job_id;
        struct job_about about;
    } marks[ROUND_MARKS_MAX]; /* What jobs that became ready are about, until they are taken. */
    size_t mark_count;
    bool rules_changed; /* Of some queue. */
    struct load {
        const char *queue;
        int64_t waiting;      /* Jobs, those of this batch included. */
    } loads[ROUND_LOADS_MAX]; /* Queues whose length matters. */
    size_t load_count;
    int64_t shed;         /* Jobs that were dropped. */
    bool left_due;        /* Something that is due could neither be handled nor be put off. */
    bool day_budget_read; /* As day_budget.c has done. */
    int64_t leases;       /* Jobs that leases of the batch may still take. */
    struct supply supply;
    struct swarm_notes swarms;                   /* Counted with the commit. */
    struct breaker_book *breakers;               /* NULL until one is read. */
    const struct subscriber_list *subscriptions; /* As topic_send.c read them; NULL: not yet. */
    const struct known_notes *notes;             /* As memories.c read them last; NULL: not yet. */
    const struct past_list *past_runs;           /* As forecasts.c read them; NULL: none yet. */
    struct account_view *accounts;               /* As account_view.c read them; NULL: not yet. */
    const struct killed_agents *killed;          /* As claim.c read them; NULL: not yet. */
    const struct audit_pending *audit; /* Rows for the end of the transaction, newest first. */
};

struct context {
    struct db *db;
    struct store *store; /* For contents of artifacts: artifact_stat, artifact_read. */
    int64_t now_us;
    struct random *random;
    int64_t *last_id_us; /* The committer's: see context_id. */
    struct arena *arena;
    struct actor actor;
    const char *traceparent;
    const struct audit_call *audit_call; /* Of the command; NULL: none. */
    struct id workspace_id;
    const struct committer_limits *limits;
    struct str defaults; /* JSON: see effective.h; or empty. */
    const struct notify_channels *channels;
    const struct account_configs *accounts;
    const struct expiry_rules *retention;
    const struct queue_book *queues;
    struct config_book *configs;
    struct swarms *swarms;
    const struct control_hooks *hooks;
    struct round *round;
    struct arena *batch_arena; /* Lives as long as the round. */
    bool careful;              /* The second try: rows of loops are isolated (isolate.h). */
    struct err *err;
};

/* Does the lease take jobs of one of the queues that got work? */
bool round_serves(const struct round *round, const struct command *command);

/* Ids of one committer grow strictly, also within a batch, where now_us is constant: rows in order
   of id are in order of arrival. */
struct id context_id(struct context *ctx);
/* The rules of a queue; never NULL. */
const struct queue_rules *context_queue(const struct context *ctx, const char *queue);
/* The queue has one more job that can be claimed now. */
void context_ready(struct context *ctx, const char *queue);
/* The same, for one whose repository and labels are known: it wakes only those that want it.  about
   lives in the batch's arena. */
void context_ready_marked(struct context *ctx, const struct job_row *job,
                          const struct job_about *about);
/* A lease has taken it: it wakes no other. */
void context_taken(struct context *ctx, const struct job_row *job);
/* Something will be due then. */
void context_due(struct context *ctx, int64_t due_us);
/* A row of the audit log, written with this transaction: see audit_trail_add.  Without actor_type
   it is the actor of the context, with what is known of the call. */
void context_audit(struct context *ctx, const struct audit_entry *entry);
/* The trace of a flow that no client has given one: its id, with its run (or itself) as parent. */
const char *context_own_trace(const struct context *ctx, const struct id *flow,
                              const struct id *run_id);
/* Fills id, workspace, actor and, unless they are set, trace and a later time; appends.  The trace
   is that of the request, or follows from the correlation.  *ret_id may be NULL. */
MUST_USE enum rc context_append(struct context *ctx, struct event *event, struct id *ret_id);
/* The same for one of a client, unless it is there already (events_append_once); a traceparent of
   its own stays. */
MUST_USE enum rc context_append_once(struct context *ctx, struct event *event, bool *ret_new);
#endif
