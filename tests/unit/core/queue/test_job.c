/*
 * test_job.c - every state against every event, the effects, and long random lives.
 */
#include "base/random.h"
#include "core/queue/job.h"
#include "tests/unit/suites.h"
#include <string.h>

static const int64_t now_us = 1000000;

/* One letter a state, in the order of enum job_state. */
static const char letters[] = "SBQLCDX"; /* C is succeeded, X cancelled. */

/* DUE UNBLOCK CLAIM RENEW FINISH FAIL EXPIRE RELEASE CANCEL REPLAY TTL HOLD; '.' is a refusal. */
static const char *const want[JOB_STATE_COUNT] = {
    [JOB_SCHEDULED] = "Q.......X.D.", [JOB_BLOCKED] = ".Q......X.D.",
    [JOB_QUEUED] = "..L.....X.DS",    [JOB_LEASED] = "...LCSQQX...",
    [JOB_SUCCEEDED] = "............", [JOB_DEAD_LETTER] = ".........Q..",
    [JOB_CANCELLED] = "............",
};

static struct job_life life_in(enum job_state state)
{
    return (struct job_life){
        .state = state,
        .epoch = 4,
        .due_us = now_us - 10,
        .attempt = 1,
        .attempt_max = 3,
        .lost = 2,
        .dead_reason = state == JOB_DEAD_LETTER ? DEAD_MAX_ATTEMPTS : DEAD_NONE,
        .owner = "ann",
    };
}

static struct job_input input_of(enum job_event event)
{
    return (struct job_input){
        .event = event,
        .now_us = now_us,
        .epoch = 4,
        .owner = "ann",
        .lease_us = 500,
        .retryable = true,
        .backoff = {.base_us = 100, .max_us = 10000},
    };
}

START_TEST(every_state_takes_exactly_the_listed_events)
{
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        ck_assert_uint_eq(strlen(want[state]), JOB_EV_COUNT);
        for (int event = 0; event < JOB_EV_COUNT; event++) {
            struct job_life job = life_in((enum job_state)state), next = {.epoch = -7};
            struct job_input in = input_of((enum job_event)event);
            enum rc rc = job_step(&job, &in, &next);
            char got = rc == RC_OK ? letters[next.state] : '.';
            ck_assert_msg(got == want[state][event], "%s x %s: got %c, want %c",
                          job_state_name(job.state), job_event_name(in.event), got,
                          want[state][event]);
            if (rc != RC_OK) {
                ck_assert_int_eq(rc, RC_CONFLICT);
                ck_assert_int_eq(next.epoch, -7);
            }
        }
    }
}
END_TEST

static const char fenced[] = "...yyy.y....";

START_TEST(a_lost_lease_says_nothing_any_more)
{
    for (int event = 0; event < JOB_EV_COUNT; event++) {
        for (int64_t epoch = 3; epoch <= 5; epoch += 2) {
            struct job_life job = life_in(JOB_LEASED), next = {.epoch = -7};
            struct job_input in = input_of((enum job_event)event);
            in.epoch = epoch;
            enum rc rc = job_step(&job, &in, &next);
            ck_assert_int_eq(rc == RC_STALE, fenced[event] == 'y');
            if (rc == RC_STALE)
                ck_assert_int_eq(next.epoch, -7);
        }
    }
}
END_TEST

START_TEST(a_lease_of_another_owner_is_lost_for_every_fenced_event)
{
    static const char *const others[] = {"bob", "an", "anna", "", NULL};
    for (int event = 0; event < JOB_EV_COUNT; event++) {
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            struct job_life job = life_in(JOB_LEASED), next = {.epoch = -7};
            struct job_input in = input_of((enum job_event)event);
            in.owner = others[i];
            enum rc rc = job_step(&job, &in, &next);
            ck_assert_msg((rc == RC_STALE) == (fenced[event] == 'y'), "%s by %s gives %d",
                          job_event_name(in.event), others[i] != NULL ? others[i] : "nobody", rc);
            if (rc == RC_STALE)
                ck_assert_int_eq(next.epoch, -7);
        }
    }
}
END_TEST

