/*
 * rest_answer.h - for rest.c: what the head and the body of a forge's answer say.
 */
#ifndef FORGE_HOST_REST_ANSWER_H
#define FORGE_HOST_REST_ANSWER_H
#include "forge/host/rest.h"

/* An answer as it came. */
struct rest_raw {
    const struct forge_call *call;
    const struct rest_request *request;
    int status;
    const struct buf *head;
    struct str body;
};

/* The rate limit that it tells of; its texts are in the arena or the request. */
struct forge_limit_seen rest_limit_seen(const struct rest_raw *raw, struct arena *arena);
/* For any status but 2xx and 304: the code, and the forge's own message without secrets. */
MUST_USE enum rc rest_refused(const struct rest_raw *raw, const struct forge_limit_seen *seen,
                              struct arena *arena, struct err *err);
/* Path and query of the next page, from Link; NULL: there is none.  false: there is one, but not
   below the base of the API. */
MUST_USE bool rest_next_page(const struct rest_raw *raw, struct arena *arena,
                             const char **ret_path);

/* The two parts of an absolute address; false: it is none of http or https. */
struct rest_place {
    const char *server; /* https://host:port */
    const char *path;   /* "/..." with the query */
};
MUST_USE bool rest_place_split(struct str address, struct arena *arena,
                               struct rest_place *ret_place);
#endif
