/*
 * test_patch.c - diffs as git writes them, and diffs as nobody should.
 */
#include "base/buf.h"
#include "base/random.h"
#include "core/run/patch.h"
#include "tests/unit/suites.h"
#include <string.h>

#define FILE_HEAD(name) "diff --git a/" name " b/" name "\nindex 587be6b..975fbec 100644\n"
#define SIDES(name)     "--- a/" name "\n+++ b/" name "\n"
#define SMALL(name)     FILE_HEAD(name) SIDES(name) "@@ -1 +1 @@\n-x\n+y\n"

static const struct {
    const char *what;
    const char *diff;
    const char *paths; /* Joined by '|'. */
    const char *renamed_from;
    int64_t added, deleted;
} diffs[] = {
    {"nothing", "", "", "", 0, 0},
    {"one change", SMALL("a.c"), "a.c", "", 1, 1},
    {"two files", SMALL("a.c") SMALL("src/b.c"), "a.c|src/b.c", "", 2, 2},
    {"a new file",
     "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..8ba3a16\n--- /dev/null\n+++ b/n\n"
     "@@ -0,0 +1,2 @@\n+n\n+m\n",
     "n", "", 2, 0},
    {"a deleted file",
     "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 286c5f5..0000000\n--- a/gone\n"
     "+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n",
     "gone", "", 0, 1},
    {"an empty new file",
     "diff --git a/empty new b/empty new\nnew file mode 100644\nindex 0000000..e69de29\n",
     "empty new", "", 0, 0},
    {"a mode only", "diff --git a/m.sh b/m.sh\nold mode 100644\nnew mode 100755\n", "m.sh", "", 0,
     0},
    {"a rename",
     "diff --git a/old.txt b/new.txt\nsimilarity index 96%\nrename from old.txt\n"
     "rename to new.txt\nindex e8823e1..10adcaf 100644\n--- a/old.txt\n+++ b/new.txt\n"
     "@@ -28,3 +28,4 @@\n 28\n 29\n 30\n+31\n",
     "new.txt", "old.txt", 1, 0},
    {"a rename with nothing else",
     "diff --git a/a b b/c d\nsimilarity index 100%\nrename from a b\nrename to c d\n", "c d",
     "a b", 0, 0},
    {"a copy leaves its source alone",
     "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n", "b", "", 0, 0},
    {"a binary patch",
     "diff --git a/bin b/bin\nindex 20b5be9..88f3700 100644\nGIT binary patch\nliteral 3\n"
     "KcmYdfNCp4_i2%g_\n\nliteral 3\nKcmYdfNCE%>hycU@\n\n" SMALL("a.c"),
     "bin|a.c", "", 1, 1},
    {"binary files differ",
     "diff --git a/bin b/bin\nindex 20b5be9..88f3700 100644\nBinary files a/bin and b/bin differ\n",
     "bin", "", 0, 0},
    {"no newline at the end",
     FILE_HEAD("n") SIDES("n") "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n"
                               "\\ No newline at end of file\n",
     "n", "", 1, 1},
    {"lines that look like headers",
     FILE_HEAD("s.sql") SIDES("s.sql") "@@ -1,4 +1,6 @@\n one\n two\n--- three\n ++ four\n"
                                       "+--- a/x\n++++ b/y\n+diff --git a/x b/x\n",
     "s.sql", "", 3, 1},
    {"several hunks",
     FILE_HEAD("h") SIDES("h") "@@ -1,2 +1,2 @@ int main(void)\n-a\n+b\n c\n"
                               "@@ -9,2 +9,1 @@\n-x\n y\n",
     "h", "", 1, 2},
    {"a context line that lost its blank",
     FILE_HEAD("h") SIDES("h") "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "h", "", 1, 1},
    {"a name with blanks",
     FILE_HEAD("with space") "--- a/with space\t\n+++ b/with space\t\n@@ -1 +1 @@\n-x\n+y\n",
     "with space", "", 1, 1},
    {"a name that holds its own separator", SMALL("x b/x"), "x b/x", "", 1, 1},
    {"a quoted name",
     "diff --git \"a/\\303\\274n\\303\\257 \\\"q\\\".txt\" \"b/\\303\\274n\\303\\257 "
     "\\\"q\\\".txt\"\n"
     "index 587be6b..975fbec 100644\n--- \"a/\\303\\274n\\303\\257 \\\"q\\\".txt\"\t\n"
     "+++ \"b/\\303\\274n\\303\\257 \\\"q\\\".txt\"\t\n@@ -1 +1 @@\n-x\n+y\n",
     "\u00fcn\u00ef \"q\".txt", "", 1, 1},
    {"a quoted name without lines",
     "diff --git \"a/t\\tn\\n\\\\\" \"b/t\\tn\\n\\\\\"\nold mode 100644\nnew mode 100755\n",
     "t\tn\n\\", "", 0, 0},
    {"a quoted rename", "diff --git a/a \"b/t\\tb\"\nrename from a\nrename to \"t\\tb\"\n", "t\tb",
     "a", 0, 0},
    {"a file that became a link counts once",
     "diff --git a/t b/t\ndeleted file mode 100644\nindex 718f4d2..0000000\n--- a/t\n"
     "+++ /dev/null\n@@ -1 +0,0 @@\n-t\ndiff --git a/t b/t\nnew file mode 120000\n"
     "index 0000000..3ed3b9e\n--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+sql.txt\n"
     "\\ No newline at end of file\n",
     "t", "", 1, 1},
    {"carriage returns", FILE_HEAD("w") SIDES("w") "@@ -1,2 +1,2 @@\n-x\r\n+y\r\n z\r\n", "w", "",
     1, 1},
    {"no newline after the last line", FILE_HEAD("n") SIDES("n") "@@ -1 +1 @@\n-x\n+y", "n", "", 1,
     1},
};

static void join(char *to, size_t to_bytes, const char *const *paths, size_t count)
{
    to[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(to);
        text_copy(to + len, to_bytes - len, i > 0 ? "|" : "");
        len = strlen(to);
        text_copy(to + len, to_bytes - len, paths[i]);
    }
}

START_TEST(a_diff_tells_its_paths_and_lines)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct patch_stats stats = {.files = 99};
    struct err err = {0};
    enum rc rc = patch_read(str_of(diffs[_i].diff), &arena, &stats, &err);
    ck_assert_msg(rc == RC_OK, "%s: %s", diffs[_i].what, err.text);
    char joined[500];
    join(joined, sizeof joined, stats.paths, stats.files);
    ck_assert_str_eq(joined, diffs[_i].paths);
    join(joined, sizeof joined, stats.renamed_from, stats.renamed_from_count);
    ck_assert_str_eq(joined, diffs[_i].renamed_from);
    ck_assert_int_eq(stats.lines_added, diffs[_i].added);
    ck_assert_int_eq(stats.lines_deleted, diffs[_i].deleted);
}
END_TEST

