/*
 * attempt.h - one attempt of the agent, while its step works on it.
 *
 *     attempt_input.c    what a local agent is given: tree, prompt, feedback, token, environment
 *     compute_*.c        the agent itself
 *     attempt_output.c   what a local agent left: completion record, log, patch
 *     steps/collect.c    what an agent elsewhere left: branch, pull request, patch
 *     attempt_result.c   the result of the step
 *
 *     run_dir/tree    the worktree; an attempt that repairs continues the last one
 *     run_dir/io      prompt.md, feedback.md, and what the agent writes to result.json; made anew
 *     run_dir/home    $HOME, kept from attempt to attempt
 *
 * After the agent has run, everything in those three is hostile: links, FIFOs and planted
 * configuration included.
 */
#ifndef WORK_AGENT_ATTEMPT_H
#define WORK_AGENT_ATTEMPT_H
#include "core/agent/infer.h"
#include "forge/forge.h"
#include "work/agent/adapter.h"
#include "work/agent/compute.h"
#include "work/agent/rollout.h"
#include "work/job/childenv.h"
#include "work/job/progress.h"
#include "work/job/step.h"
#include "work/tree/collect.h"
#include "work/tree/snapshot_thread.h"

enum { ATTEMPT_TOKEN_BYTES = 256 };

struct attempt {
    struct step *step;
    const struct compute_ops *compute; /* NULL: the agent leased its work itself. */
    const char *base;                  /* The commit that the patch is made against. */
    const char *tree, *io, *home;
    const char *prompt_path, *feedback_path, *plan_path, *record_path, *log_path;
    bool planning;      /* A plan is wanted, no work. */
    const char *socket; /* The server's, for an agent without a network; NULL: there is none. */
    char token[ATTEMPT_TOKEN_BYTES];
    struct childenv env;
    struct progress progress;
    struct transcript transcript;
    struct rollout rollout;            /* What Codex notes of its requests. */
    const char *limit;                 /* One of adapter.h's CUT_*: why the agent is cut off, */
    int64_t cut_us;                    /* then, by clock_mono_us(): it may end by itself before. */
    struct compute_session *child;     /* compute_child.c */
    struct remote *remote;             /* compute_remote.c */
    struct snapshot_thread *snapshots; /* Of the tree that the agent works in; NULL: none. */
    bool handed_out;                   /* The tree was: the agent may have worked in it. */
    struct compute_result ended;
    enum report record;       /* From the completion record. */
    const char *given_sha256; /* A patch as an agent elsewhere gave it, or NULL. */
    struct forge_found found; /* Of an agent elsewhere. */
    int64_t commits;          /* On its branch. */
    struct collected patch;
};

void attempt_init(struct attempt *attempt, struct step *step);
void attempt_release(struct attempt *attempt);

/* Mirror, base commit, worktree, io directory, the run's token, the environment. */
MUST_USE enum rc attempt_make_input(struct attempt *attempt, struct err *err);
/* Sets limit once the agent has exceeded one. */
void attempt_check_limits(struct attempt *attempt);
/* limit is set, and cut_us has passed. */
bool attempt_is_cut(const struct attempt *attempt);
/* Makes ready, runs the agent to its end. */
MUST_USE enum rc attempt_run(struct attempt *attempt, struct err *err);
/* The completion record, and the log as an artifact. */
MUST_USE enum rc attempt_take_log(struct attempt *attempt, struct err *err);
/* The completion record overrides what the agent printed before; then log and patch. */
MUST_USE enum rc attempt_take_output(struct attempt *attempt, struct err *err);
/* How it ended and what it used, as members of an object that is open. */
void attempt_write_end(const struct attempt *attempt, struct jw *jw);
void attempt_write_result(struct attempt *attempt);
#endif
