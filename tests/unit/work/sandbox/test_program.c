/*
 * test_program.c - what a program consists of, by the way in which it was installed.
 */
#include "base/fd.h"
#include "base/str.h"
#include "tests/unit/suites.h"
#include "work/sandbox/program.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/drover-program-XXXXXX";
static struct arena arena;
static struct err err;

static const char *at(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

static void put(const char *name, const char *text, mode_t mode)
{
    const char *path = at(name);
    char *above = arena_strdup(&arena, path);
    *strrchr(above, '/') = '\0';
    ck_assert_int_eq(dir_make(above, 0755, NULL), RC_OK);
    ck_assert_int_eq(file_write_durable(path, text, strlen(text), mode, NULL), RC_OK);
}

static void link_to(const char *target, const char *name)
{
    ck_assert_int_eq(dir_make(at("bin"), 0755, NULL), RC_OK);
    ck_assert_int_eq(symlink(target, at(name)), 0);
}

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    arena_release(&arena);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static const char *search(void)
{
    return arena_printf(&arena, "relative:%s/bin::/usr/bin:/bin", dir);
}

static enum rc find(const char *name, struct program *ret)
{
    err = (struct err){0};
    const struct program_query query = {.name = name, .cwd = dir, .path = search()};
    enum rc rc = program_find(&query, &arena, ret, &err);
    return rc == RC_OK ? program_examine(ret, search(), &arena, &err) : rc;
}

/* The parts and links below dir, without it. */
static const char *needs(const char *name)
{
    struct program program;
    const char *text = "";
    size_t skip = strlen(dir) + 1;
    ck_assert_msg(find(name, &program) == RC_OK, "%s", err.text);
    for (size_t i = 0; program.parts[i] != NULL; i++)
        if (path_is_inside(program.parts[i], dir))
            text = arena_printf(&arena, "%s%s ", text, program.parts[i] + skip);
    for (size_t i = 0; i < PROGRAM_LINKS_MAX && program.links[i].path != NULL; i++)
        if (path_is_inside(program.links[i].path, dir))
            text = arena_printf(&arena, "%s(%s)", text, program.links[i].path + skip);
    return text;
}

START_TEST(a_program_is_its_package_and_nothing_beside_it)
{
    static const struct {
        const char *file, *more, *want;
    } rows[] = {
        {"bin/x", NULL, "bin/x "},
        {"lib/node_modules/@a/tool/bin/x.js", NULL, "lib/node_modules/@a/tool (bin/x)"},
        {"lib/node_modules/tool/x.js", NULL, "lib/node_modules/tool (bin/x)"},
        {"p/node_modules/tool/node_modules/in/x.js", NULL, "p/node_modules (bin/x)"},
        {".local/share/tool/versions/1/x", NULL, ".local/share/tool/versions/1 (bin/x)"},
        {".local/share/x", NULL, ".local/share/x (bin/x)"}, /* Not what others keep there. */
        {"opt/x", NULL, "opt/x (bin/x)"},
        {"project/secret/x.sh", NULL, "project/secret/x.sh (bin/x)"},
        {"venv/bin/x", "venv/pyvenv.cfg", "venv/bin venv/pyvenv.cfg (bin/x)"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put(rows[i].file, "binary", 0755);
        if (rows[i].more != NULL)
            put(rows[i].more, "", 0644);
        if (strcmp(rows[i].file, "bin/x") != 0)
            link_to(arena_printf(&arena, "../%s", rows[i].file), "bin/x");
        ck_assert_str_eq(needs("x"), rows[i].want);
        ck_assert_int_eq(unlink(at("bin/x")), 0);
    }
}
END_TEST

START_TEST(a_script_needs_its_interpreter)
{
    put("node/bin/node", "binary", 0755);
    link_to("../node/bin/node", "bin/node");
    put("lib/node_modules/tool/x.js", "#!/usr/bin/env -S A=1 node --flag\nx\n", 0755);
    link_to("../lib/node_modules/tool/x.js", "bin/x");
    ck_assert_str_eq(needs("x"), "lib/node_modules/tool node/bin/node (bin/x)(bin/node)");
    put("python/bin/python3.12", "binary", 0755);
    put("python/lib/libpython.so", "", 0644);
    put("y", arena_printf(&arena, "#! %s/python/bin/python3.12 -E\r\n", dir), 0755);
    ck_assert_str_eq(needs(at("y")), "y python/bin/python3.12 python/lib ");
    put("sh", "#!/bin/sh\n", 0755);
    ck_assert_str_eq(needs(at("sh")), "sh ");
}
END_TEST

START_TEST(what_cannot_be_started_is_named)
{
    struct program program;
    put("bin/plain", "text", 0644);
    put("bin/nodeless", "#!/usr/bin/env no-such-node\n", 0755);
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"nothing", "There is no program nothing in PATH."},
        {"./nothing", "There is no program ./nothing."},
        {"plain", "There is no program plain in PATH."},
        {"./bin/plain", "(chmod +x)"},
        {"nodeless", "is a script for no-such-node, and there is no such program in PATH."},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_int_eq(find(rows[i].name, &program), RC_NOT_FOUND);
        ck_assert_msg(strstr(err.text, rows[i].text) != NULL, "%s", err.text);
    }
}
END_TEST

Suite *program_suite(void)
{
    Suite *suite = suite_create("program");
    TCase *tests = tcase_create("program");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_program_is_its_package_and_nothing_beside_it);
    tcase_add_test(tests, a_script_needs_its_interpreter);
    tcase_add_test(tests, what_cannot_be_started_is_named);
    suite_add_tcase(suite, tests);
    return suite;
}
