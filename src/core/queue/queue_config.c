/*
 * queue_config.c - the meaning of a queue's configuration document.
 *
 *   leaseMs, maxAttempts, ttlMs, maxLength, concurrency, ratePerSecond, dedupWindowMs
 *   ordering:    key | none | global
 *   backoff:     {baseMs, maxMs, jitterMs}
 *   shed:        {dropLowAt, deferNormalAt, deferMs}
 *   levels:      {warningDepth, criticalDepth, warningAgeMs, criticalAgeMs}
 *   swarm:       {count, windowMs, action: warn | buffer | protect, ratePerSecond, retryAfterMs}
 *   batch:       {max, windowMs}
 *   deadLetters: {retentionMs, alertAt}
 *   scale:       {min, max, jobsPerWorker, upCooldownMs, downCooldownMs}
 */
#include "core/queue/queue_config.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/str.h"
#include "core/queue/job.h"
#include "core/step_kind.h"
#include <ctype.h>
#include <string.h>

enum { NAME_BYTES_MAX = 100, URGENT_UP_TO = 50, NORMAL_UP_TO = 199 };

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const struct field_range count_range = {0, 1000000000};
static const struct field_range rate_range = {0, 1000000};
static const struct field_range time_range = {0, 366 * DAY_MS};
static const struct field_range lease_range = {100, DAY_MS / 2};
static const struct field_range attempts_range = {1, JOB_ATTEMPTS_MAX};
static const struct field_range batch_range = {0, 1000};
static const struct field_range worker_range = {0, 10000};
static const struct field_range positive_range = {1, 1000000000};

static const char *const order_names[] = {"key", "none", "global", NULL};
static const char *const action_names[] = {"warn", "buffer", "protect", NULL};

static const struct backoff step_waits = {
    .base_us = US_PER_SECOND, .max_us = 10 * US_PER_SECOND, .jitter_us = US_PER_SECOND / 2};
static const struct backoff plain_waits = {
    .base_us = 2 * US_PER_SECOND, .max_us = 300 * US_PER_SECOND, .jitter_us = 5 * US_PER_SECOND};

static int64_t attempts_default(const char *queue)
{
    const struct step_row *step = step_find_queue(queue);
    return step != NULL ? step->attempts : JOB_ATTEMPTS_DEFAULT;
}

struct queue_config queue_config_default(const char *queue)
{
    bool step = text_starts(queue, STEP_QUEUE_PREFIX);
    return (struct queue_config){
        .lease_us = 15 * US_PER_SECOND,
        .max_attempts = attempts_default(queue),
        .backoff = step ? step_waits : plain_waits,
        .order = ORDER_KEY,
        .shed = {.defer_us = 60 * US_PER_SECOND},
        .levels = {.warning_depth = 500,
                   .critical_depth = 1000,
                   .warning_age_us = 5 * 60 * US_PER_SECOND,
                   .critical_age_us = 15 * 60 * US_PER_SECOND},
        .swarm = {.window_us = 10 * US_PER_SECOND, .rate = 10, .retry_us = 300 * US_PER_SECOND},
        .batch = {.window_us = US_PER_SECOND},
        .dead = {.retention_us = 30 * DAY_MS * US_PER_MS, .alert_at = 10},
        .scale = {.min = 0,
                  .max = 10,
                  .jobs_per_worker = 20,
                  .up_us = 120 * US_PER_SECOND,
                  .down_us = 600 * US_PER_SECOND},
    };
}

/* Microseconds inside, milliseconds outside. */
static void fields_ms(struct fields *fields, const char *key, const struct field_range *range,
                      int64_t *value_us)
{
    int64_t ms = *value_us / US_PER_MS;
    fields_int(fields, key, FIELD_OPTIONAL, range, &ms);
    *value_us = ms * US_PER_MS;
}

static void fields_count(struct fields *fields, const char *key, int64_t *value)
{
    fields_int(fields, key, FIELD_OPTIONAL, &count_range, value);
}

/* ---- the parts ---- */

/* To add one: a member of struct queue_config in core/queue/queue_config.h; here its key in the
   list at the top, its default in queue_config_default(), a line in the decode and the write
   function of its part (a new part: a row in `parts`), and its key in check_step_queue() if it has
   no meaning for the queues of steps; and a row under PUT /v1/queues in docs/PROTOCOL.md.  Where it
   applies: control/queue/enqueue.c and control/queue/intake.c (new jobs),
   control/queue/queue_gate.c and control/queue/lease.c (leases), control/queue/settle.c (reports),
   control/queue/levels.c (once a second). */
typedef void part_fn(struct fields *fields, struct queue_config *config);

static void decode_backoff(struct fields *fields, struct queue_config *config)
{
    fields_ms(fields, "baseMs", &time_range, &config->backoff.base_us);
    fields_ms(fields, "maxMs", &time_range, &config->backoff.max_us);
    fields_ms(fields, "jitterMs", &time_range, &config->backoff.jitter_us);
}

