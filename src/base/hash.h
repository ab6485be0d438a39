/*
 * hash.h - sha256 and HMAC over OpenSSL.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_TEXT_BYTES = 65 };

struct sha256; /* A running digest, owned by its maker. */
struct sha256 *sha256_begin(void);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);
void sha256_end(struct sha256 *sha, char to[SHA256_TEXT_BYTES]); /* Frees it. */
void sha256_discard(struct sha256 *sha);                         /* Frees it; NULL is fine. */

void sha256_hex(const void *bytes, size_t len, char to[SHA256_TEXT_BYTES]);
/* Of a file from its start, at any file offset; RC_IO: errno has the reason. */
MUST_USE enum rc sha256_file(int fd, char ret_sha256[SHA256_TEXT_BYTES], int64_t *ret_bytes);
bool sha256_text_valid(const char *text); /* 64 lower-case hex digits. */

struct hmac_key {
    const void *bytes;
    size_t len;
};
void hmac_sha256(struct hmac_key key, const void *bytes, size_t len,
                 unsigned char to[SHA256_BYTES]);
void hmac_sha256_hex(struct hmac_key key, const void *bytes, size_t len,
                     char to[SHA256_TEXT_BYTES]);
/* Takes the same time wherever the texts differ. */
bool secret_same(const char *a, const char *b);
#endif
