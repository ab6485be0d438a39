/*
 * waiting.h - which of the rows that wait for a person, approvals and questions, are listed.
 */
#ifndef STORE_WAITING_H
#define STORE_WAITING_H
#include "store/db.h"
#include "store/scan.h"

struct waiting_filter {
    const char *status; /* NULL: any */
    struct id run_id;   /* none: of any run */
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};
#endif
