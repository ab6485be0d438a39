/*
 * config_accounts.c - the provider accounts of a repository's agent, and what it falls back on.
 *
 *   agent: {account: NAME} or {accounts: [NAME, ...]}
 *   agent: {fallback: [{command, adapter, model, account, accounts, prices}, ...]}
 *
 * A fallback is the same agent (sandbox, mounts, environment, limits) with another program, model
 * or account.
 */
#include "core/config/config_decoder.h"
#include <string.h>

void config_accounts(struct fields *fields, struct agent_config *agent, struct arena *arena)
{
    config_name(fields, "account", FIELD_OPTIONAL, &agent->account);
    config_strings(fields, "accounts",
                   &(struct config_list){.to = agent->accounts,
                                         .max = CONFIG_ACCOUNTS_MAX,
                                         .each = {.min = 1, .max = CONFIG_NAME_BYTES_MAX}});
    for (size_t i = 0; fields->rc == RC_OK && agent->accounts[i] != NULL; i++) {
        const char *key = arena_printf(arena, "accounts[%zu]", i);
        if (!config_name_valid(agent->accounts[i]))
            fields_fail(fields, key, "%s may hold only lower-case letters, digits, - and _", key);
    }
    if (agent->account != NULL && agent->accounts[0] != NULL)
        fields_fail(fields, "accounts", "accounts cannot stand beside account");
    if (agent->compute != COMPUTE_PROCESS && agent->accounts[0] != NULL)
        fields_fail(fields, "accounts", "accounts is for compute process only");
}

enum rc config_decode_fallback(struct decoder *decoder, const struct js *object, const char *path)
{
    struct agent_config *agent = &decoder->config.fallback[decoder->config.fallback_count];
    const struct js *prices = NULL;
    struct fields fields;
    *agent = decoder->config.agent;
    memset(agent->command, 0, sizeof agent->command);
    memset(agent->accounts, 0, sizeof agent->accounts);
    agent->adapter = ADAPTER_NONE;
    agent->model = agent->account = agent->home = NULL;
    agent->prices = (struct price_config){0};
    fields_open(&fields, object, path, decoder->err);
    config_command(&fields, FIELD_REQUIRED, agent->command);
    config_adapter(&fields, agent);
    fields_string(&fields, "model", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 200},
                  &agent->model);
    config_accounts(&fields, agent, decoder->arena);
    fields_object(&fields, "prices", FIELD_OPTIONAL, &prices);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = config_prices(decoder, prices, arena_printf(decoder->arena, "%s.prices", path),
                           &agent->prices);
    if (rc == RC_OK)
        decoder->config.fallback_count++;
    return rc;
}

const struct agent_config *repo_config_agent(const struct repo_config *config, int64_t fallback)
{
    bool is_there = fallback > 0 && (size_t)fallback <= config->fallback_count;
    return is_there ? &config->fallback[fallback - 1] : &config->agent;
}
