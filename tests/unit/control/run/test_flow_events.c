/*
 * test_flow_events.c - the events of a run: which there are, and what each of them carries.
 */
#include "base/js.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "core/event_types.h"
#include "core/traceparent.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct lab lab;
static struct event *events;
static size_t count;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", "\"retries\":{\"prRetries\":0}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static void read_log(const struct id *run_id)
{
    const struct event_filter filter = {.run_id = *run_id, .with_task = true, .limit = 1000};
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
}

static const struct event *find(const char *type)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(events[i].type, type) == 0)
            return &events[i];
    ck_abort_msg("no %s", type);
    return NULL;
}

/* Of the data, as text. */
static const char *member(const char *type, const char *key)
{
    CLEANUP(js_freep) struct js *data = NULL;
    const struct event *event = find(type);
    ck_assert_int_eq(js_parse(event->data.at, event->data.len, &data, NULL), RC_OK);
    const struct js *value = js_get(data, key);
    return value == NULL ? NULL
           : js_type(value) == JS_INT
               ? arena_printf(&lab.arena, "%lld", (long long)js_int(value, 0))
               : arena_strdup(&lab.arena, js_str(value, "?"));
}

static const struct {
    const char *step, *result;
} way[] = {{"prepare", RESULT_PREPARE}, {"hydrate", RESULT_HYDRATE}, {"agent", RESULT_AGENT},
           {"verify", RESULT_VERIFIED}, {"judge", RESULT_JUDGED},    {"publish", RESULT_PUBLISHED}};

static void walk_to(const char *step)
{
    for (size_t i = 0; i < COUNT_OF(way) && strcmp(way[i].step, step) != 0; i++)
        lab_step(&lab, way[i].step, way[i].result);
}

static struct id submit_traced(const char *traceparent)
{
    struct cmd_submit *submit = cmd_submit_new();
    submit->task.repository = "acme/billing";
    submit->task.description = "Fix the clock";
    submit->base.actor = (struct actor){"user", "ada"};
    submit->base.traceparent = traceparent;
    ck_assert_msg(lab_call(&lab, &submit->base) == RC_OK, "%s", submit->base.err.text);
    struct id run_id = submit->answer.run_id;
    command_free(&submit->base);
    return run_id;
}

/* ---- the envelope ---- */

START_TEST(every_event_of_a_run_has_its_correlation_trace_and_attempt)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("");
    read_log(&run_id);
    struct id task_id = lab_run(&lab, &run_id).task_id;
    ck_assert_uint_gt(count, 30);
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i];
        char trace[TRACEPARENT_BYTES];
        bool of_run = !id_is_none(&event->run_id);
        traceparent_of_ids(&task_id, of_run ? &run_id : &task_id, trace);
        ck_assert_msg(id_same(&event->correlation_id, &task_id), "%s", event->type);
        ck_assert_msg(strcmp(event->traceparent, trace) == 0, "%s", event->type);
        ck_assert_msg(i == 0 || !id_is_none(&event->causation_id), "%s", event->type);
        bool before_work = event->seq <= find(EV_RUN_ACQUIRED)->seq;
        ck_assert_msg(id_is_none(&event->attempt_id) == before_work, "%s", event->type);
    }
    struct id cause = find(EV_TASK_ACCEPTED)->id;
    ck_assert(id_same(&find(EV_RUN_QUEUED)->causation_id, &cause));
}
END_TEST

START_TEST(every_event_of_a_task_has_its_tags)
{
    struct cmd_submit *submit = cmd_submit_new();
    submit->task.repository = "acme/billing";
    submit->task.description = "Fix the clock";
    submit->task.labels = STR("[\"urgent\",\"ui\"]");
    submit->base.actor = (struct actor){"user", "ada"};
    ck_assert_msg(lab_call(&lab, &submit->base) == RC_OK, "%s", submit->base.err.text);
    struct id run_id = submit->answer.run_id;
    command_free(&submit->base);
    walk_to("");
    read_log(&run_id);
    ck_assert_uint_gt(count, 30);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(text_same(events[i].tags, "repository:acme/billing,urgent,ui"), "%s: %s",
                      events[i].type, events[i].tags);
}
END_TEST

