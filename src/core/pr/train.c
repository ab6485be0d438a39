/*
 * train.c - see train.h.  What may happen to a car is one table; the rest finds out which cars an
 * event concerns.
 */
#include "core/pr/train.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

static const struct move {
    bool legal;
    enum car_state next;
} moves[CAR_STATE_COUNT][CAR_EV_COUNT] = {
    [CAR_WAITING][CAR_EV_TEST] = {true, CAR_TESTING},
    [CAR_WAITING][CAR_EV_LAND] = {true, CAR_LANDING}, /* With a green one behind it. */
    [CAR_WAITING][CAR_EV_FAIL] = {true, CAR_RED},     /* Found by the test of a car behind it. */
    [CAR_WAITING][CAR_EV_RESET] = {true, CAR_WAITING},
    [CAR_WAITING][CAR_EV_ARRIVE] = {true, CAR_LANDED},
    [CAR_WAITING][CAR_EV_LEAVE] = {true, CAR_LEFT},

    [CAR_TESTING][CAR_EV_PASS] = {true, CAR_GREEN},
    [CAR_TESTING][CAR_EV_FAIL] = {true, CAR_RED},
    [CAR_TESTING][CAR_EV_RESET] = {true, CAR_WAITING},
    [CAR_TESTING][CAR_EV_ARRIVE] = {true, CAR_LANDED},
    [CAR_TESTING][CAR_EV_LEAVE] = {true, CAR_LEFT},

    [CAR_GREEN][CAR_EV_LAND] = {true, CAR_LANDING},
    [CAR_GREEN][CAR_EV_RESET] = {true, CAR_WAITING},
    [CAR_GREEN][CAR_EV_ARRIVE] = {true, CAR_LANDED},
    [CAR_GREEN][CAR_EV_LEAVE] = {true, CAR_LEFT},

    [CAR_RED][CAR_EV_FAIL] = {true, CAR_RED},
    [CAR_RED][CAR_EV_BLAME] = {true, CAR_REJECTED},
    [CAR_RED][CAR_EV_RESET] = {true, CAR_WAITING},
    [CAR_RED][CAR_EV_ARRIVE] = {true, CAR_LANDED},
    [CAR_RED][CAR_EV_LEAVE] = {true, CAR_LEFT},

    [CAR_LANDING][CAR_EV_ARRIVE] = {true, CAR_LANDED},
    [CAR_LANDING][CAR_EV_MISS] = {true, CAR_WAITING},
};

static const char *const state_names[CAR_STATE_COUNT] = {
    [CAR_WAITING] = "waiting",   [CAR_TESTING] = "testing",   [CAR_GREEN] = "green",
    [CAR_RED] = "red",           [CAR_LANDING] = "landing",   [CAR_LANDED] = "landed",
    [CAR_REJECTED] = "rejected", [CAR_CONFLICT] = "conflict", [CAR_LEFT] = "left",
};
static const char *const event_names[CAR_EV_COUNT] = {
    [CAR_EV_TEST] = "test",     [CAR_EV_PASS] = "pass",   [CAR_EV_FAIL] = "fail",
    [CAR_EV_BLAME] = "blame",   [CAR_EV_RESET] = "reset", [CAR_EV_LAND] = "land",
    [CAR_EV_ARRIVE] = "arrive", [CAR_EV_MISS] = "miss",   [CAR_EV_LEAVE] = "leave",
};

const char *car_state_name(enum car_state state)
{
    assert((unsigned)state < CAR_STATE_COUNT);
    return state_names[state];
}

bool car_state_parse(const char *name, enum car_state *ret_state)
{
    for (int i = 0; i < CAR_STATE_COUNT; i++) {
        if (text_same(state_names[i], name)) {
            *ret_state = (enum car_state)i;
            return true;
        }
    }
    return false;
}

const char *car_event_name(enum car_event event)
{
    assert((unsigned)event < CAR_EV_COUNT);
    return event_names[event];
}

bool car_has_ended(enum car_state state)
{
    return state >= CAR_LANDED;
}

