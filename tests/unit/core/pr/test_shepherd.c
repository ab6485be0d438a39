/*
 * test_shepherd.c - every decision: over all facts, from every state.  What costs has a budget,
 * nothing waits for nothing, every state is reached, and what is final stays so.  Then views, as a
 * forge shows them, and the facts that they give.
 */
#include "base/clock.h"
#include "base/str.h"
#include "core/pr/shepherd_facts.h"
#include "tests/unit/suites.h"
#include <string.h>

/* ---- moves ---- */

START_TEST(every_state_leads_exactly_to_the_listed_ones)
{
    /* One letter a state, in the order of enum shepherd_state; '.' is a refusal. */
    static const char letters[] = "ocrmgMFQXSBC";
    static const char *const want[SHEPHERD_STATE_COUNT] = {
        [SHEPHERD_OPEN] = ".c...MFQXSBC",        [SHEPHERD_CHECKS] = "o.r..MFQXSBC",
        [SHEPHERD_REVIEW] = "o..m.MFQXSBC",      [SHEPHERD_MERGEABLE] = "o...gMFQXSBC",
        [SHEPHERD_MERGING] = "o....MFQXSBC",     [SHEPHERD_MERGED] = "............",
        [SHEPHERD_FAILING] = "o....M....BC",     [SHEPHERD_CHANGES_REQUESTED] = "o....M....BC",
        [SHEPHERD_CONFLICTING] = "o....M....BC", [SHEPHERD_STALE] = "o....M....BC",
        [SHEPHERD_BLOCKED] = "o....M.....C",     [SHEPHERD_CLOSED] = "............",
    };
    for (int from = 0; from < SHEPHERD_STATE_COUNT; from++) {
        for (int to = 0; to < SHEPHERD_STATE_COUNT; to++) {
            bool may = shepherd_may_move((enum shepherd_state)from, (enum shepherd_state)to);
            ck_assert_msg(may == (want[from][to] == letters[to]), "%s to %s: %d",
                          shepherd_state_name((enum shepherd_state)from),
                          shepherd_state_name((enum shepherd_state)to), may);
        }
    }
}
END_TEST

START_TEST(every_state_is_reached_from_every_other_that_is_not_final)
{
    for (int from = 0; from < SHEPHERD_STATE_COUNT; from++) {
        for (int aim = 0; aim < SHEPHERD_STATE_COUNT; aim++) {
            enum shepherd_state at = (enum shepherd_state)from;
            int moves = 0;
            while (at != (enum shepherd_state)aim && !shepherd_is_final(at)) {
                enum shepherd_state next = shepherd_toward(at, (enum shepherd_state)aim);
                ck_assert(shepherd_may_move(at, next));
                ck_assert_int_lt(moves++, SHEPHERD_MOVES_MAX);
                at = next;
            }
            bool final = shepherd_is_final((enum shepherd_state)from);
            ck_assert_int_eq(at, final ? from : aim);
        }
    }
}
END_TEST

START_TEST(names_are_read_back)
{
    for (int i = 0; i < SHEPHERD_STATE_COUNT; i++) {
        enum shepherd_state state;
        ck_assert(shepherd_state_parse(shepherd_state_name((enum shepherd_state)i), &state));
        ck_assert_int_eq((int)state, i);
    }
    for (int i = 0; i < CI_CAUSE_COUNT; i++) {
        enum ci_cause cause;
        ck_assert(ci_cause_parse(ci_cause_name((enum ci_cause)i), &cause));
        ck_assert_int_eq((int)cause, i);
    }
    enum shepherd_state state;
    ck_assert(!shepherd_state_parse("lost", &state));
}
END_TEST

/* ---- all facts ---- */

struct seen {
    bool states[SHEPHERD_STATE_COUNT];
    unsigned acts;
    int64_t decisions;
};

static void look(const struct shepherd_facts *facts, struct seen *seen)
{
    struct shepherd_decision decided = shepherd_decide(facts);
    shepherd_check(facts, &decided);
    seen->states[decided.state] = true;
    seen->acts |= decided.acts;
    seen->decisions++;
}

