/*
 * event_contract.h - does an event keep its contract: the envelope of schemas/event.json, and for
 * its data the schema of its type and version?
 *
 * Schemas are opened when they are first needed and kept.  Not for several threads at once.  Pure.
 */
#ifndef CORE_CONFIG_EVENT_CONTRACT_H
#define CORE_CONFIG_EVENT_CONTRACT_H
#include "base/js.h"
#include "core/config/faults.h"
#include "core/config/schema.h"
#include "core/event_types.h"

/* Start from {0}. */
struct event_contracts {
    struct schema envelope;
    struct schema data[EVENT_TYPE_COUNT];
};

void event_contracts_release(struct event_contracts *contracts); /* For CLEANUP too. */
/* The event as drover writes it.  True: it fits, and *faults is as it was. */
bool event_contracts_check(struct event_contracts *contracts, const struct js *event,
                           struct arena *arena, struct faults *faults);
/* Its data alone, at the version that the table has. */
bool event_contracts_check_data(struct event_contracts *contracts, const struct event_type *entry,
                                const struct js *data, struct arena *arena, struct faults *faults);
#endif
