/*
 * config_agent.c - the section `agent` of a repository's configuration.
 *
 *   agent: {compute, command, adapter, prompt, model, account, prices, network, egress, env,
 *           mounts, home, resources, remote, queue}
 */
#include "core/config/config_decoder.h"
#include "core/config/egress.h"
#include <assert.h>
#include <string.h>

static const char *const adapters[] = {[ADAPTER_NONE] = "none",
                                       [ADAPTER_NDJSON] = "ndjson",
                                       [ADAPTER_CLAUDE] = "claude",
                                       [ADAPTER_CODEX] = "codex",
                                       NULL};

const char *adapter_name(enum adapter adapter)
{
    assert((size_t)adapter + 1 < COUNT_OF(adapters));
    return adapters[adapter];
}

const char *agent_account(const struct agent_config *agent, struct arena *arena)
{
    if (agent->account != NULL)
        return agent->account;
    return arena_printf(arena, "default:%s", adapter_name(agent->adapter));
}

static void decode_env(struct decoder *decoder, struct form *form)
{
    const struct js *names = NULL;
    form_strings(form, "env", FORM_OPTIONAL, CONFIG_ENV_MAX,
                 &(struct form_text){.min = 1, .max = 200}, &names);
    for (size_t i = 0; form->rc == RC_OK && i < js_count(names); i++) {
        const char *name = js_str(js_at(names, i), "");
        const char *key = arena_printf(decoder->arena, "env[%zu]", i);
        if (!config_variable_valid(name))
            form_fail(form, key, "%s must be the name of an environment variable", key);
        else if (text_starts(name, "DROVER_"))
            form_fail(form, key, "%s must not start with DROVER_: drover sets these itself", key);
        else
            decoder->config.agent.env[i] = name;
    }
}

