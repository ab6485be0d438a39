/*
 * test_train.c - every state of a car against every event, decisions as stories, and random trains
 * against a model of the target: what lands was verified, as it lands; the guilty are named, and
 * nobody else; everything ends.
 */
#include "base/random.h"
#include "base/str.h"
#include "core/pr/train.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

/* ---- the table ---- */

/* One letter a state, in the order of enum car_state; '.' is a refusal. */
static const char letters[] = "WTGRlLXCO";
static const char *const want[CAR_STATE_COUNT] = {
    /* TEST PASS FAIL BLAME RESET LAND ARRIVE MISS LEAVE */
    [CAR_WAITING] = "T.R.WlL.O",  [CAR_TESTING] = ".GR.W.L.O",  [CAR_GREEN] = "....WlL.O",
    [CAR_RED] = "..RXW.L.O",      [CAR_LANDING] = "......LW.",  [CAR_LANDED] = ".........",
    [CAR_REJECTED] = ".........", [CAR_CONFLICT] = ".........", [CAR_LEFT] = ".........",
};

START_TEST(every_state_takes_exactly_the_listed_events)
{
    for (int state = 0; state < CAR_STATE_COUNT; state++) {
        ck_assert_uint_eq(strlen(want[state]), CAR_EV_COUNT);
        for (int event = 0; event < CAR_EV_COUNT; event++) {
            struct train_car car = {.state = (enum car_state)state};
            enum rc rc = car_step(&car, (enum car_event)event);
            char got = rc == RC_OK ? letters[car.state] : '.';
            ck_assert_msg(got == want[state][event], "%s x %s: got %c, want %c",
                          car_state_name((enum car_state)state),
                          car_event_name((enum car_event)event), got, want[state][event]);
            if (rc != RC_OK)
                ck_assert_int_eq((int)car.state, state);
        }
    }
}
END_TEST

START_TEST(states_have_names_that_are_read_back)
{
    enum car_state state;
    for (int i = 0; i < CAR_STATE_COUNT; i++) {
        ck_assert(car_state_parse(car_state_name((enum car_state)i), &state));
        ck_assert_int_eq((int)state, i);
    }
    ck_assert(!car_state_parse("sleeping", &state));
}
END_TEST

START_TEST(one_that_does_not_merge_is_blamed_for_a_conflict)
{
    struct train_car car = {.state = CAR_RED, .clash = true};
    ck_assert_int_eq(car_step(&car, CAR_EV_BLAME), RC_OK);
    ck_assert_int_eq(car.state, CAR_CONFLICT);
    car = (struct train_car){.state = CAR_RED, .clash = true};
    ck_assert_int_eq(car_step(&car, CAR_EV_RESET), RC_OK);
    ck_assert(!car.clash);
}
END_TEST

/* ---- stories ---- */

/* A train of cars in these states, as letters; upper-case ones behind '!' are urgent. */
struct told {
    struct train_car cars[TRAIN_CARS_MAX];
    struct train train;
};

static void tell(struct told *told, const char *text, bool based)
{
    *told = (struct told){.train = {.cars = told->cars, .based = based}};
    bool urgent = false;
    for (const char *at = text; *at; at++) {
        if (*at == '!') {
            urgent = true;
            continue;
        }
        struct train_car *car = &told->cars[told->train.count];
        const char *letter = strchr("WTGRl c", *at);
        ck_assert_ptr_nonnull(letter);
        *car = (struct train_car){.seq = (int64_t)told->train.count,
                                  .urgent = urgent,
                                  .clash = *at == 'c',
                                  .tag = told->train.count};
        car->state = *at == 'c' ? CAR_RED : (enum car_state)(letter - "WTGRl c");
        told->train.count++;
        urgent = false;
    }
    train_check(&told->train);
}

static const char *show(const struct train *train)
{
    static char text[TRAIN_CARS_MAX + 1];
    for (size_t i = 0; i < train->count; i++)
        text[i] = letters[train->cars[i].state];
    text[train->count] = '\0';
    return text;
}

