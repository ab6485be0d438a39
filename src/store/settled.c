#include "store/settled.h"
#include "store/query.h"
#include "store/retention_sums.h"
#include <assert.h>

/* Where there is one gap there are more, and what stands behind the first is read again. */
enum { GAP_PAGE = 32 };

/* PostgreSQL's alone: not run where there is one writer. */
static const struct sql sql_horizon = {
    "event_horizon",
    "SELECT pg_snapshot_xmin(s)::text::int8, pg_snapshot_xmax(s)::text::int8"
    " FROM (SELECT pg_current_snapshot() AS s) AS now",
    "",
};
/* Takes an id: the xmax of a snapshot lies behind the last that has ended, not the last that has
   begun. */
static const struct sql sql_begun = {
    "event_begun",
    "SELECT pg_current_xact_id()::text::int8",
    "",
};

/* All transactions before xmin have ended, and none from xmax on has. */
struct horizon {
    int64_t xmin, xmax;
};

static enum rc horizon_get(struct db *db, struct horizon *ret_horizon, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_horizon, NULL, 0, &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_horizon = (struct horizon){row_int(&rows, 0), row_int(&rows, 1)};
    return rc;
}

/* All that have begun by now and may hold a seq lie before *ret_xid. */
static enum rc begun_get(struct db *db, int64_t *ret_xid, struct err *err)
{
    return query_int(db, &sql_begun, NULL, 0, ret_xid, err);
}

/* After a crash the server gives out ids again of which nothing had reached the disk.  None of
   the transactions that had them first is alive. */
static void forget_lost_ids(struct settled *cursor, const struct horizon *now)
{
    if (cursor->seen_xid > now->xmax)
        cursor->seen_xid = now->xmax;
}

struct page {
    struct event *events;
    size_t count;
};

static enum rc page_read(struct db *db, const struct settled *cursor, int64_t limit,
                         struct arena *arena, struct page *ret_page, struct err *err)
{
    struct event_filter filter = {.after_seq = cursor->after_seq, .limit = limit};
    return events_list(db, &filter, arena, &ret_page->events, &ret_page->count, err);
}

/* How many events from the front on have no gap before them that is not dead.  All gaps up to
   dead_seq are. */
static size_t whole_part(const struct page *page, int64_t after_seq, int64_t dead_seq)
{
    size_t count = 0;
    while (count < page->count &&
           (page->events[count].seq == after_seq + 1 || page->events[count].seq <= dead_seq))
        after_seq = page->events[count++].seq;
    return count;
}

static void move(struct settled *cursor, struct page *page, size_t count)
{
    bool gap = count < page->count;
    if (count > 0)
        cursor->after_seq = page->events[count - 1].seq;
    if (!gap)
        cursor->seen_xid = 0;
    page->count = count;
}

/* The gap before page->events[at], if it was not noted before, is noted now. */
static enum rc note_gap(struct db *db, struct settled *cursor, const struct page *page, size_t at,
                        struct err *err)
{
    if (cursor->seen_xid != 0 && page->events[at].seq <= cursor->seen_seq)
        return RC_OK;
    int64_t xid;
    enum rc rc = begun_get(db, &xid, err);
    if (rc != RC_OK)
        return rc;
    cursor->seen_seq = page->events[page->count - 1].seq;
    cursor->seen_xid = xid;
    return RC_OK;
}

/* The cursor stands before a gap that was noted.  Horizon and page come from one snapshot: what
   has ended by the one is seen, or never will be, in the other. */
