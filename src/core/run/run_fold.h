/*
 * run_fold.h - the state of a run as a function of its events.  Pure.
 *
 *     struct run_fold fold;
 *     run_fold_begin(&fold, &run_id);
 *     for (each event of the run and its task, in order of seq)
 *         run_fold_apply(&fold, event, arena);
 *
 * 1. Events are applied in the order of the log, each once.  A prefix of them gives the run as it
 *    was then: `drover replay --at`.
 * 2. The result for all events equals the row of the run in every member that is marked as the
 *    row's (run_fold_differs): `drover doctor` compares the two.
 * 3. An event that a client has appended changes no member but the count of events.
 * 4. A fold that was written (run_fold_write) and read back continues as if it had not been: that
 *    is a snapshot.  Snapshots save time and are never the truth.
 *
 * Not folded, since no event carries it: what the retry budgets have left but for the agent's, the
 * job that moves the run, its deadline, its place in the queue, what a custom step has left, the
 * account and the session of its agent where none was chosen from a pool.
 *
 * To add a member: here, a row in `members` of run_fold.c, and the event that sets it in `facts`.
 */
#ifndef CORE_RUN_RUN_FOLD_H
#define CORE_RUN_RUN_FOLD_H
#include "base/arena.h"
#include "base/js.h"
#include "base/jw.h"
#include "core/event.h"
#include "core/run/feedback.h"
#include "core/run_status.h"

struct run_fold {
    struct id run_id;
    enum run_status status;
    int64_t run_no, attempt;
    const char *requested_by, *task_type;
    const char *branch, *base_commit;
    const char *agent, *account, *model;
    const char *step; /* Of its blueprint, the last that a worker began. */
    const char *prompt_sha256, *plan_sha256, *certificate_sha256;
    int64_t turns, tokens_in, tokens_out, cost_microusd;
    struct id patch_id; /* The latest. */
    const char *patch_sha256;
    int64_t patches; /* How many it has made. */
    int64_t checks[VERIFY_STATUS_COUNT];
    const char *judge_verdict; /* Of the judge that was last. */
    int64_t approvals;         /* Questions to people about it: asked, */
    int64_t open_approvals;    /* and not closed yet. */
    const char *approval_kind, *approval_status, *approval_actor; /* Of the latest. */
    struct id question_id; /* Its agent's open question, or none. */
    struct id pull_request_id;
    int64_t pull_request_number;
    const char *pull_request_url, *pull_request_status;
    const char *error_code, *error_message;
    const char *deferred_reason;
    const char *stop_kind; /* A worker was asked to stop it: cancel, timeout, budget. */
    bool paused;
    int64_t lost; /* Workers lost since a step last made progress. */
    int64_t queued_us, admitted_us, started_us, ended_us;

    int64_t events; /* Of the run: the number of the last. */
    struct id last_event_id;
    int64_t seq, time_us; /* Of the last event that was applied, also of its task. */
    /* Its first event is of a version whose events carry every member. */
    bool complete;
    bool truncated; /* It had too many events: diagnostic ones were dropped, */
    /* or deleted after their time, so that turns, tokens and cost may be behind the row.  Of the
       last event with them it is kept, so not at the end. */
    bool usage_behind;
};

void run_fold_begin(struct run_fold *fold, const struct id *run_id);
/* What it keeps of the event is copied into the arena.  Events of other runs change nothing. */
void run_fold_apply(struct run_fold *fold, const struct event *event, struct arena *arena);

/* As members of an open object; all of them, so that a snapshot is complete. */
void run_fold_write(struct jw *jw, const struct run_fold *fold);
/* RC_CORRUPT: it has a status that is not known. */
MUST_USE enum rc run_fold_read(const struct js *object, struct arena *arena,
                               struct run_fold *ret_fold, struct err *err);

/* The name of the first member of the row that differs, and both values for people; NULL: none.  Of
   a fold that is not complete only what every version has told is compared. */
const char *run_fold_differs(const struct run_fold *fold, const struct run_fold *row,
                             struct arena *arena, const char **ret_detail);
#endif
