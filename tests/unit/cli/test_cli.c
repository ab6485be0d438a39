/*
 * test_cli.c - whole command lines: what they print, and how they exit, against a server that
 * answers by rote.
 */
#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TASK "019a0000-0000-7000-8000-00000000000a"
#define RUN  "019a0000-0000-7000-8000-0000000000a1"
#define SHA  "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* hello */

enum { WORDS_MAX = 48, OUTPUT_BYTES_MAX = 256 * 1024 };

static char last_request[8192];

#define EVENT(seq, type, data)                               \
    "id: " #seq "\nevent: " type "\ndata: {\"type\":\"" type \
    "\",\"time\":\"2026-07-03T12:00:00Z\",\"runid\":\"" RUN "\",\"data\":" data "}\n\n"

static const char story[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" EVENT(
        1, "agent.run.queued", "{}")
        EVENT(2, "agent.patch.created", "{\"attemptNo\":1,\"filesChanged\":1}")
            EVENT(3, "agent.run.completed", "{}");

/* The first line of a request, and what is answered to it. */
static const struct {
    const char *starts, *status, *body;
} answers[] = {
    {"GET /v1/version ", "200 OK", "{\"version\":\"9.9.9\"}"},
    {"POST /v1/tasks ", "202 Accepted",
     "{\"taskId\":\"" TASK "\",\"runId\":\"" RUN "\",\"status\":\"queued\"}"},
    {"GET /v1/tasks?repository=none", "200 OK", "{\"items\":[],\"cursor\":null}"},
    {"GET /v1/tasks?repository=busy", "503 Busy", "{\"code\":\"BUSY\",\"detail\":\"full\"}"},
    {"GET /v1/tasks?repository=broken", "200 OK", "<html>"},
    {"GET /v1/tasks?", "200 OK",
     "{\"items\":[{\"id\":\"" TASK "\",\"status\":\"completed\",\"repository\":\"a/b\","
     "\"executionMode\":\"patch_only\",\"createdAt\":\"2026-07-03T12:00:00Z\","
     "\"description\":\"fix\\nthe \\u001b[31mbug\"}],\"cursor\":null}"},
    {"GET /v1/tasks/" TASK " ", "200 OK",
     "{\"id\":\"" TASK "\",\"status\":\"failed\",\"errorCode\":\"agent_failed\",\"errorMessage\":"
     "\"it gave up\",\"runs\":[{\"id\":\"" RUN "\",\"runNo\":1,\"status\":\"failed\"}]}"},
    {"POST /v1/tasks/" TASK "/cancel ", "409 Conflict",
     "{\"code\":\"TASK_FINISHED\",\"detail\":\"the task has ended\"}"},
    {"GET /v1/runs/" RUN " ", "200 OK",
     "{\"id\":\"" RUN "\",\"taskId\":\"" TASK "\",\"status\":\"completed\",\"pullRequest\":"
     "{\"number\":7,\"url\":\"/srv/x\",\"repository\":\"a/b\"}}"},
    {"GET /v1/runs?", "200 OK", "{\"items\":[],\"cursor\":null}"},
    {"GET /v1/doctor ", "200 OK",
     "{\"healthy\":false,\"checks\":[{\"title\":\"A\",\"lookedAt\":3,\"bad\":0,\"first\":null},"
     "{\"title\":\"B\",\"lookedAt\":4,\"bad\":1,\"first\":\"row 5 is odd\"}]}"},
    {"GET /v1/repositories/a%2Fb ", "200 OK", "{\"name\":\"a/b\",\"config\":{\"url\":\"/srv/x\"}}"},
    {"GET /v1/repositories/a%2Fb?effective=true ", "200 OK",
     "{\"name\":\"a/b\",\"effective\":{\"url\":\"/srv/x\"},\"origins\":{\"url\":\"repository\"}}"},
    {"PUT /v1/repositories/new ", "403 Forbidden",
     "{\"code\":\"policy.denied\",\"detail\":\"not you\"}"},
    {"GET /v1/artifacts/" SHA " ", "200 OK", "hello"},
    {"GET /v1/approvals?status=pending", "200 OK",
     "{\"items\":[{\"id\":\"" TASK "\",\"runId\":\"" RUN "\"}],\"cursor\":null}"},
    {"POST /v1/approvals/" TASK "/approve ", "200 OK", "{\"runId\":\"" RUN "\"}"},
    {"GET /v1/pull-requests?", "200 OK",
     "{\"items\":[{\"id\":\"" TASK "\",\"number\":7},{\"id\":\"" RUN
     "\",\"number\":7}],\"cursor\":null}"},
};

