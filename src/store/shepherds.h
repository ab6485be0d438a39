/*
 * shepherds.h - how far drover has come with each pull request that it follows, and the failures of
 * checks that it knows.
 *
 * What is true of the pull request stands at the forge; this is what drover has seen, done and
 * spent.
 */
#ifndef STORE_SHEPHERDS_H
#define STORE_SHEPHERDS_H
#include "core/pr/shepherd.h"
#include "store/db.h"

struct shepherd_row {
    struct id pull_request_id;
    struct id repository_id;
    struct id work_id;     /* What is under way: the task of a repair, or the job. */
    struct id job_id;      /* Of the look or the acts that are under way; or none. */
    struct id approval_id; /* What a person was asked last; or none. */
    bool certified;        /* certified_head was verified with success. */
    bool again;            /* Look again when the job is done. */
    bool stopped;          /* A person has said that drover is to leave it alone. */
    bool unanswered;       /* `threads` are not answered yet. */
    enum shepherd_state state;
    enum ci_cause cause;        /* Of the red checks of failed_head. */
    const char *reason;         /* Why it is in this state; NULL before the first look. */
    const char *head;           /* As seen last; NULL before the first look. */
    int64_t head_since_us;      /* Seen first then. */
    const char *certified_head; /* That was verified last. */
    const char *certificate_sha256;
    const char *shown_head; /* Whose certificate stands at the forge. */
    /* Used up: of this head, */
    int64_t verifies, reruns, merges;
    int64_t rerun_us; /* The last rerun; 0: none. */
    /* and of the pull request since it was opened, or since a person let it go on. */
    int64_t repairs, rebases, repair_microusd;
    int64_t budget_since_us;
    const char *work; /* repair, rebase, verify; NULL: none is under way. */
    const char *work_head;
    const char *work_cause;     /* repair_cause_name */
    const char *conflict_head;  /* That does not merge with the target, as drover found out. */
    const char *stuck_head;     /* Whose rebase did not apply, */
    const char *stuck_base;     /* and the commit of the target; or NULL */
    const char *empty_head;     /* Whose rebase left nothing. */
    const char *submitted_head; /* Told to the train or the forge. */
    const char *approval_head;  /* What the approval is about. */
    const char *granted_head;   /* A person has agreed to merge it. */
    int64_t reviewed_us;        /* What was said until then was given to a repair. */
    int64_t reviewing_us;       /* The same, of the repair that is under way. */
    struct str threads;         /* JSON array: threads of the last repair; or empty. */
    const char *failed_head;    /* Whose checks were red when it was looked at. */
    struct str failures;        /* JSON array: {check, cause, why, fingerprint, line}; or empty. */
    const char *fault;          /* What a repair is to mend, for its prompt; or NULL. */
    struct str passed;          /* JSON array: checks that have passed at this head; or empty. */
    int64_t acts;               /* Told to the forge last, */
    int64_t rounds;             /* so many times in a row. */
    int64_t looked_us;          /* The last look; 0: none yet. */
    int64_t created_us, updated_us, ended_us;
};

MUST_USE enum rc shepherds_insert(struct db *db, const struct shepherd_row *row, struct err *err);
MUST_USE enum rc shepherds_get(struct db *db, const struct id *pull_request_id, struct arena *arena,
                               struct shepherd_row *ret_row, struct err *err);
MUST_USE enum rc shepherds_save(struct db *db, const struct shepherd_row *row, struct err *err);
/* How many are in each state. */
struct shepherd_counts {
    int64_t by_state[SHEPHERD_STATE_COUNT];
};
MUST_USE enum rc shepherds_count(struct db *db, struct shepherd_counts *ret_counts,
                                 struct err *err);

/* The latest run of the repair that is under way for it; looked up without a lock.  RC_NOT_FOUND:
   none is. */
MUST_USE enum rc shepherds_repair_run(struct db *db, const struct id *pull_request_id,
                                      struct id *ret_run_id, struct err *err);

/* A failure of checks, by its fingerprint: core/pr/ci_failure.h. */
struct ci_failure_row {
    struct id repository_id;
    const char *fingerprint;
    const char *check_name;
    enum ci_cause cause;
    const char *line;          /* The one that says most. */
    const char *cure;          /* rerun, repair; NULL: none is known. */
    struct id pull_request_id; /* Where it was seen last. */
    int64_t paid;              /* Repairs that were begun for it and did not cure it. */
    int64_t seen;              /* Heads that had it. */
    int64_t first_us, last_us;
};
MUST_USE enum rc ci_failures_put(struct db *db, const struct ci_failure_row *row, struct err *err);
/* RC_NOT_FOUND */
MUST_USE enum rc ci_failures_get(struct db *db, const struct id *repository_id,
                                 const char *fingerprint, struct arena *arena,
                                 struct ci_failure_row *ret_row, struct err *err);
#endif
