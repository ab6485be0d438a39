/*
 * test_secrets.c - what is found in lines, patches and streams, and what is left alone.
 *
 * Tokens are put together from pieces, so that no scanner takes this file for a leak.
 */
#include "base/buf.h"
#include "core/run/secrets_patch.h"
#include "core/text/redact.h"
#include "tests/unit/suites.h"
#include <string.h>

#define A16    "A1b2C3d4E5f6G7h8"
#define A36    A16 A16 "I9j0"
#define HEX64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY40  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"
#define BEGIN_ "-----BEGIN "
#define END_   "-----END "

static const struct {
    const char *line;
    const char *want; /* What is left of it. */
} lines[] = {
    {"", ""},
    {"nothing to see", "nothing to see"},
    {"id AKIA"
     "IOSFODNN7EXAMPLF end",
     "id [redacted:aws-access-key] end"},
    {"AKIA"
     "IOSFODNN7EXAMPLFF",
     "AKIA"
     "IOSFODNN7EXAMPLFF"}, /* One too long. */
    {"x=ghp"
     "_" A36,
     "x=[redacted:github-token]"},
    {"ghp"
     "_short",
     "ghp"
     "_short"},
    {"github"
     "_pat_" A36,
     "[redacted:github-token]"},
    {"glpat"
     "-" A16 "_x-yz",
     "[redacted:gitlab-token]"},
    {"xoxb"
     "-123456789012-" A16,
     "[redacted:slack-token]"},
    {"https://hooks.slack.com/"
     "services/T00000000/B00000000/" A16,
     "[redacted:slack-webhook]"},
    {"sk_"
     "live_" A16,
     "[redacted:stripe-key]"},
    {"AIza" A16 A16 "abc", "[redacted:google-key]"},
    {"sk-"
     "ant-api03-" A16 "-" A16,
     "[redacted:anthropic-key]"},
    {"sk-"
     "proj-" A16 "_" A16,
     "[redacted:openai-key]"},
    {"task-" A36, "task-" A36}, /* sk- inside a word. */
    {"npm"
     "_" A36,
     "[redacted:npm-token]"},
    {"drv"
     "_" HEX64,
     "[redacted:drover-token]"},
    {"commit " HEX64, "commit " HEX64},
    {"Authorization: Bearer " A36, "Authorization: [redacted:bearer-token]"},
    {"eyJ" A16 ".eyJ" A16 "." A16, "[redacted:jwt]"},
    {"eyJ" A16 "." A16 "." A16, "eyJ" A16 "." A16 "." A16},
    {"password = \"s3cr3tP4ssw0rd!\"", "password = \"[redacted:password]\""},
    {"{\"dbPassword\":\"s3cr3tP4ssw0rd!\"}", "{\"dbPassword\":\"[redacted:password]\"}"},
    {"{\\\"api_key\\\": \\\"k9f8j7h6g5d4\\\"}", "{\\\"api_key\\\": \\\"[redacted:password]\\\"}"},
    {"API_KEY=k9f8j7h6g5d4s3a2", "API_KEY=[redacted:password]"},
    {"<password>k9f8j7h6g5d4s3a2</password>", "<password>[redacted:password]</password>"},
    {"password = \"changeme1a2b3c4d\"", "password = \"changeme1a2b3c4d\""},
    {"password = \"user-profile-v2\"", "password = \"user-profile-v2\""},
    {"password = os.environ[\"DB_PASSWORD_2\"]", "password = os.environ[\"DB_PASSWORD_2\"]"},
    {"token = readToken4Stage2Of3(x)", "token = readToken4Stage2Of3(x)"},
    {"{\"input_tokens\":1200,\"output_tokens\":34}",
     "{\"input_tokens\":1200,\"output_tokens\":34}"},
    {"if (secret == \"k9f8j7h6g5d4s3a2\")", "if (secret == \"k9f8j7h6g5d4s3a2\")"},
    {"TOKEN=ghp"
     "_" A36,
     "TOKEN=[redacted:github-token]"},
    {"postgres://app:k9f8j7h6g5@db/x", "postgres://app:[redacted:url-password]@db/x"},
    {"postgres://app:postgres@db/x", "postgres://app:postgres@db/x"},
    {"https://example.org:8080/a@b", "https://example.org:8080/a@b"},
    {"\"" BEGIN_ "PRIVATE KEY-----\\n" KEY40 "\\nabc\\n" END_ "PRIVATE KEY-----\"",
     "\"" BEGIN_ "PRIVATE KEY-----[redacted:private-key]" END_ "PRIVATE KEY-----\""},
    {"strstr(s, \"" BEGIN_ "PRIVATE KEY-----\")", "strstr(s, \"" BEGIN_ "PRIVATE KEY-----\")"},
    {"the value hunter22hunter is here", "the value [redacted:env] is here"},
    {"xhunter22hunterx", "x[redacted:env]x"},
    {"path /opt/java-17/bin", "path /opt/java-17/bin"},
    {"proxy http://proxy:3128", "proxy http://proxy:3128"},
    {"short abc", "short abc"},
};