static enum rc pass_gap(struct db *db, struct settled *cursor, int64_t limit, struct arena *arena,
                        struct page *ret_page, struct err *err)
{
    CLEANUP(tx_abort) struct tx tx = {0};
    struct horizon horizon;
    struct page page = {0};
    enum rc rc = tx_begin(db, &tx, err);
    if (rc == RC_OK)
        rc = horizon_get(db, &horizon, err);
    if (rc == RC_OK)
        forget_lost_ids(cursor, &horizon);
    if (rc == RC_OK && horizon.xmin >= cursor->seen_xid)
        rc = page_read(db, cursor, limit, arena, &page, err);
    if (rc == RC_OK)
        rc = tx_commit(&tx, err);
    if (rc != RC_OK)
        return rc;
    size_t count = whole_part(&page, cursor->after_seq, cursor->seen_seq);
    if (count < page.count)
        rc = note_gap(db, cursor, &page, count, err);
    if (rc != RC_OK)
        return rc;
    if (page.count > 0)
        move(cursor, &page, count);
    *ret_page = page;
    return RC_OK;
}

/* As whole_part, with what is known of deleted events. */
static enum rc passed_part(struct db *db, struct settled *cursor, const struct page *page,
                           size_t *ret_count, struct err *err)
{
    enum rc rc = RC_OK;
    size_t count = whole_part(page, cursor->after_seq, cursor->floor_seq);
    if (count < page->count)
        rc = retention_sums_get(db, MARK_FLOOR_SEQ, &cursor->floor_seq, err);
    if (rc == RC_OK)
        *ret_count = whole_part(page, cursor->after_seq, cursor->floor_seq);
    return rc;
}

static enum rc follow(struct db *db, struct settled *cursor, int64_t limit, struct arena *arena,
                      struct page *ret_page, struct err *err)
{
    struct page page;
    size_t count = 0;
    bool few = settled_waits(cursor) && limit > GAP_PAGE;
    enum rc rc = page_read(db, cursor, few ? GAP_PAGE : limit, arena, &page, err);
    if (rc == RC_OK)
        rc = passed_part(db, cursor, &page, &count, err);
    if (rc == RC_OK && few && count == GAP_PAGE) {
        rc = page_read(db, cursor, limit, arena, &page, err);
        if (rc == RC_OK)
            rc = passed_part(db, cursor, &page, &count, err);
    }
    if (rc != RC_OK)
        return rc;
    bool gap = count < page.count;
    if (gap && count == 0 && cursor->seen_xid != 0 && page.events[0].seq <= cursor->seen_seq)
        return pass_gap(db, cursor, limit, arena, ret_page, err);
    if (gap)
        rc = note_gap(db, cursor, &page, count, err);
    if (rc != RC_OK)
        return rc;
    move(cursor, &page, count);
    *ret_page = page;
    return RC_OK;
}

enum rc settled_read(struct db *db, struct settled *cursor, int64_t limit, struct arena *arena,
                     struct event **ret_events, size_t *ret_count, struct err *err)
{
    assert(limit > 0);
    struct page page = {0};
    enum rc rc;
    if (db_is_shared(db)) {
        rc = follow(db, cursor, limit, arena, &page, err);
    } else {
        rc = page_read(db, cursor, limit, arena, &page, err);
        if (rc == RC_OK)
            move(cursor, &page, page.count);
    }
    if (rc != RC_OK)
        return rc;
    *ret_events = page.events;
    *ret_count = page.count;
    return RC_OK;
}

bool settled_waits(const struct settled *cursor)
{
    return cursor->seen_xid != 0;
}

enum rc settled_last(struct db *db, struct settled *cursor, struct err *err)
{
    enum rc rc = RC_OK;
    bool shared = db_is_shared(db);
    struct horizon horizon = {0};
    if (cursor->seen_xid == 0)
        rc = events_last_seq(db, &cursor->seen_seq, err);
    if (rc == RC_OK && shared && cursor->seen_xid == 0)
        rc = begun_get(db, &cursor->seen_xid, err);
    if (rc == RC_OK && shared)
        rc = horizon_get(db, &horizon, err);
    if (rc != RC_OK)
        return rc;
    forget_lost_ids(cursor, &horizon);
    if (horizon.xmin < cursor->seen_xid)
        return err_set(err, RC_BUSY, "STORE_BUSY", "transactions are open that may hold events");
    *cursor = (struct settled){.after_seq = cursor->seen_seq, .floor_seq = cursor->floor_seq};
    return RC_OK;
}
