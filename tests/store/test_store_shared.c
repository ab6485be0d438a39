/*
 * test_store_shared.c - what several servers on one store share: notices, a log with many
 * writers, contents as rows.
 */
#include "base/clock.h"
#include "core/event_types.h"
#include "store/artifacts.h"
#include "store/query.h"
#include "store/settings.h"
#include "store/settled.h"
#include "tests/store/fixture.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define POSTGRES(f) FIXTURE_ON(f, ENGINE_POSTGRES)

/* ---- notices ---- */

START_TEST(a_notice_wakes_the_listeners)
{
    POSTGRES(f);
    struct store *other;
    struct store_options options = {.url = f.url};
    must(store_open(&options, &other, &f.err));
    struct notice_listener *listener;
    must(store_listen(other, &listener, &f.err));
    struct wakeup wakeup;
    notice_listener_wait(listener, 0, &wakeup);
    ck_assert(!wakeup.channels[STORE_JOBS].woken && !wakeup.channels[STORE_EVENTS].woken);

    must(store_notify(f.store, STORE_JOBS, "build", &f.err));
    must(store_notify(f.store, STORE_JOBS, "test", &f.err));
    const char *seen = "";
    while (strstr(seen, "test") == NULL) {
        notice_listener_wait(listener, 60000, &wakeup);
        ck_assert(wakeup.channels[STORE_JOBS].woken && !wakeup.called);
        ck_assert(!wakeup.channels[STORE_JOBS].all && !wakeup.channels[STORE_EVENTS].woken);
        seen = arena_printf(&f.arena, "%s %s", seen, wakeup.channels[STORE_JOBS].payloads);
    }
    ck_assert_ptr_nonnull(strstr(seen, "build"));
    must(store_notify(f.store, STORE_EVENTS, NULL, &f.err));
    notice_listener_wait(listener, 60000, &wakeup);
    ck_assert(wakeup.channels[STORE_EVENTS].woken && wakeup.channels[STORE_EVENTS].all);
    notice_listener_close(listener);
    store_close(other);
}
END_TEST

static void *wake_later(void *arg)
{
    struct timespec pause = {.tv_nsec = 20 * 1000000L};
    nanosleep(&pause, NULL);
    notice_listener_wake(arg);
    return NULL;
}

START_TEST(a_listener_is_woken_by_a_thread)
{
    FIXTURE(f);
    struct notice_listener *listener;
    must(store_listen(f.store, &listener, &f.err));
    must(store_notify(f.store, STORE_JOBS, "q", &f.err));
    struct wakeup wakeup;
    if (store_is_shared(f.store))
        notice_listener_wait(listener, 60000, &wakeup);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, wake_later, listener), 0);
    int64_t begin_us = clock_mono_us();
    notice_listener_wait(listener, 60000, &wakeup);
    ck_assert(wakeup.called);
    ck_assert_int_lt(clock_mono_us() - begin_us, 50 * US_PER_SECOND);
    pthread_join(thread, NULL);
    notice_listener_wait(listener, 1, &wakeup);
    ck_assert(!wakeup.called);
    notice_listener_close(listener);
    notice_listener_close(NULL);
}
END_TEST

/* ---- the log with several writers ---- */

