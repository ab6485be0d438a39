/*
 * writers.h - those who may write to a repository of Gitea or Forgejo: issues can be assigned to
 * them.  What one person may do would tell more, but is only for administrators of the repository.
 */
#ifndef FORGE_GITEA_WRITERS_H
#define FORGE_GITEA_WRITERS_H
#include "forge/host/people.h"

/* The owner in the repository's path is OWNER, the others of the list are MEMBER. */
extern const struct host_people_ops gitea_writers;
#endif
