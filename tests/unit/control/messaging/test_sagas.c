/*
 * test_sagas.c - sagas through the production committer on a real store: what is made when, what is
 * undone, and what a publish leaves behind.
 */
#include "control/messaging/sagas.h"
#include "control/queue/dead_letters.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include "store/sagas.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

#define STEP(name) \
    "{\"name\":\"" name "\",\"queue\":\"do." name "\",\"type\":\"go\",\"maxAttempts\":1"
#define UNDO(name) ",\"compensation\":{\"queue\":\"undo." name "\",\"type\":\"back\"}}"

/* Budget and order can be undone, tracking cannot. */
static const char purchase[] = "[" STEP("budget") UNDO("budget") "," STEP("order")
    UNDO("order") "," STEP("track") "}," STEP("deliver") UNDO("deliver") "]";

static struct id start(const char *steps, const char *dedup_key)
{
    struct cmd_saga_start *cmd = cmd_saga_start_new();
    cmd->name = "purchase";
    cmd->dedup_key = dedup_key;
    cmd->steps = str_of(steps);
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id id = cmd->saga_id;
    command_free(&cmd->base);
    return id;
}

static enum rc cancel(const struct id *id, enum saga_status *ret_status)
{
    struct cmd_saga_cancel *cmd = cmd_saga_cancel_new();
    cmd->saga_id = *id;
    cmd->reason = "enough";
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    *ret_status = cmd->status;
    command_free(&cmd->base);
    return rc;
}

static struct job_row take(const char *queue)
{
    struct job_row *jobs;
    size_t count = lab_lease(&lab, queue, "w", &jobs);
    ck_assert_msg(count == 1, "%zu jobs wait in %s, not 1", count, queue);
    return jobs[0];
}

static void done(const char *queue, const char *result)
{
    struct job_row job = take(queue);
    lab_finish(&lab, &job, result);
}

static void fails(const char *queue)
{
    struct job_row job = take(queue);
    ck_assert(lab_fail(&lab, &job, "E_NO", false).ok);
}

static struct saga_row saga_of(const struct id *id)
{
    struct saga_row row;
    ck_assert_int_eq(sagas_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static void expect(const struct id *id, enum saga_status want)
{
    struct saga_row row = saga_of(id);
    ck_assert_msg(row.life.status == want, "saga is %s, not %s", saga_status_name(row.life.status),
                  saga_status_name(want));
    ck_assert_int_eq(row.ended_us > 0, saga_is_finished(want));
}

/* "budget+ order+ track- ~order+ ...": ~ is a compensation, ? is in flight. */
static void expect_history(const struct id *id, const char *want)
{
    struct saga_step_row *steps;
    size_t count;
    ck_assert_int_eq(saga_steps_list(lab.db, id, &lab.arena, &steps, &count, NULL), RC_OK);
    CLEANUP(buf_release) struct buf story;
    buf_init(&story, 4096);
    for (size_t i = 0; i < count; i++)
        buf_addf(&story, "%s%s%s%c", i ? " " : "", steps[i].phase == SAGA_COMPENSATION ? "~" : "",
                 steps[i].name,
                 strcmp(steps[i].status, "succeeded") == 0 ? '+'
                 : strcmp(steps[i].status, "failed") == 0  ? '-'
                                                           : '?');
    ck_assert_str_eq(buf_text(&story), want);
}

/* The events of the saga, without "agent.saga.", in order. */
static void expect_events(const struct id *id, const char *want)
{
    struct event_filter filter = {.limit = 1000};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, NULL), RC_OK);
    CLEANUP(buf_release) struct buf story;
    buf_init(&story, 4096);
    for (size_t i = 0; i < count; i++)
        if (id_same(&events[i].correlation_id, id))
            buf_addf(&story, "%s%s", story.len ? " " : "", events[i].type + strlen("agent.saga."));
    ck_assert_str_eq(buf_text(&story), want);
}

static struct job_row job_of(const struct id *saga_id)
{
    struct saga_row saga = saga_of(saga_id);
    struct job_row job;
    ck_assert_int_eq(jobs_get(lab.db, &saga.job_id, &lab.arena, &job, NULL), RC_OK);
    return job;
}

