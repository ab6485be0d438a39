/*
 * sync_mode.h - how drover learns what changes at a forge: by webhooks, or by polling.
 *
 * Webhooks count as working from a delivery that arrived until one is found that did not.  A
 * repository without a webhook, or whose deliveries do not arrive, is polled.
 *
 *                a delivery arrives
 *     polling ------------------------> webhooks
 *        ^                                 |
 *        +---------------------------------+
 *          one is found that did not, or the webhook was taken out of the configuration
 */
#ifndef CORE_PR_SYNC_MODE_H
#define CORE_PR_SYNC_MODE_H
#include <stdbool.h>
#include <stdint.h>

enum sync_mode { SYNC_POLLING, SYNC_WEBHOOKS };

/* A delivery, or a change, is not missed before it is that old: it may be on its way. */
enum { SYNC_IN_FLIGHT_MS = 60 * 1000 };

struct sync_facts {
    bool webhook;             /* The repository has a secret for them, and the forge sends them. */
    int64_t last_delivery_us; /* The last one that arrived by itself; 0: none ever. */
    int64_t missed_us;        /* When one was found last that did not; 0: never. */
};
struct sync_pauses {
    int64_t poll_ms;    /* Between two polls, */
    int64_t recover_ms; /* and between two looks for missed deliveries while webhooks work. */
};

enum sync_mode sync_mode_of(const struct sync_facts *facts);
int64_t sync_pause_ms(enum sync_mode mode, const struct sync_pauses *pauses);
/* Something that happened at sent_us has not arrived by now. */
bool sync_is_missed(int64_t sent_us, int64_t now_us);

const char *sync_mode_name(enum sync_mode mode);
bool sync_mode_parse(const char *name, enum sync_mode *ret_mode);
#endif
