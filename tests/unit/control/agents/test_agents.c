/*
 * test_agents.c - claims and the registry through the real committer, on all engines: who gets
 * what, who is woken, what a kill does, and what the end of a process means.
 */
#include "control/admit/submit.h"
#include "control/agents/claim.h"
#include "control/agents/kill.h"
#include "control/agents/launch.h"
#include "control/agents/registry.h"
#include "control/queue/complete.h"
#include "core/event_types.h"
#include "core/step_kind.h"
#include "store/job_marks.h"
#include "store/tokens.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

#define MINUTE_MS             (60 * 1000)
#define ck_assert_id_eq(a, b) ck_assert_str_eq((a).text, (b).text)

static struct lab lab;

static void open_lab(int engine)
{
    lab_open(&lab, &(struct lab_options){.engine = engine});
    lab_far_repository(&lab, "acme/far", NULL);
    lab_far_repository(&lab, "acme/near", NULL);
}

static void close_lab(void)
{
    lab_check(&lab);
    lab_close(&lab);
}
#define LAB() open_lab(_i)

/* ---- work ---- */

struct work {
    const char *repository, *labels, *persona, *agent; /* NULL: acme/far, none */
};

/* A task whose work is offered; its run. */
static struct id offer(struct work work)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = work.repository != NULL ? work.repository : "acme/far";
    cmd->task.description = "Make it right.";
    cmd->task.labels = work.labels != NULL ? str_of(work.labels) : (struct str){0};
    cmd->task.persona = work.persona;
    cmd->task.agent = work.agent;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    return run_id;
}

/* ---- claims ---- */

static struct cmd_claim *claim_of(const char *agent, int64_t wait_ms)
{
    struct cmd_claim *cmd = cmd_claim_new();
    cmd->to = (struct addressee){"far", NULL, agent};
    cmd->lease.worker = agent != NULL ? agent : "someone";
    cmd->lease.wait_us = wait_ms * US_PER_MS;
    cmd->lease.lease_us = 10 * US_PER_MINUTE;
    return cmd;
}

/* The run of the job that it got; none: nothing. */
static struct id run_of(const struct cmd_claim *cmd)
{
    return cmd->lease.job_count > 0 ? cmd->lease.jobs[0].run_id : (struct id){0};
}

static struct job_row must_claim(const char *agent)
{
    struct cmd_claim *cmd = claim_of(agent, 0);
    ck_assert_msg(lab_call(&lab, &cmd->lease.base) == RC_OK, "%s", cmd->lease.base.err.text);
    ck_assert_uint_eq(cmd->lease.job_count, 1);
    struct job_row job = job_row_copy(&cmd->lease.jobs[0], &lab.arena);
    command_free(&cmd->lease.base);
    return job;
}

static void must_refuse(struct cmd_claim *cmd, const char *code)
{
    ck_assert_int_ne(lab_call(&lab, &cmd->lease.base), RC_OK);
    ck_assert_str_eq(cmd->lease.base.err.code, code);
    command_free(&cmd->lease.base);
}

/* Posted, and looked at once. */
static struct cmd_claim *sleeper(struct cmd_claim *cmd)
{
    lab_post(&lab, &cmd->lease.base);
    lab_rounds(&lab);
    return cmd;
}

static const char *const *list_of(const char *item)
{
    const char **list = arena_array(&lab.arena, 2, sizeof *list);
    list[0] = item;
    return list;
}