/* The code with which it is refused, or "". */
static const char *replay(const struct id *job_id)
{
    struct cmd_dead *cmd = cmd_replay_new();
    cmd->ids = job_id;
    cmd->id_count = 1;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    const char *code = cmd->answers[0].code;
    const char *kept = code != NULL ? arena_strdup(&lab.arena, code) : "";
    command_free(&cmd->base);
    return kept;
}

/* Past all checks. */
static void replay_by_force(struct job_row job)
{
    struct job_input input = {.event = JOB_EV_REPLAY, .now_us = lab.now_us};
    ck_assert_int_eq(job_step(&job.life, &input, &job.life), RC_OK);
    ck_assert_int_eq(jobs_save(lab.db, &job, NULL), RC_OK);
}

START_TEST(a_saga_runs_its_steps_one_after_the_other)
{
    struct id id = start(purchase, NULL);
    struct job_row *none;
    ck_assert_uint_eq(lab_lease(&lab, "do.order", "w", &none), 0);
    done("do.budget", "{\"reserved\":90}");
    expect(&id, SAGA_RUNNING);
    done("do.order", "{\"order\":7}");
    done("do.track", "");
    done("do.deliver", "{}");
    expect(&id, SAGA_COMPLETED);
    expect_history(&id, "budget+ order+ track+ deliver+");
    expect_events(&id, "started completed");
    ck_assert_ptr_null(saga_of(&id).error_code);
}
END_TEST

START_TEST(a_step_is_told_what_earlier_ones_found)
{
    struct id id = start(purchase, NULL);
    done("do.budget", "{\"reserved\":90}");
    done("do.order", "{\"order\":7}");
    struct job_row job = job_of(&id);
    char want[256];
    snprintf(want, sizeof want,
             "{\"sagaId\":\"%s\",\"saga\":\"purchase\",\"step\":\"track\",\"phase\":\"step\","
             "\"results\":{\"budget\":{\"reserved\":90},\"order\":{\"order\":7}}}",
             id.text);
    ck_assert_str_eq(str_dup(&lab.arena, job.headers), want);
    fails("do.track");
    job = job_of(&id);
    ck_assert_str_eq(job.queue, "undo.order");
    ck_assert_str_eq(job.type, "back");
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, job.headers), "\"phase\":\"compensation\""));
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, job.headers), "{\"order\":7}"));
}
END_TEST

START_TEST(results_that_are_too_large_together_are_left_to_be_asked_for)
{
    CLEANUP(buf_release) struct buf steps, result;
    buf_init(&steps, 4096);
    buf_init(&result, 16 * 1024);
    for (int i = 0; i < 5; i++)
        buf_addf(&steps, "%c{\"name\":\"s%d\",\"queue\":\"q\",\"type\":\"t\"}", i ? ',' : '[', i);
    buf_adds(&steps, "]");
    buf_addf(&result, "{\"x\":\"%09000d\"}", 1);
    struct id id = start(buf_text(&steps), NULL);
    for (int i = 0; i < 4; i++) {
        const char *headers = str_dup(&lab.arena, job_of(&id).headers);
        ck_assert_ptr_nonnull(strstr(headers, "\"results\":{"));
        done("q", buf_text(&result));
    }
    const char *headers = str_dup(&lab.arena, job_of(&id).headers);
    ck_assert_ptr_nonnull(strstr(headers, "\"resultsOmitted\":true"));
    ck_assert_ptr_null(strstr(headers, "\"results\":"));
}
END_TEST

static const struct {
    const char *good, *bad, *undone, *history;
} failures[] = {
    {"", "budget", "", "budget-"},
    {"budget", "order", "budget", "budget+ order- ~budget+"},
    {"budget order", "track", "order budget", "budget+ order+ track- ~order+ ~budget+"},
    {"budget order track", "deliver", "order budget",
     "budget+ order+ track+ deliver- ~order+ ~budget+"},
};

static void each_done(const char *prefix, const char *names)
{
    char queue[64], name[32];
    for (int used; sscanf(names, "%31s%n", name, &used) == 1; names += used) {
        snprintf(queue, sizeof queue, "%s.%s", prefix, name);
        done(queue, "{}");
    }
}

