/*
 * config_agent.c - the section `agent` of a repository's configuration.
 *
 *   agent: {use, compute, command, adapter, prompt, model, account, accounts, prices, network,
 *           egress, env, mounts, home, homeWriteBack, permissions, elicitation, resources, remote,
 *           queue, fallback}
 */
#include "core/config/config_decoder.h"
#include "core/config/egress.h"
#include "core/config/profile.h"
#include <string.h>

static const char *const adapters[] = {[ADAPTER_NONE] = "none",
                                       [ADAPTER_NDJSON] = "ndjson",
                                       [ADAPTER_CLAUDE] = "claude",
                                       [ADAPTER_CODEX] = "codex",
                                       [ADAPTER_GEMINI] = "gemini",
                                       [ADAPTER_COPILOT] = "copilot",
                                       [ADAPTER_CURSOR] = "cursor",
                                       [ADAPTER_OPENCODE] = "opencode",
                                       [ADAPTER_GOOSE] = "goose",
                                       [ADAPTER_AMP] = "amp",
                                       [ADAPTER_TEXT] = "text",
                                       [ADAPTER_ACP] = "acp",
                                       NULL};

const char *adapter_name(enum adapter adapter)
{
    return adapters[adapter];
}

const char *agent_account(const struct agent_config *agent, struct arena *arena)
{
    if (agent->account != NULL)
        return agent->account;
    return arena_printf(arena, "default:%s", adapter_name(agent->adapter));
}

/* NAME, or NAME=value. */
static bool env_entry_valid(const char *entry, struct arena *arena)
{
    return config_variable_valid(arena_strndup(arena, entry, strcspn(entry, "="))) &&
           !config_text_has_control(entry);
}

const char *agent_name(const struct agent_config *agent)
{
    return agent->profile != NULL ? agent->profile->name : adapter_name(agent->adapter);
}

void config_adapter(struct fields *fields, struct agent_config *agent)
{
    int adapter = (int)agent->adapter;
    fields_choice(fields, "adapter", FIELD_OPTIONAL, adapters, &adapter);
    agent->adapter = (enum adapter)adapter;
}

void config_model(struct decoder *decoder, struct fields *fields)
{
    struct agent_config *agent = &decoder->config.agent;
    fields_string(fields, "model", FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = 200},
                  &agent->model);
    if (decoder->model != NULL)
        agent->model = decoder->model;
}

static void decode_env(struct decoder *decoder, struct fields *fields)
{
    const struct js *entries = NULL;
    fields_strings(fields, "env", FIELD_OPTIONAL, CONFIG_ENV_MAX,
                   &(struct field_text){.min = 1, .max = CONFIG_ENV_BYTES_MAX}, &entries);
    for (size_t i = 0; fields->rc == RC_OK && i < js_count(entries); i++) {
        const char *entry = js_str(js_at(entries, i), "");
        const char *key = arena_printf(decoder->arena, "env[%zu]", i);
        if (!env_entry_valid(entry, decoder->arena))
            fields_fail(fields, key,
                        "%s must be the name of an environment variable, or NAME=value", key);
        else if (text_starts(entry, "DROVER_"))
            fields_fail(fields, key, "%s must not start with DROVER_: drover sets these itself",
                        key);
        else
            decoder->config.agent.env[i] = entry;
    }
}

static void decode_egress(struct decoder *decoder, struct fields *fields)
{
    struct agent_config *agent = &decoder->config.agent;
    config_strings(fields, "egress",
                   &(struct config_list){.to = agent->egress,
                                         .max = CONFIG_HOSTS_MAX,
                                         .each = {.min = 1, .max = 260}});
    for (size_t i = 0; fields->rc == RC_OK && agent->egress[i] != NULL; i++) {
        const char *key = arena_printf(decoder->arena, "egress[%zu]", i);
        if (!egress_rule_valid(agent->egress[i]))
            fields_fail(fields, key, "%s must be " EGRESS_RULE, key);
    }
    if (agent->network && agent->egress[0] != NULL)
        fields_fail(fields, "egress",
                    "egress cannot stand beside network: true, which lets everything through");
}

