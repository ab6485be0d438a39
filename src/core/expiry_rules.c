#include "core/expiry_rules.h"
#include "base/clock.h"

enum {
    DAYS = 90,
    DIAGNOSTICS_DAYS = 14,
    DELIVERIES_DAYS = 30, /* GitHub lists deliveries of three days, GitLab of seven. */
    UNREAD_DAYS = 30,
};

struct expiry_rules expiry_rules_default(void)
{
    return (struct expiry_rules){
        .tasks_us = DAYS * US_PER_DAY,
        .jobs_us = DAYS * US_PER_DAY,
        .events_us = DAYS * US_PER_DAY,
        .diagnostics_us = DIAGNOSTICS_DAYS * US_PER_DAY,
        .deliveries_us = DELIVERIES_DAYS * US_PER_DAY,
        .dead_letters_us = DAYS * US_PER_DAY,
        .unread_us = UNREAD_DAYS * US_PER_DAY,
    };
}

int64_t expiry_before(int64_t keep_us, int64_t now_us)
{
    return keep_us > 0 && keep_us < now_us ? now_us - keep_us : 0;
}
