/*
 * artifact_dir.h - the directory of content-addressed files, as store.c needs it.
 */
#ifndef STORE_ARTIFACT_DIR_H
#define STORE_ARTIFACT_DIR_H
#include "base/rc.h"

/* Makes it where it is missing; what an earlier process left half-written is removed. */
MUST_USE enum rc artifact_dir_prepare(const char *dir, struct err *err);
#endif
