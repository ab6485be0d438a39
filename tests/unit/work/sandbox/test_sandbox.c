/*
 * test_sandbox.c - what a command behind the walls can see and do.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "tests/unit/work_kit.h"
#include "work/sandbox/hidden.h"
#include "work/sandbox/run_user.h"
#include "work/sandbox/sandbox.h"
#include <check.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct kit kit;
static const char *tree;

static void setup(void)
{
    kit_open(&kit);
    tree = arena_printf(&kit.arena, "%s/runs/mine/tree", kit.work_dir);
    kit_sh(&kit, "mkdir -p data/work/runs/mine/tree data/work/runs/other/tree; "
                 "echo hers >data/work/runs/other/tree/secret; echo secret >beside");
}

static void teardown(void)
{
    kit_close(&kit);
}

static const struct resource_config no_limits;

/* Runs the command of the view as agents start, in the tree; gives its exit status and, in
   *ret_out, its output. */
static int run(const struct sandbox_view *wanted, const char **ret_out)
{
    const struct sandbox *sandbox = &kit.site.sandbox;
    CLEANUP(bwrap_copies_close) struct bwrap_copies copies = {.count = 0};
    CLEANUP(fd_closep) int filter_fd = -1;
    struct err err = {0};
    ck_assert_msg(sandbox_filter(sandbox, &filter_fd, &err) == RC_OK, "%s", err.text);
    struct sandbox_view view = *wanted;
    view.cwd = tree;
    view.binds[0] = (struct sandbox_bind){tree, true};
    view.limits = &no_limits;
    view.filter_fd = filter_fd;
    view.status_fd = -1;
    view.copies = &copies;
    ck_assert_msg(sandbox_hand_over(sandbox, &view, &err) == RC_OK, "%s", err.text);
    const char *const env[] = {arena_printf(&kit.arena, "PATH=%s", getenv("PATH")),
                               arena_printf(&kit.arena, "KIT=%s", kit.dir), NULL};
    int kept[SANDBOX_KEPT_MAX];
    const struct proc_spec spec = {
        .argv = sandbox_argv(sandbox, &view, &kit.arena), .env = env, .keep_fds = kept};
    sandbox_kept(sandbox, &view, kept);
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, 65536);
    struct proc_result result;
    struct proc_limits limits = {.timeout_ms = 20000};
    ck_assert_int_eq(proc_run(&spec, (struct str){0}, &out, &out, &limits, &result, &err), RC_OK);
    if (ret_out != NULL)
        *ret_out = arena_strdup(&kit.arena, buf_text(&out));
    return result.exit.code;
}

static int inside(const char *script, bool network, const char **ret_out)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    return run(&(struct sandbox_view){.argv = argv,
                                      .binds = {{NULL, false}, {kit.origin, false}},
                                      .network = network},
               ret_out);
}

static const char *says(const struct sandbox_view *view)
{
    const char *out;
    (void)run(view, &out);
    return out;
}

static const struct {
    const char *what, *script;
    bool may;
} attempts[] = {
    {"write its tree", "echo x >new", true},
    {"use its /tmp", "echo x >/tmp/x && cat /tmp/x", true},
    {"see tools", "git --version", true},
    {"read the mirror it was given", "git --git-dir=$KIT/origin.git rev-parse main", true},
    {"read the admin token", "cat $KIT/data/admin.token", false},
    {"list the data directory for it", "ls $KIT/data | grep admin", false},
    {"read another run's tree", "cat $KIT/data/work/runs/other/tree/secret", false},
    {"write into the data directory", "touch $KIT/data/x", false},
    {"write the mirror", "touch $KIT/origin.git/x", false},
    {"see files beside the data directory", "ls $KIT/beside", false},
    {"list home directories", "ls /home /root | grep .", false},
    {"see the rest of the machine", "ls /srv || ls /mnt || ls /media || ls /boot", false},
    {"see logs and mail", "ls /var/log || ls /var/mail || ls /var/spool", false},
    {"see settings of services", "ls /etc/cron.d || ls /etc/ssh || ls /etc/systemd", false},
    {"see accounts and passwords", "ls /etc/shadow || ls /etc/sudoers", false},
    {"see private keys of the machine", "ls /etc/ssl/private | grep .", false},
    {"see devices by /sys", "ls /sys/class || ls /sys/kernel", false},
    {"look names up", "grep -q root /etc/passwd && test -r /etc/nsswitch.conf", true},
    {"count processors", "test $(nproc) -gt 0", true},
    {"write system files", "touch /etc/x", false},
    {"change system files", "echo x >>/etc/passwd || chmod 666 /etc/passwd || rm /etc/passwd",
     false},
    {"write the root directory", "touch /x || mkdir /y || touch /var/x", false},
    {"write home directories", "touch /root/x || touch /home/x", false},
    {"change the kernel", "test -w /proc/sys/kernel/core_pattern", false},
    {"remount", "mount -o remount,rw,bind /", false},
    {"unmount what hides the data", "umount $KIT/data", false},
    {"see the machine's processes", "[ $(ls -d /proc/[0-9]* | wc -l) -gt 8 ]", false},
    {"find sockets of services", "ls /run | grep -vx drover", false},
};

