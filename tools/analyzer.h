/*
 * analyzer.h - what clang-tidy cannot see from one file: these give back the rc they were given,
 * so that an output which is untouched on failure is not used unset.  See tools/check.
 */
#ifndef TOOLS_ANALYZER_H
#define TOOLS_ANALYZER_H
#include "base/rc.h"

#define err_set(err, rc, ...)   ((void)err_set(err, rc, __VA_ARGS__), (rc))
#define err_field(err, rc, ...) ((void)err_field(err, rc, __VA_ARGS__), (rc))
#define err_wrap(err, rc, what) ((void)err_wrap(err, rc, what), (rc))
#endif