START_TEST(what_succeeded_is_undone_in_reverse)
{
    char queue[64];
    struct id id = start(purchase, NULL);
    each_done("do", failures[_i].good);
    snprintf(queue, sizeof queue, "do.%s", failures[_i].bad);
    fails(queue);
    each_done("undo", failures[_i].undone);
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, failures[_i].history);
    expect_events(&id, failures[_i].undone[0] ? "started compensating compensated"
                                              : "started compensated");
    struct saga_row row = saga_of(&id);
    ck_assert_str_eq(row.error_code, "E_NO");
    ck_assert_str_eq(row.error_message, "it broke");
}
END_TEST

START_TEST(a_step_that_says_so_is_undone_although_it_failed)
{
    struct id id = start("[" STEP("half") ",\"compensateFailed\":true" UNDO("half") "]", NULL);
    fails("do.half");
    expect(&id, SAGA_COMPENSATING);
    done("undo.half", "{}");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "half- ~half+");
}
END_TEST

START_TEST(a_step_that_may_be_tried_again_fails_nothing)
{
    static const char steps[] = "[{\"name\":\"a\",\"queue\":\"q\",\"type\":\"t\"}]";
    struct id id = start(steps, NULL);
    struct job_row job = take("q");
    ck_assert_int_eq(lab_fail(&lab, &job, "E_NO", true).state, JOB_SCHEDULED);
    expect(&id, SAGA_RUNNING);
    lab_pass_ms(&lab, 60 * 1000);
    done("q", "{}");
    expect(&id, SAGA_COMPLETED);
}
END_TEST

START_TEST(a_compensation_that_dies_sticks_until_it_is_replayed)
{
    struct id id = start(purchase, NULL);
    each_done("do", "budget order");
    fails("do.track");
    fails("undo.order");
    expect(&id, SAGA_STUCK);
    struct job_row dead = job_of(&id);
    ck_assert_int_eq(dead.life.state, JOB_DEAD_LETTER);
    enum saga_status status;
    ck_assert_int_eq(cancel(&id, &status), RC_CONFLICT);
    ck_assert_str_eq(replay(&dead.id), "");
    fails("undo.order"); /* Not mended yet. */
    expect(&id, SAGA_STUCK);
    ck_assert_str_eq(replay(&dead.id), "");
    done("undo.order", "{}");
    expect(&id, SAGA_COMPENSATING);
    done("undo.budget", "{}");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "budget+ order+ track- ~order+ ~budget+");
    expect_events(&id, "started compensating stuck compensating compensated");
}
END_TEST

START_TEST(a_dead_step_that_is_done_after_all_changes_nothing)
{
    struct id id = start(purchase, NULL);
    fails("do.budget");
    expect(&id, SAGA_COMPENSATED);
    replay_by_force(job_of(&id));
    done("do.budget", "{}");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "budget-");
}
END_TEST

START_TEST(only_a_compensation_that_is_stuck_is_replayed)
{
    struct id id = start(purchase, NULL);
    done("do.budget", "{}");
    struct id order = job_of(&id).id;
    fails("do.order");
    ck_assert_str_eq(replay(&order), "SAGA_MOVED_ON");
    fails("undo.budget");
    ck_assert_str_eq(replay(&order), "SAGA_MOVED_ON");
    struct id undo = job_of(&id).id;
    ck_assert_str_eq(replay(&undo), "");
    ck_assert_str_eq(replay(&undo), "NOT_DEAD");
    done("undo.budget", "{}");
    expect(&id, SAGA_COMPENSATED);
}
END_TEST

START_TEST(a_cancel_waits_for_the_step_in_flight_and_undoes_it_too)
{
    struct id id = start(purchase, NULL);
    done("do.budget", "{}");
    struct job_row order = take("do.order");
    enum saga_status status;
    ck_assert_int_eq(cancel(&id, &status), RC_OK);
    ck_assert_int_eq(status, SAGA_COMPENSATING);
    ck_assert_int_eq(cancel(&id, &status), RC_OK); /* Once more does no harm. */
    lab_finish(&lab, &order, "{}");
    each_done("undo", "order budget");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "budget+ order+ ~order+ ~budget+");
    expect_events(&id, "started compensating compensated");
    ck_assert_str_eq(saga_of(&id).error_code, "cancelled");
    ck_assert_str_eq(saga_of(&id).error_message, "Cancelled by ada: enough");
    ck_assert_int_eq(cancel(&id, &status), RC_CONFLICT);
}
END_TEST

