/*
 * test_secrets_encoded.c - secrets in another spelling: base64 in both alphabets and at every
 * place, percent-encoding, escapes; whole and cut in two.
 */
#include "base/buf.h"
#include "core/text/redact.h"
#include "core/text/secrets.h"
#include "tests/unit/suites.h"
#include "work/job/step_secrets.h"
#include <string.h>

#define TOKEN "f0rge/T0ken+with?odd=signs~and&m0re"

static struct secrets secrets;

static void setup(void)
{
    secrets_init(&secrets);
    secrets_add(&secrets, "env", TOKEN);
}

enum alphabet { STANDARD, URL };

/* Base64 of the bytes; in the URL's alphabet without padding. */
static void encode(struct str bytes, enum alphabet alphabet, struct buf *to)
{
    static const char *const letters[] = {
        [STANDARD] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        [URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        unsigned group = (unsigned)(unsigned char)bytes.at[i] << 16;
        group |= left > 1 ? (unsigned)(unsigned char)bytes.at[i + 1] << 8 : 0;
        group |= left > 2 ? (unsigned char)bytes.at[i + 2] : 0;
        for (size_t j = 0; j < 4; j++) {
            if (j <= left)
                buf_addc(to, letters[alphabet][group >> (18 - 6 * j) & 63]);
            else if (alphabet == STANDARD)
                buf_addc(to, '=');
        }
    }
}

static bool is_code(char c)
{
    return c != '\0' && (strchr("+/-_=", c) != NULL || (c >= '0' && c <= '9') ||
                         (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
}

/* What is left of the encoded text between "<" and ">": characters that hold nothing of it. */
static size_t left_of(const char *line)
{
    const char *mark = strstr(line, "[redacted:env]");
    ck_assert_msg(mark != NULL, "nothing was found in %s", line);
    size_t count = 0;
    for (const char *at = strchr(line, '<') + 1; *at != '>'; at++) {
        if (at == mark)
            at += strlen("[redacted:env]") - 1;
        else
            count += is_code(*at);
    }
    return count;
}

/* Whatever stands before and behind it: no character stays that holds bits of the token. */
START_TEST(a_value_in_base64_is_found_wherever_it_begins)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char pad[] = "x-access-token:";
    for (size_t before = 0; before < sizeof pad; before++) {
        for (size_t behind = 0; behind < 6; behind++) {
            const char *plain = arena_printf(&arena, "%s%s%.*s", pad + sizeof pad - 1 - before,
                                             TOKEN, (int)behind, "\n@host");
            CLEANUP(buf_release) struct buf line;
            buf_init(&line, 1000);
            buf_adds(&line, "Authorization: Basic <");
            encode(str_of(plain), (enum alphabet)_i, &line);
            buf_adds(&line, "> and more");
            const char *clean = redact_dup(&secrets, buf_text(&line), &arena);
            size_t bytes_left = before + behind; /* Four characters for three bytes at most. */
            ck_assert_msg(left_of(clean) <= bytes_left / 3 * 4 + (bytes_left % 3 ? 4 : 0) + 3,
                          "%s -> %s", buf_text(&line), clean);
            ck_assert_ptr_nonnull(strstr(clean, " and more"));
        }
    }
}
END_TEST

static const struct {
    const char *line, *want;
} lines[] = {
    {"https://u:f0rge%2FT0ken%2Bwith%3Fodd%3Dsigns~and%26m0re@host/x",
     "https://u:[redacted:url-password]@host/x"},
    {"user f0rge%2FT0ken%2Bwith%3Fodd%3Dsigns~and%26m0re x", "user [redacted:env] x"},
    {"q=f0rge%2fT0ken%2bwith%3fodd%3dsigns%7eand%26m0re&x=1", "q=[redacted:env]&x=1"},
    {"%660rge/T0ken+with?odd=signs~and&m0re", "[redacted:env]"}, /* Its first letter, too. */
    {"{\"a\":\"f0rge\\/T0ken+with?odd=signs~and&m0re\"}", "{\"a\":\"[redacted:env]\"}"},
    {"100% of it, 50%", "100% of it, 50%"},
    {"f0rge%2FT0ken%2", "f0rge%2FT0ken%2"},
    /* With the signs of base64 written as in a URL, and in JSON. */
    {"auth=ZjByZ2UvVDBrZW4rd2l0aD9vZGQ9c2lnbnN%2BYW5kJm0wcmU%3D&x=1", "auth=[redacted:env]&x=1"},
    {"\"ZjByZ2UvVDBrZW4rd2l0\\naD9vZGQ9c2lnbnN+YW5kJm0wcmU=\\n\"", "\"[redacted:env]\\n\""},
    /* Cut off where the output ends. */
    {"dDpmMHJnZS9UMGtlbit3aXRoP29k", "dD[redacted:env]"},
    /* As long, and nothing in it. */
    {"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="},
};

START_TEST(other_spellings_are_found)
{
    CLEANUP(arena_release) struct arena arena = {0};
    ck_assert_str_eq(redact_dup(&secrets, lines[_i].line, &arena), lines[_i].want);
}
END_TEST

/* What actions and helpers leave in a git configuration. */
START_TEST(a_token_of_a_known_shape_is_found_in_base64)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char token[] = "ghs"
                                "_A1b2C3d4E5f6G7h8A1b2C3d4E5f6G7h8I9j0";
    static const char *const users[] = {"", "x:", "ab:", "x-access-token:"};
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        CLEANUP(buf_release) struct buf line;
        buf_init(&line, 1000);
        buf_adds(&line, "AUTHORIZATION: basic ");
        encode(str_of(arena_printf(&arena, "%s%s", users[i], token)), STANDARD, &line);
        const char *clean = redact_dup(&secrets, buf_text(&line), &arena);
        ck_assert_msg(strstr(clean, "[redacted:github-token]") != NULL, "%s", clean);
        size_t user = (strlen(users[i]) + 2) / 3 * 4;
        ck_assert_uint_le(strlen(clean),
                          strlen("AUTHORIZATION: basic [redacted:github-token]") + user);
    }
}
END_TEST