/* The second time round without users of their own, as where drover is not root. */
START_TEST(the_walls_hold)
{
    const char *out;
    int index = _i % (int)COUNT_OF(attempts);
    if (_i >= (int)COUNT_OF(attempts))
        kit.site.sandbox.drops = false;
    int code = inside(attempts[index].script, false, &out);
    ck_assert_msg((code == 0) == attempts[index].may, "%s: exit %d: %s", attempts[index].what, code,
                  out);
}
END_TEST

START_TEST(system_files_are_as_they_are_outside)
{
    static const char *const names[] = {"passwd", "group", "nsswitch.conf", "ld.so.cache", "hosts"};
    const char *out;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *path = arena_printf(&kit.arena, "/etc/%s", names[i]);
        ck_assert_int_eq(inside(arena_printf(&kit.arena, "cksum <%s", path), false, &out), 0);
        ck_assert_str_eq(out, arena_printf(&kit.arena, "%s\n", kit_sh(&kit, "cksum <%s", path)));
    }
}
END_TEST

START_TEST(a_command_inherits_nothing_but_its_standard_descriptors)
{
    const char *out;
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC); /* What the test has. */
    ck_assert_int_eq(inside("cd /proc/$$/fd && echo *", false, &out), 0);
    ck_assert_str_eq(out, "0 1 2 3\n"); /* The last is the directory that the shell reads. */
}
END_TEST

/* The kernel may refuse to execute a file in memory: then drover is its own `inside`. */
START_TEST(a_command_starts_through_the_small_program_or_through_drover)
{
    const char *out;
    ck_assert(kit.site.sandbox.small);
    ck_assert_int_eq(inside("echo small", false, &out), 0);
    ck_assert_str_eq(out, "small\n");
    kit.site.sandbox.small = false;
    ck_assert_int_eq(inside("echo whole", false, &out), 0);
    ck_assert_str_eq(out, "whole\n");
}
END_TEST

START_TEST(nothing_is_left_outside)
{
    ck_assert_int_eq(inside("touch /tmp/kit-mark $KIT/mark; echo x >new", false, NULL), 0);
    ck_assert(file_exists(arena_printf(&kit.arena, "%s/new", tree)));
    ck_assert(!file_exists("/tmp/kit-mark"));
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/mark", kit.dir)));
}
END_TEST

START_TEST(the_network_is_there_only_when_allowed)
{
    const char *alone, *shared;
    ck_assert_int_eq(inside("readlink /proc/self/ns/net", false, &alone), 0);
    ck_assert_int_eq(inside("readlink /proc/self/ns/net", true, &shared), 0);
    ck_assert_str_ne(alone, shared);
    ck_assert_str_eq(arena_printf(&kit.arena, "%s\n", kit_sh(&kit, "readlink /proc/self/ns/net")),
                     shared);
}
END_TEST

START_TEST(a_script_in_tmp_that_the_command_names_is_there)
{
    kit_sh(&kit, "echo 'echo it runs' >agent.sh; echo secret >secret");
    const char *script = arena_printf(&kit.arena, "%s/agent.sh", kit.dir);
    const char *const argv[] = {"/bin/sh", script, NULL};
    if (text_starts(kit.dir, "/tmp") || text_starts(kit.dir, "/var/tmp"))
        ck_assert_str_eq(says(&(struct sandbox_view){.argv = argv}), "it runs\n");
}
END_TEST

