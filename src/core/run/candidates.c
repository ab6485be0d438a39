#include "core/run/candidates.h"
#include <assert.h>

enum { SCORE_STEP_MILLI = 50 };

bool candidate_usable(const struct candidate *candidate)
{
    return candidate->ended && candidate->completed && candidate->has_patch;
}

/* A candidate that no judge has scored is neither better nor worse than the lowest score. */
static int64_t score_step(const struct candidate *candidate)
{
    return candidate->score_milli < 0 ? 0 : candidate->score_milli / SCORE_STEP_MILLI;
}

struct difference {
    int64_t value; /* Above 0: the first candidate is better. */
    const char *name;
};

static struct difference compare(const struct candidate *a, const struct candidate *b)
{
    const struct difference differences[] = {
        {candidate_usable(a) - candidate_usable(b), "usable"},
        {a->verified - b->verified, "verified"},
        {b->flagged - a->flagged, "no doubts of a judge"},
        {score_step(a) - score_step(b), "higher score"},
        {b->lines - a->lines, "smaller patch"},
        {b->cost_microusd - a->cost_microusd, "lower cost"},
        {b->number - a->number, "first of equals"},
    };
    size_t i = 0;
    while (i + 1 < sizeof differences / sizeof *differences && differences[i].value == 0)
        i++;
    return differences[i];
}

const char *candidate_advantage(const struct candidate *better, const struct candidate *worse)
{
    return compare(better, worse).name;
}

void candidates_rank(const struct candidate *candidates, size_t count, size_t *ret_order)
{
    assert(count <= CANDIDATES_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && compare(&candidates[i], &candidates[ret_order[at - 1]]).value > 0; at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = i;
    }
}

static size_t count_ended(const struct candidate *candidates, size_t count)
{
    size_t ended = 0;
    for (size_t i = 0; i < count; i++)
        ended += candidates[i].ended;
    return ended;
}

enum candidates_verdict candidates_decide(const struct candidate *candidates, size_t count,
                                          size_t *ret_best)
{
    size_t order[CANDIDATES_MAX];
    if (count_ended(candidates, count) < count)
        return CANDIDATES_WAIT;
    candidates_rank(candidates, count, order);
    if (count == 0 || !candidate_usable(&candidates[order[0]]))
        return CANDIDATES_NONE;
    *ret_best = order[0];
    return CANDIDATES_CHOOSE;
}

bool candidates_grace_begins(const struct candidate *candidates, size_t count)
{
    size_t usable = 0;
    for (size_t i = 0; i < count; i++)
        usable += candidate_usable(&candidates[i]);
    return usable == 1 && count_ended(candidates, count) < count;
}
