/*
 * snapshot_thread.h - snapshots of the agent's tree while the agent works in it.
 *
 * A thread of its own takes them, every timeouts.snapshotMs, so that the thread that drains the
 * agent's output never waits for git.  It reports nothing itself: the step's own thread reads the
 * news and reports them to the server.  A snapshot that fails (a file was removed while git read
 * it) is left out: the next one has it all.
 */
#ifndef WORK_TREE_SNAPSHOT_THREAD_H
#define WORK_TREE_SNAPSHOT_THREAD_H
#include "work/job/progress.h"
#include "work/job/step.h"

struct snapshot_thread;

/* NULL: snapshots are off, or no thread could be started. */
struct snapshot_thread *snapshot_thread_begin(struct step *step, const char *base);
/* Passes the news on; returns the time of the next tick (by clock_mono_us).  NULL is fine. */
int64_t snapshot_thread_tick(struct snapshot_thread *snapshots, struct progress *progress);
/* Ends the thread, passes the last news on, and sets *snapshots to NULL. */
void snapshot_thread_end(struct snapshot_thread **snapshots, struct progress *progress);

/* The agent has failed or was stopped, no process of it runs any more, and a stop of its step may
   be requested: takes one last snapshot, within seconds.  publish: the run ends with it. */
void snapshot_thread_last(struct step *step, const char *reason, bool publish);
#endif
