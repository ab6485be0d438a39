/*
 * migration_traces.c - the trace of the request that submitted a run: core/traceparent.h.
 */
#include "store/migrate.h"

const char *const migration_traces[] = {
    "ALTER TABLE runs ADD COLUMN traceparent {text}",
    NULL,
};
