/*
 * jwt.h - a JSON Web Token signed with an RSA key (RS256), over OpenSSL.
 */
#ifndef BASE_JWT_H
#define BASE_JWT_H
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdint.h>

enum { JWT_BYTES_MAX = 4096, JWT_KEY_BITS_MIN = 2048 };

struct jwt_claims {
    const char *issuer;
    int64_t issued_s, expires_s; /* Since 1970. */
};

/* Appends the token.  RC_INVALID, code KEY_INVALID: the text is no private RSA key in PEM, is
   locked with a password, or is shorter than JWT_KEY_BITS_MIN. */
MUST_USE enum rc jwt_sign_rs256(struct str pem, const struct jwt_claims *claims, struct buf *into,
                                struct err *err);
/* base64url without padding (RFC 4648, section 5). */
void base64url_add(struct buf *into, const void *bytes, size_t len);
#endif
