/*
 * test_pack.c - packs from a sandbox: what is sound comes in, everything else stays out.
 */
#include "base/fd.h"
#include "forge/git/pack.h"
#include "tests/unit/work_kit.h"
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;
static struct err err;
static const char *base;
static const struct git git = {0};

/* evil.git stands for the git directory of the sandbox, mirror.git for ours. */
static void setup(void)
{
    kit_open(&kit);
    err = (struct err){0};
    base = kit_sh(&kit, "git clone -q --mirror origin.git mirror.git; git clone -q --mirror "
                        "origin.git evil.git; git --git-dir=origin.git rev-parse main");
}

static void teardown(void)
{
    kit_close(&kit);
}

static const struct pack_limits roomy = {
    .bytes = 64 << 20, .objects = 1000, .object_bytes = 64 << 20, .unpacked_bytes = 256 << 20};

static struct pack pack_of(const char *file, const char *tip, struct pack_limits limits)
{
    return (struct pack){
        .fd = open(arena_printf(&kit.arena, "%s/%s", kit.dir, file), O_RDONLY | O_CLOEXEC),
        .lender = arena_printf(&kit.arena, "%s/mirror.git", kit.dir),
        .dir = arena_printf(&kit.arena, "%s/intake", kit.dir),
        .tip = tip,
        .known = base,
        .limits = limits};
}

static enum rc take(const char *file, const char *tip, struct pack_limits limits)
{
    struct pack pack = pack_of(file, tip, limits);
    enum rc rc = pack_take(&git, &pack, &err);
    fd_close(pack.fd);
    return rc;
}

/* Runs the script in evil.git, which prints the hash of a tree; its objects go into x.pack. */
static const char *packed(const char *script)
{
    return kit_sh(&kit,
                  "cd evil.git; tip=$({ %s; }) || exit 1; "
                  "printf '%%s\\n^%%s^{tree}\\n' $tip %s | git pack-objects -q --revs --thin "
                  "--stdout >../x.pack 2>/dev/null; echo $tip",
                  script, base);
}

/* The same with exactly the objects that it names, one a line; the last one is the tree. */
static const char *packed_raw(const char *script)
{
    return kit_sh(&kit,
                  "cd evil.git; { %s; } >../names || exit 1; "
                  "git pack-objects -q --stdout <../names >../x.pack; tail -n 1 ../names",
                  script);
}

#define BLOB(text) "$(echo " text " | git hash-object -w --stdin)"

