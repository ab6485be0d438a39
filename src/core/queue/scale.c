#include "core/queue/scale.h"
#include <assert.h>

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    if (value > max)
        value = max;
    return value < min ? min : value;
}

static int64_t wanted(const struct scale_rule *rule, const struct scale_load *load)
{
    int64_t each = rule->jobs_per_worker;
    int64_t jobs = load->waiting < INT64_MAX - load->busy ? load->waiting + load->busy : INT64_MAX;
    int64_t workers = jobs / each + (jobs % each != 0);
    return clamp(workers, rule->min, rule->max);
}

/* Also true when the clock has stepped back behind the beginning. */
static bool passed(int64_t since_us, int64_t wait_us, int64_t now_us)
{
    return since_us == 0 || now_us < since_us || now_us - since_us >= wait_us;
}

static int64_t limited(int64_t change, int64_t step)
{
    return step > 0 && change > step ? step : change;
}

bool scale_step(const struct scale_rule *rule, const struct scale_load *load, int64_t now_us,
                struct scale *scale)
{
    assert(rule->min >= 0 && rule->jobs_per_worker >= 1);
    assert(load->waiting >= 0 && load->busy >= 0);
    int64_t want = wanted(rule, load);
    int64_t next = clamp(scale->desired, rule->min, rule->max);
    if (want >= next)
        scale->spare_us = 0;
    else if (scale->spare_us == 0)
        scale->spare_us = now_us;
    if (want > next && (next == 0 || passed(scale->changed_us, rule->up_us, now_us)))
        next += limited(want - next, rule->up_step);
    else if (want < next && passed(scale->changed_us, rule->down_us, now_us) &&
             now_us - scale->spare_us >= rule->down_us)
        next -= limited(next - want, rule->down_step);
    if (next == scale->desired)
        return false;
    scale->desired = next;
    scale->changed_us = now_us;
    return true;
}
