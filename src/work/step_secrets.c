/*
 * step_secrets.c - the secrets of a step, from the variables that its configuration names.
 */
#include "work/step_secrets.h"
#include <stdlib.h>

static void add_variable(struct secrets *secrets, const char *name)
{
    if (name)
        secrets_add(secrets, "env", getenv(name));
}

void repo_secrets(const struct repo_config *config, struct secrets *secrets)
{
    secrets_init(secrets);
    for (size_t i = 0; config->agent.env[i]; i++)
        add_variable(secrets, config->agent.env[i]);
    add_variable(secrets, config->forge_credential);
    add_variable(secrets, config->agent.remote.credential);
    for (size_t i = 0; i < config->judge_count; i++)
        add_variable(secrets, config->judges[i].model.credential);
}

struct secrets *step_secrets(struct step *step)
{
    if (!step->secrets) {
        struct secrets *secrets = arena_alloc(step->arena, sizeof *secrets);
        repo_secrets(&step->input.config, secrets);
        step->secrets = secrets;
    }
    return step->secrets;
}