static bool path_valid(const char *path)
{
    return path[0] == '/' && path[1] != '\0' && strstr(path, "/../") == NULL &&
           !config_text_has_control(path);
}

static enum rc decode_mount(struct decoder *decoder, const struct js *object, const char *path)
{
    struct agent_config *agent = &decoder->config.agent;
    struct mount_config mount = {.path = NULL};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    fields_string(&fields, "path", FIELD_REQUIRED, &(struct field_text){.min = 1}, &mount.path);
    if (mount.path != NULL && !path_valid(mount.path))
        fields_fail(&fields, "path", "path must be absolute, without ..");
    fields_bool(&fields, "writable", FIELD_OPTIONAL, &mount.writable);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        agent->mounts[agent->mount_count++] = mount;
    return rc;
}

static enum rc decode_resources(struct decoder *decoder, const struct js *object)
{
    struct resource_config *resources = &decoder->config.agent.resources;
    const int64_t terabyte = INT64_C(1) << 40;
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "agent.resources", decoder->err);
    fields_int(&fields, "cpuSeconds", FIELD_OPTIONAL, &(struct field_range){0, 30 * 24 * 3600},
               &resources->cpu_seconds);
    fields_int(&fields, "memoryBytes", FIELD_OPTIONAL, &(struct field_range){0, terabyte},
               &resources->memory_bytes);
    fields_int(&fields, "processes", FIELD_OPTIONAL, &(struct field_range){0, 100000},
               &resources->processes);
    fields_int(&fields, "diskBytes", FIELD_OPTIONAL, &(struct field_range){0, 100 * terabyte},
               &resources->disk_bytes);
    fields_int(&fields, "openFiles", FIELD_OPTIONAL, &(struct field_range){0, 1000000},
               &resources->open_files);
    return fields_close(&fields);
}

static enum rc decode_remote(struct decoder *decoder, const struct js *object)
{
    struct agent_config *agent = &decoder->config.agent;
    struct fields fields;
    if (object == NULL)
        return RC_OK;
    fields_open(&fields, object, "agent.remote", decoder->err);
    config_http_url(&fields, "url", FIELD_REQUIRED, &agent->remote.url);
    config_variable(&fields, "credential", &agent->remote.credential);
    fields_int(&fields, "pollMs", FIELD_OPTIONAL, &config_timeout_range, &agent->remote.poll_ms);
    fields_int(&fields, "callMs", FIELD_OPTIONAL, &config_timeout_range, &agent->remote.call_ms);
    fields_int(&fields, "lostPolls", FIELD_OPTIONAL, &(struct field_range){1, 1000},
               &agent->remote.lost_polls);
    return fields_close(&fields);
}

/* What one way of computing needs is of no use to the others. */
static void check_compute(struct fields *fields, const struct agent_config *agent)
{
    bool process = agent->compute == COMPUTE_PROCESS;
    if (!process && agent->profile != NULL)
        fields_fail(fields, "use", "use is for compute process only");
    bool has_remote = js_get(fields->object, "remote") != NULL;
    if (process && agent->command[0] == NULL && agent->profile != NULL)
        fields_fail(fields, "command", "command is missing: profile %s has none of its own",
                    agent->profile->name);
    else if (process && agent->command[0] == NULL)
        fields_fail(fields, "command",
                    "command is missing: compute process runs it, or use names "
                    "a profile");
    if (!process && agent->command[0] != NULL)
        fields_fail(fields, "command", "command is for compute process only");
    if (agent->compute == COMPUTE_REMOTE && !has_remote)
        fields_fail(fields, "remote", "remote is missing: compute remote needs remote: {url}");
    if (agent->compute != COMPUTE_REMOTE && has_remote)
        fields_fail(fields, "remote", "remote is for compute remote only");
    if (agent->compute != COMPUTE_PULL && agent->queue != NULL)
        fields_fail(fields, "queue", "queue is for compute pull only");
}

