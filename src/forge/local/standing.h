/*
 * standing.h - what an origin of the local forge has of a run: its fence, its branch, its pull
 * request.  One git reads it all.
 */
#ifndef FORGE_LOCAL_STANDING_H
#define FORGE_LOCAL_STANDING_H
#include "forge/git/origin.h"

struct standing_query {
    const char *run_id, *branch;
    bool numbers; /* Reads all pull requests: fills pr_head, closed and highest. */
};

/* Hashes; "": there is none. */
struct standing {
    char fence[GIT_HASH_BYTES];
    char branch[GIT_HASH_BYTES];
    char run_head[GIT_HASH_BYTES]; /* refs/drover/pulls/<run id>/<number> */
    char pr_head[GIT_HASH_BYTES];  /* refs/pull/<number>/head */
    char closed[GIT_HASH_BYTES];   /* refs/drover/closed/<number> */
    int64_t number;                /* Of the run's pull request; 0: it has none. */
    int64_t highest;               /* The highest number that was ever taken. */
};

MUST_USE enum rc standing_read(const struct origin *origin, const struct standing_query *query,
                               struct standing *ret_standing, struct err *err);

/* The number in "refs/pull/<N>/head", "refs/drover/closed/<N>" or "refs/drover/pulls/<run>/<N>";
   0 for any other ref. */
int64_t pr_number_of(const char *ref);
const char *pr_ref(struct arena *arena, int64_t number);
const char *pr_run_ref(struct arena *arena, const char *run_id, int64_t number);
const char *pr_closed_ref(struct arena *arena, int64_t number);
/* Has drover opened it, for any run? */
MUST_USE enum rc pr_is_ours(const struct origin *origin, int64_t number, bool *ret_ours,
                            struct err *err);
#endif
