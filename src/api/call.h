/*
 * call.h - one request in progress, and what its handler does with it: reads, answers, fails.
 */
#ifndef API_CALL_H
#define API_CALL_H
#include "api/api.h"

enum { PAGE_LIMIT_DEFAULT = 50, PAGE_LIMIT_MAX = 200 };

struct stream;

struct call {
    struct http_request http;
    struct api *api;
    const struct route *route;
    const char *vars[ROUTE_VARS_MAX]; /* Decoded, in the request's arena. */
    struct identity who;
    struct command *command; /* Freed with the call. */
    struct str errors;       /* JSON array for call_fail: all that is wrong with a document. */
    struct stream *stream;   /* sse.c's. */
    struct pool_work work;
    struct loop_call done;
};

/* The variable as an id: RC_MALFORMED INVALID_ID. */
MUST_USE enum rc call_id(const struct call *call, int var, struct id *ret_id, struct err *err);
MUST_USE enum rc call_params(struct call *call, struct params *ret_params, struct err *err);
/* For routes that take none. */
MUST_USE enum rc call_no_params(struct call *call, struct err *err);
/* The body; an empty one is malformed.  See call_json_optional. */
MUST_USE enum rc call_json(struct call *call, struct js **ret_tree, struct err *err);
/* *ret_tree stays NULL when there is no body. */
MUST_USE enum rc call_json_optional(struct call *call, struct js **ret_tree, struct err *err);

/* For CLEANUP while a command is being built: frees one that was not passed on. */
void call_command_freep(struct command **command);
/* For commands whose body has no fields: {} or none at all. */
MUST_USE enum rc call_no_fields(struct call *call, struct err *err);
/* {"reason": ...} or nothing; *ret_reason lives in command->tree. */
MUST_USE enum rc call_reason(struct call *call, struct command *command, const char **ret_reason,
                             struct err *err);

/* Starts a JSON answer. */
struct jw call_answer(struct call *call, int status);
void call_removed(struct call *call, struct command *command); /* 204: for struct route. */
void call_fail(struct call *call, enum rc rc, const struct err *err);
/* What call_fail reports in addition to err. */
void call_faults(struct call *call, const struct faults *faults);
void call_fail_status(struct call *call, int status, const char *code, const char *detail);

/* {"items": [ ... ], "cursor": ...} */
struct jw call_list_begin(struct call *call);
void call_list_end(struct jw *jw, const char *cursor); /* NULL: the last page. */

/* ?limit= and ?cursor= of a listing by id, newest first, or by name. */
struct page {
    int64_t limit;
    struct id before;
    const char *after; /* The name; NULL: from the start. */
    struct scan scan;  /* For the filter of a listing by id. */
};
struct page call_page(struct call *call, struct params *params);
struct page call_page_by_name(struct call *call, struct params *params);
/* The cursor after the last row that is shown (NULL: none), when the query found one row more than
   the limit; else after the last row that the scan has read, when there are more to read. */
const char *call_next_id(struct call *call, const struct page *page, size_t count,
                         const struct id *last);
const char *call_next_name(struct call *call, const struct page *page, size_t count,
                           const char *last);
/* How many of the rows are shown: the query reads one more than the limit. */
size_t page_rows(const struct page *page, size_t count);
#endif
