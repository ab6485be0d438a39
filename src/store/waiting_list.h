/*
 * waiting_list.h - lists rows that wait for a person, by status or by run; for the files of their
 * tables.
 */
#ifndef STORE_WAITING_LIST_H
#define STORE_WAITING_LIST_H
#include "store/query.h"
#include "store/waiting.h"

/* One form for each index. */
struct waiting_sql {
    struct list_sql all, of_status, of_run;
};
/* Of a table with the columns id, status and run_id; name begins the names of the statements. */
#define WAITING_SQL(name, table)                                                    \
    {                                                                               \
        WAITING_LIST(name "_list", table, "1 = 1", LIST_WALK_ALL),                  \
            WAITING_LIST(name "_list_status", table, "status = $1", "status = $1"), \
            WAITING_LIST(name "_list_run", table, "run_id = $2", "run_id = $1")     \
    }
/* The leading condition chooses the index; the others apply in every form. */
#define WAITING_LIST(name, table, lead, walk)                                           \
    {                                                                                   \
        {name,                                                                          \
         "SELECT {columns} FROM " table " WHERE " lead                                  \
         " AND ($1 IS NULL OR status = $1) AND ($2 IS NULL OR run_id = $2) AND id < $3" \
         " AND id >= $4 ORDER BY id DESC LIMIT $5",                                     \
         "tttti"},                                                                      \
            LIST_WALK(name, table, walk),                                               \
    }

/* Newest first; ret_rows as query_all has it. */
MUST_USE enum rc waiting_list(struct db *db, const struct waiting_sql *sql,
                              const struct shape *shape, const struct waiting_filter *filter,
                              struct arena *arena, void *ret_rows, size_t *ret_count,
                              struct err *err);
#endif
