/*
 * agents.h - the registry of agents, one row each.
 *
 * A heartbeat writes seen_us and nothing else.  What an agent has claimed is not counted in its
 * row: jobs of type pull that are leased under its name are counted where that matters.
 */
#ifndef STORE_AGENTS_H
#define STORE_AGENTS_H
#include "core/agent/instance.h"
#include "store/jobs.h"

struct agent_row {
    struct id id;
    struct id workspace_id;
    const char *name;
    const char *persona;             /* or NULL */
    int64_t capacity;                /* Pieces of work at once. */
    const char *queue;               /* agent.queue of the repositories that it works for. */
    bool general;                    /* It takes work that is for any agent, too. */
    struct str repositories, labels; /* JSON arrays; empty: all. */
    const char *profile;             /* or NULL */
    struct str config;               /* To launch it: as `agent` of a repository; or empty. */
    const char *prompt;              /* What a launched one is told; or NULL */
    const char *account;             /* or NULL */
    int64_t heartbeat_ms;            /* Without one for so long it is late. */
    int64_t restart_max, backoff_ms;
    enum restart_policy restart;

    enum instance_state state;
    int64_t failures;        /* In a row. */
    int64_t restarts;        /* Starts after the first, since it was launched. */
    int64_t seen_us;         /* 0: never */
    int64_t begun_us;        /* Of its process; 0: it has none. */
    const char *worker;      /* That runs its process, or NULL. */
    struct id job_id;        /* That starts its process, or none. */
    struct id token_id;      /* Its own token, or none. */
    enum kill_policy policy; /* Of the last kill. */
    const char *reason;      /* Of the same, or NULL. */
    const char *last_error;  /* Why its process ended last, or NULL. */
    const char *created_by;
    int64_t created_us, updated_us;
};

/* By its id, or by its name where that is given. */
struct agent_ref {
    struct id id;
    const char *name; /* or NULL */
};

/* RC_CONFLICT, AGENT_EXISTS. */
MUST_USE enum rc agents_insert(struct db *db, const struct agent_row *row, struct err *err);
/* Locked. */
MUST_USE enum rc agents_get(struct db *db, const struct id *id, struct arena *arena,
                            struct agent_row *ret_row, struct err *err);
/* Locked; RC_NOT_FOUND: none is registered under this name. */
MUST_USE enum rc agents_by_name(struct db *db, const struct id *workspace_id, const char *name,
                                struct arena *arena, struct agent_row *ret_row, struct err *err);
/* One of the two.  RC_NOT_FOUND names it. */
MUST_USE enum rc agents_find(struct db *db, const struct agent_ref *ref, struct arena *arena,
                             struct agent_row *ret_row, struct err *err);
MUST_USE enum rc agents_save(struct db *db, const struct agent_row *row, struct err *err);
/* Never moves back. */
MUST_USE enum rc agents_seen(struct db *db, const struct id *id, int64_t now_us, struct err *err);
MUST_USE enum rc agents_remove(struct db *db, const struct id *id, struct err *err);

struct agent_filter { /* NULL, none or -1: any */
    const char *persona, *name;
    int state;
    struct id before;
    int64_t limit;
};
/* Newest first. */
MUST_USE enum rc agents_list(struct db *db, const struct agent_filter *filter, struct arena *arena,
                             struct agent_row **ret_rows, size_t *ret_count, struct err *err);
MUST_USE enum rc agents_count(struct db *db, int64_t *ret_count, struct err *err);
/* Names of those that were killed since then, at most so many: the latest. */
MUST_USE enum rc agents_killed_since(struct db *db, int64_t since_us, int64_t limit,
                                     struct arena *arena, const char ***ret_names,
                                     size_t *ret_count, struct err *err);

/* What is leased under the name. */
MUST_USE enum rc agents_claims(struct db *db, const char *name, struct arena *arena,
                               struct id **ret_job_ids, size_t *ret_count, struct err *err);
MUST_USE enum rc agents_count_claims(struct db *db, const char *name, int64_t *ret_count,
                                     struct err *err);
#endif