static void decode_egress(struct decoder *decoder, struct form *form)
{
    struct agent_config *agent = &decoder->config.agent;
    config_strings(form, "egress",
                   &(struct config_list){.to = agent->egress,
                                         .max = CONFIG_HOSTS_MAX,
                                         .each = {.min = 1, .max = 260}});
    for (size_t i = 0; form->rc == RC_OK && agent->egress[i] != NULL; i++) {
        const char *key = arena_printf(decoder->arena, "egress[%zu]", i);
        if (!egress_rule_valid(agent->egress[i]))
            form_fail(form, key, "%s must be " EGRESS_RULE, key);
    }
    if (agent->network && agent->egress[0] != NULL)
        form_fail(form, "egress",
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
    struct form form;
    form_open(&form, object, path, decoder->err);
    form_string(&form, "path", FORM_REQUIRED, &(struct form_text){.min = 1}, &mount.path);
    if (mount.path != NULL && !path_valid(mount.path))
        form_fail(&form, "path", "path must be absolute, without ..");
    form_bool(&form, "writable", FORM_OPTIONAL, &mount.writable);
    enum rc rc = form_close(&form);
    if (rc == RC_OK)
        agent->mounts[agent->mount_count++] = mount;
    return rc;
}

static enum rc decode_resources(struct decoder *decoder, const struct js *object)
{
    struct resource_config *resources = &decoder->config.agent.resources;
    const int64_t terabyte = INT64_C(1) << 40;
    struct form form;
    if (object == NULL)
        return RC_OK;
    form_open(&form, object, "agent.resources", decoder->err);
    form_int(&form, "cpuSeconds", FORM_OPTIONAL, &(struct form_range){0, 30 * 24 * 3600},
             &resources->cpu_seconds);
    form_int(&form, "memoryBytes", FORM_OPTIONAL, &(struct form_range){0, terabyte},
             &resources->memory_bytes);
    form_int(&form, "processes", FORM_OPTIONAL, &(struct form_range){0, 100000},
             &resources->processes);
    form_int(&form, "diskBytes", FORM_OPTIONAL, &(struct form_range){0, 100 * terabyte},
             &resources->disk_bytes);
    form_int(&form, "openFiles", FORM_OPTIONAL, &(struct form_range){0, 1000000},
             &resources->open_files);
    return form_close(&form);
}

static enum rc decode_remote(struct decoder *decoder, const struct js *object)
{
    struct agent_config *agent = &decoder->config.agent;
    struct form form;
    if (object == NULL)
        return RC_OK;
    form_open(&form, object, "agent.remote", decoder->err);
    config_http_url(&form, "url", FORM_REQUIRED, &agent->remote.url);
    config_variable(&form, "credential", &agent->remote.credential);
    form_int(&form, "pollMs", FORM_OPTIONAL, &config_timeout_range, &agent->remote.poll_ms);
    form_int(&form, "callMs", FORM_OPTIONAL, &config_timeout_range, &agent->remote.call_ms);
    form_int(&form, "lostPolls", FORM_OPTIONAL, &(struct form_range){1, 1000},
             &agent->remote.lost_polls);
    return form_close(&form);
}

/* What one way of computing needs is of no use to the others. */
static void check_compute(struct form *form, const struct agent_config *agent)
{
    bool process = agent->compute == COMPUTE_PROCESS;
    bool has_remote = js_get(form->object, "remote") != NULL;
    if (process && agent->command[0] == NULL)
        form_fail(form, "command", "command is missing: compute process runs it");
    if (!process && agent->command[0] != NULL)
        form_fail(form, "command", "command is for compute process only");
    if (agent->compute == COMPUTE_REMOTE && !has_remote)
        form_fail(form, "remote", "remote is missing: compute remote needs remote: {url}");
    if (agent->compute != COMPUTE_REMOTE && has_remote)
        form_fail(form, "remote", "remote is for compute remote only");
    if (agent->compute != COMPUTE_PULL && agent->queue != NULL)
        form_fail(form, "queue", "queue is for compute pull only");
}

static void decode_choices(struct form *form, struct agent_config *agent)
{
    static const char *const computes[] = {
        [COMPUTE_PROCESS] = "process", [COMPUTE_REMOTE] = "remote", [COMPUTE_PULL] = "pull", NULL};
    static const char *const prompts[] = {[PROMPT_STDIN] = "stdin", [PROMPT_FILE] = "file", NULL};
    int compute = (int)agent->compute, adapter = (int)agent->adapter, prompt = (int)agent->prompt;
    form_choice(form, "compute", FORM_OPTIONAL, computes, &compute);
    form_choice(form, "adapter", FORM_OPTIONAL, adapters, &adapter);
    form_choice(form, "prompt", FORM_OPTIONAL, prompts, &prompt);
    agent->compute = (enum compute)compute;
    agent->adapter = (enum adapter)adapter;
    agent->prompt = (enum prompt_way)prompt;
}

enum rc config_decode_agent(struct decoder *decoder, const struct js *object)
{
    struct agent_config *agent = &decoder->config.agent;
    const struct js *mounts = NULL, *resources = NULL, *remote = NULL, *prices = NULL;
    struct form form;
    form_open(&form, object, "agent", decoder->err);
    decode_choices(&form, agent);
    config_command(&form, FORM_OPTIONAL, agent->command);
    form_bool(&form, "network", FORM_OPTIONAL, &agent->network);
    decode_egress(decoder, &form);
    decode_env(decoder, &form);
    form_string(&form, "model", FORM_OPTIONAL, &(struct form_text){.min = 1, .max = 200},
                &agent->model);
    config_name(&form, "account", FORM_OPTIONAL, &agent->account);
    form_object(&form, "prices", FORM_OPTIONAL, &prices);
    form_array(&form, "mounts", FORM_OPTIONAL, CONFIG_MOUNTS_MAX, &mounts);
    form_string(&form, "home", FORM_OPTIONAL, &(struct form_text){.min = 1}, &agent->home);
    if (agent->home != NULL && !path_valid(agent->home))
        form_fail(&form, "home", "home must be an absolute path, without ..");
    form_object(&form, "resources", FORM_OPTIONAL, &resources);
    form_object(&form, "remote", FORM_OPTIONAL, &remote);
    config_name(&form, "queue", FORM_OPTIONAL, &agent->queue);
    check_compute(&form, agent);
    enum rc rc = form_close(&form);
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
    return rc;
}
