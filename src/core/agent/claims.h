/*
 * claims.h - what effect the reports of an agent have.  Pure.
 *
 * An agent is an untrusted process: anything that it prints or reports may be untrue.
 *
 *   it reports                    for its own run                   for other runs
 *   turns, tokens, cost           counts in full, against the       the workspace's daily budget
 *                                 run's limits                      is charged the run's budget
 *                                                                   at most
 *   a usage limit, in words       the run waits until the reset     nothing
 *                                 that it names
 *   a usage limit, as the record  the same                          the account is parked, and
 *   of its provider's program                                       now and then one run tries it
 *   how full a window is, as      nothing                           a hint: its account is chosen
 *   such a record                                                   after others, until the reset
 *
 * The record counts only of a program that drover started itself, whose adapter parses its own
 * format (not none, ndjson, amp, text, acp), and which then ended by itself with a failure.  A
 * script can forge all of that: so an account is never parked beyond the longest window of its
 * provider, a probe tries it again long before, and the first model turn that a probe completes
 * lifts the parking.
 */
#ifndef CORE_AGENT_CLAIMS_H
#define CORE_AGENT_CLAIMS_H
#include "core/agent/account_choice.h"
#include "core/config/repo_config.h"
#include <stdbool.h>
#include <stdint.h>

enum claim_reach { CLAIM_OWN_RUN, CLAIM_ACCOUNT };

/* A usage limit, and how it became known. */
struct limit_claim {
    enum compute compute;
    enum adapter adapter;
    bool is_record; /* Of the format of the adapter, not words in some text. */
    bool ended;     /* The program ended by itself, */
    bool failed;    /* with an exit code other than 0. */
};
enum claim_reach claim_reach(const struct limit_claim *claim);
/* The longest window of the provider: no reset beyond it is believed. */
int64_t claim_longest_us(enum adapter adapter);

/* When to try again after a limit. */
struct limit_wait {
    bool told;           /* A reset was named: */
    int64_t reported_us; /* this one. */
    int64_t hits;        /* Limits met in a row, from 1. */
    enum adapter adapter;
};
/* The reset, within the window; without one, or when it has passed, a rest that doubles with every
   hit. */
int64_t claim_wait_until(const struct limit_wait *wait, int64_t now_us);

/* How long after the parking, or after the last probe, the next run may try a parked account:
   15 min, doubled with every probe, at most 2 h. */
int64_t claim_probe_us(int64_t probes);

/* How full a window of the account is, by a record of its program. */
struct window_claim {
    enum compute compute;
    enum adapter adapter;
    const char *window;
    double utilization;
    bool told;          /* A reset was named: */
    int64_t resets_us;  /* this one. */
    const char *status; /* or NULL */
};
/* What is stored of it, bounded: it expires at its reset, and at the latest after the length of the
   window.  False: it is not evidence, or already over.  Texts are those of the claim. */
bool claim_window(const struct window_claim *claim, int64_t now_us,
                  struct account_window *ret_window);
#endif
