/*
 * questions.h - what agents ask people.
 */
#ifndef STORE_QUESTIONS_H
#define STORE_QUESTIONS_H
#include "store/waiting.h"

struct question_row {
    struct id id;
    struct id task_id;
    struct id run_id;
    const char *asked_by; /* agent, or the worker that asked for it */
    const char *text;
    struct str options;         /* JSON array of texts; empty: any answer */
    const char *default_answer; /* At the deadline; or NULL */
    const char *status;         /* pending, answered, expired, cancelled */
    const char *answer;         /* or NULL */
    const char *answered_by;    /* or NULL */
    int64_t attempt;            /* Of the agent that asked. */
    int64_t requested_us, expires_us, answered_us;
    int64_t delivered_us; /* An agent was given the answer then; 0: none was. */
    int64_t reminded;     /* How many times. */
};
MUST_USE enum rc questions_insert(struct db *db, const struct question_row *row, struct err *err);
MUST_USE enum rc questions_get(struct db *db, const struct id *id, struct arena *arena,
                               struct question_row *ret_row, struct err *err);
/* Without a lock: the run is locked before its questions. */
MUST_USE enum rc questions_run_of(struct db *db, const struct id *id, struct id *ret_run_id,
                                  struct err *err);
MUST_USE enum rc questions_save(struct db *db, const struct question_row *row, struct err *err);
/* An agent is given all answers of the run. */
MUST_USE enum rc questions_deliver(struct db *db, const struct id *run_id, int64_t now_us,
                                   struct err *err);
/* Newest first. */
MUST_USE enum rc questions_list(struct db *db, const struct waiting_filter *filter,
                                struct arena *arena, struct question_row **ret_rows,
                                size_t *ret_count, struct err *err);
#endif