START_TEST(a_sound_pack_is_taken)
{
    const char *tip = packed("printf '100644 blob %s\\tnew.txt\\n' " BLOB("x") " | git mktree");
    ck_assert_msg(take("x.pack", tip, roomy) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=intake show %s:new.txt", tip), "x");
    ck_assert_str_eq(kit_sh(&kit, "find mirror.git -newer x.pack -type f"), "");
}
END_TEST

START_TEST(a_tree_that_is_known_needs_no_object)
{
    const char *tip = packed(arena_printf(&kit.arena, "git rev-parse %s^{tree}", base));
    ck_assert_msg(take("x.pack", tip, roomy) == RC_OK, "%s", err.text);
}
END_TEST

/* Trees that git itself would not write: made with a harmless NAME, which sed replaces. */
#define EDITED(edit)                                                                               \
    "b=" BLOB("x") "; echo $b; printf '100644 blob %s\\tNAME\\n100644 blob %s\\tNAMF\\n' $b $b | " \
                   "git mktree >../tree; git cat-file tree $(cat ../tree) | sed '" edit "' | "     \
                   "git hash-object -t tree -w --stdin --literally"

static const struct {
    const char *what, *script;
} unsound[] = {
    {"a way out", EDITED("s#NAME#..#")},
    {"itself", EDITED("s#NAME#.#")},
    {"a repository", EDITED("s#NAME#.git#")},
    {"a repository in capitals", EDITED("s#NAME#.GIT#")},
    {"a repository on other systems", EDITED("s#NAMF#git~1#")},
    {"a path", EDITED("s#NAME#A/B#")},
    {"no name", EDITED("s#NAME##")},
    {"one name twice", EDITED("s#NAMF#NAME#")},
    {"names out of order", EDITED("s#NAME#ZAME#")},
    {"a link for .gitmodules",
     "b=" BLOB("x") "; echo $b; printf '120000 blob %s\\t.gitmodules\\n' $b | git mktree"},
    {"a command for a submodule",
     "b=$(printf '[submodule \"a\"]\\n\\tpath = a\\n\\turl = --upload-pack=touch\\n' | "
     "git hash-object -w --stdin); echo $b; "
     "printf '100644 blob %s\\t.gitmodules\\n' $b | git mktree"},
    {"half an object", "printf nonsense | git hash-object -t tree -w --stdin --literally"},
};

START_TEST(a_malformed_object_is_refused)
{
    const char *tip = packed_raw(unsound[_i].script);
    enum rc rc = take("x.pack", tip, roomy);
    ck_assert_msg(rc == RC_INVALID, "%s: %s %s", unsound[_i].what, rc_name(rc), err.text);
    ck_assert_str_eq(err.code, "PACK_REFUSED");
}
END_TEST

START_TEST(what_is_missing_is_refused)
{
    const char *tip = packed("printf '100644 blob %s\\ta\\n' " BLOB("x") " | git mktree");
    /* The tree alone; then another tip. */
    kit_sh(&kit, "cd evil.git; echo %s | git pack-objects -q --stdout >../x.pack", tip);
    ck_assert_int_eq(take("x.pack", tip, roomy), RC_INVALID);
    tip = packed("printf '100644 blob %s\\ta\\n' " BLOB("y") " | git mktree");
    const char *other = arena_printf(&kit.arena, "%040d", 1);
    ck_assert_int_eq(take("x.pack", other, roomy), RC_INVALID);
    ck_assert_int_eq(take("x.pack", "--all", roomy), RC_INVALID);
    ck_assert_msg(take("x.pack", tip, roomy) == RC_OK, "%s", err.text);
    /* A commit where a tree should be. */
    ck_assert_int_eq(take("x.pack", base, roomy), RC_INVALID);
}
END_TEST

START_TEST(what_is_no_pack_is_refused)
{
    static const char *const makers[] = {
        ": >x.pack",
        "echo PACK >x.pack",
        "head -c 100 /dev/zero >x.pack",
        "{ printf 'PACK\\0\\0\\0\\11\\0\\0\\0\\1'; head -c 99 /dev/zero; } >x.pack",
        "{ printf 'PACK\\0\\0\\0\\2\\0\\0\\0\\1'; head -c 99 /dev/zero; } >x.pack",
        "head -c 40 y.pack >x.pack",
        "cp y.pack x.pack; printf x | dd of=x.pack bs=1 seek=30 conv=notrunc 2>/dev/null",
    };
    const char *tip = packed("printf '100644 blob %s\\ta\\n' " BLOB("x") " | git mktree");
    kit_sh(&kit, "mv x.pack y.pack");
    for (size_t i = 0; i < COUNT_OF(makers); i++) {
        kit_sh(&kit, "%s", makers[i]);
        ck_assert_msg(take("x.pack", tip, roomy) == RC_INVALID, "%zu: %s", i, err.text);
    }
}
END_TEST

START_TEST(limits_hold)
{
    const char *tip = packed("for i in 1 2 3 4; do printf '100644 blob %s\\t%s\\n' $(head -c "
                             "100000 /dev/zero | tr '\\0' $i | git hash-object -w --stdin) $i; "
                             "done | git mktree");
    static const struct pack_limits tight[] = {
        {.bytes = 100, .objects = 1000, .object_bytes = 1 << 20, .unpacked_bytes = 1 << 20},
        {.bytes = 1 << 20, .objects = 4, .object_bytes = 1 << 20, .unpacked_bytes = 1 << 20},
        {.bytes = 1 << 20, .objects = 9, .object_bytes = 99999, .unpacked_bytes = 1 << 20},
        {.bytes = 1 << 20, .objects = 9, .object_bytes = 1 << 20, .unpacked_bytes = 399999},
    };
    for (size_t i = 0; i < COUNT_OF(tight); i++) {
        ck_assert_msg(take("x.pack", tip, tight[i]) == RC_TOO_LARGE, "%zu: %s", i, err.text);
        ck_assert_str_eq(err.code, "PACK_TOO_LARGE");
    }
    const struct pack_limits fits = {
        .bytes = 1 << 20, .objects = 5, .object_bytes = 100000, .unpacked_bytes = 401000};
    ck_assert_msg(take("x.pack", tip, fits) == RC_OK, "%s", err.text);
}
END_TEST

static struct buf read_file(const char *name)
{
    struct buf bytes;
    buf_init(&bytes, 1 << 20);
    ck_assert_int_eq(file_read(arena_printf(&kit.arena, "%s/%s", kit.dir, name), &bytes, &err),
                     RC_OK);
    return bytes;
}

static void write_file(const char *name, const struct buf *bytes)
{
    const char *path = arena_printf(&kit.arena, "%s/%s", kit.dir, name);
    ck_assert_int_eq(file_write_durable(path, bytes->data, bytes->len, 0600, &err), RC_OK);
}

static void add_hex(struct buf *into, const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        char byte[] = {hex[0], hex[1], '\0'};
        char value = (char)strtol(byte, NULL, 16);
        buf_add(into, &value, 1);
    }
}

