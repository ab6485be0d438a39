/*
 * candidates.h - best of N: which of several patches for one task is published.  Pure.
 *
 * Evidence decides, in this order; the first difference counts:
 *
 *   usable      its run has completed and left a patch
 *   verified    every check has passed; one without checks is not verified
 *   unflagged   no judge has left it to a person
 *   score       the lowest score that a judge gave, in steps of 0.05: closer scores are equal
 *   size        fewer lines added and deleted
 *   cost        what it cost
 *   number      so that the order is total
 */
#ifndef CORE_RUN_CANDIDATES_H
#define CORE_RUN_CANDIDATES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CANDIDATES_MIN = 2, CANDIDATES_MAX = 8 };

struct candidate {
    int64_t number; /* From 1. */
    bool ended;     /* Its latest run is finished. */
    bool completed; /* And has completed. */
    bool has_patch;
    bool verified;
    bool flagged;
    int64_t score_milli; /* 0 to 1000; -1: no judge gave a score. */
    int64_t lines;
    int64_t cost_microusd;
};

bool candidate_usable(const struct candidate *candidate);
/* Why the first is ranked above the second, in a word or two: "verified", "higher score". */
const char *candidate_advantage(const struct candidate *better, const struct candidate *worse);
/* The places of the candidates, the best one first; ret_order has room for count. */
void candidates_rank(const struct candidate *candidates, size_t count, size_t *ret_order);

enum candidates_verdict {
    CANDIDATES_WAIT,   /* Some may still become better. */
    CANDIDATES_CHOOSE, /* *ret_best is published. */
    CANDIDATES_NONE,   /* All have ended, and none is usable. */
};
enum candidates_verdict candidates_decide(const struct candidate *candidates, size_t count,
                                          size_t *ret_best);
/* Has the first usable one just come, with others still at work?  Then these have a while left. */
bool candidates_grace_begins(const struct candidate *candidates, size_t count);
#endif