enum rc car_step(struct train_car *car, enum car_event event)
{
    const struct move *move = &moves[car->state][event];
    if (!move->legal)
        return RC_CONFLICT;
    bool blamed = event == CAR_EV_BLAME && car->clash;
    car->state = blamed ? CAR_CONFLICT : move->next;
    if (car->state != CAR_RED && car->state != CAR_CONFLICT)
        car->clash = false;
    return RC_OK;
}

static void must_step(struct train_car *car, enum car_event event)
{
    enum rc rc = car_step(car, event);
    assert(rc == RC_OK);
    (void)rc;
}

/* ---- order ---- */

static int class_of(const struct train_car *car)
{
    return (car->state == CAR_LANDING ? 0 : 2) + (car->urgent ? 0 : 1);
}

static bool is_before(const struct train_car *a, const struct train_car *b)
{
    int first = class_of(a), second = class_of(b);
    return first != second ? first < second : a->seq < b->seq;
}

/* Moves the car to where it belongs among those before it. */
static size_t settle_in(struct train *train, size_t at)
{
    const struct train_car car = train->cars[at];
    for (; at > 0 && is_before(&car, &train->cars[at - 1]); at--)
        train->cars[at] = train->cars[at - 1];
    train->cars[at] = car;
    return at;
}

void train_sort(struct train *train)
{
    for (size_t i = 1; i < train->count; i++)
        (void)settle_in(train, i);
}

void train_shed(struct train *train)
{
    size_t kept = 0;
    for (size_t i = 0; i < train->count; i++) {
        if (!car_has_ended(train->cars[i].state))
            train->cars[kept++] = train->cars[i];
    }
    train->count = kept;
    if (kept == 0)
        train->based = false;
}

void train_check(const struct train *train)
{
    bool landing = true;
    assert(train->count <= TRAIN_CARS_MAX);
    for (size_t i = 0; i < train->count; i++) {
        const struct train_car *car = &train->cars[i];
        assert(!car_has_ended(car->state));
        assert(car->clash ? car->state == CAR_RED : true);
        assert(i == 0 || is_before(&train->cars[i - 1], car));
        landing = landing && car->state == CAR_LANDING;
        assert(landing || car->state != CAR_LANDING);
    }
}

/* ---- events ---- */

/* Those from `at` on were verified with cars that have changed. */
static void reset_from(struct train *train, size_t at)
{
    for (size_t i = at; i < train->count; i++) {
        enum car_state state = train->cars[i].state;
        if (state != CAR_LANDING && !car_has_ended(state))
            must_step(&train->cars[i], CAR_EV_RESET);
    }
}

void train_entered(struct train *train)
{
    assert(train->count > 0);
    size_t at = settle_in(train, train->count - 1);
    reset_from(train, at + 1);
}

enum rc train_renewed(struct train *train, size_t at)
{
    if (train->cars[at].state == CAR_LANDING)
        return RC_CONFLICT;
    must_step(&train->cars[at], CAR_EV_RESET);
    reset_from(train, settle_in(train, at)); /* Also those that it has passed. */
    return RC_OK;
}

enum rc train_left(struct train *train, size_t at)
{
    enum rc rc = car_step(&train->cars[at], CAR_EV_LEAVE);
    if (rc == RC_OK)
        reset_from(train, at + 1);
    return rc;
}

void train_passed(struct train *train, size_t at)
{
    must_step(&train->cars[at], CAR_EV_PASS);
}

void train_failed(struct train *train, size_t at, bool clash)
{
    struct train_car *car = &train->cars[at];
    if (car_step(car, CAR_EV_FAIL) == RC_OK)
        car->clash = clash;
    /* What is merged onto one that does not merge cannot be there: it was not tested. */
    if (clash)
        reset_from(train, at + 1);
}

void train_untested(struct train *train, size_t at)
{
    if (train->cars[at].state == CAR_TESTING)
        must_step(&train->cars[at], CAR_EV_RESET);
}

/* While cars land, the end of that says what the target is. */
void train_moved(struct train *train, bool based)
{
    bool landing = train->count > 0 && train->cars[0].state == CAR_LANDING;
    reset_from(train, 0);
    train->based = based && !landing;
}