/* Every combination of what is not decided elsewhere. */
static void walk_flags(struct shepherd_facts facts, struct seen *seen)
{
    for (unsigned bits = 0; bits < 1U << 9; bits++) {
        facts.draft = bits & 1;
        facts.submitted = bits & 2;
        facts.may_rerun = bits & 4;
        facts.may_repair = bits & 8;
        facts.may_rebase = bits & 16;
        facts.in_time = bits & 32;
        facts.shown = bits & 64;
        facts.unanswered = bits & 128;
        facts.merge_refused = bits & 256;
        look(&facts, seen);
    }
}

static void walk_rest(struct shepherd_facts facts, struct seen *seen)
{
    /* What decides a merge matters only where nothing speaks against one. */
    bool good = facts.certificate == CERT_GOOD && facts.checks == CHECKS_GREEN;
    int permissions = good ? MERGE_PERMISSION_COUNT : 1, ways = WAY_COUNT;
    for (int permission = 0; permission < permissions; permission++) {
        for (int way = 0; way < ways; way++) {
            facts.permission = (enum pr_permission)permission;
            facts.way = (enum pr_way)way;
            walk_flags(facts, seen);
        }
    }
}

START_TEST(every_decision_keeps_the_invariants_and_every_state_is_one)
{
    struct seen seen = {0};
    for (int life = 0; life < LIFE_COUNT; life++)
        for (int certificate = 0; certificate < CERT_COUNT; certificate++)
            for (int work = 0; work < WORK_COUNT; work++)
                for (int checks = 0; checks < CHECKS_COUNT; checks++)
                    for (int cause = 0; cause < (checks == CHECKS_RED ? CI_CAUSE_COUNT : 1);
                         cause++)
                        for (int review = 0; review < REVIEW_COUNT; review++)
                            for (int base = 0; base < BASE_COUNT; base++)
                                for (int person = 0; person < PERSON_COUNT; person++)
                                    walk_rest(
                                        (struct shepherd_facts){
                                            .life = (enum pr_life)life,
                                            .certificate = (enum pr_certificate)certificate,
                                            .work = (enum pr_work)work,
                                            .checks = (enum pr_checks)checks,
                                            .failure = (enum ci_cause)cause,
                                            .review = (enum pr_review)review,
                                            .base = (enum pr_base)base,
                                            .person = (enum pr_person)person,
                                        },
                                        &seen);
    for (int state = 0; state < SHEPHERD_STATE_COUNT; state++)
        ck_assert_msg(seen.states[state], "no facts lead to %s",
                      shepherd_state_name((enum shepherd_state)state));
    ck_assert_uint_eq(seen.acts, (1U << ACT_COUNT) - 1); /* Every act is decided somewhere. */
}
END_TEST

/*
 * No loop without a budget: a model of a forge on which nothing ever helps.  Every act that costs
 * uses its budget up, and the pull request comes to rest: a person is asked, or it is over.
 */
struct hopeless {
    struct shepherd_facts facts;
    int reruns, repairs, rebases, verifies;
};

static void use_up(struct hopeless *model, unsigned acts)
{
    struct shepherd_facts *facts = &model->facts;
    if (acts & ACT_RERUN)
        facts->may_rerun = --model->reruns > 0;
    if (acts & ACT_REPAIR)
        facts->may_repair = --model->repairs > 0;
    if (acts & ACT_REBASE) {
        facts->may_rebase = --model->rebases > 0;
        facts->base = BASE_STUCK;
    }
    if (acts & ACT_VERIFY)
        facts->certificate = --model->verifies > 0 ? CERT_NONE : CERT_UNOBTAINABLE;
    if (acts & (ACT_TRAIN | ACT_MERGE | ACT_AUTO_MERGE | ACT_ENQUEUE))
        facts->merge_refused = true;
    if (acts & ACT_READY)
        facts->draft = false;
    if (acts & ACT_CERTIFICATE)
        facts->shown = true;
    if (acts & ACT_ANSWER)
        facts->unanswered = false;
    if (acts & ACT_LEAVE)
        facts->submitted = false;
    if (acts & ACT_STOP_WORK)
        facts->work = WORK_NONE;
    if (acts & ACT_ASK_MERGE)
        facts->permission = MERGE_ASKED;
    if (acts & ACT_ASK)
        facts->person = PERSON_ASKED;
    if (acts & ACT_CLOSE)
        facts->life = LIFE_CLOSED;
}

