/*
 * secrets.h - what must not leave the worker: tokens of well-known shapes, and values that are
 * secret because they were handed out by name.
 *
 * The scan goes line by line.  It finds:
 *
 *   a value      of a variable that an agent was given, wherever it stands; also percent-encoded,
 *                and in base64, alone or with other bytes round it (user:password)
 *   a shape      AKIA..., ghp_..., sk-ant-..., eyJ....eyJ...., https://user:password@host; those
 *                that begin with letters of their own also in base64
 *   an owner     password = "...", "api_key": "...": a value that looks random
 *   a key        the body of a -----BEGIN ... PRIVATE KEY----- block, over many lines
 */
#ifndef CORE_TEXT_SECRETS_H
#define CORE_TEXT_SECRETS_H
#include "base/arena.h"
#include "base/str.h"
#include "core/text/secrets_encoded.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SECRETS_VALUES_MAX = 128,
    SECRETS_VALUE_MIN = 8,    /* Shorter ones cannot be distinguished from words. */
    SECRETS_VALUE_MAX = 4096, /* Of one line of a value. */
};

/* What to search for.  Made once, then only read: threads may share it. */
struct secrets {
    struct {
        const char *rule;
        struct str text;
    } values[SECRETS_VALUES_MAX];
    size_t value_count;
    unsigned char begins[256];    /* By byte: what may begin with it (secrets.c). */
    struct encoded_starts starts; /* Of values and shapes in base64. */
    bool shapes;                  /* false: only the values. */
};

void secrets_init(struct secrets *secrets);
/*
 * Every line of the value counts, from SECRETS_VALUE_MIN bytes on.  An absolute path, and an
 * address that holds no password, are no secrets.  The texts are not copied.
 */
void secrets_add(struct secrets *secrets, const char *rule, const char *value);

/* Where the scan is in a block of a private key; zero is outside. */
enum key_state { KEY_OUTSIDE, KEY_HEAD, KEY_BODY };

struct secret {
    const char *rule; /* github-token, password, ... */
    size_t at, len;
};
/* One line, from its start; to be called until there are no more, so that *key is right. */
struct secret_scan {
    const struct secrets *secrets;
    struct str line;
    enum key_state *key;
    size_t at;
    size_t from;      /* Behind the last secret. */
    bool inside;      /* The line belongs to a block. */
    size_t run_end;   /* Of characters that base64 may be made of, */
    bool run_is_long; /* long enough to hold a secret. */
};
struct secret_scan secrets_scan(const struct secrets *secrets, struct str line,
                                enum key_state *key);
bool secrets_next(struct secret_scan *scan, struct secret *ret_secret);
#endif
