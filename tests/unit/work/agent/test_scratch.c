/*
 * test_scratch.c - ports and databases of a step: who gets which, and when they are dropped.
 * A database is a file of a directory that the sandbox shows.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/agent/scratch.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;
static struct err err;
static struct step step;

static void setup(void)
{
    kit_open(&kit);
    kit_sh(&kit, "mkdir -m 0777 db && chmod 0755 .");
    err = (struct err){0};
}

static void teardown(void)
{
    kit_close(&kit);
}

static const char *head(void)
{
    return kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
}

static const char *databases(void)
{
    return kit_sh(&kit, "ls db | grep ^drover_ || true");
}

struct wish {
    const char *create, *drop; /* Shell, in the directory db; NULL: a file is made, removed. */
    const char *more;          /* Further databases. */
    const char *verify;
    const char *agent; /* Shell: what the agent does. */
    const char *env;   /* A variable of the worker that the commands get. */
    int attempt;
};

static void make_step(const struct wish *wish)
{
    const char *config = arena_printf(
        &kit.arena,
        "\"scratch\":{\"ports\":2,\"databases\":[{\"name\":\"test\","
        "\"create\":\"cd %s/db && %s\",\"drop\":\"cd %s/db && %s\","
        "\"url\":\"file:%s/db/{database}\",\"variable\":\"DATABASE_URL\",\"env\":[%s%s%s]}%s]},"
        "\"verify\":[{\"name\":\"unit\",\"command\":\"%s\"}]",
        kit.dir, wish->create != NULL ? wish->create : "set -C; : >$DROVER_DATABASE", kit.dir,
        wish->drop != NULL ? wish->drop : "rm -f $DROVER_DATABASE", kit.dir,
        wish->env != NULL ? "\"" : "", wish->env != NULL ? wish->env : "",
        wish->env != NULL ? "\"" : "", wish->more != NULL ? wish->more : "",
        wish->verify != NULL ? wish->verify : "true");
    const char *agent = arena_printf(
        &kit.arena,
        "\"command\":[\"/bin/sh\",\"-c\",\"%s\"],\"mounts\":[{\"path\":\"%s/db\","
        "\"writable\":true}]",
        wish->agent != NULL ? wish->agent : "true", kit.dir);
    step = kit_step(&kit, &(struct kit_task){
                              .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\"", head()),
                              .config = config,
                              .agent = agent,
                              .attempt = wish->attempt});
    struct random random = random_from_os();
    step.lease.id = id_new(clock_mono_us(), &random);
}

/* What the agent sees in this attempt: "21001 21002 file:..." */
static const char *seen_by_agent(int attempt)
{
    const struct wish wish = {.agent = "echo $DROVER_PORT_1 $DROVER_PORT_2 $DATABASE_URL >seen",
                              .attempt = attempt};
    make_step(&wish);
    ck_assert_msg(step_agent(&step, &err) == RC_OK, "%s", err.text);
    scratch_close(&step);
    return kit_sh(&kit, "cat %s/tree/seen", step.run_dir);
}

static size_t leases(struct scratch_lease **ret_leases)
{
    return scratch_book_list(kit.site.scratch, &kit.arena, ret_leases);
}

static void restart_worker(void)
{
    scratch_book_free(kit.site.scratch);
    ck_assert_int_eq(
        scratch_book_open(kit.work_dir, &(struct port_range){0}, &kit.site.scratch, &err), RC_OK);
}

static bool take(void *ctx, const struct id *run_id)
{
    (void)ctx, (void)run_id;
    return true;
}

static void leave(void *ctx)
{
    (void)ctx;
}

static void sweep(void)
{
    const struct housekeeping housekeeping = {
        .site = &kit.site, .stop = &kit.stop, .take = take, .leave = leave};
    scratch_sweep(&housekeeping);
}

static void clean(void)
{
    ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
}

