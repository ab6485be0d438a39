/* test_outputs.c - copying outputs out of a tree that belongs to hostile code. */
#include "base/clock.h"
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/tree/outputs.h"
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kit kit;
static struct outputs_room room;
static struct outputs_count count;
static struct err err;

static void setup(void)
{
    kit_open(&kit);
    kit_sh(&kit, "mkdir from to outside; echo secret >outside/secret");
    room = (struct outputs_room){
        .bytes = 1000000, .entries = 1000, .deadline_us = clock_mono_us() + 60 * US_PER_SECOND};
    count = (struct outputs_count){0};
    err = (struct err){0};
}

static void teardown(void)
{
    kit_close(&kit);
}

static enum rc copy(const char *path)
{
    const struct outputs_copy order = {
        .from = arena_printf(&kit.arena, "%s/from", kit.dir),
        .to = arena_printf(&kit.arena, "%s/to", kit.dir),
        .path = path,
    };
    return outputs_copy(&order, &room, &count, &err);
}

START_TEST(files_directories_and_links_come_with_content_mode_and_time)
{
    kit_sh(&kit, "cd from; mkdir -p a/out/deep; echo one >a/out/one; echo two >a/out/deep/two;"
                 "chmod 750 a/out/deep; chmod 4755 a/out/one; touch -d 2001-02-03 a/out/one;"
                 "ln -s ../../../outside a/out/link; echo stray >a/stray");
    ck_assert_msg(copy("a/out") == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "cat to/a/out/one to/a/out/deep/two"), "one\ntwo");
    ck_assert_str_eq(kit_sh(&kit, "stat -c %%a to/a/out/one to/a/out/deep"), "755\n750");
    ck_assert_str_eq(kit_sh(&kit, "date -r to/a/out/one +%%F"), "2001-02-03");
    ck_assert_str_eq(kit_sh(&kit, "readlink to/a/out/link"), "../../../outside");
    ck_assert_str_eq(kit_sh(&kit, "ls to/a"), "out");
    ck_assert_int_eq(count.files, 3);
    ck_assert_int_eq(count.bytes, 8);
    ck_assert_int_eq(count.skipped, 0);
}
END_TEST

START_TEST(nothing_is_replaced)
{
    kit_sh(&kit, "mkdir from/out to/out; echo new >from/out/both; echo new >from/out/more;"
                 "echo old >to/out/both; ln -s ../../outside to/out/dir; mkdir from/out/dir;"
                 "echo planted >from/out/dir/planted");
    ck_assert_msg(copy("out") == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "cat to/out/both to/out/more; ls outside"), "old\nnew\nsecret");
    ck_assert_int_eq(count.files, 1);
    ck_assert_int_eq(count.skipped, 2);
}
END_TEST

/* A link of the patch, or of the check, on the way to the output. */
START_TEST(no_link_leads_out_of_either_tree)
{
    kit_sh(&kit, "ln -s ../outside from/way; mkdir -p from/gate; echo x >from/gate/x;"
                 "ln -s ../outside to/gate");
    ck_assert_int_eq(copy("way/secret"), RC_NOT_FOUND);
    ck_assert_msg(copy("gate/x") == RC_OK, "%s", err.text);
    ck_assert_int_eq(count.skipped, 1);
    ck_assert_int_eq(count.files, 0);
    ck_assert_str_eq(kit_sh(&kit, "ls outside"), "secret");
    ck_assert_msg(copy("way") == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "readlink to/way"), "../outside");
}
END_TEST

START_TEST(pipes_sockets_and_devices_are_left_out)
{
    kit_sh(&kit, "mkdir from/out; mkfifo from/out/pipe; echo x >from/out/file;"
                 "mknod from/out/null c 1 3 2>/dev/null || mkfifo from/out/null");
    ck_assert_msg(copy("out") == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls to/out"), "file");
    ck_assert_int_eq(count.skipped, 2);
    ck_assert_msg(copy("out/pipe") == RC_OK, "%s", err.text);
}
END_TEST

static const struct {
    const char *make, *text;
} large[] = {
    {"truncate -s 1T from/out/sparse", "more bytes"},
    {"head -c 600000 /dev/zero >from/out/a; ln from/out/a from/out/b", "more bytes"},
    {"cd from/out; seq 1 1200 | xargs touch", "more files"},
    {"cd from/out; for i in $(seq 1 80); do mkdir d; cd d; done", "too many directories"},
};

START_TEST(what_is_too_large_is_refused)
{
    kit_sh(&kit, "mkdir from/out; %s", large[_i].make);
    ck_assert_int_eq(copy("out"), RC_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.text, large[_i].text));
}
END_TEST

START_TEST(it_ends_when_it_is_told_to)
{
    const atomic_int cancel = 1;
    kit_sh(&kit, "mkdir from/out; touch from/out/x");
    ck_assert_int_eq(copy("none"), RC_NOT_FOUND);
    room.cancel = &cancel;
    ck_assert_int_eq(copy("out"), RC_CANCELLED);
    room.cancel = NULL;
    room.deadline_us = 0;
    ck_assert_int_eq(copy("out"), RC_TIMEOUT);
}
END_TEST

