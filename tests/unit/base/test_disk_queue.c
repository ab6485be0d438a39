/* test_disk_queue.c - records on disk: torn, damaged, full, shared and killed. */
#include "base/disk_queue.h"
#include "base/fd.h"
#include "base/thread.h"
#include "tests/unit/suites.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAME = 27 }; /* Bytes of a record beside its own. */

static struct arena arena;
static struct err err;
static char *base; /* A fresh directory for each test. */
static struct disk_queue queue;

static void set_up(void)
{
    const char *parent = getenv("TMPDIR");
    base = arena_printf(&arena, "%s/queue-test-XXXXXX", parent != NULL ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(base));
    queue = (struct disk_queue){
        .dir = arena_printf(&arena, "%s/q", base), .records_max = 10000, .bytes_max = 1024 * 1024};
}

static void tear_down(void)
{
    ck_assert_msg(dir_remove(base, &err) == RC_OK, "%s", err.text);
    arena_release(&arena);
}

static void append(const char *text)
{
    const struct str record = str_of(text);
    ck_assert_msg(disk_queue_append(&queue, &record, 1, &err) == RC_OK, "%s", err.text);
}

static struct disk_queue_part take(size_t count)
{
    struct disk_queue_part part;
    const struct disk_queue_want want = {count, 1024 * 1024};
    ck_assert_msg(disk_queue_read(&queue, &want, &arena, &part, &err) == RC_OK, "%s", err.text);
    return part;
}

static void drop(const struct disk_queue_part *part, size_t count)
{
    ck_assert_msg(disk_queue_remove(&queue, part, count, &err) == RC_OK, "%s", err.text);
}

/* All records with a blank between them. */
static const char *content(void)
{
    const struct disk_queue_part part = take(queue.records_max);
    char *text = arena_strdup(&arena, "");
    for (size_t i = 0; i < part.count; i++)
        text = arena_printf(&arena, "%s%s%s", text, i > 0 ? " " : "", part.records[i].at);
    return text;
}

static size_t waiting(void)
{
    struct disk_queue_level level;
    ck_assert_msg(disk_queue_level(&queue, &level, &err) == RC_OK, "%s", err.text);
    return level.records;
}

static char *in_queue(const char *name)
{
    return arena_printf(&arena, "%s/%s", queue.dir, name);
}

static struct str file_bytes(const char *name)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 4 * 1024 * 1024);
    ck_assert_msg(file_read(in_queue(name), &buf, &err) == RC_OK, "%s", err.text);
    return (struct str){arena_strndup(&arena, buf_text(&buf), buf.len), buf.len};
}

