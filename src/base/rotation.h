/*
 * rotation.h - files that are written until they are full and then renamed: PATH, PATH.1 (the one
 * before), PATH.2 ... PATH.<keep>, the oldest.
 */
#ifndef BASE_ROTATION_H
#define BASE_ROTATION_H
#include "base/rc.h"
#include <stdbool.h>
#include <stdint.h>

/* Frees the path: moves the files up to the first free number, so that a rotation that fails in the
   middle and is tried again deletes nothing.  When all numbers are taken the oldest file is
   replaced. */
MUST_USE enum rc rotation_move(const char *path, int64_t keep, struct err *err);
/* Is it one of the names that older files of the path get? */
bool rotation_has(const char *path, int64_t keep, const char *other);
#endif