START_TEST(what_comes_next)
{
    static const struct {
        const char *what, *cars, *after;
        bool based, batch;
        size_t batch_max, ahead_max;
        enum train_act act;
        size_t at;
    } cases[] = {
        {"nothing", "", "", true, false, 4, 2, TRAIN_REST, 0},
        {"each: the first alone, until the target is known", "WWW", "TWW", false, false, 4, 2,
         TRAIN_TEST, 0},
        {"each: and no other", "TWW", "TWW", false, false, 4, 2, TRAIN_REST, 0},
        {"each: then ahead", "TWW", "TTW", true, false, 4, 2, TRAIN_TEST, 1},
        {"each: as far as allowed", "TTW", "TTW", true, false, 4, 2, TRAIN_REST, 0},
        {"each: within the window", "TGW", "TGW", true, false, 2, 2, TRAIN_REST, 0},
        {"each: green ones land at once", "GGT", "llT", true, false, 4, 2, TRAIN_LAND, 2},
        {"each: one landing at a time", "lGT", "lGT", true, false, 3, 1, TRAIN_REST, 0},
        {"each: tests continue meanwhile", "lTW", "lTT", true, false, 4, 2, TRAIN_TEST, 2},
        {"each: the first red one is guilty", "GRW", "GXW", true, false, 4, 2, TRAIN_BLAME, 1},
        {"each: also behind what lands", "lRT", "lXW", true, false, 4, 2, TRAIN_BLAME, 1},
        {"each: one behind an open test is not", "TRW", "TRW", true, false, 4, 2, TRAIN_REST, 0},
        {"each: one that does not merge", "Gc", "GC", true, false, 4, 2, TRAIN_BLAME, 1},
        {"each: the target moved while some land", "lW", "lW", false, false, 4, 2, TRAIN_REST, 0},
        {"batch: the last of the batch", "WWWWWW", "WWWTWW", false, true, 4, 2, TRAIN_TEST, 3},
        {"batch: the last there is", "WW", "WT", true, true, 4, 2, TRAIN_TEST, 1},
        {"batch: one test at a time", "WWT", "WWT", true, true, 4, 2, TRAIN_REST, 0},
        {"batch: green lands whole", "WWGW", "lllW", true, true, 3, 2, TRAIN_LAND, 3},
        {"batch: red is halved", "WWWRWW", "WTWRWW", true, true, 4, 2, TRAIN_TEST, 1},
        {"batch: the upper half", "WGWRWW", "WGTRWW", true, true, 4, 2, TRAIN_TEST, 2},
        {"batch: isolated", "WGGRWW", "WGGXWW", true, true, 4, 2, TRAIN_BLAME, 3},
        {"batch: before a conflict all are tried", "WWWcWW", "WWTRWW", true, true, 4, 2, TRAIN_TEST,
         2},
        {"batch: waits while it lands", "lW", "lW", true, true, 4, 2, TRAIN_REST, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct told told;
        size_t at = 0;
        tell(&told, cases[i].cars, cases[i].based);
        const struct train_rules rules = {cases[i].batch, cases[i].batch_max, cases[i].ahead_max};
        enum train_act act = train_next(&told.train, &rules, &at);
        ck_assert_msg(act == cases[i].act && (act == TRAIN_REST || at == cases[i].at),
                      "%s: act %d at %zu", cases[i].what, (int)act, at);
        ck_assert_msg(strcmp(show(&told.train), cases[i].after) == 0, "%s: %s, want %s",
                      cases[i].what, show(&told.train), cases[i].after);
    }
}
END_TEST

START_TEST(a_car_that_enters_restarts_only_what_is_behind_it)
{
    struct told told;
    tell(&told, "lGGT", true);
    told.cars[told.train.count++] = (struct train_car){.seq = 9};
    train_entered(&told.train);
    ck_assert_str_eq(show(&told.train), "lGGTW");
    told.cars[told.train.count++] = (struct train_car){.seq = 10, .urgent = true, .tag = 77};
    train_entered(&told.train);
    ck_assert_str_eq(show(&told.train), "lWWWWW");
    ck_assert_uint_eq(told.cars[1].tag, 77);
    told.cars[told.train.count++] = (struct train_car){.seq = 11, .urgent = true, .tag = 78};
    train_entered(&told.train);
    ck_assert_uint_eq(told.cars[2].tag, 78); /* Urgent ones keep their order. */
}
END_TEST

START_TEST(a_new_head_restarts_what_contains_it)
{
    struct told told;
    tell(&told, "GGTR", true);
    ck_assert_int_eq(train_renewed(&told.train, 1), RC_OK);
    ck_assert_str_eq(show(&told.train), "GWWW");
    tell(&told, "lG", true);
    ck_assert_int_eq(train_renewed(&told.train, 0), RC_CONFLICT);
    ck_assert_str_eq(show(&told.train), "lG");
    tell(&told, "GGGG", true);
    told.cars[2].urgent = true; /* It overtakes. */
    ck_assert_int_eq(train_renewed(&told.train, 2), RC_OK);
    ck_assert_str_eq(show(&told.train), "WWWW");
    ck_assert_uint_eq(told.cars[0].tag, 2);
}
END_TEST

START_TEST(one_that_leaves_restarts_what_is_behind_it)
{
    struct told told;
    tell(&told, "GGTW", true);
    ck_assert_int_eq(train_left(&told.train, 1), RC_OK);
    train_shed(&told.train);
    ck_assert_str_eq(show(&told.train), "GWW");
    tell(&told, "lG", true);
    ck_assert_int_eq(train_left(&told.train, 0), RC_CONFLICT);
}
END_TEST

START_TEST(a_push_by_a_person_restarts_all)
{
    struct told told;
    tell(&told, "GTRW", true);
    train_moved(&told.train, true);
    ck_assert_str_eq(show(&told.train), "WWWW");
    ck_assert(told.train.based);
    tell(&told, "lTW", true);
    train_moved(&told.train, true); /* What lands decides: its push is refused, or was first. */
    ck_assert_str_eq(show(&told.train), "lWW");
    ck_assert(!told.train.based);
    train_missed(&told.train);
    ck_assert_str_eq(show(&told.train), "WWW");
    tell(&told, "llGT", true);
    train_landed(&told.train);
    train_shed(&told.train);
    ck_assert_str_eq(show(&told.train), "GT");
    ck_assert(told.train.based);
}
END_TEST

START_TEST(what_did_not_land_behind_one_that_did_is_tested_again)
{
    const struct train_rules rules = {.ahead_max = 2, .batch_max = 8};
    struct told told;
    size_t at = 9;
    tell(&told, "lllT", true);
    train_arrived(&told.train, 0);
    train_missed(&told.train);
    train_shed(&told.train);
    ck_assert_str_eq(show(&told.train), "WWW");
    ck_assert_int_eq(train_next(&told.train, &rules, &at), TRAIN_TEST);
    ck_assert_uint_eq(at, 0);
}
END_TEST

/* ---- random trains against a model ---- */

enum { MODEL_CARS = 40, MODEL_STEPS = 4000 };

/* What is true of a pull request; the train cannot see it. */
struct pull {
    bool bad;  /* Every position with it fails. */
    int foe;   /* Fails together with this one, when both are there; -1: none. */
    int clash; /* Does not merge onto this one; -1: none. */
    int head;  /* Grows with each push to it. */
    bool in, landed, ended;
    enum car_state end;
};

/* What a test saw: compared with what lands. */
struct seen {
    int cars[MODEL_CARS], heads[MODEL_CARS];
    size_t count;
    int base;
    bool green;
};

struct model {
    struct random random;
    struct pull pulls[MODEL_CARS];
    size_t pull_count;
    struct train_car cars[MODEL_CARS];
    struct train train;
    struct train_rules rules;
    int target; /* Changes with every commit of the target. */
    int base;   /* As the train knows it. */
    bool on_target[MODEL_CARS];
    /* Jobs that are under way: what they were told, and when the train forgets them. */
    struct seen tests[MODEL_CARS];
    bool testing[MODEL_CARS];
    struct seen green[MODEL_CARS]; /* The last that a car was green by. */
    struct seen landing;
    bool lands;
    int tests_made, rounds, people;
};

static bool dice(struct model *model, unsigned one_in)
{
    return random_below(&model->random, one_in) == 0;
}

static int pick(struct model *model, int below)
{
    return (int)random_below(&model->random, (uint64_t)below);
}

static struct seen seen_upto(const struct model *model, size_t count)
{
    struct seen seen = {.count = count, .base = model->base};
    for (size_t i = 0; i < count; i++) {
        seen.cars[i] = (int)model->train.cars[i].tag;
        seen.heads[i] = model->pulls[seen.cars[i]].head;
    }
    return seen;
}

static bool present(const struct model *model, const struct seen *seen, size_t upto, int pull)
{
    if (pull < 0)
        return false;
    for (size_t i = 0; i < upto; i++)
        if (seen->cars[i] == pull)
            return true;
    return model->on_target[pull];
}

/* The first that does not merge; count: all do. */
static size_t first_clash(const struct model *model, const struct seen *seen)
{
    size_t at = 0;
    while (at < seen->count && !present(model, seen, at, model->pulls[seen->cars[at]].clash))
        at++;
    return at;
}

static bool is_green(const struct model *model, const struct seen *seen)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct pull *pull = &model->pulls[seen->cars[i]];
        if (pull->bad || present(model, seen, seen->count, pull->foe))
            return false;
    }
    return true;
}

