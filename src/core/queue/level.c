#include "core/queue/level.h"
#include "base/rc.h"
#include <assert.h>
#include <string.h>

static const char *const names[LEVEL_COUNT] = {
    [LEVEL_NORMAL] = "normal",
    [LEVEL_WARNING] = "warning",
    [LEVEL_CRITICAL] = "critical",
};

/* A threshold of 0 is none.  A level that is reached is kept down to 80 % of it. */
static bool reached(int64_t threshold, int64_t value, bool there)
{
    int64_t from = there ? threshold - threshold / 5 : threshold;
    return threshold > 0 && value >= from;
}

enum level level_next(const struct queue_config *config, enum level now,
                      const struct level_load *load)
{
    const struct {
        enum level level;
        int64_t depth, age_us;
    } steps[] = {
        {LEVEL_CRITICAL, config->levels.critical_depth, config->levels.critical_age_us},
        {LEVEL_WARNING, config->levels.warning_depth, config->levels.warning_age_us},
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        bool there = now >= steps[i].level;
        if (reached(steps[i].depth, load->depth, there) ||
            reached(steps[i].age_us, load->age_us, there))
            return steps[i].level;
    }
    return LEVEL_NORMAL;
}

int64_t level_depth_max(const struct queue_config *config)
{
    int64_t warning = config->levels.warning_depth, critical = config->levels.critical_depth;
    return warning > critical ? warning : critical;
}

const char *level_name(enum level level)
{
    assert(level < LEVEL_COUNT);
    return names[level];
}

bool level_parse(const char *name, enum level *ret_level)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret_level = (enum level)i;
            return true;
        }
    }
    return false;
}
