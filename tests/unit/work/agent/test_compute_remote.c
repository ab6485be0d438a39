/*
 * test_compute_remote.c - the session of a remote agent, against a far side that answers what the
 * test says: when it is started, when it is asked first, when it is lost, and who stops it.
 */
#include "tests/unit/tiny_server.h"
#include "tests/unit/work_kit.h"
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SESSION "01a1e111-4280-788b-8f9d-658fd086a1f4"
#define PATCH                                                                             \
    "diff --git a/file.txt b/file.txt\\n--- a/file.txt\\n+++ b/file.txt\\n@@ -1 +1 @@\\n" \
    "-one\\n+two\\n"
enum { POLLS_MAX = 8 };

struct reply {
    const char *status; /* NULL: 200 OK */
    const char *body;
};

/* The far side. */
static struct {
    struct reply start;
    struct reply polls[POLLS_MAX]; /* The last one is said again. */
    atomic_int starts, asks, stops;
    bool cancels; /* Asks the step to stop when it is polled, for this reason: */
    enum stop_reason reason;
} far;

static struct kit kit;
static struct tiny_server *server;

static bool respond(void *ctx, const char *request, int fd)
{
    (void)ctx;
    struct reply reply = {NULL, "{}"};
    if (strstr(request, "\"type\":\"task\"") != NULL) {
        far.starts++;
        reply = far.start;
    } else if (strstr(request, "\"type\":\"stop\"") != NULL) {
        far.stops++;
    } else {
        int at = far.asks++;
        while (at > 0 && (at >= POLLS_MAX || far.polls[at].body == NULL))
            at--;
        reply = far.polls[at];
        if (far.cancels)
            stop_ask(&kit.stop, far.reason);
    }
    tiny_answer(fd, reply.status != NULL ? reply.status : "200 OK", "application/json", reply.body);
    return true;
}

static void setup(void)
{
    kit_open(&kit);
    memset(&far, 0, sizeof far);
    far.start = (struct reply){NULL, "{\"status\":\"accepted\"}"};
    server = tiny_server_start(respond, NULL);
}

static void teardown(void)
{
    tiny_server_stop(server);
    kit_close(&kit);
}

/* session: further members of the payload. */
static struct step step_of(const char *session)
{
    const char *head = kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
    struct kit_task task = {
        .agent = arena_printf(&kit.arena,
                              "\"compute\":\"remote\",\"remote\":{\"url\":\"%s/invoke\","
                              "\"pollMs\":5,\"lostPolls\":3}",
                              tiny_server_url(server)),
        .payload = arena_printf(&kit.arena,
                                "\"baseCommit\":\"%s\",\"promptSha256\":\"%s\","
                                "\"sessionId\":\"" SESSION "\"%s",
                                head, kit_put(&kit, "Do it well."), session),
    };
    return kit_step(&kit, &task);
}

static const char *text_of(const struct js *result, const char *path)
{
    return arena_strdup(&kit.arena, js_str(js_path(result, path), ""));
}

static const struct js *run(struct step *step)
{
    struct err err = {0};
    ck_assert_msg(step_agent(step, &err) == RC_OK, "%s %s", err.text,
                  step->failure.code != NULL ? step->failure.code : "");
    return kit_result(&kit);
}

START_TEST(it_is_started_followed_and_its_patch_is_kept)
{
    far.polls[0] = (struct reply){NULL, "{\"status\":\"running\",\"turns\":2}"};
    far.polls[1] = (struct reply){
        NULL, "{\"status\":\"completed\",\"summary\":\"did it\",\"costUsd\":0.5,\"turns\":1,"
              "\"patch\":\"" PATCH "\"}"};
    struct step step = step_of("");
    const struct js *result = run(&step);
    ck_assert_str_eq(text_of(result, "outcome"), "ended");
    ck_assert_str_eq(text_of(result, "report"), "success");
    ck_assert_str_eq(text_of(result, "summary"), "did it");
    ck_assert_str_eq(text_of(result, "sandbox"), "remote");
    ck_assert_int_eq(js_get_int(result, "turns", 0), 2); /* Sums do not shrink. */
    ck_assert_ptr_nonnull(strstr(kit_artifact(&kit, text_of(result, "patchSha256")), "+two"));
    ck_assert(kit_saw_event(&kit, "agent.session.started"));
    ck_assert_int_eq(far.starts, 1);
    ck_assert_int_eq(far.stops, 0);
}
END_TEST

