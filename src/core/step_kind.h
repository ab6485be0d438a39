/*
 * step_kind.h - the steps that drover knows, and what each of them is: one row of the table in
 * core/step_table.c.
 *
 * A step is executed as a job whose type is the step's name.  Everything that differs from step to
 * step and is not code is a member of its row; its code is a pair of handlers in the server
 * (control/run/results.c) and a function in the worker (work/job/step.c).
 */
#ifndef CORE_STEP_KIND_H
#define CORE_STEP_KIND_H
#include "core/run_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum step_kind {
    STEP_PREPARE,
    STEP_HYDRATE,
    STEP_PLAN,
    STEP_CUSTOM, /* Each of the repository's own steps; the run has its name. */
    STEP_AGENT,
    STEP_PULL,    /* STEP_AGENT by an agent that leases its work itself. */
    STEP_COLLECT, /* Takes what an agent elsewhere has left. */
    STEP_VERIFY,
    STEP_JUDGE,
    STEP_PUBLISH,
    STEP_UNPUBLISH, /* Takes back what a publish has pushed. */
    STEP_CLEAN,
    STEP_NOTIFY,
    STEP_ISSUE,   /* Reads an issue, for intake. */
    STEP_COMMENT, /* Writes drover's comment on an issue. */
    STEP_TRAIN,   /* Tests or lands a position of a merge train. */
    STEP_SYNC,    /* Asks a forge what has changed: control/pr/sync.h */
    STEP_OBSERVE, /* Reads a pull request, for its shepherd. */
    STEP_ATTEND,  /* Does what the shepherd has decided, at the forge. */
    STEP_REBASE,  /* Rebases the head of a pull request, or has it verified as it is. */
    STEP_LAUNCH,  /* Runs the process of an agent of the registry. */
    STEP_KIND_COUNT
};

/* Queues of drover's own steps; clients may not enqueue there. */
#define STEP_QUEUE_PREFIX "drover."
enum { STEP_ROWS_MAX = 24 };

/* Classes of slots in a worker: work/job/slots.h. */
enum step_class { CLASS_AGENT, CLASS_CHECK, CLASS_SHORT, STEP_CLASS_COUNT };

/* In the sequence of a blueprint (core/run/blueprint.h). */
enum step_place {
    PLACE_NONE,     /* It is not a step of a sequence. */
    PLACE_OPTIONAL, /* A sequence may leave it out. */
    PLACE_REQUIRED, /* A run cannot do without it. */
};

/* Parts of a step's time limit, from the repository's configuration; they are added up. */
enum step_time {
    TIME_PREPARE = 1 << 0, /* timeouts.prepareMs: fetch the mirror, make a tree. */
    TIME_HYDRATE = 1 << 1, /* timeouts.hydrateMs */
    TIME_PLAN = 1 << 2,    /* plan.timeoutMs */
    TIME_AGENT = 1 << 3,   /* timeouts.agentMs */
    TIME_CUSTOM = 1 << 4,  /* The longest of the repository's own steps. */
    TIME_CHECKS = 1 << 5,  /* All of verify. */
    TIME_JUDGES = 1 << 6,  /* All of judge. */
    TIME_PUBLISH = 1 << 7, /* timeouts.publishMs */
};

/* The external service that a step needs: whose breaker stops its jobs. */
enum step_dependency {
    DEPENDS_ON_NOTHING,
    DEPENDS_ON_FORGE,
    DEPENDS_ON_AGENT,   /* The service that runs remote agents, if the repository has one. */
    DEPENDS_ON_URL,     /* That of the repository's own step, if it has one. */
    DEPENDS_ON_CHANNEL, /* Of the notification. */
};

struct report_shape;

struct step_row {
    const char *name;    /* Of the step, and the type of its jobs. */
    const char *queue;   /* NULL: the repository names it, and no worker of drover serves it. */
    const char *failure; /* Code of a failure for which the step has no other. */
    const struct report_shape *result; /* NULL: its result is not checked. */
    int64_t attempts; /* Of a job, unless its queue or the repository configures another number. */
    int64_t time_ms;  /* Of its time limit, beside the parts in `time`. */
    unsigned time;    /* Of enum step_time. */
    enum step_kind kind;
    enum run_status status; /* In which its job moves the run; RUN_QUEUED: it moves none. */
    enum step_place place;
    enum step_dependency dependency;
    enum step_class class;
    int preference;     /* A worker leases from the queue with the highest first. */
    bool any_status;    /* It moves the run in every state. */
    bool finishes;      /* Short, and of no use half done: a stop request does not stop it. */
    bool runs_agent;    /* Its job is an agent's attempt, or its plan: people may steer it. */
    bool works_in_tree; /* An agent edits the run's tree: without its worker that is made anew. */
    bool outlives_run;  /* It may run, and be replayed, after the run's end. */
    bool writes;        /* It changes something at its forge: it may have a token for that. */
    bool routine;       /* Made again and again: a job that succeeded is deleted after a day. */
    bool fills_disk;    /* It makes or fills trees: not while the worker's disk is low. */
    bool bare;          /* It belongs to no run: of its input only the payload is there. */
};

const struct step_row *step_row(enum step_kind kind);
/* NULL: there is no step of this name, with this queue. */
const struct step_row *step_find(const char *name);
const struct step_row *step_find_queue(const char *queue);
bool step_is(const char *name, enum step_kind kind);
bool step_runs_agent(const char *name);
enum step_class step_class_of(const char *queue); /* One of step_queues(). */

/* The queues that workers serve, in their order of preference. */
struct step_queues {
    const char *names[STEP_ROWS_MAX + 1]; /* NULL-terminated. */
};
struct step_queues step_queues(void);
#endif
