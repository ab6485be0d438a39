#include "core/agent/claims.h"
#include "base/clock.h"
#include "base/str.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

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
    [ADAPTER_GOOSE] = {true, 7 * US_PER_DAY},   [ADAPTER_AMP] = {false, US_PER_DAY},
    [ADAPTER_TEXT] = {false, 6 * US_PER_HOUR},  [ADAPTER_ACP] = {false, 6 * US_PER_HOUR},
};

static int64_t doubled(int64_t first_us, int64_t times, int64_t longest_us)
{
    int64_t us = first_us;
    for (int64_t i = 0; i < times && us < longest_us; i++)
        us *= 2;
    return us < longest_us ? us : longest_us;
}

/* Only of a program that drover started itself. */
static bool knows_records(enum compute compute, enum adapter adapter)
{
    assert((size_t)adapter < sizeof adapters / sizeof *adapters);
    return compute == COMPUTE_PROCESS && adapters[adapter].knows_records;
}

enum claim_reach claim_reach(const struct limit_claim *claim)
{
    bool evidence = knows_records(claim->compute, claim->adapter) && claim->is_record &&
                    claim->ended && claim->failed;
    return evidence ? CLAIM_ACCOUNT : CLAIM_OWN_RUN;
}

int64_t claim_longest_us(enum adapter adapter)
{
    assert((size_t)adapter < sizeof adapters / sizeof *adapters);
    return adapters[adapter].window_us;
}

int64_t claim_wait_until(const struct limit_wait *wait, int64_t now_us)
{
    /* A reset that lies further away than the longest window of the provider is not believed. */
    int64_t latest_us = now_us + claim_longest_us(wait->adapter);
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

/* ---- windows ---- */

enum { WINDOW_NAME_MAX = 40, STATUS_MAX = 40 };

/* Lower-case words, which go into events and tables as they are. */
static bool is_word(const char *text, size_t max)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return len > 0 && len <= max && text[len] == '\0';
}

/* Of a window that is not in the table: the longest of the provider. */
static int64_t window_length_us(const char *name, enum adapter adapter)
{
    static const struct {
        const char *start;
        int64_t us;
    } lengths[] = {
        {"five_hour", 5 * US_PER_HOUR},
        {"one_day", US_PER_DAY},
        {"seven_day", 7 * US_PER_DAY},
    };
    int64_t longest_us = adapters[adapter].window_us;
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        if (text_starts(name, lengths[i].start) && lengths[i].us < longest_us)
            return lengths[i].us;
    return longest_us;
}

bool claim_window(const struct window_claim *claim, int64_t now_us,
                  struct account_window *ret_window)
{
    if (!knows_records(claim->compute, claim->adapter) || claim->window == NULL ||
        !is_word(claim->window, WINDOW_NAME_MAX) || (claim->told && claim->resets_us <= now_us))
        return false;
    bool has_status = claim->status != NULL && is_word(claim->status, STATUS_MAX);
    double used = claim->utilization > 0 ? claim->utilization : 0; /* Not a number is 0. */
    struct account_window window = {
        .name = claim->window,
        .utilization = used < 1 ? used : 1,
        .status = has_status ? claim->status : NULL,
        .warned = has_status && !text_same(claim->status, "allowed"),
        .seen_us = now_us,
        .expires_us = now_us + window_length_us(claim->window, claim->adapter),
    };
    if (claim->told && claim->resets_us < window.expires_us)
        window.expires_us = claim->resets_us;
    window.resets_us = claim->told ? window.expires_us : 0;
    *ret_window = window;
    return true;
}