START_TEST(an_attempt_is_named_by_its_job_and_claim)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    struct job_row first = lab_take(&lab, "agent");
    struct id attempt = job_attempt_id(&first.id, first.life.epoch);
    lab_progress(&lab, &first, "[{\"type\":\"agent.step.recorded\",\"data\":{\"text\":\"on\"}}]");
    (void)lab_fail(&lab, &first, "agent_crashed", true);
    read_log(&run_id);
    ck_assert(id_same(&find(EV_AGENT_MESSAGE)->attempt_id, &attempt));
    ck_assert(id_same(&find(EV_STEP_FAILED)->attempt_id, &attempt));
    ck_assert(!id_same(&attempt, &first.id));
}
END_TEST

START_TEST(a_trace_that_a_client_gives_stays_with_the_task)
{
    struct id run_id = submit_traced(TRACE);
    walk_to("publish");
    struct job_row publish = lab_take(&lab, "publish");
    ck_assert_ptr_nonnull(strstr(publish.payload.at, "\"traceparent\":\"" TRACE "\""));
    (void)lab_fail(&lab, &publish, "publish_failed", false);
    read_log(&run_id);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(strcmp(events[i].traceparent, TRACE) == 0, "%s", events[i].type);
    struct cmd_retry *retry = cmd_retry_new();
    retry->task_id = lab_run(&lab, &run_id).task_id;
    retry->base.actor = (struct actor){"user", "ada"};
    ck_assert_msg(lab_call(&lab, &retry->base) == RC_OK, "%s", retry->base.err.text);
    struct id next = retry->run_id;
    command_free(&retry->base);
    read_log(&next);
    ck_assert_str_eq(find(EV_RUN_QUEUED)->traceparent, TRACE);
    ck_assert_int_eq(lab_count_events(&lab, &next, EV_TASK_QUEUED), 2);
}
END_TEST

/* ---- the data ---- */

START_TEST(a_run_says_who_works_on_it_and_with_what)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    read_log(&run_id);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_str_eq(member(EV_TASK_VALIDATED, "maxTurns"), "100");
    ck_assert_str_eq(member(EV_TASK_QUEUED, "runId"), run_id.text);
    ck_assert_str_eq(member(EV_RUN_ACQUIRED, "runId"), run_id.text);
    ck_assert_str_eq(member(EV_RUN_ACQUIRED, "taskId"), run.task_id.text);
    ck_assert_ptr_nonnull(member(EV_RUN_ACQUIRED, "jobId"));
    ck_assert_ptr_nonnull(member(EV_RUN_ACQUIRED, "waitedMs"));
    ck_assert_str_eq(member(EV_RUN_STARTED, "agentVersion"), DROVER_VERSION);
    ck_assert_str_eq(member(EV_RUN_STARTED, "modelProfile"), run.wanted_agent);
    ck_assert_str_eq(member(EV_RUN_STARTED, "baseCommitSha"), run.base_commit);
    ck_assert_str_eq(member(EV_RUN_STARTED, "workerId"), "node-1/0");
    /* Admission is no worker's; the last change is. */
    ck_assert_ptr_null(member(EV_RUN_STATUS_CHANGED, "workerId"));
    const struct event *last = &events[count - 1];
    ck_assert_str_eq(last->type, EV_RUN_STATUS_CHANGED);
    ck_assert_ptr_nonnull(strstr(last->data.at, "\"workerId\":\"node-1/0\""));
}
END_TEST