START_TEST(a_lease_is_known_by_epoch_and_owner)
{
    struct job_life job = life_in(JOB_LEASED);
    ck_assert(job_leased_to(&job, 4, "ann"));
    ck_assert(!job_leased_to(&job, 5, "ann") && !job_leased_to(&job, 4, "bob"));
    job.state = JOB_SUCCEEDED; /* A report that comes again is known by its lease. */
    ck_assert(job_lease_is(&job, 4, "ann") && !job_leased_to(&job, 4, "ann"));
    ck_assert(!job_lease_is(&job, 4, "bob") && !job_lease_is(&job, 3, "ann"));
    job.owner = NULL;
    ck_assert(!job_lease_is(&job, 4, NULL) && !job_lease_is(&job, 4, ""));
}
END_TEST

START_TEST(each_claim_is_an_attempt_with_an_id_of_its_own)
{
    struct id job;
    ck_assert(id_parse("01a1ed2c-cd7b-7b64-962c-eb0727047e48", &job));
    ck_assert_str_eq(job_attempt_id(&job, 1).text, "01a1ed2c-cd7b-7b64-962c-eb0727047e49");
    ck_assert_str_eq(job_attempt_id(&job, 0x1b8).text, "01a1ed2c-cd7b-7b64-962c-eb0727048000");
    ck_assert(id_parse("01a1ed2c-cd7b-7b64-962c-ffffffffffff", &job));
    ck_assert_str_eq(job_attempt_id(&job, 1).text, "01a1ed2c-cd7b-7b64-962c-000000000000");
}
END_TEST

START_TEST(the_owner_is_that_of_the_last_claim)
{
    struct job_life job = life_in(JOB_QUEUED);
    struct job_input claim = input_of(JOB_EV_CLAIM), fail = input_of(JOB_EV_FAIL);
    claim.owner = fail.owner = "bob";
    fail.epoch = 5;
    ck_assert_int_eq(job_step(&job, &claim, &job), RC_OK);
    ck_assert_str_eq(job.owner, "bob");
    ck_assert_int_eq(job_step(&job, &fail, &job), RC_OK);
    ck_assert_int_eq(job.state, JOB_SCHEDULED);
    ck_assert_str_eq(job.owner, "bob");
}
END_TEST

START_TEST(a_claim_starts_a_new_epoch_and_a_lease)
{
    struct job_life job = life_in(JOB_QUEUED), next;
    struct job_input in = input_of(JOB_EV_CLAIM);
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.epoch, 5);
    ck_assert_int_eq(next.due_us, now_us + 500);
    ck_assert_int_eq(next.attempt, 1);
    ck_assert_int_eq(next.lost, 2);
}
END_TEST

START_TEST(a_held_job_waits_and_loses_no_attempt)
{
    struct job_life job = life_in(JOB_QUEUED), next;
    struct job_input in = input_of(JOB_EV_HOLD);
    in.until_us = now_us + 700;
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_SCHEDULED);
    ck_assert_int_eq(next.due_us, now_us + 700);
    ck_assert_int_eq(next.epoch, job.epoch);
    ck_assert_int_eq(next.attempt, job.attempt);
    ck_assert_int_eq(next.lost, job.lost);
}
END_TEST

static const struct {
    int64_t expires_us;
    enum job_state want;
    int64_t epoch;
} claims[] = {
    {0, JOB_LEASED, 5},
    {1000001, JOB_LEASED, 5},
    {1000000, JOB_LEASED, 5},
    {999999, JOB_DEAD_LETTER, 4},
};

START_TEST(an_expired_job_is_buried_when_it_is_claimed)
{
    struct job_life job = life_in(JOB_QUEUED), next;
    job.expires_us = claims[_i].expires_us;
    struct job_input in = input_of(JOB_EV_CLAIM);
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, claims[_i].want);
    ck_assert_int_eq(next.epoch, claims[_i].epoch);
    ck_assert_int_eq(next.dead_reason,
                     claims[_i].want == JOB_DEAD_LETTER ? DEAD_EXPIRED : DEAD_NONE);
}
END_TEST

