/*
 * api.h - for the files of Gitea and Forgejo: how their API is called, version 1 of it.
 *
 * Issues and pull requests are numbered together, and a pull request is an issue too.  A title that
 * begins with "WIP:" makes a draft. Pages have 50 items, unless the server is configured otherwise.
 */
#ifndef FORGE_GITEA_API_H
#define FORGE_GITEA_API_H
#include "forge/host/api.h"

extern const struct rest_dialect gitea_dialect;
extern const struct forge_ops forge_gitea, forge_forgejo;
extern const struct issue_ops issues_gitea;
extern const struct pr_ops prs_gitea, prs_forgejo;
extern const struct check_ops checks_gitea, checks_forgejo;
extern const struct delivery_ops deliveries_gitea;
extern const struct people_ops people_gitea;

/* An api over a repository that was placed already; root and texts live in the arena. */
struct host_api gitea_at(struct forge_call *call, const struct host_repo *repo,
                         struct arena *arena);
MUST_USE enum rc gitea_place(const struct forge_call *call, const char *url, struct arena *arena,
                             struct host_repo *ret_repo, struct err *err);
/* Both: the repository lives in the arena. */
MUST_USE enum rc gitea_open(struct forge_call *call, const char *url, struct arena *arena,
                            struct host_api *ret_api, struct err *err);

/* The title without what makes a draft of it. */
const char *gitea_ready_title(const char *title);
/* The login of the token's user; NULL: the token may not ask for it. */
MUST_USE enum rc gitea_whoami(const struct host_api *api, const char **ret_login, struct err *err);
/* The login in {"KEY": {"login": ...}}, in the arena; "" without one. */
const char *gitea_user(struct arena *arena, const struct js *object, const char *key);
/* Adds labels by name, and makes those that neither the repository nor its organization has. */
MUST_USE enum rc gitea_add_labels(const struct host_api *api, int64_t number,
                                  const char *const *labels, struct err *err);
/* The same in place of those that it has. */
MUST_USE enum rc gitea_set_labels(const struct host_api *api, int64_t number,
                                  const char *const *labels, struct err *err);
#endif
