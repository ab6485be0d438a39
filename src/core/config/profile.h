/*
 * profile.h - what drover knows about the agents that people have: one row each.  Pure.
 *
 * `agent: {use: NAME}` in a repository's configuration takes from the row what the repository does
 * not give itself (config_agent.c).  Words of a command line:
 *
 *     {model}       agent.model
 *     {session}     the session that is resumed
 *     {promptFile}  the file that holds the prompt
 *
 * The command line is command, then resume where a session is resumed, then model where one is
 * configured, then tail.
 *
 * To add one: a row in profile.c, its name in schemas/repository.json (agent.use), a line in the
 * table of docs/CONFIGURATION.md.  tests/unit/core/config/test_profile.c compares them.
 */
#ifndef CORE_CONFIG_PROFILE_H
#define CORE_CONFIG_PROFILE_H
#include "core/config/repo_config.h"

#define WORD_MODEL       "{model}"
#define WORD_SESSION     "{session}"
#define WORD_PROMPT_FILE "{promptFile}"

/* A file below a home that the program logs in with. */
struct agent_login {
    const char *path; /* .codex/auth.json */
    /* Members (dotted) of its JSON that the program itself replaces; NULL: it replaces none. */
    const char *const *refreshed;
};

/* Lists are NULL-terminated, or NULL: empty. */
struct agent_profile {
    const char *name;  /* claude */
    const char *title; /* Claude Code */
    enum adapter adapter;
    enum prompt_way prompt;
    const char *const *command; /* NULL: the repository gives it. */
    const char *const *resume;  /* NULL: no session can be resumed by arguments. */
    const char *const *model;
    const char *const *tail;
    const char *const *egress;
    const char *const *env;           /* NAME, passed on, or NAME=value. */
    const char *const *credentials;   /* Variables that hold a credential: passed on too. */
    const struct agent_login *logins; /* Up to one without a path; NULL: none. */
    const char *install;              /* A command for people. */
    const char *log_in;               /* How to, for people. */
};

/* NULL: there is none of this name. */
const struct agent_profile *agent_profile_find(const char *name);
/* In the order of the table; NULL behind the last. */
const struct agent_profile *agent_profile_at(size_t index);
/* The name that is closest to one that is not known, or NULL. */
const char *agent_profile_closest(const char *name);

/* The text with every WORD_* in it that is this one replaced by the value; the text itself where
   there is none. */
const char *agent_word_put(const char *text, const char *word, const char *value,
                           struct arena *arena);

/* A session's id becomes a word of a command line, and an agent chose it: letters, digits and . _ -
   : in it, at most 128, the first a letter or digit. */
bool agent_session_valid(const char *id);
#endif