static void decode_shed(struct fields *fields, struct queue_config *config)
{
    fields_count(fields, "dropLowAt", &config->shed.drop_at);
    fields_count(fields, "deferNormalAt", &config->shed.defer_at);
    fields_ms(fields, "deferMs", &time_range, &config->shed.defer_us);
}

static void decode_levels(struct fields *fields, struct queue_config *config)
{
    fields_count(fields, "warningDepth", &config->levels.warning_depth);
    fields_count(fields, "criticalDepth", &config->levels.critical_depth);
    fields_ms(fields, "warningAgeMs", &time_range, &config->levels.warning_age_us);
    fields_ms(fields, "criticalAgeMs", &time_range, &config->levels.critical_age_us);
}

static void decode_swarm(struct fields *fields, struct queue_config *config)
{
    int action = (int)config->swarm.action;
    fields_count(fields, "count", &config->swarm.count);
    fields_ms(fields, "windowMs", &positive_range, &config->swarm.window_us);
    fields_choice(fields, "action", FIELD_OPTIONAL, action_names, &action);
    fields_int(fields, "ratePerSecond", FIELD_OPTIONAL, &(struct field_range){1, rate_range.max},
               &config->swarm.rate);
    fields_ms(fields, "retryAfterMs", &positive_range, &config->swarm.retry_us);
    config->swarm.action = (enum swarm_action)action;
}

static void decode_batch(struct fields *fields, struct queue_config *config)
{
    fields_int(fields, "max", FIELD_OPTIONAL, &batch_range, &config->batch.max);
    fields_ms(fields, "windowMs", &positive_range, &config->batch.window_us);
}

static void decode_dead(struct fields *fields, struct queue_config *config)
{
    fields_ms(fields, "retentionMs", &(struct field_range){0, 10 * time_range.max},
              &config->dead.retention_us);
    fields_count(fields, "alertAt", &config->dead.alert_at);
}

static void decode_scale(struct fields *fields, struct queue_config *config)
{
    fields_int(fields, "min", FIELD_OPTIONAL, &worker_range, &config->scale.min);
    fields_int(fields, "max", FIELD_OPTIONAL, &worker_range, &config->scale.max);
    fields_int(fields, "jobsPerWorker", FIELD_OPTIONAL, &positive_range,
               &config->scale.jobs_per_worker);
    fields_ms(fields, "upCooldownMs", &time_range, &config->scale.up_us);
    fields_ms(fields, "downCooldownMs", &time_range, &config->scale.down_us);
    if (config->scale.min > config->scale.max)
        fields_fail(fields, "min", "min must not be above max");
}

static const struct part {
    const char *key;
    part_fn *decode;
} parts[] = {
    {"backoff", decode_backoff}, {"shed", decode_shed},   {"levels", decode_levels},
    {"swarm", decode_swarm},     {"batch", decode_batch}, {"deadLetters", decode_dead},
    {"scale", decode_scale},
};

static enum rc decode_part(struct fields *fields, const struct part *part,
                           struct queue_config *config)
{
    const struct js *object = NULL;
    fields_object(fields, part->key, FIELD_OPTIONAL, &object);
    if (fields->rc != RC_OK || object == NULL)
        return fields->rc;
    struct fields inner;
    fields_open(&inner, object, part->key, fields->err);
    part->decode(&inner, config);
    return fields_close(&inner);
}

static void decode_plain(struct fields *fields, struct queue_config *config)
{
    int order = (int)config->order;
    fields_ms(fields, "leaseMs", &lease_range, &config->lease_us);
    fields_int(fields, "maxAttempts", FIELD_OPTIONAL, &attempts_range, &config->max_attempts);
    fields_ms(fields, "ttlMs", &time_range, &config->ttl_us);
    fields_count(fields, "maxLength", &config->max_length);
    fields_count(fields, "concurrency", &config->concurrency);
    fields_int(fields, "ratePerSecond", FIELD_OPTIONAL, &rate_range, &config->rate);
    fields_ms(fields, "dedupWindowMs", &time_range, &config->dedup_us);
    fields_choice(fields, "ordering", FIELD_OPTIONAL, order_names, &order);
    config->order = (enum queue_order)order;
}

