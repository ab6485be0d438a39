/*
 * throttle.h - rate limits of requests: token buckets by rule and actor.
 *
 *     limits:
 *       rates:
 *         - {route: "POST /v1/tasks", perSecond: 10, burst: 20}
 *         - {route: "*", perSecond: 1000, burst: 2000, actor: "token:ci"}
 *
 * The first rule that matches a call decides, with one bucket per actor: a rule for all routes
 * counts them together.  Without rules nothing is counted.  Each node counts for itself.  The
 * buckets are bounded in number: of those in the same set of the table the least recently used one
 * is evicted, which has the effect of a full bucket.
 *
 * Beside the rules each token has a bucket for the bytes that it reports as events of runs.
 */
#ifndef API_THROTTLE_H
#define API_THROTTLE_H
#include "api/auth.h"
#include "base/js.h"
#include "core/queue/bucket.h"

enum { RATE_RULES_MAX = 64 };

struct rate_rule {
    const struct route *route; /* NULL: all of them */
    const char *token;         /* By name; NULL: any */
    int role;                  /* enum role; -1: any */
    struct bucket_rule bucket;
};

/* rates: the array, at path in the document.  Unknown routes and roles are refused by name.
   Strings are copied into the arena. */
MUST_USE enum rc rate_rules_decode(const struct js *rates, const char *path, struct arena *arena,
                                   struct rate_rule **ret_rules, size_t *ret_count,
                                   struct err *err);

struct throttle; /* Owned by its maker; of one thread. */
struct throttle *throttle_new(const struct rate_rule *rules, size_t count); /* Not copied. */
void throttle_free(struct throttle *throttle);
/* Counts the call: 0 lets it pass, else the time after which the client may retry. */
int64_t throttle_wait_us(struct throttle *throttle, const struct identity *who,
                         const struct route *route, int64_t now_us);
/* The same for a call on behalf of another one, which a rule for all routes has counted already. */
int64_t throttle_inner_us(struct throttle *throttle, const struct identity *who,
                          const struct route *route, int64_t now_us);
/* The same for the bytes of a metered route, by a rule for all tokens. */
int64_t throttle_bytes_us(struct throttle *throttle, const struct bucket_rule *rule,
                          const struct identity *who, int64_t bytes, int64_t now_us);
/* The same for a call without a token, by what it counts for. */
int64_t throttle_source_us(struct throttle *throttle, const struct bucket_rule *rule,
                           const struct caps_key *source, int64_t now_us);
#endif
