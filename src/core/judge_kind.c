/*
 * judge_kind.c - their names in configurations, results and events.
 */
#include "core/judge_kind.h"
#include <stddef.h>

/* To add one: its kind in core/judge_kind.h and its name here; its settings in struct judge_config
   of core/config/repo_config.h, read by config_decode_judge() in core/config/config_checks.c, in
   schemas/repository.json and in docs/CONFIGURATION.md; and its function in a file of its own (as
   work/steps/judge_command.c), declared in work/steps/judging.h and called by
   work/steps/judge.c. */
const char *const judge_kind_names[] = {
    [JUDGE_RULES] = "rules",
    [JUDGE_COMMAND] = "command",
    [JUDGE_MODEL] = "model",
    NULL,
};