START_TEST(work_wakes_the_one_that_came_first_of_those_that_want_it)
{
    LAB();
    struct cmd_claim *other = claim_of("a", MINUTE_MS), *label = claim_of("b", MINUTE_MS);
    struct cmd_claim *first = claim_of("c", MINUTE_MS), *second = claim_of("d", MINUTE_MS);
    other->lease.filter.repositories = list_of("acme/near");
    label->lease.filter.labels = list_of("ui");
    (void)sleeper(other);
    (void)sleeper(label);
    (void)sleeper(first);
    (void)sleeper(second);
    int before = lab.answered;
    struct id plain = offer((struct work){.labels = "[\"db\"]"});
    lab_rounds(&lab);
    ck_assert_id_eq(run_of(first), plain);
    ck_assert_uint_eq(second->lease.job_count + label->lease.job_count + other->lease.job_count, 0);
    struct id marked = offer((struct work){.labels = "[\"db\",\"ui\"]"});
    lab_rounds(&lab);
    ck_assert_id_eq(run_of(label), marked);
    struct id near = offer((struct work){.repository = "acme/near"});
    lab_rounds(&lab);
    ck_assert_id_eq(run_of(other), near);
    ck_assert_uint_eq(second->lease.job_count, 0);
    struct id last = offer((struct work){0});
    lab_rounds(&lab);
    ck_assert_id_eq(run_of(second), last);
    ck_assert_int_ge(lab.answered - before, 4);
    command_free(&other->lease.base);
    command_free(&label->lease.base);
    command_free(&first->lease.base);
    command_free(&second->lease.base);
    close_lab();
}
END_TEST

/* Of a claim by cell and a lease of the whole queue in one batch each job has one taker. */
START_TEST(a_claim_and_a_lease_of_one_batch_never_take_the_same_job)
{
    LAB();
    struct id runs[3];
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = offer((struct work){.labels = "[\"ui\"]"});
    struct cmd_claim *claims[2];
    struct cmd_lease *leases[2];
    static const char *const far[] = {"far", NULL};
    for (size_t i = 0; i < 2; i++) {
        leases[i] = cmd_lease_new();
        leases[i]->queues = far;
        leases[i]->worker = "w";
        leases[i]->max = 1;
        leases[i]->lease_us = US_PER_MINUTE;
        lab_post(&lab, &leases[i]->base);
        claims[i] = claim_of("c", 0);
        claims[i]->lease.filter.labels = i == 0 ? list_of("ui") : NULL;
        lab_post(&lab, &claims[i]->lease.base);
    }
    lab_rounds(&lab);
    struct id got[4] = {{""}, {""}, {""}, {""}};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        if (leases[i]->job_count > 0)
            got[count++] = leases[i]->jobs[0].run_id;
        if (claims[i]->lease.job_count > 0)
            got[count++] = run_of(claims[i]);
        command_free(&leases[i]->base);
        command_free(&claims[i]->lease.base);
    }
    ck_assert_uint_eq(count, COUNT_OF(runs));
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            ck_assert(!id_same(&got[i], &got[j]));
    close_lab();
}
END_TEST

