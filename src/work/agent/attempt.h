/*
 * attempt.h - one attempt of the agent, while its step works on it.
 *
 *     attempt_input.c    what a local agent is given: tree, prompt, feedback, token, environment
 *     compute_*.c        the agent itself
 *     attempt_steer.c    what people want of it while it works: pauses, messages
 *     attempt_ask.c      what it asks people in its own protocol
 *     attempt_output.c   what a local agent left: completion record, log, patch
 *     steps/collect.c    what an agent elsewhere left: branch, pull request, patch
 *     attempt_result.c   the result of the step
 *
 *     run_dir/tree    the worktree; an attempt that repairs continues the last one
 *     run_dir/io      prompt.md, feedback.md, and what the agent writes to result.json; made anew
 *     run_dir/home    $HOME, kept from attempt to attempt
 *
 * Where the home was kept and the agent can, it resumes the session that it reported in an earlier
 * attempt, and gets io/resume.md instead of the whole prompt.  A session that it cannot resume any
 * more costs nothing: the attempt begins anew.
 *
 * After the agent has run, everything in those three is hostile: links, FIFOs and planted
 * configuration included.
 */
#ifndef WORK_AGENT_ATTEMPT_H
#define WORK_AGENT_ATTEMPT_H
#include "core/agent/infer.h"
#include "forge/port/forge.h"
#include "work/agent/adapter.h"
#include "work/agent/compute.h"
#include "work/agent/rollout.h"
#include "work/agent/scratch.h"
#include "work/job/childenv.h"
#include "work/job/progress.h"
#include "work/job/step.h"
#include "work/tree/collect.h"
#include "work/tree/snapshot_thread.h"

enum { ATTEMPT_TOKEN_BYTES = 256, ANSWERS_MAX = 64 };

/* The question of the agent that is at hand; zeroed: there is none. */
struct asking {
    struct arena arena;
    const char *wanted;        /* Its text as the adapter has it; NULL: there is none. */
    struct question_spec spec; /* As it is asked. */
    struct id id;              /* Once it is open. */
    bool open;
    int64_t look_us;       /* Not looked at, or tried, before. */
    uint64_t answers_used; /* Those of the assignment that were passed on, a bit each. */
};

struct attempt {
    struct step *step;
    const struct compute_ops *compute; /* NULL: the agent leased its work itself. */
    const char *base;                  /* The commit that the patch is made against. */
    const char *tree, *io, *home;
    const char *task_path;   /* The whole prompt. */
    const char *prompt_path; /* What the agent is told first: that, or io/resume.md. */
    const char *feedback_path, *plan_path, *record_path, *log_path;
    bool planning;                         /* A plan is wanted, no work. */
    bool anew;                             /* No session is resumed. */
    const char *session;                   /* That is resumed, or NULL. */
    const char *argv[CONFIG_ARGS_MAX + 1]; /* Of a local agent. */
    const char *socket; /* The server's, for an agent without a network; NULL: there is none. */
    char token[ATTEMPT_TOKEN_BYTES];
    struct childenv env;
    struct scratch scratch;
    struct progress progress;
    struct transcript transcript;
    struct rollout rollout; /* What Codex notes of its requests. */
    bool converses;         /* It is spoken to on its stdin. */
    enum port_hold hold;    /* As it was passed on to the agent. */
    int64_t end_us;         /* When its time is up, by clock_mono_us; while held: was. */
    int64_t held_us;        /* Held since. */
    int64_t said_seq;       /* Of the last message that was written for the agent, */
    int64_t delivered_seq;  /* and of the last that it has. */
    int64_t ask_us;         /* Messages are not asked for before. */
    bool asked_last;        /* They were, before its stdin is closed. */
    struct asking asking;
    const char *limit;                 /* One of adapter.h's CUT_*: why the agent is cut off, */
    int64_t cut_us;                    /* then, by clock_mono_us(): it may end by itself before. */
    struct compute_session *child;     /* compute_child.c */
    struct remote *remote;             /* compute_remote.c */
    struct snapshot_thread *snapshots; /* Of the tree that the agent works in; NULL: none. */
    bool handed_out;                   /* The tree was: the agent may have worked in it. */
    struct compute_result ended;
    enum report record;       /* From the completion record. */
    const char *question;     /* The same: JSON as of core/run/question_spec.h; NULL: it asks
                                 nothing. */
    const char *given_sha256; /* A patch as an agent elsewhere gave it, or NULL. */
    struct forge_found found; /* Of an agent elsewhere. */
    int64_t commits;          /* On its branch. */
    struct collected patch;
};

void attempt_init(struct attempt *attempt, struct step *step);
void attempt_release(struct attempt *attempt);

/* Mirror, base commit, worktree, io directory, the run's token, the environment. */
MUST_USE enum rc attempt_make_input(struct attempt *attempt, struct err *err);
/* It was to resume its session and ended at once: once more, with the whole prompt. */
bool attempt_lost_session(const struct attempt *attempt);
void attempt_begin_anew(struct attempt *attempt);
/* After it has run, however it ended: a login that it has refreshed goes back to its account. */
void attempt_save_login(const struct attempt *attempt);
/* Sets limit once the agent has exceeded one. */
void attempt_check_limits(struct attempt *attempt);
/* limit is set, and cut_us has passed. */
bool attempt_is_cut(const struct attempt *attempt);
/* Passes on what people want of the agent by now; returns when to look again. */
int64_t attempt_steer(struct attempt *attempt);
/* Asks people what the agent asks, and passes the answer on; returns when to look again. */
int64_t attempt_ask(struct attempt *attempt);
/* The agent has ended. */
void attempt_ask_over(struct attempt *attempt);
/* Messages that the agent has read, if it is not reported yet. */
void attempt_report_delivered(struct attempt *attempt);
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