/* A car ended: it was the right one, and it ends once. */
static void note_ends(struct model *model)
{
    for (size_t i = 0; i < model->train.count; i++) {
        const struct train_car *car = &model->train.cars[i];
        struct pull *pull = &model->pulls[car->tag];
        if (!car_has_ended(car->state) || pull->ended)
            continue;
        pull->ended = true;
        pull->end = car->state;
        if (car->state == CAR_REJECTED)
            ck_assert_msg(pull->bad || pull->foe >= 0, "car %zu is not to blame", car->tag);
        if (car->state == CAR_CONFLICT)
            ck_assert_int_ge(pull->clash, 0);
    }
    /* A test or a green of a car that the train has reset counts no more. */
    for (size_t i = 0; i < model->train.count; i++) {
        const struct train_car *car = &model->train.cars[i];
        if (car->state != CAR_TESTING)
            model->testing[car->tag] = false;
    }
    train_shed(&model->train);
}

static size_t place_of(const struct model *model, size_t tag)
{
    size_t at = 0;
    while (at < model->train.count && model->train.cars[at].tag != tag)
        at++;
    return at;
}

static void begin_test(struct model *model, size_t at)
{
    size_t tag = model->train.cars[at].tag, under_way = 0;
    model->tests[tag] = seen_upto(model, at + 1);
    model->testing[tag] = true;
    for (size_t i = 0; i < MODEL_CARS; i++)
        under_way += model->testing[i];
    ck_assert_uint_le(under_way, model->rules.batch ? 1 : model->rules.ahead_max);
    ck_assert_uint_lt(at, model->rules.batch_max);
    if (!model->train.based) {
        ck_assert_uint_eq(under_way, 1);
        model->rounds++;
    }
}