START_TEST(work_goes_to_its_addressee_and_marks_end_with_it)
{
    LAB();
    (void)offer((struct work){.persona = "reviewer"});
    struct id own = offer((struct work){.persona = "reviewer", .agent = "bob"});
    struct cmd_claim *other = claim_of("eve", 0);
    ck_assert_int_eq(lab_call(&lab, &other->lease.base), RC_OK);
    ck_assert_uint_eq(other->lease.job_count, 0);
    command_free(&other->lease.base);
    struct job_row job = must_claim("bob");
    ck_assert_id_eq(job.run_id, own);
    ck_assert_str_eq(job.queue, "far.agent.bob");
    ck_assert(lab_fail(&lab, &job, "no_luck", false).ok);
    struct marked_ask ask = {"far.agent.bob", {.marked = true}, lab.now_us, 10};
    struct job_row *rows;
    size_t count;
    ck_assert_int_eq(job_marks_claimable(lab.db, &ask, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_str_eq(lab_run(&lab, &own).error_code, "no_luck");
    close_lab();
}
END_TEST

/* ---- the registry ---- */

static struct agent_row new_agent(const char *name)
{
    return (struct agent_row){.name = name,
                              .capacity = 1,
                              .queue = "far",
                              .general = true,
                              .heartbeat_ms = 10000,
                              .restart = RESTART_ON_FAILURE,
                              .restart_max = 2,
                              .backoff_ms = 1000};
}

static struct id add_agent(const struct agent_row *row, bool launch)
{
    struct cmd_agent_register *cmd = cmd_agent_register_new();
    cmd->row = *row;
    cmd->launch = launch;
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct id id = cmd->row.id;
    command_free(&cmd->base);
    return id;
}

static struct agent_row agent_of(const struct id *id)
{
    struct agent_row row;
    ck_assert_int_eq(agents_get(lab.db, id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static void expect_state(const struct id *id, enum instance_state state)
{
    ck_assert_str_eq(instance_state_name(agent_of(id).state), instance_state_name(state));
}

static int count_events(const char *type)
{
    struct event_filter filter = {.type_pattern = type, .limit = 1000};
    struct event *rows;
    size_t count;
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    return (int)count;
}

static int64_t kill_agent(const struct id *id, enum kill_policy policy)
{
    struct cmd_agent_kill *cmd = cmd_agent_kill_new();
    cmd->ref.id = *id;
    cmd->policy = policy;
    cmd->reason = "a drill";
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    int64_t claims = cmd->claims;
    command_free(&cmd->base);
    return claims;
}

START_TEST(a_claim_counts_against_the_capacity_and_is_a_heartbeat)
{
    LAB();
    struct agent_row bob = new_agent("bob");
    struct id id = add_agent(&bob, false);
    (void)offer((struct work){0});
    (void)offer((struct work){0});
    expect_state(&id, INSTANCE_REGISTERED);
    struct job_row job = must_claim("bob");
    expect_state(&id, INSTANCE_ACTIVE);
    ck_assert_int_eq(agent_of(&id).seen_us, job.leased_us);
    must_refuse(claim_of("bob", 0), "AGENT_FULL");
    ck_assert(lab_fail(&lab, &job, "no_luck", false).ok);
    (void)must_claim("bob");
    close_lab();
}
END_TEST

START_TEST(a_missed_heartbeat_is_one_event_and_the_next_one_makes_it_active)
{
    LAB();
    struct agent_row bob = new_agent("bob");
    struct id id = add_agent(&bob, false);
    lab_pass_ms(&lab, MINUTE_MS);
    expect_state(&id, INSTANCE_REGISTERED); /* It has not been heard of yet. */
    for (int round = 1; round <= 2; round++) {
        struct cmd_agent_beat *beat = cmd_agent_beat_new();
        beat->ref.name = "bob";
        ck_assert_int_eq(lab_call(&lab, &beat->base), RC_OK);
        command_free(&beat->base);
        expect_state(&id, INSTANCE_ACTIVE);
        lab_pass_ms(&lab, 9000);
        expect_state(&id, INSTANCE_ACTIVE);
        lab_pass_ms(&lab, MINUTE_MS);
        lab_pass_ms(&lab, MINUTE_MS);
        expect_state(&id, INSTANCE_LATE);
        ck_assert_int_eq(count_events(EV_AGENT_HEARTBEAT_MISSED), round);
    }
    close_lab();
}
END_TEST

/* A heartbeat moves no timer: the timer that fires looks at the last one. */
START_TEST(heartbeats_put_the_lateness_off)
{
    LAB();
    struct agent_row bob = new_agent("bob");
    struct id id = add_agent(&bob, false);
    for (int i = 0; i < 10; i++) {
        struct cmd_agent_beat *beat = cmd_agent_beat_new();
        beat->ref.id = id;
        ck_assert_int_eq(lab_call(&lab, &beat->base), RC_OK);
        command_free(&beat->base);
        lab_pass_ms(&lab, 7000);
    }
    expect_state(&id, INSTANCE_ACTIVE);
    ck_assert_int_eq(count_events(EV_AGENT_HEARTBEAT_MISSED), 0);
    close_lab();
}
END_TEST

START_TEST(a_kill_ends_its_claims_that_wait_and_no_others)
{
    LAB();
    struct agent_row bob = new_agent("bob"), cem = new_agent("cem");
    struct id id = add_agent(&bob, false);
    (void)add_agent(&cem, false);
    struct cmd_claim *his = sleeper(claim_of("bob", MINUTE_MS));
    struct cmd_claim *hers = sleeper(claim_of("cem", MINUTE_MS));
    int before = lab.answered;
    (void)kill_agent(&id, KILL_REQUEUE);
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered - before, 2); /* The kill, and the claim. */
    ck_assert_int_eq(his->lease.base.rc, RC_CONFLICT);
    ck_assert_str_eq(his->lease.base.err.code, "AGENT_GONE");
    must_refuse(claim_of("bob", 0), "AGENT_GONE");
    struct id run = offer((struct work){0});
    lab_rounds(&lab);
    ck_assert_id_eq(run_of(hers), run);
    ck_assert_int_eq(count_events(EV_AGENT_KILLED), 1);
    command_free(&his->lease.base);
    command_free(&hers->lease.base);
    close_lab();
}
END_TEST

START_TEST(a_kill_offers_the_work_again_as_the_same_attempt)
{
    LAB();
    struct agent_row bob = new_agent("bob");
    struct id id = add_agent(&bob, false), run = offer((struct work){0});
    struct job_row job = must_claim("bob");
    ck_assert_int_eq(kill_agent(&id, KILL_REQUEUE), 1);
    lab_pass_ms(&lab, 1);
    struct job_row again = must_claim("cem");
    ck_assert_id_eq(again.id, job.id);
    ck_assert_int_gt(again.life.epoch, job.life.epoch);
    ck_assert_int_eq(again.life.attempt, job.life.attempt);
    struct job_answer late = lab_fail(&lab, &job, "too_late", false);
    ck_assert(!late.ok);
    ck_assert_str_eq(late.code, "LEASE_LOST");
    ck_assert_int_eq(lab_run(&lab, &run).attempt, 1);
    ck_assert_int_eq(kill_agent(&id, KILL_FAIL), 0); /* The first one counts. */
    ck_assert_int_eq(agent_of(&id).policy, KILL_REQUEUE);
    close_lab();
}
END_TEST

START_TEST(a_kill_may_fail_the_work)
{
    LAB();
    struct agent_row bob = new_agent("bob");
    struct id id = add_agent(&bob, false), run = offer((struct work){0});
    (void)must_claim("bob");
    ck_assert_int_eq(kill_agent(&id, KILL_FAIL), 1);
    lab_pass_ms(&lab, 1);
    struct run_row row = lab_run(&lab, &run);
    ck_assert_int_eq(row.status, RUN_FAILED);
    ck_assert_str_eq(row.error_code, "agent_killed");
    ck_assert_str_eq(row.error_message, "Agent bob was killed: a drill");
    close_lab();
}
END_TEST

/* ---- launch ---- */

#define COMMAND_CONFIG "{\"url\":\"/\",\"agent\":{\"command\":[\"true\"]}}"

static struct id launched(enum restart_policy policy)
{
    struct agent_row bob = new_agent("bob");
    bob.config = STR(COMMAND_CONFIG);
    bob.restart = policy;
    return add_agent(&bob, true);
}

/* A worker takes the job, and asks for the token. */
static struct job_row begin(const char *worker)
{
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, step_row(STEP_LAUNCH)->queue, worker, &jobs), 1);
    struct cmd_agent_begin *cmd = cmd_agent_begin_new();
    cmd->ref = (struct job_ref){jobs[0].id, jobs[0].life.epoch};
    memset(cmd->sha256, 'a' + (int)(jobs[0].life.epoch % 6), sizeof cmd->sha256 - 1);
    cmd->sha256[0] = jobs[0].id.text[ID_TEXT_BYTES - 2];
    cmd->sha256[1] = jobs[0].id.text[ID_TEXT_BYTES - 3];
    cmd->sha256[2] = jobs[0].id.text[ID_TEXT_BYTES - 4];
    ck_assert_msg(lab_call(&lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
    return jobs[0];
}

static void end(const struct job_row *job, const char *result)
{
    struct job_answer answer = lab_claim(&lab, job, result);
    ck_assert_msg(answer.ok, "%s", answer.message);
}

static size_t waiting_jobs(void)
{
    struct job_filter filter = {
        .queue = step_row(STEP_LAUNCH)->queue, .state = JOB_SCHEDULED, .limit = 10};
    struct job_row *rows;
    size_t count;
    ck_assert_int_eq(jobs_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    return count;
}

START_TEST(a_process_that_fails_is_started_again_until_the_bound)
{
    LAB();
    struct id id = launched(RESTART_ON_FAILURE);
    expect_state(&id, INSTANCE_STARTING);
    for (int start = 0; start <= 2; start++) {
        struct job_row job = begin("w/0");
        struct agent_row row = agent_of(&id);
        expect_state(&id, INSTANCE_ACTIVE);
        ck_assert_str_eq(row.worker, "w/0");
        ck_assert_int_eq(row.restarts, start);
        struct token_row token;
        struct id token_id = row.token_id;
        ck_assert_int_eq(tokens_get(lab.db, &token_id, &lab.arena, &token, NULL), RC_OK);
        ck_assert_str_eq(token.agent, "bob");
        ck_assert_str_eq(token.queues, "far.agent.bob far");
        end(&job, "{\"exitCode\":3,\"livedMs\":10,\"lastWords\":\"no luck\"}");
        ck_assert_str_eq(agent_of(&id).last_error, "exit status 3: no luck");
        ck_assert_int_eq(tokens_get(lab.db, &token_id, &lab.arena, &token, NULL), RC_NOT_FOUND);
        ck_assert_uint_eq(waiting_jobs(), start < 2 ? 1 : 0);
        expect_state(&id, start < 2 ? INSTANCE_RESTARTING : INSTANCE_FAILED);
        lab_pass_ms(&lab, 10000);
    }
    ck_assert_int_eq(count_events(EV_AGENT_LAUNCHED), 3);
    ck_assert_int_eq(count_events(EV_AGENT_EXITED), 3);
    must_refuse(claim_of("bob", 0), "AGENT_GONE");
    close_lab();
}
END_TEST

START_TEST(a_process_that_ends_well_stays_so_unless_its_rule_is_always)
{
    LAB();
    struct id id = launched(RESTART_ON_FAILURE);
    struct job_row job = begin("w/0");
    end(&job, "{\"exitCode\":0,\"livedMs\":10}");
    expect_state(&id, INSTANCE_STOPPED);
    ck_assert_uint_eq(waiting_jobs(), 0);
    struct cmd_agent_launch *again = cmd_agent_launch_new();
    again->ref.name = "bob";
    ck_assert_int_eq(lab_call(&lab, &again->base), RC_OK);
    command_free(&again->base);
    expect_state(&id, INSTANCE_STARTING);
    (void)begin("w/1");
    expect_state(&id, INSTANCE_ACTIVE);
    close_lab();
}
END_TEST

START_TEST(a_lost_worker_means_one_more_start_and_another_token)
{
    LAB();
    struct id id = launched(RESTART_ON_FAILURE);
    struct job_row first = begin("w/0");
    struct id token_id = agent_of(&id).token_id;
    lab_pass_ms(&lab, 10 * MINUTE_MS); /* Its lease runs out. */
    expect_state(&id, INSTANCE_STARTING);
    struct token_row token;
    ck_assert_int_eq(tokens_get(lab.db, &token_id, &lab.arena, &token, NULL), RC_NOT_FOUND);
    struct job_row second = begin("x/0");
    ck_assert_id_eq(second.id, first.id);
    ck_assert_int_eq(agent_of(&id).restarts, 1);
    struct job_answer late = lab_claim(&lab, &first, "{\"exitCode\":0,\"livedMs\":1}");
    ck_assert(!late.ok);
    expect_state(&id, INSTANCE_ACTIVE);
    struct cmd_agent_begin *stale = cmd_agent_begin_new();
    stale->ref = (struct job_ref){first.id, first.life.epoch};
    ck_assert_int_eq(lab_call(&lab, &stale->base), RC_STALE);
    command_free(&stale->base);
    close_lab();
}
END_TEST

START_TEST(with_never_a_lost_worker_is_the_end)
{
    LAB();
    struct id id = launched(RESTART_NEVER);
    (void)begin("w/0");
    lab_pass_ms(&lab, 10 * MINUTE_MS);
    expect_state(&id, INSTANCE_STOPPED);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, step_row(STEP_LAUNCH)->queue, "x/0", &jobs), 0);
    close_lab();
}
END_TEST

START_TEST(a_kill_takes_the_job_of_its_process_away)
{
    LAB();
    struct id id = launched(RESTART_ALWAYS);
    struct job_row job = begin("w/0");
    struct cmd_agent_remove *remove = cmd_agent_remove_new();
    remove->ref.id = id;
    ck_assert_int_eq(lab_call(&lab, &remove->base), RC_CONFLICT);
    command_free(&remove->base);
    (void)kill_agent(&id, KILL_REQUEUE);
    expect_state(&id, INSTANCE_KILLED);
    struct job_answer late = lab_claim(&lab, &job, "{\"exitCode\":0,\"livedMs\":1}");
    ck_assert(!late.ok);
    expect_state(&id, INSTANCE_KILLED);
    ck_assert_uint_eq(waiting_jobs(), 0);
    remove = cmd_agent_remove_new();
    remove->ref.id = id;
    ck_assert_int_eq(lab_call(&lab, &remove->base), RC_OK);
    command_free(&remove->base);
    close_lab();
}
END_TEST

START_TEST(a_launched_agent_is_served_with_its_own_token_only)
{
    LAB();
    struct id id = launched(RESTART_ALWAYS);
    (void)begin("w/0");
    must_refuse(claim_of("bob", 0), "AGENT_NOT_ALLOWED");
    (void)offer((struct work){0});
    struct cmd_claim *own = claim_of(NULL, 0);
    own->bound_agent = "bob";
    struct id token_id = agent_of(&id).token_id;
    own->lease.base.principal = arena_strdup(&lab.arena, token_id.text);
    ck_assert_msg(lab_call(&lab, &own->lease.base) == RC_OK, "%s", own->lease.base.err.text);
    ck_assert_uint_eq(own->lease.job_count, 1);
    ck_assert_str_eq(own->lease.jobs[0].worker, "bob");
    command_free(&own->lease.base);
    struct cmd_claim *foreign = claim_of("eve", 0);
    foreign->bound_agent = "bob";
    must_refuse(foreign, "AGENT_NOT_ALLOWED");
    close_lab();
}
END_TEST

static struct cmd_agent_begin *begin_again(const struct job_row *job, int64_t no)
{
    struct cmd_agent_begin *cmd = cmd_agent_begin_new();
    cmd->ref = (struct job_ref){job->id, job->life.epoch};
    (void)snprintf(cmd->sha256, sizeof cmd->sha256, "%064lld", (long long)no);
    (void)lab_call(&lab, &cmd->base);
    return cmd;
}

START_TEST(a_launched_agent_has_one_token_however_often_it_begins)
{
    LAB();
    struct id id = launched(RESTART_ALWAYS);
    struct job_row job = begin("w/0");
    const struct id all = {0};
    struct token_row *tokens;
    size_t count;
    for (int64_t no = 0; no < 5; no++) {
        struct cmd_agent_begin *cmd = begin_again(&job, no);
        ck_assert_int_eq(cmd->base.rc, RC_OK);
        command_free(&cmd->base);
    }
    ck_assert_int_eq(tokens_list(lab.db, &all, 10, &lab.arena, &tokens, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(tokens[0].id.text, agent_of(&id).token_id.text);
    end(&job, "{\"exitCode\":1,\"livedMs\":1}");
    ck_assert_int_eq(tokens_list(lab.db, &all, 10, &lab.arena, &tokens, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 0);
    close_lab();
}
END_TEST

/* The token would not be among those that are known: the process could do nothing. */
START_TEST(an_agent_does_not_begin_without_room_for_its_token)
{
    LAB();
    (void)launched(RESTART_ALWAYS);
    struct job_row job = begin("w/0");
    struct tx tx = {0};
    ck_assert_int_eq(tx_begin(lab.db, &tx, NULL), RC_OK);
    for (int i = 1; i < TOKENS_LIVE_MAX + 1; i++) {
        struct token_row row = {.name = "x", .role = ROLE_VIEWER};
        row.id = id_of(arena_printf(&lab.arena, "018f0000-0000-7000-8000-%012d", i));
        row.sha256 = arena_printf(&lab.arena, "%064d", i + 100);
        ck_assert_int_eq(tokens_insert(lab.db, &row, NULL), RC_OK);
    }
    ck_assert_int_eq(tx_commit(&tx, NULL), RC_OK);
    struct cmd_agent_begin *cmd = begin_again(&job, 7);
    ck_assert_int_eq(cmd->base.rc, RC_CONFLICT);
    ck_assert_str_eq(cmd->base.err.code, "TOO_MANY_TOKENS");
    command_free(&cmd->base);
    close_lab();
}
END_TEST

#define on_engines(tc, test) tcase_add_loop_test(tc, test, 0, lab_engines())
/* Timers run on SQLite only: in a lab no node has them. */
#define over_time(tc, test) tcase_add_loop_test(tc, test, LAB_SQLITE, LAB_SQLITE + 1)

Suite *agents_suite(void)
{
    Suite *suite = suite_create("agents");
    TCase *tc = tcase_create("claims");
    on_engines(tc, work_wakes_the_one_that_came_first_of_those_that_want_it);
    on_engines(tc, a_claim_and_a_lease_of_one_batch_never_take_the_same_job);
    on_engines(tc, work_goes_to_its_addressee_and_marks_end_with_it);
    suite_add_tcase(suite, tc);
    tc = tcase_create("registry");
    on_engines(tc, a_claim_counts_against_the_capacity_and_is_a_heartbeat);
    over_time(tc, a_missed_heartbeat_is_one_event_and_the_next_one_makes_it_active);
    over_time(tc, heartbeats_put_the_lateness_off);
    on_engines(tc, a_kill_ends_its_claims_that_wait_and_no_others);
    over_time(tc, a_kill_offers_the_work_again_as_the_same_attempt);
    over_time(tc, a_kill_may_fail_the_work);
    suite_add_tcase(suite, tc);
    tc = tcase_create("launch");
    over_time(tc, a_process_that_fails_is_started_again_until_the_bound);
    on_engines(tc, a_process_that_ends_well_stays_so_unless_its_rule_is_always);
    over_time(tc, a_lost_worker_means_one_more_start_and_another_token);
    over_time(tc, with_never_a_lost_worker_is_the_end);
    on_engines(tc, a_kill_takes_the_job_of_its_process_away);
    on_engines(tc, a_launched_agent_is_served_with_its_own_token_only);
    on_engines(tc, a_launched_agent_has_one_token_however_often_it_begins);
    on_engines(tc, an_agent_does_not_begin_without_room_for_its_token);
    suite_add_tcase(suite, tc);
    return suite;
}
