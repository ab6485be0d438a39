/*
 * api.h - for the files of the GitHub forge: addresses of its API, and requests to it.
 *
 *   repository                          REST                       GraphQL
 *   https://github.com/acme/billing     https://api.github.com     https://api.github.com/graphql
 *   https://HOST/acme/billing           https://HOST/api/v3        https://HOST/api/graphql
 *   with `api: BASE`                    BASE                       BASE/graphql, or where BASE ends
 *                                                                  in /api/v3: .../api/graphql
 */
#ifndef FORGE_GITHUB_API_H
#define FORGE_GITHUB_API_H
#include "forge/host/hosted.h"
#include "forge/host/rest.h"
#include "forge/port/prs.h"

extern const struct rest_dialect github_dialect;
extern const struct forge_ops forge_github;
extern const struct host_ops host_github;
extern const struct issue_ops issues_github;
extern const struct pr_ops prs_github;
extern const struct check_ops checks_github;
extern const struct delivery_ops deliveries_github;
extern const struct people_ops people_github;

MUST_USE enum rc github_place(const struct forge_call *call, const char *url, struct arena *arena,
                              struct host_repo *ret_repo, struct err *err);

/* A repository during one call of the forge.  Texts go to the arena. */
struct github {
    struct forge_call *call;
    struct host_repo repo;
    struct arena *arena;
    struct err *err;
};
MUST_USE enum rc github_open(struct github *gh, const char *url);
/* With /repos/OWNER/NAME in front of the path: "/pulls/3". */
struct rest_request github_request(const struct github *gh, const char *method, const char *path);
/* Sends it; the caller releases the answer. */
MUST_USE enum rc github_send(const struct github *gh, const struct rest_request *request,
                             struct rest_answer *ret_answer);
/* The same where the answer does not matter. */
MUST_USE enum rc github_do(const struct github *gh, const struct rest_request *request);

struct github_query {
    const char *text;
    struct str variables; /* A JSON object. */
    bool changes;         /* A mutation: never sent twice. */
};
/*
 * The document is the whole answer: {"data": ...}.  Errors of GraphQL come back as errors of REST
 * do: RC_NOT_FOUND, RC_DENIED, RC_LIMIT, else RC_CONFLICT of a mutation and RC_CORRUPT of a query.
 * A query whose answer has both data and errors is RC_OK: fields may be forbidden one by one.
 */
MUST_USE enum rc github_graphql(const struct github *gh, const struct github_query *query,
                                struct rest_answer *ret_answer);
/* "acme" and "billing" of the repository's path. */
const char *github_owner(const struct github *gh);
const char *github_name(const struct github *gh);

/* "2026-07-03T12:00:00Z"; 0: missing or no time. */
int64_t github_time(const struct js *object, const char *key);
/* A copy; fallback (may be NULL) when it is no text. */
const char *github_text(const struct js *object, const char *key, const char *fallback,
                        struct arena *arena);
/* user.login; "ghost" for one whose account is gone. */
const char *github_login(const struct js *user, struct arena *arena);
/* The text with its mark (port/mark.h), cut to PR_COMMENT_MAX. */
const char *github_marked_body(const struct forge_comment *comment, struct arena *arena);
#endif
