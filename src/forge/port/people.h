/*
 * people.h - who people are to a repository at its forge, and which of them has labelled or
 * assigned an issue.
 */
#ifndef FORGE_PORT_PEOPLE_H
#define FORGE_PORT_PEOPLE_H
#include "forge/port/call.h"

enum { FORGE_ACTS_MAX = 200 };

struct forge_act {
    bool assigned;    /* Else it was labelled. */
    const char *what; /* The label, or the login that it was assigned to. */
    const char *actor;
    int64_t at_us;
};

/* Errors as in prs.h.  Functions are NULL where the forge does not tell. */
struct people_ops {
    /* Of an issue: the last ones, oldest first. */
    enum rc (*acts)(struct forge_call *call, const char *url, int64_t number, struct arena *arena,
                    struct forge_act **ret_acts, size_t *ret_count, struct err *err);
    /* OWNER, MEMBER, COLLABORATOR or NONE: by what the person may do in the repository. */
    enum rc (*standing)(struct forge_call *call, const char *url, const char *login,
                        struct arena *arena, const char **ret_association, struct err *err);
    /* team: without "team/".  One that is not there, or may not be seen, has no members. */
    enum rc (*in_team)(struct forge_call *call, const char *url, const char *team,
                       const char *login, bool *ret_in, struct err *err);
};

/* For forges: acts while they are read, oldest first; the last FORGE_ACTS_MAX stay. */
struct act_list {
    struct arena *arena;
    struct forge_act *acts; /* NULL until the first. */
    size_t count;
};
void act_list_add(struct act_list *list, const struct forge_act *act);
#endif
