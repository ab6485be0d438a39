/*
 * deliveries.c - webhooks of GitLab: it sends the secret itself, over TLS.
 *
 * A delivery's id is its Idempotency-Key (17.4), the same at every retry.  X-Gitlab-Event-UUID is
 * not one: all hooks that one request to GitLab causes share it.
 */
#include "forge/port/deliveries.h"
#include "base/hash.h"
#include <string.h>

static bool token_matches(const char *secret, const char *signature, struct str body)
{
    (void)body;
    char expected[SHA256_TEXT_BYTES], given[SHA256_TEXT_BYTES];
    if (text_empty(secret) || signature == NULL)
        return false;
    /* Of both a hash: so the time does not tell the length either. */
    sha256_hex(secret, strlen(secret), expected);
    sha256_hex(signature, strlen(signature), given);
    return secret_same(expected, given);
}

const struct delivery_ops deliveries_gitlab = {
    .headers = {.event = "X-Gitlab-Event", .id = "Idempotency-Key", .signature = "X-Gitlab-Token"},
    .signed_with = token_matches,
};
