/*
 * rollout.h - follows the file in which Codex notes its session while it works: the tokens of every
 * request to the model, which it does not print before its end, and the model.
 *
 *     $CODEX_HOME/sessions/2026/11/17/rollout-2026-11-17T16-38-39-<thread id>.jsonl
 *
 *     {"timestamp":"...","type":"turn_context","payload":{"model":"gpt-5.5",...}}
 *     {"timestamp":"...","type":"event_msg","payload":{"type":"token_count","info":{
 *      "total_token_usage":{"input_tokens":2900,"cached_input_tokens":400,"output_tokens":110,...},
 *      ...},"rate_limits":{"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":...}}}}
 *
 * The totals are those of the session, which earlier attempts may have begun: lines from before the
 * attempt are where it starts from.
 *
 * The agent can write all of it, so everything is hostile: no component below the home is a link
 * that is followed, only regular files are read, at most ROLLOUT_LOOK_BYTES a second, nothing
 * blocks and no line is kept that is longer than ROLLOUT_LINE_MAX.  What it tells counts for its
 * own run as what the agent prints does.
 */
#ifndef WORK_AGENT_ROLLOUT_H
#define WORK_AGENT_ROLLOUT_H
#include "base/buf.h"
#include "work/agent/adapter.h"
#include "work/job/childenv.h"

enum {
    ROLLOUT_LINE_MAX = 256 * 1024,
    ROLLOUT_LOOK_BYTES = 1024 * 1024,
    ROLLOUT_LAST_BYTES = 64 * 1024 * 1024, /* Of the last look. */
};

struct rollout {
    struct transcript *transcript;
    const struct childenv *env; /* May name CODEX_HOME. */
    const char *home;           /* Of the agent. */
    int fd;                     /* -1: not found yet. */
    bool over;                  /* Not followed: another agent, or nothing to be found. */
    int64_t searches, extra_looks;
    int64_t next_us;     /* By clock_mono_us: no look before. */
    int64_t begun_us;    /* Wall clock. */
    struct tokens total; /* Of the session, as noted last. */
    int64_t account_percent;
    struct buf line; /* The beginning of a line whose end is not there yet. */
    bool skipping;   /* The rest of a line that is too long. */
};

/* Does nothing for agents other than Codex.  What it points to must outlive it. */
void rollout_init(struct rollout *rollout, struct transcript *transcript,
                  const struct childenv *env, const char *home);
void rollout_release(struct rollout *rollout);
/* Looks when it is time; returns when the next look is due, INT64_MAX when none is. */
int64_t rollout_look(struct rollout *rollout);
/* The agent has ended: looks at all that is left. */
void rollout_finish(struct rollout *rollout);
#endif
