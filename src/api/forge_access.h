/*
 * forge_access.h - who may get to a forge through this server, and what forges have left of their
 * rate limits, as answers show it.
 */
#ifndef API_FORGE_ACCESS_H
#define API_FORGE_ACCESS_H
#include "api/call.h"
#include "base/jw.h"
#include "control/queue/jobs.h"
#include "forge/token_source.h"
#include "store/forge_limits.h"
#include "store/jobs.h"

struct forge_lease {
    struct job_ref ref;
    enum forge_access access;
};
/* The job, when the caller holds its lease and its step may have this access.  RC_STALE,
   RC_CONFLICT, RC_DENIED. */
MUST_USE enum rc forge_access_lease(struct call *call, struct db *db,
                                    const struct forge_lease *lease, struct job_row *ret_job,
                                    struct err *err);

void forge_limits_write(struct jw *jw, const struct forge_limit_row *rows, size_t count);
#endif