static void gather(void *ctx, const char *bytes, size_t len)
{
    buf_add(ctx, bytes, len);
}

START_TEST(an_encoded_secret_may_be_cut_in_two)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1000);
    buf_adds(&text, "a ");
    encode(STR("user:" TOKEN), STANDARD, &text);
    buf_adds(&text, " b f0rge%2FT0ken%2Bwith%3Fodd%3Dsigns~and%26m0re c\n");
    for (size_t piece = 1; piece <= text.len; piece++) {
        CLEANUP(buf_release) struct buf out;
        CLEANUP(redact_release) struct redactor redactor;
        buf_init(&out, 1000);
        redact_init(&redactor, &secrets, (struct redact_sink){gather, &out});
        for (size_t at = 0; at < text.len; at += piece)
            redact_add(&redactor, text.data + at, text.len - at < piece ? text.len - at : piece);
        redact_end(&redactor);
        ck_assert_str_eq(buf_text(&out), "a dXNlcj[redacted:env] b [redacted:env] c\n");
    }
}
END_TEST

/* The longest value, in its longest spelling, where a line without an end is cut. */
START_TEST(the_longest_spelling_fits_into_what_is_held_back)
{
    CLEANUP(buf_release) struct buf value, spelled, out;
    buf_init(&value, SECRETS_VALUE_MAX + 1);
    buf_init(&spelled, 4 * SECRETS_VALUE_MAX);
    for (size_t i = 0; i < SECRETS_VALUE_MAX; i++) {
        buf_addc(&value, (char)('!' + i * i % 64));
        buf_addf(&spelled, "%%%02X", (unsigned)(unsigned char)value.data[i]);
    }
    secrets_init(&secrets);
    secrets_add(&secrets, "env", buf_text(&value));
    buf_init(&out, 4 * REDACT_LINE_MAX);
    CLEANUP(redact_release) struct redactor redactor;
    redact_init(&redactor, &secrets, (struct redact_sink){gather, &out});
    for (size_t i = 0; i < REDACT_LINE_MAX - SECRETS_VALUE_MAX; i++)
        redact_add(&redactor, ".", 1);
    redact_add(&redactor, spelled.data, spelled.len);
    redact_add(&redactor, ".", 1);
    redact_end(&redactor);
    ck_assert_uint_eq(out.len, REDACT_LINE_MAX - SECRETS_VALUE_MAX + strlen("[redacted:env]."));
}
END_TEST

static const struct {
    const char *url, *line, *want;
} addresses[] = {
    {"https://bot:p%40ssw0rd-9z@host/r.git", "p@ssw0rd-9z", "[redacted:url-password]"},
    {"https://bot:p%40ssw0rd-9z@host/r.git", "p%40ssw0rd-9z", "[redacted:url-password]"},
    {"https://bot:p%40ssw0rd-9z@host/r.git", "Basic Ym90OnBAc3N3MHJkLTl6",
     "Basic Ym90O[redacted:url-password]"},
    {"https://t0ken-al0ne@host/r.git", "t0ken-al0ne", "[redacted:url-password]"},
    {"https://host/r.git", "host", "host"},
    {"git@host:r.git", "git@host", "git@host"},
    {NULL, "x", "x"},
};

START_TEST(the_password_of_an_address_is_a_secret)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config = {.url = addresses[_i].url};
    repo_secrets(&config, &arena, &secrets);
    secrets.shapes = false;
    ck_assert_str_eq(redact_dup(&secrets, addresses[_i].line, &arena), addresses[_i].want);
}
END_TEST

Suite *secrets_encoded_suite(void)
{
    Suite *suite = suite_create("secrets_encoded");
    TCase *tc = tcase_create("secrets_encoded");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, a_value_in_base64_is_found_wherever_it_begins, STANDARD, URL + 1);
    tcase_add_loop_test(tc, other_spellings_are_found, 0, (int)COUNT_OF(lines));
    tcase_add_test(tc, a_token_of_a_known_shape_is_found_in_base64);
    tcase_add_test(tc, an_encoded_secret_may_be_cut_in_two);
    tcase_add_test(tc, the_longest_spelling_fits_into_what_is_held_back);
    tcase_add_loop_test(tc, the_password_of_an_address_is_a_secret, 0, (int)COUNT_OF(addresses));
    suite_add_tcase(suite, tc);
    return suite;
}