static void put_bytes(const char *name, struct str bytes)
{
    CLEANUP(fd_closep) int fd = open(in_queue(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(fd_write_all(fd, bytes.at, bytes.len, &err), RC_OK);
}

START_TEST(records_leave_in_the_order_in_which_they_came)
{
    ck_assert_str_eq(content(), "");
    ck_assert_uint_eq(waiting(), 0);
    append("one");
    append("two");
    const struct str more[] = {STR("three"), STR(""), STR("five")};
    ck_assert_int_eq(disk_queue_append(&queue, more, 3, &err), RC_OK);
    ck_assert_str_eq(content(), "one two three  five");
    struct disk_queue_part part = take(3);
    drop(&part, 2);
    ck_assert_str_eq(content(), "three  five");
    part = take(10);
    append("six");
    drop(&part, 3);
    ck_assert_str_eq(content(), "six");
    part = take(1);
    drop(&part, 1);
    ck_assert_uint_eq(waiting(), 0);
    append("seven");
    ck_assert_str_eq(content(), "seven");
}
END_TEST

START_TEST(a_part_has_a_limit_of_bytes_and_one_record_at_least)
{
    struct disk_queue_part part;
    append("0123456789");
    append("abc");
    append("def");
    const struct disk_queue_want small = {10, 5}, middle = {10, 13};
    ck_assert_int_eq(disk_queue_read(&queue, &small, &arena, &part, &err), RC_OK);
    ck_assert_uint_eq(part.count, 1);
    ck_assert_int_eq(disk_queue_read(&queue, &middle, &arena, &part, &err), RC_OK);
    ck_assert_uint_eq(part.count, 2);
}
END_TEST

START_TEST(only_the_owner_may_read_it)
{
    struct stat status;
    append("one");
    struct disk_queue_part part = take(1);
    append("two");
    drop(&part, 1);
    ck_assert_int_eq(stat(queue.dir, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0700);
    static const char *const names[] = {"lock", "head", "records.1"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        ck_assert_int_eq(stat(in_queue(names[i]), &status), 0);
        ck_assert_msg((status.st_mode & 07777) == 0600, "%s", names[i]);
    }
}
END_TEST

/* ---- damage ---- */

START_TEST(a_record_that_was_cut_short_at_any_byte_was_never_there)
{
    append("first");
    append("second");
    size_t whole = file_bytes("records.1").len;
    append("{\"the\":\"last one\"}");
    const struct str all = file_bytes("records.1");
    for (size_t len = whole; len < all.len; len++) {
        put_bytes("records.1", (struct str){all.at, len});
        ck_assert_str_eq(content(), "first second");
        append("next");
        ck_assert_str_eq(content(), "first second next");
    }
    put_bytes("records.1", all);
    ck_assert_uint_eq(waiting(), 3);
}
END_TEST

/* The file has its length, and from some byte on the disk has not what was written. */
START_TEST(a_record_whose_end_was_not_written_was_never_there)
{
    static const char fills[] = {'\0', '\n', '0'};
    append("first");
    size_t whole = file_bytes("records.1").len;
    append("{\"the\":\"last one\"}");
    const struct str all = file_bytes("records.1");
    for (size_t len = whole; len + 1 < all.len; len++)
        for (size_t i = 0; i < sizeof fills; i++) {
            char *bytes = arena_alloc(&arena, all.len);
            memset(bytes, fills[i], all.len);
            memcpy(bytes, all.at, len);
            if (memcmp(bytes, all.at, all.len) == 0)
                continue; /* The fill is what stood there. */
            put_bytes("records.1", (struct str){bytes, all.len});
            ck_assert_msg(strcmp(content(), "first") == 0, "%zu %zu: %s", len, i, content());
            append("next");
            ck_assert_msg(strcmp(content(), "first next") == 0, "%zu %zu: %s", len, i, content());
        }
}
END_TEST

START_TEST(damage_in_the_middle_costs_one_record_and_is_counted)
{
    append("first");
    size_t from = file_bytes("records.1").len;
    append("second");
    size_t to = file_bytes("records.1").len;
    append("third");
    const struct str all = file_bytes("records.1");
    for (size_t at = from; at + 1 < to; at++) { /* Its line feed is not looked at. */
        char *bytes = arena_strndup(&arena, all.at, all.len);
        bytes[at] ^= 0x55;
        put_bytes("records.1", (struct str){bytes, all.len});
        const struct disk_queue_part part = take(10);
        ck_assert_msg(part.count == 2 && strcmp(part.records[1].at, "third") == 0, "byte %zu: %zu",
                      at, part.count);
        ck_assert_int_eq(part.damaged_bytes, (int64_t)(to - from));
    }
    append("fourth");
    struct disk_queue_part part = take(10);
    ck_assert_uint_eq(part.count, 3);
    drop(&part, 3);
    ck_assert_uint_eq(waiting(), 0);
}
END_TEST

START_TEST(a_damaged_head_is_reported_with_what_to_do)
{
    static const char *const texts[] = {"", "x", "1", "0 0\n", "1 -1\n", "1 0", "1 99999\n"};
    append("one");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct disk_queue_level level;
        put_bytes("head", str_of(texts[i]));
        ck_assert_msg(disk_queue_level(&queue, &level, &err) == RC_CORRUPT, "%s", texts[i]);
        ck_assert_ptr_nonnull(strstr(err.text, queue.dir));
    }
}
END_TEST

/* ---- limits ---- */

START_TEST(a_full_queue_refuses_and_keeps_what_it_has)
{
    const struct str record = STR("0123456789"), two[] = {record, record};
    queue.records_max = 3;
    append("one");
    append("two");
    ck_assert_int_eq(disk_queue_append(&queue, two, 2, &err), RC_LIMIT);
    ck_assert_str_eq(err.code, "QUEUE_FULL");
    append("three");
    ck_assert_int_eq(disk_queue_append(&queue, &record, 1, &err), RC_LIMIT);
    queue.records_max = 100;
    queue.bytes_max = 3 * FRAME + 11 + FRAME + 9;
    ck_assert_int_eq(disk_queue_append(&queue, &record, 1, &err), RC_LIMIT);
    queue.bytes_max++;
    append("0123456789");
    ck_assert_str_eq(content(), "one two three 0123456789");
}
END_TEST

START_TEST(a_record_that_is_too_large_is_refused)
{
    char *bytes = arena_alloc(&arena, DISK_QUEUE_RECORD_MAX + 1);
    memset(bytes, 'x', DISK_QUEUE_RECORD_MAX + 1);
    struct str record = {bytes, DISK_QUEUE_RECORD_MAX + 1};
    queue.bytes_max = 4 * DISK_QUEUE_RECORD_MAX;
    ck_assert_int_eq(disk_queue_append(&queue, &record, 1, &err), RC_TOO_LARGE);
    record.len--;
    ck_assert_int_eq(disk_queue_append(&queue, &record, 1, &err), RC_OK);
    append("next");
    struct disk_queue_part part;
    const struct disk_queue_want want = {10, 4 * DISK_QUEUE_RECORD_MAX};
    ck_assert_int_eq(disk_queue_read(&queue, &want, &arena, &part, &err), RC_OK);
    ck_assert_uint_eq(part.count, 2);
    ck_assert_uint_eq(part.records[0].len, DISK_QUEUE_RECORD_MAX);
}
END_TEST

static int64_t bytes_on_disk(void)
{
    int64_t bytes = 0;
    for (int i = 1; i < 100; i++) {
        struct stat status;
        if (stat(in_queue(arena_printf(&arena, "records.%d", i)), &status) == 0)
            bytes += status.st_size;
    }
    return bytes;
}

START_TEST(a_queue_that_is_never_empty_does_not_grow)
{
    queue.bytes_max = 1000;
    append("a");
    for (int i = 0; i < 200; i++) {
        append(arena_printf(&arena, "record %d", i));
        struct disk_queue_part part = take(1);
        drop(&part, 1);
        ck_assert_int_le(bytes_on_disk(), 2 * queue.bytes_max + FRAME + 20);
    }
    ck_assert_str_eq(content(), "record 199");
}
END_TEST

START_TEST(a_file_that_a_crash_left_for_the_next_generation_is_not_read)
{
    append("one");
    append("two");
    put_bytes("records.2", file_bytes("records.1"));
    struct disk_queue_part part = take(10);
    drop(&part, 2);
    ck_assert_uint_eq(waiting(), 0);
    append("three");
    ck_assert_str_eq(content(), "three");
}
END_TEST

/* A file may not be longer than that: the write fails half way, as on a full disk. */
static enum rc append_with_limit(rlim_t bytes)
{
    const struct str record = STR("a record that does not fit any more");
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = bytes;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum rc rc = disk_queue_append(&queue, &record, 1, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    return rc;
}

START_TEST(a_full_disk_loses_nothing_that_was_there)
{
    append("one");
    append("two");
    size_t len = file_bytes("records.1").len;
    for (size_t room = 0; room < 2 * FRAME; room += 5) {
        ck_assert_int_eq(append_with_limit(len + room), RC_IO);
        ck_assert_uint_eq(file_bytes("records.1").len, len);
        ck_assert_str_eq(content(), "one two");
    }
    append("three");
    ck_assert_str_eq(content(), "one two three");
}
END_TEST

/* ---- many writers ---- */

enum { WRITERS = 4, EACH = 60 };

/* Each call opens the files anew: threads are to each other what processes are. */
static void *write_many(void *ctx)
{
    const int *writer = ctx;
    struct err own = {0};
    for (int i = 0; i < EACH; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%d:%d", *writer, i);
        const struct str record = str_of(text);
        if (disk_queue_append(&queue, &record, 1, &own) != RC_OK)
            return "failed";
    }
    return NULL;
}

START_TEST(writers_and_a_reader_share_it_and_each_record_is_there_once)
{
    pthread_t threads[WRITERS];
    int numbers[WRITERS], next[WRITERS] = {0};
    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        const struct thread_spec spec = {.body = write_many, .ctx = &numbers[i]};
        ck_assert_int_eq(thread_start(&spec, &threads[i], &err), RC_OK);
    }
    for (size_t seen = 0; seen < WRITERS * EACH;) {
        struct disk_queue_part part = take(7);
        for (size_t i = 0; i < part.count; i++) {
            int writer, number;
            ck_assert_int_eq(sscanf(part.records[i].at, "%d:%d", &writer, &number), 2);
            ck_assert_int_eq(number, next[writer]++);
        }
        seen += part.count;
        if (part.count > 0)
            drop(&part, part.count);
    }
    for (int i = 0; i < WRITERS; i++) {
        void *failure = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &failure), 0);
        ck_assert_ptr_null(failure);
    }
    ck_assert_uint_eq(waiting(), 0);
}
END_TEST

