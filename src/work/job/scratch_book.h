/*
 * scratch_book.h - which ports and databases of a worker are leased, and to whom.
 *
 * A lease is a file, DIR/<holder>.json, and the file is the truth: there is no table in memory.
 * The holder is a run, or a job whose step has a lease for itself.
 *
 * Invariants:
 *   1. A port stands in at most one file.  It is given under the lock, after all files were read.
 *   2. A lease is on disk before its holder uses anything of it, and a database stands in it before
 *      the database is made.  So what a killed worker leaves is in a file.
 *   3. A lease ends once: its file is removed after all that it names was dropped.
 *
 * A file names the process that wrote it (instance).  One of another process, or of none, is left
 * over: no step of this process holds it, and it is to be dropped (agent/scratch.h does that).
 */
#ifndef WORK_JOB_SCRATCH_BOOK_H
#define WORK_JOB_SCRATCH_BOOK_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/config/scratch_config.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    SCRATCH_PORT_FROM = 20000, /* Below the ports that the kernel gives to connections. */
    SCRATCH_PORT_TO = 29999,
    SCRATCH_LEASES_MAX = 1000,
    SCRATCH_INSTANCE_BYTES = 17,
};

struct port_range {
    int64_t from, to; /* Both included. */
};
/* "20000-29999".  RC_INVALID, with what is wrong. */
MUST_USE enum rc port_range_parse(const char *text, struct port_range *ret_range, struct err *err);

struct scratch_lease {
    struct id holder;
    struct id run_id, task_id; /* Empty: the job belongs to no run. */
    const char *instance;      /* "": left over. */
    int64_t ports[SCRATCH_PORTS_MAX];
    size_t port_count;
    struct {
        const char *name;     /* As configured. */
        const char *database; /* Its own: no other lease has it. */
    } databases[SCRATCH_DATABASES_MAX];
    size_t database_count;
    const char *config; /* The repository's, as JSON: what it is dropped with. */
    int64_t used_us;    /* Wall clock. */
};

/* How many are leased. */
struct scratch_total {
    int64_t leases, ports, databases;
};

struct scratch_book; /* Owned by its opener; all threads may use it. */

/* The leases are in WORK_DIR/scratch, which is made where it is missing.  A range of zeroes is the
   usual one. */
MUST_USE enum rc scratch_book_open(const char *work_dir, const struct port_range *ports,
                                   struct scratch_book **ret_book, struct err *err);
void scratch_book_free(struct scratch_book *book);
const char *scratch_book_dir(const struct scratch_book *book);

/* A new lease for lease->holder, with so many ports; the rest of *lease is the caller's, which no
   file may have yet.  RC_LIMIT, PORTS_TAKEN: not now, err->retry_ms says when to try again.
   RC_INVALID: this worker has no such number of ports. */
MUST_USE enum rc scratch_book_lease(struct scratch_book *book, struct scratch_lease *lease,
                                    int64_t ports, struct arena *arena, struct err *err);
/* RC_NOT_FOUND: it holds nothing. */
MUST_USE enum rc scratch_book_find(struct scratch_book *book, const struct id *holder,
                                   struct arena *arena, struct scratch_lease *ret_lease,
                                   struct err *err);
/* Replaces what the file says. */
MUST_USE enum rc scratch_book_save(struct scratch_book *book, const struct scratch_lease *lease,
                                   struct err *err);
/* Ends it; one that has ended is fine. */
MUST_USE enum rc scratch_book_end(struct scratch_book *book, const struct id *holder,
                                  struct err *err);
/* Notes that it is in use. */
void scratch_book_touch(const struct scratch_book *book, const struct id *holder);
/* All of them, at most SCRATCH_LEASES_MAX.  A file that cannot be read is logged and left out. */
size_t scratch_book_list(struct scratch_book *book, struct arena *arena,
                         struct scratch_lease **ret_leases);
/* Was it made by this process? */
bool scratch_book_is_own(const struct scratch_book *book, const struct scratch_lease *lease);
struct scratch_total scratch_book_total(const struct scratch_book *book);

/* The name of a database that no lease has. */
const char *scratch_database_name(const char *name, struct arena *arena);
#endif