START_TEST(a_pull_request_that_nothing_helps_comes_to_rest)
{
    for (int certificate = 0; certificate < CERT_COUNT; certificate++)
        for (int checks = 0; checks < CHECKS_COUNT; checks++)
            for (int cause = 0; cause < CI_CAUSE_COUNT; cause++)
                for (int review = 0; review < REVIEW_COUNT; review++)
                    for (int base = 0; base < BASE_COUNT; base++)
                        for (int permission = 0; permission < MERGE_PERMISSION_COUNT;
                             permission++) {
                            struct hopeless model = {
                                .facts = {.certificate = (enum pr_certificate)certificate,
                                          .checks = (enum pr_checks)checks,
                                          .failure = (enum ci_cause)cause,
                                          .review = (enum pr_review)review,
                                          .base = (enum pr_base)base,
                                          .permission = (enum pr_permission)permission,
                                          .draft = true,
                                          .unanswered = true,
                                          .may_rerun = true,
                                          .may_repair = true,
                                          .may_rebase = true,
                                          .in_time = true},
                                .reruns = 2,
                                .repairs = 3,
                                .rebases = 2,
                                .verifies = 2,
                            };
                            int acts = 0;
                            for (struct shepherd_decision decided;
                                 (decided = shepherd_decide(&model.facts)).acts != 0;
                                 use_up(&model, decided.acts))
                                ck_assert_int_lt(acts++, 20);
                        }
}
END_TEST

/* ---- stories ---- */

/* Green, approved, allowed. */
static struct shepherd_facts good(void)
{
    return (struct shepherd_facts){.permission = MERGE_GRANTED,
                                   .way = WAY_DIRECT,
                                   .may_rerun = true,
                                   .may_repair = true,
                                   .may_rebase = true,
                                   .in_time = true,
                                   .shown = true};
}

START_TEST(what_is_decided)
{
    struct {
        const char *what;
        struct shepherd_facts facts;
        enum shepherd_state state;
        unsigned acts;
    } cases[] = {
        {"good", good(), SHEPHERD_MERGING, ACT_MERGE},
        {"good, by train", good(), SHEPHERD_MERGING, ACT_TRAIN},
        {"a new head", good(), SHEPHERD_OPEN, ACT_VERIFY},
        {"a new head while a repair works on the old one", good(), SHEPHERD_OPEN, ACT_STOP_WORK},
        {"red by the patch", good(), SHEPHERD_FAILING, ACT_REPAIR},
        {"flaky", good(), SHEPHERD_FAILING, ACT_RERUN},
        {"flaky once more", good(), SHEPHERD_FAILING, ACT_REPAIR},
        {"red on the target too", good(), SHEPHERD_BLOCKED, 0},
        {"a conflict", good(), SHEPHERD_CONFLICTING, ACT_REBASE},
        {"a conflict that git cannot resolve", good(), SHEPHERD_CONFLICTING, ACT_REPAIR},
        {"behind", good(), SHEPHERD_STALE, ACT_REBASE},
        {"behind, by train", good(), SHEPHERD_MERGING, ACT_TRAIN},
        {"changes asked", good(), SHEPHERD_CHANGES_REQUESTED, ACT_REPAIR},
        {"a review under way", good(), SHEPHERD_CHANGES_REQUESTED, 0},
        {"a draft", good(), SHEPHERD_REVIEW, ACT_READY},
        {"no approval of this head", good(), SHEPHERD_REVIEW, 0},
        {"repeated", good(), SHEPHERD_BLOCKED, ACT_ASK},
        {"out of time", good(), SHEPHERD_BLOCKED, ACT_ASK},
        {"a person took over", good(), SHEPHERD_BLOCKED, 0},
    };
    cases[1].facts.way = WAY_TRAIN;
    cases[2].facts.certificate = CERT_NONE;
    cases[3].facts.certificate = CERT_NONE;
    cases[3].facts.work = WORK_OUTDATED;
    for (size_t i = 4; i <= 7; i++)
        cases[i].facts.checks = CHECKS_RED;
    cases[5].facts.failure = cases[6].facts.failure = CI_FLAKY;
    cases[6].facts.may_rerun = false;
    cases[7].facts.failure = CI_BASE;
    cases[8].facts.base = BASE_CONFLICT;
    cases[9].facts.base = BASE_STUCK;
    cases[10].facts.base = cases[11].facts.base = BASE_BEHIND;
    cases[11].facts.way = WAY_TRAIN;
    cases[12].facts.review = REVIEW_ASKING;
    cases[13].facts.review = REVIEW_TALKING;
    cases[14].facts.draft = true;
    cases[15].facts.review = REVIEW_MISSING;
    cases[16].facts.checks = CHECKS_RED;
    cases[16].facts.failure = CI_REPEATED;
    cases[17].facts.review = REVIEW_MISSING;
    cases[17].facts.in_time = false;
    cases[18].facts.person = PERSON_STOPS;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct shepherd_decision decided = shepherd_decide(&cases[i].facts);
        ck_assert_msg(decided.state == cases[i].state && decided.acts == cases[i].acts,
                      "%s: %s, acts %x", cases[i].what, shepherd_state_name(decided.state),
                      decided.acts);
    }
}
END_TEST

