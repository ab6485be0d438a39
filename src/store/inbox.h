/*
 * inbox.h - what needs a person, read from the rows of many tables (core/inbox.h).
 *
 * Each kind has its statement, which goes by an index of what waits: finished work costs nothing.
 */
#ifndef STORE_INBOX_H
#define STORE_INBOX_H
#include "core/inbox.h"
#include "store/db.h"

enum { INBOX_SOURCE_MAX = 500 }; /* Items of one kind that are read, the oldest first. */

struct inbox_row {
    enum inbox_kind kind;
    const char *key;      /* Names it among its kind. */
    const char *argument; /* What its command takes. */
    struct id task_id, run_id;
    const char *repository; /* or NULL */
    const char *title;      /* or NULL */
    const char *reason;     /* or NULL */
    const char *detail;     /* The kind of an approval, the code of an error; or NULL. */
    int64_t since_us, expires_us;
    int64_t behind, count, priority;
    int64_t rank_us;
};

struct inbox_filter {
    const char *repository; /* NULL: any; else only what belongs to one. */
    int64_t now_us;
    bool kinds[INBOX_KIND_COUNT]; /* Those that are wanted. */
};
/* In order; *ret_more: of some kind there are more than were read. */
MUST_USE enum rc inbox_list(struct db *db, const struct inbox_filter *filter, struct arena *arena,
                            struct inbox_row **ret_rows, size_t *ret_count, bool *ret_more,
                            struct err *err);
#endif
