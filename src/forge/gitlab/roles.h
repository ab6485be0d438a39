/*
 * roles.h - what people are to a project of GitLab, asked for all of them at once.
 *
 * GitLab does not say it with what they write. Owner is OWNER, Developer and Maintainer are MEMBER,
 * what is below is CONTRIBUTOR: those may not push, so they may not have work done.
 */
#ifndef FORGE_GITLAB_ROLES_H
#define FORGE_GITLAB_ROLES_H
#include "forge/gitlab/api.h"
#include "forge/host/people.h"

/* Users are added as GitLab shows them, {"id", "username"}; those beyond 100 stay unknown. */
extern const struct host_people_ops gitlab_roles;
/* What an access level is; 0: no member. */
const char *gitlab_role(int64_t level);
#endif
