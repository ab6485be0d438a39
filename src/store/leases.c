/*
 * leases.c - see leases.h.  The statements are PostgreSQL's alone.
 */
#include "store/leases.h"
#include "store/query.h"
#include "store/session_key.h"
#include <assert.h>

#define NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::int8"

/* The row of a name that is new. */
static const struct sql sql_make = {
    "lease_make",
    "INSERT INTO leases (name, holder, session, place, epoch, since_us, deadline_us)"
    " VALUES ($1, '', '', '', 0, 0, 0) ON CONFLICT (name) DO NOTHING",
    "t",
};

/*
 * FOR UPDATE, which conflicts with transactions that have entered (FOR KEY SHARE), as renewing does
 * not; and it skips instead of waiting, because one of them may be frozen.
 */
static const struct sql sql_claim = {
    "lease_claim",
    "WITH free AS MATERIALIZED (SELECT name, holder, session, epoch, since_us, deadline_us"
    "  FROM leases WHERE name = $1 AND ($7 = '' OR EXISTS (SELECT 1 FROM leases AS under"
    "    WHERE under.name = $7 AND under.session = $3))"
    "   AND (deadline_us <= " NOW " OR ($4 <> '' AND place = $4)"
    "   OR ($6 = 1 AND pg_try_advisory_xact_lock(" SESSION_KEY(
        "session") ")))"
                   "  FOR UPDATE SKIP LOCKED)"
                   " UPDATE leases SET holder = $2, session = $3, place = $4, epoch = leases.epoch "
                   "+ 1,"
                   "  since_us = " NOW ", deadline_us = " NOW " + $5"
                   " FROM free WHERE leases.name = free.name"
                   " RETURNING free.name, free.holder, free.session, free.epoch, free.since_us,"
                   "  free.deadline_us, leases.since_us",
    "ttttiit",
};
static const struct sql sql_renew = {
    "lease_renew",
    "UPDATE leases SET deadline_us = " NOW " + $3 WHERE name = $1 AND epoch = $2 RETURNING " NOW,
    "tii",
};
static const struct sql sql_release = {
    "lease_release",
    "UPDATE leases SET deadline_us = 0 WHERE name = $1 AND epoch = $2",
    "ti",
};
#define COLUMNS "name, holder, session, epoch, since_us, deadline_us, " NOW
static const struct sql sql_get = {
    "lease_get",
    "SELECT " COLUMNS " FROM leases WHERE name = $1",
    "t",
};
static const struct sql sql_overdue = {
    "lease_overdue",
    "SELECT " COLUMNS " FROM leases WHERE name LIKE '" LEASE_NODE_PREFIX "%'"
    " AND deadline_us > 0 AND deadline_us <= " NOW " ORDER BY name",
    "",
};
static const struct sql sql_enter = {
    "lease_enter",
    "SELECT epoch FROM leases WHERE name = $1 AND epoch = $2 FOR KEY SHARE",
    "ti",
};

/* An advisory lock with a key of 64 bits stands in pg_locks in two halves. */
static const struct sql sql_end = {
    "sessions_end",
    "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory'"
    " AND objsubid = 1 AND (classid::int8 << 32 | objid::int8) = " SESSION_KEY(
        "$1") " AND database"
              " = (SELECT oid FROM pg_database WHERE datname = current_database())",
    "t",
};

static enum rc lease_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    struct lease_row *row = to;
    row->name = read_text(reader);
    row->holder = read_text(reader);
    row->session = read_text(reader);
    row->epoch = read_int(reader);
    row->since_us = read_int(reader);
    row->deadline_us = read_int(reader);
    row->now_us = read_int(reader);
    return RC_OK;
}
static const struct shape lease_shape = SHAPE_OF_RESULT("lease", struct lease_row, lease_decode);

static enum rc stale(const struct lease_fence *fence, struct err *err)
{
    return err_set(err, RC_STALE, "TURN_LOST", "this server does not hold %s any more",
                   fence->name);
}

enum rc leases_claim(struct db *db, const struct lease_claim *claim, struct arena *arena,
                     int64_t *ret_epoch, struct lease_row *ret_before, struct err *err)
{
    assert(db_is_shared(db));
    struct lease_row before;
    enum rc rc = db_exec(db, &sql_make, P_LIST(P_TEXT(claim->name)), NULL, err);
    if (rc == RC_OK)
        rc = query_one(db, &sql_claim,
                       P_LIST(P_TEXT(claim->name), P_TEXT(claim->holder), P_TEXT(claim->session),
                              P_TEXT(claim->place), P_INT(claim->ttl_us), P_INT(claim->of_the_dead),
                              P_TEXT(claim->under)),
                       &lease_shape, arena, &before, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CONFLICT, "LEASE_HELD", "another server holds %s", claim->name);
    if (rc != RC_OK)
        return rc;
    *ret_epoch = before.epoch + 1;
    *ret_before = before;
    return RC_OK;
}

enum rc leases_renew(struct db *db, const struct lease_fence *fence, int64_t ttl_us,
                     int64_t *ret_now_us, struct err *err)
{
    assert(db_is_shared(db));
    enum rc rc = query_int(db, &sql_renew,
                           P_LIST(P_TEXT(fence->name), P_INT(fence->epoch), P_INT(ttl_us)),
                           ret_now_us, err);
    return rc == RC_NOT_FOUND ? stale(fence, err) : rc;
}

enum rc leases_release(struct db *db, const struct lease_fence *fence, struct err *err)
{
    assert(db_is_shared(db));
    return db_exec(db, &sql_release, P_LIST(P_TEXT(fence->name), P_INT(fence->epoch)), NULL, err);
}

enum rc leases_get(struct db *db, const char *name, struct arena *arena, struct lease_row *ret_row,
                   struct err *err)
{
    assert(db_is_shared(db));
    return query_one(db, &sql_get, P_LIST(P_TEXT(name)), &lease_shape, arena, ret_row, err);
}

enum rc leases_overdue_nodes(struct db *db, struct arena *arena, struct lease_row **ret_rows,
                             size_t *ret_count, struct err *err)
{
    assert(db_is_shared(db));
    return query_all(db, &sql_overdue, NULL, 0, &lease_shape, arena, ret_rows, ret_count, err);
}

enum rc leases_enter(struct db *db, const struct lease_fence *fence, struct lease_proof *ret_proof,
                     struct err *err)
{
    if (db_is_shared(db)) {
        int64_t epoch;
        if (fence->name == NULL)
            return stale(&(struct lease_fence){.name = LEASE_TIMERS}, err);
        enum rc rc = query_int(db, &sql_enter, P_LIST(P_TEXT(fence->name), P_INT(fence->epoch)),
                               &epoch, err);
        if (rc != RC_OK)
            return rc == RC_NOT_FOUND ? stale(fence, err) : rc;
    }
    *ret_proof = (struct lease_proof){.db = db};
    return RC_OK;
}

enum rc sessions_end(struct db *db, const char *session, int64_t *ret_count, struct err *err)
{
    assert(db_is_shared(db));
    return query_int(db, &sql_end, P_LIST(P_TEXT(session)), ret_count, err);
}
