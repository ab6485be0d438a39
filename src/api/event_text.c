#include "api/event_text.h"
#include "base/clock.h"
#include "base/log.h"
#include <stdatomic.h>

#define LOG_EVERY_US (10 * US_PER_SECOND)

bool event_text(const struct event *event, struct buf *to)
{
    static atomic_int_fast64_t quiet_until_us;
    struct jw jw = jw_to(to);
    buf_clear(to);
    event_write(&jw, event);
    const char *why = to->overflow ? "it is too large" : event_unsendable(event, buf_str(to));
    if (why == NULL)
        return true;
    int64_t now_us = clock_mono_us();
    if (atomic_load(&quiet_until_us) <= now_us) {
        atomic_store(&quiet_until_us, now_us + LOG_EVERY_US);
        LOG(LOG_ERROR, "an event of the log cannot be sent and is left out", LOG_STR("reason", why),
            LOG_STR("type", event->type), LOG_STR("eventId", event->id.text),
            LOG_INT("seq", event->seq), LOG_STR("runId", event->run_id.text));
    }
    buf_clear(to);
    return false;
}
