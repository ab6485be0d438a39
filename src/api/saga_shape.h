/*
 * saga_shape.h - a saga in JSON: by itself, and in a dead letter of it.
 */
#ifndef API_SAGA_SHAPE_H
#define API_SAGA_SHAPE_H
#include "base/jw.h"
#include "store/jobs.h"
#include "store/sagas.h"

/* {id, name, status, ...}; leaves the object open. */
void shape_saga_open(struct jw *jw, const struct saga_row *saga);
/* "history": [{no, step, phase, status, jobId, result, error, startedAt, endedAt}, ...] */
void shape_saga_history(struct jw *jw, const struct saga_step_row *steps, size_t count);

/* "saga": {..., history}, or nothing at all when the job is not a step of one. */
MUST_USE enum rc shape_saga_of_job(struct jw *jw, struct db *db, const struct job_row *job,
                                   struct arena *arena, struct err *err);
#endif
