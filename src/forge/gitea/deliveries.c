/*
 * deliveries.c - webhooks of Gitea and Forgejo: HMAC-SHA256 of the body, in hex.
 *
 * Forgejo sends the headers of Gitea beside its own.  Neither lists what it has sent.
 */
#include "forge/port/deliveries.h"
#include "base/hash.h"
#include <string.h>

static bool hmac_matches(const char *secret, const char *signature, struct str body)
{
    char expected[SHA256_TEXT_BYTES];
    if (text_empty(secret) || signature == NULL)
        return false;
    hmac_sha256_hex((struct hmac_key){secret, strlen(secret)}, body.at, body.len, expected);
    return secret_same(expected, signature);
}

const struct delivery_ops deliveries_gitea = {
    .headers = {.event = "X-Gitea-Event",
                .id = "X-Gitea-Delivery",
                .signature = "X-Gitea-Signature"},
    .signed_with = hmac_matches,
};
