/*
 * sinks.h - the command that writes how far a sink has come, and what people see of a sink.
 */
#ifndef CONTROL_WATCH_SINKS_H
#define CONTROL_WATCH_SINKS_H
#include "control/commit/command.h"
#include "sink/sink.h"
#include "store/leases.h"
#include "store/sinks.h"

struct cmd_sink {
    struct command base;
    struct lease_fence turn; /* Of the node that posts it; none where the store is not shared. */
    bool make;               /* The sink is new: it starts at the cursor. */
    struct sink_row row;     /* Name, cursor and error.  Texts are not copied. */
    const struct sink_dead_letter *refused; /* The event at the cursor; NULL: none.  Not copied. */
};
struct cmd_sink *cmd_sink_new(void);

enum sink_state { SINK_STARTING, SINK_RUNNING, SINK_RETRYING };
const char *sink_state_name(enum sink_state state);

struct sink_view {
    enum sink_state state;
    struct sink_row row; /* Zeroed while it starts. */
    int64_t lag;         /* Places in the log behind the cursor. */
    int64_t lag_us;      /* The age of the first event behind it; 0: there is none. */
};
MUST_USE enum rc sink_look(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                           struct sink_view *ret_view, struct err *err);
#endif
