/*
 * api.h - the API of one repository at a hosted forge: short forms of rest.h, and the readers
 * that the decoders of its answers share.
 */
#ifndef FORGE_HOST_API_H
#define FORGE_HOST_API_H
#include "base/jw.h"
#include "core/pr/pr_view.h"
#include "forge/host/hosted.h"
#include "forge/host/rest.h"

enum { HOST_BODY_MAX = 1024 * 1024 }; /* Of a request. */

struct host_api {
    struct forge_call *call;
    const struct rest_dialect *dialect;
    const struct host_repo *repo;
    const char *root; /* Before every path: "/projects/acme%2Fbilling" */
    struct arena *arena;
};

/* "https://host[:port]/a/b", with or without ".git", "ssh://git@host/a/b" or "git@host:a/b". */
struct host_address {
    const char *server; /* https://host[:port] */
    const char *path;   /* a/b */
};
MUST_USE enum rc host_address_parse(const char *url, struct arena *arena,
                                    struct host_address *ret_address, struct err *err);
/* The address in an API that lies at SERVER[/PREFIX]SUFFIX, as configured or by the address; fills
   api, host, web, and path as it is in the address.  RC_INVALID: it has no group or owner. */
MUST_USE enum rc host_place(const char *configured_api, const char *url, const char *suffix,
                            struct arena *arena, struct host_repo *ret_repo, struct err *err);

const char *host_path(const struct host_api *api, const char *fmt, ...) PRINTF_LIKE(2, 3);
const char *host_escaped(struct arena *arena, const char *text); /* For a path or a query. */

MUST_USE enum rc host_get(const struct host_api *api, const char *path,
                          struct rest_answer *ret_answer, struct err *err);
/* The body is that of jw, which was begun by host_body; NULL: none.  ret_answer may be NULL. */
MUST_USE enum rc host_send(const struct host_api *api, const char *method, const char *path,
                           const struct buf *body, struct rest_answer *ret_answer, struct err *err);
/* A text, such as a log: the end of it when it is longer than the buffer's maximum. */
MUST_USE enum rc host_bytes(const struct host_api *api, const char *path, struct buf *into,
                            struct err *err);
/* As rest_pages; items: the member that has the array, or NULL. */
struct host_list {
    const char *path, *items;
    bool (*each)(void *ctx, const struct js *item);
    void *ctx;
};
MUST_USE enum rc host_pages(const struct host_api *api, const struct host_list *list, bool *ret_cut,
                            struct err *err);

/* A body {...}: host_body begins it, host_body_end ends it. */
struct jw host_body(struct buf *buf);
void host_body_end(struct jw *jw);

/* Members of an answer, in the arena. */
const char *host_text(struct arena *arena, const struct js *object, const char *key); /* or NULL */
int64_t host_time(const struct js *object, const char *key);                          /* 0: none */
void host_hash(const struct js *value, char to[GIT_HASH_BYTES]); /* "" unless it is one. */
/* The texts of an array, or those at `key` of its items; NULL ends them. */
const char **host_texts(struct arena *arena, const struct js *items, const char *key);
/* The same as a JSON array, the first ones of them. */
struct str host_text_array(struct arena *arena, const struct js *items, const char *key,
                           size_t max);
MUST_USE enum rc host_unreadable(const struct host_api *api, const char *what, struct err *err);
/* RC_CORRUPT: a member is missing without which a view is of no use. */
MUST_USE enum rc host_view_check(const struct host_api *api, const struct pr_view *view,
                                 const char *what, struct err *err);

/* A title without the signs of a draft before it, as often as they stand there.  NULL ends the
   list of signs, which are in lower case. */
const char *host_title_without(const char *title, const char *const *signs);

/* How a pull request is read: false: it is none. */
struct host_pr_form {
    const char *what; /* For people: "merge request" */
    bool (*read)(const struct js *item, struct arena *arena, struct host_pr *ret_pr);
};
/* Sends a request (body: as host_send) and reads the pull request that comes back. */
MUST_USE enum rc host_pr_send(const struct host_api *api, const struct host_pr_form *form,
                              const char *method, const char *path, const struct buf *body,
                              struct host_pr *ret_pr, struct err *err);

/* A list that grows to a limit. */
struct host_prs {
    struct arena *arena;
    struct host_pr *items;
    size_t count, max;
};
void host_prs_init(struct host_prs *prs, struct arena *arena, size_t max);
bool host_prs_add(struct host_prs *prs, const struct host_pr *pr); /* false: it is full. */
/* Open ones first; the order is kept otherwise. */
void host_prs_open_first(struct host_prs *prs);
#endif
