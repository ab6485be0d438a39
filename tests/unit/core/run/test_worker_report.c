/*
 * test_worker_report.c - shapes of results and of progress events: a good one of each, and each
 * with one member that is wrong.
 */
#include "base/arena.h"
#include "base/merge_patch.h"
#include "base/str.h"
#include "core/event_types.h"
#include "core/run/worker_report.h"
#include "tests/unit/suites.h"
#include <string.h>

#define SHA    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""
#define COMMIT "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\""
#define CHECK  "\"name\":\"unit\",\"status\":\"passed\""
#define JUDGE  "\"name\":\"rules\",\"kind\":\"rules\",\"verdict\":\"pass\""

static const struct {
    const char *what, *good;
} goods[] = {
    {"prepare", "{\"baseCommit\":" COMMIT ",\"keptTree\":null}"},
    {"hydrate", "{\"promptSha256\":" SHA ",\"sources\":[],\"tokenEstimate\":1}"},
    {"plan", "{\"planSha256\":\"\",\"outcome\":\"quota\",\"report\":\"unknown\"}"},
    {"agent", "{\"outcome\":\"ended\",\"report\":\"success\",\"exitCode\":-1,\"costUsd\":0,"
              "\"patch\":{\"sha256\":" SHA ",\"files\":1,\"treeHash\":" COMMIT "}}"},
    {"collect", "{\"outcome\":\"ended\",\"report\":\"success\",\"pullRequest\":{\"number\":1,"
                "\"headCommit\":" COMMIT ",\"branch\":\"b\"}}"},
    {"pull", "{\"status\":\"success\"}"},
    {"verify", "{\"verdict\":\"verified\",\"certificateSha256\":" SHA ",\"checks\":[{" CHECK "}]}"},
    {"judge", "{\"verdict\":\"pass\",\"judges\":[{" JUDGE ",\"score\":0.5}]}"},
    {"custom", "{\"status\":\"success\",\"metadata\":{\"n\":1}}"},
    {"publish", "{\"number\":1,\"headCommit\":" COMMIT ",\"branch\":\"b\",\"draft\":true}"},
    {"unpublish", "{\"outcome\":\"deleted\"}"},
    {"clean", "{}"},
    {EV_AGENT_MESSAGE, "{\"text\":\"on\\n\"}"},
    {EV_TOOL_CALL_STARTED, "{\"name\":\"edit\",\"status\":\"started\"}"},
    {EV_MODEL_TURN_COMPLETED, "{\"turns\":1,\"costUsd\":0.5}"},
    {EV_VERIFICATION_STARTED, "{\"name\":\"unit\"}"},
    {EV_JUDGE_STARTED, "{\"name\":\"rules\",\"judgeType\":\"rules\"}"},
    {EV_PR_CREATION_REQUESTED, "{\"branch\":\"drover/x\"}"},
    {EV_PR_CREATION_FAILED, "{\"branch\":\"drover/x\",\"parts\":[{\"part\":\"branch\","
                            "\"outcome\":\"failed\",\"detail\":\"no\"}]}"},
    {EV_COST_RECORDED, "{\"costUsd\":1}"},
    {EV_PLAN_CREATED, "{\"text\":\"first\"}"},
    {EV_SESSION_STARTED, "{\"sessionId\":\"s\"}"},
    {EV_SNAPSHOT_TAKEN, "{\"ref\":\"refs/drover/snapshots/r/1-1\",\"commit\":" COMMIT
                        ",\"reason\":\"interval\",\"worker\":\"w\",\"mirror\":\"/m\"}"},
    {EV_SNAPSHOT_PUBLISHED, "{\"ref\":\"refs/a\",\"originRef\":\"refs/a\",\"commit\":" COMMIT "}"},
    {EV_SNAPSHOT_FAILED, "{\"keptAt\":\"/k\",\"worker\":\"w\"}"},
};

