#include "store/space.h"
#include "store/query.h"

/* PostgreSQL's alone: not run where there is one writer. */
static const struct sql sql_size = {
    "space_size",
    "SELECT pg_database_size(current_database())::int8",
    "",
};
static const struct sql sql_contents = {
    "space_contents",
    "SELECT count(*), coalesce(sum(bytes), 0)::int8 FROM artifact_contents",
    "",
};

static enum rc of_shared(struct db *db, struct space *space, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = query_int(db, &sql_size, NULL, 0, &space->database_bytes, err);
    if (rc == RC_OK)
        rc = db_query(db, &sql_contents, NULL, 0, &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc != RC_OK)
        return rc;
    space->contents = row_int(&rows, 0);
    space->content_bytes = row_int(&rows, 1);
    space->free_bytes = -1;
    space->gives_back = true;
    return RC_OK;
}

enum rc space_of(struct db *db, struct space *ret_space, struct err *err)
{
    struct space space = {.contents = -1, .content_bytes = -1};
    struct db_space pages = {0};
    enum rc rc = db_is_shared(db) ? of_shared(db, &space, err) : db_space(db, &pages, err);
    if (rc != RC_OK)
        return rc;
    if (!db_is_shared(db)) {
        space.database_bytes = pages.pages * pages.page_bytes;
        space.free_bytes = pages.free_pages * pages.page_bytes;
        space.gives_back = pages.gives_back;
    }
    *ret_space = space;
    return RC_OK;
}
