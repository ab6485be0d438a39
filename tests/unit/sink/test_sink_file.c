/*
 * test_sink_file.c - lines in a file: whole, in order and durable, on a disk that fails.
 */
#include "base/arena.h"
#include "base/fd.h"
#include "base/js.h"
#include "sink/sink.h"
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Takes the place of the C library's in this program, to fail when a test says so. */
static int failing_syncs;
int fsync(int fd)
{
    if (failing_syncs > 0) {
        failing_syncs--;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

struct place {
    struct arena arena;
    char dir[64];
    const char *path;
    struct err err;
    struct sink_configs configs;
    void *sink;
};

static void decode(struct place *place, const char *more)
{
    CLEANUP(js_freep) struct js *array = NULL;
    const char *text = arena_printf(
        &place->arena, "[{\"name\":\"f\",\"type\":\"file\",\"path\":\"%s\"%s}]", place->path, more);
    ck_assert_int_eq(js_parse(text, strlen(text), &array, &place->err), RC_OK);
    ck_assert_msg(
        sink_configs_decode(array, "sinks", &place->arena, &place->configs, &place->err) == RC_OK,
        "%s", place->err.text);
}

static enum rc open_sink(struct place *place)
{
    return sink_file.open(place->configs.items[0].settings, &place->sink, &place->err);
}

static struct place place_make(const char *more)
{
    struct place place = {.dir = "/tmp/sink-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(place.dir));
    place.path = arena_printf(&place.arena, "%s/events.ndjson", place.dir);
    decode(&place, more);
    return place;
}

static void place_end(struct place *place)
{
    if (place->sink != NULL)
        sink_file.close(place->sink);
    ck_assert_int_eq(dir_remove(place->dir, NULL), RC_OK);
    arena_release(&place->arena);
}

static struct sink_outcome deliver(struct place *place, const char *a, const char *b)
{
    struct sink_record records[] = {{.json = str_of(a)}, {.json = str_of(b)}};
    return sink_file.deliver(place->sink, records, 2);
}

static void must_publish(struct place *place, const char *a, const char *b)
{
    struct sink_outcome outcome = deliver(place, a, b);
    ck_assert_msg(outcome.verdict == SINK_DELIVERED, "%s", outcome.why.text);
    ck_assert_uint_eq(outcome.delivered, 2);
}

static void must_retry(struct place *place, const char *a, const char *b, const char *why)
{
    struct sink_outcome outcome = deliver(place, a, b);
    ck_assert_int_eq(outcome.verdict, SINK_RETRY);
    ck_assert_uint_eq(outcome.delivered, 0);
    ck_assert_msg(strstr(outcome.why.text, why) != NULL, "%s", outcome.why.text);
}

static void put(struct place *place, const char *path, const char *text, size_t len)
{
    ck_assert_int_eq(file_write_durable(path, text, len, 0600, &place->err), RC_OK);
}

static void assert_file(struct place *place, const char *path, const char *want)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1024 * 1024);
    ck_assert_msg(file_read(path, &text, &place->err) == RC_OK, "%s", place->err.text);
    ck_assert_str_eq(buf_text(&text), want);
}

START_TEST(events_are_lines_in_the_order_of_the_batches)
{
    struct place place = place_make("");
    ck_assert_int_eq(open_sink(&place), RC_OK);
    must_publish(&place, "{\"n\":1}", "{\"n\":2}");
    must_publish(&place, "{\"n\":3}", "{\"n\":4}");
    assert_file(&place, place.path, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    struct stat status;
    ck_assert_int_eq(stat(place.path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    place_end(&place);
}
END_TEST

#define EVENT_BEGIN "{\"specversion\":\"1.0\",\"id\":\""

#define FIRST EVENT_BEGIN "1\"}\n"

START_TEST(what_a_crash_left_of_a_line_is_cut_off)
{
    static const struct {
        const char *before;
        size_t len;
        const char *after;
    } table[] = {
#define CRASHED(text) text, sizeof(text) - 1
        {CRASHED(FIRST EVENT_BEGIN "0190"), FIRST}, /* The middle of a line, */
        {CRASHED(FIRST "{\"spec"), FIRST},          /* of its first word, */
        {CRASHED(FIRST), FIRST},                    /* no line, */
        {CRASHED("{"), ""},                         /* the only line, */
        {CRASHED(FIRST "\0\0\0"), FIRST},           /* blocks that were never written. */
        {"", 0, ""},
#undef CRASHED
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct place place = place_make("");
        put(&place, place.path, table[i].before, table[i].len);
        ck_assert_msg(open_sink(&place) == RC_OK, "%zu: %s", i, place.err.text);
        assert_file(&place, place.path, table[i].after);
        place_end(&place);
    }
}
END_TEST

START_TEST(an_unfinished_line_may_be_longer_than_what_is_read_at_once)
{
    struct place place = place_make("");
    enum { LONG = 200 * 1000 };
    char *text = arena_array(&place.arena, LONG, 1);
    memset(text, 'x', LONG);
    static const char begin[] = FIRST EVENT_BEGIN;
    memcpy(text, begin, sizeof begin - 1);
    put(&place, place.path, text, LONG);
    ck_assert_msg(open_sink(&place) == RC_OK, "%s", place.err.text);
    assert_file(&place, place.path, FIRST);
    place_end(&place);
}
END_TEST

/* The second is the configuration of another program. */
START_TEST(a_file_of_others_stays_as_it_is)
{
    static const char unfinished[] = FIRST "notes", other[] = FIRST "{\"specimen\"",
                      later[] = "{}\n" EVENT_BEGIN;
    static const char *const texts[] = {unfinished,         "{\"mine\": \"settings\"}", other,
                                        "a-secret-token\n", "{\"mine\":1}\n",           later};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct place place = place_make("");
        put(&place, place.path, texts[i], strlen(texts[i]));
        ck_assert_int_eq(open_sink(&place), RC_CONFLICT);
        ck_assert_ptr_nonnull(strstr(place.err.text, "not an event"));
        assert_file(&place, place.path, texts[i]);
        place_end(&place);
    }
}
END_TEST

/* As a page of a database may end. */
START_TEST(zeros_before_something_else_are_not_cut)
{
    static const char page[] = "x\n\0\0 cells";
    struct place place = place_make("");
    struct stat status;
    put(&place, place.path, page, sizeof page - 1);
    ck_assert_int_eq(open_sink(&place), RC_CONFLICT);
    ck_assert_int_eq(stat(place.path, &status), 0);
    ck_assert_int_eq(status.st_size, sizeof page - 1);
    place_end(&place);
}
END_TEST

START_TEST(on_a_full_disk_no_part_of_a_batch_stays)
{
    struct place place = place_make("");
    struct rlimit before, small;
    ck_assert_int_eq(open_sink(&place), RC_OK);
    must_publish(&place, "{\"n\":1}", "{\"n\":2}");
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 20, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    must_retry(&place, "{\"n\":3}", "{\"n\":4}", "File too large");
    assert_file(&place, place.path, "{\"n\":1}\n{\"n\":2}\n");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    must_publish(&place, "{\"n\":3}", "{\"n\":4}");
    assert_file(&place, place.path, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    place_end(&place);
}
END_TEST

START_TEST(a_batch_whose_sync_failed_is_written_again)
{
    struct place place = place_make("");
    ck_assert_int_eq(open_sink(&place), RC_OK);
    must_publish(&place, EVENT_BEGIN "1\"}", "{\"n\":2}");
    failing_syncs = 1;
    must_retry(&place, "{\"n\":3}", "{\"n\":4}", "cannot sync");
    assert_file(&place, place.path, EVENT_BEGIN "1\"}\n{\"n\":2}\n");
    failing_syncs = 2; /* That of the truncation, too: the file is opened again. */
    must_retry(&place, "{\"n\":3}", "{\"n\":4}", "cannot sync");
    must_publish(&place, "{\"n\":3}", "{\"n\":4}");
    assert_file(&place, place.path, EVENT_BEGIN "1\"}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    ck_assert_int_eq(failing_syncs, 0);
    place_end(&place);
}
END_TEST

START_TEST(a_path_that_cannot_be_opened_is_an_error_with_its_reason)
{
    struct place place = place_make("");
    ck_assert_int_eq(mkdir(place.path, 0700), 0);
    ck_assert_int_ne(open_sink(&place), RC_OK);
    ck_assert_ptr_nonnull(strstr(place.err.text, "Is a directory"));
    ck_assert_int_eq(rmdir(place.path), 0);
    ck_assert_int_eq(mkfifo(place.path, 0600), 0);
    ck_assert_int_ne(open_sink(&place), RC_OK);
    ck_assert_ptr_nonnull(strstr(place.err.text, "not a regular file"));
    ck_assert_int_eq(unlink(place.path), 0);
    ck_assert_int_eq(symlink("/dev/full", place.path), 0);
    ck_assert_int_ne(open_sink(&place), RC_OK);
    ck_assert_ptr_nonnull(strstr(place.err.text, "not a regular file"));
    ck_assert_int_eq(unlink(place.path), 0);
    if (geteuid() != 0) { /* Root may write everywhere. */
        put(&place, place.path, "", 0);
        ck_assert_int_eq(chmod(place.path, 0400), 0);
        ck_assert_int_ne(open_sink(&place), RC_OK);
        ck_assert_ptr_nonnull(strstr(place.err.text, "Permission denied"));
    }
    ck_assert_int_eq(dir_remove(place.dir, &place.err), RC_OK);
    ck_assert_int_ne(open_sink(&place), RC_OK);
    ck_assert_ptr_nonnull(strstr(place.err.text, "No such file"));
    place_end(&place);
}
END_TEST

START_TEST(a_second_process_cannot_write_to_the_file)
{
    struct place place = place_make("");
    void *second = NULL;
    ck_assert_int_eq(open_sink(&place), RC_OK);
    /* flock belongs to the open file, so that a second descriptor is as good as another process. */
    ck_assert_int_eq(sink_file.open(place.configs.items[0].settings, &second, &place.err),
                     RC_CONFLICT);
    ck_assert_ptr_nonnull(strstr(place.err.text, "another process"));
    place_end(&place);
}
END_TEST

START_TEST(a_file_that_was_renamed_or_removed_is_opened_anew)
{
    struct place place = place_make("");
    const char *moved = arena_printf(&place.arena, "%s/old", place.dir);
    ck_assert_int_eq(open_sink(&place), RC_OK);
    must_publish(&place, "{\"n\":1}", "{\"n\":2}");
    ck_assert_int_eq(rename(place.path, moved), 0);
    must_publish(&place, "{\"n\":3}", "{\"n\":4}");
    assert_file(&place, moved, "{\"n\":1}\n{\"n\":2}\n");
    assert_file(&place, place.path, "{\"n\":3}\n{\"n\":4}\n");
    ck_assert_int_eq(unlink(place.path), 0);
    must_publish(&place, "{\"n\":5}", "{\"n\":6}");
    assert_file(&place, place.path, "{\"n\":5}\n{\"n\":6}\n");
    place_end(&place);
}
END_TEST

START_TEST(a_file_that_would_grow_too_large_is_rotated)
{
    struct place place = place_make(",\"rotateBytes\":4096,\"keep\":2");
    char big[3000], want[8][2 * sizeof big];
    ck_assert_int_eq(open_sink(&place), RC_OK);
    for (int i = 0; i < 5; i++) {
        memset(big, 'a' + i, sizeof big);
        big[sizeof big - 1] = '\0';
        must_publish(&place, big, "{}");
        (void)snprintf(want[i], sizeof want[i], "%s\n{}\n", big);
    }
    assert_file(&place, place.path, want[4]);
    assert_file(&place, arena_printf(&place.arena, "%s.1", place.path), want[3]);
    assert_file(&place, arena_printf(&place.arena, "%s.2", place.path), want[2]);
    ck_assert(!file_exists(arena_printf(&place.arena, "%s.3", place.path)));
    place_end(&place);
}
END_TEST

START_TEST(a_batch_larger_than_the_limit_is_not_divided)
{
    struct place place = place_make(",\"rotateBytes\":4096");
    char big[9000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    ck_assert_int_eq(open_sink(&place), RC_OK);
    must_publish(&place, big, "{}");
    ck_assert(!file_exists(arena_printf(&place.arena, "%s.1", place.path)));
    must_publish(&place, "{}", "{}");
    assert_file(&place, place.path, "{}\n{}\n");
    place_end(&place);
}
END_TEST

Suite *sink_file_suite(void)
{
    Suite *suite = suite_create("sink_file");
    TCase *tc = tcase_create("file");
    tcase_add_test(tc, events_are_lines_in_the_order_of_the_batches);
    tcase_add_test(tc, what_a_crash_left_of_a_line_is_cut_off);
    tcase_add_test(tc, an_unfinished_line_may_be_longer_than_what_is_read_at_once);
    tcase_add_test(tc, a_file_of_others_stays_as_it_is);
    tcase_add_test(tc, zeros_before_something_else_are_not_cut);
    tcase_add_test(tc, on_a_full_disk_no_part_of_a_batch_stays);
    tcase_add_test(tc, a_batch_whose_sync_failed_is_written_again);
    tcase_add_test(tc, a_path_that_cannot_be_opened_is_an_error_with_its_reason);
    tcase_add_test(tc, a_second_process_cannot_write_to_the_file);
    tcase_add_test(tc, a_file_that_was_renamed_or_removed_is_opened_anew);
    tcase_add_test(tc, a_file_that_would_grow_too_large_is_rotated);
    tcase_add_test(tc, a_batch_larger_than_the_limit_is_not_divided);
    suite_add_tcase(suite, tc);
    return suite;
}
