/*
 * small_file.h - a file that was left by somebody who may be hostile.
 */
#ifndef WORK_SMALL_FILE_H
#define WORK_SMALL_FILE_H
#include "base/buf.h"
#include "base/rc.h"

/* Anything may stand at that path: only a plain file that fits into the buffer counts, all else is
   RC_NOT_FOUND. */
MUST_USE enum rc small_file_read(const char *path, struct buf *into);
#endif
