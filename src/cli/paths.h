/*
 * paths.h - the data directory: by flag, environment or default.
 *
 *     DIR   = --data, else $DROVER_DATA, else $XDG_STATE_HOME/drover, else ~/.local/state/drover
 *     DIR/server.json   {"url", "pid"} of the server that runs there
 *     DIR/admin.token   its first token
 *
 * `serve` and every command that looks for its server use the same rule.
 */
#ifndef CLI_PATHS_H
#define CLI_PATHS_H
#include "base/arena.h"
#include "base/rc.h"

#define CLI_DEFAULT_URL "http://127.0.0.1:8717"

/* flag may be NULL.  RC_NOT_FOUND when there is not even a home directory. */
MUST_USE enum rc cli_data_dir(const char *flag, struct arena *arena, const char **ret_dir,
                              struct err *err);
#endif
