/*
 * issues.h - issues at servers whose APIs show them alike: GitLab and Gitea.
 *
 * A forge brings the names of members and what differs (struct host_issues, by issue_ops.host).
 * What is read, listed and changed is the same, and stands here as functions of struct issue_ops.
 */
#ifndef FORGE_HOST_ISSUES_H
#define FORGE_HOST_ISSUES_H
#include "forge/host/people.h"

struct host_issues {
    const char *place; /* Of an issue, for people: "project" */
    /* Names of members. */
    const char *number, *body, *comment_count;
    const char *author; /* Of an issue and of a comment. */
    const char *login;  /* Of a user. */
    const char *label;  /* The name of a label; NULL: a label is a text. */
    /* Queries. */
    const char *list;     /* All but the state. */
    const char *open;     /* The state of open ones. */
    const char *comments; /* Below an issue: "/notes" */
    const char *oldest;   /* And from the oldest on: "?sort=asc", or "". */
    const struct host_people_ops *people;
    enum rc (*connect)(struct forge_call *call, const char *url, struct arena *arena,
                       struct host_api *ret_api, struct err *err);
    bool (*is_issue)(const struct js *item);   /* NULL: all are. */
    bool (*is_comment)(const struct js *item); /* NULL: all are. */
    enum rc (*set_state)(const struct host_api *api, int64_t number, const char *state,
                         struct err *err);
    /* In place of those that it has: a JSON array of texts. */
    enum rc (*set_labels)(const struct host_api *api, int64_t number, struct str labels,
                          struct err *err);
};

/* Functions of struct issue_ops. */
MUST_USE enum rc host_issue_get(const struct issue_ops *ops, struct forge_call *call,
                                const char *url, int64_t number, struct arena *arena,
                                struct issue *ret_issue, struct err *err);
MUST_USE enum rc host_issue_change(const struct issue_ops *ops, struct forge_call *call,
                                   const char *url, int64_t number, const struct issue_words *words,
                                   struct arena *arena, struct issue *ret_issue, struct err *err);
MUST_USE enum rc host_issue_list(const struct issue_ops *ops, struct forge_call *call,
                                 const char *url, const struct issue_filter *filter,
                                 struct arena *arena, struct issue **ret_issues, size_t *ret_count,
                                 struct err *err);

/* For the others.  false: it is none.  whole: with its body. */
MUST_USE bool host_issue_read(const struct host_issues *host, const struct js *item, bool whole,
                              struct arena *arena, struct issue *ret_issue);
MUST_USE enum rc host_no_issue(const struct host_issues *host, int64_t number, struct err *err);

/* The open ones of a list for which blocks() is true. */
struct host_blockers {
    const struct host_issues *host;
    const char *path;
    bool (*blocks)(const void *ctx, const struct js *item);
    const void *ctx;
};
MUST_USE enum rc host_issue_blockers(const struct host_api *api, const struct host_blockers *query,
                                     int64_t **ret_numbers, size_t *ret_count, struct err *err);
#endif