static void set_up(struct secrets *secrets)
{
    secrets_init(secrets);
    secrets_add(secrets, "env", "hunter22hunter");
    secrets_add(secrets, "env", "hunter22");
    secrets_add(secrets, "env", "/opt/java-17/bin");
    secrets_add(secrets, "env", "http://proxy:3128");
    secrets_add(secrets, "env", "abc");
    secrets_add(secrets, "env", "first line of it\nsecond line of it\n");
    secrets_add(secrets, "env", NULL);
}

START_TEST(a_line_keeps_all_but_its_secrets)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    set_up(&secrets);
    ck_assert_str_eq(redact_dup(&secrets, lines[_i].line, &arena), lines[_i].want);
}
END_TEST

START_TEST(a_value_of_many_lines_is_found_line_by_line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    set_up(&secrets);
    ck_assert_str_eq(redact_dup(&secrets, "a first line of it\nb second line of it\n", &arena),
                     "a [redacted:env]\nb [redacted:env]\n");
}
END_TEST

START_TEST(a_private_key_goes_line_by_line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    secrets_init(&secrets);
    const char *text = "before\n" BEGIN_ "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" KEY40
                       "\n" KEY40 "\nq1w2e3==\n" END_ "RSA PRIVATE KEY-----\n" KEY40 "\n";
    ck_assert_str_eq(redact_dup(&secrets, text, &arena),
                     "before\n" BEGIN_ "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n"
                     "[redacted:private-key]\n[redacted:private-key]\n[redacted:private-key]\n" END_
                     "RSA PRIVATE KEY-----\n" KEY40 "\n");
}
END_TEST

static void gather(void *ctx, const char *bytes, size_t len)
{
    buf_add(ctx, bytes, len);
}

START_TEST(a_stream_may_be_cut_anywhere)
{
    struct secrets secrets;
    set_up(&secrets);
    static const char text[] = "one hunter22hunter\ntwo ghp"
                               "_" A36 " x\nthree\n\nhunter22hunter";
    static const char want[] = "one [redacted:env]\ntwo [redacted:github-token] x\nthree\n\n"
                               "[redacted:env]";
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        CLEANUP(buf_release) struct buf out;
        CLEANUP(redact_release) struct redactor redactor;
        buf_init(&out, 1000);
        redact_init(&redactor, &secrets, (struct redact_sink){gather, &out});
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            redact_add(&redactor, text + at, left < piece ? left : piece);
        }
        redact_end(&redactor);
        ck_assert_str_eq(buf_text(&out), want);
    }
}
END_TEST

START_TEST(a_line_without_end_is_bounded_and_still_clean)
{
    struct secrets secrets;
    set_up(&secrets);
    CLEANUP(buf_release) struct buf out;
    CLEANUP(redact_release) struct redactor redactor;
    buf_init(&out, 4 * REDACT_LINE_MAX);
    redact_init(&redactor, &secrets, (struct redact_sink){gather, &out});
    static const char piece[] = "some hunter22hunter words ";
    size_t count = 2 * REDACT_LINE_MAX / (sizeof piece - 1);
    for (size_t i = 0; i < count; i++) {
        redact_add(&redactor, piece, sizeof piece - 1);
        ck_assert_uint_le(redactor.line.len, REDACT_LINE_MAX);
    }
    redact_end(&redactor);
    ck_assert_ptr_null(strstr(buf_text(&out), "hunter"));
    ck_assert_uint_eq(out.len, count * strlen("some [redacted:env] words "));
}
END_TEST