static const struct {
    const char *what;
    int64_t attempt, attempt_max, expires_us;
    bool retryable, policy;
    enum job_state want;
    enum dead_reason reason;
    int64_t due_us; /* For a retry. */
} failures[] = {
    {"first failure", 0, 3, 0, true, false, JOB_SCHEDULED, DEAD_NONE, 1000100},
    {"second waits longer", 1, 3, 0, true, false, JOB_SCHEDULED, DEAD_NONE, 1000200},
    {"last attempt", 2, 3, 0, true, false, JOB_DEAD_LETTER, DEAD_MAX_ATTEMPTS, 0},
    {"only attempt", 0, 1, 0, true, false, JOB_DEAD_LETTER, DEAD_MAX_ATTEMPTS, 0},
    {"permanent error", 0, 3, 0, false, false, JOB_DEAD_LETTER, DEAD_NON_RETRYABLE, 0},
    {"policy", 0, 3, 0, true, true, JOB_DEAD_LETTER, DEAD_POLICY_BLOCKED, 0},
    {"policy before all else", 2, 3, 1, false, true, JOB_DEAD_LETTER, DEAD_POLICY_BLOCKED, 0},
    {"permanent before attempts", 2, 3, 1, false, false, JOB_DEAD_LETTER, DEAD_NON_RETRYABLE, 0},
    {"attempts before expiry", 2, 3, 1, true, false, JOB_DEAD_LETTER, DEAD_MAX_ATTEMPTS, 0},
    {"retry after expiry", 0, 3, 1000099, true, false, JOB_DEAD_LETTER, DEAD_EXPIRED, 0},
    {"retry just in time", 0, 3, 1000100, true, false, JOB_SCHEDULED, DEAD_NONE, 1000100},
};

START_TEST(a_failure_is_retried_or_buried_with_its_reason)
{
    struct job_life job = life_in(JOB_LEASED), next;
    job.attempt = failures[_i].attempt;
    job.attempt_max = failures[_i].attempt_max;
    job.expires_us = failures[_i].expires_us;
    struct job_input in = input_of(JOB_EV_FAIL);
    in.retryable = failures[_i].retryable;
    in.policy = failures[_i].policy;
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_msg(next.state == failures[_i].want, "%s", failures[_i].what);
    ck_assert_int_eq(next.dead_reason, failures[_i].reason);
    ck_assert_int_eq(next.attempt, failures[_i].attempt + 1);
    ck_assert_int_eq(next.epoch, 4);
    if (next.state == JOB_SCHEDULED)
        ck_assert_int_eq(next.due_us, failures[_i].due_us);
}
END_TEST

START_TEST(a_lost_lease_gives_the_attempt_back)
{
    struct job_life job = life_in(JOB_LEASED), next;
    job.due_us = now_us + 5000; /* Before it ran out: a node frees what its predecessor held. */
    struct job_input in = input_of(JOB_EV_EXPIRE);
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_QUEUED);
    ck_assert_int_eq(next.attempt, 1);
    ck_assert_int_eq(next.lost, 3);
    ck_assert_int_eq(next.due_us, now_us);
    ck_assert_int_eq(next.epoch, 4);
}
END_TEST

START_TEST(a_job_that_kills_its_workers_becomes_poison)
{
    struct job_life job = life_in(JOB_QUEUED);
    job.lost = 0;
    struct job_input claim = input_of(JOB_EV_CLAIM), expire = input_of(JOB_EV_EXPIRE);
    for (int i = 1; i <= JOB_LOST_MAX; i++) {
        ck_assert_int_eq(job_step(&job, &claim, &job), RC_OK);
        ck_assert_int_eq(job_step(&job, &expire, &job), RC_OK);
        ck_assert_int_eq(job.lost, i);
        ck_assert_int_eq(job.state, i < JOB_LOST_MAX ? JOB_QUEUED : JOB_DEAD_LETTER);
    }
    ck_assert_int_eq(job.dead_reason, DEAD_POISON);
    ck_assert_int_eq(job.attempt, 1);
}
END_TEST

