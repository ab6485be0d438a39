/*
 * origins.h - compares branches and pull requests at the origins with the database.
 *
 * The doctor reports the differences.  The reconciler compares when the server starts and every
 * hour, on a pool thread: it has those that are drover's own and stale removed
 * (control/watch/strays.h), and logs the rest.
 */
#ifndef API_ORIGINS_H
#define API_ORIGINS_H
#include "api/api.h"
#include "control/watch/doctor.h"
#include "control/watch/strays.h"

struct origins_report {
    struct strays strays;
    const char *away; /* The first repository whose origin this node cannot read; NULL: none. */
    int64_t away_count;
};

/* An origin that cannot be read is counted; it is not an error. */
MUST_USE enum rc origins_examine(struct api *api, struct db *db, struct arena *arena,
                                 struct origins_report *ret_report, struct err *err);
/* The check of the doctor, and the member "strays" of its answer. */
struct doctor_check origins_check(const struct origins_report *report, struct arena *arena);
void origins_write(struct jw *jw, const struct origins_report *report);

struct reconciler; /* Owned by its starter. */
struct reconciler *reconciler_start(struct api *api);
/* After the loop and the pool have ended.  NULL is fine. */
void reconciler_free(struct reconciler *reconciler);
#endif
