/*
 * control.h - the control plane, put together: committer, bus, tail, timers on one store.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H
#include "base/hash.h"
#include "control/commit/committer.h"
#include "control/watch/bus.h"
#include "control/watch/conductor.h"
#include "control/watch/sink_relays.h"
#include "sink/sink.h"
#include "store/leases.h"
#include "store/store.h"

struct control; /* Owned by its starter. */

struct control_options {
    struct store *store; /* Not owned. */
    struct clock clock;  /* The machine's; on a shared store the database's clock is used. */
    struct random random;
    /* NULL: the store's own node name, made at the first start.  On a shared store each node must
       have its own, the same at each start. */
    const char *node;
    /* Shared store: names the lock that this process holds, and that no other live server of the
       same node name can hold at the same time (membership.h); or NULL. */
    const char *place;
    /* Shared store: another server has taken this node's name, and this one must end.  Called on a
       thread of control. */
    void (*lost)(void *ctx, const struct err *why);
    void *lost_ctx;
    size_t lanes; /* On a shared store; 0: 4. */
    struct committer_limits limits;
    struct str defaults; /* A repository's document under all of them; or empty.  Not copied. */
    struct notify_channels channels;   /* Not owned. */
    struct account_configs accounts;   /* Not owned. */
    struct sink_configs sinks;         /* Not owned. */
    struct conductor_config conductor; /* Not owned. */
    struct sink_guard sink_guard;      /* For sinks that the API makes. */
    struct bus_rules bus;              /* Not owned. */
    struct expiry_rules retention;     /* Zeroes: nothing expires. */
    int64_t lease_us;                  /* What leases usually last; 0: 15 s */
    size_t queue_max, batch_max;       /* 0: 10,000 and 256 */
};

/* Starts the threads and takes back the leases of this node's earlier in-process workers.
   RC_CONFLICT (code NODE_IN_USE): another server has this node's name. */
MUST_USE enum rc control_start(const struct control_options *options, struct control **ret_control,
                               struct err *err);
/* Wakes streams and waiters for good, drains the committer, joins. */
void control_stop(struct control *control);

struct committer *control_committer(struct control *control);
struct bus *control_bus(struct control *control);
struct store *control_store(struct control *control);
struct clock control_clock(const struct control *control); /* The database's, if it is shared. */
const char *control_node(const struct control *control);

struct timers_state {
    char holder[LEASE_NAME_BYTES]; /* The node that runs them; "": not known. */
    bool here;
    int64_t since_us; /* 0: not known. */
    int64_t lag_us;   /* How late the oldest due time is. */
};
void control_timers(struct control *control, struct timers_state *ret_state);
/* False: this server has no Conductor. */
bool control_conductor(struct control *control, struct conductor_view *ret_view);
/* A command has changed a sink: its relay here follows at once, those of other nodes soon. */
void control_sinks_changed(struct control *control);
/* How far the tail has read the log: everything up to here has been published to the bus. */
int64_t control_tail_seq(struct control *control);
/* For shutdown: see tail_ask. */
int64_t control_tail_ask(struct control *control);
bool control_tail_served(struct control *control, int64_t asked);

#define RUN_TOKEN_PREFIX "drun_"
/* A run's token: "drun_<run id>_<mac>". */
enum { RUN_TOKEN_BYTES = 160 };
void control_run_token(const struct control *control, const struct id *run_id,
                       char to[RUN_TOKEN_BYTES]);
/* True and *ret_run when this store issued the token; the caller checks if the run is active. */
bool control_run_token_check(const struct control *control, const char *token, struct id *ret_run);
/* A code over a text that only the servers of this store can make.  The text begins with what it is
   for and a space, so that no code is valid for two purposes. */
void control_mac(const struct control *control, const char *text, char to[SHA256_TEXT_BYTES]);
#endif