START_TEST(without_secrets_nothing_is_held_back)
{
    CLEANUP(buf_release) struct buf out;
    CLEANUP(redact_release) struct redactor redactor;
    buf_init(&out, 100);
    redact_init(&redactor, NULL, (struct redact_sink){gather, &out});
    redact_add(&redactor, "half a li", 9);
    ck_assert_str_eq(buf_text(&out), "half a li");
}
END_TEST

static const char patch[] =
    "diff --git a/src/a.c b/src/a.c\nindex 1..2 100644\n--- a/src/a.c\n+++ b/src/a.c\n"
    "@@ -1,3 +1,4 @@\n context hunter22hunter\n-gone\n+line two\n+ghp"
    "_" A36 "\n tail\n"
    "@@ -9 +10 @@\n-x\n+password = \"s3cr3tP4ssw0rd!\"\n\\ No newline at end of file\n"
    "diff --git a/k.pem b/k.pem\nnew file mode 100644\n--- /dev/null\n+++ b/k.pem\n"
    "@@ -0,0 +1,2 @@\n+" BEGIN_ "PRIVATE KEY-----\n+" KEY40 "\n";

START_TEST(a_patch_tells_rule_path_and_line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    struct secret_hits hits;
    set_up(&secrets);
    secrets_in_patch(&secrets, STR(patch), &arena, &hits);
    ck_assert_uint_eq(hits.count, 3);
    static const struct secret_hit want[] = {
        {"github-token", "src/a.c", 3, "[redacted:github-token]"},
        {"password", "src/a.c", 10, "password = \"[redacted:password]\""},
        {"private-key", "k.pem", 2, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        ck_assert_str_eq(hits.at[i].rule, want[i].rule);
        ck_assert_str_eq(hits.at[i].path, want[i].path);
        ck_assert_int_eq(hits.at[i].line, want[i].line);
        if (want[i].text != NULL)
            ck_assert_str_eq(hits.at[i].text, want[i].text);
    }
}
END_TEST

static const struct {
    const char *diff;
    size_t hits;
} patches[] = {
    {"", 0},
    /* Moved: it was there before. */
    {"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-ghp"
     "_" A36 "\n x\n+  ghp"
     "_" A36 "\n",
     0},
    /* Taken out. */
    {"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-ghp"
     "_" A36 "\n+getenv(\"T\")\n",
     0},
    /* In the name of a file. */
    {"diff --git a/ghp"
     "_" A36 " b/ghp"
     "_" A36 "\nnew file mode 100644\n",
     1},
    /* A hunk that looks like a head. */
    {"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,2 @@\n+++ b/x\n+hunter22hunter\n", 1},
    /* Above the first file, as in a mail. */
    {"Subject: use hunter22hunter\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+a\n", 1},
    /* Between packed contents and the next file nothing is text. */
    {"diff --git a/a b/a\nGIT binary patch\nliteral 9\nzhunter22hunter\n\n"
     "diff --git a/b b/b\nnew file mode 100644\n",
     0},
};

START_TEST(only_what_a_patch_adds_counts)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    struct secret_hits hits;
    set_up(&secrets);
    secrets_in_patch(&secrets, str_of(patches[_i].diff), &arena, &hits);
    ck_assert_uint_eq(hits.count, patches[_i].hits);
    for (size_t i = 0; i < hits.count; i++) {
        ck_assert_ptr_null(strstr(hits.at[i].path, A36));
        ck_assert_ptr_null(strstr(hits.at[i].text, A36));
    }
}
END_TEST

static void add_lines(struct buf *diff, char sign, int count)
{
    for (int i = 0; i < count; i++)
        buf_addf(diff, "%cghp_%036d\n", sign, i);
}

/* What is moved is new when the ways back to it are too long in all. */
START_TEST(looking_back_is_bounded_by_the_bytes_of_all_looks)
{
    enum { MOVED = 300, LONG_LINE = 1024 * 1024 };
    for (int is_long = 0; is_long < 2; is_long++) {
        CLEANUP(arena_release) struct arena arena = {0};
        CLEANUP(buf_release) struct buf diff;
        struct secrets secrets;
        struct secret_hits hits;
        secrets_init(&secrets);
        buf_init(&diff, 2 * LONG_LINE);
        buf_addf(&diff, "diff --git a/a b/a\n@@ -1,%d +1,%d @@\n", MOVED + 1, MOVED + 1);
        buf_addf(&diff, " %*s\n", is_long ? LONG_LINE : 1, "x");
        add_lines(&diff, '-', MOVED);
        add_lines(&diff, '+', MOVED);
        ck_assert(!diff.overflow);
        secrets_in_patch(&secrets, buf_str(&diff), &arena, &hits);
        ck_assert_int_eq(hits.count > 0, is_long);
    }
}
END_TEST