enum { PACK_HEAD = 12, PACK_TAIL = 20, REF_DELTA = 0x70, TYPE_BITS = 0x70, MORE = 0x80 };

/* The only object of a pack, as a delta on base if there is one. */
static void add_object(struct buf *into, const char *file, const char *base_or_none)
{
    CLEANUP(buf_release) struct buf pack = read_file(file);
    size_t head = PACK_HEAD;
    while ((unsigned char)pack.data[head] & MORE)
        head++;
    head++;
    if (base_or_none != NULL)
        pack.data[PACK_HEAD] = (char)((pack.data[PACK_HEAD] & ~TYPE_BITS) | REF_DELTA);
    buf_add(into, pack.data + PACK_HEAD, head - PACK_HEAD);
    if (base_or_none != NULL)
        add_hex(into, base_or_none);
    buf_add(into, pack.data + head, pack.len - head - PACK_TAIL);
}

/* "Copy the 16 MiB once more", 120 times: a few bytes that unpack to 2 GB. */
START_TEST(a_delta_that_unpacks_to_gigabytes_is_refused)
{
    enum { COPIES = 120 };
    static const char pack_of_two[] = "PACK\0\0\0\2\0\0\0\2";
    CLEANUP(buf_release) struct buf delta;
    CLEANUP(buf_release) struct buf bomb;
    buf_init(&delta, 4096);
    buf_init(&bomb, 1 << 20);
    add_hex(&delta, "ffffff07" /* 0xffffff */ "88ffffbf07" /* times COPIES */);
    for (int i = 0; i < COPIES; i++)
        add_hex(&delta, "f0ffffff");
    write_file("delta", &delta);
    const char *source = kit_sh(&kit,
                                "cd evil.git; s=$(head -c 16777215 /dev/zero | git hash-object -w "
                                "--stdin); echo $s | git pack-objects -q --stdout >../s.pack; "
                                "git hash-object -w ../delta | git pack-objects -q --stdout "
                                ">../d.pack; echo $s");
    buf_add(&bomb, pack_of_two, PACK_HEAD);
    add_object(&bomb, "s.pack", NULL);
    add_object(&bomb, "d.pack", source);
    write_file("x.pack", &bomb);
    add_hex(&bomb, kit_sh(&kit, "sha1sum x.pack | cut -c 1-40"));
    write_file("x.pack", &bomb);
    const char *tip = kit_sh(&kit, "git --git-dir=origin.git rev-parse main^{tree}");
    ck_assert_msg(take("x.pack", tip, roomy) == RC_TOO_LARGE, "%s", err.text);
}
END_TEST

Suite *pack_suite(void)
{
    Suite *suite = suite_create("pack");
    TCase *tests = tcase_create("pack");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_sound_pack_is_taken);
    tcase_add_test(tests, a_tree_that_is_known_needs_no_object);
    tcase_add_loop_test(tests, a_malformed_object_is_refused, 0, (int)COUNT_OF(unsound));
    tcase_add_test(tests, what_is_missing_is_refused);
    tcase_add_test(tests, what_is_no_pack_is_refused);
    tcase_add_test(tests, limits_hold);
    tcase_add_test(tests, a_delta_that_unpacks_to_gigabytes_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
