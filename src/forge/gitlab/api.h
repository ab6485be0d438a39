/*
 * api.h - for the files of GitLab: how its API is called, version 4 of it.
 *
 * A merge request is `iid` within its project, the project is "group%2Fname" in every path. A title
 * that begins with "Draft:" makes a draft.
 */
#ifndef FORGE_GITLAB_API_H
#define FORGE_GITLAB_API_H
#include "forge/host/api.h"

extern const struct rest_dialect gitlab_dialect;
extern const struct forge_ops forge_gitlab;
extern const struct issue_ops issues_gitlab;
extern const struct pr_ops prs_gitlab;
extern const struct check_ops checks_gitlab;
extern const struct delivery_ops deliveries_gitlab;
extern const struct people_ops people_gitlab;

/* An api over a repository that was placed already; root and texts live in the arena. */
struct host_api gitlab_at(struct forge_call *call, const struct host_repo *repo,
                          struct arena *arena);
MUST_USE enum rc gitlab_place(const struct forge_call *call, const char *url, struct arena *arena,
                              struct host_repo *ret_repo, struct err *err);
/* Both: the repository lives in the arena. */
MUST_USE enum rc gitlab_open(struct forge_call *call, const char *url, struct arena *arena,
                             struct host_api *ret_api, struct err *err);

/* The title without what makes a draft of it. */
const char *gitlab_ready_title(const char *title);
/* The login of the token's user, whose notes may be edited. */
MUST_USE enum rc gitlab_whoami(const struct host_api *api, const char **ret_login, struct err *err);
/* The login in {"KEY": {"username": ...}}, in the arena; "" without one. */
const char *gitlab_user(struct arena *arena, const struct js *object, const char *key);
#endif
