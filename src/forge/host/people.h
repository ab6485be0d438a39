/*
 * people.h - what the people of an issue or a pull request are to its repository, where the API
 * does not say it with what they write: asked for all of them at once.
 */
#ifndef FORGE_HOST_PEOPLE_H
#define FORGE_HOST_PEOPLE_H
#include "core/pr/pr_view.h"
#include "forge/host/api.h"
#include "forge/port/issues.h"

struct host_people_ops {
    size_t kept_bytes; /* Of what it keeps between its functions; begins zeroed. */
    /* A user as the API shows it is to be asked for; NULL: all who may write are. */
    void (*add)(void *kept, struct arena *arena, const struct js *user);
    /* RC_OK also when the token may not ask. */
    enum rc (*read)(const struct host_api *api, void *kept, struct err *err);
    /* Was everyone looked up who was to be?  Else some who are trusted may not be known as such. */
    bool (*whole)(const void *kept);
    /* OWNER, MEMBER, CONTRIBUTOR or NONE; NULL: not known. */
    const char *(*association)(const struct host_api *api, const void *kept, const char *login);
};

struct host_people {
    const struct host_people_ops *ops;
    const struct host_api *api;
    void *kept;
};
/* In the arena of the api, which must stay where it is. */
struct host_people host_people_new(const struct host_api *api, const struct host_people_ops *ops);
void host_people_add(const struct host_people *people, const struct js *user);
/* Asks for one that need not be added. */
MUST_USE enum rc host_people_one(const struct host_api *api, const struct host_people_ops *ops,
                                 const char *login, const char **ret_association, struct err *err);
/* Asks, and fills in the association of each author. */
MUST_USE enum rc host_people_of_issue(const struct host_people *people, struct issue *issue,
                                      struct err *err);
/* The same; one who cannot be looked up is NONE: nothing is known that would trust them.  What such
   a person says against the merge does not count then: the view counts as cut. */
MUST_USE enum rc host_people_of_view(const struct host_people *people, struct pr_view *view,
                                     struct err *err);
#endif
