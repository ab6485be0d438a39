#include "core/conductor/issue_clock.h"
#include "base/js.h"
#include <assert.h>
#include <string.h>

#define SLA_PREFIX "sla:"
#define MINUTE_US  INT64_C(60000000)
enum { SLA_MINUTES_MAX = 30 * 24 * 60 };

/* "45m", "2h": minutes; 0: neither. */
static int64_t minutes_of(const char *text)
{
    char digits[8];
    int64_t value;
    size_t len = strlen(text);
    if (len < 2 || len > sizeof digits || (text[len - 1] != 'm' && text[len - 1] != 'h'))
        return 0;
    memcpy(digits, text, len - 1);
    digits[len - 1] = '\0';
    if (!text_to_i64(digits, &value) || value < 1 || value > SLA_MINUTES_MAX)
        return 0;
    value *= text[len - 1] == 'h' ? 60 : 1;
    return value <= SLA_MINUTES_MAX ? value : 0;
}

int64_t issue_sla_of(struct str labels)
{
    CLEANUP(js_freep) struct js *array = NULL;
    if (labels.len == 0 || js_parse(labels.at, labels.len, &array, NULL) != RC_OK)
        return ISSUE_SLA_DEFAULT_US;
    for (size_t i = 0; i < js_count(array); i++) {
        const char *label = js_str(js_at(array, i), "");
        int64_t minutes = text_starts(label, SLA_PREFIX) ? minutes_of(label + sizeof SLA_PREFIX - 1)
                                                         : 0;
        if (minutes > 0)
            return minutes * MINUTE_US;
    }
    return ISSUE_SLA_DEFAULT_US;
}

int64_t issue_clock_due(const struct issue_life *issue, enum issue_clock clock, int64_t seen_us)
{
    enum issue_stage stage = issue->stage;
    switch (clock) {
    case ISSUE_CLOCK_SLA:
        if (stage == STAGE_ASSIGNED || stage == STAGE_WORKING)
            return issue->life.assigned_us + issue->sla_us;
        return stage == STAGE_CI_FAILED || stage == STAGE_SMOKE_FAILED
                   ? issue->stage_us + issue->sla_us
                   : 0;
    case ISSUE_CLOCK_CI:
        return stage == STAGE_IN_CI ? issue->stage_us + ISSUE_CI_US : 0;
    case ISSUE_CLOCK_SILENCE:
        if (!issue_has_agent(stage) || !id_is_none(&issue->task_id))
            return 0;
        return (seen_us > issue->life.assigned_us ? seen_us : issue->life.assigned_us) +
               ISSUE_SILENCE_US;
    case ISSUE_CLOCK_GATE:
        return issue->gate_us > 0 ? issue->gate_us + (issue->gate_period + 1) * ISSUE_GATE_US : 0;
    case ISSUE_CLOCK_COUNT:
        break;
    }
    assert(clock != ISSUE_CLOCK_COUNT);
    return 0;
}

const char *issue_clock_reason(enum issue_clock clock)
{
    static const char *const reasons[ISSUE_CLOCK_COUNT] = {
        [ISSUE_CLOCK_SLA] = "sla",
        [ISSUE_CLOCK_CI] = "ci_sla",
        [ISSUE_CLOCK_SILENCE] = "silent",
        [ISSUE_CLOCK_GATE] = "gate",
    };
    assert((unsigned)clock < ISSUE_CLOCK_COUNT);
    return reasons[clock];
}

int64_t issue_gate_period(const struct issue_life *issue, int64_t now_us)
{
    return issue->gate_us > 0 && now_us > issue->gate_us ? (now_us - issue->gate_us) / ISSUE_GATE_US
                                                         : 0;
}