/* A JSON merge patch of the good one, and the member that is refused. */
static const struct {
    const char *what, *change, *field;
} bads[] = {
    {"prepare", "{\"baseCommit\":null}", "baseCommit"},
    {"prepare", "{\"baseCommit\":\"HEAD\"}", "baseCommit"},
    {"prepare", "{\"keptTree\":\"relative\"}", "keptTree"},
    {"hydrate", "{\"promptSha256\":\"aa\"}", "promptSha256"},
    {"hydrate", "{\"tokenEstimate\":-1}", "tokenEstimate"},
    {"hydrate", "{\"sources\":{}}", "sources"},
    {"hydrate", "{\"artifacts\":[7]}", "artifacts"},
    {"hydrate", "{\"artifacts\":[{\"kind\":\"program\",\"name\":\"n\",\"sha256\":" SHA "}]}",
     "artifacts[0].kind"},
    {"hydrate", "{\"artifacts\":[{\"kind\":\"prompt\",\"sha256\":" SHA "}]}", "artifacts[0].name"},
    {"plan", "{\"planSha256\":null}", "planSha256"},
    {"plan", "{\"outcome\":\"well\"}", "outcome"},
    {"agent", "{\"outcome\":null}", "outcome"},
    {"agent", "{\"report\":\"fine\"}", "report"},
    {"agent", "{\"costUsd\":-0.1}", "costUsd"},
    {"agent", "{\"costUsd\":\"1\"}", "costUsd"},
    {"agent", "{\"turns\":1.5}", "turns"},
    {"agent", "{\"patch\":[]}", "patch"},
    {"agent", "{\"patch\":{\"sha256\":null}}", "patch.sha256"},
    {"agent", "{\"patch\":{\"treeHash\":\"cc\"}}", "patch.treeHash"},
    {"agent", "{\"patch\":{\"files\":-1}}", "patch.files"},
    {"agent", "{\"secrets\":[{}]}", "secrets[0].rule"},
    {"collect", "{\"pullRequest\":{\"headCommit\":\"222\"}}", "pullRequest.headCommit"},
    {"collect", "{\"pullRequest\":{\"number\":\"1\"}}", "pullRequest.number"},
    {"pull", "{\"status\":null}", "status"},
    {"verify", "{\"verdict\":\"passed\"}", "verdict"},
    {"verify", "{\"checks\":null}", "checks"},
    {"verify", "{\"checks\":[{" CHECK ",\"exitCode\":\"0\"}]}", "checks[0].exitCode"},
    {"verify", "{\"checks\":[{" CHECK "},{\"name\":\"x\",\"status\":\"ok\"}]}", "checks[1].status"},
    {"verify", "{\"certificateSha256\":null}", "certificateSha256"},
    {"verify", "{\"feedbackSha256\":\"no\"}", "feedbackSha256"},
    {"judge", "{\"verdict\":\"good\"}", "verdict"},
    {"judge", "{\"judges\":null}", "judges"},
    {"judge", "{\"judges\":[{" JUDGE ",\"score\":1.5}]}", "judges[0].score"},
    {"judge", "{\"judges\":[{" JUDGE ",\"findings\":[{\"rule\":1}]}]}",
     "judges[0].findings[0].rule"},
    {"judge", "{\"judges\":[{" JUDGE ",\"usage\":{\"costUsd\":-1}}]}", "judges[0].usage.costUsd"},
    {"custom", "{\"status\":\"maybe\"}", "status"},
    {"custom", "{\"metadata\":[1]}", "metadata"},
    {"publish", "{\"number\":null}", "number"},
    {"publish", "{\"headCommit\":\"2222\"}", "headCommit"},
    {"publish", "{\"branch\":null}", "branch"},
    {"publish", "{\"url\":\"a\\nb\"}", "url"},
    {"unpublish", "{\"outcome\":7}", "outcome"},
    {"clean", "{\"keptTree\":7}", "keptTree"},
    {EV_AGENT_MESSAGE, "{\"text\":7}", "text"},
    {EV_TOOL_CALL_STARTED, "{\"status\":\"begun\"}", "status"},
    {EV_MODEL_TURN_COMPLETED, "{\"turns\":-1}", "turns"},
    {EV_VERIFICATION_STARTED, "{\"name\":7}", "name"},
    {EV_JUDGE_STARTED, "{\"judgeType\":\"friend\"}", "judgeType"},
    {EV_PR_CREATION_REQUESTED, "{\"branch\":\"a\\u0007\"}", "branch"},
    {EV_PR_CREATION_FAILED, "{\"parts\":7}", "parts"},
    {EV_PR_CREATION_FAILED, "{\"branch\":\"a\",\"parts\":[{\"part\":\"x\",\"outcome\":\"done\"}]}",
     "parts[0].part"},
    {EV_COST_RECORDED, "{\"costUsd\":1e9}", "costUsd"},
    {EV_PLAN_CREATED, "{\"text\":[]}", "text"},
    {EV_SESSION_STARTED, "{\"sessionId\":7}", "sessionId"},
    {EV_SNAPSHOT_TAKEN, "{\"ref\":\"x; rm -rf ~\"}", "ref"},
    {EV_SNAPSHOT_TAKEN, "{\"ref\":\"refs/../x\"}", "ref"},
    {EV_SNAPSHOT_TAKEN, "{\"ref\":\"refs/a/-x\"}", "ref"},
    {EV_SNAPSHOT_TAKEN, "{\"mirror\":\"-x\"}", "mirror"},
    {EV_SNAPSHOT_TAKEN, "{\"reason\":\"because\"}", "reason"},
    {EV_SNAPSHOT_PUBLISHED, "{\"originRef\":\"$(id)\"}", "originRef"},
    {EV_SNAPSHOT_FAILED, "{\"worker\":null}", "worker"},
};