START_TEST(a_cancel_takes_back_a_step_that_nobody_has)
{
    struct id id = start(purchase, NULL);
    done("do.budget", "{}");
    enum saga_status status;
    ck_assert_int_eq(cancel(&id, &status), RC_OK);
    struct job_row *none;
    ck_assert_uint_eq(lab_lease(&lab, "do.order", "w", &none), 0);
    done("undo.budget", "{}");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "budget+ order- ~budget+");
    struct id other = start(purchase, NULL);
    ck_assert_int_eq(cancel(&other, &status), RC_OK);
    ck_assert_int_eq(status, SAGA_COMPENSATED);
    struct random random = random_seeded(1);
    struct id nobody = id_new(lab.now_us, &random);
    ck_assert_int_eq(cancel(&nobody, &status), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_dedup_key_answers_with_the_same_saga)
{
    struct id first = start(purchase, "k");
    struct id again = start(purchase, "k"), other = start(purchase, NULL);
    ck_assert_str_eq(first.text, again.text);
    ck_assert_str_ne(first.text, other.text);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "do.budget", "w", &jobs), 2);
}
END_TEST

START_TEST(a_worker_that_is_lost_loses_no_step)
{
    struct id id = start(purchase, NULL);
    struct job_row first = take("do.budget");
    lab_pass_ms(&lab, 16 * 1000);
    struct job_row second = take("do.budget");
    ck_assert(!lab_complete(&lab, &first, "{}").ok);
    lab_finish(&lab, &second, "{}");
    ck_assert(lab_complete(&lab, &second, "{}").ok); /* The same report, once more. */
    expect_history(&id, "budget+ order?");
}
END_TEST

/* ---- publish ---- */

static struct id walk_to_publish(void)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"prepare", RESULT_PREPARE},
               {"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},
               {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED}};
    lab_repository(&lab, "acme/billing", NULL);
    struct id run_id = lab_submit(&lab, "acme/billing");
    for (size_t i = 0; i < COUNT_OF(way); i++) {
        struct job_row job = lab_take(&lab, way[i].step);
        lab_finish(&lab, &job, way[i].result);
    }
    return run_id;
}

static size_t sagas_of_run(const struct id *run_id, struct id *ret_id)
{
    struct saga_filter filter = {.status = -1, .run_id = *run_id, .limit = 10};
    struct saga_row *rows;
    size_t count;
    ck_assert_int_eq(sagas_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    if (count > 0)
        *ret_id = rows[0].id;
    return count;
}

/* Where an attempt of a publish failed. */
#define REPORT_FAILED(parts) \
    "[{\"type\":\"agent.pr.creation.failed\",\"data\":{\"branch\":\"b\",\"parts\":[" parts "]}}]"
#define PART(name, outcome) "{\"part\":\"" name "\",\"outcome\":\"" outcome "\",\"detail\":\"why\"}"

static const char *header_of(const struct job_row *job, const char *key)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(job->headers.at, job->headers.len, &tree, NULL), RC_OK);
    return arena_strdup(&lab.arena, js_get_str(tree, key, ""));
}

START_TEST(the_parts_of_a_publish_are_undone_in_reverse_order)
{
    struct id run_id = walk_to_publish(), id;
    struct job_row publish = lab_take(&lab, "publish");
    ck_assert(lab_progress(
                  &lab, &publish,
                  REPORT_FAILED(PART("branch", "done") "," PART("pull_request", "found") "," PART(
                      "labels", "refused") "," PART("ready", "failed")))
                  .ok);
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", false).state, JOB_DEAD_LETTER);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    expect_history(&id, "branch+ pull_request+ labels+ ready- ~pull_request?");
    struct job_row undo = lab_take(&lab, "unpublish");
    ck_assert_str_eq(header_of(&undo, "step"), "pull_request");
    ck_assert_str_eq(header_of(&undo, "phase"), "compensation");
    lab_finish(&lab, &undo, "{\"outcome\":\"closed\",\"closedPullRequest\":7}");
    lab_check(&lab);
    struct job_row second = lab_take(&lab, "unpublish");
    ck_assert_str_eq(header_of(&second, "step"), "branch");
    ck_assert(id_same(&second.run_id, &run_id));
    ck_assert_str_eq(second.dependency, undo.dependency);
    ck_assert_int_eq(second.life.attempt_max, undo.life.attempt_max);
    ck_assert(str_same(second.payload, undo.payload));
    expect(&id, SAGA_COMPENSATING);
    lab_finish(&lab, &second, "{\"outcome\":\"deleted\"}");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "branch+ pull_request+ labels+ ready- ~pull_request+ ~branch+");
}
END_TEST