START_TEST(calls_of_tools_have_what_their_names_say)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("agent");
    struct job_row job = lab_take(&lab, "agent");
    lab_progress(&lab, &job,
                 "[{\"type\":\"agent.tool.call.requested\",\"data\":{\"name\":\"mcp__hub__find\"}},"
                 "{\"type\":\"agent.tool.call.allowed\",\"data\":{}},"
                 "{\"type\":\"agent.tool.call.started\",\"data\":{\"name\":\"Read\","
                 "\"riskLevel\":\"high\",\"summary\":\"a.c\"}}]");
    read_log(&run_id);
    ck_assert_str_eq(member(EV_TOOL_CALL_REQUESTED, "toolNamespace"), "mcp.hub");
    ck_assert_str_eq(member(EV_TOOL_CALL_REQUESTED, "toolName"), "find");
    ck_assert_str_eq(member(EV_TOOL_CALL_REQUESTED, "name"), "mcp__hub__find");
    ck_assert_str_eq(member(EV_TOOL_CALL_ALLOWED, "runId"), run_id.text);
    ck_assert_str_eq(member(EV_TOOL_CALL_STARTED, "toolNamespace"), "core");
    ck_assert_str_eq(member(EV_TOOL_CALL_STARTED, "riskLevel"), "high");
    ck_assert_str_eq(member(EV_TOOL_CALL_STARTED, "summary"), "a.c");
}
END_TEST

START_TEST(a_second_patch_updates_that_of_the_run_and_the_last_is_published)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("verify");
    struct id first = lab_run(&lab, &run_id).patch_id;
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PATCH_UPDATED), 0);
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    read_log(&run_id);
    struct run_row run = lab_run(&lab, &run_id);
    ck_assert_str_eq(member(EV_PATCH_UPDATED, "patchId"), run.patch_id.text);
    ck_assert_str_eq(member(EV_PATCH_UPDATED, "previousPatchId"), first.text);
    ck_assert_str_eq(member(EV_PATCH_UPDATED, "attemptNo"), "2");
    ck_assert_str_eq(member(EV_PATCH_PUBLISHED, "patchId"), run.patch_id.text);
    ck_assert_str_eq(member(EV_PATCH_PUBLISHED, "pullRequestId"), run.pull_request_id.text);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PATCH_PUBLISHED), 1);
}
END_TEST

/* reported: the worker has told how far it came. */
static void fail_publish(bool reported)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    walk_to("publish");
    struct job_row job = lab_take(&lab, "publish");
    if (reported)
        lab_progress(&lab, &job,
                     "[{\"type\":\"agent.pr.creation.failed\",\"data\":{\"branch\":\"b\","
                     "\"parts\":[{\"part\":\"branch\",\"outcome\":\"failed\"}]}}]");
    (void)lab_fail(&lab, &job, "publish_failed", false);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_FAILED);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PR_CREATION_FAILED), 1);
    read_log(&run_id);
    const char *code = member(EV_PR_CREATION_FAILED, "errorCode");
    ck_assert_pstr_eq(code, reported ? NULL : "publish_failed");
    ck_assert_int_lt(find(EV_PR_CREATION_FAILED)->seq, find(EV_RUN_FAILED)->seq);
}

START_TEST(a_publish_that_failed_says_so_once)
{
    fail_publish(_i != 0);
}
END_TEST

Suite *flow_events_suite(void)
{
    Suite *suite = suite_create("flow_events");
    TCase *tc = tcase_create("flow_events");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, every_event_of_a_run_has_its_correlation_trace_and_attempt);
    tcase_add_test(tc, every_event_of_a_task_has_its_tags);
    tcase_add_test(tc, an_attempt_is_named_by_its_job_and_claim);
    tcase_add_test(tc, a_trace_that_a_client_gives_stays_with_the_task);
    tcase_add_test(tc, a_run_says_who_works_on_it_and_with_what);
    tcase_add_test(tc, calls_of_tools_have_what_their_names_say);
    tcase_add_test(tc, a_second_patch_updates_that_of_the_run_and_the_last_is_published);
    tcase_add_loop_test(tc, a_publish_that_failed_says_so_once, 0, 2);
    suite_add_tcase(suite, tc);
    return suite;
}