static const char *in_kit(const char *name)
{
    return arena_printf(&kit.arena, "%s/%s", kit.dir, name);
}

START_TEST(a_file_that_the_command_names_is_shown_unless_it_is_a_secret)
{
    kit_sh(&kit, "chmod 755 .; for f in plain private hidden; do echo $f >$f; chmod 644 $f; done; "
                 "printf '#!/bin/sh\necho program\n' >program; chmod 700 program; "
                 "chmod 600 private; ln -s data/admin.token link; ln -s hidden link2");
    kit.site.sandbox.drops = false; /* As where drover is not root: its user may read them all. */
    const char *const hidden[] = {in_kit("hidden"), NULL};
    kit.site.sandbox.hidden = hidden;
    const struct {
        const char *name;
        bool shown;
    } files[] = {{"plain", true}, {"program", true}, {"private", false},         {"hidden", false},
                 {"link", false}, {"link2", false},  {"data/admin.token", false}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *const argv[] = {"/bin/sh", "-c", "test -e $0 && echo shown",
                                    in_kit(files[i].name), NULL};
        ck_assert_msg((strstr(says(&(struct sandbox_view){.argv = argv}), "shown") != NULL) ==
                          files[i].shown,
                      "%s", files[i].name);
    }
    const char *const environ_of[] = {"/bin/sh", "-c", "cat $0",
                                      arena_printf(&kit.arena, "/proc/%d/environ", getpid()), NULL};
    ck_assert_ptr_nonnull(strstr(says(&(struct sandbox_view){.argv = environ_of}), "No such file"));
}
END_TEST

START_TEST(a_program_that_was_found_in_a_home_directory_is_shown)
{
    kit_sh(&kit,
           "mkdir -p bin; printf '#!/bin/sh\necho it runs\n' >bin/own; chmod 755 . bin bin/own; "
           "echo x >bin/other");
    const char *const argv[] = {"/bin/sh", "-c", "$0/own; ls $0", in_kit("bin"), NULL};
    const struct program program = {.path = in_kit("bin/own"), .parts = {in_kit("bin/own")}};
    const struct sandbox_view view = {.argv = argv, .program = &program};
    ck_assert_str_eq(says(&view), "it runs\nown\n");
}
END_TEST

static struct program examined(const char *name)
{
    struct program program;
    struct err err = {0};
    const char *search = arena_printf(&kit.arena, "%s/bin:%s", kit.dir, getenv("PATH"));
    const struct program_query query = {.name = name, .cwd = "/", .path = search};
    ck_assert_msg(program_find(&query, &kit.arena, &program, &err) == RC_OK, "%s", err.text);
    ck_assert_msg(program_examine(&program, search, &kit.arena, &err) == RC_OK, "%s", err.text);
    return program;
}

/* As npm install -g leaves it: a link to a script, which reads a file of its package. */
static void install(const char *mode)
{
    kit_sh(&kit,
           "mkdir -p bin lib/node_modules/@acme/tool/bin lib/node_modules/other; "
           "cd lib/node_modules; echo mine >@acme/tool/data; echo other >other/data; "
           "printf '#!/usr/bin/env sh\ncat \"$(dirname \"$(realpath \"$0\")\")/../data\"\n' "
           ">@acme/tool/bin/cli; chmod %s @acme/tool/bin/cli; chmod -R go+rX @acme other; "
           "ln -s ../lib/node_modules/@acme/tool/bin/cli ../../bin/tool; "
           "chmod 700 ../..", /* As /root is. */
           mode);
}

START_TEST(a_package_of_npm_starts_by_its_link_and_shows_no_other)
{
    install("755");
    struct program program = examined("tool");
    const char *const argv[] = {"/bin/sh", "-c",
                                "$0/bin/tool; ls $0 $0/lib/node_modules; readlink $0/bin/tool",
                                kit.dir, NULL};
    const struct sandbox_view view = {.argv = argv, .program = &program};
    struct err err = {0};
    ck_assert_int_eq(sandbox_check(&kit.site.sandbox, &view, &err), RC_OK);
    const char *want = arena_printf(&kit.arena,
                                    "mine\n%s:\nbin\ndata\nlib\n\n%s/lib/node_modules:\n@acme\n"
                                    "%s/lib/node_modules/@acme/tool/bin/cli\n",
                                    kit.dir, kit.dir, kit.dir);
    ck_assert_str_eq(says(&view), want);
}
END_TEST

