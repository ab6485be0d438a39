/*
 * subscriptions.h - commands that make, change and remove subscriptions.
 */
#ifndef CONTROL_MESSAGING_SUBSCRIPTIONS_H
#define CONTROL_MESSAGING_SUBSCRIPTIONS_H
#include "control/commit/command.h"
#include "store/subscriptions.h"

struct cmd_subscription_put { /* RC_CONFLICT beyond SUBSCRIPTIONS_MAX. */
    struct command base;
    const char *name, *pattern, *queue;
    struct subscription_row row; /* The answer. */
    bool created;
};
struct cmd_subscription_put *cmd_subscription_put_new(void);

struct cmd_subscription_remove { /* Delivered messages stay in its queue. */
    struct command base;
    const char *name;
};
struct cmd_subscription_remove *cmd_subscription_remove_new(void);
#endif
