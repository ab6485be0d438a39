/*
 * childenv.c - builds the environment of a child; nothing is inherited by accident.
 */
#include "work/job/childenv.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

void childenv_set(struct childenv *env, struct arena *arena, const char *name, const char *value)
{
    size_t len = strlen(name);
    const char *entry = arena_printf(arena, "%s=%s", name, value);
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->entries[i], entry, len + 1) == 0) {
            env->entries[i] = entry;
            return;
        }
    }
    assert(env->count + 1 < CHILDENV_MAX);
    env->entries[env->count++] = entry;
}

void childenv_unset(struct childenv *env, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->entries[i], name, len) != 0 || env->entries[i][len] != '=')
            continue;
        env->entries[i] = env->entries[--env->count];
        env->entries[env->count] = NULL;
        return;
    }
}

void childenv_add_path(struct childenv *env, struct arena *arena, const char *dir)
{
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->entries[i], "PATH=", strlen("PATH=")) == 0)
            env->entries[i] = arena_printf(arena, "%s:%s", env->entries[i], dir);
    }
}

static void pass(struct childenv *env, struct arena *arena, const char *name, const char *fallback)
{
    const char *value = getenv(name);
    if (value != NULL || fallback != NULL)
        childenv_set(env, arena, name, value != NULL ? value : fallback);
}

void childenv_init_bare(struct childenv *env, const struct step *step, const char *home)
{
    struct arena *arena = step->arena;
    const struct step_input *input = &step->input;
    *env = (struct childenv){.count = 0};
    pass(env, arena, "PATH", "/usr/local/bin:/usr/bin:/bin");
    pass(env, arena, "LANG", "C.UTF-8");
    pass(env, arena, "LC_ALL", NULL);
    pass(env, arena, "TZ", NULL);
    pass(env, arena, "USER", "drover");
    pass(env, arena, "LOGNAME", "drover");
    childenv_set(env, arena, "SHELL", "/bin/sh");
    childenv_set(env, arena, "TMPDIR", "/tmp");
    childenv_set(env, arena, "HOME", home);
    if (input->config.agent.model != NULL)
        childenv_set(env, arena, "DROVER_MODEL", input->config.agent.model);
    childenv_set(env, arena, "DROVER_TASK_ID", input->task_id.text);
    childenv_set(env, arena, "DROVER_RUN_ID", input->run_id.text);
    if (input->traceparent != NULL)
        childenv_set(env, arena, "TRACEPARENT", input->traceparent);
}

/* NAME, passed on, or NAME=value. */
static void add_entry(struct childenv *env, struct arena *arena, const char *entry)
{
    const char *equals = strchr(entry, '=');
    if (equals == NULL)
        pass(env, arena, entry, NULL);
    else
        childenv_set(env, arena, arena_strndup(arena, entry, (size_t)(equals - entry)), equals + 1);
}

void childenv_init(struct childenv *env, const struct step *step, const char *home)
{
    childenv_init_bare(env, step, home);
    for (size_t i = 0; step->input.config.agent.env[i] != NULL; i++)
        add_entry(env, step->arena, step->input.config.agent.env[i]);
    childenv_set(env, step->arena, "HOME", home);
}
