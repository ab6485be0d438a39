/*
 * whatif_trail.h - what the events of a run tell a simulation beside its row: when only limits held
 * it back, how long people were waited for, and what it had used at which moment of its work.
 */
#ifndef CONTROL_WATCH_WHATIF_TRAIL_H
#define CONTROL_WATCH_WHATIF_TRAIL_H
#include "base/arena.h"
#include "core/run/whatif.h"
#include "store/db.h"

/* Fills ready_us, admitted_us, asking_us and the points.  end_us: until when it is looked at. */
MUST_USE enum rc whatif_trail(struct db *db, struct whatif_run *run, int64_t end_us,
                              struct arena *arena, struct err *err);
#endif
