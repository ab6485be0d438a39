/*
 * signature.h - Ed25519 signatures over OpenSSL: keys as PEM, signatures as base64.
 */
#ifndef BASE_SIGNATURE_H
#define BASE_SIGNATURE_H
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>

enum { SIGNATURE_TEXT_BYTES = 89, SIGNATURE_PEM_MAX = 4096 }; /* 64 bytes in base64, and NUL. */

/* A new key: its private half (PKCS#8) and its public one. */
void signature_make_key(struct buf *private_pem, struct buf *public_pem);
/* RC_INVALID (code KEY_INVALID): no private Ed25519 key. */
MUST_USE enum rc signature_make(struct str private_pem, struct str text,
                                char to[SIGNATURE_TEXT_BYTES], struct err *err);
/* The public half of a private key. */
MUST_USE enum rc signature_public(struct str private_pem, struct buf *public_pem, struct err *err);
/* RC_DENIED (code SIGNATURE_WRONG): of another key, or of another text.  RC_INVALID (code
   KEY_INVALID): no public Ed25519 key. */
MUST_USE enum rc signature_check(struct str public_pem, struct str text, const char *signature,
                                 struct err *err);
#endif
