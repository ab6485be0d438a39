/*
 * test_cli_ids.c - which task or run a word means, against a server with a few of them.
 *
 *     task A  019a0000-0000-...   runs 1 and 2 (2 is the latest)
 *     task B  019b0000-1111-...   run 1, begins like its task
 *     task C  019b0000-2222-...   run 1, begins like its task
 */
#include "base/str.h"
#include "cli/ids.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <stdio.h>
#include <string.h>

#define TASK_A  "019a0000-0000-7000-8000-00000000000a"
#define RUN_A1  "019a0000-0000-7000-8000-0000000000a1"
#define RUN_A2  "019a1111-0000-7000-8000-0000000000a2"
#define TASK_B  "019b0000-1111-7000-8000-00000000000b"
#define RUN_B1  "019b0000-1111-7000-8000-0000000000b1"
#define TASK_C  "019b0000-2222-7000-8000-00000000000c"
#define RUN_C1  "019b0000-2222-7000-8000-0000000000c1"
#define UNKNOWN "019c0000-0000-7000-8000-00000000000d"

static const char *const run_pairs[][2] = {
    {RUN_C1, TASK_C}, {RUN_B1, TASK_B}, {RUN_A2, TASK_A}, {RUN_A1, TASK_A}};
static const char *const tasks[] = {TASK_C, TASK_B, TASK_A};

static void send_runs(int fd)
{
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof text, "{\"items\":[");
    for (size_t i = 0; i < COUNT_OF(run_pairs); i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "%s{\"id\":\"%s\",\"taskId\":\"%s\"}", i > 0 ? "," : "",
                                run_pairs[i][0], run_pairs[i][1]);
    (void)snprintf(text + len, sizeof text - len, "],\"cursor\":null}");
    tiny_answer(fd, "200 OK", "application/json", text);
}

/* One task a page, to walk over cursors. */
static void send_tasks(const char *request, int fd)
{
    const char *cursor = strstr(request, "cursor=");
    size_t index = cursor != NULL ? (size_t)(cursor[7] - '0') : 0;
    char text[256], next[16] = "null";
    if (index + 1 < COUNT_OF(tasks))
        (void)snprintf(next, sizeof next, "\"%zu\"", index + 1);
    (void)snprintf(text, sizeof text, "{\"items\":[{\"id\":\"%s\"}],\"cursor\":%s}", tasks[index],
                   next);
    tiny_answer(fd, "200 OK", "application/json", text);
}

static bool send_document(const char *request, int fd)
{
    char text[512];
    for (size_t i = 0; i < COUNT_OF(run_pairs); i++) {
        (void)snprintf(text, sizeof text, "GET /v1/runs/%s ", run_pairs[i][0]);
        if (!text_starts(request, text))
            continue;
        (void)snprintf(text, sizeof text, "{\"id\":\"%s\",\"taskId\":\"%s\"}", run_pairs[i][0],
                       run_pairs[i][1]);
        tiny_answer(fd, "200 OK", "application/json", text);
        return true;
    }
    static const char *const documents[][2] = {
        {TASK_A, "[{\"id\":\"" RUN_A1 "\",\"runNo\":1},{\"id\":\"" RUN_A2 "\",\"runNo\":2}]"},
        {TASK_B, "[{\"id\":\"" RUN_B1 "\",\"runNo\":1}]"},
        {TASK_C, "[{\"id\":\"" RUN_C1 "\",\"runNo\":1}]"},
    };
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        (void)snprintf(text, sizeof text, "GET /v1/tasks/%s ", documents[i][0]);
        if (!text_starts(request, text))
            continue;
        (void)snprintf(text, sizeof text, "{\"id\":\"%s\",\"runs\":%s}", documents[i][0],
                       documents[i][1]);
        tiny_answer(fd, "200 OK", "application/json", text);
        return true;
    }
    return false;
}

static bool answer(void *ctx, const char *request, int fd)
{
    (void)ctx;
    if (text_starts(request, "GET /v1/runs?"))
        send_runs(fd);
    else if (text_starts(request, "GET /v1/tasks?"))
        send_tasks(request, fd);
    else if (!send_document(request, fd))
        tiny_answer(fd, "404 Not Found", "application/problem+json",
                    "{\"code\":\"NOT_HERE\",\"detail\":\"there is no such thing\"}");
    return true;
}

static struct tiny_server *server;
static struct cli cli;

static void open_server(void)
{
    server = tiny_server_start(answer, NULL);
    const struct http_client_options options = {.url = tiny_server_url(server)};
    cli = (struct cli){0};
    ck_assert_int_eq(http_client_new(&options, &cli.client, NULL), RC_OK);
}

static void close_server(void)
{
    http_client_free(cli.client);
    arena_release(&cli.arena);
    tiny_server_stop(server);
}

struct example {
    const char *word;
    enum rc rc;
    const char *meant; /* RC_OK: the id; else what the message names. */
};

