/*
 * breaker_book.h - the breakers that a batch has read, each with its rules decoded.
 *
 * Lives as long as its batch, in the batch's arena.  What is changed is saved at once, so an entry
 * may be dropped at any time.
 */
#ifndef CONTROL_QUEUE_BREAKER_BOOK_H
#define CONTROL_QUEUE_BREAKER_BOOK_H
#include "core/queue/breaker_config.h"
#include "store/breakers.h"

struct context;

enum { BREAKER_BOOK_MAX = 16 };

struct breaker_entry {
    struct breaker_row row;
    struct breaker_config config;
    bool taken; /* Its row exists, and this transaction has locked it until the commit. */
    bool full;  /* Half-open, and all probes were out when this batch last counted them. */
};

struct breaker_book {
    struct breaker_entry entries[BREAKER_BOOK_MAX];
    size_t count;
};

/* The breaker as it was read last; one without a row is closed, with the defaults. */
MUST_USE enum rc breaker_look(struct context *ctx, const char *name,
                              struct breaker_entry **ret_entry);
/* The same to be changed: no other transaction can change it until the commit. */
MUST_USE enum rc breaker_take(struct context *ctx, const char *name,
                              struct breaker_entry **ret_entry);
#endif
