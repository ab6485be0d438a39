/*
 * scan.h - listings whose conditions no index serves alone.
 *
 *   index rows, newest first    . . x . . . x . . . | . . x . .
 *                               the window          the rest: another call
 *
 * Such a listing looks at a window of its index: at most rows_max rows behind the cursor, found by
 * an index-only walk.  It gives the rows in it that match, and where the window ended, so that the
 * caller can go on there.  So a call costs no more however long the table is, and a listing may
 * give no rows and still go on.
 */
#ifndef STORE_SCAN_H
#define STORE_SCAN_H
#include "base/id.h"
#include <stdint.h>

enum { SCAN_ROWS_MAX = 10000 };

struct scan {
    int64_t rows_max;
    /* Out: the window ended here and rows lie behind it; none, 0: all rows were looked at.  The
       next call names it as its cursor. */
    struct id end;
    int64_t end_seq; /* Of events. */
};
#endif
