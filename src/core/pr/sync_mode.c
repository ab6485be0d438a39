#include "core/pr/sync_mode.h"
#include "base/clock.h"
#include "base/str.h"

static const char *const names[] = {[SYNC_POLLING] = "polling", [SYNC_WEBHOOKS] = "webhooks"};

enum sync_mode sync_mode_of(const struct sync_facts *facts)
{
    bool arrives = facts->last_delivery_us > 0 && facts->last_delivery_us >= facts->missed_us;
    return facts->webhook && arrives ? SYNC_WEBHOOKS : SYNC_POLLING;
}

int64_t sync_pause_ms(enum sync_mode mode, const struct sync_pauses *pauses)
{
    return mode == SYNC_WEBHOOKS ? pauses->recover_ms : pauses->poll_ms;
}

bool sync_is_missed(int64_t sent_us, int64_t now_us)
{
    return now_us - sent_us > SYNC_IN_FLIGHT_MS * US_PER_MS;
}

const char *sync_mode_name(enum sync_mode mode)
{
    return names[mode];
}

bool sync_mode_parse(const char *name, enum sync_mode *ret_mode)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (text_same(names[i], name)) {
            *ret_mode = (enum sync_mode)i;
            return true;
        }
    return false;
}