START_TEST(a_program_that_the_agents_user_may_not_execute_is_named)
{
    if (!kit.site.sandbox.drops)
        return;
    install("700");
    kit_sh(&kit, "chmod go-rwx lib/node_modules/@acme/tool/bin");
    struct program program = examined("tool");
    const char *const argv[] = {"tool", NULL};
    const struct sandbox_view view = {.argv = argv, .program = &program};
    struct err err = {0};
    ck_assert_int_eq(sandbox_check(&kit.site.sandbox, &view, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "@acme/tool/bin. Allow it (chmod -R o+rX"));
    ck_assert_ptr_nonnull(strstr(err.text, "install the program elsewhere"));
}
END_TEST

START_TEST(a_program_among_drovers_data_is_refused)
{
    kit_sh(&kit, "mkdir bin data/tool; cp /bin/true data/tool/x; ln -s ../data/tool/x bin/tool");
    struct program program = examined("tool");
    const char *const argv[] = {"tool", NULL};
    const struct sandbox_view view = {.argv = argv, .program = &program};
    struct err err = {0};
    ck_assert_int_eq(sandbox_check(&kit.site.sandbox, &view, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "Install it elsewhere"));
    const char *const look[] = {"/bin/sh", "-c", "ls $0/data/tool", kit.dir, NULL};
    const struct sandbox_view shown = {.argv = look, .program = &program};
    ck_assert_ptr_nonnull(strstr(says(&shown), "No such file"));
}
END_TEST

START_TEST(only_loopback_that_no_rule_names_is_left_to_the_sandbox)
{
    static const struct {
        const char *rules[4];
        const char *direct; /* NULL: no such option. */
    } rows[] = {
        {{"api.example.com"}, "localhost,127.0.0.1,::1"},
        {{"127.0.0.1:8080"}, "localhost,::1"},
        {{"localhost:1", "127.0.0.1", "[::1]:1"}, NULL},
    };
    const char *const argv[] = {"agent", NULL};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sandbox_view view = {.argv = argv,
                                    .cwd = "/",
                                    .limits = &no_limits,
                                    .status_fd = -1,
                                    .filter_fd = 9,
                                    .proxy = "/x/proxy",
                                    .egress = rows[i].rules};
        const char **full = sandbox_argv(&kit.site.sandbox, &view, &kit.arena), *direct = NULL;
        for (size_t at = 0; full[at] != NULL; at++) {
            if (strcmp(full[at], "--direct") == 0)
                direct = full[at + 1];
        }
        ck_assert_pstr_eq(direct, rows[i].direct);
    }
}
END_TEST

START_TEST(what_is_hidden_stays_hidden_in_a_system_directory)
{
    char place[] = "/opt/drover-kit-XXXXXX";
    if (geteuid() != 0 || mkdtemp(place) == NULL)
        return;
    kit_sh(&kit,
           "chmod 755 %s; mkdir %s/data; echo secret >%s/data/x; echo secret >%s/token; "
           "echo open >%s/tool; chmod -R a+rX %s",
           place, place, place, place, place, place);
    const char *const hidden[] = {arena_printf(&kit.arena, "%s/data", place),
                                  arena_printf(&kit.arena, "%s/token", place),
                                  arena_printf(&kit.arena, "%s/not-there", place), NULL};
    const char *const argv[] = {"/bin/sh", "-c", "cd $0; cat tool token data/x; ls data", place,
                                NULL};
    const struct sandbox_view view = {.argv = argv};
    const char *open = says(&view);
    ck_assert_ptr_nonnull(strstr(open, "secret"));
    kit.site.sandbox.hidden = hidden;
    for (int i = 0; i < 2; i++) {
        const char *said = says(&view);
        ck_assert_ptr_nonnull(strstr(said, "open\n"));
        ck_assert_msg(strstr(said, "secret") == NULL, "%s", said);
        kit.site.sandbox.drops = false;
    }
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(sandbox_hides(&kit.site.sandbox, hidden[i]), hidden[i]);
        const struct mount_config mount = {.path = i ? hidden[i] : place};
        const struct sandbox_view mounted = {.mounts = &mount, .mount_count = 1};
        ck_assert_int_eq(sandbox_check(&kit.site.sandbox, &mounted, NULL), RC_INVALID);
    }
    ck_assert_int_eq(dir_remove(place, NULL), RC_OK);
}
END_TEST

