/*
 * flow.h - a run and its task while a command works on them.
 *
 * The only code that moves a run: flow_move lets core/run/run.c decide, projects the task's status,
 * and appends the event.  A command loads a flow, moves it, and saves it once.
 *
 * At any moment a run that is not finished has exactly one thing that will move it on: admission
 * (queued), its job (job_id), or a person (an open approval).
 */
#ifndef CONTROL_RUN_FLOW_H
#define CONTROL_RUN_FLOW_H
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "control/run/run_clock.h"
#include "core/config/repo_config.h"
#include "core/run/task_limits.h"
#include "store/jobs.h"
#include "store/runs.h"
#include "store/tasks.h"

#define TIMER_STOP_DEADLINE     "stop_deadline"
#define TIMER_APPROVAL_EXPIRY   "approval_expiry"
#define TIMER_APPROVAL_REMINDER "approval_reminder"
/* Of a task, whose sub-tasks are to end with it, or whose budget is used up: subtasks.h. */
#define TIMER_SUBTASKS_END    "subtasks_end"
#define TIMER_SUBTASKS_BUDGET "subtasks_budget"

/* Where the run of a sub-task belongs: see subtasks.h. */
struct lineage {
    struct id parent_run_id, root_run_id;
    const char *traceparent; /* Of its parent's run, or NULL. */
    struct task_limits left; /* By its ancestors; 0: no limit. */
};

struct used { /* Sums of a run. */
    int64_t turns, tokens_in, tokens_out, cost_microusd;
};

struct flow {
    struct task_row task;
    struct task_row stored; /* The task as the store has it. */
    struct run_row run;
    struct run_row stored_run;
    bool session_resumed;     /* The next agent job resumes a session that may have begun. */
    struct str doubts;        /* JSON object, for the next question: what judges said; or empty. */
    struct str record;        /* JSON, for the next job: what an agent elsewhere said; or empty. */
    struct str shepherd;      /* JSON object, for a job about its pull request; or empty. */
    struct lineage lineage;   /* For flow_new_run. */
    struct forecast forecast; /* By flow_new_run. */
    const struct used *used;  /* For the next job: before the attempt; NULL: what it has used. */
    struct task_limits left;  /* For the next attempt of the agent: what its budget tree leaves. */
    struct str assignment;    /* Of the job that moves it, while that reports; or empty. */
    struct id attempt_id;     /* Of its events: the claim of a job that makes them; or none. */
    const char *worker;       /* The holder of that claim, or NULL. */
    bool claimed;             /* It is an agent that leases its work itself. */
    struct known_config *known; /* The configuration snapshot; NULL until flow_config. */
};

/* Loads run and task into the command's arena. */
MUST_USE enum rc flow_load(struct context *ctx, const struct id *run_id, struct flow *ret_flow);
/* Only the run, and of its task the id: enough to append events, saved with flow_save_events. */
MUST_USE enum rc flow_load_run(struct context *ctx, const struct id *run_id, struct flow *ret_flow);
/* The same for the claim of a job, unless another transaction has locked the run: RC_NOT_FOUND.  Of
   the run only what runs_get_claim reads. */
MUST_USE enum rc flow_load_claim(struct context *ctx, const struct id *run_id,
                                 struct flow *ret_flow);
MUST_USE enum rc flow_save_events(struct context *ctx, struct flow *flow);
/* The same with what the run has used. */
MUST_USE enum rc flow_save_used(struct context *ctx, struct flow *flow);
/* The same as flow_load for the latest run of a task. */
MUST_USE enum rc flow_load_latest(struct context *ctx, const struct id *task_id,
                                  struct flow *ret_flow);
void flow_release(struct flow *flow); /* For CLEANUP. */
/* What is appended from now on happens in this claim of a job of the run, held by this worker. */
void flow_attempt(struct flow *flow, const struct job_row *job, const char *worker);
/* The configuration that was in force when the task was submitted. */
MUST_USE enum rc flow_config(struct context *ctx, struct flow *flow,
                             const struct repo_config **ret);
MUST_USE enum rc flow_save(struct context *ctx, struct flow *flow);

/* One line that names the task to people: as task_title, but a task that intake has made of an
   issue has the title of that, which may be a stranger's: not for prompts. */
const char *flow_title(const struct task_row *task, struct arena *arena);

/* The time of the next event, and of what it records.  Never before the event that it follows:
   nodes have clocks of their own, and a lane may have waited for another one. */
int64_t flow_time(const struct context *ctx, const struct flow *flow);
/* Fills in what makes an event one of the run, with the next run_seq, or of its task; what it has
   already stays. */
void flow_place_event(const struct context *ctx, const struct flow *flow, struct event *event);
void flow_place_task_event(const struct context *ctx, const struct flow *flow, struct event *event);
/* Of the run: core/traceparent.h. */
const char *flow_trace(const struct context *ctx, const struct flow *flow);
/* Appends an event of the run (with the next run_seq) or of its task.  body may be NULL: {}. */
MUST_USE enum rc flow_emit(struct context *ctx, struct flow *flow, const char *type,
                           struct event_body *body);
MUST_USE enum rc flow_emit_data(struct context *ctx, struct flow *flow, const char *type,
                                struct str data);
MUST_USE enum rc flow_emit_task(struct context *ctx, struct flow *flow, const char *type,
                                struct event_body *body);

/* Fills flow->run as run number run_no of flow->task, queued; the caller inserts it. */
MUST_USE enum rc flow_new_run(struct context *ctx, struct flow *flow, int64_t run_no);
/* agent.run.queued, the first event of a run, and agent.task.queued. */
MUST_USE enum rc flow_emit_queued(struct context *ctx, struct flow *flow);

/* RC_CONFLICT when core refuses; else status, projection and agent.run.status.changed. */
MUST_USE enum rc flow_move(struct context *ctx, struct flow *flow, enum run_event event,
                           const char *reason);
#endif
