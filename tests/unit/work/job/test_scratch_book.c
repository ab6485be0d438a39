/* test_scratch_book.c - ports and databases: never given twice, never forgotten. */
#include "base/fd.h"
#include "base/str.h"
#include "work/job/scratch_book.h"
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FROM = 21000, THREADS = 4, EACH = 6 };

static char dir[64];
static struct err err;
static struct arena arena;

static void setup(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/scratch-book-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    ck_assert_int_eq(dir_remove(dir, &err), RC_OK);
    arena_release(&arena);
}

static struct scratch_book *open_book(int64_t ports)
{
    struct scratch_book *book = NULL;
    ck_assert_msg(
        scratch_book_open(dir, &(struct port_range){FROM, FROM + ports - 1}, &book, &err) == RC_OK,
        "%s", err.text);
    return book;
}

static struct id id_no(int no)
{
    struct id id;
    char text[40];
    (void)snprintf(text, sizeof text, "01890000-0000-7000-8000-%012d", no);
    ck_assert(id_parse(text, &id));
    return id;
}

static struct scratch_lease lease_of(int no)
{
    return (struct scratch_lease){.holder = id_no(no), .run_id = id_no(no), .config = "{}"};
}

START_TEST(a_port_has_one_holder_at_a_time)
{
    struct scratch_book *book = open_book(4);
    struct scratch_lease one = lease_of(1), two = lease_of(2), three = lease_of(3), found;
    ck_assert_int_eq(scratch_book_lease(book, &one, 2, &arena, &err), RC_OK);
    ck_assert_int_eq(scratch_book_lease(book, &two, 2, &arena, &err), RC_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_ge(one.ports[i], FROM);
        ck_assert_int_lt(one.ports[i], FROM + 4);
        for (int other = 0; other < 2; other++)
            ck_assert_int_ne(one.ports[i], two.ports[other]);
    }
    ck_assert_int_eq(scratch_book_lease(book, &three, 1, &arena, &err), RC_LIMIT);
    ck_assert_str_eq(err.code, "PORTS_TAKEN");
    ck_assert_int_gt(err.retry_ms, 0);
    ck_assert_int_eq(scratch_book_find(book, &three.holder, &arena, &found, &err), RC_NOT_FOUND);
    ck_assert_int_eq(scratch_book_end(book, &one.holder, &err), RC_OK);
    ck_assert_int_eq(scratch_book_end(book, &one.holder, &err), RC_OK); /* Once is enough. */
    ck_assert_int_eq(scratch_book_lease(book, &three, 1, &arena, &err), RC_OK);
    ck_assert(three.ports[0] == one.ports[0] || three.ports[0] == one.ports[1]);
    const struct scratch_total total = scratch_book_total(book);
    ck_assert_int_eq(total.leases, 2);
    ck_assert_int_eq(total.ports, 3);
    scratch_book_free(book);
}
END_TEST

START_TEST(more_ports_than_the_worker_has_are_refused_and_none_are_free)
{
    struct scratch_book *book = open_book(2);
    struct scratch_lease lease = lease_of(1);
    ck_assert_int_eq(scratch_book_lease(book, &lease, 3, &arena, &err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "--ports"));
    ck_assert_int_eq(scratch_book_lease(book, &lease, 0, &arena, &err), RC_OK);
    ck_assert_uint_eq(lease.port_count, 0);
    scratch_book_free(book);
}
END_TEST

START_TEST(a_port_that_a_program_listens_at_is_passed_over)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    int64_t port = ntohs(address.sin_port);
    struct scratch_book *book = NULL;
    struct scratch_lease lease = lease_of(1);
    ck_assert_int_eq(scratch_book_open(dir, &(struct port_range){port, port}, &book, &err), RC_OK);
    ck_assert_int_eq(scratch_book_lease(book, &lease, 1, &arena, &err), RC_LIMIT);
    (void)close(fd);
    ck_assert_int_eq(scratch_book_lease(book, &lease, 1, &arena, &err), RC_OK);
    ck_assert_int_eq(lease.ports[0], port);
    scratch_book_free(book);
}
END_TEST

