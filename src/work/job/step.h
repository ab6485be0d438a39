/*
 * step.h - one step of a run, as its function sees it.
 *
 * The framework (worker.c) leases the job, decodes the payload, watches lease and deadline, and
 * reports.  A step does its one thing: it fills `result` (a JSON object of at most 10 KB; what is
 * larger becomes an artifact) and returns RC_OK, or it calls step_fail and returns its result.  It
 * passes `stop` to every call that takes long.
 *
 *     work_dir/git/                 home of git
 *     work_dir/mirrors/<hash>.git   one bare mirror per repository address; .lock beside it
 *     work_dir/mirrors/<hash>.snapshots.git   see snapshot.h
 *     work_dir/setup/<key>/         outputs of setup commands, for later trees (setup_store.h)
 *     work_dir/runs/<run id>/       tree, io, home of the agent; checkouts of verify; logs
 *     work_dir/agents/<agent id>/   of agents that were launched (steps/launch.c)
 *     work_dir/scratch/             ports and databases that are leased (scratch_book.h)
 *     work_dir/kept/<run id>        trees with work that could not be saved elsewhere
 */
#ifndef WORK_JOB_STEP_H
#define WORK_JOB_STEP_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/js.h"
#include "base/jw.h"
#include "core/config/account_config.h"
#include "core/config/repo_config.h"
#include "core/step_kind.h"
#include "forge/git/git.h"
#include "forge/port/forge.h"
#include "work/job/port.h"
#include "work/job/scratch_book.h"
#include "work/job/slots.h"
#include "work/job/steer.h"
#include "work/job/stop.h"
#include "work/sandbox/sandbox.h"

enum {
    STEP_RESULT_MAX = 10 * 1024,
    STEP_ARTIFACTS_MAX = 48,
    STEP_SCOPE_MAX = 128,
    STEP_MESSAGE_MAX = 600,
    STEP_TEXT_ARTIFACT_MAX = 16 * 1024 * 1024, /* Prompts, feedback, certificates. */
};

/* The payload, decoded.  Texts live in the payload's tree; NULL is not known. */
struct step_input {
    const struct js *payload; /* All of it. */
    struct id task_id, run_id;
    const char *traceparent; /* $TRACEPARENT of agents and commands, or NULL. */
    int64_t run_no;
    int64_t attempt; /* Of the agent, from 1. */
    const char *repository;
    struct repo_config config;     /* agent: the one that the run got, with its account's. */
    struct account_config account; /* Of the provider, as configured; without a name: none. */
    const char *account_since;     /* Changes when the agent's home must be made anew. */
    const char *target_branch, *branch, *base_commit;
    const char *title; /* Of the pull request. */
    const char *description;
    int64_t issue_number; /* 0: none */
    int64_t pr_number; /* A repair: its patch goes on top of this pull request; 0: it opens one. */
    const char *scope[STEP_SCOPE_MAX + 1];
    int64_t max_turns;     /* Left of the run's; 0: no limit */
    double max_budget_usd; /* The same. */
    int64_t max_tokens;    /* The same: input and output. */
    const char *prompt_sha256, *feedback_sha256, *patch_sha256, *certificate_sha256;
    const char *plan_sha256;
    const char *step;          /* Its name in the blueprint. */
    const char *saga_step;     /* Of a saga: the step that this job is for; or NULL. */
    const struct js *previous; /* Results of the last custom steps: an array, or NULL. */
    const char *session_id;    /* Of a remote agent: stored before any worker can start it. */
    int64_t session_begun_us;  /* Wall clock: known to have begun; 0: not known. */
    bool session_resumed;      /* Another worker had it before, under another job. */
    bool session_over;
    const char *agent_session; /* Of a local agent: what it reported last; or NULL. */
    const struct js *record;   /* collect: the agent's own report; or NULL */
    struct {                   /* A repair: the pull request that it continues. */
        int64_t number;        /* 0: none */
        const char *title, *head;
        const char *merge_with; /* The agent starts from the merge of head and this; or NULL. */
    } pr;
    bool draft;
    bool completed;          /* clean: the run's work is published. */
    int64_t run_deadline_us; /* Wall clock; 0: none */
    int64_t task_created_us;
};

struct step_artifact {
    const char *kind, *name;
    char sha256[65];
    int64_t bytes;
};

/* What all steps of a worker share. */
struct step_site {
    struct port *port;
    struct clock clock;
    const char *worker; /* Its name. */
    int64_t lease_ms;
    const char *work_dir;
    const char *server_url;
    const char *server_socket; /* or NULL */
    struct sandbox sandbox;
    struct scratch_book *scratch; /* Leased ports and databases. */
};