START_TEST(data_directories_above_and_given_files_are_hidden)
{
    kit_sh(&kit, "mkdir -p outer/inner/worker; touch outer/inner/server.lock; ln -s beside link");
    const char *const given[] = {in_kit("link"), in_kit("not-yet"), in_kit("no/such/dir"), NULL};
    char **list = hidden_list(in_kit("outer/inner/worker"), given);
    const char *const want[] = {in_kit("beside"), in_kit("not-yet"), in_kit("outer/inner")};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        ck_assert_str_eq(list[i], want[i]);
    ck_assert_ptr_null(list[COUNT_OF(want)]);
    hidden_free(list);
}
END_TEST

START_TEST(secrets_are_not_in_argv)
{
    const char *const argv[] = {"agent", "--fast", NULL};
    const struct sandbox_view view = {.argv = argv,
                                      .cwd = tree,
                                      .binds = {{tree, true}},
                                      .limits = &no_limits,
                                      .filter_fd = STDERR_FILENO, /* Any: nothing starts. */
                                      .status_fd = -1};
    const char **full = sandbox_argv(&kit.site.sandbox, &view, &kit.arena);
    size_t count = 0;
    for (; full[count] != NULL; count++)
        ck_assert_str_ne(full[count], "--setenv");
    ck_assert_str_eq(full[count - 2], "agent");
    ck_assert_str_eq(full[count - 1], "--fast");
}
END_TEST

START_TEST(without_bubblewrap_the_command_is_tied_to_us)
{
    const char *const argv[] = {"agent", NULL};
    const struct sandbox_view view = {
        .argv = argv, .cwd = tree, .limits = &no_limits, .status_fd = -1};
    struct sandbox none = {.kind = SANDBOX_NONE, .program = "/usr/bin/drover", .data_dir = "/x"};
    const char **tied = sandbox_argv(&none, &view, &kit.arena);
    static const char *const want[] = {"/usr/bin/drover", "inside", "--tie", "--", "agent"};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        ck_assert_str_eq(tied[i], want[i]);
    ck_assert_ptr_null(tied[COUNT_OF(want)]);
    none.program[0] = '\0';
    ck_assert_str_eq(sandbox_argv(&none, &view, &kit.arena)[0], "agent");
    ck_assert_str_eq(sandbox_name(&none), "none");
}
END_TEST

START_TEST(root_has_users_of_their_own_for_commands)
{
    const char *out;
    ck_assert_int_eq(kit.site.sandbox.drops, geteuid() == 0);
    ck_assert(kit.site.sandbox.filter);
    ck_assert_int_eq(inside("id -u; cat /etc/shadow", false, &out), 1);
    if (geteuid() == 0)
        ck_assert_int_ge(strtol(out, NULL, 10), RUN_USER_FIRST);
}
END_TEST

START_TEST(a_way_that_is_closed_to_strangers_is_opened_for_what_is_shown)
{
    /* Outside of /tmp, which is covered anyway. */
    char closed[] = "/var/lib/drover-kit-XXXXXX";
    if (geteuid() != 0 || mkdtemp(closed) == NULL)
        return;
    const char *tools = arena_printf(&kit.arena, "%s/tools", closed);
    kit_sh(&kit, "mkdir %s && echo shown >%s/file && chmod 644 %s/file && echo hidden >%s/other",
           tools, tools, tools, closed);
    const struct mount_config mount = {.path = tools};
    const char *const argv[] = {"/bin/sh", "-c", "cat $0/file; ls $0/..", tools, NULL};
    const struct sandbox_view view = {.argv = argv, .mounts = &mount, .mount_count = 1};
    ck_assert_str_eq(says(&view), "shown\ntools\n");
    ck_assert_int_eq(dir_remove(closed, NULL), RC_OK);
}
END_TEST

