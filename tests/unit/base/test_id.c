/* test_id.c - UUIDv7. */
#include "base/clock.h"
#include "base/id.h"
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>

static const int64_t noon_us = INT64_C(1783080000123456);

START_TEST(an_id_is_a_version_7_uuid_of_its_time)
{
    struct random random = random_seeded(1);
    struct id id = id_new(noon_us, &random);
    ck_assert_uint_eq(strlen(id.text), 36);
    /* 1783080000123 ms = 0x019f27d99a7b; 456 us * 4096 / 1000 = 1867 = 0x74b. */
    ck_assert_int_eq(strncmp(id.text, "019f27d9-9a7b-774b-", 19), 0);
    ck_assert_ptr_nonnull(strchr("89ab", id.text[19]));
    struct id parsed;
    ck_assert(id_parse(id.text, &parsed));
    ck_assert(id_same(&id, &parsed));
}
END_TEST

START_TEST(ids_sort_by_the_microsecond_they_were_made)
{
    struct random random = random_seeded(2);
    struct id last = id_new(noon_us, &random);
    for (int64_t i = 1; i < 5000; i++) {
        struct id next = id_new(noon_us + i, &random);
        ck_assert_int_lt(strcmp(last.text, next.text), 0);
        last = next;
    }
}
END_TEST

START_TEST(ids_of_one_moment_differ)
{
    struct random random = random_seeded(3);
    struct id a = id_new(noon_us, &random), b = id_new(noon_us, &random);
    ck_assert(!id_same(&a, &b));
    struct random again = random_seeded(3);
    struct id replayed = id_new(noon_us, &again);
    ck_assert(id_same(&a, &replayed));
}
END_TEST

/* ---- An attack on the generator behind ids ---- */

enum { IDS_SEEN = 5, WORDS = 4, GUESSES = 256 };

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

/* The 62 random bits of an id, where the number that they come from has them. */
static uint64_t number_of(const struct id *id)
{
    char hex[17] = "";
    memcpy(hex, id->text + 19, 4);
    memcpy(hex + 4, id->text + 24, 12);
    return strtoull(hex, NULL, 16) << 2;
}

/* Undoes the scrambler of xoshiro256**: the word s[1] that gave a number. */
static uint64_t middle_of(uint64_t number)
{
    const uint64_t inverse_5 = UINT64_C(0xcccccccccccccccd);
    const uint64_t inverse_9 = UINT64_C(0x8e38e38e38e38e39);
    return rotate(number * inverse_9, 64 - 7) * inverse_5;
}

/* The state that gave four words s[1] in a row, by linear steps. */
static struct random random_behind(const uint64_t s1[WORDS])
{
    uint64_t s0_s2 = s1[0] ^ s1[1];
    uint64_t next_s2 = s0_s2 ^ (s1[0] << 17);
    uint64_t next_s0 = s1[2] ^ s1[1] ^ next_s2;
    uint64_t third_s2 = next_s2 ^ next_s0 ^ (s1[1] << 17);
    uint64_t third_s0 = s1[3] ^ s1[2] ^ third_s2;
    uint64_t next_s3 = third_s0 ^ next_s0 ^ s1[1];
    uint64_t s3 = rotate(next_s3, 64 - 45) ^ s1[0];
    uint64_t s0 = next_s0 ^ s1[0] ^ s3;
    return (struct random){.s = {s0, s1[0], s0 ^ s0_s2, s3}};
}

/* Finds dice that would have made these ids; the two bits that an id leaves out are guessed. */
static bool recover(const struct id ids[IDS_SEEN], struct random *ret_random)
{
    for (unsigned guess = 0; guess < GUESSES; guess++) {
        uint64_t s1[WORDS];
        for (unsigned i = 0; i < WORDS; i++)
            s1[i] = middle_of(number_of(&ids[i]) | ((guess >> (2 * i)) & 3));
        struct random random = random_behind(s1);
        if ((random.s[0] | random.s[1] | random.s[2] | random.s[3]) == 0)
            continue;
        for (int i = 0; i < WORDS; i++)
            (void)random_next(&random);
        if (random_next(&random) >> 2 == number_of(&ids[WORDS]) >> 2) {
            *ret_random = random;
            return true;
        }
    }
    return false;
}

