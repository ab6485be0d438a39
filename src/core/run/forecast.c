#include "core/run/forecast.h"
#include "base/clock.h"
#include "base/js.h"
#include <assert.h>

enum { TEXT_BYTES = 512 };

static bool is_similar(const struct past_run *run, const struct past_run *wanted)
{
    return text_same(run->task_type, wanted->task_type) && text_same(run->agent, wanted->agent);
}

/* The figures of the runs that count, in three columns. */
struct sample {
    int64_t cost[FORECAST_RUNS_MAX], turns[FORECAST_RUNS_MAX], work[FORECAST_RUNS_MAX];
    int count;
};

static void insert(int64_t *sorted, int count, int64_t value)
{
    int at = count;
    for (; at > 0 && sorted[at - 1] > value; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = value;
}

static struct sample take(const struct past_run *runs, size_t count, const struct past_run *wanted)
{
    struct sample sample = {.count = 0};
    for (size_t i = 0; i < count && sample.count < FORECAST_RUNS_MAX; i++) {
        if (wanted != NULL && !is_similar(&runs[i], wanted))
            continue;
        insert(sample.cost, sample.count, runs[i].cost_microusd);
        insert(sample.turns, sample.count, runs[i].turns);
        insert(sample.work, sample.count, runs[i].work_us);
        sample.count++;
    }
    return sample;
}

/* Nearest rank: the smallest value that so many of ten are not above. */
static int64_t ranked(const int64_t *sorted, int count, int tenths)
{
    assert(count > 0);
    return sorted[(count * tenths + 9) / 10 - 1];
}

static struct forecast_figure figure(const int64_t *sorted, int count)
{
    return (struct forecast_figure){ranked(sorted, count, 5), ranked(sorted, count, 9)};
}

struct forecast forecast_make(const struct past_run *runs, size_t count,
                              const struct past_run *wanted)
{
    struct sample sample = take(runs, count, wanted);
    bool similar = sample.count >= FORECAST_RUNS_MIN;
    if (!similar)
        sample = take(runs, count, NULL);
    if (sample.count < FORECAST_RUNS_MIN)
        return (struct forecast){.runs = 0};
    return (struct forecast){
        .runs = sample.count,
        .similar = similar,
        .cost_microusd = figure(sample.cost, sample.count),
        .turns = figure(sample.turns, sample.count),
        .work_us = figure(sample.work, sample.count),
    };
}

/* ---- words ---- */

static double usd(int64_t microusd)
{
    return (double)microusd / 1e6;
}

static int64_t seconds(int64_t us)
{
    return us / US_PER_SECOND;
}

struct str forecast_text(const struct forecast *forecast, struct arena *arena)
{
    if (forecast->runs == 0)
        return (struct str){0};
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, TEXT_BYTES);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kreal(&jw, "costUsd", usd(forecast->cost_microusd.median));
    jw_kreal(&jw, "costUsdP90", usd(forecast->cost_microusd.p90));
    jw_kint(&jw, "turns", forecast->turns.median);
    jw_kint(&jw, "turnsP90", forecast->turns.p90);
    jw_kint(&jw, "seconds", seconds(forecast->work_us.median));
    jw_kint(&jw, "secondsP90", seconds(forecast->work_us.p90));
    jw_key(&jw, "basedOn");
    jw_begin(&jw, '{');
    jw_kint(&jw, "runs", forecast->runs);
    jw_kstr(&jw, "scope", forecast->similar ? "similar" : "repository");
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    assert(!text.overflow);
    return (struct str){arena_strndup(arena, text.data, text.len), text.len};
}

void forecast_write_error(struct jw *jw, const char *key, struct str text,
                          const struct past_run *actual)
{
    CLEANUP(js_freep) struct js *forecast = NULL;
    if (text.len == 0 || js_parse(text.at, text.len, &forecast, NULL) != RC_OK)
        return;
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kreal(jw, "costUsd", usd(actual->cost_microusd) - js_num(js_get(forecast, "costUsd"), 0));
    jw_kint(jw, "turns", actual->turns - js_get_int(forecast, "turns", 0));
    jw_kint(jw, "seconds", seconds(actual->work_us) - js_get_int(forecast, "seconds", 0));
    jw_end(jw, '}');
}

const char *forecast_warning(const struct forecast *forecast, const struct forecast_limits *limits,
                             struct arena *arena)
{
    const char *like = forecast->similar ? "similar tasks" : "tasks of this repository";
    if (forecast->runs == 0)
        return NULL;
    if (limits->cost_microusd > 0 && forecast->cost_microusd.p90 > limits->cost_microusd)
        return arena_printf(arena,
                            "one in ten %s cost %.2f USD or more, and the budget is %.2f USD: it "
                            "may be stopped before it is done",
                            like, usd(forecast->cost_microusd.p90), usd(limits->cost_microusd));
    if (limits->turns > 0 && forecast->turns.p90 > limits->turns)
        return arena_printf(arena,
                            "one in ten %s took %lld turns or more, and the limit is %lld: it may "
                            "be stopped before it is done",
                            like, (long long)forecast->turns.p90, (long long)limits->turns);
    return NULL;
}