START_TEST(a_part_that_was_never_reached_is_not_undone)
{
    struct id run_id = walk_to_publish(), id;
    struct job_row publish = lab_take(&lab, "publish");
    ck_assert(lab_progress(&lab, &publish, REPORT_FAILED(PART("branch", "failed"))).ok);
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", false).state, JOB_DEAD_LETTER);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    done("drover.unpublish", "{}");
    expect_history(&id, "branch- ~branch+");
    expect(&id, SAGA_COMPENSATED);
}
END_TEST

/* The first attempt came as far as the pull request, the second failed at once. */
START_TEST(the_attempt_that_came_furthest_says_what_is_undone)
{
    struct id run_id = walk_to_publish(), id;
    struct job_row publish = lab_take(&lab, "publish");
    ck_assert(lab_progress(&lab, &publish,
                           REPORT_FAILED(PART("branch", "done") "," PART("pull_request", "failed")))
                  .ok);
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", true).state, JOB_SCHEDULED);
    lab_pass_ms(&lab, 20 * 1000);
    publish = lab_take(&lab, "publish");
    ck_assert(lab_progress(&lab, &publish, REPORT_FAILED(PART("branch", "failed"))).ok);
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", false).state, JOB_DEAD_LETTER);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    expect_history(&id, "branch+ pull_request- ~pull_request?");
}
END_TEST

START_TEST(after_a_worker_that_did_not_report_everything_is_looked_for)
{
    struct id run_id = walk_to_publish(), id;
    struct job_row publish = lab_take(&lab, "publish");
    ck_assert(lab_progress(&lab, &publish, REPORT_FAILED(PART("branch", "failed"))).ok);
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", true).state, JOB_SCHEDULED);
    lab_pass_ms(&lab, 20 * 1000);
    lab_take(&lab, "publish"); /* Killed: it may have done all of it. */
    lab_pass_ms(&lab, 61 * 1000);
    publish = lab_take(&lab, "publish");
    ck_assert(lab_progress(&lab, &publish, REPORT_FAILED(PART("branch", "failed"))).ok);
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", false).state, JOB_DEAD_LETTER);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    done("drover.unpublish", "{}");
    done("drover.unpublish", "{}");
    expect_history(&id, "branch- recorded- ~pull_request+ ~branch+");
    expect(&id, SAGA_COMPENSATED);
}
END_TEST

START_TEST(a_publish_that_dies_is_undone)
{
    struct id run_id = walk_to_publish(), id;
    struct job_row publish = lab_take(&lab, "publish");
    ck_assert_int_eq(lab_fail(&lab, &publish, "publish_failed", false).state, JOB_DEAD_LETTER);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_FAILED);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    expect(&id, SAGA_COMPENSATING);
    lab_check(&lab);
    struct job_row undo = lab_take(&lab, "unpublish");
    ck_assert_ptr_nonnull(strstr(str_dup(&lab.arena, undo.payload), lab_run(&lab, &run_id).branch));
    lab_finish(&lab, &undo, "{\"outcome\":\"absent\"}");
    done("drover.unpublish", "{\"outcome\":\"deleted\"}");
    expect(&id, SAGA_COMPENSATED);
    expect_history(&id, "recorded- ~pull_request+ ~branch+");
    expect_events(&id, "started compensating compensated");
    ck_assert_str_eq(saga_of(&id).error_code, "publish_failed");
}
END_TEST