/* A session is polled for hours: what it tells must not stay in the step's memory. */
START_TEST(what_it_tells_is_heard_and_not_kept)
{
    enum { EVENTS = 100, TEXT = 2000, LONG = 300 * 1024, RUNNING = POLLS_MAX - 1 };
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1024 * 1024);
    buf_addf(&body, "{\"status\":\"running\",\"events\":[{\"type\":\"message\",\"text\":\"%0*d\"}",
             LONG, 7);
    for (int i = 1; i < EVENTS; i++)
        buf_addf(&body, ",{\"type\":\"message\",\"text\":\"heard %0*d\"}", TEXT, 8);
    buf_adds(&body, "]}");
    ck_assert(!body.overflow);
    for (int i = 0; i < RUNNING; i++)
        far.polls[i] = (struct reply){NULL, buf_text(&body)};
    far.polls[RUNNING] = (struct reply){NULL, "{\"status\":\"completed\"}"};
    struct step step = step_of("");
    size_t before = kit.arena.used_bytes;
    const struct js *result = run(&step);
    ck_assert_uint_lt(kit.arena.used_bytes - before, EVENTS * TEXT);
    ck_assert_int_eq(js_get_int(result, "linesSkipped", -1), 0);
    ck_assert(kit_saw_event(&kit, "heard 0"));
    ck_assert(kit_saw_event(&kit, "\"00000000")); /* Of a long text, the beginning. */
}
END_TEST

/* Put together here, so that nobody takes this file for a leak. */
#define FAKE_TOKEN \
    "ghp"          \
    "_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"

/* A script that makes a patch with a secret in it, as the far side would. */
static const char *const leaks[] = {
    "echo " FAKE_TOKEN " >file.txt; git diff",
    "printf '\\001\\000" FAKE_TOKEN "\\000' >a.bin; git add a.bin; git diff --cached --binary",
    "echo two >file.txt; echo 'Subject: with " FAKE_TOKEN "'; git diff",
};

START_TEST(a_patch_with_a_secret_is_not_stored)
{
    const char *patch = kit_sh(&kit, "git clone -q origin.git far && cd far && { %s; }", leaks[_i]);
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 64 * 1024);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "status", "completed");
    jw_kstr(&jw, "patch", arena_printf(&kit.arena, "%s\n\n", patch));
    jw_end(&jw, '}');
    far.polls[0] = (struct reply){NULL, arena_strdup(&kit.arena, buf_text(&body))};
    struct step step = step_of("");
    const struct js *result = run(&step);
    ck_assert_uint_eq(js_count(js_get(result, "secrets")), 1);
    ck_assert_ptr_null(js_get(result, "patchSha256"));
    for (size_t i = 0; i < kit.port.artifact_count; i++) {
        const char *stored = buf_text(&kit.port.artifacts[i].bytes);
        ck_assert_ptr_null(strstr(stored, FAKE_TOKEN));
        ck_assert_ptr_null(strstr(stored, "literal "));
    }
    kit_sh(&kit, "test -s data/work/held/%s-1.diff", kit.run_id.text);
}
END_TEST

/* Who had the job before, what the first poll says, and what is done then. */
static const struct {
    const char *session;
    int64_t epoch;
    struct reply poll;
    int starts;
    const char *report, *event;
} takeovers[] = {
    {"", 1, {NULL, "{\"status\":\"completed\"}"}, 1, "success", "agent.session.started"},
    {"", 2, {NULL, "{\"status\":\"completed\"}"}, 0, "success", "agent.session.started"},
    {",\"sessionResumed\":true", 1, {NULL, "{\"status\":\"failed\"}"}, 0, "error", NULL},
    {",\"sessionResumed\":true,\"sessionBegunAt\":\"2026-01-01T00:00:00Z\"",
     1,
     {"404 Not Found", "{}"},
     0,
     "unknown",
     "not_found"},
    {",\"sessionResumed\":true,\"sessionBegunAt\":\"2026-01-01T00:00:00Z\"",
     1,
     {"410 Gone", "{}"},
     0,
     "unknown",
     "not_found"},
    {",\"sessionResumed\":true,\"sessionBegunAt\":\"2026-01-01T00:00:00Z\"",
     1,
     {"500 Oh", "{}"},
     0,
     "unknown",
     "no_answer"},
    {",\"sessionResumed\":true",
     1,
     {NULL, "{\"status\":\"accepted\"}"},
     0,
     "unknown",
     "began_anew"},
};

START_TEST(it_is_never_started_twice)
{
    far.polls[0] = takeovers[_i].poll;
    struct step step = step_of(takeovers[_i].session);
    step.input.config.timeouts.agent_ms = INT64_C(1) << 45; /* It began long ago. */
    step.lease.epoch = takeovers[_i].epoch;
    const struct js *result = run(&step);
    ck_assert_int_eq(far.starts, takeovers[_i].starts);
    ck_assert_str_eq(text_of(result, "report"), takeovers[_i].report);
    if (takeovers[_i].event != NULL)
        ck_assert(kit_saw_event(&kit, takeovers[_i].event));
}
END_TEST

