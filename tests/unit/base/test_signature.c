/*
 * test_signature.c - Ed25519 keys and signatures.
 */
#include "base/signature.h"
#include <check.h>
#include <string.h>

START_TEST(a_signature_is_of_one_key_and_one_text)
{
    CLEANUP(buf_release) struct buf private_pem, public_pem, other, derived;
    struct err err = {0};
    char signature[SIGNATURE_TEXT_BYTES], wrong[SIGNATURE_TEXT_BYTES];
    buf_init(&private_pem, SIGNATURE_PEM_MAX);
    buf_init(&public_pem, SIGNATURE_PEM_MAX);
    buf_init(&other, 2 * SIGNATURE_PEM_MAX);
    buf_init(&derived, SIGNATURE_PEM_MAX);
    signature_make_key(&private_pem, &public_pem);
    ck_assert_int_eq(signature_make(buf_str(&private_pem), STR("text"), signature, &err), RC_OK);
    ck_assert_uint_eq(strlen(signature), SIGNATURE_TEXT_BYTES - 1);
    struct str key = buf_str(&public_pem);
    ck_assert_int_eq(signature_check(key, STR("text"), signature, &err), RC_OK);
    ck_assert_int_eq(signature_check(key, STR("texu"), signature, &err), RC_DENIED);
    ck_assert_int_eq(signature_check(key, STR("text"), "", &err), RC_DENIED);
    memcpy(wrong, signature, sizeof wrong);
    wrong[0] = wrong[0] == 'A' ? 'B' : 'A';
    ck_assert_int_eq(signature_check(key, STR("text"), wrong, &err), RC_DENIED);
    ck_assert_int_eq(signature_public(buf_str(&private_pem), &derived, &err), RC_OK);
    ck_assert(str_same(buf_str(&derived), key));
    buf_clear(&derived);
    signature_make_key(&derived, &other);
    ck_assert_int_eq(signature_check(buf_str(&other), STR("text"), signature, &err), RC_DENIED);
    ck_assert_str_eq(err.code, "SIGNATURE_WRONG");
}
END_TEST

START_TEST(what_is_no_key_is_refused)
{
    CLEANUP(buf_release) struct buf private_pem, public_pem;
    struct err err = {0};
    char signature[SIGNATURE_TEXT_BYTES];
    buf_init(&private_pem, SIGNATURE_PEM_MAX);
    buf_init(&public_pem, SIGNATURE_PEM_MAX);
    signature_make_key(&private_pem, &public_pem);
    ck_assert_int_eq(signature_make(STR("no key"), STR("text"), signature, &err), RC_INVALID);
    ck_assert_int_eq(signature_make(buf_str(&public_pem), STR("text"), signature, &err),
                     RC_INVALID);
    ck_assert_int_eq(signature_check(STR(""), STR("text"), "", &err), RC_INVALID);
    ck_assert_str_eq(err.code, "KEY_INVALID");
}
END_TEST

Suite *signature_suite(void)
{
    Suite *suite = suite_create("signature");
    TCase *tests = tcase_create("signature");
    tcase_add_test(tests, a_signature_is_of_one_key_and_one_text);
    tcase_add_test(tests, what_is_no_key_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