static void decode_choices(struct fields *fields, struct agent_config *agent)
{
    static const char *const computes[] = {
        [COMPUTE_PROCESS] = "process", [COMPUTE_REMOTE] = "remote", [COMPUTE_PULL] = "pull", NULL};
    static const char *const prompts[] = {[PROMPT_STDIN] = "stdin", [PROMPT_FILE] = "file", NULL};
    int compute = (int)agent->compute, prompt = (int)agent->prompt;
    fields_choice(fields, "compute", FIELD_OPTIONAL, computes, &compute);
    config_adapter(fields, agent);
    fields_choice(fields, "prompt", FIELD_OPTIONAL, prompts, &prompt);
    agent->compute = (enum compute)compute;
    agent->prompt = (enum prompt_way)prompt;
}

static void decode_write_back(struct fields *fields, struct agent_config *agent)
{
    static const char *const names[] = {"none", "credentials", NULL};
    int write_back = 1;
    fields_choice(fields, "homeWriteBack", FIELD_OPTIONAL, names, &write_back);
    agent->home_write_back = write_back == 1;
}

/* For agents that ask in their protocol: the others never do. */
static void decode_asks(struct fields *fields, struct agent_config *agent)
{
    static const char *const permissions[] = {"policy", "ask", NULL};
    static const char *const forms[] = {"refuse", "ask", NULL};
    int permission = 0, form = 0;
    fields_choice(fields, "permissions", FIELD_OPTIONAL, permissions, &permission);
    fields_choice(fields, "elicitation", FIELD_OPTIONAL, forms, &form);
    agent->asks_permission = permission == 1;
    agent->asks_forms = form == 1;
}

enum rc config_decode_agent(struct decoder *decoder, const struct js *object)
{
    struct agent_config *agent = &decoder->config.agent;
    const struct js *mounts = NULL, *resources = NULL, *remote = NULL, *prices = NULL;
    const struct js *fallback = NULL;
    struct fields fields;
    decoder->agent = object;
    fields_open(&fields, object, "agent", decoder->err);
    config_use_profile(decoder, &fields);
    decode_choices(&fields, agent);
    config_command(&fields, FIELD_OPTIONAL, agent->command);
    fields_bool(&fields, "network", FIELD_OPTIONAL, &agent->network);
    decode_egress(decoder, &fields);
    decode_env(decoder, &fields);
    config_model(decoder, &fields);
    config_accounts(&fields, agent, decoder->arena);
    fields_array(&fields, "fallback", FIELD_OPTIONAL, CONFIG_FALLBACKS_MAX, &fallback);
    if (fallback != NULL && agent->compute != COMPUTE_PROCESS)
        fields_fail(&fields, "fallback", "fallback is for compute process only");
    fields_object(&fields, "prices", FIELD_OPTIONAL, &prices);
    fields_array(&fields, "mounts", FIELD_OPTIONAL, CONFIG_MOUNTS_MAX, &mounts);
    fields_string(&fields, "home", FIELD_OPTIONAL, &(struct field_text){.min = 1}, &agent->home);
    if (agent->home != NULL && !path_valid(agent->home))
        fields_fail(&fields, "home", "home must be an absolute path, without ..");
    decode_write_back(&fields, agent);
    decode_asks(&fields, agent);
    fields_object(&fields, "resources", FIELD_OPTIONAL, &resources);
    fields_object(&fields, "remote", FIELD_OPTIONAL, &remote);
    config_name(&fields, "queue", FIELD_OPTIONAL, &agent->queue);
    config_take_profile(decoder, &fields);
    check_compute(&fields, agent);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = config_decode_each(decoder, mounts, "agent.mounts", decode_mount);
    if (rc == RC_OK)
        rc = decode_resources(decoder, resources);
    if (rc == RC_OK)
        rc = config_prices(decoder, prices, "agent.prices", &decoder->config.agent.prices);
    if (rc == RC_OK)
        rc = decode_remote(decoder, remote);
    if (rc == RC_OK && agent->queue == NULL)
        agent->queue = "agents";
    return rc == RC_OK
               ? config_decode_each(decoder, fallback, "agent.fallback", config_decode_fallback)
               : rc;
}
