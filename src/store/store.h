/*
 * store.h - the only durable state: opens an engine, migrates its schema, hands out connections.
 *
 * SQLite: one writer connection (WAL, synchronous=FULL, checkpoints in the writer), readers
 * beside it; one server.
 * PostgreSQL: as many writers and readers as are opened, and several servers, which wake each
 * other by notices and decide by leases (leases.h) which one does what only one may do.
 * A schema newer than this binary is refused.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H
#include "store/db.h"

struct store; /* Owned by its opener. */

struct store_options {
    /* sqlite:PATH, sqlite::memory: (for tests and the simulator) or postgres://... */
    const char *url;
    /* For contents; NULL: artifact_put and the like are refused.  PostgreSQL holds them itself. */
    const char *artifact_dir;
};

bool store_url_known(const char *url); /* Is there an engine for it? */
MUST_USE enum rc store_open(const struct store_options *options, struct store **ret_store,
                            struct err *err);
void store_close(struct store *store);

struct db *store_writer(struct store *store);
/* A connection for reading only, with its own snapshot per statement.  Give it back with
   store_reader_close.  In memory the writer itself is handed out (single thread). */
MUST_USE enum rc store_reader_open(struct store *store, struct db **ret_db, struct err *err);
void store_reader_close(struct store *store, struct db *db);

/* One more connection for writing, for a thread of its own.  SQLite has only one writer and hands
   that out. */
MUST_USE enum rc store_writer_open(struct store *store, struct db **ret_db, struct err *err);
void store_writer_close(struct store *store, struct db *db);

const char *store_artifact_dir(const struct store *store);
/* Of the file that holds it; NULL: it is in none of this machine's. */
const char *store_database_path(const struct store *store);
const char *store_durability(const struct store *store); /* "sqlite WAL synchronous=FULL" */
int64_t store_schema_version(void);                      /* The one this binary writes. */
/* A consistent copy while running (SQLite online backup).  RC_INVALID with the command to run
   instead where the engine has a tool of its own. */
MUST_USE enum rc store_backup(struct store *store, const char *to_path, struct err *err);

/* All space that holds nothing is given back at once, and can be while it is in use from then on.
   No server may have it open, and it takes as much room again while it is made: RC_CONFLICT (code
   STORE_IN_USE), RC_INVALID where the engine has a tool of its own. */
struct compacted {
    int64_t before_bytes, after_bytes;
};
MUST_USE enum rc store_compact(const char *url, struct compacted *ret_compacted, struct err *err);

/* ---- notices between several servers on one store: store_shared.c ---- */

bool store_is_shared(const struct store *store); /* May other servers use it, too? */

enum store_channel { STORE_JOBS, STORE_EVENTS, STORE_CHANNEL_COUNT };
enum { NOTICE_BYTES_MAX = 1024 };

/*
 * Wakes the listeners of all servers.  A hint: it can be lost, so listeners also poll from time to
 * time.  Sent over a connection of its own; call it after the commit.  The payload may be NULL.
 * Thread-safe.  Without other servers it does nothing.
 */
MUST_USE enum rc store_notify(struct store *store, enum store_channel channel, const char *payload,
                              struct err *err);

struct notice_listener; /* Owned by its opener; one thread waits on it. */
struct wakeup {
    struct {
        bool woken;
        bool all; /* Payloads were missed, missing or too many: check everything. */
        char payloads[NOTICE_BYTES_MAX]; /* Separated by commas. */
    } channels[STORE_CHANNEL_COUNT];
    bool called; /* By notice_listener_wake. */
};
MUST_USE enum rc store_listen(struct store *store, struct notice_listener **ret_listener,
                              struct err *err);
/* Returns when a notice was received, after notice_listener_wake, and after timeout_ms at the
   latest (a connection that has to be opened again may take some seconds more). */
void notice_listener_wait(struct notice_listener *listener, int timeout_ms,
                          struct wakeup *ret_wakeup);
void notice_listener_wake(struct notice_listener *listener); /* From any thread. */
void notice_listener_close(struct notice_listener *listener);

/* The time at the server of a shared store.  Before others use the writer. */
MUST_USE enum rc store_clock(struct store *store, int64_t *ret_us, struct err *err);

/*
 * A server that has claimed its name (leases.h) enrolls before it lends out connections.  From then
 * on
 * - every writing connection has the mark of the session, by which other servers can end it, and
 * - every transaction that writes commits only while the claim has this epoch: RC_UNREACHABLE
 *   (code NODE_LOST) after another server has claimed the name.
 */
struct store_fence {
    const char *lease; /* The claim. */
    int64_t epoch;
    const char *session; /* Hexadecimal. */
};
void store_enroll(struct store *store, const struct store_fence *fence); /* Copies it. */
#endif
