#include "tests/unit/rsa_kit.h"
#include "tests/unit/memo.h"
#include <check.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

static EVP_PKEY *key;

struct made {
    size_t len;
    char pem[8192];
};

static void make(struct made *made, int bits)
{
    EVP_PKEY *fresh = EVP_RSA_gen((unsigned)bits);
    ck_assert_ptr_nonnull(fresh);
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    ck_assert_int_eq(PEM_write_bio_PrivateKey(bio, fresh, NULL, NULL, 0, NULL, NULL), 1);
    long len = BIO_get_mem_data(bio, &bytes);
    ck_assert(len > 0 && (size_t)len <= sizeof made->pem);
    memcpy(made->pem, bytes, (size_t)len);
    made->len = (size_t)len;
    BIO_free(bio);
    EVP_PKEY_free(fresh);
}

void rsa_kit_make(struct buf *pem, int bits)
{
    static int count; /* Of those of this test. */
    struct made made = {0};
    char name[16];
    (void)snprintf(name, sizeof name, "rsa %d %d", bits, count++);
    if (!memo_get(name, &made, sizeof made)) {
        make(&made, bits);
        memo_put(name, &made, sizeof made);
    }
    BIO *bio = BIO_new_mem_buf(made.pem, (int)made.len);
    EVP_PKEY_free(key);
    key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(key);
    BIO_free(bio);
    buf_add(pem, made.pem, made.len);
}

static size_t decode64(const char *from, size_t len, unsigned char *to)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0, held = 0;
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        const char *at = memchr(letters, from[i], sizeof letters - 1);
        ck_assert_msg(at != NULL, "%c is no letter of base64url", from[i]);
        held = held << 6 | (unsigned)(at - letters);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            to[count++] = (unsigned char)(held >> bits);
        }
    }
    return count;
}

bool rsa_kit_verify(const char *token, struct buf *claims)
{
    unsigned char bytes[4096];
    const char *middle = strchr(token, '.'), *last = strrchr(token, '.');
    ck_assert(middle != NULL && last != middle && strlen(token) < sizeof bytes);
    size_t len = decode64(middle + 1, (size_t)(last - middle) - 1, bytes);
    buf_add(claims, bytes, len);
    len = decode64(last + 1, strlen(last + 1), bytes);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(context, bytes, len, (const unsigned char *)token,
                                 (size_t)(last - token)) == 1;
    EVP_MD_CTX_free(context);
    return good;
}