START_TEST(a_mount_must_not_open_what_is_closed)
{
    const struct {
        const char *path;
        enum rc want;
    } mounts[] = {
        {"/usr", RC_OK},          {"/", RC_INVALID},
        {"/proc", RC_INVALID},    {"/proc/self", RC_INVALID},
        {"/dev", RC_INVALID},     {"/sys/kernel", RC_INVALID},
        {"/run", RC_INVALID},     {"/usr/../usr", RC_INVALID},
        {"/nowhere", RC_INVALID}, {"usr", RC_INVALID},
        {kit.dir, RC_INVALID},    {arena_printf(&kit.arena, "%s/data", kit.dir), RC_INVALID},
        {tree, RC_INVALID},       {kit.origin, RC_OK},
    };
    for (size_t i = 0; i < COUNT_OF(mounts); i++) {
        const struct mount_config mount = {.path = mounts[i].path};
        const struct sandbox_view view = {.mounts = &mount, .mount_count = 1};
        ck_assert_msg(sandbox_check(&kit.site.sandbox, &view, NULL) == mounts[i].want, "%s",
                      mounts[i].path);
    }
}
END_TEST

START_TEST(a_machine_without_bubblewrap_is_noticed)
{
    kit_sh(&kit, "mkdir bin; printf '#!/bin/sh\\necho no namespaces >&2; exit 1\\n' >bin/bwrap; "
                 "chmod +x bin/bwrap");
    char *path = arena_printf(&kit.arena, "%s/bin:%s", kit.dir, getenv("PATH"));
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    struct sandbox sandbox;
    struct err why = {0};
    struct sandbox_options options = {.data_dir = kit.dir};
    sandbox_probe(&sandbox, &options, &why);
    ck_assert_int_eq(sandbox.kind, SANDBOX_UNAVAILABLE);
    ck_assert_str_eq(sandbox_name(&sandbox), "unavailable");
    ck_assert_ptr_nonnull(strstr(why.text, "no namespaces"));
    struct err err = {0};
    ck_assert_int_eq(sandbox_ready(&sandbox, &err), RC_DENIED);
    ck_assert(sandbox_is_unavailable(&err));
    ck_assert_ptr_nonnull(strstr(err.text, "no namespaces"));
    ck_assert_ptr_nonnull(strstr(err.text, "apt-get install bubblewrap"));
    ck_assert_ptr_nonnull(strstr(err.text, "sandbox: none"));
    options.none = true;
    sandbox_probe(&sandbox, &options, NULL);
    ck_assert_int_eq(sandbox.kind, SANDBOX_NONE);
}
END_TEST

Suite *sandbox_suite(void)
{
    Suite *suite = suite_create("sandbox");
    TCase *tests = tcase_create("sandbox");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, the_walls_hold, 0, 2 * (int)COUNT_OF(attempts));
    tcase_add_test(tests, system_files_are_as_they_are_outside);
    tcase_add_test(tests, a_command_inherits_nothing_but_its_standard_descriptors);
    tcase_add_test(tests, a_command_starts_through_the_small_program_or_through_drover);
    tcase_add_test(tests, nothing_is_left_outside);
    tcase_add_test(tests, the_network_is_there_only_when_allowed);
    tcase_add_test(tests, a_script_in_tmp_that_the_command_names_is_there);
    tcase_add_test(tests, a_file_that_the_command_names_is_shown_unless_it_is_a_secret);
    tcase_add_test(tests, a_program_that_was_found_in_a_home_directory_is_shown);
    tcase_add_test(tests, a_package_of_npm_starts_by_its_link_and_shows_no_other);
    tcase_add_test(tests, a_program_that_the_agents_user_may_not_execute_is_named);
    tcase_add_test(tests, a_program_among_drovers_data_is_refused);
    tcase_add_test(tests, only_loopback_that_no_rule_names_is_left_to_the_sandbox);
    tcase_add_test(tests, what_is_hidden_stays_hidden_in_a_system_directory);
    tcase_add_test(tests, data_directories_above_and_given_files_are_hidden);
    tcase_add_test(tests, secrets_are_not_in_argv);
    tcase_add_test(tests, without_bubblewrap_the_command_is_tied_to_us);
    tcase_add_test(tests, root_has_users_of_their_own_for_commands);
    tcase_add_test(tests, a_way_that_is_closed_to_strangers_is_opened_for_what_is_shown);
    tcase_add_test(tests, a_mount_must_not_open_what_is_closed);
    tcase_add_test(tests, a_machine_without_bubblewrap_is_noticed);
    suite_add_tcase(suite, tests);
    return suite;
}
