#include "control/admit/limit_fields.h"
#include "core/run/budget_tree.h"
#include <math.h>

enum { TASK_TYPES_MAX = 64 };
#define COUNT_MAX INT64_C(1000000)
static const double cost_usd_max = 1e9;

/* {upgrade: 2, ...} */
static void read_task_types(struct fields *fields, struct arena *arena,
                            struct committer_limits *limits)
{
    const struct js *types = NULL, *value;
    const char *name;
    fields_object(fields, "taskTypes", FIELD_OPTIONAL, &types);
    if (js_count(types) > TASK_TYPES_MAX)
        fields_fail(fields, "taskTypes", "taskTypes must have at most %d members", TASK_TYPES_MAX);
    if (types == NULL || fields->rc != RC_OK)
        return;
    struct task_type_limit *rows = arena_array(arena, js_count(types), sizeof *rows);
    limits->task_type_count = 0;
    for (size_t at = 0; js_next(types, &at, &name, &value);) {
        int64_t max = js_int(value, -1);
        if (max < 0 || max > COUNT_MAX)
            fields_fail(fields, "taskTypes", "taskTypes.%.64s must be a number from 0 to %lld",
                        name, (long long)COUNT_MAX);
        rows[limits->task_type_count++] = (struct task_type_limit){arena_strdup(arena, name), max};
    }
    limits->task_types = rows;
}

/* What happens to what runs when costPerDayUsd is spent. */
static const char *const day_actions[] = {"finish", "stop", NULL};

void limit_fields_read(struct fields *fields, struct arena *arena, struct committer_limits *limits)
{
    const struct field_range count = {0, COUNT_MAX};
    double usd = (double)limits->cost_per_day_microusd / 1e6;
    fields_int(fields, "maxActiveRuns", FIELD_OPTIONAL, &count, &limits->max_active_runs);
    fields_int(fields, "maxActiveRunsPerUser", FIELD_OPTIONAL, &count,
               &limits->max_active_runs_user);
    fields_int(fields, "maxActiveRunsPerWorkspace", FIELD_OPTIONAL, &count,
               &limits->max_active_runs_workspace);
    fields_int(fields, "sandboxes", FIELD_OPTIONAL, &count, &limits->sandboxes);
    fields_int(fields, "tasksPerHourPerUser", FIELD_OPTIONAL, &count, &limits->tasks_per_hour_user);
    fields_real(fields, "costPerDayUsd", FIELD_OPTIONAL, &(struct field_real){0, cost_usd_max},
                &usd);
    limits->cost_per_day_microusd = llround(usd * 1e6);
    int stops = limits->cost_per_day_stops;
    fields_choice(fields, "costPerDayAction", FIELD_OPTIONAL, day_actions, &stops);
    limits->cost_per_day_stops = stops != 0;
    usd = (double)limits->cost_per_run_microusd / 1e6;
    fields_real(fields, "costPerRunUsd", FIELD_OPTIONAL, &(struct field_real){0, cost_usd_max},
                &usd);
    limits->cost_per_run_microusd = llround(usd * 1e6);
    fields_int(fields, "subtaskDepth", FIELD_OPTIONAL, &(struct field_range){0, SUBTASK_DEPTH_MAX},
               &limits->subtask_depth);
    fields_int(fields, "subtasksPerTask", FIELD_OPTIONAL,
               &(struct field_range){1, SUBTASKS_PER_TASK_MAX}, &limits->subtasks_per_task);
    fields_int(fields, "subtasksPerTree", FIELD_OPTIONAL,
               &(struct field_range){2, SUBTASK_RUNS_MAX}, &limits->subtasks_per_tree);
    read_task_types(fields, arena, limits);
}
