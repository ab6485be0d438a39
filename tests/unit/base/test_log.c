/* test_log.c - structured logs. */
#include "base/fd.h"
#include "base/js.h"
#include "base/log.h"
#include "tests/unit/suites.h"
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int log_fd = -1;
static struct buf text;

static void set_up(void)
{
    char path[] = "/tmp/log-test-XXXXXX";
    log_fd = mkostemp(path, O_CLOEXEC | O_APPEND);
    ck_assert_int_ge(log_fd, 0);
    ck_assert_int_eq(unlink(path), 0);
    buf_init(&text, 1 << 20);
}

static void tear_down(void)
{
    fd_closep(&log_fd);
    buf_release(&text);
}

static void configure(enum log_level level, bool human)
{
    log_configure(&(struct log_options){.fd = log_fd, .level = level, .human = human});
}

/* Everything logged so far. */
static const char *logged(void)
{
    char chunk[4096];
    ssize_t got;
    buf_clear(&text);
    for (off_t at = 0; (got = pread(log_fd, chunk, sizeof chunk, at)) > 0; at += got)
        buf_add(&text, chunk, (size_t)got);
    return buf_text(&text);
}

static struct js *logged_tree(void)
{
    const char *line = logged();
    struct js *tree = NULL;
    struct err err;
    ck_assert_msg(js_parse(line, strlen(line), &tree, &err) == RC_OK, "%s: %s", err.text, line);
    return tree;
}

START_TEST(a_line_is_one_json_object)
{
    configure(LOG_INFO, false);
    const char *absent = NULL;
    LOG(LOG_WARN, "lease \"lost\"\n", LOG_STR("jobId", "j1"), LOG_INT("epoch", 3),
        LOG_STR("gone", absent), LOG_STR("bad", "\xff\x01"));
    CLEANUP(js_freep) struct js *tree = logged_tree();
    int64_t time_us = 0;
    ck_assert(time_parse(js_get_str(tree, "time", ""), &time_us));
    ck_assert_str_eq(js_get_str(tree, "level", ""), "warn");
    ck_assert_str_eq(js_get_str(tree, "msg", ""), "lease \"lost\"\n");
    ck_assert_str_eq(js_get_str(tree, "jobId", ""), "j1");
    ck_assert_int_eq(js_get_int(tree, "epoch", 0), 3);
    ck_assert_str_eq(js_get_str(tree, "gone", "x"), "");
    ck_assert_str_eq(js_get_str(tree, "bad", ""), "\xef\xbf\xbd\x01");
    ck_assert_ptr_eq(strchr(buf_text(&text), '\n'), buf_text(&text) + text.len - 1);
}
END_TEST

START_TEST(fields_are_optional)
{
    configure(LOG_INFO, false);
    LOG(LOG_INFO, "started");
    CLEANUP(js_freep) struct js *tree = logged_tree();
    ck_assert_str_eq(js_get_str(tree, "msg", ""), "started");
    ck_assert_uint_eq(js_count(tree), 3);
}
END_TEST

START_TEST(levels_below_the_threshold_are_silent)
{
    for (int threshold = LOG_DEBUG; threshold <= LOG_FATAL; threshold++) {
        configure((enum log_level)threshold, false);
        for (int level = LOG_DEBUG; level <= LOG_FATAL; level++) {
            ck_assert_int_eq(ftruncate(log_fd, 0), 0);
            LOG((enum log_level)level, "x");
            ck_assert_int_eq(*logged() != '\0', level >= threshold);
            ck_assert_int_eq(log_enabled((enum log_level)level), level >= threshold);
        }
    }
}
END_TEST

START_TEST(levels_have_names)
{
    static const char *const names[] = {"debug", "info", "warn", "error", "fatal"};
    for (int i = LOG_DEBUG; i <= LOG_FATAL; i++) {
        enum log_level level = LOG_DEBUG;
        ck_assert(log_level_parse(names[i], &level));
        ck_assert_int_eq(level, i);
    }
    enum log_level kept = LOG_ERROR;
    ck_assert(!log_level_parse("INFO", &kept));
    ck_assert(!log_level_parse("", &kept));
    ck_assert(!log_level_parse(NULL, &kept));
    ck_assert_int_eq(kept, LOG_ERROR);
}
END_TEST