START_TEST(a_publish_that_is_cut_short_is_undone_at_once)
{
    struct id run_id = walk_to_publish(), id;
    lab_take(&lab, "publish");
    struct cmd_cancel *stop = cmd_cancel_new();
    stop->task_id = lab_task(&lab, &run_id).id;
    stop->base.actor = (struct actor){"user", "ada"};
    ck_assert_int_eq(lab_call(&lab, &stop->base), RC_OK);
    command_free(&stop->base);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 0);
    lab_pass_ms(&lab, 120 * 1000); /* It never says a word. */
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    done("drover.unpublish", "{}"); /* Which fences it off, should it wake. */
    done("drover.unpublish", "{}");
    expect(&id, SAGA_COMPENSATED);
}
END_TEST

/* Its lease ran out: the job waits for another worker, and the frozen one may still push. */
START_TEST(a_publish_that_is_cancelled_after_its_lease_is_undone_at_once)
{
    struct id run_id = walk_to_publish(), id;
    struct job_row frozen = lab_take(&lab, "publish");
    lab_pass_ms(&lab, 61 * 1000);
    struct cmd_cancel *stop = cmd_cancel_new();
    stop->task_id = lab_task(&lab, &run_id).id;
    stop->base.actor = (struct actor){"user", "ada"};
    ck_assert_int_eq(lab_call(&lab, &stop->base), RC_OK);
    ck_assert(!stop->stopping);
    command_free(&stop->base);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 1);
    struct job_row undo = lab_take(&lab, "unpublish");
    ck_assert_str_eq(lab_complete(&lab, &frozen, RESULT_PUBLISHED).code, "LEASE_LOST");
    lab_finish(&lab, &undo, "{\"outcome\":\"absent\"}");
    done("drover.unpublish", "{}");
    expect(&id, SAGA_COMPENSATED);
    lab_check(&lab);
}
END_TEST

START_TEST(a_publish_that_nobody_began_or_that_ended_well_has_no_saga)
{
    struct id run_id = walk_to_publish(), id;
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 0);
    run_id = walk_to_publish();
    struct job_row publish = lab_take(&lab, "publish");
    lab_finish(&lab, &publish, RESULT_PUBLISHED);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_COMPLETED);
    ck_assert_uint_eq(sagas_of_run(&run_id, &id), 0);
}
END_TEST

Suite *sagas_suite(void)
{
    Suite *suite = suite_create("sagas");
    TCase *tc = tcase_create("sagas");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_saga_runs_its_steps_one_after_the_other);
    tcase_add_test(tc, a_step_is_told_what_earlier_ones_found);
    tcase_add_test(tc, results_that_are_too_large_together_are_left_to_be_asked_for);
    tcase_add_loop_test(tc, what_succeeded_is_undone_in_reverse, 0, (int)COUNT_OF(failures));
    tcase_add_test(tc, a_step_that_says_so_is_undone_although_it_failed);
    tcase_add_test(tc, a_step_that_may_be_tried_again_fails_nothing);
    tcase_add_test(tc, a_compensation_that_dies_sticks_until_it_is_replayed);
    tcase_add_test(tc, a_dead_step_that_is_done_after_all_changes_nothing);
    tcase_add_test(tc, only_a_compensation_that_is_stuck_is_replayed);
    tcase_add_test(tc, a_cancel_waits_for_the_step_in_flight_and_undoes_it_too);
    tcase_add_test(tc, a_cancel_takes_back_a_step_that_nobody_has);
    tcase_add_test(tc, a_dedup_key_answers_with_the_same_saga);
    tcase_add_test(tc, a_worker_that_is_lost_loses_no_step);
    tcase_add_test(tc, the_parts_of_a_publish_are_undone_in_reverse_order);
    tcase_add_test(tc, a_part_that_was_never_reached_is_not_undone);
    tcase_add_test(tc, the_attempt_that_came_furthest_says_what_is_undone);
    tcase_add_test(tc, after_a_worker_that_did_not_report_everything_is_looked_for);
    tcase_add_test(tc, a_publish_that_dies_is_undone);
    tcase_add_test(tc, a_publish_that_is_cut_short_is_undone_at_once);
    tcase_add_test(tc, a_publish_that_is_cancelled_after_its_lease_is_undone_at_once);
    tcase_add_test(tc, a_publish_that_nobody_began_or_that_ended_well_has_no_saga);
    suite_add_tcase(suite, tc);
    return suite;
}
