/*
 * job_form.c - see job_form.h.
 */
#include "api/job_form.h"
#include "base/clock.h"
#include "core/queue/breaker_config.h"
#include "core/run/task.h"

enum { JOB_TYPE_MAX = 100, JOB_KEY_MAX = 200 };
#define DELAY_MS_MAX (INT64_C(366) * 24 * 3600 * 1000)

static void read_limits(struct form *form, struct job_spec *spec)
{
    int64_t delay_ms = 0, ttl_ms = 0;
    spec->priority = PRIORITY_NORMAL;
    form_int(form, "priority", FORM_OPTIONAL, &(struct form_range){0, PRIORITY_MAX},
             &spec->priority);
    form_int(form, "delayMs", FORM_OPTIONAL, &(struct form_range){0, DELAY_MS_MAX}, &delay_ms);
    form_int(form, "ttlMs", FORM_OPTIONAL, &(struct form_range){1, DELAY_MS_MAX}, &ttl_ms);
    form_int(form, "maxAttempts", FORM_OPTIONAL, &(struct form_range){1, JOB_ATTEMPTS_MAX},
             &spec->max_attempts);
    spec->delay_us = delay_ms * US_PER_MS;
    spec->ttl_us = ttl_ms * US_PER_MS;
}

static void read_payload(struct form *form, struct arena *arena, struct job_spec *spec)
{
    const struct js *payload = NULL;
    form_any(form, "payload", FORM_OPTIONAL, &payload);
    spec->payload = payload ? str_of(js_text(payload, arena)) : STR("null");
    if (spec->payload.len > JOB_PAYLOAD_MAX)
        form_fail(form, "payload", "payload must have at most %d bytes", JOB_PAYLOAD_MAX);
}

void form_job_body(struct form *form, struct arena *arena, struct job_spec *ret_spec)
{
    const struct form_text key = {.min = 1, .max = JOB_KEY_MAX};
    read_payload(form, arena, ret_spec);
    form_string(form, "orderingKey", FORM_OPTIONAL, &key, &ret_spec->ordering_key);
    form_string(form, "dedupKey", FORM_OPTIONAL, &key, &ret_spec->dedup_key);
    form_string(form, "dependency", FORM_OPTIONAL,
                &(struct form_text){.min = 1, .max = BREAKER_NAME_MAX}, &ret_spec->dependency);
    if (ret_spec->dependency && !breaker_name_valid(ret_spec->dependency))
        form_fail(form, "dependency", "dependency must name a breaker: letters, digits and %s",
                  BREAKER_NAME_SIGNS);
    read_limits(form, ret_spec);
}

void form_job(struct form *form, struct arena *arena, struct job_spec *ret_spec)
{
    form_string(form, "queue", FORM_REQUIRED, &(struct form_text){.min = 1, .max = 100},
                &ret_spec->queue);
    form_string(form, "type", FORM_REQUIRED, &(struct form_text){.min = 1, .max = JOB_TYPE_MAX},
                &ret_spec->type);
    form_job_body(form, arena, ret_spec);
    if (ret_spec->queue && !queue_name_valid(ret_spec->queue))
        form_fail(form, "queue", "a queue's name has letters, digits, '.', '_' and '-'");
    else if (ret_spec->queue && text_starts(ret_spec->queue, STEP_QUEUE_PREFIX))
        form_fail(form, "queue", "queues named %s* are drover's own", STEP_QUEUE_PREFIX);
}