START_TEST(a_release_counts_nothing)
{
    struct job_life job = life_in(JOB_LEASED), next;
    struct job_input in = input_of(JOB_EV_RELEASE);
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_QUEUED);
    ck_assert_int_eq(next.attempt, job.attempt);
    ck_assert_int_eq(next.lost, job.lost);
    ck_assert_int_eq(next.due_us, now_us);
}
END_TEST

START_TEST(unblocking_waits_for_the_due_time)
{
    struct job_life job = life_in(JOB_BLOCKED), next;
    struct job_input in = input_of(JOB_EV_UNBLOCK);
    job.due_us = now_us;
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_QUEUED);
    ck_assert_int_eq(next.due_us, now_us);
    job.due_us = now_us + 1;
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_SCHEDULED);
    ck_assert_int_eq(next.due_us, now_us + 1);
}
END_TEST

START_TEST(a_replay_starts_from_zero_but_keeps_its_epoch)
{
    struct job_life job = life_in(JOB_DEAD_LETTER), next;
    job.attempt = 3;
    job.lost = JOB_LOST_MAX;
    job.expires_us = 5;
    struct job_input in = input_of(JOB_EV_REPLAY);
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_QUEUED);
    ck_assert_int_eq(next.attempt, 0);
    ck_assert_int_eq(next.lost, 0);
    ck_assert_int_eq(next.expires_us, 0);
    ck_assert_int_eq(next.due_us, now_us);
    ck_assert_int_eq(next.dead_reason, DEAD_NONE);
    ck_assert_int_eq(next.epoch, 4);
}
END_TEST

START_TEST(a_replay_waits_behind_the_head_of_its_key)
{
    struct job_life job = life_in(JOB_DEAD_LETTER), next;
    struct job_input replay = input_of(JOB_EV_REPLAY), unblock = input_of(JOB_EV_UNBLOCK);
    replay.behind = true;
    ck_assert_int_eq(job_step(&job, &replay, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_BLOCKED);
    ck_assert_int_eq(next.attempt, 0);
    ck_assert_int_eq(next.dead_reason, DEAD_NONE);
    ck_assert_int_eq(job_step(&next, &unblock, &next), RC_OK);
    ck_assert_int_eq(next.state, JOB_QUEUED);
}
END_TEST

START_TEST(renewing_moves_the_end_of_the_lease_only)
{
    struct job_life job = life_in(JOB_LEASED), next;
    struct job_input in = input_of(JOB_EV_RENEW);
    ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
    ck_assert_int_eq(next.due_us, now_us + 500);
    next.due_us = job.due_us;
    ck_assert_mem_eq(&next, &job, sizeof job);
}
END_TEST

START_TEST(a_job_that_waited_too_long_is_buried)
{
    for (enum job_state state = JOB_SCHEDULED; state <= JOB_QUEUED; state++) {
        struct job_life job = life_in(state), next;
        job.expires_us = now_us - 1;
        struct job_input in = input_of(JOB_EV_TTL);
        ck_assert_int_eq(job_step(&job, &in, &next), RC_OK);
        ck_assert_int_eq(next.state, JOB_DEAD_LETTER);
        ck_assert_int_eq(next.dead_reason, DEAD_EXPIRED);
        ck_assert_int_eq(next.attempt, job.attempt);
        ck_assert_int_eq(next.epoch, job.epoch);
    }
}
END_TEST

/* Draws any input at all; job_step checks the invariants after every move. */
static struct job_input draw_input(struct random *random, const struct job_life *job, int64_t at_us)
{
    return (struct job_input){
        .event = (enum job_event)random_below(random, JOB_EV_COUNT),
        .now_us = at_us,
        .epoch = job->epoch - (int64_t)random_below(random, 2),
        .owner = random_below(random, 2) ? "ann" : "bob",
        .lease_us = (int64_t)random_below(random, 10000),
        .retryable = random_below(random, 4) != 0,
        .policy = random_below(random, 16) == 0,
        .backoff = {100, 5000, (int64_t)random_below(random, 100)},
        .random = random_next(random),
    };
}

START_TEST(random_lives_keep_the_invariants)
{
    struct random random = random_seeded((uint64_t)_i);
    struct job_life job = {.state = (enum job_state)random_below(&random, 3), .attempt_max = 3};
    int64_t at_us = 1, epoch = 0;
    for (int i = 0; i < 3000; i++) {
        at_us += (int64_t)random_below(&random, 1000);
        struct job_input in = draw_input(&random, &job, at_us);
        struct job_life next = {.attempt_max = -1};
        enum rc rc = job_step(&job, &in, &next);
        ck_assert(rc == RC_OK || rc == RC_CONFLICT || rc == RC_STALE);
        if (rc != RC_OK) {
            ck_assert_int_eq(next.attempt_max, -1);
            continue;
        }
        epoch += in.event == JOB_EV_CLAIM && next.state == JOB_LEASED;
        ck_assert_int_eq(next.epoch, epoch);
        if (job.state == JOB_LEASED && fenced[in.event] == 'y')
            ck_assert_str_eq(in.owner, job.owner);
        ck_assert(!job_is_settled(job.state) || in.event == JOB_EV_REPLAY);
        job = next;
        if (job.state == JOB_SUCCEEDED || job.state == JOB_CANCELLED)
            job = (struct job_life){.state = JOB_QUEUED, .attempt_max = 3, .epoch = epoch};
    }
}
END_TEST

START_TEST(names_read_back)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        enum job_state state = JOB_STATE_COUNT;
        ck_assert(job_state_parse(job_state_name((enum job_state)i), &state));
        ck_assert_int_eq((int)state, i);
    }
    for (int i = 0; i < DEAD_REASON_COUNT; i++)
        ck_assert_int_eq((int)dead_reason_parse(dead_reason_name((enum dead_reason)i)), i);
    ck_assert_str_eq(job_event_name(JOB_EV_CLAIM), "claim");
    ck_assert_str_eq(job_event_name(JOB_EV_TTL), "ttl");
    enum job_state untouched = JOB_LEASED;
    ck_assert(!job_state_parse("running", &untouched));
    ck_assert(!job_state_parse(NULL, &untouched));
    ck_assert_int_eq(untouched, JOB_LEASED);
    ck_assert_int_eq(dead_reason_parse("what"), DEAD_NONE);
    ck_assert_int_eq(dead_reason_parse(NULL), DEAD_NONE);
    ck_assert_str_eq(dead_reason_name(DEAD_NONE), "");
}
END_TEST