struct step {
    const struct step_site *site;
    struct step_input input;
    struct port_ref lease;
    struct arena *arena;
    struct stop *stop;
    struct steer *steer; /* NULL: it cannot be steered. */
    int64_t deadline_us; /* By clock_mono_us. */
    const char *run_dir;
    const char *mirror;
    const char *held_commit; /* The mirror is known to have it: nothing is pruned from mirrors. */
    struct buf *result;      /* At most STEP_RESULT_MAX. */
    struct step_artifact artifacts[STEP_ARTIFACTS_MAX];
    size_t artifact_count;
    const char *kept_tree;       /* Where a tree is that could not be saved (rescue.h), or NULL. */
    struct port_failure failure; /* Set by step_fail. */
    struct secrets *secrets;     /* step_secrets.h; NULL: not made yet. */
    const char *token;           /* For the repository (repo_step.h); NULL: none was asked for. */
    const struct git_renewal *renewal; /* The same: another one, should the forge refuse it. */
    struct step_forge *forge;          /* repo_step.c's; NULL: no forge was called. */
    bool holds_scratch; /* Its job has leased ports or databases (agent/scratch.h). */
};

/* What the worker does for a step: one of the functions at the end.  NULL: workers of drover do not
   execute it. */
typedef enum rc step_run_fn(struct step *step, struct err *err);
step_run_fn *step_function(enum step_kind kind);

/* RC_INVALID: the payload does not hold what every step needs.  The tree must outlive the step. */
MUST_USE enum rc step_decode(const struct js *payload, struct arena *arena,
                             struct step_input *ret_input, struct err *err);
/* Fills run_dir and mirror from the input. */
void step_place(struct step *step);

/* Sets why the step failed and returns rc; the text of err becomes the message.  A step that
   returns an error without it fails with the code of its kind, and is retried when that may
   help. */
enum rc step_fail(struct step *step, enum rc rc, const struct err *err,
                  struct port_failure failure);

/* git as this step may run it: its stop flag, its deadline, the credential of its repository, which
   step_credential of repo_step.h has got from the server, or which this worker has itself. */
struct git step_git(const struct step *step);
int64_t step_left_ms(const struct step *step);
/* For something that may take own_ms: that, or what is left of the step's time.  At least 1, since
   0 is no limit to those who are given it. */
int64_t step_time_ms(const struct step *step, int64_t own_ms);

/* Renews this one lease right now.  RC_STALE, RC_CANCELLED: the step must change nothing more. */
MUST_USE enum rc step_still_mine(struct step *step, struct err *err);
/* The step as the holder in a call to a forge: may_go_on is step_still_mine. */
struct forge_holder step_holder(struct step *step);

/* Sends one progress event at once.  What the server cannot accept is dropped: no decision depends
   on an event. */
void step_event(struct step *step, const char *type, struct str data);
/* The same, but a cancel or a lost lease in the answer is ignored: for work that is finished in any
   case. */
void step_last_word(struct step *step, const char *type, struct str data);

/* Artifacts: stored, noted for the result. */
MUST_USE enum rc step_put(struct step *step, const char *kind, const char *name, struct str bytes,
                          const char **ret_sha256, struct err *err);
MUST_USE enum rc step_put_file(struct step *step, const char *kind, const char *name,
                               const char *path, const char **ret_sha256, struct err *err);
MUST_USE enum rc step_get(struct step *step, const char *sha256, struct buf *into, struct err *err);

/* Writes "artifacts": [...]. */
void step_write_artifacts(struct step *step, struct jw *jw);
/* Key and text, cut so that its JSON form takes at most max bytes; NULL writes null. */
void step_write_text(struct jw *jw, const char *key, const char *text, size_t max);

/* The steps. */
MUST_USE enum rc step_prepare(struct step *step, struct err *err);
MUST_USE enum rc step_hydrate(struct step *step, struct err *err);
MUST_USE enum rc step_agent(struct step *step, struct err *err);
MUST_USE enum rc step_collect(struct step *step, struct err *err);
MUST_USE enum rc step_plan(struct step *step, struct err *err);
MUST_USE enum rc step_custom(struct step *step, struct err *err);
MUST_USE enum rc step_verify(struct step *step, struct err *err);
MUST_USE enum rc step_judge(struct step *step, struct err *err);
MUST_USE enum rc step_publish(struct step *step, struct err *err);
MUST_USE enum rc step_unpublish(struct step *step, struct err *err);
MUST_USE enum rc step_clean(struct step *step, struct err *err);
MUST_USE enum rc step_notify(struct step *step, struct err *err);
MUST_USE enum rc step_observe(struct step *step, struct err *err);
MUST_USE enum rc step_attend(struct step *step, struct err *err);
MUST_USE enum rc step_rebase(struct step *step, struct err *err);
MUST_USE enum rc step_issue(struct step *step, struct err *err);
MUST_USE enum rc step_comment(struct step *step, struct err *err);
MUST_USE enum rc step_train(struct step *step, struct err *err);
MUST_USE enum rc step_sync(struct step *step, struct err *err);
MUST_USE enum rc step_launch(struct step *step, struct err *err);
#endif