START_TEST(what_a_killed_process_held_is_known_to_the_next_one)
{
    struct scratch_book *book = open_book(2);
    struct scratch_lease lease = lease_of(1), next = lease_of(2), *all = NULL;
    lease.task_id = id_no(7);
    lease.config = "{\"url\":\"/x\"}";
    ck_assert_int_eq(scratch_book_lease(book, &lease, 2, &arena, &err), RC_OK);
    lease.databases[0].name = "test";
    lease.databases[0].database = scratch_database_name("te-st", &arena);
    lease.database_count = 1;
    ck_assert_int_eq(scratch_book_save(book, &lease, &err), RC_OK);
    ck_assert(scratch_book_is_own(book, &lease));
    scratch_book_free(book); /* As if killed: nothing was given back. */

    book = open_book(2);
    ck_assert_uint_eq(scratch_book_list(book, &arena, &all), 1);
    ck_assert(!scratch_book_is_own(book, &all[0]));
    ck_assert(id_same(&all[0].holder, &lease.holder));
    ck_assert(id_same(&all[0].run_id, &lease.run_id));
    ck_assert_str_eq(all[0].task_id.text, id_no(7).text);
    ck_assert_str_eq(all[0].config, lease.config);
    ck_assert_uint_eq(all[0].port_count, 2);
    ck_assert_str_eq(all[0].databases[0].name, "test");
    ck_assert_str_eq(all[0].databases[0].database, lease.databases[0].database);
    ck_assert_ptr_nonnull(strstr(lease.databases[0].database, "_te_st"));
    ck_assert_int_eq(scratch_book_total(book).databases, 1);
    ck_assert_int_eq(scratch_book_lease(book, &next, 1, &arena, &err), RC_LIMIT); /* Still its. */
    ck_assert_int_eq(scratch_book_end(book, &lease.holder, &err), RC_OK);
    ck_assert_int_eq(scratch_book_lease(book, &next, 1, &arena, &err), RC_OK);
    scratch_book_free(book);
}
END_TEST

START_TEST(a_file_that_is_no_lease_does_not_stop_the_others)
{
    struct scratch_book *book = open_book(2);
    struct scratch_lease lease = lease_of(1), *all = NULL;
    char path[128];
    ck_assert_int_eq(scratch_book_lease(book, &lease, 1, &arena, &err), RC_OK);
    (void)snprintf(path, sizeof path, "%s/scratch/%s.json", dir, id_no(2).text);
    ck_assert_int_eq(file_write_new(path, "{", 1, 0600, &err), RC_OK);
    ck_assert_uint_eq(scratch_book_list(book, &arena, &all), 1);
    struct id other = id_no(2);
    ck_assert_int_ne(scratch_book_find(book, &other, &arena, &lease, &err), RC_OK);
    scratch_book_free(book);
}
END_TEST

struct taker {
    struct scratch_book *book;
    int first;
    int64_t ports[EACH];
};

static void *take_some(void *ctx)
{
    struct taker *taker = ctx;
    for (int i = 0; i < EACH; i++) {
        struct arena own = {0};
        struct scratch_lease lease = lease_of(taker->first + i);
        if (scratch_book_lease(taker->book, &lease, 1, &own, NULL) == RC_OK)
            taker->ports[i] = lease.ports[0];
        arena_release(&own);
    }
    return NULL;
}

START_TEST(threads_never_get_the_same_port)
{
    struct scratch_book *book = open_book(200);
    struct taker takers[THREADS];
    pthread_t threads[THREADS];
    bool seen[200] = {false};
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.book = book, .first = 100 * (i + 1)};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_some, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        for (int at = 0; at < EACH; at++) {
            int64_t port = takers[i].ports[at];
            ck_assert_int_ge(port, FROM);
            ck_assert(!seen[port - FROM]);
            seen[port - FROM] = true;
        }
    }
    ck_assert_int_eq(scratch_book_total(book).ports, THREADS * EACH);
    scratch_book_free(book);
}
END_TEST

static const struct {
    const char *text;
    int64_t from, to; /* 0: refused */
} ranges[] = {
    {"20000-29999", 20000, 29999},
    {"1024-1024", 1024, 1024},
    {"1023-2000", 0, 0},
    {"2000-1999", 0, 0},
    {"2000-65536", 0, 0},
    {"2000", 0, 0},
    {"-2000", 0, 0},
    {"2000-", 0, 0},
    {"a-b", 0, 0},
    {"20000-30000-40000", 0, 0},
    {"", 0, 0},
    {"123456789012-3", 0, 0},
};

START_TEST(a_range_is_two_ports)
{
    struct port_range range = {0};
    enum rc rc = port_range_parse(ranges[_i].text, &range, &err);
    ck_assert_int_eq(rc, ranges[_i].from > 0 ? RC_OK : RC_INVALID);
    ck_assert_int_eq(range.from, ranges[_i].from);
    ck_assert_int_eq(range.to, ranges[_i].to);
}
END_TEST

Suite *scratch_book_suite(void)
{
    Suite *suite = suite_create("scratch_book");
    TCase *tests = tcase_create("scratch_book");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_port_has_one_holder_at_a_time);
    tcase_add_test(tests, more_ports_than_the_worker_has_are_refused_and_none_are_free);
    tcase_add_test(tests, a_port_that_a_program_listens_at_is_passed_over);
    tcase_add_test(tests, what_a_killed_process_held_is_known_to_the_next_one);
    tcase_add_test(tests, a_file_that_is_no_lease_does_not_stop_the_others);
    tcase_add_test(tests, threads_never_get_the_same_port);
    tcase_add_loop_test(tests, a_range_is_two_ports, 0, sizeof ranges / sizeof ranges[0]);
    suite_add_tcase(suite, tests);
    return suite;
}
