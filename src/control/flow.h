/*
 * flow.h - a run and its task while a command works on them.
 *
 * The only code that moves a run: flow_move asks core/run.c, projects the task's status, and tells
 * the log.  A command loads a flow, moves it, and saves it once.
 *
 * At any moment a run that is not finished has exactly one thing that will move it on: admission
 * (queued), its job (job_id), or a person (an open approval).
 */
#ifndef CONTROL_FLOW_H
#define CONTROL_FLOW_H
#include "base/jw.h"
#include "control/cx.h"
#include "core/repo_config.h"
#include "store/jobs.h"
#include "store/runs.h"
#include "store/tasks.h"

#define TIMER_RUN_DEADLINE      "run_deadline"
#define TIMER_QUEUE_DEADLINE    "queue_deadline"
#define TIMER_STOP_DEADLINE     "stop_deadline"
#define TIMER_APPROVAL_EXPIRY   "approval_expiry"
#define TIMER_APPROVAL_REMINDER "approval_reminder"

struct flow {
    struct task_row task;
    struct task_row stored; /* The task as the store has it. */
    struct run_row run;
    struct run_row stored_run;
    bool session_resumed;  /* The next agent job goes on with a session that may have begun. */
    struct str doubts;     /* JSON object, for the next question: what judges said; or empty. */
    struct str record;     /* JSON, for the next job: what an agent elsewhere said; or empty. */
    struct str assignment; /* Of the job that moves it, while that reports; or empty. */
    struct known_config *known; /* The configuration snapshot; NULL until flow_config. */
};

/* Loads run and task into the command's arena. */
MUST_USE enum rc flow_load(struct cx *cx, const struct id *run_id, struct flow *ret_flow);
/* Only the run, and of its task the id: enough to tell of it, saved with flow_save_told. */
MUST_USE enum rc flow_load_run(struct cx *cx, const struct id *run_id, struct flow *ret_flow);
/* The same, unless another transaction has it in hand: RC_NOT_FOUND. */
MUST_USE enum rc flow_load_free(struct cx *cx, const struct id *run_id, struct flow *ret_flow);
MUST_USE enum rc flow_save_told(struct cx *cx, struct flow *flow);
/* The same with what the run has used. */
MUST_USE enum rc flow_save_used(struct cx *cx, struct flow *flow);
/* The same as flow_load for the latest run of a task. */
MUST_USE enum rc flow_load_latest(struct cx *cx, const struct id *task_id, struct flow *ret_flow);
void flow_release(struct flow *flow); /* For CLEANUP. */
/* The configuration that was in force when the task came in. */
MUST_USE enum rc flow_config(struct cx *cx, struct flow *flow, const struct repo_config **ret);
MUST_USE enum rc flow_save(struct cx *cx, struct flow *flow);

/* One line that names the task to people. */
const char *task_title(const struct task_row *task, struct arena *arena);

/* The data of an event, while it is written. */
struct note {
    struct buf buf;
    struct jw jw;
};
void note_open(struct note *note);        /* Begins the object. */
struct str note_close(struct note *note); /* Ends it; the bytes live as long as the note. */
void note_release(struct note *note);

/* Appends an event of the run (with the next run_seq) or of its task.  note may be NULL: {}. */
MUST_USE enum rc flow_tell(struct cx *cx, struct flow *flow, const char *type, struct note *note);
MUST_USE enum rc flow_tell_data(struct cx *cx, struct flow *flow, const char *type,
                                struct str data);
MUST_USE enum rc flow_tell_task(struct cx *cx, struct flow *flow, const char *type,
                                struct note *note);

/* Fills flow->run as run number run_no of flow->task, queued; the caller inserts it. */
MUST_USE enum rc flow_new_run(struct cx *cx, struct flow *flow, int64_t run_no);
/* agent.run.queued, the first event of a run. */
MUST_USE enum rc flow_tell_queued(struct cx *cx, struct flow *flow);

/* RC_CONFLICT when core refuses; else status, projection and agent.run.status.changed. */
MUST_USE enum rc flow_move(struct cx *cx, struct flow *flow, enum run_event event,
                           const char *reason);

/* A job of the run for this step of its blueprint (prepare, scan, ...), which becomes its mover. */
MUST_USE enum rc flow_enqueue(struct cx *cx, struct flow *flow, const char *step);

struct ending {
    enum run_event event; /* PUBLISHED, KEEP_PATCH, FAIL, CANCEL, TIME_OUT, ... */
    const char *code;     /* NULL when completed. */
    const char *message;
};
/* Moves to the terminal state, writes both rows' errors, leaves a memory, tells run and task, drops
   timers and open approvals, undoes a publish that came to nothing, enqueues the cleaning, asks for
   admission.  The caller settles the job and saves. */
MUST_USE enum rc flow_end(struct cx *cx, struct flow *flow, const struct ending *ending);

/* It may complete, but; what was warned of first stays. */
void flow_warn(struct flow *flow, const char *code, const char *message);
/* Completes a run whose pull request is open, with a warning: what is published stays so. */
MUST_USE enum rc flow_end_published(struct cx *cx, struct flow *flow, const char *code,
                                    const char *message);
/* Ends the run as its stop request says (cancelled or timed_out), or collects what an agent
   elsewhere has done when a limit on turns or cost asked it to stop. */
MUST_USE enum rc flow_end_stopped(struct cx *cx, struct flow *flow);
#endif