/* Built with sanitizers, a number that runs over is an error. */
START_TEST(odd_numbers_of_a_hunk_do_no_harm)
{
    static const char *const heads[] = {
        "@@ -0,0 +9223372036854775807,2 @@",
        "@@ -0,-9223372036854775808 +1,2 @@",
        "@@ -1,99999999999999999999 +99999999999999999999,99999999999999999999 @@",
    };
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct secrets secrets;
        struct secret_hits hits;
        set_up(&secrets);
        const char *diff = arena_printf(&arena, "diff --git a/a b/a\n%s\n+a\n+hunter22hunter\n",
                                        heads[i]);
        secrets_in_patch(&secrets, str_of(diff), &arena, &hits);
        ck_assert_uint_eq(hits.count, 1);
        ck_assert_int_gt(hits.at[0].line, 0);
    }
}
END_TEST

static const struct {
    struct str now, before;
    int64_t line; /* 0: nothing is found. */
} blobs[] = {
    {STR("\x01\0\nhunter22hunter\0rest"), STR(""), 2},
    {STR("\x01\0hunter22hunter\0"), STR("\x02\0hunter22hunter\0old"), 0},
    {STR("\x01\0ghp"
         "_" A36 "\0"),
     STR("\x02\0hunter22hunter"), 1},
    {STR("password=aB3dE5gH7jK9mN2pQ4\0(x"), STR(""), 1},
    {STR("\x89PNG\r\n\x1a\n"), STR(""), 0},
    {STR(""), STR("hunter22hunter"), 0},
};

START_TEST(a_binary_file_is_looked_into)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    struct secret_hits hits = {0};
    set_up(&secrets);
    struct secret_blob blob = {.path = "a.bin", .now = blobs[_i].now, .before = blobs[_i].before};
    secrets_in_blob(&secrets, &blob, &arena, &hits);
    ck_assert_uint_eq(hits.count, blobs[_i].line > 0);
    if (hits.count > 0) {
        ck_assert_int_eq(hits.at[0].line, blobs[_i].line);
        ck_assert_str_eq(hits.at[0].path, "a.bin");
        ck_assert_str_eq(hits.at[0].text, "");
    }
}
END_TEST

START_TEST(without_shapes_only_values_count)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct secrets secrets;
    set_up(&secrets);
    secrets.shapes = false;
    ck_assert_str_eq(redact_dup(&secrets,
                                "ghp"
                                "_" A36 " hunter22hunter",
                                &arena),
                     "ghp"
                     "_" A36 " [redacted:env]");
}
END_TEST

Suite *secrets_suite(void)
{
    Suite *suite = suite_create("secrets");
    TCase *tc = tcase_create("secrets");
    tcase_add_loop_test(tc, a_line_keeps_all_but_its_secrets, 0, (int)COUNT_OF(lines));
    tcase_add_test(tc, a_value_of_many_lines_is_found_line_by_line);
    tcase_add_test(tc, a_private_key_goes_line_by_line);
    tcase_add_test(tc, looking_back_is_bounded_by_the_bytes_of_all_looks);
    tcase_add_test(tc, odd_numbers_of_a_hunk_do_no_harm);
    tcase_add_test(tc, a_stream_may_be_cut_anywhere);
    tcase_add_test(tc, a_line_without_end_is_bounded_and_still_clean);
    tcase_add_test(tc, without_secrets_nothing_is_held_back);
    tcase_add_test(tc, a_patch_tells_rule_path_and_line);
    tcase_add_loop_test(tc, only_what_a_patch_adds_counts, 0, (int)COUNT_OF(patches));
    tcase_add_loop_test(tc, a_binary_file_is_looked_into, 0, (int)COUNT_OF(blobs));
    tcase_add_test(tc, without_shapes_only_values_count);
    suite_add_tcase(suite, tc);
    return suite;
}