/* Jobs of a pipeline must be accepted, in its own order. */
static void check_step_queue(struct fields *fields)
{
    static const char *const others[] = {"ttlMs", "maxLength", "dedupWindowMs", "ordering",
                                         "shed",  "swarm",     "batch"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (js_get(fields->object, others[i]) != NULL)
            fields_fail(fields, others[i], "%s has no meaning for drover's own queues (%s*)",
                        others[i], STEP_QUEUE_PREFIX);
}

/* Batches are made by holding jobs back, which keeps no order. */
static void check_together(struct fields *fields, const char *queue,
                           const struct queue_config *config)
{
    if (text_starts(queue, STEP_QUEUE_PREFIX))
        check_step_queue(fields);
    if (config->batch.max > 0 && config->order == ORDER_GLOBAL)
        fields_fail(fields, "batch", "a queue with global order cannot gather jobs into batches");
}

enum rc queue_config_decode(const char *queue, const struct js *document,
                            struct queue_config *ret_config, struct err *err)
{
    struct queue_config config = queue_config_default(queue);
    struct fields fields;
    fields_open(&fields, document, "", err);
    decode_plain(&fields, &config);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        enum rc rc = decode_part(&fields, &parts[i], &config);
        if (rc != RC_OK)
            return rc;
    }
    check_together(&fields, queue, &config);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        *ret_config = config;
    return rc;
}

/* ---- writing ---- */

static void write_ms(struct jw *jw, const char *key, int64_t value_us)
{
    jw_kint(jw, key, value_us / US_PER_MS);
}

static void open_part(struct jw *jw, const char *key)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
}

static void write_overload(struct jw *jw, const struct queue_config *config)
{
    open_part(jw, "shed");
    jw_kint(jw, "dropLowAt", config->shed.drop_at);
    jw_kint(jw, "deferNormalAt", config->shed.defer_at);
    write_ms(jw, "deferMs", config->shed.defer_us);
    jw_end(jw, '}');
    open_part(jw, "levels");
    jw_kint(jw, "warningDepth", config->levels.warning_depth);
    jw_kint(jw, "criticalDepth", config->levels.critical_depth);
    write_ms(jw, "warningAgeMs", config->levels.warning_age_us);
    write_ms(jw, "criticalAgeMs", config->levels.critical_age_us);
    jw_end(jw, '}');
    open_part(jw, "swarm");
    jw_kint(jw, "count", config->swarm.count);
    write_ms(jw, "windowMs", config->swarm.window_us);
    jw_kstr(jw, "action", action_names[config->swarm.action]);
    jw_kint(jw, "ratePerSecond", config->swarm.rate);
    write_ms(jw, "retryAfterMs", config->swarm.retry_us);
    jw_end(jw, '}');
}

static void write_rest(struct jw *jw, const struct queue_config *config)
{
    open_part(jw, "batch");
    jw_kint(jw, "max", config->batch.max);
    write_ms(jw, "windowMs", config->batch.window_us);
    jw_end(jw, '}');
    open_part(jw, "deadLetters");
    write_ms(jw, "retentionMs", config->dead.retention_us);
    jw_kint(jw, "alertAt", config->dead.alert_at);
    jw_end(jw, '}');
    open_part(jw, "scale");
    jw_kint(jw, "min", config->scale.min);
    jw_kint(jw, "max", config->scale.max);
    jw_kint(jw, "jobsPerWorker", config->scale.jobs_per_worker);
    write_ms(jw, "upCooldownMs", config->scale.up_us);
    write_ms(jw, "downCooldownMs", config->scale.down_us);
    jw_end(jw, '}');
}

void queue_config_write(struct jw *jw, const struct queue_config *config)
{
    jw_begin(jw, '{');
    write_ms(jw, "leaseMs", config->lease_us);
    jw_kint(jw, "maxAttempts", config->max_attempts);
    write_ms(jw, "ttlMs", config->ttl_us);
    jw_kint(jw, "maxLength", config->max_length);
    jw_kint(jw, "concurrency", config->concurrency);
    jw_kint(jw, "ratePerSecond", config->rate);
    write_ms(jw, "dedupWindowMs", config->dedup_us);
    jw_kstr(jw, "ordering", order_names[config->order]);
    open_part(jw, "backoff");
    write_ms(jw, "baseMs", config->backoff.base_us);
    write_ms(jw, "maxMs", config->backoff.max_us);
    write_ms(jw, "jitterMs", config->backoff.jitter_us);
    jw_end(jw, '}');
    write_overload(jw, config);
    write_rest(jw, config);
    jw_end(jw, '}');
}

bool queue_name_valid(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
            return false;
    return true;
}

enum rc queue_allowed(const char *list, const char *name, struct err *err)
{
    size_t len = strlen(name);
    for (const char *at = list; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == len && memcmp(at, name, len) == 0)
            return RC_OK;
        at += word;
    }
    if (list == NULL)
        return RC_OK;
    return err_set(err, RC_DENIED, "QUEUE_NOT_ALLOWED",
                   "this token is bound to the queues %s, and %s is none of them", list, name);
}

enum urgency urgency_of(int64_t priority)
{
    if (priority <= URGENT_UP_TO)
        return URGENCY_CRITICAL;
    return priority <= NORMAL_UP_TO ? URGENCY_NORMAL : URGENCY_LOW;
}
