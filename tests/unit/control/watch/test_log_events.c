/*
 * test_log_events.c - lines of the log reach a file and the database, and no others are made by
 * that; stopping writes what is there, within its time.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "control/control.h"
#include "control/watch/log_events.h"
#include "store/log_lines.h"
#include "tests/unit/suites.h"
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64], path[128];
static struct store *store;
static struct control *control;
static int null_fd;

static void setup(void)
{
    struct err err = {0};
    char url[128];
    (void)snprintf(dir, sizeof dir, "/tmp/log-events-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/log", dir);
    (void)snprintf(url, sizeof url, "sqlite:%s/drover.db", dir);
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_configure(&(struct log_options){.fd = null_fd, .level = LOG_ERROR});
    struct store_options options = {.url = url, .artifact_dir = dir};
    ck_assert_msg(store_open(&options, &store, &err) == RC_OK, "%s", err.text);
    struct control_options made = {
        .store = store, .clock = clock_real(), .random = random_seeded(7)};
    ck_assert_msg(control_start(&made, &control, &err) == RC_OK, "%s", err.text);
}

static void teardown(void)
{
    struct err err = {0};
    control_stop(control);
    store_close(store);
    log_configure(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_INFO});
    (void)close(null_fd);
    ck_assert_int_eq(dir_remove(dir, &err), RC_OK);
}

static struct log_events *start(const struct log_file_config *file,
                                const struct log_store_config *kept)
{
    struct log_events *events = NULL;
    struct err err = {0};
    struct log_events_options options = {.bus = control_bus(control),
                                         .committer = control_committer(control),
                                         .node = control_node(control)};
    if (file != NULL)
        options.file = *file;
    if (kept != NULL)
        options.store = *kept;
    ck_assert_msg(log_events_start(&options, &events, &err) == RC_OK, "%s", err.text);
    return events;
}

static struct log_file_config file_of(int64_t max_bytes)
{
    return (struct log_file_config){
        .path = path, .level = LOG_INFO, .max_bytes = max_bytes, .keep = 2};
}

static const char *read_file(const char *name)
{
    static struct buf text;
    struct err err = {0};
    buf_release(&text);
    buf_init(&text, 10 * 1024 * 1024);
    return file_read(name, &text, &err) == RC_OK ? buf_text(&text) : "";
}

static size_t count_rows(const struct log_line_filter *filter, struct log_line_row **ret_rows)
{
    static struct arena arena;
    struct err err = {0};
    struct db *db = NULL;
    size_t count = 0;
    arena_release(&arena);
    ck_assert_int_eq(store_reader_open(store, &db, &err), RC_OK);
    ck_assert_int_eq(log_lines_list(db, filter, &arena, ret_rows, &count, &err), RC_OK);
    store_reader_close(store, db);
    return count;
}

#define RUN_ID "01890000-0000-7000-8000-000000000004"

START_TEST(lines_are_kept_in_a_file_and_in_the_store)
{
    const struct log_file_config file = file_of(LOG_FILE_BYTES_DEFAULT);
    const struct log_store_config kept = {true, LOG_WARN, 7, 1000};
    struct log_line_row *rows = NULL;
    struct log_events *events = start(&file, &kept);
    LOG(LOG_DEBUG, "too fine");
    LOG(LOG_INFO, "for the file", LOG_INT("n", 1));
    LOG(LOG_WARN, "for both", LOG_STR("runId", RUN_ID));
    log_events_stop(events, 60 * US_PER_SECOND);
    const char *text = read_file(path);
    ck_assert_ptr_nonnull(strstr(text, "\"msg\":\"for the file\",\"n\":1}\n"));
    ck_assert_ptr_nonnull(strstr(text, "for both"));
    ck_assert_ptr_null(strstr(text, "too fine"));
    ck_assert_uint_eq(count_rows(&(struct log_line_filter){.limit = 9}, &rows), 1);
    ck_assert_str_eq(rows[0].message, "for both");
    ck_assert_str_eq(rows[0].run_id.text, RUN_ID);
    ck_assert_int_eq(rows[0].level, LOG_WARN);
    ck_assert_str_eq(rows[0].node, control_node(control));
    LOG(LOG_ERROR, "after the stop");
    ck_assert_ptr_null(strstr(read_file(path), "after the stop"));
}
END_TEST

START_TEST(without_a_place_nothing_is_taken)
{
    ck_assert_ptr_null(start(NULL, NULL));
    ck_assert(!log_enabled(LOG_INFO));
    log_events_stop(NULL, 0);
}
END_TEST

START_TEST(a_file_that_is_full_is_renamed)
{
    const struct log_file_config file = file_of(LOG_FILE_BYTES_MIN);
    char older[160];
    struct log_events *events = start(&file, NULL);
    for (int i = 0; i < 200; i++)
        LOG(LOG_INFO, "a line that fills the file sooner or later", LOG_INT("i", i));
    log_events_stop(events, 60 * US_PER_SECOND);
    (void)snprintf(older, sizeof older, "%s.1", path);
    ck_assert_ptr_nonnull(strstr(read_file(path), "\"i\":199}"));
    ck_assert_uint_gt(strlen(read_file(older)), 0);
    (void)snprintf(older, sizeof older, "%s.3", path);
    ck_assert_uint_eq(strlen(read_file(older)), 0);
}
END_TEST

START_TEST(the_store_keeps_the_newest_lines)
{
    const struct log_store_config kept = {true, LOG_INFO, 7, 100};
    struct log_line_row *rows = NULL;
    struct log_events *events = start(NULL, &kept);
    for (int i = 0; i < 1000; i++)
        LOG(LOG_INFO, "one of many", LOG_INT("i", i));
    log_events_stop(events, 60 * US_PER_SECOND);
    size_t count = count_rows(&(struct log_line_filter){.limit = 2000}, &rows);
    ck_assert_uint_ge(count, 100);
    ck_assert_uint_lt(count, 1000); /* What was written since it was last pruned may be there. */
    ck_assert_ptr_nonnull(strstr(rows[count - 1].fields.at, "\"i\":999"));
}
END_TEST