static const char *const broken[] = {
    "\n",
    "hello\n",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n",
    "From 1234 Mon Sep 17\n" SMALL("a"),
    "diff --cc a\n",
    "diff --git \n",
    "diff --git a/x\n",
    "diff --git a/x b/y\n",
    "diff --git x x\n",
    "diff --git a/ b/\n",
    "diff --git \"a/x b/x\n",
    "diff --git \"a/\\q\" \"b/\\q\"\n",
    "diff --git \"a/\\000\" \"b/\\000\"\n",
    "diff --git \"a/\\777\" \"b/\\777\"\n",
    "diff --git \"a/\\30\" \"b/\\30\"\n",
    "diff --git \"a/x\" \"b/x\" more\n",
    "diff --git a/x b/x\nnonsense\n",
    "diff --git a/x b/y\nrename from x\n",
    "diff --git a/x b/y\nrename to y\n",
    "diff --git a/x b/y\nrename from \nrename to y\n",
    "diff --git a/x b/y\nrename from x\nrename to y\nrename to z\n",
    "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/z\n@@ -1 +1 @@\n-x\n+y\n",
    "diff --git a/x b/y\nrename from x\nrename to y\n--- a/z\n+++ b/y\n@@ -1 +1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("y") "@@ -1 +1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") SIDES("x") "@@ -1 +1 @@\n-x\n+y\n",
    FILE_HEAD("x") "--- x\n+++ x\n@@ -1 +1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") "@@ -1 +1\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") "@@ -a +1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") "@@ -1,x +1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") "@@ +1 -1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") "@@ -1,99999999999999999999 +1 @@\n-x\n+y\n",
    FILE_HEAD("x") SIDES("x") "@@ -1 +1 @@\n-x\n",
    FILE_HEAD("x") SIDES("x") "@@ -1 +1 @@\n-x\n-y\n",
    FILE_HEAD("x") SIDES("x") "@@ -1 +1 @@\n-x\n+y\n+z\n",
    FILE_HEAD("x") SIDES("x") "@@ -1 +1 @@\n-x\nzzz\n",
    FILE_HEAD("x") SIDES("x") "@@ -1 +1 @@\n-x\n" SMALL("y"),
    SMALL("x") "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-x\n+y\n",
    SMALL("x") "trailing words\n",
    FILE_HEAD("x") "GIT binary patch\nliteral 3\nKcmYdfNCp4_i2%g_\n\n" SIDES("y") "@@ -1 +1 @@\n",
    FILE_HEAD("x") "GIT binary patch\n@@-1+1@@\n",
};

START_TEST(what_is_no_git_diff_is_refused)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct patch_stats stats = {.files = 99};
    struct err err = {0};
    ck_assert_msg(patch_read(str_of(broken[_i]), &arena, &stats, &err) == RC_INVALID, "taken: %s",
                  broken[_i]);
    ck_assert_str_eq(err.code, "INVALID_PATCH");
    ck_assert_ptr_nonnull(strstr(err.text, "line "));
    ck_assert_uint_eq(stats.files, 99);
}
END_TEST

