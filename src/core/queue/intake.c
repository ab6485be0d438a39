/*
 * intake.c - shedding by urgency.
 *
 *   waiting at least   critical   normal   low
 *   drop_at            take       take     drop
 *   defer_at           take       defer    defer, or drop
 *   max_length         full       full     full
 */
#include "core/queue/intake.h"

static bool reached(int64_t waiting, int64_t threshold)
{
    return threshold > 0 && waiting >= threshold;
}

enum intake intake_of(const struct queue_config *config, int64_t priority, int64_t waiting)
{
    enum urgency urgency = urgency_of(priority);
    if (reached(waiting, config->max_length))
        return INTAKE_FULL;
    if (urgency == URGENCY_LOW && reached(waiting, config->shed.drop_at))
        return INTAKE_DROP;
    if (urgency != URGENCY_CRITICAL && reached(waiting, config->shed.defer_at))
        return INTAKE_DEFER;
    return INTAKE_TAKE;
}

int64_t intake_count_up_to(const struct queue_config *config)
{
    int64_t most = config->max_length;
    if (config->shed.drop_at > most)
        most = config->shed.drop_at;
    return config->shed.defer_at > most ? config->shed.defer_at : most;
}