static bool tells_the_next(struct random random)
{
    struct id ids[IDS_SEEN];
    struct random guessed;
    for (int i = 0; i < IDS_SEEN; i++)
        ids[i] = id_new(noon_us + i, &random);
    if (!recover(ids, &guessed))
        return false;
    struct id next = id_new(noon_us + IDS_SEEN, &random);
    struct id foretold = id_new(noon_us + IDS_SEEN, &guessed);
    return id_same(&next, &foretold);
}

START_TEST(ids_do_not_tell_the_next_one)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        ck_assert(tells_the_next(random_seeded(seed))); /* The attack works. */
    for (int i = 0; i < 20; i++)
        ck_assert(!tells_the_next(random_from_os()));
}
END_TEST

START_TEST(any_uuid_is_read_and_folded_to_lower_case)
{
    struct id id;
    ck_assert(id_parse("C232AB00-9414-11EC-B3C8-9F6BDECED846", &id));
    ck_assert_str_eq(id.text, "c232ab00-9414-11ec-b3c8-9f6bdeced846");
    ck_assert(id_parse("00000000-0000-0000-0000-000000000000", &id));
    ck_assert(!id_is_none(&id));
}
END_TEST

START_TEST(what_is_no_uuid_is_refused)
{
    static const char *const rows[] = {
        NULL,
        "",
        "x",
        "c232ab00-9414-11ec-b3c8-9f6bdeced84",
        "c232ab00-9414-11ec-b3c8-9f6bdeced8466",
        "c232ab00-9414-11ec-b3c8-9f6bdeced84g",
        "c232ab0009414-11ec-b3c8-9f6bdeced846",
        "c232ab00-9414-11ec-b3c8-9f6b-eced846",
        "c232ab00-9414-11ec-b3c809f6bdeced846",
        "{232ab00-9414-11ec-b3c8-9f6bdeced84}",
        " 232ab00-9414-11ec-b3c8-9f6bdeced846",
        "c232ab00-9414-11ec-b3c8-9f6bdeced846\n",
        "------------------------------------",
        "c232ab00941411ecb3c89f6bdeced846",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct id id = {"kept"};
        ck_assert_msg(!id_parse(rows[i], &id), "%s", rows[i]);
        ck_assert_str_eq(id.text, "kept");
    }
}
END_TEST

START_TEST(none_is_told_apart)
{
    struct id none = {{0}};
    ck_assert(id_is_none(&none));
    ck_assert_ptr_null(id_or_null(&none));
    struct id null = id_of(NULL), empty = id_of(""), junk = id_of("junk");
    ck_assert(id_is_none(&null) && id_is_none(&empty) && id_is_none(&junk));
    struct id some = id_of("c232ab00-9414-11ec-b3c8-9f6bdeced846");
    ck_assert_str_eq(id_or_null(&some), "c232ab00-9414-11ec-b3c8-9f6bdeced846");
    ck_assert(!id_same(&some, &none));
}
END_TEST

START_TEST(what_was_stored_is_an_id_by_its_form)
{
    static const struct {
        struct str text;
        bool is;
    } cases[] = {
        {STR("c232ab00-9414-11ec-b3c8-9f6bdeced846"), true},
        {{"c232ab00-9414-11ec-b3c8-9f6bdeced846 and more", 36}, true},
        {{NULL, 0}, false},
        {STR(""), false},
        {STR("c232ab00-9414-11ec-b3c8-9f6bdeced84"), false},
        {STR("c232ab00-9414-11ec-b3c8-9f6bdeced8467"), false},
        {STR("a text that has as many characters.."), false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct id id = id_of_stored(cases[i].text);
        ck_assert_str_eq(id.text, cases[i].is ? "c232ab00-9414-11ec-b3c8-9f6bdeced846" : "");
    }
}
END_TEST

Suite *id_suite(void)
{
    Suite *suite = suite_create("id");
    TCase *all = tcase_create("all");
    tcase_add_test(all, an_id_is_a_version_7_uuid_of_its_time);
    tcase_add_test(all, ids_sort_by_the_microsecond_they_were_made);
    tcase_add_test(all, ids_of_one_moment_differ);
    tcase_add_test(all, ids_do_not_tell_the_next_one);
    tcase_add_test(all, any_uuid_is_read_and_folded_to_lower_case);
    tcase_add_test(all, what_is_no_uuid_is_refused);
    tcase_add_test(all, none_is_told_apart);
    tcase_add_test(all, what_was_stored_is_an_id_by_its_form);
    suite_add_tcase(suite, all);
    return suite;
}