struct swapper {
    const char *dir;
    volatile int stop;
};

/* A directory and a link to the outside take turns under one name. */
static void *swap(void *ctx)
{
    struct swapper *swapper = ctx;
    char name[4096], aside[4096], link[4096];
    (void)snprintf(name, sizeof name, "%s/from/out/sub", swapper->dir);
    (void)snprintf(aside, sizeof aside, "%s/from/out/aside", swapper->dir);
    (void)snprintf(link, sizeof link, "%s/outside", swapper->dir);
    while (!__atomic_load_n(&swapper->stop, __ATOMIC_ACQUIRE)) {
        (void)rename(name, aside);
        (void)!symlink(link, name);
        (void)unlink(name);
        (void)rename(aside, name);
    }
    return NULL;
}

START_TEST(a_directory_that_is_swapped_for_a_link_leads_nowhere)
{
    enum { ROUNDS = 300 };
    struct swapper swapper = {.dir = kit.dir};
    pthread_t thread;
    kit_sh(&kit, "mkdir -p from/out/sub; touch from/out/sub/x");
    ck_assert_int_eq(pthread_create(&thread, NULL, swap, &swapper), 0);
    for (int i = 0; i < ROUNDS; i++) {
        room.entries = 1000;
        const char *to = arena_printf(&kit.arena, "%s/to/out", kit.dir);
        ck_assert_int_eq(dir_remove(to, NULL), RC_OK);
        enum rc rc = copy("out");
        ck_assert_msg(rc == RC_OK, "%s", err.text);
        ck_assert(!file_exists(arena_printf(&kit.arena, "%s/sub/secret", to)) ||
                  kit_sh(&kit, "readlink to/out/sub")[0] == '/');
    }
    __atomic_store_n(&swapper.stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    ck_assert_str_eq(kit_sh(&kit, "find to -type f -name secret"), "");
}
END_TEST

START_TEST(a_tree_gets_one_time_but_for_its_repository)
{
    kit_sh(&kit, "mkdir -p from/.git from/dir; touch -d 2001-01-01 from/.git/index;"
                 "touch from/dir/file; ln -s nowhere from/link");
    const char *tree = arena_printf(&kit.arena, "%s/from", kit.dir);
    ck_assert_msg(outputs_date_tree(tree, 1000000000LL * US_PER_SECOND, &err) == RC_OK, "%s",
                  err.text);
    ck_assert_str_eq(kit_sh(&kit, "cd from; stat -c %%Y dir dir/file link"),
                     "1000000000\n1000000000\n1000000000");
    ck_assert_str_eq(kit_sh(&kit, "date -r from/.git/index +%%F"), "2001-01-01");
}
END_TEST

/* A link in from/a/out, and whether it may be copied when links must stay inside. */
static const struct {
    const char *target;
    bool stays;
} links[] = {
    {"x", true},         {"./x/y", true},          {"..", true},
    {"../../b", true},   {"../x/./y", true},       {"../..", true},
    {"../../..", false}, {"../../../b", false},    {"/usr/bin/x", false},
    {"x/../y", false},   {"x/../../../..", false}, {".././../..", false},
    {"..//../x", true},
};

START_TEST(a_link_that_could_lead_out_is_refused_on_request)
{
    kit_sh(&kit, "mkdir -p from/a/out; ln -s %s from/a/out/link", links[_i].target);
    const struct outputs_copy order = {
        .from = arena_printf(&kit.arena, "%s/from", kit.dir),
        .to = arena_printf(&kit.arena, "%s/to", kit.dir),
        .path = "a/out",
        .inside = true,
    };
    enum rc rc = outputs_copy(&order, &room, &count, &err);
    ck_assert_msg(rc == (links[_i].stays ? RC_OK : RC_DENIED), "%s: %s", links[_i].target,
                  err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls to/a/out"), links[_i].stays ? "link" : "");
}
END_TEST

Suite *outputs_suite(void)
{
    Suite *suite = suite_create("outputs");
    TCase *tests = tcase_create("outputs");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, files_directories_and_links_come_with_content_mode_and_time);
    tcase_add_test(tests, nothing_is_replaced);
    tcase_add_test(tests, no_link_leads_out_of_either_tree);
    tcase_add_loop_test(tests, a_link_that_could_lead_out_is_refused_on_request, 0,
                        (int)COUNT_OF(links));
    tcase_add_test(tests, pipes_sockets_and_devices_are_left_out);
    tcase_add_loop_test(tests, what_is_too_large_is_refused, 0, (int)COUNT_OF(large));
    tcase_add_test(tests, it_ends_when_it_is_told_to);
    tcase_add_test(tests, a_directory_that_is_swapped_for_a_link_leads_nowhere);
    tcase_add_test(tests, a_tree_gets_one_time_but_for_its_repository);
    suite_add_tcase(suite, tests);
    return suite;
}