static bool answer(void *ctx, const char *request, int fd)
{
    (void)ctx;
    (void)snprintf(last_request, sizeof last_request, "%s", request);
    if (strstr(request, "\r\nAuthorization: Bearer good\r\n") == NULL) {
        tiny_answer(fd, "401 No", "application/problem+json",
                    "{\"code\":\"UNAUTHORIZED\",\"detail\":\"who are you?\"}");
        return true;
    }
    if (text_starts(request, "GET /v1/runs/" RUN "/stream ")) {
        tiny_send(fd, story);
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        if (!text_starts(request, answers[i].starts))
            continue;
        tiny_answer(fd, answers[i].status, "application/json", answers[i].body);
        return true;
    }
    tiny_answer(fd, "404 Not Found", "application/problem+json",
                "{\"code\":\"NOT_FOUND\",\"detail\":\"nothing here\"}");
    return true;
}

/* ---- running a command line ---- */

static struct tiny_server *server;
static char dir[] = "/tmp/drover-cli-XXXXXX";
static struct buf output; /* Of the last run: both streams. */

static void write_file(const char *name, const char *text)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = arena_printf(&arena, "%s/%s", dir, name);
    ck_assert_int_eq(file_write_durable(path, text, strlen(text), 0600, NULL), RC_OK);
}

static void start(void)
{
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    server = tiny_server_start(answer, NULL);
    (void)unsetenv("DROVER_DATA");
    (void)setenv("DROVER_URL", tiny_server_url(server), 1);
    (void)setenv("DROVER_TOKEN", "good", 1);
    write_file("config.yaml", "forge: local\nagent: {command: [./agent.sh]}\n");
    write_file("bad.yaml", "a: [1\n");
    write_file("good.token", "good\n");
    write_file("bad.token", "bad\n");
    buf_init(&output, OUTPUT_BYTES_MAX);
}