/* ---- views ---- */

enum { HOUR = 3600 };
#define T(seconds) ((seconds)*US_PER_SECOND)

static struct shepherd_known known_at(int64_t seconds)
{
    return (struct shepherd_known){
        .now_us = T(seconds),
        .certified_head = "h2",
        .certificate_good = true,
        .verify_left = true,
        .shown = true,
        .merge = SHEPHERD_MERGE_APPROVED,
        .forge_reviews = true,
        .forge_checks = true,
        .way = WAY_DIRECT,
        .may_rerun = true,
        .may_repair = true,
        .may_rebase = true,
        .in_time = true,
        .quiet_us = T(600),
        .settle_us = T(60),
    };
}

static struct pr_view view_of(struct check_view *checks, size_t check_count,
                              struct review_view *reviews, size_t review_count)
{
    return (struct pr_view){.head = "h2",
                            .author = "drover[bot]",
                            .mergeable = MERGE_CLEAN,
                            .checks = checks,
                            .check_count = check_count,
                            .reviews = reviews,
                            .review_count = review_count};
}

START_TEST(an_approval_counts_for_its_head_alone)
{
    struct review_view old[] = {{.author = "ann", .verdict = REVIEW_APPROVED, .commit = "h1"}};
    struct review_view now[] = {{.author = "ann", .verdict = REVIEW_APPROVED, .commit = "h2"}};
    struct review_view own[] = {
        {.author = "drover[bot]", .verdict = REVIEW_APPROVED, .commit = "h2"}};
    struct review_view stranger[] = {
        {.author = "eve", .association = "NONE", .verdict = REVIEW_APPROVED, .commit = "h2"}};
    struct review_view undone[] = {
        {.author = "ann", .verdict = REVIEW_APPROVED, .commit = "h2", .submitted_us = 1},
        {.author = "ann", .verdict = REVIEW_CHANGES_REQUESTED, .commit = "h2", .submitted_us = 2}};
    struct pr_view view = view_of(NULL, 0, old, 1);
    struct shepherd_known known = known_at(HOUR);
    ck_assert_int_eq(approvals_of_head(&view), 0);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
    view.reviews = now;
    ck_assert_int_eq(approvals_of_head(&view), 1);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_QUIET);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_GRANTED);
    view.reviews = own;
    ck_assert_int_eq(approvals_of_head(&view), 0);
    view.reviews = stranger;
    ck_assert_int_eq(approvals_of_head(&view), 0);
    view.reviews = undone;
    view.review_count = 2;
    ck_assert_int_eq(approvals_of_head(&view), 0);
}
END_TEST

