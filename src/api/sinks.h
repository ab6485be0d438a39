/*
 * sinks.h - all sinks that this node knows: of its configuration, and made by the API.
 */
#ifndef API_SINKS_H
#define API_SINKS_H
#include "api/api.h"
#include "control/watch/sinks.h"

struct sink_entry {
    const char *name;
    bool made;                        /* By the API. */
    const struct sink_config *config; /* NULL: it cannot be read; why says it. */
    struct err why;
    struct sink_view view;
};
/* By name.  In the arena. */
MUST_USE enum rc sink_entries(struct api *api, struct db *db, struct arena *arena,
                              struct sink_entry **ret_entries, size_t *ret_count, struct err *err);
#endif
