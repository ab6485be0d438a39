#include "core/queue/breaker_config.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/str.h"
#include "core/queue/queue_config.h"
#include "core/step_kind.h"
#include <ctype.h>
#include <string.h>

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const struct field_range failures_range = {1, BREAKER_FAILURES_MAX};
static const struct field_range probes_range = {1, BREAKER_PROBES_MAX};
static const struct field_range successes_range = {1, 1000};
static const struct field_range time_range = {1, DAY_MS};

static const char *const fallback_names[] = {"queue", "alternative", "default", NULL};

static void fields_ms(struct fields *fields, const char *key, int64_t *value_us)
{
    int64_t ms = *value_us / US_PER_MS;
    fields_int(fields, key, FIELD_OPTIONAL, &time_range, &ms);
    *value_us = ms * US_PER_MS;
}

static void decode_rules(struct fields *fields, struct breaker_rules *rules)
{
    fields_int(fields, "failures", FIELD_OPTIONAL, &failures_range, &rules->failures);
    fields_ms(fields, "windowMs", &rules->window_us);
    fields_ms(fields, "openMs", &rules->open_us);
    fields_int(fields, "successes", FIELD_OPTIONAL, &successes_range, &rules->successes);
    fields_int(fields, "probes", FIELD_OPTIONAL, &probes_range, &rules->probes);
}

static void check_fallback(struct fields *fields, const struct breaker_config *config)
{
    const char *queue = config->alternative_queue;
    if (queue != NULL && !queue_name_valid(queue))
        fields_fail(fields, "alternativeQueue",
                    "a queue's name has letters, digits, '.', '_' and '-'");
    else if (queue != NULL && text_starts(queue, STEP_QUEUE_PREFIX))
        fields_fail(fields, "alternativeQueue", "queues named %s* are drover's own",
                    STEP_QUEUE_PREFIX);
    if (config->fallback == FALLBACK_ALTERNATIVE && queue == NULL)
        fields_fail(fields, "alternativeQueue",
                    "the fallback \"alternative\" needs alternativeQueue");
    if (config->fallback == FALLBACK_DEFAULT && config->default_result.len == 0)
        fields_fail(fields, "defaultResult", "the fallback \"default\" needs defaultResult");
    if (config->default_result.len > BREAKER_RESULT_MAX)
        fields_fail(fields, "defaultResult", "defaultResult must have at most %d bytes",
                    BREAKER_RESULT_MAX);
}

enum rc breaker_config_decode(const struct js *document, struct arena *arena,
                              struct breaker_config *ret_config, struct err *err)
{
    struct breaker_config config = {.rules = breaker_rules_default()};
    int fallback = FALLBACK_QUEUE;
    const char *queue = NULL;
    const struct js *result = NULL;
    struct fields fields;
    fields_open(&fields, document, "", err);
    decode_rules(&fields, &config.rules);
    fields_choice(&fields, "fallback", FIELD_OPTIONAL, fallback_names, &fallback);
    fields_string(&fields, "alternativeQueue", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = 100}, &queue);
    fields_object(&fields, "defaultResult", FIELD_OPTIONAL, &result);
    config.fallback = (enum breaker_fallback)fallback;
    config.alternative_queue = arena_strdup(arena, queue);
    if (result != NULL)
        config.default_result = str_of(js_text(result, arena));
    check_fallback(&fields, &config);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        *ret_config = config;
    return rc;
}

void breaker_config_write(struct jw *jw, const struct breaker_config *config)
{
    const struct breaker_rules *rules = &config->rules;
    jw_begin(jw, '{');
    jw_kint(jw, "failures", rules->failures);
    jw_kint(jw, "windowMs", rules->window_us / US_PER_MS);
    jw_kint(jw, "openMs", rules->open_us / US_PER_MS);
    jw_kint(jw, "successes", rules->successes);
    jw_kint(jw, "probes", rules->probes);
    jw_kstr(jw, "fallback", fallback_names[config->fallback]);
    jw_optstr(jw, "alternativeQueue", config->alternative_queue);
    if (config->default_result.len > 0)
        jw_kraw(jw, "defaultResult", config->default_result);
    jw_end(jw, '}');
}

bool breaker_name_valid(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && strchr(BREAKER_NAME_SIGNS, name[i]) == NULL)
            return false;
    return len >= 1 && len <= BREAKER_NAME_MAX;
}
