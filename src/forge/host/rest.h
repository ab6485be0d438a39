/*
 * rest.h - one request to the JSON API of a forge: the gate before it, its rate limit after it,
 * pages, ETags, and what its errors mean.
 *
 * The token goes to the server of the API and to no other.  A redirect of that server to itself, as
 * after a repository was renamed, is followed once.
 *
 * Status       code                err->code
 * 401          RC_UNAUTHORIZED     FORGE_UNAUTHORIZED
 * 403, 451     RC_DENIED           FORGE_DENIED
 * 403, 429     RC_LIMIT            FORGE_LIMIT, with retry_ms: a rate limit
 * 404, 410     RC_NOT_FOUND        FORGE_NOT_FOUND
 * 405, 409, 412, 423  RC_CONFLICT  FORGE_CONFLICT
 * 413          RC_TOO_LARGE        FORGE_TOO_LARGE
 * 408, 5xx     RC_UNREACHABLE      FORGE_UNAVAILABLE; also without an answer in 30 s
 * other 4xx    RC_INVALID          FORGE_REFUSED
 * 3xx          RC_CORRUPT          FORGE_MOVED
 * not JSON     RC_CORRUPT          FORGE_HALF_ANSWER
 * No answer, or half of one: as http_client.h says.
 */
#ifndef FORGE_HOST_REST_H
#define FORGE_HOST_REST_H
#include "base/js.h"
#include "forge/port/call.h"

enum { REST_ANSWER_MAX = 16 * 1024 * 1024, REST_PAGES_MAX = 20 };

/* What differs between the forges' APIs. */
struct rest_dialect {
    const char *name;                 /* For errors: GitHub */
    const struct http_field *headers; /* Sent with every request; NULL-terminated. */
    const char *auth_header;          /* "Authorization" or "PRIVATE-TOKEN" */
    const char *auth_prefix;          /* "Bearer " */
    /* Names of the headers that tell the rate limit; reset in seconds since 1970. */
    const char *limit, *remaining, *reset, *resource; /* NULL: it has no such header. */
};

struct rest_request {
    const struct rest_dialect *dialect;
    const char *base; /* host_repo.api */
    const char *host;
    const char *method, *path; /* "/repos/acme/billing/pulls?state=all" */
    struct str body;           /* JSON, or empty. */
    const char *etag;          /* Sent as If-None-Match; or NULL. */
    const char *accept;        /* or NULL: the dialect's */
    const char *resource;      /* For the gate; NULL: "core" */
    const char *items;         /* Of pages: the member that has the array; NULL: the document. */
    bool repeatable;           /* A POST that only reads (GraphQL): sent once more as a GET is. */
};

struct rest_answer {
    int status;
    bool same;           /* 304: the ETag still holds. */
    const char *etag;    /* In the arena, or NULL. */
    const char *next;    /* Path of the next page (Link: rel=next); NULL: this is the last. */
    const char *moved;   /* The path on the server to which it was redirected; NULL: it was not. */
    struct js *document; /* NULL: no body, or not JSON.  The caller's: rest_answer_release. */
};
void rest_answer_release(struct rest_answer *answer); /* For CLEANUP; start from {0}. */

/* RC_OK for 2xx and 304.  Errors as in port/prs.h; the forge's own message is in err, without
   secrets.  GET, PUT and DELETE that got no whole answer are sent once more; POST and PATCH never:
   the caller looks for what it may have made.  What is refused with 401 is sent once more with
   another credential, where call->git.renewal has one. */
MUST_USE enum rc rest_call(struct forge_call *call, const struct rest_request *request,
                           struct arena *arena, struct rest_answer *ret_answer, struct err *err);
/* The body as bytes: logs, archives; the end of it when it is longer than the buffer's maximum.
   Follows one redirect, to which no token is sent. */
MUST_USE enum rc rest_bytes(struct forge_call *call, const struct rest_request *request,
                            struct buf *into, struct err *err);
/* Calls each for every item of every page, at most REST_PAGES_MAX; false ends it.  *ret_cut (may be
   NULL): there was more, or each ended it.  An item lives until each returns.  RC_CORRUPT: a page
   is no array. */
MUST_USE enum rc rest_pages(struct forge_call *call, const struct rest_request *request,
                            struct arena *arena, bool (*each)(void *ctx, const struct js *item),
                            void *ctx, bool *ret_cut, struct err *err);
#endif