static int64_t append(struct fixture *f, struct db *db)
{
    struct event event = {
        .id = fixture_id(f),
        .type = EV_TASK_SUBMITTED,
        .version = 1,
        .time_us = f->now_us,
        .actor = {"system", "drover"},
        .data = STR("{}"),
    };
    int64_t seq;
    enum rc rc = events_append(db, &event, &f->err);
    if (rc == RC_OK)
        rc = events_last_seq(db, &seq, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    return seq;
}

struct writers {
    struct db *slow, *fast, *reader;
    struct tx slow_tx;
    int64_t slow_seq, fast_seq;
};

/* The slow one has the lower seq and has not committed when the fast one has. */
static void writers_open(struct fixture *fixture, struct writers *w)
{
    struct fixture f = *fixture;
    must(store_writer_open(f.store, &w->slow, &f.err));
    must(store_writer_open(f.store, &w->fast, &f.err));
    must(store_reader_open(f.store, &w->reader, &f.err));
    must(tx_begin(w->slow, &w->slow_tx, &f.err));
    w->slow_seq = append(&f, w->slow);
    struct tx tx;
    must(tx_begin(w->fast, &tx, &f.err));
    w->fast_seq = append(&f, w->fast);
    must(tx_commit(&tx, &f.err));
    ck_assert_int_lt(w->slow_seq, w->fast_seq);
    *fixture = f;
}

static void writers_close(struct fixture *f, struct writers *w)
{
    store_writer_close(f->store, w->slow);
    store_writer_close(f->store, w->fast);
    store_reader_close(f->store, w->reader);
}

/* The seqs that are handed out, as text. */
static const char *settled_seqs(struct fixture *f, struct db *reader, struct settled *cursor)
{
    struct event *events;
    size_t count;
    enum rc rc = settled_read(reader, cursor, 100, &f->arena, &events, &count, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    char *text = arena_strdup(&f->arena, "");
    for (size_t i = 0; i < count; i++)
        text = arena_printf(&f->arena, "%s%lld ", text, (long long)events[i].seq);
    return text;
}

START_TEST(a_naive_cursor_loses_an_event_and_a_settled_one_does_not)
{
    POSTGRES(f);
    struct writers w;
    writers_open(&f, &w);
    struct event_filter naive = {.limit = 100};
    struct event *events;
    size_t count;
    struct settled cursor = {0};
    must(events_list(w.reader, &naive, &f.arena, &events, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    naive.after_seq = events[0].seq;
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");
    ck_assert(settled_waits(&cursor));
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");

    must(tx_commit(&w.slow_tx, &f.err));
    must(events_list(w.reader, &naive, &f.arena, &events, &count, &f.err));
    ck_assert_uint_eq(count, 0); /* Lost for ever. */
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "1 2 ");
    ck_assert(!settled_waits(&cursor));
    writers_close(&f, &w);
}
END_TEST

/* Other tests may have transactions open in the same cluster, for a moment. */
static enum rc settled_last_soon(struct db *db, struct settled *cursor, struct err *err)
{
    enum { TRIES = 2000 };
    enum rc rc = RC_BUSY;
    for (int i = 0; rc == RC_BUSY && i < TRIES; i++) {
        rc = settled_last(db, cursor, err);
        if (rc == RC_BUSY)
            (void)usleep(5000);
    }
    return rc;
}

static const char *settled_seqs_soon(struct fixture *f, struct db *db, struct settled *cursor)
{
    enum { TRIES = 2000 };
    const char *seqs = "";
    for (int i = 0; seqs[0] == '\0' && i < TRIES; i++) {
        seqs = settled_seqs(f, db, cursor);
        if (seqs[0] == '\0')
            (void)usleep(5000);
    }
    return seqs;
}

/* The one with the lower seq has the higher id, beyond all that have ended. */
START_TEST(a_gap_is_waited_for_although_its_writer_began_last)
{
    POSTGRES(f);
    struct db *early, *late, *reader;
    struct tx early_tx, late_tx;
    must(store_writer_open(f.store, &early, &f.err));
    must(store_writer_open(f.store, &late, &f.err));
    must(store_reader_open(f.store, &reader, &f.err));
    struct settled cursor = {0}, end = {0};
    must(tx_begin(early, &early_tx, &f.err));
    must(settings_make(early, "mine", "1", &f.err));
    must(tx_begin(late, &late_tx, &f.err));
    ck_assert_int_eq(append(&f, late), 1);
    ck_assert_int_eq(append(&f, early), 2);
    must(tx_commit(&early_tx, &f.err));

    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(settled_seqs(&f, reader, &cursor), "");
    must_be(RC_BUSY, settled_last(reader, &end, &f.err));
    must(tx_commit(&late_tx, &f.err));
    ck_assert_str_eq(settled_seqs(&f, reader, &cursor), "1 2 ");
    must(settled_last_soon(reader, &end, &f.err));
    ck_assert_int_eq(end.after_seq, 2);
    store_writer_close(f.store, early);
    store_writer_close(f.store, late);
    store_reader_close(f.store, reader);
}
END_TEST

START_TEST(a_gap_is_passed_when_it_is_dead)
{
    POSTGRES(f);
    struct writers w;
    writers_open(&f, &w);
    struct settled cursor = {0};
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");
    tx_abort(&w.slow_tx);
    ck_assert_str_eq(settled_seqs_soon(&f, w.reader, &cursor), "2 ");

    /* Two gaps at once: 3 dies, 5 lives on; a later transaction does not hold anything up. */
    must(tx_begin(w.slow, &w.slow_tx, &f.err));
    ck_assert_int_eq(append(&f, w.slow), 3);
    ck_assert_int_eq(append(&f, w.fast), 4);
    struct tx long_tx, late_tx;
    must(tx_begin(f.db, &long_tx, &f.err));
    ck_assert_int_eq(append(&f, f.db), 5);
    ck_assert_int_eq(append(&f, w.fast), 6);
    tx_abort(&w.slow_tx);
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor),
                     ""); /* 5 may still hold 3, for all we know. */
    must(tx_begin(w.slow, &late_tx, &f.err));
    ck_assert_int_eq(append(&f, w.slow), 7);
    must(tx_commit(&long_tx, &f.err));
    ck_assert_str_eq(settled_seqs_soon(&f, w.reader, &cursor), "4 5 6 ");
    ck_assert(!settled_waits(&cursor));
    must(tx_commit(&late_tx, &f.err));
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "7 ");
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");
    writers_close(&f, &w);
}
END_TEST

