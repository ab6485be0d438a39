/*
 * repo_load.h - the runs that work on one repository, for admission: open approvals and pull
 * requests that wait for review, and files that two runs would change at the same time.
 *
 * Nothing is read unless a limit of the repository needs it.  Two rules:
 * - Active runs that will need an approval, or open a pull request, count already when another such
 *   run is checked: else a hundred of them could be admitted at once.
 * - A run that waits for others to finish with its files keeps its place: those behind it that
 *   need the same files wait for it (limits.overlap: serialize).
 */
#ifndef CONTROL_ADMIT_REPO_LOAD_H
#define CONTROL_ADMIT_REPO_LOAD_H
#include "control/run/flow.h"
#include "core/run/admission.h"
#include "core/run/overlap.h"
#include "store/repositories.h"

struct repo_load_member; /* In the arena of the command. */

struct repo_load {
    const char *repository;
    struct id repository_id;
    struct repo_load_limits {
        int64_t active_max, approvals_max, pull_requests_max; /* 0: none */
        enum overlap_rule overlap;
        enum approval_rule approval;
    } limits;
    bool loaded;
    int64_t pull_requests; /* Open. */
    struct repo_load_member *first,
        *last; /* Active runs by age, then those that keep their place. */
};

struct meeting { /* Another run that needs the same file. */
    struct id run_id;
    struct overlap overlap;
    const char *detail;
};

/* A queued run that admission checks. */
struct repo_load_view {
    struct repo_load_member *self; /* NULL: the load was not read. */
    bool warn;                     /* It may start, but its files overlap with another run's. */
    struct meeting meeting;
};

/* Without a configuration there are no limits. */
void repo_load_open(struct repo_load *load, const struct repository_row *repository,
                    const struct repo_config *config);
/* Fills the facts of open and coming approvals and pull requests, and of overlap. */
MUST_USE enum rc repo_load_check(struct context *ctx, struct repo_load *load, struct flow *flow,
                                 struct repo_load_view *ret_view, struct start_facts *facts);
/* Restores an earlier state: runs that have joined since are removed. */
void repo_load_restore(struct repo_load *load, const struct repo_load *before);
/* By the outcome of its checks: the run joins, keeps its place, or neither. */
void repo_load_join(struct repo_load *load, struct repo_load_view *view,
                    enum admission_check outcome);
#endif
