/*
 * scan.h - listings whose conditions no index serves alone.
 *
 *   index rows, newest first    . . x . . . x . . . | . . x . .
 *                               the window          the rest: another call
 *
 * Such a listing reads a window of its index: at most rows_max rows behind the cursor, found by an
 * index-only walk.  It returns the rows in it that match, and where the window ended, so that the
 * caller can continue there.  So a call costs no more however long the table is, and a listing may
 * return no rows and still have more to read.
 */
#ifndef STORE_SCAN_H
#define STORE_SCAN_H
#include "base/id.h"
#include <stdint.h>

enum { SCAN_ROWS_MAX = 10000 };

struct scan {
    int64_t rows_max;
    /* Out: the window ended here and rows lie behind it; none, 0: all rows were read.  It is the
       cursor of the next call. */
    struct id end;
    int64_t end_seq; /* Of events. */
};
#endif
