/*
 * doctor_metrics.h - counters of /metrics, recomputed from the log.
 *
 *   agent_runs{status="completed"} and the other ends    events agent.run.completed, ...
 *   agent_runs, all together                             events agent.run.queued
 *   agent_train_landed_total, _rejected_total            events agent.train.landed, .rejected
 *
 * What retention has deleted counts with it, on the side that it was on (store/retention_sums.h).
 * Other metrics are of the process, or of what waits now: no event says them.
 */
#ifndef CONTROL_WATCH_DOCTOR_METRICS_H
#define CONTROL_WATCH_DOCTOR_METRICS_H
#include "control/watch/doctor.h"
#include "store/db.h"

/* The types of events that are counted. */
enum { DOCTOR_COUNTED = 7 };
const char *doctor_counted_type(int at); /* From 0. */
int doctor_counted(const char *type);    /* -1: it is none of them. */

/* The check `metrics`.  Reads the whole log once, by itself in a transaction. */
MUST_USE enum rc doctor_metrics(struct db *db, struct arena *arena, struct doctor_check *ret_check,
                                struct err *err);
#endif
