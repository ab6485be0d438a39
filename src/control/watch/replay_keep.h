/*
 * replay_keep.h - the command that stores the snapshots that a replay has made.
 */
#ifndef CONTROL_WATCH_REPLAY_KEEP_H
#define CONTROL_WATCH_REPLAY_KEEP_H
#include "control/commit/committer.h"
#include "control/watch/replay.h"

/* Stores what was made, and waits for the commit.  A failure loses a saving of time and is logged:
   the answer of the replay does not depend on it. */
void replay_keep(struct committer *committer, const struct replay *replay);
#endif
