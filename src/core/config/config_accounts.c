/*
 * config_accounts.c - the provider accounts of a repository's agent, and what it falls back on.
 *
 *   agent: {account: NAME} or {accounts: [NAME, ...]}
 *   agent: {fallback: [{use, command, adapter, model, account, accounts, prices}, ...]}
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

/* Without what makes it this agent and no other. */
static void strip(struct agent_config *agent, const struct js *section)
{
    size_t own = js_count(js_get(section, "env"));
    memset(&agent->env[own], 0, sizeof agent->env - own * sizeof *agent->env);
    memset(agent->egress, 0, sizeof agent->egress);
    memset(agent->command, 0, sizeof agent->command);
    memset(agent->resume, 0, sizeof agent->resume);
    memset(agent->accounts, 0, sizeof agent->accounts);
    agent->profile = NULL;
    agent->adapter = ADAPTER_NONE;
    agent->prompt = PROMPT_STDIN;
    agent->model = agent->account = agent->home = NULL;
    agent->prices = (struct price_config){0};
}

static bool has_host(const struct agent_config *agent, const char *host)
{
    for (size_t i = 0; agent->egress[i] != NULL; i++)
        if (text_same(agent->egress[i], host))
            return true;
    return false;
}

/* Hosts that the repository lists itself are for its build as well; those of the other profile are
   not. */
static void add_hosts(struct fields *fields, struct agent_config *agent, const struct js *section)
{
    const struct js *hosts = js_get(section, "egress");
    size_t count = 0;
    while (agent->egress[count] != NULL)
        count++;
    for (size_t i = 0; !agent->network && i < js_count(hosts); i++) {
        const char *host = js_str(js_at(hosts, i), "");
        if (has_host(agent, host))
            continue;
        if (count == CONFIG_HOSTS_MAX) {
            fields_fail(fields, "use", "use: its hosts and those of agent.egress are more than %d",
                        CONFIG_HOSTS_MAX);
            return;
        }
        agent->egress[count++] = host;
    }
}

enum rc config_decode_fallback(struct decoder *decoder, const struct js *object, const char *path)
{
    struct agent_config *agent = &decoder->config.agent;
    const struct agent_config first = *agent;
    const struct js *prices = NULL;
    struct fields fields;
    strip(agent, decoder->agent);
    fields_open(&fields, object, path, decoder->err);
    config_use_profile(decoder, &fields);
    config_command(&fields, FIELD_OPTIONAL, agent->command);
    config_adapter(&fields, agent);
    config_model(decoder, &fields);
    config_accounts(&fields, agent, decoder->arena);
    fields_object(&fields, "prices", FIELD_OPTIONAL, &prices);
    config_take_profile(decoder, &fields);
    add_hosts(&fields, agent, decoder->agent);
    if (agent->command[0] == NULL)
        fields_fail(&fields, "use", "use is missing: a fallback names a profile or has a command");
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = config_prices(decoder, prices, arena_printf(decoder->arena, "%s.prices", path),
                           &agent->prices);
    if (rc == RC_OK)
        decoder->config.fallback[decoder->config.fallback_count++] = *agent;
    *agent = first;
    return rc;
}

const struct agent_config *repo_config_agent(const struct repo_config *config, int64_t fallback)
{
    bool is_there = fallback > 0 && (size_t)fallback <= config->fallback_count;
    return is_there ? &config->fallback[fallback - 1] : &config->agent;
}
