/*
 * init_facts.h - what `drover init` finds in a checkout and on this machine, each with its reason.
 */
#ifndef CLI_INIT_FACTS_H
#define CLI_INIT_FACTS_H
#include "cli/checkout.h"
#include "core/config/profile.h"
#include "core/config/project.h"

enum {
    INIT_AGENTS_MAX = 16,
    INIT_HOSTS_MAX = 48,
    INIT_MOUNTS_MAX = 12,
    INIT_WARNINGS_MAX = 16,
};

/* A value, and why it is this one. */
struct fact {
    const char *value;
    const char *why;
};

struct init_agent {
    const struct agent_profile *profile;
    const char *path;  /* Of its program; NULL: it is not installed. */
    const char *login; /* The file or variable that it logs in with; NULL: none was found. */
};

struct init_facts {
    struct checkout checkout;
    struct fact url;
    struct fact branch;
    struct fact name;                          /* Of the repository on the server. */
    struct init_agent agents[INIT_AGENTS_MAX]; /* That are installed. */
    size_t agent_count;
    struct init_agent agent; /* The chosen one; without a profile: there is none. */
    struct project project;
    struct fact hosts[INIT_HOSTS_MAX]; /* That agent and checks may reach. */
    size_t host_count;
    struct fact mounts[INIT_MOUNTS_MAX];
    size_t mount_count;
    struct fact variable; /* Of agent.env; no value: none. */
    const char *warnings[INIT_WARNINGS_MAX];
    size_t warning_count;
};

/* What the caller has given; each may be NULL. */
struct init_wishes {
    const char *name, *branch, *agent;
};

/* Checkout, url, branch, name and checks.  The err says what to do. */
MUST_USE enum rc init_find_repository(const struct init_wishes *wishes, struct arena *arena,
                                      struct init_facts *facts, struct err *err);
/* Agents, and what they and the checks need of this machine.  RC_NOT_FOUND, NO_AGENT: none is
   installed, and none was named. */
MUST_USE enum rc init_find_machine(const struct init_wishes *wishes, struct arena *arena,
                                   struct init_facts *facts, struct err *err);

void init_warn(struct init_facts *facts, const char *text);
#endif
