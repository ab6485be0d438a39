/*
 * queue_config.h - the rules of one queue: decoded, checked, defaulted.
 *
 * A queue without a configuration has the defaults.  The document is kept as JSON bytes; this is
 * its decoded form.  Every unknown field is refused by name.  Nothing in here points into the
 * document.
 */
#ifndef CORE_QUEUE_QUEUE_CONFIG_H
#define CORE_QUEUE_QUEUE_CONFIG_H
#include "base/js.h"
#include "base/jw.h"
#include "core/queue/backoff.h"
#include <stdbool.h>
#include <stdint.h>

enum queue_order {
    ORDER_KEY,   /* Jobs with the same key one after the other; those without, in any order. */
    ORDER_NONE,  /* Keys are refused. */
    ORDER_GLOBAL /* One after the other, all of them. */
};

enum swarm_action {
    SWARM_WARN,   /* Emit a warning, accept them all. */
    SWARM_BUFFER, /* Accept them, release them at a steady rate. */
    SWARM_PROTECT /* Refuse them with a time to retry; urgent ones are accepted. */
};

struct queue_config {
    int64_t lease_us;     /* For leases that do not name a length. */
    int64_t max_attempts; /* For jobs that do not name a number. */
    struct backoff backoff;
    int64_t ttl_us;      /* For jobs that do not name one; 0: for ever. */
    int64_t max_length;  /* Jobs that wait; more are refused.  0: no limit. */
    int64_t concurrency; /* Jobs out on lease at once; 0: no limit. */
    int64_t rate;        /* Jobs leased per second; 0: no limit. */
    int64_t dedup_us;    /* Retention of a dedup key; 0: for ever. */
    enum queue_order order;
    struct {
        int64_t drop_at;  /* Jobs that wait from which low priority is turned away; 0: never. */
        int64_t defer_at; /* ... from which normal priority is put off; 0: never. */
        int64_t defer_us; /* For so long. */
    } shed;
    struct {
        int64_t warning_depth, critical_depth;
        int64_t warning_age_us, critical_age_us;
    } levels; /* 0: that one does not count. */
    struct {
        int64_t count; /* Jobs of one type within the window; 0: not watched. */
        int64_t window_us;
        enum swarm_action action;
        int64_t rate;     /* SWARM_BUFFER: so many a second are let out. */
        int64_t retry_us; /* SWARM_PROTECT: when senders should retry. */
    } swarm;
    struct {
        int64_t max;       /* Jobs that are gathered into one; 0: none are. */
        int64_t window_us; /* It goes out after this time at the latest. */
    } batch;
    struct {
        int64_t retention_us; /* Dead letters are deleted so long after their death; 0: never. */
        int64_t alert_at;     /* So many of them are worth an alert; 0: never. */
    } dead;
    struct { /* How many workers the queue should have. */
        int64_t min, max;
        int64_t jobs_per_worker;
        int64_t up_us, down_us; /* No other change for so long after one up, one down. */
    } scale;
};

/* The defaults of a queue of this name: those of drover's own steps differ. */
struct queue_config queue_config_default(const char *queue);

/* The document over the defaults of the queue. */
MUST_USE enum rc queue_config_decode(const char *queue, const struct js *document,
                                     struct queue_config *ret_config, struct err *err);
/* All of it, as a document that queue_config_decode takes. */
void queue_config_write(struct jw *jw, const struct queue_config *config);

bool queue_name_valid(const char *name); /* [a-zA-Z0-9._-]{1,100} */
/* RC_DENIED, QUEUE_NOT_ALLOWED: the list has names with a blank between them, and not this one.
   NULL: every name. */
MUST_USE enum rc queue_allowed(const char *list, const char *name, struct err *err);

/* What overload does to a job depends on how urgent it is. */
enum urgency { URGENCY_CRITICAL, URGENCY_NORMAL, URGENCY_LOW };
enum urgency urgency_of(int64_t priority); /* up to 50; up to 199; beyond */
#endif
