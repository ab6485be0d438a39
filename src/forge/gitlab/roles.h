/*
 * roles.h - what people are to a project of GitLab, asked for all of them at once.
 *
 * GitLab does not say it with what they write. Owner is OWNER, Developer and Maintainer are MEMBER,
 * what is below is CONTRIBUTOR: those may not push, so they may not have work done.
 */
#ifndef FORGE_GITLAB_ROLES_H
#define FORGE_GITLAB_ROLES_H
#include "forge/gitlab/api.h"

enum { GITLAB_PEOPLE_MAX = 100 };

struct gitlab_person {
    const char *login;
    int64_t id;
    int64_t level; /* 0: no member.  The highest of those that it is listed with. */
};
struct gitlab_roles {
    struct gitlab_person people[GITLAB_PEOPLE_MAX];
    size_t count;
    bool known; /* false: not asked, or the token may not ask. */
};

/* A user as GitLab shows it, {"id", "username"}; those beyond the limit stay unknown. */
void gitlab_roles_add(struct gitlab_roles *roles, struct arena *arena, const struct js *user);
/* RC_OK also when the token may not ask. */
MUST_USE enum rc gitlab_roles_read(const struct host_api *api, struct gitlab_roles *roles,
                                   struct err *err);
/* OWNER, MEMBER, CONTRIBUTOR or NONE; NULL: not known. */
const char *gitlab_association(const struct gitlab_roles *roles, const char *login);
#endif
