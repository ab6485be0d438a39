/*
 * breaker_config.c - see breaker_config.h.
 */
#include "core/queue/breaker_config.h"
#include "base/clock.h"
#include "base/form.h"
#include "base/str.h"
#include "core/queue/queue_config.h"
#include <assert.h>
#include <ctype.h>
#include <string.h>

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const struct form_range failures_range = {1, BREAKER_FAILURES_MAX};
static const struct form_range probes_range = {1, BREAKER_PROBES_MAX};
static const struct form_range successes_range = {1, 1000};
static const struct form_range time_range = {1, DAY_MS};

static const char *const fallback_names[] = {"queue", "alternative", "default", NULL};

struct breaker_config breaker_config_default(void)
{
    return (struct breaker_config){.rules = breaker_rules_default()};
}

static void form_ms(struct form *form, const char *key, int64_t *value_us)
{
    int64_t ms = *value_us / US_PER_MS;
    form_int(form, key, FORM_OPTIONAL, &time_range, &ms);
    *value_us = ms * US_PER_MS;
}

static void decode_rules(struct form *form, struct breaker_rules *rules)
{
    form_int(form, "failures", FORM_OPTIONAL, &failures_range, &rules->failures);
    form_ms(form, "windowMs", &rules->window_us);
    form_ms(form, "openMs", &rules->open_us);
    form_int(form, "successes", FORM_OPTIONAL, &successes_range, &rules->successes);
    form_int(form, "probes", FORM_OPTIONAL, &probes_range, &rules->probes);
}

static void check_fallback(struct form *form, const struct breaker_config *config)
{
    const char *queue = config->alternative_queue;
    if (queue != NULL && !queue_name_valid(queue))
        form_fail(form, "alternativeQueue", "a queue's name has letters, digits, '.', '_' and '-'");
    else if (queue != NULL && text_starts(queue, STEP_QUEUE_PREFIX))
        form_fail(form, "alternativeQueue", "queues named %s* are drover's own", STEP_QUEUE_PREFIX);
    if (config->fallback == FALLBACK_ALTERNATIVE && queue == NULL)
        form_fail(form, "alternativeQueue", "the fallback \"alternative\" needs alternativeQueue");
    if (config->fallback == FALLBACK_DEFAULT && config->default_result.len == 0)
        form_fail(form, "defaultResult", "the fallback \"default\" needs defaultResult");
    if (config->default_result.len > BREAKER_RESULT_MAX)
        form_fail(form, "defaultResult", "defaultResult must have at most %d bytes",
                  BREAKER_RESULT_MAX);
}

enum rc breaker_config_decode(const struct js *document, struct arena *arena,
                              struct breaker_config *ret_config, struct err *err)
{
    struct breaker_config config = breaker_config_default();
    int fallback = FALLBACK_QUEUE;
    const char *queue = NULL;
    const struct js *result = NULL;
    struct form form;
    form_open(&form, document, "", err);
    decode_rules(&form, &config.rules);
    form_choice(&form, "fallback", FORM_OPTIONAL, fallback_names, &fallback);
    form_string(&form, "alternativeQueue", FORM_OPTIONAL, &(struct form_text){.min = 1, .max = 100},
                &queue);
    form_object(&form, "defaultResult", FORM_OPTIONAL, &result);
    config.fallback = (enum breaker_fallback)fallback;
    config.alternative_queue = arena_strdup(arena, queue);
    if (result != NULL)
        config.default_result = str_of(js_text(result, arena));
    check_fallback(&form, &config);
    enum rc rc = form_close(&form);
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
    jw_kstr(jw, "fallback", breaker_fallback_name(config->fallback));
    jw_optstr(jw, "alternativeQueue", config->alternative_queue);
    if (config->default_result.len > 0)
        jw_kraw(jw, "defaultResult", config->default_result);
    jw_end(jw, '}');
}

const char *breaker_fallback_name(enum breaker_fallback fallback)
{
    assert((unsigned)fallback <= FALLBACK_DEFAULT);
    return fallback_names[fallback];
}

bool breaker_name_valid(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && strchr(BREAKER_NAME_SIGNS, name[i]) == NULL)
            return false;
    return len >= 1 && len <= BREAKER_NAME_MAX;
}