Suite *job_suite(void)
{
    Suite *suite = suite_create("job");
    TCase *tc = tcase_create("job");
    tcase_add_test(tc, every_state_takes_exactly_the_listed_events);
    tcase_add_test(tc, a_lost_lease_says_nothing_any_more);
    tcase_add_test(tc, a_lease_of_another_owner_is_lost_for_every_fenced_event);
    tcase_add_test(tc, a_lease_is_known_by_epoch_and_owner);
    tcase_add_test(tc, each_claim_is_an_attempt_with_an_id_of_its_own);
    tcase_add_test(tc, the_owner_is_that_of_the_last_claim);
    tcase_add_test(tc, a_claim_starts_a_new_epoch_and_a_lease);
    tcase_add_test(tc, a_held_job_waits_and_loses_no_attempt);
    tcase_add_loop_test(tc, an_expired_job_is_buried_when_it_is_claimed, 0, (int)COUNT_OF(claims));
    tcase_add_loop_test(tc, a_failure_is_retried_or_buried_with_its_reason, 0,
                        (int)COUNT_OF(failures));
    tcase_add_test(tc, a_lost_lease_gives_the_attempt_back);
    tcase_add_test(tc, a_job_that_kills_its_workers_becomes_poison);
    tcase_add_test(tc, a_release_counts_nothing);
    tcase_add_test(tc, unblocking_waits_for_the_due_time);
    tcase_add_test(tc, a_replay_starts_from_zero_but_keeps_its_epoch);
    tcase_add_test(tc, a_replay_waits_behind_the_head_of_its_key);
    tcase_add_test(tc, renewing_moves_the_end_of_the_lease_only);
    tcase_add_test(tc, a_job_that_waited_too_long_is_buried);
    tcase_add_loop_test(tc, random_lives_keep_the_invariants, 1, 20);
    tcase_add_test(tc, names_read_back);
    suite_add_tcase(suite, tc);
    return suite;
}
