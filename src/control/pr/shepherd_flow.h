/*
 * shepherd_flow.h - a pull request while the shepherd works on it: for the files shepherd*.c.
 */
#ifndef CONTROL_PR_SHEPHERD_FLOW_H
#define CONTROL_PR_SHEPHERD_FLOW_H
#include "control/pr/shepherd.h"
#include "control/run/flow.h"
#include "core/pr/pr_view.h"
#include "core/pr/shepherd_facts.h"
#include "store/approvals.h"
#include "store/shepherds.h"

enum { SHEPHERD_FAULT_MAX = 12 * 1024, SHEPHERD_VERIFIES_MAX = 2, SHEPHERD_MERGES_MAX = 3 };

/* Kinds of approvals that no run waits for (control/run/approval.h). */
#define APPROVAL_MERGE    "merge"
#define APPROVAL_SHEPHERD "shepherd"
#define APPROVAL_RULE     "rule"

struct shepherding {
    struct flow flow; /* Of the run that opened it, locked before the rest. */
    struct pull_request_row pr;
    struct shepherd_row row;
    const struct repo_config *config;
    const struct pr_view *view; /* NULL: it was not looked at. */
    int64_t can;                /* Of the forge: enum forge_can. */
    bool fresh;                 /* The row is not in the store yet. */
    bool followed;              /* It is open and its repository wants it followed. */
    bool merge_asked;           /* About this head. */
    bool person_asked;
};
/* RC_NOT_FOUND: there is no such pull request.  Start from {0}; CLEANUP(shepherding_release). */
MUST_USE enum rc shepherding_load(struct context *ctx, const struct id *pull_request_id,
                                  struct shepherding *ret);
MUST_USE enum rc shepherding_save(struct context *ctx, struct shepherding *it);
void shepherding_release(struct shepherding *it);
/* Sets its timer. */
MUST_USE enum rc shepherding_look_in(struct context *ctx, const struct shepherding *it,
                                     int64_t delay_us);

/* ---- jobs (shepherd_jobs.c) ---- */

/* A job of the run that opened it; `more` is its payload's member "shepherd". */
MUST_USE enum rc shepherd_enqueue(struct context *ctx, struct shepherding *it, enum step_kind kind,
                                  struct str more, struct id *ret_job_id);
MUST_USE enum rc shepherd_observe(struct context *ctx, struct shepherding *it);
MUST_USE enum rc shepherd_rebase(struct context *ctx, struct shepherding *it, bool verify_only);
MUST_USE enum rc shepherd_attend(struct context *ctx, struct shepherding *it, unsigned acts);

/* ---- decisions (shepherd_decide.c) ---- */

/* By what was seen and what is known. */
MUST_USE enum rc shepherd_decide_on(struct context *ctx, struct shepherding *it);
/* Through the table of moves to the state, with an event for each. */
MUST_USE enum rc shepherd_walk(struct context *ctx, struct shepherding *it,
                               enum shepherd_state state, const char *reason);
/* The pull request has another head than before. */
MUST_USE enum rc shepherd_new_head(struct context *ctx, struct shepherding *it, const char *head);
/* It is merged (commit) or closed (NULL) at the forge: recorded, and no longer followed. */
MUST_USE enum rc shepherd_ended(struct context *ctx, struct shepherding *it, const char *commit);

/* ---- failures (shepherd_failures.c) ---- */

/* What the look has found out about red checks, against what the store knows. */
MUST_USE enum rc shepherd_take_failures(struct context *ctx, struct shepherding *it,
                                        const struct js *failures);
/* The same for `fault`: what drover's own checks say of this head. */
MUST_USE enum rc shepherd_take_fault(struct context *ctx, struct shepherding *it);
/* Checks are green: what was red is cured. */
MUST_USE enum rc shepherd_note_cure(struct context *ctx, struct shepherding *it);
/* A repair for them begins; a person has said that they may be repaired once more. */
MUST_USE enum rc shepherd_note_paid(struct context *ctx, struct shepherding *it);
MUST_USE enum rc shepherd_forget_paid(struct context *ctx, struct shepherding *it);

/* ---- repairs (shepherd_repair.c) ---- */

MUST_USE enum rc shepherd_repair(struct context *ctx, struct shepherding *it,
                                 enum repair_cause cause);
/* If the repair that is under way has ended: what it has left. */
MUST_USE enum rc shepherd_settle_repair(struct context *ctx, struct shepherding *it);
/* May a head that is new be the one that drover itself pushes just now? */
MUST_USE enum rc shepherd_pushes(struct context *ctx, const struct shepherding *it, bool *ret_may);
/* Stops the repair or the rebase that is under way. */
MUST_USE enum rc shepherd_stop_work(struct context *ctx, struct shepherding *it,
                                    const char *reason);

/* ---- people (shepherd_ask.c) ---- */

MUST_USE enum rc shepherd_ask(struct context *ctx, struct shepherding *it, const char *kind,
                              const char *reason);
/* Reads what was decided since: sets granted_head, stopped, merge_asked, person_asked. */
MUST_USE enum rc shepherd_hear(struct context *ctx, struct shepherding *it);
/* All budgets are new, and what failed may be repaired once more. */
MUST_USE enum rc shepherd_begin_again(struct context *ctx, struct shepherding *it);
/* Proposes what reviewers have asked for as rules for later runs. */
MUST_USE enum rc shepherd_propose_rules(struct context *ctx, struct shepherding *it);
/* Takes back what was asked about another head. */
MUST_USE enum rc shepherd_take_back(struct context *ctx, struct shepherding *it);

/* An event of the run that opened it; the body begins with pullRequestId and number. */
void shepherd_event_open(struct event_body *body, const struct shepherding *it);
#endif
