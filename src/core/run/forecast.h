/*
 * forecast.h - what a run will probably cost, from those that completed before it.  Pure.
 *
 *   of the newest FORECAST_RUNS_MAX runs of the repository that completed: those of the same task
 *   type and agent, if there are FORECAST_RUNS_MIN; else all, if there are; else no forecast.
 *   Median and 90th percentile, by nearest rank.
 *
 * Only completed runs count: what a failed one cost says when it failed, not what the work takes.
 */
#ifndef CORE_RUN_FORECAST_H
#define CORE_RUN_FORECAST_H
#include "base/arena.h"
#include "base/jw.h"
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

enum { FORECAST_RUNS_MIN = 3, FORECAST_RUNS_MAX = 50 };

struct past_run {
    const char *task_type, *agent; /* agent: program and model, as configured */
    int64_t cost_microusd, turns, work_us;
};

struct forecast {
    int64_t runs; /* It is based on so many; 0: there is no forecast. */
    bool similar; /* Of the same type and agent; else any of the repository. */
    struct forecast_figure {
        int64_t median, p90;
    } cost_microusd, turns, work_us;
};

/* wanted: its task_type and agent.  runs: newest first; those beyond FORECAST_RUNS_MAX do not
   count. */
struct forecast forecast_make(const struct past_run *runs, size_t count,
                              const struct past_run *wanted);

/* {costUsd, costUsdP90, turns, turnsP90, seconds, secondsP90, basedOn: {runs, scope}}; empty
   without a forecast. */
struct str forecast_text(const struct forecast *forecast, struct arena *arena);
/* Actual minus expected, {costUsd, turns, seconds}, of a run that has ended: a member of an open
   object.  Writes nothing without a forecast, or when the text is none. */
void forecast_write_error(struct jw *jw, const char *key, struct str text,
                          const struct past_run *actual);

struct forecast_limits { /* 0: none */
    int64_t cost_microusd, turns;
};
/* For people: nine of ten such runs stay below more than the limit allows; NULL: it is enough. */
const char *forecast_warning(const struct forecast *forecast, const struct forecast_limits *limits,
                             struct arena *arena);
#endif
