/*
 * custody.h - snapshots of the agent's tree while the agent works in it.
 *
 * A thread of its own takes them, every timeouts.snapshotMs: whoever drains the agent's output
 * never waits for git.  It tells nobody; the step's own thread picks the news up and tells the
 * server.  A snapshot that fails (a file went away while git read it) is left out: the next one
 * has it all.
 */
#ifndef WORK_CUSTODY_H
#define WORK_CUSTODY_H
#include "work/progress.h"
#include "work/step.h"

struct custody;

/* NULL: there are to be none, or no thread could be had. */
struct custody *custody_begin(struct step *step, const char *base);
/* Passes the news on; gives the time of the next look (by clock_mono_us).  NULL is fine. */
int64_t custody_tick(struct custody *custody, struct progress *progress);
/* Ends the thread, passes the last news on, and sets *custody to NULL. */
void custody_end(struct custody **custody, struct progress *progress);

/* The agent has come to no good end, nothing of it runs any more, and its step may have been told
   to stop: one last snapshot, within seconds.  publish: the run ends with it. */
void custody_last(struct step *step, const char *reason, bool publish);
#endif
