/*
 * jwt.c - see jwt.h.
 *
 *     base64url({"alg":"RS256","typ":"JWT"}) . base64url({"iat","exp","iss"}) . base64url(signed)
 */
#include "base/jwt.h"
#include "base/jw.h"
#include "base/pem.h"
#include <assert.h>
#include <openssl/err.h>
#include <openssl/evp.h>

enum { SIGNATURE_BYTES_MAX = 2048 };

void base64url_add(struct buf *into, const void *bytes, size_t len)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *at = bytes;
    for (; len >= 3; at += 3, len -= 3) {
        buf_addc(into, letters[at[0] >> 2]);
        buf_addc(into, letters[(at[0] & 3) << 4 | at[1] >> 4]);
        buf_addc(into, letters[(at[1] & 15) << 2 | at[2] >> 6]);
        buf_addc(into, letters[at[2] & 63]);
    }
    if (len == 0)
        return;
    unsigned second = len == 2 ? at[1] : 0;
    buf_addc(into, letters[at[0] >> 2]);
    buf_addc(into, letters[(at[0] & 3U) << 4 | second >> 4]);
    if (len == 2)
        buf_addc(into, letters[(second & 15) << 2]);
}

static enum rc sign(EVP_PKEY *key, struct buf *into, struct err *err)
{
    unsigned char signature[SIGNATURE_BYTES_MAX];
    size_t len = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(context != NULL);
    bool done = EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(context, signature, &len, (const unsigned char *)into->data,
                               into->len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    if (!done)
        return err_set(err, RC_INVALID, "KEY_INVALID", "the key cannot sign");
    buf_addc(into, '.');
    base64url_add(into, signature, len);
    return RC_OK;
}

static void add_claims(struct buf *into, const struct jwt_claims *claims)
{
    static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, JWT_BYTES_MAX);
    struct jw jw = jw_to(&json);
    jw_begin(&jw, '{');
    jw_kint(&jw, "iat", claims->issued_s);
    jw_kint(&jw, "exp", claims->expires_s);
    jw_kstr(&jw, "iss", claims->issuer);
    jw_end(&jw, '}');
    base64url_add(into, head, sizeof head - 1);
    buf_addc(into, '.');
    base64url_add(into, json.data, json.len);
}

enum rc jwt_sign_rs256(struct str pem, const struct jwt_claims *claims, struct buf *into,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf token;
    buf_init(&token, JWT_BYTES_MAX);
    EVP_PKEY *key = pem_private_key(pem);
    enum rc rc = RC_OK;
    if (key == NULL)
        rc = err_set(err, RC_INVALID, "KEY_INVALID",
                     "it is no private key in PEM, or is locked with a password");
    else if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA)
        rc = err_set(err, RC_INVALID, "KEY_INVALID", "it is no RSA key");
    else if (EVP_PKEY_get_bits(key) < JWT_KEY_BITS_MIN)
        rc = err_set(err, RC_INVALID, "KEY_INVALID", "it has fewer than %d bits", JWT_KEY_BITS_MIN);
    if (rc == RC_OK) {
        add_claims(&token, claims);
        rc = sign(key, &token, err);
    }
    EVP_PKEY_free(key);
    if (rc == RC_OK && token.overflow)
        rc = err_set(err, RC_TOO_LARGE, "KEY_INVALID", "the signed token is too long");
    if (rc == RC_OK)
        buf_add(into, token.data, token.len);
    return rc;
}
