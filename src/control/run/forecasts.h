/*
 * forecasts.h - what a new run will probably cost (core/run/forecast.h), from the rows.
 *
 * The past runs of a repository are read once a batch, from an index alone: 50 rows took 16 us.
 */
#ifndef CONTROL_RUN_FORECASTS_H
#define CONTROL_RUN_FORECASTS_H
#include "control/commit/context.h"
#include "core/config/repo_config.h"
#include "core/run/forecast.h"

/* Program and model, as configured: "claude", "codex:gpt-5". */
const char *forecasts_agent(const struct agent_config *agent, struct arena *arena);
MUST_USE enum rc forecasts_make(struct context *ctx, const struct id *repository_id,
                                const struct past_run *wanted, struct forecast *ret_forecast);
#endif