START_TEST(a_name_cannot_hide_behind_a_nul)
{
    static const char *const hidden[] = {"diff --git a/x?y b/x?y\nold mode 100644\n",
                                         "diff --git a/x b/y\nrename from x\nrename to y?z\n"};
    for (size_t i = 0; i < COUNT_OF(hidden); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct str diff = {arena_strdup(&arena, hidden[i]), strlen(hidden[i])};
        struct patch_stats stats;
        ck_assert_int_eq(patch_read(diff, &arena, &stats, NULL), RC_OK);
        char *bytes = arena_strdup(&arena, hidden[i]);
        for (size_t j = 0; j < diff.len; j++)
            bytes[j] = bytes[j] == '?' ? '\0' : bytes[j];
        diff.at = bytes;
        ck_assert_int_eq(patch_read(diff, &arena, &stats, NULL), RC_INVALID);
    }
}
END_TEST

static void add_files(struct buf *buf, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(buf, "diff --git a/f%zu b/f%zu\nold mode 100644\nnew mode 100755\n", i, i);
}

#define OID40 "0123456789abcdef0123456789abcdef01234567"
#define NONE  "0000000000000000000000000000000000000000"

static const struct {
    const char *index;
    const char *was, *now; /* NULL: the blobs are not told. */
} binaries[] = {
    {"index " NONE ".." OID40 "\n", NONE, OID40},
    {"index " OID40 ".." NONE " 100644\n", OID40, NONE},
    {"index 20b5be9..88f3700 100644\n", NULL, NULL},
    {"index " OID40 "\n", NULL, NULL},
    {"", NULL, NULL},
};

START_TEST(a_binary_file_is_told_with_its_blobs)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct patch_stats stats;
    struct err err = {0};
    const char *diff = arena_printf(&arena,
                                    SMALL("a.c") "diff --git a/bin b/bin\n%sGIT binary patch\n"
                                                 "literal 3\nKcmYdfNCp4_i2%%g_\n\n" SMALL("b.c"),
                                    binaries[_i].index);
    ck_assert_int_eq(patch_read(str_of(diff), &arena, &stats, &err), RC_OK);
    ck_assert_uint_eq(stats.binary_count, binaries[_i].was != NULL);
    if (stats.binary_count > 0) {
        ck_assert_str_eq(stats.binaries[0].path, "bin");
        ck_assert_str_eq(stats.binaries[0].was, binaries[_i].was);
        ck_assert_str_eq(stats.binaries[0].now, binaries[_i].now);
    }
}
END_TEST

START_TEST(the_number_of_files_is_limited)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000000);
    add_files(&buf, PATCH_FILES_MAX);
    struct patch_stats stats;
    ck_assert_int_eq(patch_read(buf_str(&buf), &arena, &stats, NULL), RC_OK);
    ck_assert_uint_eq(stats.files, PATCH_FILES_MAX);
    ck_assert_str_eq(stats.paths[0], "f0");
    ck_assert_str_eq(stats.paths[PATCH_FILES_MAX - 1], "f9999");
    add_files(&buf, 1);
    struct err err = {0};
    ck_assert_int_eq(patch_read(buf_str(&buf), &arena, &stats, &err), RC_TOO_LARGE);
    ck_assert_str_eq(err.code, "PATCH_TOO_LARGE");
}
END_TEST

/* The sanitizers look on; what is taken must make sense. */
START_TEST(damaged_diffs_are_read_or_refused_but_never_misread)
{
    struct random random = random_seeded(2024);
    for (int round = 0; round < 20000; round++) {
        CLEANUP(arena_release) struct arena arena = {0};
        char *diff = arena_strdup(&arena, diffs[random_below(&random, COUNT_OF(diffs))].diff);
        size_t len = strlen(diff);
        for (uint64_t i = random_below(&random, 4); len > 0 && i > 0; i--) {
            static const char bytes[] = "\n\n+- \\\"@ab/0179,\x80";
            diff[random_below(&random, len)] = bytes[random_below(&random, sizeof bytes)];
        }
        struct str cut = {diff, len > 0 ? (size_t)random_below(&random, len + 1) : 0};
        struct patch_stats stats = {.files = 99};
        enum rc rc = patch_read(cut, &arena, &stats, NULL);
        ck_assert(rc == RC_OK || rc == RC_INVALID);
        for (size_t i = 0; rc == RC_OK && i < stats.files; i++)
            ck_assert(stats.paths[i][0] != '\0');
    }
}
END_TEST

Suite *patch_suite(void)
{
    Suite *suite = suite_create("patch");
    TCase *tc = tcase_create("patch");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_diff_tells_its_paths_and_lines, 0, (int)COUNT_OF(diffs));
    tcase_add_loop_test(tc, what_is_no_git_diff_is_refused, 0, (int)COUNT_OF(broken));
    tcase_add_test(tc, a_name_cannot_hide_behind_a_nul);
    tcase_add_loop_test(tc, a_binary_file_is_told_with_its_blobs, 0, (int)COUNT_OF(binaries));
    tcase_add_test(tc, the_number_of_files_is_limited);
    tcase_add_test(tc, damaged_diffs_are_read_or_refused_but_never_misread);
    suite_add_tcase(suite, tc);
    return suite;
}