START_TEST(a_new_head_needs_a_new_certificate)
{
    struct pr_view view = view_of(NULL, 0, NULL, 0);
    struct shepherd_known known = known_at(HOUR);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).certificate, CERT_GOOD);
    known.certified_head = "h1";
    ck_assert_int_eq(shepherd_facts_of(&view, &known).certificate, CERT_NONE);
    known.verify_left = false;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).certificate, CERT_UNOBTAINABLE);
    known.work = WORK_REPAIR;
    known.work_head = "h1";
    ck_assert_int_eq(shepherd_facts_of(&view, &known).work, WORK_OUTDATED);
}
END_TEST

START_TEST(checks_of_others_count_and_required_ones_alone_where_there_are_any)
{
    struct check_view checks[] = {
        {.name = "drover", .state = CHECK_FAILED, .own = true},
        {.name = "build", .state = CHECK_PASSED, .required = true},
        {.name = "nightly", .state = CHECK_FAILED},
    };
    struct pr_view view = view_of(checks, COUNT_OF(checks), NULL, 0);
    struct shepherd_known known = known_at(HOUR);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_GREEN);
    checks[1].required = false;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_RED);
    checks[2].state = CHECK_PENDING;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_RUNNING);
}
END_TEST

START_TEST(checks_that_have_not_appeared_yet_are_waited_for)
{
    struct pr_view view = view_of(NULL, 0, NULL, 0);
    struct shepherd_known known = known_at(HOUR);
    known.head_since_us = T(HOUR - 10);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_RUNNING);
    known.forge_checks = false;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_GREEN);
    known.forge_checks = true;
    known.head_since_us = T(HOUR - 61);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_GREEN);
}
END_TEST

START_TEST(a_rerun_that_the_forge_does_not_show_yet_is_no_second_failure)
{
    struct check_view checks[] = {
        {.name = "build", .state = CHECK_FAILED, .ended_us = T(HOUR - 100)}};
    struct pr_view view = view_of(checks, 1, NULL, 0);
    struct shepherd_known known = known_at(HOUR);
    known.rerun_us = T(HOUR - 30);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_RUNNING);
    checks[0].ended_us = T(HOUR - 5);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_RED);
    checks[0].ended_us = T(HOUR - 100);
    known.rerun_us = T(HOUR - 200);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).checks, CHECKS_RED);
}
END_TEST

START_TEST(comments_are_collected_until_the_reviewer_is_done)
{
    struct thread_comment words[] = {
        {.author = "ann", .association = "MEMBER", .body = "Why?", .created_us = T(HOUR)}};
    struct thread_view threads[] = {{.id = "t1", .comments = words, .comment_count = 1}};
    struct review_view reviews[] = {{.author = "ann",
                                     .association = "MEMBER",
                                     .verdict = REVIEW_COMMENTED,
                                     .commit = "h2",
                                     .submitted_us = T(HOUR + 5)}};
    struct pr_view view = view_of(NULL, 0, NULL, 0);
    view.threads = threads;
    view.thread_count = 1;
    struct shepherd_known known = known_at(HOUR + 60);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_TALKING);
    known.now_us = T(HOUR + 600); /* Quiet for quietMs. */
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_ASKING);
    known.now_us = T(HOUR + 60);
    view.reviews = reviews; /* Or a submitted review. */
    view.review_count = 1;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_ASKING);
    known.reviewed_us = T(HOUR); /* It was given to a repair. */
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
    known.reviewed_us = 0;
    threads[0].resolved = true;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
    threads[0].resolved = false;
    words[0].association = "NONE"; /* A stranger cannot make drover spend money. */
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
    words[0].association = "MEMBER";
    words[0].author = "drover[bot]"; /* The last word is drover's own. */
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
}
END_TEST

