/*
 * own_files.h - the files of the server itself: the data directory, the configuration, a database
 * elsewhere, the notes of the audit log.  Nothing that is configured may write to them.
 */
#ifndef SERVER_OWN_FILES_H
#define SERVER_OWN_FILES_H
#include "server/server_config.h"

struct own_files {
    const struct server_options *options;
    const char *const *hidden; /* Outside of the data directory; NULL-terminated. */
};

/* The configuration, which may hold a password, and a database outside of the data directory. */
struct own_files own_files_of(const struct server_options *options, struct arena *arena);
/* A sink must not write to them; ctx is a struct own_files.  Also for sinks that the API makes. */
MUST_USE enum rc own_files_guard(void *ctx, const struct sink_config *sink, struct err *err);
/* Sinks, the notes of the audit log and the file of the log; the data directory must be there. */
MUST_USE enum rc own_files_check(struct own_files *own, struct err *err);
#endif