START_TEST(one_process_reads_at_a_time)
{
    CLEANUP(fd_closep) int first = -1;
    int second = -1;
    ck_assert_int_eq(disk_queue_lock_reader(&queue, 0, &first, &err), RC_OK);
    ck_assert_int_eq(disk_queue_lock_reader(&queue, 0, &second, &err), RC_BUSY);
    fd_closep(&first);
    ck_assert_int_eq(disk_queue_lock_reader(&queue, 0, &second, &err), RC_OK);
    fd_close(second);
}
END_TEST

START_TEST(a_part_that_another_reader_has_removed_is_not_removed_again)
{
    append("one");
    append("two");
    struct disk_queue_part part = take(1), all = take(2);
    drop(&all, 2);
    append("three");
    ck_assert_int_eq(disk_queue_remove(&queue, &part, 1, &err), RC_CONFLICT);
    ck_assert_str_eq(content(), "three");
}
END_TEST

Suite *disk_queue_suite(void)
{
    Suite *suite = suite_create("disk_queue");
    TCase *tcase = tcase_create("disk_queue");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, records_leave_in_the_order_in_which_they_came);
    tcase_add_test(tcase, a_part_has_a_limit_of_bytes_and_one_record_at_least);
    tcase_add_test(tcase, only_the_owner_may_read_it);
    tcase_add_test(tcase, a_record_that_was_cut_short_at_any_byte_was_never_there);
    tcase_add_test(tcase, a_record_whose_end_was_not_written_was_never_there);
    tcase_add_test(tcase, damage_in_the_middle_costs_one_record_and_is_counted);
    tcase_add_test(tcase, a_damaged_head_is_reported_with_what_to_do);
    tcase_add_test(tcase, a_full_queue_refuses_and_keeps_what_it_has);
    tcase_add_test(tcase, a_record_that_is_too_large_is_refused);
    tcase_add_test(tcase, a_queue_that_is_never_empty_does_not_grow);
    tcase_add_test(tcase, a_file_that_a_crash_left_for_the_next_generation_is_not_read);
    tcase_add_test(tcase, a_full_disk_loses_nothing_that_was_there);
    tcase_add_test(tcase, writers_and_a_reader_share_it_and_each_record_is_there_once);
    tcase_add_test(tcase, one_process_reads_at_a_time);
    tcase_add_test(tcase, a_part_that_another_reader_has_removed_is_not_removed_again);
    suite_add_tcase(suite, tcase);
    return suite;
}
