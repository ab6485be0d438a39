/*
 * event_params.h - the parameters by which streams, waits and listings choose events:
 *
 *     ?type=agent.run.*,agent.pr.>     one of these patterns fits
 *     &tag=urgent,repository:acme/web  it has all of these tags
 *     &agent=bob &persona=reviewer     it has the tag agent:bob, persona:reviewer
 *     &severity=warning                this or worse
 */
#ifndef API_EVENT_PARAMS_H
#define API_EVENT_PARAMS_H
#include "core/event_selector.h"
#include "http/params.h"

/* Texts live in the arena. */
void event_params_read(struct params *params, struct arena *arena,
                       struct event_selector *ret_selector);
/* runId or taskId, not both. */
void event_params_owner(struct params *params, struct id *ret_run, struct id *ret_task);
#endif
