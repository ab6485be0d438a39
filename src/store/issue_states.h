/*
 * issue_states.h - issues on their way to production: what their events come to, one row each.
 *
 * The row is a projection of the log, written in the transaction of the event that changes it, and
 * can be folded again from the events of its correlation (core/conductor/issue.h).  Whether an
 * issue waits for others is not stored: it follows from their rows.
 */
#ifndef STORE_ISSUE_STATES_H
#define STORE_ISSUE_STATES_H
#include "core/conductor/issue.h"
#include "store/db.h"

struct issue_row {
    struct id id; /* The correlation of its events. */
    struct id workspace_id;
    const char *issue_id; /* Unique in its workspace. */
    struct issue_life life;
    struct id last_event_id;
    int64_t created_us, updated_us;
};

/* Also the rows of what it depends on. */
MUST_USE enum rc issue_states_insert(struct db *db, const struct issue_row *row, struct err *err);
/* All but the key, its name and created_us. */
MUST_USE enum rc issue_states_save(struct db *db, const struct issue_row *row, struct err *err);
/* Replaces the rows of what it depends on. */
MUST_USE enum rc issue_states_save_needs(struct db *db, const struct issue_row *row,
                                         struct err *err);
/* Locks the row; RC_NOT_FOUND, ISSUE_UNKNOWN. */
MUST_USE enum rc issue_states_get(struct db *db, const struct id *id, struct arena *arena,
                                  struct issue_row *ret_row, struct err *err);
struct issue_ref {
    struct id workspace_id;
    const char *issue_id;
};
MUST_USE enum rc issue_states_find(struct db *db, const struct issue_ref *ref, struct arena *arena,
                                   struct issue_row *ret_row, struct err *err);
/* Without a lock. */
MUST_USE enum rc issue_states_peek(struct db *db, const struct issue_ref *ref, struct arena *arena,
                                   struct issue_row *ret_row, struct err *err);
/* Locks the row of the issue that this task works on; RC_NOT_FOUND. */
MUST_USE enum rc issue_states_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                                      struct issue_row *ret_row, struct err *err);
/* Does the task work on an issue?  Without a lock. */
MUST_USE enum rc issue_states_has_task(struct db *db, const struct id *task_id, bool *ret_has,
                                       struct err *err);
/* How many issues that it depends on are not done. */
MUST_USE enum rc issue_states_blocked(struct db *db, const struct id *id, int64_t *ret_count,
                                      struct err *err);

struct issue_filter { /* NULL, -1 or none: any */
    const char *agent, *milestone, *repository;
    int stage;        /* enum issue_stage or -1 */
    bool at_work;     /* Only those that their agent should work on. */
    struct id before; /* The cursor: newest first. */
    int64_t limit;
};
MUST_USE enum rc issue_states_list(struct db *db, const struct issue_filter *filter,
                                   struct arena *arena, struct issue_row **ret_rows,
                                   size_t *ret_count, struct err *err);
/* Those that wait for an agent and for no other issue, by priority, then by approval.  skip: the
   first so many are left out. */
struct issue_ready_ask {
    int64_t limit, skip;
    const char *persona; /* Only those that ask for it, "" for none at all; NULL: any. */
};
MUST_USE enum rc issue_states_ready(struct db *db, const struct issue_ready_ask *ask,
                                    struct arena *arena, struct issue_row **ret_rows,
                                    size_t *ret_count, struct err *err);
/* By stage, enum issue_stage. */
MUST_USE enum rc issue_states_count(struct db *db, int64_t ret_counts[STAGE_COUNT],
                                    struct err *err);

/* ---- heartbeats: of the agent that an issue is assigned to ---- */

struct issue_beat {
    struct id id; /* Of the issue's row. */
    const char *agent;
    int64_t seen_us;
};
MUST_USE enum rc issue_beats_put(struct db *db, const struct issue_beat *beat, struct err *err);
/* 0: none of this agent. */
MUST_USE enum rc issue_beats_seen(struct db *db, const struct issue_beat *who, int64_t *ret_seen_us,
                                  struct err *err);
struct issue_beat_prune {
    int64_t before_us, limit;
};
MUST_USE enum rc issue_beats_prune(struct db *db, const struct issue_beat_prune *prune,
                                   int64_t *ret_count, struct err *err);

/* ---- results of agents ---- */

struct agent_result {
    const char *agent;
    int64_t done, work_us, stuck;
};
/* Adds to what is there. */
MUST_USE enum rc agent_results_add(struct db *db, const struct agent_result *more, struct err *err);

/* How busy an agent is, and what it has come to. */
struct agent_standing {
    struct agent_result result;
    int64_t load; /* Issues that it should be working on. */
};
/* Of all agents that have an issue or a result, by name; at most limit. */
MUST_USE enum rc agent_standings(struct db *db, int64_t limit, struct arena *arena,
                                 struct agent_standing **ret_rows, size_t *ret_count,
                                 struct err *err);

/* ---- milestones ---- */

struct milestone_row {
    struct id workspace_id;
    const char *name;
    struct id id;         /* The correlation of its events. */
    int64_t completed_us; /* 0: issues of it are open. */
};
/* Makes it, or finds it: locked. */
MUST_USE enum rc milestones_enter(struct db *db, const struct milestone_row *row,
                                  struct arena *arena, struct milestone_row *ret_row,
                                  struct err *err);
MUST_USE enum rc milestones_save(struct db *db, const struct milestone_row *row, struct err *err);
struct milestone_counts {
    int64_t issues, done;
};
MUST_USE enum rc milestones_count(struct db *db, const struct milestone_row *row,
                                  struct milestone_counts *ret_counts, struct err *err);
#endif