START_TEST(a_word_means_a_run)
{
    static const struct example table[] = {
        {RUN_A1, RC_OK, RUN_A1},
        {TASK_A, RC_OK, RUN_A2},
        {"latest", RC_OK, RUN_C1},
        {"019b0000-1111", RC_OK, RUN_B1}, /* The run and its task: the same run. */
        {"019B0000-1111-7000-8000-0000000000B1", RC_OK, RUN_B1},
        {"019B0000-1111", RC_OK, RUN_B1},
        {"019a1111", RC_OK, RUN_A2},
        {"019a0000-0000-7000-8000-00000000000", RC_OK, RUN_A2},
        {"019a0000", RC_MALFORMED, RUN_A1}, /* Run 1, or the task and so run 2? */
        {"019b0000", RC_MALFORMED, RUN_C1},
        {"019c00", RC_NOT_FOUND, "019c00"},
        {UNKNOWN, RC_NOT_FOUND, "there is no such thing"},
        {"019a", RC_MALFORMED, "6 characters"},
        {"hello!", RC_MALFORMED, "hello!"},
        {"019a0000x", RC_MALFORMED, "019a0000x"},
        {"", RC_MALFORMED, "id"},
    };
    open_server();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct err err = {0};
        struct id id = {""};
        enum rc rc = cli_resolve_run(&cli, table[i].word, &id, &err);
        ck_assert_msg(rc == table[i].rc, "%s: %s %s", table[i].word, rc_name(rc), err.text);
        ck_assert_msg(strstr(rc == RC_OK ? id.text : err.text, table[i].meant) != NULL, "%s: %s%s",
                      table[i].word, id.text, err.text);
    }
    close_server();
}
END_TEST

START_TEST(a_word_means_a_task)
{
    static const struct example table[] = {
        {TASK_A, RC_OK, TASK_A},
        {RUN_A1, RC_OK, TASK_A},
        {RUN_A2, RC_OK, TASK_A},
        {"latest", RC_OK, TASK_C},
        {"019a0000", RC_OK, TASK_A},
        {"019a1111", RC_OK, TASK_A}, /* Only a run begins like that. */
        {"019b0000-2222", RC_OK, TASK_C},
        {"019b0000", RC_MALFORMED, TASK_B},
        {UNKNOWN, RC_NOT_FOUND, "there is no such thing"},
    };
    open_server();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct err err = {0};
        struct id id = {""};
        enum rc rc = cli_resolve_task(&cli, table[i].word, &id, &err);
        ck_assert_msg(rc == table[i].rc, "%s: %s %s", table[i].word, rc_name(rc), err.text);
        ck_assert_msg(strstr(rc == RC_OK ? id.text : err.text, table[i].meant) != NULL, "%s: %s%s",
                      table[i].word, id.text, err.text);
    }
    close_server();
}
END_TEST

START_TEST(candidates_are_listed_once_and_bounded)
{
    struct id_search search = {.word = "019a00"};
    struct err err = {0};
    struct id id = {""};
    for (int i = 0; i < ID_CANDIDATES_MAX + 3; i++) {
        char text[ID_TEXT_BYTES];
        (void)snprintf(text, sizeof text, "019a0000-0000-7000-8000-%012d", i);
        struct id each = id_of(text);
        id_search_add(&search, &each);
        if (i == 0)
            id_search_add(&search, &each);
    }
    ck_assert_int_eq(id_search_end(&search, "run", &id, &err), RC_MALFORMED);
    ck_assert_str_eq(err.code, "AMBIGUOUS_ID");
    ck_assert_ptr_nonnull(strstr(err.text, "and 3 more"));
    ck_assert(id_is_none(&id));
}
END_TEST

START_TEST(short_ids_tell_a_listing_apart)
{
    static const struct {
        const char *json;
        size_t len;
    } table[] = {
        {"[]", ID_SHORT_MIN},
        {"[{\"id\":\"" TASK_A "\"}]", ID_SHORT_MIN},
        {"[{\"id\":\"" TASK_B "\"},{\"id\":\"" TASK_A "\"}]", ID_SHORT_MIN},
        {"[{\"id\":\"" RUN_A1 "\"},{\"id\":\"" TASK_A "\"}]", 35},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        const struct js *items[4];
        ck_assert_int_eq(js_parse(table[i].json, strlen(table[i].json), &tree, NULL), RC_OK);
        for (size_t j = 0; j < js_count(tree); j++)
            items[j] = js_at(tree, j);
        ck_assert_uint_eq(id_short_len(items, js_count(tree), "id"), table[i].len);
    }
}
END_TEST

Suite *cli_ids_suite(void)
{
    Suite *suite = suite_create("cli_ids");
    TCase *tc = tcase_create("cli_ids");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_word_means_a_run);
    tcase_add_test(tc, a_word_means_a_task);
    tcase_add_test(tc, candidates_are_listed_once_and_bounded);
    tcase_add_test(tc, short_ids_tell_a_listing_apart);
    suite_add_tcase(suite, tc);
    return suite;
}
