/* test_hash.c - sha256 and HMAC against published vectors. */
#include "base/hash.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static const char empty_digest[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char abc_digest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

START_TEST(digests_match_the_standard)
{
    char text[SHA256_TEXT_BYTES];
    sha256_hex("", 0, text);
    ck_assert_str_eq(text, empty_digest);
    sha256_hex(NULL, 0, text);
    ck_assert_str_eq(text, empty_digest);
    sha256_hex("abc", 3, text);
    ck_assert_str_eq(text, abc_digest);
}
END_TEST

START_TEST(a_running_digest_does_not_care_for_the_pieces)
{
    char text[SHA256_TEXT_BYTES];
    struct sha256 *sha = sha256_begin();
    sha256_add(sha, "a", 1);
    sha256_add(sha, "", 0);
    sha256_add(sha, "bc", 2);
    sha256_end(sha, text);
    ck_assert_str_eq(text, abc_digest);
    sha256_discard(sha256_begin());
    sha256_discard(NULL);
}
END_TEST

START_TEST(a_file_is_hashed_from_its_start_wherever_it_stands)
{
    char text[SHA256_TEXT_BYTES] = "untouched";
    int64_t bytes = -1;
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fputs("abc", file), 1);
    ck_assert_int_eq(fflush(file), 0);
    ck_assert_int_eq(sha256_file(fileno(file), text, &bytes), RC_OK);
    ck_assert_str_eq(text, abc_digest);
    ck_assert_int_eq(bytes, 3);
    (void)fclose(file);
    ck_assert_int_eq(sha256_file(-1, text, &bytes), RC_IO);
    ck_assert_str_eq(text, abc_digest);
}
END_TEST

START_TEST(macs_match_rfc_4231)
{
    char text[SHA256_TEXT_BYTES];
    hmac_sha256_hex((struct hmac_key){"Jefe", 4}, "what do ya want for nothing?", 28, text);
    ck_assert_str_eq(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    char key[131];
    memset(key, 0xaa, sizeof key);
    hmac_sha256_hex((struct hmac_key){key, sizeof key},
                    "Test Using Larger Than Block-Size Key - Hash Key First", 54, text);
    ck_assert_str_eq(text, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    hmac_sha256_hex((struct hmac_key){NULL, 0}, "", 0, text);
    ck_assert_str_eq(text, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}
END_TEST

START_TEST(only_64_lower_case_hex_digits_are_a_digest)
{
    ck_assert(sha256_text_valid(abc_digest));
    ck_assert(!sha256_text_valid(NULL));
    ck_assert(!sha256_text_valid(""));
    ck_assert(!sha256_text_valid(abc_digest + 1));
    char text[80];
    snprintf(text, sizeof text, "%s0", abc_digest);
    ck_assert(!sha256_text_valid(text));
    snprintf(text, sizeof text, "%s", abc_digest);
    text[10] = 'A';
    ck_assert(!sha256_text_valid(text));
    snprintf(text, sizeof text, "../%.61s", abc_digest);
    ck_assert(!sha256_text_valid(text));
}
END_TEST

START_TEST(secrets_are_compared_whole)
{
    ck_assert(secret_same("token", "token"));
    ck_assert(secret_same("", ""));
    ck_assert(!secret_same("token", "tokem"));
    ck_assert(!secret_same("token", "Token"));
    ck_assert(!secret_same("token", "toke"));
    ck_assert(!secret_same("token", NULL));
    ck_assert(!secret_same(NULL, NULL));
}
END_TEST

Suite *hash_suite(void)
{
    Suite *suite = suite_create("hash");
    TCase *all = tcase_create("all");
    tcase_add_test(all, digests_match_the_standard);
    tcase_add_test(all, a_running_digest_does_not_care_for_the_pieces);
    tcase_add_test(all, a_file_is_hashed_from_its_start_wherever_it_stands);
    tcase_add_test(all, macs_match_rfc_4231);
    tcase_add_test(all, only_64_lower_case_hex_digits_are_a_digest);
    tcase_add_test(all, secrets_are_compared_whole);
    suite_add_tcase(suite, all);
    return suite;
}
