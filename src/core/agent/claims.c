#include "core/agent/claims.h"
#include "base/clock.h"
#include <assert.h>
#include <stddef.h>

enum {
    REST_MINUTES = 15,
    REST_MINUTES_MAX = 240,
    PROBE_MINUTES = 15,
    PROBE_MINUTES_MAX = 120,
};

/* Windows as the providers document them: Claude subscriptions 5 h and a week, Codex the same;
   Gemini a day; Copilot and Cursor a month.  The others speak for accounts of any provider. */
static const struct {
    bool knows_records;
    int64_t window_us;
} adapters[] = {
    [ADAPTER_NONE] = {false, 6 * US_PER_HOUR},  [ADAPTER_NDJSON] = {false, 6 * US_PER_HOUR},
    [ADAPTER_CLAUDE] = {true, 7 * US_PER_DAY},  [ADAPTER_CODEX] = {true, 7 * US_PER_DAY},
    [ADAPTER_GEMINI] = {true, US_PER_DAY},      [ADAPTER_COPILOT] = {true, 31 * US_PER_DAY},
    [ADAPTER_CURSOR] = {true, 31 * US_PER_DAY}, [ADAPTER_OPENCODE] = {true, 7 * US_PER_DAY},
    [ADAPTER_GOOSE] = {true, 7 * US_PER_DAY},   [ADAPTER_AMP] = {true, US_PER_DAY},
    [ADAPTER_TEXT] = {false, 6 * US_PER_HOUR},  [ADAPTER_ACP] = {false, 6 * US_PER_HOUR},
};

static int64_t doubled(int64_t first_us, int64_t times, int64_t longest_us)
{
    int64_t us = first_us;
    for (int64_t i = 0; i < times && us < longest_us; i++)
        us *= 2;
    return us < longest_us ? us : longest_us;
}

enum claim_reach claim_reach(const struct limit_claim *claim)
{
    bool evidence = claim->compute == COMPUTE_PROCESS && adapters[claim->adapter].knows_records &&
                    claim->is_record && claim->ended && claim->failed;
    return evidence ? CLAIM_ACCOUNT : CLAIM_OWN_RUN;
}

int64_t claim_wait_until(const struct limit_wait *wait, int64_t now_us)
{
    assert((size_t)wait->adapter < sizeof adapters / sizeof *adapters);
    /* A reset that lies further away than the longest window of the provider is not believed. */
    int64_t latest_us = now_us + adapters[wait->adapter].window_us;
    int64_t longest_us = REST_MINUTES_MAX * US_PER_MINUTE;
    if (!wait->told)
        return now_us + doubled(REST_MINUTES * US_PER_MINUTE, wait->hits - 1, longest_us);
    if (wait->reported_us <= now_us) /* It passed while the agent's work was put away. */
        return now_us + doubled(US_PER_SECOND, wait->hits - 1, longest_us);
    return wait->reported_us < latest_us ? wait->reported_us : latest_us;
}

int64_t claim_probe_us(int64_t probes)
{
    return doubled(PROBE_MINUTES * US_PER_MINUTE, probes, PROBE_MINUTES_MAX * US_PER_MINUTE);
}