START_TEST(people_get_a_plain_line)
{
    configure(LOG_INFO, true);
    LOG(LOG_INFO, "task done", LOG_STR("id", "t1"), LOG_INT("turns", 3),
        LOG_STR("why", "two words"), LOG_STR("empty", ""));
    regex_t shape;
    ck_assert_int_eq(regcomp(&shape,
                             "^[0-9]{2}:[0-9]{2}:[0-9]{2} INFO  task done  id=t1  turns=3  "
                             "why=\"two words\"  empty=\"\"\n$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    ck_assert_msg(regexec(&shape, logged(), 0, NULL, 0) == 0, "%s", buf_text(&text));
    regfree(&shape);
}
END_TEST

START_TEST(outside_text_cannot_steer_a_terminal)
{
    configure(LOG_INFO, true);
    LOG(LOG_INFO, "a\033[2J\nb\x7f\xc2\x9b\xff", LOG_STR("k", "x\033]0;t\007\ny\xc3\xa9"));
    const char *line = logged();
    ck_assert_ptr_nonnull(strstr(line, "a?[2J b???  k=\"x?]0;t? y\xc3\xa9\"\n"));
    ck_assert_ptr_null(strchr(line, '\033'));
}
END_TEST

START_TEST(a_terminal_gets_colours)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(terminal, 0);
    log_configure(&(struct log_options){.fd = terminal, .level = LOG_INFO, .human = true});
    LOG(LOG_ERROR, "broken");
    char line[256];
    ssize_t got = read(master, line, sizeof line - 1);
    ck_assert_int_gt(got, 0);
    line[got] = '\0';
    ck_assert_ptr_nonnull(strstr(line, "\033[31mERROR\033[0m broken"));
    fd_close(terminal);
    fd_close(master);
}
END_TEST

START_TEST(long_lines_are_cut_and_stay_whole)
{
    static char huge[100000];
    memset(huge, '\x01', sizeof huge - 1); /* Six bytes each once escaped. */
    for (int human = 0; human <= 1; human++) {
        ck_assert_int_eq(ftruncate(log_fd, 0), 0);
        configure(LOG_INFO, human);
        LOG(LOG_INFO, huge, LOG_STR("a", huge), LOG_STR("b", huge), LOG_STR("c", huge),
            LOG_STR("d", huge), LOG_STR("e", huge), LOG_STR("f", huge), LOG_STR("g", huge),
            LOG_STR("h", huge));
        ck_assert_ptr_nonnull(strstr(logged(), "truncated"));
        ck_assert_uint_le(text.len, 16 * 1024);
        ck_assert_int_eq(buf_text(&text)[text.len - 1], '\n');
        if (!human) {
            CLEANUP(js_freep) struct js *tree = logged_tree();
            ck_assert(js_get_bool(tree, "truncated", false));
        }
    }
}
END_TEST

START_TEST(texts_are_not_cut_inside_a_character)
{
    char accents[4097];
    for (size_t i = 0; i < 4096; i += 2)
        memcpy(accents + i, "\xc3\xa9", 2);
    accents[4096] = '\0';
    configure(LOG_INFO, false);
    LOG(LOG_INFO, accents + 1, LOG_STR("k", accents)); /* The first one begins with half of one. */
    CLEANUP(js_freep) struct js *tree = logged_tree();
    ck_assert_uint_eq(strlen(js_get_str(tree, "k", "")), 2048);
    ck_assert_uint_eq(strlen(js_get_str(tree, "msg", "")), 3 + 2046);
}
END_TEST

static struct buf tapped;

static void tap_line(void *ctx, const struct log_line *line)
{
    (void)ctx;
    ck_assert_int_gt(line->time_us, 0);
    buf_addf(&tapped, "%s:%s ", log_level_name(line->level),
             line->fields->key != NULL ? line->fields->text : "-");
    ck_assert_int_eq(line->json.at[0], '{');
    ck_assert_int_eq(line->json.at[line->json.len - 1], '}');
}

static void *log_hidden(void *arg)
{
    (void)arg;
    log_hide_thread();
    LOG(LOG_ERROR, "x", LOG_STR("k", "hidden"));
    return NULL;
}

START_TEST(a_tap_gets_lines_of_its_own_level_from_all_but_hidden_threads)
{
    pthread_t thread;
    buf_init(&tapped, 1000);
    for (int human = 0; human <= 1; human++) {
        configure(LOG_WARN, human);
        log_set_tap(&(struct log_tap){.level = LOG_INFO, .line = tap_line});
        ck_assert(log_enabled(LOG_INFO));
        ck_assert(!log_enabled(LOG_DEBUG));
        LOG(LOG_DEBUG, "x", LOG_STR("k", "a"));
        LOG(LOG_INFO, "x", LOG_STR("k", "b"));
        ck_assert_int_eq(pthread_create(&thread, NULL, log_hidden, NULL), 0);
        pthread_join(thread, NULL);
        LOG(LOG_ERROR, "x");
        log_set_tap(&(struct log_tap){0});
        ck_assert(!log_enabled(LOG_INFO));
        LOG(LOG_ERROR, "x", LOG_STR("k", "c"));
    }
    ck_assert_str_eq(buf_text(&tapped), "info:b error:- info:b error:- ");
    ck_assert_ptr_null(strstr(logged(), "\"info\""));
    ck_assert_ptr_nonnull(strstr(logged(), "hidden"));
    buf_release(&tapped);
}
END_TEST

static void *log_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++)
        LOG(LOG_INFO, "message of a thread", LOG_INT("i", i), LOG_STR("s", "some text"));
    return NULL;
}

