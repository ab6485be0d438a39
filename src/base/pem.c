#include "base/pem.h"
#include <assert.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

/* Without it OpenSSL asks on the terminal. */
static int no_password(char *to, int room, int writing, void *ctx)
{
    (void)to, (void)room, (void)writing, (void)ctx;
    return -1;
}

static EVP_PKEY *read_key(struct str pem,
                          EVP_PKEY *(*read)(BIO *, EVP_PKEY **, pem_password_cb *, void *))
{
    if (pem.len == 0 || pem.len > INT_MAX)
        return NULL;
    BIO *bio = BIO_new_mem_buf(pem.at, (int)pem.len);
    assert(bio != NULL);
    EVP_PKEY *key = read(bio, NULL, no_password, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return key;
}

EVP_PKEY *pem_private_key(struct str pem)
{
    return read_key(pem, PEM_read_bio_PrivateKey);
}

EVP_PKEY *pem_public_key(struct str pem)
{
    return read_key(pem, PEM_read_bio_PUBKEY);
}
