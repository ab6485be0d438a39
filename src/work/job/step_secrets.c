/*
 * step_secrets.c - the secrets of a step, from the variables and addresses that its configuration
 * names.
 */
#include "work/job/step_secrets.h"
#include "work/job/account_env.h"
#include <stdlib.h>
#include <string.h>

static void add_variable(struct secrets *secrets, const char *name)
{
    if (name != NULL)
        secrets_add(secrets, "env", getenv(name));
}

/* A value in the configuration is meant to be read by people, unless its name says otherwise. */
static void add_entry(struct secrets *secrets, const char *entry, struct arena *arena)
{
    static const char *const ends[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};
    const char *equals = strchr(entry, '=');
    if (equals == NULL) {
        add_variable(secrets, entry);
        return;
    }
    const char *name = arena_strndup(arena, entry, (size_t)(equals - entry));
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (text_ends(name, ends[i]))
            secrets_add(secrets, "env", equals + 1);
    }
}

/* The password in https://user:password@host, or the user where there is no password: forges accept
   tokens in both places.  What is sent is not percent-encoded. */
static void add_address(struct secrets *secrets, const char *url, struct arena *arena)
{
    const char *begin = url != NULL ? strstr(url, "://") : NULL;
    if (begin == NULL)
        return;
    begin += 3;
    const char *end = memrchr(begin, '@', strcspn(begin, "/?#"));
    if (end == NULL)
        return;
    const char *colon = memchr(begin, ':', (size_t)(end - begin));
    if (colon != NULL)
        begin = colon + 1;
    struct str secret = {begin, (size_t)(end - begin)};
    secrets_add(secrets, "url-password", str_dup(arena, secret));
    if (memchr(secret.at, '%', secret.len) != NULL)
        secrets_add(secrets, "url-password", percent_decoded(secret, arena));
}

void repo_secrets(const struct repo_config *config, struct arena *arena, struct secrets *secrets)
{
    secrets_init(secrets);
    add_address(secrets, config->url, arena);
    add_address(secrets, config->agent.remote.url, arena);
    for (size_t i = 0; config->agent.env[i] != NULL; i++)
        add_entry(secrets, config->agent.env[i], arena);
    add_variable(secrets, config->forge_credential);
    add_variable(secrets, config->reviewer_credential);
    add_variable(secrets, config->agent_credential);
    add_variable(secrets, config->agent.remote.credential);
    for (size_t i = 0; i < config->scratch.database_count; i++) {
        for (size_t at = 0; config->scratch.databases[i].env[at] != NULL; at++)
            add_variable(secrets, config->scratch.databases[i].env[at]);
    }
    for (size_t i = 0; i < config->judge_count; i++)
        add_variable(secrets, config->judges[i].model.credential);
}

struct secrets *step_secrets(struct step *step)
{
    if (step->secrets == NULL) {
        struct secrets *secrets = arena_alloc(step->arena, sizeof *secrets);
        repo_secrets(&step->input.config, step->arena, secrets);
        account_secrets(&step->input.account, step->arena, secrets);
        step->secrets = secrets;
    }
    return step->secrets;
}