START_TEST(threads_do_not_mix_their_lines)
{
    configure(LOG_INFO, false);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, log_often, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    int lines = 0;
    for (const char *at = logged(); *at; lines++) {
        size_t len = strcspn(at, "\n");
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_int_eq(js_parse(at, len, &tree, NULL), RC_OK);
        at += len + 1;
    }
    ck_assert_int_eq(lines, 800);
}
END_TEST

START_TEST(a_closed_log_harms_nobody)
{
    log_configure(&(struct log_options){.fd = -1, .level = LOG_DEBUG});
    LOG(LOG_FATAL, "nobody hears this");
}
END_TEST

START_TEST(the_default_is_info_as_json_on_stderr)
{
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    ck_assert_int_ge(dup2(log_fd, STDERR_FILENO), 0);
    LOG(LOG_DEBUG, "hidden");
    LOG(LOG_INFO, "shown");
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    fd_close(saved);
    CLEANUP(js_freep) struct js *tree = logged_tree();
    ck_assert_str_eq(js_get_str(tree, "msg", ""), "shown");
}
END_TEST

Suite *log_suite(void)
{
    Suite *suite = suite_create("log");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 30);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, the_default_is_info_as_json_on_stderr); /* First: nothing is configured. */
    tcase_add_test(all, a_tap_gets_lines_of_its_own_level_from_all_but_hidden_threads);
    tcase_add_test(all, a_line_is_one_json_object);
    tcase_add_test(all, fields_are_optional);
    tcase_add_test(all, levels_below_the_threshold_are_silent);
    tcase_add_test(all, levels_have_names);
    tcase_add_test(all, people_get_a_plain_line);
    tcase_add_test(all, outside_text_cannot_steer_a_terminal);
    tcase_add_test(all, a_terminal_gets_colours);
    tcase_add_test(all, long_lines_are_cut_and_stay_whole);
    tcase_add_test(all, texts_are_not_cut_inside_a_character);
    tcase_add_test(all, threads_do_not_mix_their_lines);
    tcase_add_test(all, a_closed_log_harms_nobody);
    suite_add_tcase(suite, all);
    return suite;
}
