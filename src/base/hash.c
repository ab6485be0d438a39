/*
 * hash.c - sha256 and HMAC over OpenSSL.
 *
 * OpenSSL fails here only when memory is out or its installation is broken;
 * neither can be handled, so both end the process (see mem.h).
 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <unistd.h>

struct sha256 {
    EVP_MD_CTX *context;
};

struct sha256 *sha256_begin(void)
{
    struct sha256 *sha = mem_alloc(sizeof *sha);
    sha->context = EVP_MD_CTX_new();
    assert(sha->context != NULL);
    int ok = EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL);
    assert(ok == 1);
    return sha;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t len)
{
    int ok = EVP_DigestUpdate(sha->context, bytes, len);
    assert(ok == 1);
}

void sha256_end(struct sha256 *sha, char to[SHA256_TEXT_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    int ok = EVP_DigestFinal_ex(sha->context, digest, NULL);
    assert(ok == 1);
    hex_encode(to, digest, sizeof digest);
    sha256_discard(sha);
}

void sha256_discard(struct sha256 *sha)
{
    if (sha == NULL)
        return;
    EVP_MD_CTX_free(sha->context);
    mem_free(sha);
}

void sha256_hex(const void *bytes, size_t len, char to[SHA256_TEXT_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    int ok = EVP_Digest(bytes, len, digest, NULL, EVP_sha256(), NULL);
    assert(ok == 1);
    hex_encode(to, digest, sizeof digest);
}

enum rc sha256_file(int fd, char ret_sha256[SHA256_TEXT_BYTES], int64_t *ret_bytes)
{
    char chunk[64 * 1024];
    int64_t bytes = 0;
    ssize_t got;
    struct sha256 *sha = sha256_begin();
    while ((got = pread(fd, chunk, sizeof chunk, (off_t)bytes)) > 0) {
        sha256_add(sha, chunk, (size_t)got);
        bytes += got;
    }
    if (got < 0) {
        sha256_discard(sha);
        return RC_IO;
    }
    sha256_end(sha, ret_sha256);
    *ret_bytes = bytes;
    return RC_OK;
}

bool sha256_text_valid(const char *text)
{
    return text != NULL && strspn(text, "0123456789abcdef") == SHA256_TEXT_BYTES - 1 &&
           text[SHA256_TEXT_BYTES - 1] == '\0';
}

void hmac_sha256(struct hmac_key key, const void *bytes, size_t len, unsigned char to[SHA256_BYTES])
{
    assert(key.len <= INT_MAX);
    const unsigned char *done = HMAC(EVP_sha256(), key.bytes, (int)key.len, bytes, len, to, NULL);
    assert(done != NULL);
}

void hmac_sha256_hex(struct hmac_key key, const void *bytes, size_t len, char to[SHA256_TEXT_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    hmac_sha256(key, bytes, len, digest);
    hex_encode(to, digest, sizeof digest);
}

bool secret_same(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return false;
    size_t len = strlen(a);
    return len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}
