/*
 * secret.h - a password or token of a sink: the configuration names its place and never
 * holds it.
 *
 *     passwordEnv: NATS_PASSWORD          a variable of the server's environment, or
 *     passwordFile: /etc/drover/nats      a file; one line end at its end is left out
 *
 * It is read each time the sink connects: a file that was replaced is used from then on.
 */
#ifndef SINK_SECRET_H
#define SINK_SECRET_H
#include "base/fields.h"
#include "base/rc.h"
#include <stdbool.h>

enum { SINK_SECRET_BYTES = 2048 };

struct sink_secret {
    const char *variable, *file; /* One of them; both NULL: none is named. */
};
struct sink_secret_keys {
    const char *variable, *file; /* "passwordEnv", "passwordFile" */
};
struct sink_secret sink_secret_decode(struct fields *fields, const struct sink_secret_keys *keys,
                                      struct arena *arena);
bool sink_secret_named(const struct sink_secret *secret);

struct sink_secret_value {
    char text[SINK_SECRET_BYTES];
};
void sink_secret_wipe(struct sink_secret_value *value); /* For CLEANUP. */
/* RC_OK with "": none is named.  RC_INVALID, SINK_SETTINGS: the variable is not set, or what is
   there is empty or has several lines.  Others: the file cannot be read. */
MUST_USE enum rc sink_secret_read(const struct sink_secret *secret,
                                  struct sink_secret_value *ret_value, struct err *err);
#endif
