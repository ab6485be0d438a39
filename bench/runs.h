/*
 * runs.h - runs of 8 steps that do nothing, through a control plane in this process: what drover
 * itself costs a run, with its state, its events and its jobs.
 *
 * The 8 steps are admit, prepare, hydrate, agent, verify, judge, publish and clean.  Each but the
 * first is a job that one of many workers leases and completes with a ready-made result.
 */
#ifndef BENCH_RUNS_H
#define BENCH_RUNS_H
#include "bench/plant.h"
#include "bench/report.h"

enum { RUNS_AT_ONCE_MAX = 256, RUNS_PAYLOAD_BYTES = 810 /* As a step's job has. */ };

struct runs;
struct runs *runs_open(const struct plant_setup *setup);
void runs_close(struct runs *runs);

struct runs_wish {
    int64_t total;   /* Runs. */
    int64_t at_once; /* Of them under way, or commands. */
};
/* Each adds a value to the figure; batch and the like are kept of the best one. */

/* From submission to cleaned up: runs/s.  Workers take one job at a time from the queues of all
   steps, as slots of a real worker do; a new run is submitted when one has been cleaned up. */
void runs_whole(struct runs *runs, const struct runs_wish *wish, struct figure *figure);
/* Nothing but completions that move a run to its next step: commands/s.  All runs are submitted
   before, and their jobs are leased while the clock stands still. */
void runs_moves(struct runs *runs, const struct runs_wish *wish, struct figure *figure);

/* The payload of a job, for the bare loops: JSON. */
const char *runs_payload(void);
int64_t runs_retried(struct runs *runs); /* Batches, so far. */
#endif
