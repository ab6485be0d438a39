/*
 * listing.h - the answer of a listing: {"items": [ ... ], "cursor": ...}, page by page or whole.
 *
 *     listing_open(&list, call, CURSOR_NAME, err);
 *     params_text(&list.params, "state", 20, &state);    its own parameters, if it has any
 *     enum rc rc = listing_begin(&list);
 *     if (rc == RC_OK)
 *         rc = things_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
 *     for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
 *         write_thing(&list.jw, &rows[i]);
 *         list.last = rows[i].name;
 *     }
 *     return listing_end(&list, rc);
 *
 * The handler runs query and loop itself, not a callback of it, so that rows and filters keep their
 * types.
 */
#ifndef API_LISTING_H
#define API_LISTING_H
#include "api/call.h"
#include "api/cursor.h"

struct listing {
    struct call *call;
    struct arena *arena; /* The request's. */
    struct params params;
    struct jw jw; /* Items are written here, from listing_begin on. */

    /* For the query: where the page begins, as the kind of its cursor says. */
    enum cursor_kind kind;
    struct id before;    /* CURSOR_ID: newest first; none: from the newest. */
    const char *after;   /* CURSOR_NAME; NULL: from the first. */
    int64_t after_seq;   /* CURSOR_SEQ: oldest first; 0: from the oldest. */
    int64_t query_limit; /* One row more than a page has: it shows whether another page follows. */
    struct scan scan;    /* For a filter that takes one. */

    /* From the query and the loop. */
    size_t count;        /* Rows that the query found. */
    const char *last;    /* The key of the last row that was written: its id or name. */
    int64_t last_number; /* The key of one that has a number in place of it. */
};

/* Reads ?limit= and ?cursor=; CURSOR_NONE: takes neither, all rows are in one answer.  An error is
   returned by listing_begin. */
void listing_open(struct listing *list, struct call *call, enum cursor_kind kind, struct err *err);
/* All parameters were read: refuses bad and unknown ones, else begins the answer. */
MUST_USE enum rc listing_begin(struct listing *list);
/* Is row i there, and on this page? */
bool listing_shows(const struct listing *list, size_t i);
/* Ends the answer with the cursor of the next page, if there is one.  After an error it does
   nothing, since the error is answered instead.  Returns rc. */
MUST_USE enum rc listing_end(struct listing *list, enum rc rc);
/* The same after the caller has ended the array itself and written members beside it.  RC_OK. */
MUST_USE enum rc listing_close(struct listing *list);
#endif
