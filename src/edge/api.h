/*
 * api.h - the routes, and how a request gets through them.
 *
 *   loop:  find the route, check the token, the rates and the body's type, then by kind
 *          instant --> answered here
 *          query   --> pool thread reads the store, fills the answer --> loop sends it
 *          command --> built here, posted to the committer --> done() --> loop answers
 *          stream  --> sse.c
 *
 * struct call is one request on its way.  It starts with its struct http_request, and has the same
 * owner at every moment (http.h).
 */
#ifndef EDGE_API_H
#define EDGE_API_H
#include "base/id.h"
#include "base/js.h"
#include "base/jw.h"
#include "control/control.h"
#include "core/bucket.h"
#include "core/faults.h"
#include "edge/auth.h"
#include "edge/http.h"
#include "edge/metrics.h"
#include "edge/params.h"
#include "edge/pool.h"
#include "edge/router.h"
#include "store/scan.h"
#include "store/store.h"
#include "work/worker.h"
#include <pthread.h>
#include <stdatomic.h>

enum { PAGE_LIMIT_DEFAULT = 50, PAGE_LIMIT_MAX = 200 };

struct spool;
struct sse;
struct stream;
struct throttle;

/* What handlers reach; put together by server.c, which owns all of it. */
struct api {
    struct loop *loop;
    struct control *control;
    struct store *store;
    struct pool *pool;
    struct auth *auth;
    struct metrics *metrics;
    struct spool *spool;
    struct http *http; /* Set once it listens. */
    struct sse *sse;
    struct loop_call tokens_lost; /* Posted when tokens are good no more. */
    atomic_bool tokens_lost_posted;
    struct throttle *throttle;
    struct bucket_rule event_bytes; /* That each token may report; per_second 0: no limit. */
    pthread_mutex_t worker_lock;
    struct worker *worker; /* Under the lock.  NULL: none in this process, or it is stopping. */
    atomic_int stopping;   /* Not 0: what takes long should give up. */
    int64_t lease_ms, heartbeat_ms; /* What workers are told. */
    int64_t body_bytes_max;
    int64_t command_queue_max; /* What the committer was given. */
    const char *data_dir;
    struct str defaults; /* The layer under every repository's document; or empty. */
    struct notify_channels channels;
};

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

/* For struct http_options: handle, finished, gate with ctx = the api. */
void api_handle(void *api, struct http_request *request);
void api_finished(void *api, struct http_request *request);
bool api_claim(void *api, const struct http_head *head, struct caps_key *ret_key);
bool api_privileged(void *api, const struct http_head *head);
enum rc api_gate(void *api, const struct http_head *head, struct http_body_plan *plan,
                 struct err *err);

/* Ends the streams and long polls of tokens that are good no more, whenever one is revoked.  Any
   thread; for auth_watch. */
void api_tokens_lost(void *api);

const struct route *api_routes(size_t *ret_count);

/* ---- For handlers (call.c) ---- */

/* The variable as an id: RC_MALFORMED INVALID_ID. */
MUST_USE enum rc call_id(const struct call *call, int var, struct id *ret_id, struct err *err);
MUST_USE enum rc call_params(struct call *call, struct params *ret_params, struct err *err);
/* For routes that take none. */
MUST_USE enum rc call_no_params(struct call *call, struct err *err);
/* The body; an empty one is malformed unless the route says otherwise (call_json_optional). */
MUST_USE enum rc call_json(struct call *call, struct js **ret_tree, struct err *err);
/* *ret_tree stays NULL when there is no body. */
MUST_USE enum rc call_json_optional(struct call *call, struct js **ret_tree, struct err *err);

/* For CLEANUP while a command is being built: frees what was not handed on. */
void call_command_freep(struct command **command);
/* For commands whose body says nothing: {} or none at all. */
MUST_USE enum rc call_no_fields(struct call *call, struct err *err);
/* {"reason": ...} or nothing; *ret_reason lives in command->tree. */
MUST_USE enum rc call_reason(struct call *call, struct command *command, const char **ret_reason,
                             struct err *err);

/* Starts a JSON answer. */
struct jw call_answer(struct call *call, int status);
void call_removed(struct call *call, struct command *command); /* 204: for struct route. */
void call_fail(struct call *call, enum rc rc, const struct err *err);
/* What call_fail tells beside err. */
void call_faults(struct call *call, const struct faults *faults);
void call_fail_status(struct call *call, int status, const char *code, const char *detail);

/* {"items": [ ... ], "cursor": ...} */
struct jw call_list_begin(struct call *call);
void call_list_end(struct jw *jw, const char *cursor); /* NULL: nothing follows. */

/* ?limit= and ?cursor= of a listing by id, newest first, or by name. */
struct page {
    int64_t limit;
    struct id before;
    const char *after; /* The name; NULL: from the start. */
    struct scan scan;  /* For the filter of a listing by id. */
};
struct page call_page(struct call *call, struct params *params);
struct page call_page_by_name(struct call *call, struct params *params);
/* The cursor behind the last row that is shown (NULL: none), when one more than the limit was
   there; else behind what the scan has looked at, when there is more. */
const char *call_next_id(struct call *call, const struct page *page, size_t count,
                         const struct id *last);
const char *call_next_name(struct call *call, const struct page *page, size_t count,
                           const char *last);
/* How many of the rows are shown: one more was asked for. */
size_t page_rows(const struct page *page, size_t count);
#endif
