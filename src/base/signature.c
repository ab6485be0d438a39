#include "base/signature.h"
#include "base/pem.h"
#include <assert.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

enum { SIGNATURE_BYTES = 64, BASE64_OF_BYTES = 3 };

static void key_freep(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
    ERR_clear_error();
}

/* NULL: it is none. */
static EVP_PKEY *ed25519(EVP_PKEY *key)
{
    if (key != NULL && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

static void write_pem(EVP_PKEY *key, bool is_public, struct buf *into)
{
    char *text = NULL;
    BIO *bio = BIO_new(BIO_s_secmem());
    assert(bio != NULL);
    int done = is_public ? PEM_write_bio_PUBKEY(bio, key)
                         : PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    assert(done == 1);
    (void)done;
    long len = BIO_get_mem_data(bio, &text);
    buf_add(into, text, (size_t)len);
    BIO_free(bio);
}

void signature_make_key(struct buf *private_pem, struct buf *public_pem)
{
    CLEANUP(key_freep) EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    assert(key != NULL);
    write_pem(key, false, private_pem);
    write_pem(key, true, public_pem);
}

static enum rc no_key(const char *half, struct err *err)
{
    return err_set(err, RC_INVALID, "KEY_INVALID",
                   "it is no %s Ed25519 key in PEM; drover audit key makes one", half);
}

enum rc signature_public(struct str private_pem, struct buf *public_pem, struct err *err)
{
    CLEANUP(key_freep) EVP_PKEY *key = ed25519(pem_private_key(private_pem));
    if (key == NULL)
        return no_key("private", err);
    write_pem(key, true, public_pem);
    return RC_OK;
}

enum rc signature_make(struct str private_pem, struct str text, char to[SIGNATURE_TEXT_BYTES],
                       struct err *err)
{
    CLEANUP(key_freep) EVP_PKEY *key = ed25519(pem_private_key(private_pem));
    unsigned char bytes[SIGNATURE_BYTES];
    size_t len = sizeof bytes;
    if (key == NULL)
        return no_key("private", err);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(context != NULL);
    bool done = EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
                EVP_DigestSign(context, bytes, &len, (const unsigned char *)text.at, text.len) == 1;
    EVP_MD_CTX_free(context);
    if (!done || len != sizeof bytes)
        return no_key("private", err);
    (void)EVP_EncodeBlock((unsigned char *)to, bytes, sizeof bytes);
    return RC_OK;
}

static bool decode(const char *signature, unsigned char to[SIGNATURE_BYTES + BASE64_OF_BYTES])
{
    /* 64 bytes end with two signs of padding, which decode as zero bytes. */
    return strlen(signature) == SIGNATURE_TEXT_BYTES - 1 &&
           EVP_DecodeBlock(to, (const unsigned char *)signature, SIGNATURE_TEXT_BYTES - 1) ==
               SIGNATURE_BYTES + 2;
}

enum rc signature_check(struct str public_pem, struct str text, const char *signature,
                        struct err *err)
{
    CLEANUP(key_freep) EVP_PKEY *key = ed25519(pem_public_key(public_pem));
    unsigned char bytes[SIGNATURE_BYTES + BASE64_OF_BYTES];
    if (key == NULL)
        return no_key("public", err);
    bool right = false;
    if (decode(signature, bytes)) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        assert(context != NULL);
        right = EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
                EVP_DigestVerify(context, bytes, SIGNATURE_BYTES, (const unsigned char *)text.at,
                                 text.len) == 1;
        EVP_MD_CTX_free(context);
    }
    if (right)
        return RC_OK;
    return err_set(err, RC_DENIED, "SIGNATURE_WRONG",
                   "the signature is not of this key and this text");
}
