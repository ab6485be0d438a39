/*
 * crowd.h - who is at work on one repository, as admission sees it: questions and pull requests
 * that people have yet to look at, and files that two runs would change at the same time.
 *
 * Nothing is read until a limit of the repository asks for it.  Two rules keep it fair and firm:
 * - Runs under way that will ask, or open a pull request, count for those that would too: else a
 *   hundred of them could pass the gate at once.
 * - A run that waits for others to leave its files keeps its place: those behind it that want the
 *   same files wait for it (limits.overlap: serialize).
 */
#ifndef CONTROL_CROWD_H
#define CONTROL_CROWD_H
#include "control/flow.h"
#include "core/admission.h"
#include "core/overlap.h"
#include "store/repositories.h"

struct crowd_member; /* In the arena of the command. */

struct crowd {
    const char *repository;
    struct id repository_id;
    struct crowd_limits {
        int64_t active_max, approvals_max, pull_requests_max; /* 0: none */
        enum overlap_rule overlap;
        enum approval_rule approval;
    } limits;
    bool loaded;
    int64_t pull_requests;             /* Open. */
    struct crowd_member *first, *last; /* Active runs by age, then those that keep their place. */
};

struct meeting { /* Two that want the same file. */
    struct id run_id;
    struct overlap overlap;
    const char *detail;
};

/* One run that would like to join. */
struct crowd_view {
    struct crowd_member *self; /* NULL: nobody has looked. */
    bool warn;                 /* It may join, but meets somebody. */
    struct meeting meeting;
};

/* Without a configuration there are no limits. */
void crowd_open(struct crowd *crowd, const struct repository_row *repository,
                const struct repo_config *config);
/* Fills the facts of open and coming approvals and pull requests, and of overlap. */
MUST_USE enum rc crowd_look(struct cx *cx, struct crowd *crowd, struct flow *flow,
                            struct crowd_view *ret_view, struct start_facts *facts);
/* Back to how it was: who has joined since does not belong to it. */
void crowd_restore(struct crowd *crowd, const struct crowd *before);
/* With what came of it: it joins, keeps its place, or neither. */
void crowd_join(struct crowd *crowd, struct crowd_view *view, enum admission_check outcome);
#endif