static void begin_landing(struct model *model, size_t count)
{
    ck_assert(!model->lands);
    model->lands = true;
    model->landing = seen_upto(model, count);
    for (size_t k = 1; k <= count; k++) { /* Each position that becomes a commit was green. */
        const struct seen *by = &model->green[model->landing.cars[k - 1]];
        if (model->rules.batch && k < count)
            continue;
        ck_assert_uint_eq(by->count, k);
        ck_assert(by->green);
        for (size_t i = 0; i < k; i++) {
            ck_assert_int_eq(by->cars[i], model->landing.cars[i]);
            ck_assert_int_eq(by->heads[i], model->landing.heads[i]);
        }
    }
}

static void decide(struct model *model)
{
    size_t at = 0;
    enum train_act act;
    while ((act = train_next(&model->train, &model->rules, &at)) != TRAIN_REST) {
        if (act == TRAIN_TEST)
            begin_test(model, at);
        else if (act == TRAIN_LAND)
            begin_landing(model, at);
        note_ends(model);
    }
}

static void enter(struct model *model)
{
    if (model->pull_count == MODEL_CARS || model->train.count == MODEL_CARS)
        return;
    size_t tag = model->pull_count++;
    struct pull *pull = &model->pulls[tag];
    *pull = (struct pull){.foe = -1, .clash = -1, .in = true, .bad = dice(model, 8)};
    if (tag > 0 && dice(model, 8))
        pull->foe = pick(model, (int)tag);
    else if (tag > 0 && dice(model, 8))
        pull->clash = pick(model, (int)tag);
    if (pull->foe >= 0 && model->pulls[pull->foe].foe < 0)
        model->pulls[pull->foe].foe = (int)tag; /* Either of the two may be named. */
    if (pull->clash >= 0 && model->pulls[pull->clash].clash < 0)
        model->pulls[pull->clash].clash = (int)tag;
    model->cars[model->train.count++] = (struct train_car){
        .seq = (int64_t)tag, .urgent = dice(model, 6), .tag = tag};
    train_entered(&model->train);
}

