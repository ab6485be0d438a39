/*
 * orphans.h - ends what a killed server left running.
 *
 * A sandbox dies with its server (--die-with-parent), but a server that is killed in the few
 * milliseconds before bubblewrap has asked the kernel for that leaves it alive.  A worker that
 * starts therefore looks for sandboxes of its data directory, and without a sandbox for agents in
 * its run directories, before it touches any of them.
 */
#ifndef WORK_ORPHANS_H
#define WORK_ORPHANS_H

/* Kills them and waits for their end; removes the directories of agents that were launched.
   Returns how many there were. */
int orphans_end(const char *data_dir);
#endif
