/*
 * rsa_kit.h - RSA keys for tests, made once for a suite, and tokens checked with them.
 */
#ifndef TESTS_UNIT_RSA_KIT_H
#define TESTS_UNIT_RSA_KIT_H
#include "base/buf.h"
#include <stdbool.h>

/* A private key in PEM, each time another.  The last one that was made checks tokens. */
void rsa_kit_make(struct buf *pem, int bits);
/* Is the token header.claims.signature signed by the key?  claims gets the JSON in the middle. */
bool rsa_kit_verify(const char *token, struct buf *claims);
#endif