/* The forge is asked again before a test counts: a target that has moved is seen then. */
static bool target_is(const struct model *model, const struct seen *seen)
{
    return seen->base == model->target;
}

static void end_test(struct model *model, size_t tag)
{
    size_t at = place_of(model, tag);
    struct seen seen = model->tests[tag];
    model->testing[tag] = false;
    ck_assert_uint_lt(at, model->train.count);
    if (!model->train.based) {
        model->base = seen.base = model->target;
        model->train.based = true;
    } else if (!target_is(model, &seen)) {
        model->base = model->target;
        model->rounds++;
        train_moved(&model->train, true);
        return;
    }
    size_t clash = first_clash(model, &seen);
    if (dice(model, 20)) {
        train_untested(&model->train, at); /* The machine failed. */
        return;
    }
    model->tests_made++;
    if (clash < seen.count) {
        train_untested(&model->train, at);
        train_failed(&model->train, place_of(model, (size_t)seen.cars[clash]), true);
        return;
    }
    seen.green = is_green(model, &seen);
    model->green[tag] = seen;
    if (seen.green)
        train_passed(&model->train, at);
    else
        train_failed(&model->train, at, false);
}

static void end_landing(struct model *model)
{
    model->lands = false;
    if (model->landing.base != model->target) { /* Compare and swap. */
        train_missed(&model->train);
        return;
    }
    ck_assert(is_green(model, &model->landing));
    for (size_t i = 0; i < model->landing.count; i++) {
        struct pull *pull = &model->pulls[model->landing.cars[i]];
        ck_assert(!pull->landed && !pull->ended);
        pull->landed = true;
        model->on_target[model->landing.cars[i]] = true;
    }
    model->base = ++model->target;
    train_landed(&model->train);
    /* What was tested on the same commits still counts. */
    for (size_t i = 0; i < MODEL_CARS; i++) {
        struct seen *const both[] = {&model->tests[i], &model->green[i]};
        for (size_t k = 0; k < COUNT_OF(both); k++) {
            struct seen *seen = both[k];
            size_t gone = model->landing.count;
            if (seen->count <= gone ||
                memcmp(seen->cars, model->landing.cars, gone * sizeof seen->cars[0]) != 0)
                continue;
            memmove(seen->cars, seen->cars + gone, (seen->count - gone) * sizeof seen->cars[0]);
            memmove(seen->heads, seen->heads + gone, (seen->count - gone) * sizeof seen->heads[0]);
            seen->count -= gone;
            seen->base = model->base;
        }
    }
}

/* One thing that happens from outside; false: nothing is left to happen. */
static bool happen(struct model *model, bool quiet)
{
    int ready[MODEL_CARS], count = 0;
    for (int i = 0; i < MODEL_CARS; i++)
        if (model->testing[i])
            ready[count++] = i;
    if (!quiet && dice(model, 4)) {
        size_t at = model->train.count > 0 ? (size_t)pick(model, (int)model->train.count) : 0;
        switch (pick(model, 6)) {
        case 0:
            model->target++; /* A person pushes. */
            model->people++;
            break;
        case 1:
            if (model->train.count > 0)
                (void)!train_left(&model->train, at);
            break;
        case 2:
            if (model->train.count > 0 && model->train.cars[at].state != CAR_LANDING) {
                model->pulls[model->train.cars[at].tag].head++;
                ck_assert_int_eq(train_renewed(&model->train, at), RC_OK);
            }
            break;
        default:
            enter(model);
        }
        return true;
    }
    if (model->lands && (count == 0 || dice(model, 3)))
        end_landing(model);
    else if (count > 0)
        end_test(model, (size_t)ready[pick(model, count)]);
    else
        return !quiet;
    return true;
}

static void check_ends(const struct model *model)
{
    for (size_t i = 0; i < model->pull_count; i++) {
        const struct pull *pull = &model->pulls[i];
        ck_assert_msg(pull->ended, "car %zu has no end", i);
        ck_assert(pull->landed == (pull->end == CAR_LANDED));
        if (pull->landed)
            ck_assert(!pull->bad);
        if (!pull->bad && pull->foe < 0 && pull->clash < 0)
            ck_assert_msg(pull->end == CAR_LANDED || pull->end == CAR_LEFT,
                          "car %zu is good and ended as %s", i, car_state_name(pull->end));
    }
}

