#include "api/job_fields.h"
#include "base/clock.h"
#include "core/queue/breaker_config.h"
#include "core/queue/rank.h"
#include "core/step_kind.h"

enum { JOB_TYPE_MAX = 100, JOB_KEY_MAX = 200 };
#define DELAY_MS_MAX (INT64_C(366) * 24 * 3600 * 1000)

static void read_limits(struct fields *fields, struct job_spec *spec)
{
    int64_t delay_ms = 0, ttl_ms = 0;
    spec->priority = PRIORITY_NORMAL;
    fields_int(fields, "priority", FIELD_OPTIONAL, &(struct field_range){0, PRIORITY_MAX},
               &spec->priority);
    fields_int(fields, "delayMs", FIELD_OPTIONAL, &(struct field_range){0, DELAY_MS_MAX},
               &delay_ms);
    fields_int(fields, "ttlMs", FIELD_OPTIONAL, &(struct field_range){1, DELAY_MS_MAX}, &ttl_ms);
    fields_int(fields, "maxAttempts", FIELD_OPTIONAL, &(struct field_range){1, JOB_ATTEMPTS_MAX},
               &spec->max_attempts);
    spec->delay_us = delay_ms * US_PER_MS;
    spec->ttl_us = ttl_ms * US_PER_MS;
}

static void read_payload(struct fields *fields, struct arena *arena, struct job_spec *spec)
{
    const struct js *payload = NULL;
    fields_any(fields, "payload", FIELD_OPTIONAL, &payload);
    spec->payload = payload != NULL ? str_of(js_text(payload, arena)) : STR("null");
    if (spec->payload.len > JOB_PAYLOAD_MAX)
        fields_fail(fields, "payload", "payload must have at most %d bytes", JOB_PAYLOAD_MAX);
}

void fields_job_body(struct fields *fields, struct arena *arena, struct job_spec *ret_spec)
{
    const struct field_text key = {.min = 1, .max = JOB_KEY_MAX};
    read_payload(fields, arena, ret_spec);
    fields_string(fields, "orderingKey", FIELD_OPTIONAL, &key, &ret_spec->ordering_key);
    fields_string(fields, "dedupKey", FIELD_OPTIONAL, &key, &ret_spec->dedup_key);
    fields_string(fields, "dependency", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = BREAKER_NAME_MAX}, &ret_spec->dependency);
    if (ret_spec->dependency != NULL && !breaker_name_valid(ret_spec->dependency))
        fields_fail(fields, "dependency", "dependency must name a breaker: letters, digits and %s",
                    BREAKER_NAME_SIGNS);
    read_limits(fields, ret_spec);
}

void fields_job(struct fields *fields, struct arena *arena, struct job_spec *ret_spec)
{
    fields_string(fields, "queue", FIELD_REQUIRED, &(struct field_text){.min = 1, .max = 100},
                  &ret_spec->queue);
    fields_string(fields, "type", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = JOB_TYPE_MAX}, &ret_spec->type);
    fields_job_body(fields, arena, ret_spec);
    if (ret_spec->queue != NULL && !queue_name_valid(ret_spec->queue))
        fields_fail(fields, "queue", "a queue's name has letters, digits, '.', '_' and '-'");
    else if (ret_spec->queue != NULL && text_starts(ret_spec->queue, STEP_QUEUE_PREFIX))
        fields_fail(fields, "queue", "queues named %s* are drover's own", STEP_QUEUE_PREFIX);
}