START_TEST(a_request_for_changes_stands_until_it_is_dealt_with_or_taken_back)
{
    struct review_view reviews[] = {
        {.author = "ann", .verdict = REVIEW_CHANGES_REQUESTED, .commit = "h1", .submitted_us = 5},
        {.author = "ann", .verdict = REVIEW_APPROVED, .commit = "h2", .submitted_us = 9}};
    struct pr_view view = view_of(NULL, 0, reviews, 1);
    struct shepherd_known known = known_at(HOUR);
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_ASKING);
    known.reviewed_us = 5;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
    known.reviewed_us = 0;
    view.review_count = 2;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_QUIET);
}
END_TEST

START_TEST(who_may_merge)
{
    struct pr_view view = view_of(NULL, 0, NULL, 0);
    struct shepherd_known known = known_at(HOUR);
    known.forge_reviews = false;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_TO_ASK);
    known.merge_asked = true;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_ASKED);
    known.granted_head = "h1"; /* Of an old head. */
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_ASKED);
    known.granted_head = "h2";
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_GRANTED);
    known.merge = SHEPHERD_MERGE_NEVER;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_BY_OTHERS);
    known.merge = SHEPHERD_MERGE_AUTO;
    known.granted_head = NULL;
    ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_GRANTED);
    view.mergeable = MERGE_BLOCKED; /* By a rule of the repository. */
    ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_MISSING);
}
END_TEST

START_TEST(a_view_that_was_cut_is_merged_by_no_one_but_a_person)
{
    struct review_view approved[] = {{.author = "ann", .verdict = REVIEW_APPROVED, .commit = "h2"}};
    static const enum shepherd_merge rules[] = {SHEPHERD_MERGE_AUTO, SHEPHERD_MERGE_APPROVED};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct pr_view view = view_of(NULL, 0, approved, 1);
        struct shepherd_known known = known_at(HOUR);
        known.merge = rules[i];
        ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_GRANTED);
        view.cut = true; /* A red check, or a request for changes, may be what is missing. */
        struct shepherd_facts facts = shepherd_facts_of(&view, &known);
        struct shepherd_decision decided = shepherd_decide(&facts);
        ck_assert_int_eq(decided.acts, ACT_ASK_MERGE);
        ck_assert_ptr_nonnull(strstr(decided.reason, "could not read all"));
        view.review_count = 0; /* The approval may be missing as well: it is not waited for. */
        ck_assert_int_eq(shepherd_facts_of(&view, &known).review, REVIEW_QUIET);
        known.granted_head = "h2";
        facts = shepherd_facts_of(&view, &known);
        ck_assert_int_eq(shepherd_decide(&facts).acts, ACT_MERGE);
        known.merge = SHEPHERD_MERGE_NEVER;
        ck_assert_int_eq(shepherd_facts_of(&view, &known).permission, MERGE_BY_OTHERS);
    }
}
END_TEST

Suite *shepherd_suite(void)
{
    Suite *suite = suite_create("shepherd");
    TCase *tc = tcase_create("shepherd");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, every_state_leads_exactly_to_the_listed_ones);
    tcase_add_test(tc, every_state_is_reached_from_every_other_that_is_not_final);
    tcase_add_test(tc, names_are_read_back);
    tcase_add_test(tc, every_decision_keeps_the_invariants_and_every_state_is_one);
    tcase_add_test(tc, a_pull_request_that_nothing_helps_comes_to_rest);
    tcase_add_test(tc, what_is_decided);
    tcase_add_test(tc, an_approval_counts_for_its_head_alone);
    tcase_add_test(tc, a_new_head_needs_a_new_certificate);
    tcase_add_test(tc, checks_of_others_count_and_required_ones_alone_where_there_are_any);
    tcase_add_test(tc, checks_that_have_not_appeared_yet_are_waited_for);
    tcase_add_test(tc, a_rerun_that_the_forge_does_not_show_yet_is_no_second_failure);
    tcase_add_test(tc, comments_are_collected_until_the_reviewer_is_done);
    tcase_add_test(tc, a_request_for_changes_stands_until_it_is_dealt_with_or_taken_back);
    tcase_add_test(tc, who_may_merge);
    tcase_add_test(tc, a_view_that_was_cut_is_merged_by_no_one_but_a_person);
    suite_add_tcase(suite, tc);
    return suite;
}
