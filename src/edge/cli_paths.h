/*
 * cli_paths.h - where drover keeps its things when nobody says so.
 *
 *     DIR   = --data, else $DROVER_DATA, else $XDG_STATE_HOME/drover, else ~/.local/state/drover
 *     DIR/server.json   {"url", "pid"} of the server that runs there
 *     DIR/admin.token   its first token
 *
 * One rule for `serve` and for every command that looks for it.
 */
#ifndef EDGE_CLI_PATHS_H
#define EDGE_CLI_PATHS_H
#include "base/arena.h"
#include "base/rc.h"

#define CLI_DEFAULT_URL "http://127.0.0.1:8717"

/* flag may be NULL.  RC_NOT_FOUND when there is not even a home directory. */
MUST_USE enum rc cli_data_dir(const char *flag, struct arena *arena, const char **ret_dir,
                              struct err *err);
#endif
