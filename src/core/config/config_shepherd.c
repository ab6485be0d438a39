/*
 * config_shepherd.c - the section `shepherd` of a repository's configuration.
 *
 *   shepherd: {enabled, merge, method, reruns, repairs, rebases, maxBudgetUsd, maxHours,
 *              quietMs, settleMs, pollMs, learn}
 */
#include "core/config/config_decoder.h"

struct shepherd_config config_shepherd_default(void)
{
    return (struct shepherd_config){
        .merge = SHEPHERD_MERGE_NEVER,
        .method = "merge",
        .reruns = 1,
        .repairs = 3,
        .rebases = 5,
        .max_budget_microusd = 10 * INT64_C(1000000),
        .max_hours = 72,
        .quiet_ms = 10 * CONFIG_MINUTE_MS,
        .settle_ms = CONFIG_MINUTE_MS,
        .poll_ms = CONFIG_MINUTE_MS,
        .learn = true,
    };
}

enum rc config_decode_shepherd(struct decoder *decoder, const struct js *object)
{
    static const char *const merges[] = {[SHEPHERD_MERGE_NEVER] = "never",
                                         [SHEPHERD_MERGE_APPROVED] = "approved",
                                         [SHEPHERD_MERGE_AUTO] = "auto",
                                         NULL};
    static const char *const methods[] = {"merge", "squash", "rebase", NULL};
    static const struct field_range attempts = {0, CONFIG_RETRIES_MAX};
    struct shepherd_config *config = &decoder->config.shepherd;
    int merge = (int)config->merge, method = 0;
    double budget_usd = (double)config->max_budget_microusd / 1e6;
    struct fields fields;
    fields_open(&fields, object, "shepherd", decoder->err);
    config->enabled = true; /* The section alone turns it on. */
    fields_bool(&fields, "enabled", FIELD_OPTIONAL, &config->enabled);
    fields_choice(&fields, "merge", FIELD_OPTIONAL, merges, &merge);
    fields_choice(&fields, "method", FIELD_OPTIONAL, methods, &method);
    fields_int(&fields, "reruns", FIELD_OPTIONAL, &attempts, &config->reruns);
    fields_int(&fields, "repairs", FIELD_OPTIONAL, &attempts, &config->repairs);
    fields_int(&fields, "rebases", FIELD_OPTIONAL, &attempts, &config->rebases);
    fields_real(&fields, "maxBudgetUsd", FIELD_OPTIONAL, &(struct field_real){0.01, 1000},
                &budget_usd);
    fields_int(&fields, "maxHours", FIELD_OPTIONAL, &(struct field_range){1, 24 * 90},
               &config->max_hours);
    fields_int(&fields, "quietMs", FIELD_OPTIONAL, &config_timeout_range, &config->quiet_ms);
    fields_int(&fields, "settleMs", FIELD_OPTIONAL, &config_timeout_range, &config->settle_ms);
    fields_int(&fields, "pollMs", FIELD_OPTIONAL, &config_timeout_range, &config->poll_ms);
    fields_bool(&fields, "learn", FIELD_OPTIONAL, &config->learn);
    config->merge = (enum shepherd_merge)merge;
    config->method = methods[method];
    config->max_budget_microusd = (int64_t)(budget_usd * 1e6 + 0.5);
    return fields_close(&fields);
}