START_TEST(a_gap_is_passed_although_a_crash_took_back_ids)
{
    POSTGRES(f);
    struct writers w;
    writers_open(&f, &w);
    struct settled cursor = {0};
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");
    cursor.seen_xid += 1000; /* Given out before the crash, and nobody will have them soon. */
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "");
    tx_abort(&w.slow_tx);
    ck_assert_str_eq(settled_seqs_soon(&f, w.reader, &cursor), "2 ");
    ck_assert(!settled_waits(&cursor));
    writers_close(&f, &w);
}
END_TEST

START_TEST(the_end_of_the_log_is_where_nothing_is_on_its_way)
{
    POSTGRES(f);
    struct writers w;
    writers_open(&f, &w);
    struct settled cursor = {0};
    must_be(RC_BUSY, settled_last(w.reader, &cursor, &f.err));
    append(&f, w.fast);
    must_be(RC_BUSY, settled_last(w.reader, &cursor, &f.err));
    must(tx_commit(&w.slow_tx, &f.err));
    must(settled_last_soon(w.reader, &cursor, &f.err));
    ck_assert_int_eq(cursor.after_seq, 2);
    ck_assert_str_eq(settled_seqs(&f, w.reader, &cursor), "3 ");
    writers_close(&f, &w);
}
END_TEST

START_TEST(with_one_writer_the_log_is_settled)
{
    FIXTURE(f);
    struct settled cursor = {0};
    must(settled_last_soon(f.db, &cursor, &f.err));
    ck_assert_int_eq(cursor.after_seq, 0);
    append(&f, f.db);
    append(&f, f.db);
    ck_assert_str_eq(settled_seqs(&f, f.db, &cursor), "1 2 ");
    ck_assert(!settled_waits(&cursor));
    ck_assert_str_eq(settled_seqs(&f, f.db, &cursor), "");
}
END_TEST

/* ---- contents ---- */

START_TEST(a_content_of_many_chunks_comes_back)
{
    POSTGRES(f);
    enum { BYTES = 3 * 1024 * 1024 + 17 };
    char *bytes = arena_alloc(&f.arena, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)(i * 31 >> 3);
    char sha256[SHA256_TEXT_BYTES], again[SHA256_TEXT_BYTES];
    must(artifact_put(f.store, (struct str){bytes, BYTES}, sha256, &f.err));
    must(artifact_put(f.store, (struct str){bytes, BYTES}, again, &f.err));
    static const struct sql chunks = {"test_chunks",
                                      "SELECT count(*) FROM artifact_chunks"
                                      " WHERE octet_length(data) <= 262144",
                                      ""};
    int64_t chunk_count;
    must(query_int(f.db, &chunks, NULL, 0, &chunk_count, &f.err));
    ck_assert_int_eq(chunk_count, 13);
    CLEANUP(buf_release) struct buf content;
    buf_init(&content, BYTES);
    must(artifact_get(f.store, sha256, &content, &f.err));
    ck_assert_uint_eq(content.len, BYTES);
    ck_assert_mem_eq(content.data, bytes, BYTES);
    int fd;
    int64_t len;
    must(artifact_open(f.store, sha256, &fd, &len, &f.err));
    ck_assert_int_eq(len, BYTES);
    char middle[100];
    ck_assert_int_eq(pread(fd, middle, sizeof middle, 1000000), sizeof middle);
    ck_assert_mem_eq(middle, bytes + 1000000, sizeof middle);
    close(fd);
}
END_TEST

static void add_server_tests(Suite *suite)
{
    TCase *tc = tcase_create("postgres");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_notice_wakes_the_listeners);
    tcase_add_test(tc, a_naive_cursor_loses_an_event_and_a_settled_one_does_not);
    tcase_add_test(tc, a_gap_is_waited_for_although_its_writer_began_last);
    tcase_add_test(tc, a_gap_is_passed_when_it_is_dead);
    tcase_add_test(tc, a_gap_is_passed_although_a_crash_took_back_ids);
    tcase_add_test(tc, the_end_of_the_log_is_where_nothing_is_on_its_way);
    tcase_add_test(tc, a_content_of_many_chunks_comes_back);
    suite_add_tcase(suite, tc);
}

Suite *store_shared_suite(void)
{
    Suite *suite = suite_create("store_shared");
    TCase *tc = tcase_create("every engine");
    case_add(tc, a_listener_is_woken_by_a_thread);
    case_add(tc, with_one_writer_the_log_is_settled);
    suite_add_tcase(suite, tc);
    if (postgres_url() != NULL)
        add_server_tests(suite);
    return suite;
}
