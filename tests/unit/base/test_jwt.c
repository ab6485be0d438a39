/*
 * test_jwt.c - tokens that a key has signed, and keys that cannot sign.
 */
#include "base/jwt.h"
#include "tests/unit/rsa_kit.h"
#include "tests/unit/suites.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

static const struct jwt_claims claims = {
    .issuer = "Iv1.\"x\"", .issued_s = 1700000000, .expires_s = 1700000600};

START_TEST(a_token_is_signed_by_the_key)
{
    CLEANUP(buf_release) struct buf pem, token, middle;
    buf_init(&pem, 8192);
    buf_init(&token, 4096);
    buf_init(&middle, 4096);
    struct err err = {0};
    rsa_kit_make(&pem, 2048);
    ck_assert_msg(jwt_sign_rs256(buf_str(&pem), &claims, &token, &err) == RC_OK, "%s", err.text);
    ck_assert(text_starts(buf_text(&token), "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9."));
    ck_assert(rsa_kit_verify(buf_text(&token), &middle));
    ck_assert_str_eq(buf_text(&middle),
                     "{\"iat\":1700000000,\"exp\":1700000600,\"iss\":\"Iv1.\\\"x\\\"\"}");
    token.data[40] = token.data[40] == 'A' ? 'B' : 'A';
    buf_clear(&middle);
    ck_assert(!rsa_kit_verify(buf_text(&token), &middle));
}
END_TEST

static void expect_refusal(const char *pem, const char *word)
{
    CLEANUP(buf_release) struct buf token;
    struct err err = {0};
    buf_init(&token, 4096);
    ck_assert_int_eq(jwt_sign_rs256(str_of(pem), &claims, &token, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "KEY_INVALID");
    ck_assert_msg(strstr(err.text, word) != NULL, "no \"%s\" in: %s", word, err.text);
    ck_assert_uint_eq(token.len, 0);
}

/* The same key, of another kind or locked with a password. */
static void write_other(struct buf *pem, bool locked)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes = NULL, password[] = "geheim";
    int done = PEM_write_bio_PrivateKey(bio, key, locked ? EVP_aes_256_cbc() : NULL,
                                        (unsigned char *)(locked ? password : NULL), locked ? 6 : 0,
                                        NULL, NULL);
    ck_assert_int_eq(done, 1);
    long len = BIO_get_mem_data(bio, &bytes);
    buf_add(pem, bytes, (size_t)len);
    BIO_free(bio);
    EVP_PKEY_free(key);
}

START_TEST(what_is_no_key_is_refused)
{
    CLEANUP(buf_release) struct buf small, other, locked;
    buf_init(&small, 8192);
    buf_init(&other, 8192);
    buf_init(&locked, 8192);
    rsa_kit_make(&small, 1024);
    write_other(&other, false);
    write_other(&locked, true);
    expect_refusal("", "no private key");
    expect_refusal("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n",
                   "no private key");
    expect_refusal(buf_text(&small), "fewer than 2048 bits");
    expect_refusal(buf_text(&other), "no RSA key");
    expect_refusal(buf_text(&locked), "password"); /* And is not asked for on the terminal. */
}
END_TEST

START_TEST(base64url_has_no_padding)
{
    static const struct {
        const char *bytes, *text;
    } table[] = {{"", ""},           {"f", "Zg"},         {"fo", "Zm8"},           {"foo", "Zm9v"},
                 {"foob", "Zm9vYg"}, {"\xff\xef", "_-8"}, {"\xfb\xff\xbf", "-_-_"}};
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(buf_release) struct buf to;
        buf_init(&to, 100);
        base64url_add(&to, table[i].bytes, strlen(table[i].bytes));
        ck_assert_str_eq(buf_text(&to), table[i].text);
    }
}
END_TEST

Suite *jwt_suite(void)
{
    Suite *suite = suite_create("jwt");
    TCase *tc = tcase_create("jwt");
    tcase_add_test(tc, a_token_is_signed_by_the_key);
    tcase_add_test(tc, what_is_no_key_is_refused);
    tcase_add_test(tc, base64url_has_no_padding);
    suite_add_tcase(suite, tc);
    return suite;
}