static void run_model(uint64_t seed, bool batch)
{
    static struct model model;
    model = (struct model){.random = random_seeded(seed)};
    model.train.cars = model.cars;
    model.rules = (struct train_rules){.batch = batch,
                                       .batch_max = 1 + (size_t)pick(&model, 10),
                                       .ahead_max = 1 + (size_t)pick(&model, 4)};
    int steps = 0;
    for (bool more = true; more; steps++) {
        bool quiet = model.pull_count == MODEL_CARS || steps > MODEL_STEPS / 8;
        ck_assert_int_lt(steps, MODEL_STEPS);
        more = happen(&model, quiet);
        note_ends(&model);
        decide(&model);
    }
    ck_assert_uint_eq(model.train.count, 0);
    check_ends(&model);
    /* A push by a person costs one round; so does a train that was empty. */
    ck_assert_int_le(model.rounds, model.people + (int)model.pull_count + 1);
}

START_TEST(random_trains_land_what_was_verified_and_name_the_guilty)
{
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        run_model(seed, false);
        run_model(seed, true);
    }
}
END_TEST

/* ---- cost ---- */

/* How many verifications a train of 20 with two bad ones costs. */
static int cost_of(const struct train_rules *rules, const bool *bad, size_t count)
{
    struct train_car cars[TRAIN_CARS_MAX];
    struct train train = {.cars = cars, .count = count, .based = true};
    int tests = 0, landed = 0, named = 0;
    for (size_t i = 0; i < count; i++)
        cars[i] = (struct train_car){.seq = (int64_t)i, .tag = i};
    for (size_t at = 0;;) {
        enum train_act act = train_next(&train, rules, &at);
        if (act == TRAIN_REST)
            break;
        if (act == TRAIN_BLAME) {
            ck_assert(bad[cars[at].tag]);
            named++;
        }
        if (act == TRAIN_LAND) {
            landed += (int)at;
            train_landed(&train);
        }
        bool red = false;
        for (size_t i = 0; act == TRAIN_TEST && i <= at; i++)
            red |= bad[cars[i].tag];
        if (act != TRAIN_TEST)
            continue;
        tests++;
        if (red)
            train_failed(&train, at, false);
        else
            train_passed(&train, at);
    }
    ck_assert_int_eq(landed, (int)count - named);
    ck_assert_int_eq(named, 2);
    return tests;
}

START_TEST(twenty_with_two_bad_ones_cost_little)
{
    bool bad[20] = {[6] = true, [13] = true};
    const struct train_rules each = {.batch_max = 8, .ahead_max = 1};
    const struct train_rules batch = {.batch = true, .batch_max = 8, .ahead_max = 1};
    int cost_each = cost_of(&each, bad, 20), cost_batch = cost_of(&batch, bad, 20);
    printf("train: 20 cars, 2 bad: %d verifications each, %d in batches of 8\n", cost_each,
           cost_batch);
    ck_assert_int_eq(cost_each, 20); /* One for each that lands, and one for each bad one. */
    ck_assert_int_le(cost_batch, 12);
}
END_TEST

Suite *train_suite(void)
{
    Suite *suite = suite_create("train");
    TCase *tc = tcase_create("train");
    tcase_add_test(tc, every_state_takes_exactly_the_listed_events);
    tcase_add_test(tc, states_have_names_that_are_read_back);
    tcase_add_test(tc, one_that_does_not_merge_is_blamed_for_a_conflict);
    tcase_add_test(tc, what_comes_next);
    tcase_add_test(tc, a_car_that_enters_restarts_only_what_is_behind_it);
    tcase_add_test(tc, a_new_head_restarts_what_contains_it);
    tcase_add_test(tc, one_that_leaves_restarts_what_is_behind_it);
    tcase_add_test(tc, a_push_by_a_person_restarts_all);
    tcase_add_test(tc, what_did_not_land_behind_one_that_did_is_tested_again);
    tcase_add_test(tc, random_trains_land_what_was_verified_and_name_the_guilty);
    tcase_add_test(tc, twenty_with_two_bad_ones_cost_little);
    suite_add_tcase(suite, tc);
    return suite;
}