START_TEST(an_agent_keeps_its_database_and_a_verification_gets_its_own)
{
    struct scratch_lease *all = NULL;
    const char *first = seen_by_agent(1);
    int ports[2];
    char database[200];
    ck_assert_int_eq(sscanf(first, "%d %d %199s", &ports[0], &ports[1], database), 3);
    ck_assert_int_ne(ports[0], ports[1]);
    ck_assert_str_eq(database, arena_printf(&kit.arena, "file:%s/db/%s", kit.dir, databases()));
    ck_assert_str_eq(seen_by_agent(2), first); /* Ports and database stay with the run. */

    make_step(&(struct wish){.verify = "echo $DROVER_PORT_1 $DATABASE_URL >${DATABASE_URL#file:}; "
                                       "cat ${DATABASE_URL#file:} >$(dirname "
                                       "${DATABASE_URL#file:})/verified"});
    ck_assert_msg(step_verify(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(js_get_str(kit_result(&kit), "verdict", ""), "verified");
    int port = 0;
    char other[200];
    const char *verified = kit_sh(&kit, "cat db/verified");
    ck_assert_int_eq(sscanf(verified, "%d %199s", &port, other), 2);
    ck_assert(port != ports[0] && port != ports[1]);
    ck_assert_str_ne(other, database);
    /* Of the verification nothing is left. */
    ck_assert_str_eq(arena_printf(&kit.arena, "file:%s/db/%s", kit.dir, databases()), database);
    ck_assert_uint_eq(leases(&all), 1);
    clean();
    ck_assert_str_eq(databases(), "");
    ck_assert_uint_eq(leases(&all), 0);
    ck_assert_str_eq(kit_sh(&kit, "ls %s/scratch", kit.work_dir), "");
    clean(); /* Again, as after a lost report. */
}
END_TEST

START_TEST(what_a_killed_worker_left_is_dropped_at_the_next_start)
{
    struct scratch_lease *all = NULL;
    (void)seen_by_agent(1);
    ck_assert_str_ne(databases(), "");
    sweep(); /* It is in use. */
    ck_assert_str_ne(databases(), "");
    restart_worker();
    ck_assert_uint_eq(leases(&all), 1);
    sweep();
    ck_assert_str_eq(databases(), "");
    ck_assert_uint_eq(leases(&all), 0);
}
END_TEST

START_TEST(the_next_step_of_a_run_does_not_use_what_a_killed_worker_left)
{
    const char *first = seen_by_agent(1), *left = databases();
    restart_worker();
    ck_assert_str_ne(seen_by_agent(2), first);
    ck_assert_str_ne(databases(), left);
    ck_assert_ptr_null(strchr(databases(), '\n'));
    clean();
    ck_assert_str_eq(databases(), "");
}
END_TEST

START_TEST(a_database_that_cannot_be_made_fails_the_step_and_is_dropped)
{
    struct scratch_lease *all = NULL;
    make_step(&(struct wish){.create = ": >$DROVER_DATABASE; echo no room >&2; exit 3"});
    ck_assert_int_ne(step_agent(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "scratch_failed");
    ck_assert(step.failure.retryable);
    ck_assert_ptr_nonnull(strstr(step.failure.message, "status 3"));
    ck_assert_ptr_nonnull(strstr(step.failure.message, "no room"));
    ck_assert_str_eq(databases(), "");
    ck_assert_uint_eq(leases(&all), 1); /* Of ports, for the next try. */
    ck_assert_uint_eq(all[0].database_count, 0);
    clean();
    ck_assert_uint_eq(leases(&all), 0);
}
END_TEST

START_TEST(a_database_that_cannot_be_dropped_is_not_forgotten)
{
    struct scratch_lease *all = NULL;
    make_step(&(struct wish){.drop = "test -e may-drop && rm -f $DROVER_DATABASE"});
    ck_assert_msg(step_agent(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_int_ne(step_clean(&step, &err), RC_OK);
    ck_assert_ptr_nonnull(strstr(err.text, "could not be dropped"));
    ck_assert_uint_eq(leases(&all), 1);
    ck_assert_uint_eq(all[0].port_count, 0); /* Ports are free at once. */
    ck_assert_uint_eq(all[0].database_count, 1);
    ck_assert(!scratch_book_is_own(kit.site.scratch, &all[0]));
    sweep();
    ck_assert_uint_eq(leases(&all), 1);
    kit_sh(&kit, ": >db/may-drop");
    sweep();
    ck_assert_uint_eq(leases(&all), 0);
    ck_assert_str_eq(databases(), "");
}
END_TEST

START_TEST(a_directory_is_a_database_too)
{
    make_step(&(struct wish){
        .more = ",{\"name\":\"files\",\"directory\":true}",
        .agent = "echo mine >$DROVER_DATABASE_FILES/a && echo $DROVER_DATABASE_FILES >seen"});
    ck_assert_msg(step_agent(&step, &err) == RC_OK, "%s", err.text);
    const char *dir = kit_sh(&kit, "cat %s/tree/seen", step.run_dir);
    ck_assert_str_eq(kit_sh(&kit, "cat %s/a", dir), "mine");
    clean();
    ck_assert(!file_exists(dir));
    ck_assert_str_eq(kit_sh(&kit, "ls %s/scratch", kit.work_dir), "");
}
END_TEST

START_TEST(the_variables_of_create_and_drop_do_not_reach_the_agent)
{
    ck_assert_int_eq(setenv("SCRATCH_TEST_PASSWORD", "hunter2hunter2", 1), 0);
    make_step(&(struct wish){
        .create = "test -n $SCRATCH_TEST_PASSWORD && echo $SCRATCH_TEST_PASSWORD >password && "
                  "echo $SCRATCH_TEST_PASSWORD >&2 && exit 4",
        .env = "SCRATCH_TEST_PASSWORD",
        .agent = "echo agent $SCRATCH_TEST_PASSWORD >seen"});
    ck_assert_int_ne(step_agent(&step, &err), RC_OK);
    ck_assert_str_eq(kit_sh(&kit, "cat db/password"), "hunter2hunter2");
    ck_assert_ptr_nonnull(strstr(step.failure.message, "status 4"));
    ck_assert_ptr_null(strstr(step.failure.message, "hunter2")); /* Nor an event. */
    make_step(&(struct wish){.env = "SCRATCH_TEST_PASSWORD",
                             .agent = "echo agent $SCRATCH_TEST_PASSWORD >seen"});
    ck_assert_msg(step_agent(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "cat %s/tree/seen", step.run_dir), "agent");
    clean();
}
END_TEST

Suite *scratch_suite(void)
{
    Suite *suite = suite_create("scratch");
    TCase *tests = tcase_create("scratch");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_agent_keeps_its_database_and_a_verification_gets_its_own);
    tcase_add_test(tests, what_a_killed_worker_left_is_dropped_at_the_next_start);
    tcase_add_test(tests, the_next_step_of_a_run_does_not_use_what_a_killed_worker_left);
    tcase_add_test(tests, a_database_that_cannot_be_made_fails_the_step_and_is_dropped);
    tcase_add_test(tests, a_database_that_cannot_be_dropped_is_not_forgotten);
    tcase_add_test(tests, a_directory_is_a_database_too);
    tcase_add_test(tests, the_variables_of_create_and_drop_do_not_reach_the_agent);
    suite_add_tcase(suite, tests);
    return suite;
}
