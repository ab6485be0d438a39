/*
 * childenv.h - the environment of agents and checks: a minimum, and what is allowed by name.
 */
#ifndef WORK_JOB_CHILDENV_H
#define WORK_JOB_CHILDENV_H
#include "work/job/step.h"

enum { CHILDENV_MAX = CONFIG_ENV_ALL_MAX + ACCOUNT_ENV_MAX + SCRATCH_ENV_ALL_MAX + 32 };

struct childenv {
    const char *entries[CHILDENV_MAX]; /* NAME=value, NULL-terminated */
    size_t count;
};

/* PATH, LANG and the like, HOME as given, the ids of the run, and the entries of agent.env: names
   that drover itself has, or values (core/config/repo_config.h refuses DROVER_... there). */
void childenv_init(struct childenv *env, const struct step *step, const char *home);
/* The same without those of agent.env: for commands that are not the agent. */
void childenv_init_bare(struct childenv *env, const struct step *step, const char *home);
void childenv_set(struct childenv *env, struct arena *arena, const char *name, const char *value);
void childenv_unset(struct childenv *env, const char *name);
/* One more directory for programs, after the others. */
void childenv_add_path(struct childenv *env, struct arena *arena, const char *dir);
#endif