START_TEST(a_file_that_cannot_be_opened_is_an_error_of_the_start)
{
    struct log_events *events = NULL;
    struct err err = {0};
    struct log_events_options options = {.bus = control_bus(control), .node = "n"};
    options.file = (struct log_file_config){"/nowhere/at/all/log", LOG_INFO, 4096, 1};
    ck_assert_int_eq(log_events_start(&options, &events, &err), RC_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/at/all/log"));
    options.file.path = "/dev/null";
    ck_assert_int_eq(log_events_start(&options, &events, &err), RC_IO);
    const struct log_file_config file = file_of(4096);
    events = start(&file, NULL);
    struct log_events *second = NULL;
    options.file = file;
    ck_assert_int_eq(log_events_start(&options, &second, &err), RC_CONFLICT);
    log_events_stop(events, US_PER_SECOND);
}
END_TEST

/* ---- a sink that fails, and one that hangs ---- */

static struct {
    int calls, failures;
    sem_t enter, leave;
    bool hangs;
} probe;

static enum rc probe_write(void *ctx, struct envelope *const *lines, size_t count, struct err *err)
{
    (void)ctx, (void)lines, (void)count;
    probe.calls++;
    if (probe.hangs) {
        ck_assert_int_eq(sem_post(&probe.enter), 0);
        ck_assert_int_eq(sem_wait(&probe.leave), 0);
    }
    LOG(LOG_ERROR, "a line about the sink"); /* Must not come back to it. */
    return probe.failures-- > 0 ? err_set(err, RC_IO, "IO_ERROR", "the disk is full") : RC_OK;
}

static struct log_sink *start_probe(void)
{
    struct log_sink *sink = NULL;
    struct err err = {0};
    const struct log_sink_spec spec = {
        .bus = control_bus(control), .who = BUS_LOG_FILE, .level = LOG_INFO, .write = probe_write};
    ck_assert_int_eq(log_sink_start(&spec, &sink, &err), RC_OK);
    return sink;
}

static void post_line(void)
{
    const char *why = NULL;
    const struct event event = {.type = EV_LOG_WRITTEN,
                                .version = 1,
                                .actor = {"system", "drover"},
                                .data = STR("{\"level\":\"error\",\"msg\":\"x\"}")};
    struct envelope *envelope = envelope_new(&event, &why);
    bus_post(control_bus(control), envelope);
    envelope_unref(envelope);
}

START_TEST(a_sink_that_fails_makes_no_lines_for_itself)
{
    const struct log_file_config file = file_of(LOG_FILE_BYTES_DEFAULT);
    struct log_events *events = start(&file, NULL);
    probe.calls = 0;
    probe.failures = 1;
    probe.hangs = false;
    struct log_sink *sink = start_probe();
    post_line();
    /* It fails once; while it stops it is not tried for ever. */
    int64_t left = log_sink_stop(sink, clock_mono_us() + 60 * US_PER_SECOND);
    ck_assert(left == 0 || left == 1);
    ck_assert_int_ge(probe.calls, 1);
    log_events_stop(events, 60 * US_PER_SECOND);
    ck_assert_ptr_null(strstr(read_file(path), "a line about the sink"));
    ck_assert_ptr_null(strstr(read_file(path), "cannot be written"));
}
END_TEST

START_TEST(stopping_gives_up_what_its_time_does_not_allow)
{
    ck_assert_int_eq(sem_init(&probe.enter, 0, 0), 0);
    ck_assert_int_eq(sem_init(&probe.leave, 0, 0), 0);
    probe.calls = probe.failures = 0;
    probe.hangs = true;
    struct log_sink *sink = start_probe();
    post_line();
    ck_assert_int_eq(sem_wait(&probe.enter), 0); /* It is at the first. */
    post_line();
    post_line();
    ck_assert_int_eq(sem_post(&probe.leave), 0);
    ck_assert_int_eq(sem_post(&probe.leave), 0);
    /* Its time is over: of the two that wait it may write what it is at, and no more. */
    int64_t left = log_sink_stop(sink, clock_mono_us());
    ck_assert_int_le(left, 2);
    ck_assert_int_eq(left, probe.calls == 1 ? 2 : 0);
    probe.hangs = false;
}
END_TEST

Suite *log_events_suite(void)
{
    Suite *suite = suite_create("log_events");
    TCase *tc = tcase_create("log_events");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, lines_are_kept_in_a_file_and_in_the_store);
    tcase_add_test(tc, without_a_place_nothing_is_taken);
    tcase_add_test(tc, a_file_that_is_full_is_renamed);
    tcase_add_test(tc, the_store_keeps_the_newest_lines);
    tcase_add_test(tc, a_file_that_cannot_be_opened_is_an_error_of_the_start);
    tcase_add_test(tc, a_sink_that_fails_makes_no_lines_for_itself);
    tcase_add_test(tc, stopping_gives_up_what_its_time_does_not_allow);
    suite_add_tcase(suite, tc);
    return suite;
}
