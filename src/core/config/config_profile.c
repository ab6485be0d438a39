/*
 * config_profile.c - `agent: {use: PROFILE}`: the values of a profile, where the repository gives
 * none of its own.
 *
 *   adapter, prompt, egress, command   one of the repository's own replaces that of the profile
 *   env                                by name: entries of the repository come on top
 *
 * With a command of its own a repository also decides about model and session: nothing is added.
 */
#include "core/config/config_decoder.h"
#include "core/config/profile.h"
#include <assert.h>
#include <string.h>

void config_use_profile(struct decoder *decoder, struct fields *fields)
{
    struct agent_config *agent = &decoder->config.agent;
    const char *name = NULL;
    fields_string(fields, "use", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = CONFIG_NAME_BYTES_MAX}, &name);
    if (name == NULL)
        return;
    agent->profile = agent_profile_find(name);
    if (agent->profile == NULL) {
        const char *closest = agent_profile_closest(name);
        fields_fail(fields, "use",
                    "there is no profile \"%.64s\"%s%s%s; see drover agents "
                    "profiles",
                    name, closest != NULL ? " (did you mean " : "", closest != NULL ? closest : "",
                    closest != NULL ? "?)" : "");
        return;
    }
    agent->adapter = agent->profile->adapter;
    agent->prompt = agent->profile->prompt;
}

/* ---- commands ---- */

bool config_put_model(struct decoder *decoder, struct fields *fields, const char **command)
{
    const char *model = decoder->config.agent.model;
    bool found = false;
    for (size_t i = 0; command[i] != NULL; i++) {
        if (strstr(command[i], WORD_MODEL) == NULL)
            continue;
        found = true;
        if (model == NULL)
            fields_fail(fields, "command",
                        "command has " WORD_MODEL ", and agent.model is missing");
        else
            command[i] = agent_word_put(command[i], WORD_MODEL, model, decoder->arena);
    }
    return found;
}

static size_t add_words(const char **to, size_t count, const char *const *words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        assert(count < CONFIG_ARGS_MAX);
        to[count++] = words[i];
    }
    return count;
}

static void take_command(struct agent_config *agent)
{
    const struct agent_profile *profile = agent->profile;
    const char *const *model = agent->model != NULL ? profile->model : NULL;
    size_t count = add_words(agent->command, 0, profile->command);
    count = add_words(agent->command, count, model);
    (void)add_words(agent->command, count, profile->tail);
    if (profile->resume == NULL)
        return;
    count = add_words(agent->resume, 0, profile->command);
    count = add_words(agent->resume, count, profile->resume);
    count = add_words(agent->resume, count, model);
    (void)add_words(agent->resume, count, profile->tail);
}

/* ---- environment ---- */

static bool same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");
    return strcspn(b, "=") == len && strncmp(a, b, len) == 0;
}

static bool has_name(const char *const *entries, const char *entry)
{
    for (size_t i = 0; entries[i] != NULL; i++) {
        if (same_name(entries[i], entry))
            return true;
    }
    return false;
}

/* Behind those of the repository, unless it has the name itself. */
static void add_env(const char **env, const char *const *more)
{
    size_t count = 0;
    while (env[count] != NULL)
        count++;
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        if (has_name(env, more[i]))
            continue;
        assert(count < CONFIG_ENV_ALL_MAX);
        env[count++] = more[i];
    }
}

/* ---- all of it ---- */

/* A model in a request to a service or an agent elsewhere needs no command. */
static bool speaks_of_model(const struct agent_config *agent)
{
    return agent->compute != COMPUTE_PROCESS || agent->adapter == ADAPTER_ACP;
}

void config_take_profile(struct decoder *decoder, struct fields *fields)
{
    struct agent_config *agent = &decoder->config.agent;
    const struct agent_profile *profile = agent->profile;
    bool own_command = agent->command[0] != NULL;
    if (fields->rc != RC_OK)
        return;
    if (profile != NULL && !own_command && profile->command != NULL)
        take_command(agent);
    bool told = config_put_model(decoder, fields, agent->command);
    (void)config_put_model(decoder, fields, agent->resume);
    agent->model_told = agent->model != NULL && (told || speaks_of_model(agent));
    if (profile == NULL)
        return;
    bool own_egress = js_type(js_get(fields->object, "egress")) != JS_NULL;
    for (size_t i = 0;
         !own_egress && !agent->network && profile->egress != NULL && profile->egress[i] != NULL;
         i++)
        agent->egress[i] = profile->egress[i];
    add_env(agent->env, profile->env);
    add_env(agent->env, profile->credentials);
}
