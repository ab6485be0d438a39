/*
 * breaker_config.h - the rules of one breaker: decoded, checked, defaulted.
 *
 *   failures, windowMs, openMs, successes, probes
 *   fallback:          queue | alternative | default
 *   alternativeQueue:  where jobs go while it is open (alternative)
 *   defaultResult:     their result while it is open (default): an object
 *
 * A breaker without a configuration has the defaults.  Texts live in the arena.
 */
#ifndef CORE_QUEUE_BREAKER_CONFIG_H
#define CORE_QUEUE_BREAKER_CONFIG_H
#include "base/js.h"
#include "base/jw.h"
#include "core/queue/breaker.h"

/* What is done with a job while its call is denied. */
enum breaker_fallback {
    FALLBACK_QUEUE,       /* It waits until a call is allowed. */
    FALLBACK_ALTERNATIVE, /* It goes to another queue, whose consumers call something else. */
    FALLBACK_DEFAULT      /* It succeeds at once with a fixed result. */
};

#define BREAKER_NAME_SIGNS "._:/@+-[]"
enum { BREAKER_NAME_MAX = 256, BREAKER_RESULT_MAX = 10 * 1024 };

struct breaker_config {
    struct breaker_rules rules;
    enum breaker_fallback fallback;
    const char *alternative_queue; /* or NULL; FALLBACK_ALTERNATIVE */
    struct str default_result;     /* JSON object, or empty; FALLBACK_DEFAULT */
};

/* The document over the defaults. */
MUST_USE enum rc breaker_config_decode(const struct js *document, struct arena *arena,
                                       struct breaker_config *ret_config, struct err *err);
/* All of it, as a document that breaker_config_decode takes. */
void breaker_config_write(struct jw *jw, const struct breaker_config *config);
/* 1 to BREAKER_NAME_MAX bytes: letters, digits and BREAKER_NAME_SIGNS. */
bool breaker_name_valid(const char *name);
#endif
