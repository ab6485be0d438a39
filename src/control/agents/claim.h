/*
 * claim.h - an agent takes one piece of work and keeps it.
 *
 * A claim is a lease of one job of type pull (control/queue/lease.h): it finds its job by the marks
 * of the store, is parked without one, and is woken by the commit that makes its job.  Its epoch
 * fences every later call.  Completion and failure are those of the job protocol.
 *
 * An agent that is registered has a row (store/agents.h): a claim takes from it what it does not
 * say itself, counts against its capacity, and is its heartbeat.  The row is locked when the claim
 * arrives, and again when work is found for one that waited, so that a kill comes before or after.
 * While it waits it looks only at the short list of agents that were killed lately.
 */
#ifndef CONTROL_AGENTS_CLAIM_H
#define CONTROL_AGENTS_CLAIM_H
#include "control/queue/lease.h"
#include "core/agent/addressee.h"

/* Less than the minute after which proxies give a silent request up. */
enum { CLAIM_WAIT_MS_MAX = 55000 };

/* The texts that come with a claim, and the member of the job's payload that names each. */
enum claim_text { CLAIM_PROMPT, CLAIM_PLAN, CLAIM_FEEDBACK, CLAIM_PATCH, CLAIM_TEXT_COUNT };
enum { CLAIM_TEXT_BYTES_MAX = 256 * 1024 }; /* A longer one is left out. */
const char *claim_text_sha256(enum claim_text text);

struct cmd_claim {
    struct cmd_lease lease; /* max is 1, filter.marked is set; queues follow from the rest. */
    struct addressee to;    /* Of the agent; queue NULL: that of its row, or the default. */
    bool general, general_given;
    const char *bound_agent; /* The only one that the token may act for; NULL: any. */
    /* Written by apply. */
    bool resolved;
    const char *agent;                   /* Its name, if it is registered; or NULL. */
    const char *texts[CLAIM_TEXT_COUNT]; /* Of the job; NULL: none that fits. */
};
struct cmd_claim *cmd_claim_new(void);

/* Extends the lease of a claim; with events it reports progress as well. */
struct cmd_claim_beat {
    struct command base;
    struct job_ref ref;
    const char *agent; /* The name that it was claimed with, or NULL. */
    int64_t extend_us;
    const struct js *events; /* As struct job_progress has them, or NULL. */
    struct job_answer answer;
};
struct cmd_claim_beat *cmd_claim_beat_new(void);
#endif