static enum rc check(const char *what, const struct js *report, struct err *err)
{
    return report_event_type(what) != NULL ? report_check_event(what, report, err)
                                           : report_check_result(what, report, err);
}

static struct js *parse(const char *text)
{
    struct js *tree = NULL;
    ck_assert_msg(js_parse(text, strlen(text), &tree, NULL) == RC_OK, "%s", text);
    return tree;
}

START_TEST(a_good_report_has_its_shape)
{
    CLEANUP(js_freep) struct js *tree = parse(goods[_i].good);
    struct err err = {0};
    ck_assert_msg(check(goods[_i].what, tree, &err) == RC_OK, "%s: %s", goods[_i].what, err.text);
}
END_TEST

START_TEST(a_report_with_one_bad_member_is_refused_for_it)
{
    size_t i = 0;
    while (strcmp(goods[i].what, bads[_i].what) != 0)
        ck_assert_uint_lt(++i, COUNT_OF(goods));
    CLEANUP(js_freep) struct js *change = parse(bads[_i].change);
    CLEANUP(arena_release) struct arena arena = {0};
    struct str text;
    struct err err = {0};
    ck_assert_int_eq(merge_patch(str_of(goods[i].good), change, &arena, &text, &err), RC_OK);
    CLEANUP(js_freep) struct js *bad = parse(str_dup(&arena, text));
    ck_assert_int_eq(check(bads[_i].what, bad, &err), RC_INVALID);
    ck_assert_str_eq(err.field, bads[_i].field);
    ck_assert_ptr_nonnull(strstr(err.text, bads[_i].field));
}
END_TEST

START_TEST(only_some_events_are_a_workers_to_tell)
{
    ck_assert_ptr_null(report_event_type(EV_PR_CREATED));
    ck_assert_ptr_null(report_event_type(EV_RUN_COMPLETED));
    ck_assert_ptr_null(report_event_type(EV_RESULT_REFUSED));
    ck_assert_ptr_null(report_event_type(""));
    ck_assert(!report_knows_step("anything"));
}
END_TEST

Suite *worker_report_suite(void)
{
    Suite *suite = suite_create("worker_report");
    TCase *tests = tcase_create("worker_report");
    tcase_add_loop_test(tests, a_good_report_has_its_shape, 0, (int)COUNT_OF(goods));
    tcase_add_loop_test(tests, a_report_with_one_bad_member_is_refused_for_it, 0,
                        (int)COUNT_OF(bads));
    tcase_add_test(tests, only_some_events_are_a_workers_to_tell);
    suite_add_tcase(suite, tests);
    return suite;
}
