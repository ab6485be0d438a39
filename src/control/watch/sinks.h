/*
 * sinks.h - the commands of sinks, of their relays and of the API, and what people see of a sink.
 *
 *   starting ──► running ◄──► retrying ◄──► open      the breaker: one event at a time is tried
 *      any of them ◄── pause, resume ──► paused
 *
 * A sink is in the server's configuration or was made by the API; its row has the configuration
 * then.  The configuration of the server wins where both have one name.
 */
#ifndef CONTROL_WATCH_SINKS_H
#define CONTROL_WATCH_SINKS_H
#include "control/commit/command.h"
#include "sink/sink.h"
#include "store/leases.h"
#include "store/sinks.h"

enum { SINK_LETTERS_MAX = 10000, SINK_LETTER_NUMBERS_MAX = 100 };

/* ---- the relay's ---- */

struct cmd_sink {
    struct command base;
    struct lease_fence turn; /* Of the node that posts it; none where the store is not shared. */
    bool make;               /* The sink is new: it starts at the cursor. */
    struct sink_row row;     /* Name, cursor, error and counts.  Texts are not copied. */
    const struct sink_dead_letter *refused; /* The event at the cursor; NULL: none.  Not copied. */
    /* Replayed ones; not copied.  The first `delivered` of them were, and `again` was not. */
    const struct sink_dead_letter *letters;
    size_t delivered;
    const struct sink_dead_letter *again; /* or NULL */
};
struct cmd_sink *cmd_sink_new(void);

/* ---- what people see ---- */

enum sink_state { SINK_STARTING, SINK_RUNNING, SINK_RETRYING, SINK_OPEN, SINK_PAUSED };
const char *sink_state_name(enum sink_state state);

struct sink_view {
    enum sink_state state;
    struct sink_row row; /* Zeroed while it starts. */
    int64_t lag;         /* Places in the log behind the cursor. */
    int64_t lag_us;      /* The age of the first event behind it; 0: there is none. */
};
MUST_USE enum rc sink_look(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                           struct sink_view *ret_view, struct err *err);

/* The cursor of a sink that is to start there.  RC_NOT_FOUND: at the end of the log. */
MUST_USE enum rc sink_from_seq(struct db *db, const struct sink_from *from, struct arena *arena,
                               int64_t *ret_seq, struct err *err);

/* ---- the API's ---- */

/* Makes or changes one.  RC_CONFLICT: there are SINKS_MADE_MAX, or it would write to the same place
   as another one. */
struct cmd_sink_put {
    struct command base;
    struct sink_config config;
    struct str document;   /* The same as JSON. */
    struct sink_view view; /* The answer. */
    bool created;
};
struct cmd_sink_put *cmd_sink_put_new(void);

/* The names in `configured` are those of this node's configuration. */
struct cmd_sink_pause {
    struct command base;
    const char *name;
    bool configured;
    bool pause; /* Else it resumes, and a failed delivery is tried again at once. */
    struct sink_view view;
};
struct cmd_sink_pause *cmd_sink_pause_new(void);

struct cmd_sink_remove {
    struct command base;
    const char *name;
};
struct cmd_sink_remove *cmd_sink_remove_new(void);

/* Delivers dead letters once more, or forgets them. */
struct cmd_sink_letters {
    struct command base;
    const char *name;
    bool discard;
    int64_t sequences[SINK_LETTER_NUMBERS_MAX];
    size_t sequence_count; /* 0: all */
    int64_t changed;       /* The answer: how many. */
};
struct cmd_sink_letters *cmd_sink_letters_new(void);
#endif