START_TEST(one_that_never_began_is_started_after_it_was_asked_for)
{
    far.polls[0] = (struct reply){"404 Not Found", "{}"};
    far.polls[1] = (struct reply){NULL, "{\"status\":\"completed\"}"};
    struct step step = step_of(",\"sessionResumed\":true");
    run(&step);
    ck_assert_int_eq(far.starts, 1);
    ck_assert_int_eq(far.asks, 2);
}
END_TEST

static const struct {
    struct reply start;
    bool retryable;
} refusals[] = {
    {{"429 Too Many Requests", "{}"}, true},
    {{"500 Oh", "{}"}, true},
    {{"503 Busy", "{}"}, true},
    {{"400 Bad Request", "{}"}, false},
    {{"401 Unauthorized", "{}"}, false},
    {{"422 No", "{}"}, false},
    {{NULL, "hello"}, false},
    {{NULL, "{\"status\":\"maybe\"}"}, false},
};

START_TEST(a_refused_start_is_told)
{
    far.start = refusals[_i].start;
    struct step step = step_of("");
    struct err err = {0};
    ck_assert_int_ne(step_agent(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "session_start_failed");
    ck_assert_int_eq(step.failure.retryable, refusals[_i].retryable);
}
END_TEST

START_TEST(an_unsure_start_waits_for_an_answer)
{
    far.polls[0] = (struct reply){"503 Busy", "{}"};
    struct step step = step_of(",\"sessionResumed\":true");
    struct err err = {0};
    ck_assert_int_ne(step_agent(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "session_start_failed");
    ck_assert(step.failure.retryable);
    ck_assert_int_eq(far.starts, 0);
}
END_TEST

/* Only who may end the session ends it. */
static const struct {
    enum stop_reason reason;
    int stops;
} wishes[] = {{STOP_CANCEL, 1}, {STOP_TIMEOUT, 1}, {STOP_LOST, 0}, {STOP_SHUTDOWN, 0}};

START_TEST(a_session_is_stopped_or_left_alone)
{
    far.polls[0] = (struct reply){NULL, "{\"status\":\"running\"}"};
    far.cancels = true;
    far.reason = wishes[_i].reason;
    struct step step = step_of("");
    struct err err = {0};
    ck_assert_int_eq(step_agent(&step, &err), RC_CANCELLED);
    ck_assert_int_eq(far.stops, wishes[_i].stops);
}
END_TEST

START_TEST(a_credential_comes_from_the_environment)
{
    struct step step = step_of("");
    struct err err = {0};
    step.input.config.agent.remote.credential = "NOBODY_SET_THIS";
    ck_assert_int_ne(step_agent(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "credential_missing");
    ck_assert_int_eq(far.starts, 0);
}
END_TEST

START_TEST(cleaning_stops_what_may_still_live)
{
    struct err err = {0};
    struct step step = step_of("");
    ck_assert_int_eq(step_clean(&step, &err), RC_OK);
    ck_assert_int_eq(far.stops, 1);
    buf_clear(step.result);
    step = step_of(",\"sessionOver\":true");
    ck_assert_int_eq(step_clean(&step, &err), RC_OK);
    ck_assert_int_eq(far.stops, 1);
}
END_TEST

Suite *compute_remote_suite(void)
{
    Suite *suite = suite_create("compute_remote");
    TCase *tests = tcase_create("compute_remote");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, it_is_started_followed_and_its_patch_is_kept);
    tcase_add_test(tests, what_it_tells_is_heard_and_not_kept);
    tcase_add_loop_test(tests, a_patch_with_a_secret_is_not_stored, 0, (int)COUNT_OF(leaks));
    tcase_add_loop_test(tests, it_is_never_started_twice, 0, (int)COUNT_OF(takeovers));
    tcase_add_test(tests, one_that_never_began_is_started_after_it_was_asked_for);
    tcase_add_loop_test(tests, a_refused_start_is_told, 0, (int)COUNT_OF(refusals));
    tcase_add_test(tests, an_unsure_start_waits_for_an_answer);
    tcase_add_loop_test(tests, a_session_is_stopped_or_left_alone, 0, (int)COUNT_OF(wishes));
    tcase_add_test(tests, a_credential_comes_from_the_environment);
    tcase_add_test(tests, cleaning_stops_what_may_still_live);
    suite_add_tcase(suite, tests);
    return suite;
}
