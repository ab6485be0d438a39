/*
 * engine_postgres_link.h - one libpq connection that may be lost and opened again, and its
 * error messages.  For the files of the PostgreSQL engine only.
 *
 *   open ──── the server closed it, an answer did not come in time ───► lost
 *    ▲                                                                   │
 *    └── the next use outside a transaction, after the pause is over ────┘
 *
 * Pauses between tries double and carry jitter; during a pause every use fails at once.
 * The first link that is open again ends the pauses of all others to the same place.
 * The socket does not block: sending also reads the results that arrive, so that neither side can
 * wait for the other with full buffers, and every wait has an end.
 */
#ifndef STORE_ENGINE_POSTGRES_LINK_H
#define STORE_ENGINE_POSTGRES_LINK_H
#include "base/random.h"
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pg_conn;   /* libpq's PGconn ... */
struct pg_result; /* ... and PGresult. */

enum { PG_SESSION_BYTES = 33 };

enum pg_mode {
    PG_WRITES,  /* Pipeline mode. */
    PG_READS,   /* The same, in transactions that cannot write. */
    PG_LISTENS, /* No pipeline: one statement at a time. */
};

/* The server that links connect to, and the state that they share about it. */
struct pg_place {
    char *url;
    atomic_int_fast64_t opened_us;  /* When one was last opened, on the monotonic clock. */
    char session[PG_SESSION_BYTES]; /* Marks links that write (session_key.h); "": none does. */
};

struct pg_link {
    struct pg_place *place; /* Not owned. */
    enum pg_mode mode;
    struct pg_conn *pg;  /* NULL: lost. */
    uint32_t generation; /* Grows with every opening; prepared statements die with theirs. */
    int64_t pause_us;    /* The last pause; 0 after a success. */
    int64_t failed_us;   /* The last try, on the monotonic clock, ... */
    int64_t retry_us;    /* ... and no other before, unless the place was reached meanwhile. */
    struct random random;
};

void pg_link_init(struct pg_link *link, struct pg_place *place, enum pg_mode mode);
/* Tries now, also during a pause. */
MUST_USE enum rc pg_link_open(struct pg_link *link, struct err *err);
/* Open and, as far as can be seen from here, alive; otherwise tries unless a pause runs. */
MUST_USE enum rc pg_link_ready(struct pg_link *link, struct err *err);
void pg_link_lose(struct pg_link *link); /* Closes it. */

/* RC_UNREACHABLE, and the link is lost. */
enum rc pg_link_broken(struct pg_link *link, const char *name, struct err *err);
/* Sends everything that libpq holds back. */
MUST_USE enum rc pg_link_flush(struct pg_link *link, const char *name, struct err *err);
/* The next result, to be cleared by the caller; NULL at the end of a statement's results. */
MUST_USE enum rc pg_link_result(struct pg_link *link, const char *name,
                                struct pg_result **ret_result, struct err *err);
/* Statements without parameters, outside of a pipeline.  ret_result (the last one) may be NULL. */
MUST_USE enum rc pg_link_script(struct pg_link *link, const char *name, const char *text,
                                struct pg_result **ret_result, struct err *err);

/* What an error result means. */
enum rc pg_result_fail(const struct pg_result *result, const char *name, struct err *err);
#endif