static void finish(void)
{
    tiny_server_stop(server);
    buf_release(&output);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

/* Runs "drover LINE"; its words stand between blanks, '~' in a word is a blank. */
static int run(const char *line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *argv[WORDS_MAX + 1] = {arena_strdup(&arena, "drover")};
    int argc = 1;
    for (const char *at = line; *at != '\0';) {
        size_t len = strcspn(at, " ");
        ck_assert_int_lt(argc, WORDS_MAX);
        argv[argc] = arena_strndup(&arena, at, len);
        for (char *c = argv[argc++]; *c != '\0'; c++)
            *c = *c == '~' ? ' ' : *c;
        at += len + (at[len] == ' ');
    }
    const char *path = arena_printf(&arena, "%s/output", dir);
    (void)fflush(NULL);
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    ck_assert(dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    int status = cli_main(argc, argv);
    (void)fflush(NULL);
    ck_assert(dup2(saved_out, STDOUT_FILENO) >= 0 && dup2(saved_err, STDERR_FILENO) >= 0);
    (void)close(saved_out), (void)close(saved_err), (void)close(fd);
    buf_clear(&output);
    ck_assert_int_eq(file_read(path, &output, NULL), RC_OK);
    return status;
}

/* ---- tests ---- */

static const struct {
    const char *line;
    int status;
    const char *said;
} lines[] = {
    {"", CLI_USAGE, "usage: drover COMMAND"},
    {"help", CLI_DONE, "submit"},
    {"--help", CLI_DONE, "usage: drover COMMAND"},
    {"--server x", CLI_USAGE, "options come after the command"},
    {"sumbit", CLI_USAGE, "Did you mean: drover submit"},
    {"frobnicate", CLI_USAGE, "drover help lists the commands"},
    {"repo", CLI_USAGE, "repo add"},
    {"repo ad", CLI_USAGE, "Did you mean: drover repo add"},
    {"rpo add a/b", CLI_USAGE, "Did you mean: drover repo add"},
    {"rpeo lst", CLI_USAGE, "Did you mean: drover repo list"},
    {"repo ls", CLI_USAGE, "Did you mean: drover repo list"},
    {"repos", CLI_USAGE, "Did you mean: drover repo\n"},
    {"repo frobnicate", CLI_USAGE, "After repo there may be: add, list, show"},
    {"sumbit fix it", CLI_USAGE, "Did you mean: drover submit"},
    {"taks --limit 3", CLI_USAGE, "Did you mean: drover tasks"},
    {"help sumbit", CLI_USAGE, "Did you mean: drover submit"},
    {"help rpo add", CLI_USAGE, "Did you mean: drover repo add"},
    {"frobnicate it", CLI_USAGE, "drover help lists the commands"},
    {"tasks --limt 3", CLI_USAGE, "no option --limt (did you mean --limit?)"},
    {"tasks --lmit=3", CLI_USAGE, "no option --lmit (did you mean --limit?)"},
    {"tasks -limit 3", CLI_USAGE, "no option -limit (did you mean --limit?)"},
    {"tasks --frobnicate", CLI_USAGE, "no option --frobnicate\n"},
    {"repo --help", CLI_DONE, "repo add"},
    {"help repo", CLI_DONE, "repo add"},
    {"help repo add", CLI_DONE, "usage: drover repo add"},
    {"help nothing", CLI_USAGE, "nothing"},
    {"task --help", CLI_DONE, "usage: drover task ID"},
    {"task", CLI_USAGE, "usage: drover task ID"},
    {"task a b", CLI_USAGE, "too much"},
    {"tasks --nope", CLI_USAGE, "--nope"},
    {"tasks --limit 0", CLI_USAGE, "--limit"},
    {"tasks --status odd", CLI_USAGE, "completed"},
    {"tasks --server nowhere", CLI_USAGE, "INVALID_URL"},
    {"tasks --server http://127.0.0.1:1", CLI_UNREACHABLE, "Start it with: drover serve"},
    {"tasks --token-file bad.token", CLI_REFUSED, "who are you? (UNAUTHORIZED)"},
    {"tasks --token-file no.token", CLI_USAGE, "no.token"},
    {"tasks --token-file good.token", CLI_DONE, "completed"},
    {"tasks", CLI_DONE, "fix the  [31mbug"},
    {"tasks --repo none", CLI_DONE, "No tasks"},
    {"tasks --repo busy", CLI_REFUSED, "Try again in a moment"},
    {"tasks --repo broken", CLI_FAILED, "ODD_ANSWER"},
    {"tasks --json", CLI_DONE, "{\"items\":[{\"id\""},
    {"task " TASK, CLI_DONE, "it gave up (agent_failed)"},
    {"task 019a00", CLI_DONE, "Run 1"},
    {"task 019f00", CLI_NOT_FOUND, "See what there is: drover tasks"},
    {"task x", CLI_USAGE, "INVALID_ID"},
    {"cancel " TASK, CLI_REFUSED, "the task has ended (TASK_FINISHED)"},
    {"submit fix", CLI_USAGE, "--repo"},
    {"submit --repo a/b", CLI_USAGE, "say what to do"},
    {"submit --repo a/b --risk odd fix", CLI_USAGE, "low, medium, high"},
    {"submit --repo a/b fix the bug", CLI_DONE, "drover watch " RUN},
    {"submit --repo a/b --json fix", CLI_DONE, "\"taskId\""},
    {"submit --repo a/b --json --watch fix", CLI_USAGE, "--watch"},
    {"submit --repo a/b --watch fix", CLI_DONE, "drover pr merge 7 --repo a/b"},
    {"submit --repo a/b --key a\nb fix", CLI_USAGE, "Idempotency-Key"},
    {"watch " RUN, CLI_DONE, "patch 1: 1 file changed"},
    {"run " RUN, CLI_DONE, "#7"},
    {"run " SHA, CLI_USAGE, "INVALID_ID"},
    {"doctor", CLI_FAILED, "row 5 is odd"},
    {"doctor --json", CLI_FAILED, "\"healthy\":false"},
    {"version", CLI_DONE, "server 9.9.9"},
    {"version --server http://127.0.0.1:1 --json", CLI_DONE, "\"server\":null"},
    {"repo show a/b", CLI_DONE, "/srv/x"},
    {"repo show missing", CLI_NOT_FOUND, "drover repo list"},
    {"repo add a/b --url /srv/x", CLI_REFUSED, "REPO_EXISTS"},
    {"repo add new", CLI_USAGE, "--url"},
    {"repo add new --url /srv/x", CLI_REFUSED, "not you (policy.denied)"},
    {"repo add new --url /x --config none.yaml", CLI_USAGE, "none.yaml"},
    {"repo add new --url /x --config bad.yaml", CLI_USAGE, "bad.yaml"},
    {"artifact " SHA, CLI_DONE, "hello"},
    {"artifact " SHA " --output hello.txt", CLI_DONE, ""},
    {"artifact abc", CLI_USAGE, "64 hexadecimal digits"},
    {"approve " RUN, CLI_DONE, "is approved"},
    {"approve latest", CLI_DONE, "is approved"},
    {"reject 019f00", CLI_NOT_FOUND, "drover approvals"},
    {"pr merge 7", CLI_USAGE, "--repo"},
    {"pr merge 8", CLI_NOT_FOUND, "drover prs"},
    {"pr merge x", CLI_USAGE, "INVALID_ID"},
    {"events --since yesterday", CLI_USAGE, "--since"},
    {"events --run latest --task latest", CLI_USAGE, "--task"},
};

START_TEST(every_line_exits_as_it_should_and_says_why)
{
    start();
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        int status = run(lines[i].line);
        ck_assert_msg(status == lines[i].status, "drover %s: exit %d\n%s", lines[i].line, status,
                      buf_text(&output));
        ck_assert_msg(strstr(buf_text(&output), lines[i].said) != NULL, "drover %s said\n%s",
                      lines[i].line, buf_text(&output));
        ck_assert_ptr_null(strchr(buf_text(&output), '\033')); /* No terminal, no colours. */
    }
    finish();
}
END_TEST

START_TEST(a_submission_carries_what_was_said)
{
    start();
    ck_assert_int_eq(run("submit --repo a/b --issue 5 --mode patch_only --risk high --priority 0 "
                         "--max-turns 9 --max-budget 0.5 --key k1 --target-branch dev --scope s/* "
                         "--scope t --label l fix the~bug"),
                     CLI_DONE);
    static const char *const wanted[] = {
        "POST /v1/tasks HTTP/1.1\r\n",
        "Idempotency-Key: k1\r\n",
        "{\"repository\":\"a/b\",\"description\":\"fix the bug\",\"issueNumber\":5,"
        "\"executionMode\":\"patch_only\",\"riskLevel\":\"high\",\"targetBranch\":\"dev\","
        "\"priority\":0,\"maxTurns\":9,\"maxBudgetUsd\":0.5,\"scope\":[\"s/*\",\"t\"],"
        "\"labels\":[\"l\"],\"channel\":{\"source\":\"cli\"}}",
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        ck_assert_msg(strstr(last_request, wanted[i]) != NULL, "no %s in\n%s", wanted[i],
                      last_request);
    finish();
}
END_TEST

START_TEST(a_configuration_is_sent_as_json_with_the_url_over_it)
{
    start();
    ck_assert_int_eq(run("repo add new --url /srv/new.git --config config.yaml"), CLI_REFUSED);
    ck_assert_ptr_nonnull(strstr(last_request,
                                 "{\"url\":\"/srv/new.git\",\"forge\":\"local\",\"agent\":"
                                 "{\"command\":[\"./agent.sh\"]}}"));
    finish();
}
END_TEST

START_TEST(the_server_and_its_token_are_found_in_the_data_directory)
{
    start();
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1000);
    buf_addf(&text, "{\"url\":\"%s\",\"pid\":1}", tiny_server_url(server));
    write_file("server.json", buf_text(&text));
    write_file("admin.token", "good\n");
    (void)unsetenv("DROVER_URL");
    (void)unsetenv("DROVER_TOKEN");
    (void)setenv("DROVER_DATA", dir, 1);
    ck_assert_int_eq(run("tasks"), CLI_DONE);
    (void)unsetenv("DROVER_DATA");
    (void)setenv("DROVER_URL", "http://127.0.0.1:1", 1); /* The flag weighs more. */
    buf_clear(&text);
    buf_addf(&text, "tasks --data %s", dir);
    ck_assert_int_eq(run(buf_text(&text)), CLI_DONE);
    ck_assert_int_eq(run("tasks"), CLI_UNREACHABLE);
    finish();
}
END_TEST

START_TEST(the_admin_token_is_not_sent_to_other_machines)
{
    start();
    write_file("admin.token", "good\n");
    (void)unsetenv("DROVER_TOKEN");
    (void)setenv("DROVER_DATA", dir, 1);
    ck_assert_int_eq(run("tasks"), CLI_DONE); /* Loopback: sent. */
    /* Another machine, played by ours through a proxy that sees what would be sent. */
    (void)setenv("http_proxy", tiny_server_url(server), 1);
    ck_assert_int_eq(run("tasks --server http://drover.invalid:80"), CLI_REFUSED);
    ck_assert_ptr_null(strstr(last_request, "good"));
    (void)unsetenv("http_proxy");
    finish();
}
END_TEST

START_TEST(an_artifact_that_is_not_what_it_says_is_refused)
{
    start();
    struct stat info;
    ck_assert_int_eq(run("artifact " SHA " --output hello.txt"), CLI_DONE);
    ck_assert_int_eq(stat("hello.txt", &info), 0);
    ck_assert_int_eq(info.st_size, 5);
    static const char *const other =
        "artifact 0000000000000000000000000000000000000000000000000000000000000000 --output o.txt";
    ck_assert_int_eq(run(other), CLI_NOT_FOUND);
    ck_assert_int_ne(stat("o.txt", &info), 0);
    ck_assert_int_ne(stat("o.txt.part", &info), 0);
    finish();
}
END_TEST

START_TEST(every_outcome_has_its_exit_status)
{
    static const int want[RC_COUNT] = {
        [RC_OK] = 0,          [RC_MALFORMED] = 2,   [RC_INVALID] = 4,  [RC_UNAUTHORIZED] = 4,
        [RC_DENIED] = 4,      [RC_NOT_FOUND] = 3,   [RC_CONFLICT] = 4, [RC_STALE] = 4,
        [RC_TOO_LARGE] = 4,   [RC_LIMIT] = 4,       [RC_BUSY] = 4,     [RC_TIMEOUT] = 5,
        [RC_CANCELLED] = 130, [RC_UNREACHABLE] = 5, [RC_IO] = 1,       [RC_CORRUPT] = 1,
    };
    for (int rc = 0; rc < RC_COUNT; rc++)
        ck_assert_int_eq(cli_exit_of((enum rc)rc), want[rc]);
}
END_TEST

START_TEST(typing_errors_lead_to_the_command_that_was_meant)
{
    static const struct {
        const char *first, *second, *want;
    } table[] = {
        {"sumbit", NULL, "submit"},      {"taks", NULL, "tasks"},
        {"cancle", NULL, "cancel"},      {"evnts", NULL, "events"},
        {"docter", NULL, "doctor"},      {"repo", "lst", "repo list"},
        {"rpo", "lst", "repo list"},     {"isue", "clsoe", "issue close"},
        {"sumbit", "fix", "submit"},     {"repos", NULL, "repo"},
        {"schedules", NULL, "schedule"}, {"xyzzy", NULL, NULL},
        {"xyzzy", "add", NULL},          {"q", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char close[CLI_NAME_BYTES];
        bool found = cli_closest(table[i].first, table[i].second, close);
        ck_assert_msg(text_same(found ? close : NULL, table[i].want), "%s %s: %s", table[i].first,
                      table[i].second, close);
    }
}
END_TEST

Suite *cli_suite(void)
{
    Suite *suite = suite_create("cli");
    TCase *tc = tcase_create("cli");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, every_line_exits_as_it_should_and_says_why);
    tcase_add_test(tc, a_submission_carries_what_was_said);
    tcase_add_test(tc, a_configuration_is_sent_as_json_with_the_url_over_it);
    tcase_add_test(tc, the_server_and_its_token_are_found_in_the_data_directory);
    tcase_add_test(tc, the_admin_token_is_not_sent_to_other_machines);
    tcase_add_test(tc, an_artifact_that_is_not_what_it_says_is_refused);
    tcase_add_test(tc, every_outcome_has_its_exit_status);
    tcase_add_test(tc, typing_errors_lead_to_the_command_that_was_meant);
    suite_add_tcase(suite, tc);
    return suite;
}
