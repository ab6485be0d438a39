/*
 * task.h - a task's words (mode, risk) and its status, which is only
 * ever a projection of its latest run.
 */
#ifndef CORE_RUN_TASK_H
#define CORE_RUN_TASK_H
#include "base/arena.h"
#include "core/run/run.h"
#include <stdbool.h>
#include <stdint.h>

enum task_status {
    TASK_SUBMITTED,
    TASK_DEFERRED,
    TASK_HYDRATING,
    TASK_RUNNING,
    TASK_FINALIZING,
    TASK_COMPLETED,
    TASK_FAILED,
    TASK_CANCELLED,
    TASK_TIMED_OUT,
    TASK_STATUS_COUNT
};

enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_COUNT };
enum mode { MODE_PATCH_ONLY, MODE_SUPERVISED_PR, MODE_AUTONOMOUS_PR, MODE_COUNT };

/* deferred: a queued run that admission has held back with a reason. */
enum task_status task_status_of(enum run_status latest, bool deferred);
bool task_is_terminal(enum task_status status);

const char *task_status_name(enum task_status status);
const char *risk_name(enum risk risk);
const char *mode_name(enum mode mode);
extern const char *const risk_names[]; /* NULL-terminated, for fields_choice. */
extern const char *const mode_names[];
MUST_USE bool task_status_parse(const char *name, enum task_status *ret_status);
MUST_USE bool risk_parse(const char *name, enum risk *ret_risk);
MUST_USE bool mode_parse(const char *name, enum mode *ret_mode);

/* One line that names the task to people, everywhere the same: the first line of its description
   that is not blank, cut to TASK_TITLE_MAX bytes; else its issue. */
enum { TASK_TITLE_MAX = 100 };
const char *task_title(const char *description, int64_t issue_number, struct arena *arena);

enum { ATTACHMENTS_MAX = 16 };
/* Of a file that comes with a task: 1 to 200 bytes without a slash or control characters. */
bool attachment_name_valid(const char *name);

#endif