void train_landed(struct train *train)
{
    for (size_t i = 0; i < train->count && train->cars[i].state == CAR_LANDING; i++)
        must_step(&train->cars[i], CAR_EV_ARRIVE);
    train->based = true;
}

/* The first of them may have arrived by themselves. */
void train_missed(struct train *train)
{
    for (size_t i = 0; i < train->count; i++) {
        if (train->cars[i].state == CAR_LANDING)
            must_step(&train->cars[i], CAR_EV_MISS);
    }
    reset_from(train, 0);
    train->based = false;
    train_sort(train);
}

void train_arrived(struct train *train, size_t at)
{
    must_step(&train->cars[at], CAR_EV_ARRIVE);
    reset_from(train, at + 1);
}

/* ---- what next ---- */

/* The state of the train as the decisions see it. */
struct survey {
    size_t green;   /* How many from the first on may land. */
    size_t landing; /* How many land. */
    size_t testing; /* How many positions are tested. */
    size_t red;     /* The first that is red; count: none. */
    size_t waiting; /* The first that waits; count: none. */
};

/* In a batch one that is green stands for all before it: they were verified together.  So what is
   changed before it resets it, and nothing else was verified. */
static struct survey survey_of(const struct train *train, const struct train_rules *rules)
{
    struct survey survey = {.red = train->count, .waiting = train->count};
    for (size_t i = 0; i < train->count; i++) {
        enum car_state state = train->cars[i].state;
        bool green = state == CAR_GREEN || state == CAR_LANDING;
        if (green && (rules->batch || survey.green == i))
            survey.green = i + 1;
        survey.landing += state == CAR_LANDING;
        survey.testing += state == CAR_TESTING;
        if (state == CAR_RED && i < survey.red)
            survey.red = i;
        if (state == CAR_WAITING && i < survey.waiting)
            survey.waiting = i;
    }
    return survey;
}

/* The position that is tested next; count: none. */
static size_t choose_each(const struct train *train, const struct survey *survey,
                          const struct train_rules *rules)
{
    size_t at = survey->waiting;
    size_t ahead = train->based ? rules->ahead_max : 1;
    bool blocked = !train->based && survey->landing > 0;
    /* Behind one that failed nothing can land. */
    bool useful = at < rules->batch_max && at < survey->red;
    return !blocked && useful && survey->testing < ahead ? at : train->count;
}

static size_t choose_batch(const struct train *train, const struct survey *survey,
                           const struct train_rules *rules)
{
    if (survey->testing > 0 || survey->landing > 0)
        return train->count;
    size_t red = survey->red;
    if (red == train->count) /* The last of the batch. */
        return (train->count < rules->batch_max ? train->count : rules->batch_max) - 1;
    /* One that does not merge says nothing about those before it: they are the batch. */
    return train->cars[red].clash ? red - 1 : survey->green + (red - survey->green - 1) / 2;
}

static bool may_land(const struct train *train, const struct survey *survey,
                     const struct train_rules *rules)
{
    if (!train->based || survey->landing > 0 || survey->green == 0)
        return false;
    /* A batch that is being bisected lands as far as it is known to be green, at its end. */
    return !rules->batch || (survey->testing == 0 && survey->red == train->count);
}

static void land(struct train *train, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must_step(&train->cars[i], CAR_EV_LAND);
}

enum train_act train_next(struct train *train, const struct train_rules *rules, size_t *ret_at)
{
    train_shed(train);
    train_check(train);
    struct survey survey = survey_of(train, rules);
    if (train->count == 0)
        return TRAIN_REST;
    if (survey.red < train->count && survey.red == survey.green) {
        *ret_at = survey.red;
        must_step(&train->cars[survey.red], CAR_EV_BLAME);
        reset_from(train, survey.red + 1);
        return TRAIN_BLAME;
    }
    if (may_land(train, &survey, rules)) {
        *ret_at = survey.green;
        land(train, survey.green);
        return TRAIN_LAND;
    }
    size_t at = rules->batch ? choose_batch(train, &survey, rules)
                             : choose_each(train, &survey, rules);
    if (at >= train->count)
        return TRAIN_REST;
    *ret_at = at;
    must_step(&train->cars[at], CAR_EV_TEST);
    return TRAIN_TEST;
}
