/*
 * api.h - the objects that request handlers use.
 */
#ifndef API_API_H
#define API_API_H
#include "api/auth.h"
#include "api/pool.h"
#include "base/id.h"
#include "base/js.h"
#include "base/jw.h"
#include "control/control.h"
#include "core/audit/audit_note.h"
#include "core/config/faults.h"
#include "core/config/slack_config.h"
#include "core/http/site.h"
#include "core/queue/bucket.h"
#include "http/http.h"
#include "http/params.h"
#include "http/router.h"
#include "store/scan.h"
#include "store/store.h"
#include "work/worker.h"
#include <pthread.h>
#include <stdatomic.h>

struct audit_calls;
struct mcp;
struct metrics;
struct spool;
struct event_waits;
struct sse;
struct throttle;

/* Filled in by server.c, which owns all of it. */
struct api {
    struct loop *loop;
    struct control *control;
    struct store *store;
    struct pool *pool;
    struct auth *auth;
    struct audit_calls *audit; /* NULL: calls are not recorded, in tests. */
    struct metrics *metrics;
    struct spool *spool;
    struct http *http; /* Set once it listens. */
    struct sse *sse;
    struct mcp *mcp;
    atomic_int_fast64_t mcp_messages, mcp_streams; /* In progress. */
    struct site_names site; /* Names of this server, for routes that refuse foreign ones. */
    struct event_waits *waits;
    struct loop_call tokens_lost; /* Posted when tokens were revoked or expired. */
    atomic_bool tokens_lost_posted;
    struct throttle *throttle;
    struct bucket_rule event_bytes; /* That each token may report; per_second 0: no limit. */
    struct bucket_rule webhooks;    /* Deliveries of one address; per_second 0: no limit. */
    pthread_mutex_t worker_lock;
    struct worker *worker; /* Under the lock.  NULL: none in this process, or it is stopping. */
    atomic_int stopping;   /* Not 0: long operations must give up. */
    int64_t lease_ms, heartbeat_ms; /* As sent to workers. */
    int64_t body_bytes_max;
    int64_t command_queue_max; /* The limit of the committer. */
    const char *data_dir;
    struct str defaults; /* The layer under every repository's document; or empty. */
    struct notify_channels channels;
    struct slack_config slack;
    struct account_configs accounts;
    struct sink_configs sinks; /* Of the server's configuration. */
    struct sink_guard sink_guard;
    struct audit_anchor_config audit_anchor;
    bool keeps_log; /* Lines of the log are in the store. */
    struct expiry_rules retention;
};
#endif
