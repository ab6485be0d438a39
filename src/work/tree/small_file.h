/*
 * small_file.h - reads a file that a hostile agent may have left.
 */
#ifndef WORK_TREE_SMALL_FILE_H
#define WORK_TREE_SMALL_FILE_H
#include "base/buf.h"
#include "base/rc.h"

/* Anything may be at that path: only a regular file that fits into the buffer is read, all else is
   RC_NOT_FOUND. */
MUST_USE enum rc small_file_read(const char *path, struct buf *into);
#endif
