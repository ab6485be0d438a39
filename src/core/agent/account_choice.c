#include "core/agent/account_choice.h"
#include <assert.h>

static bool is_full(const struct account_candidate *candidate)
{
    return candidate->max_runs > 0 && candidate->runs >= candidate->max_runs;
}

/* The fullest window that still counts, and whether its hints speak against the account. */
static struct account_verdict judge_windows(const struct account_candidate *candidate,
                                            int64_t now_us)
{
    struct account_verdict verdict = {.standing = ACCOUNT_FREE};
    bool near = false, reserved = false;
    int64_t until_us = 0;
    for (size_t i = 0; i < candidate->window_count; i++) {
        const struct account_window *window = &candidate->windows[i];
        if (window->expires_us <= now_us)
            continue;
        if (window->utilization > verdict.used)
            verdict.used = window->utilization;
        bool over = window->utilization >= 1 - candidate->reserve;
        near |= over || window->warned;
        if (over && candidate->reserve > 0) {
            reserved = true;
            if (window->expires_us > until_us)
                until_us = window->expires_us;
        }
    }
    if (reserved) {
        verdict.standing = ACCOUNT_RESERVED;
        verdict.until_us = until_us;
    } else if (near) {
        verdict.standing = ACCOUNT_NEAR_LIMIT;
    }
    return verdict;
}

struct account_verdict account_judge(const struct account_candidate *candidate, int64_t now_us)
{
    struct account_verdict verdict = judge_windows(candidate, now_us);
    bool parked = candidate->parked_until_us > now_us;
    if (!candidate->known)
        verdict.standing = ACCOUNT_UNKNOWN;
    else if (parked && !candidate->may_probe)
        verdict.standing = ACCOUNT_PARKED;
    else if (candidate->held)
        verdict.standing = ACCOUNT_HELD;
    else if (is_full(candidate))
        verdict.standing = ACCOUNT_FULL;
    else if (parked)
        verdict.standing = ACCOUNT_PROBE;
    if (parked)
        verdict.until_us = candidate->parked_until_us;
    else if (verdict.standing != ACCOUNT_RESERVED)
        verdict.until_us = 0;
    return verdict;
}

/* Is a taken rather than b?  Both can be. */
static bool is_better(const struct account_candidate *a, const struct account_verdict *of_a,
                      const struct account_candidate *b, const struct account_verdict *of_b)
{
    if (of_a->standing != of_b->standing)
        return of_a->standing < of_b->standing;
    if (a->is_own != b->is_own)
        return a->is_own;
    if (a->list != b->list)
        return a->list < b->list;
    if (a->price < b->price || a->price > b->price)
        return a->price < b->price;
    if (of_a->used < of_b->used || of_a->used > of_b->used)
        return of_a->used < of_b->used;
    return a->used_us < b->used_us;
}

struct account_choice account_choose(const struct account_candidate *candidates, size_t count,
                                     int64_t now_us)
{
    struct account_choice choice = {.at = ACCOUNT_NONE, .earliest = ACCOUNT_NONE};
    struct account_verdict best = {0};
    assert(count <= ACCOUNT_CANDIDATES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct account_verdict verdict = account_judge(&candidates[i], now_us);
        choice.full |= verdict.standing == ACCOUNT_FULL;
        bool waits = verdict.standing == ACCOUNT_PARKED || verdict.standing == ACCOUNT_RESERVED;
        if (waits && (choice.earliest == ACCOUNT_NONE || verdict.until_us < choice.earliest_us)) {
            choice.earliest = (int)i;
            choice.earliest_us = verdict.until_us;
        }
        if (verdict.standing > ACCOUNT_PROBE)
            continue;
        if (choice.at == ACCOUNT_NONE ||
            is_better(&candidates[i], &verdict, &candidates[choice.at], &best)) {
            choice.at = (int)i;
            choice.standing = verdict.standing;
            best = verdict;
        }
    }
    return choice;
}

const char *account_standing_text(enum account_standing standing)
{
    static const char *const texts[] = {
        [ACCOUNT_FREE] = "is free",
        [ACCOUNT_NEAR_LIMIT] = "is near its limit",
        [ACCOUNT_PROBE] = "waits for its reset",
        [ACCOUNT_RESERVED] = "has only its reserve left",
        [ACCOUNT_FULL] = "has as many runs as it may have",
        [ACCOUNT_HELD] = "has reported a usage limit to this run",
        [ACCOUNT_PARKED] = "waits for its reset",
        [ACCOUNT_UNKNOWN] = "is not in the server's configuration",
    };
    assert((unsigned)standing < sizeof texts / sizeof *texts);
    return texts[standing];
}
