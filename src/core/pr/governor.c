#include "core/pr/governor.h"
#include "base/clock.h"
#include <assert.h>

enum { STRIKES_MAX = 6 };
#define STRIKE_US     (US_PER_MINUTE)      /* GitHub: "wait at least one minute". */
#define STRIKE_US_MAX (30 * US_PER_MINUTE) /* Doubled up to here. */
#define WAIT_US       (US_PER_MINUTE)      /* Where the end of the window is not known. */
#define WAIT_US_MIN   (US_PER_SECOND)
#define SLACK_US      (3 * US_PER_SECOND) /* Ends that differ less are those of one window. */

static const char *const why_names[] = {
    [QUOTA_GRANTED] = "granted",   [QUOTA_SPENT] = "spent",     [QUOTA_RESERVED] = "reserved",
    [QUOTA_SHARED] = "shared_out", [QUOTA_BLOCKED] = "blocked",
};

const char *quota_why_name(enum quota_why why)
{
    return why_names[why];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct quota quota_new(void)
{
    return (struct quota){.limit = -1, .remaining = -1};
}

void quota_check(const struct quota *quota)
{
    assert(quota->limit >= -1 && quota->remaining >= -1);
    assert(quota->granted >= 0);
    assert(quota->strikes >= 0 && quota->strikes <= STRIKES_MAX);
}

int64_t quota_reserve(const struct quota *quota)
{
    if (quota->limit <= 0)
        return 0;
    int64_t part = most(quota->limit * QUOTA_RESERVE_PERCENT / 100, QUOTA_RESERVE_MIN);
    return least(part, quota->limit / 2);
}

static int64_t fair_share(const struct quota *quota, int64_t repositories)
{
    return (quota->limit - quota_reserve(quota)) / most(repositories, 1);
}

int64_t quota_owed(const struct quota *quota, int64_t used, int64_t repositories)
{
    return quota->limit <= 0 ? 0 : most(fair_share(quota, repositories) - used, 0);
}

void quota_renew(struct quota *quota, int64_t now_us)
{
    if (quota->reset_us == 0 || now_us < quota->reset_us)
        return;
    quota->remaining = quota->limit;
    quota->reset_us = 0;
    quota->granted = 0;
}

/* A window is known by its end; clocks of a forge's machines differ a little.  Another limit is
   another count: the credential was replaced, say a missing token by a valid one. */
static void take_window(struct quota *quota, const struct quota_seen *seen, int64_t now_us)
{
    if (seen->remaining < 0 || (seen->reset_us > 0 && seen->reset_us <= now_us))
        return;
    bool known = quota->reset_us > 0;
    bool next = seen->reset_us > quota->reset_us + SLACK_US;
    bool same = seen->limit <= 0 || seen->limit == quota->limit;
    bool keep = (seen->reset_us <= 0 || (known && !next)) && quota->remaining >= 0 && same;
    quota->remaining = keep ? least(quota->remaining, seen->remaining) : seen->remaining;
    if (known && next)
        quota->granted = 0;
    if (seen->reset_us > 0)
        quota->reset_us = seen->reset_us;
}

/* It refuses, and its window should be over: its clock is behind ours. */
static bool is_late(const struct quota_seen *seen, int64_t now_us)
{
    return seen->retry_us > 0 && seen->remaining == 0 && seen->reset_us > 0 &&
           seen->reset_us <= now_us;
}

/* The time that the forge names, or a minute; twice that after each strike that follows. */
static void strike(struct quota *quota, const struct quota_seen *seen, int64_t now_us)
{
    int64_t first_us = seen->retry_us > 0 ? least(seen->retry_us, STRIKE_US_MAX) : STRIKE_US;
    int64_t wait_us = least(first_us << quota->strikes, STRIKE_US_MAX);
    quota->strikes = least(quota->strikes + 1, STRIKES_MAX);
    quota->blocked_us = most(quota->blocked_us, now_us + most(wait_us, seen->retry_us));
}

void quota_tell(struct quota *quota, const struct quota_seen *seen, const struct quota_told *told,
                int64_t now_us)
{
    quota_renew(quota, now_us);
    quota->granted = most(quota->granted - told->used - told->back, 0);
    bool said = seen != NULL && seen->remaining >= 0; /* Then the forge has counted them. */
    if (quota->remaining > 0 && !said)
        quota->remaining = most(quota->remaining - told->used, 0);
    if (seen == NULL)
        return;
    take_window(quota, seen, now_us);
    if (seen->limit > 0)
        quota->limit = seen->limit;
    if (seen->secondary || is_late(seen, now_us))
        strike(quota, seen, now_us);
    else if (seen->retry_us > 0)
        quota->blocked_us = most(quota->blocked_us, now_us + seen->retry_us);
    else if (now_us >= quota->blocked_us)
        quota->strikes = 0;
    quota_check(quota);
}

static struct quota_verdict deny(enum quota_why why, int64_t until_us, int64_t now_us)
{
    int64_t wait_us = until_us > 0 ? until_us - now_us : WAIT_US;
    return (struct quota_verdict){.wait_us = most(wait_us, WAIT_US_MIN), .why = why};
}

struct quota_verdict quota_ask(struct quota *quota, const struct quota_wish *wish, int64_t now_us)
{
    quota_check(quota);
    quota_renew(quota, now_us);
    if (now_us < quota->blocked_us)
        return deny(QUOTA_BLOCKED, quota->blocked_us, now_us);
    int64_t calls = least(wish->want, QUOTA_BLIND);
    if (quota->limit > 0 && quota->remaining >= 0) {
        int64_t left = quota->remaining - quota->granted;
        int64_t above = left - (wish->person ? 0 : quota_reserve(quota));
        int64_t own = fair_share(quota, wish->repositories) - wish->used;
        int64_t share = wish->person ? above : most(above - wish->owed, least(above, own));
        if (left <= 0)
            return deny(QUOTA_SPENT, quota->reset_us, now_us);
        if (above <= 0)
            return deny(QUOTA_RESERVED, quota->reset_us, now_us);
        if (share <= 0)
            return deny(QUOTA_SHARED, quota->reset_us, now_us);
        calls = least(wish->want, share);
    }
    quota->granted += calls;
    return (struct quota_verdict){.calls = calls, .why = QUOTA_GRANTED};
}
