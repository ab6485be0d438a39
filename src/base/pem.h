/*
 * pem.h - keys out of PEM, for files of base/ that sign.
 */
#ifndef BASE_PEM_H
#define BASE_PEM_H
#include "base/str.h"

struct evp_pkey_st; /* OpenSSL's EVP_PKEY; freed by EVP_PKEY_free. */

/* NULL: it is none, or is locked with a password, which is never asked for. */
struct evp_pkey_st *pem_private_key(struct str pem);
struct evp_pkey_st *pem_public_key(struct str pem);
#endif
