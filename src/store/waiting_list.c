#include "store/waiting_list.h"
#include "base/str.h"

enum rc waiting_list(struct db *db, const struct waiting_sql *sql, const struct shape *shape,
                     const struct waiting_filter *filter, struct arena *arena, void *ret_rows,
                     size_t *ret_count, struct err *err)
{
    struct param params[] = {P_TEXT(filter->status), P_ID(&filter->run_id),
                             P_TEXT(cursor_or_end(&filter->before)), P_TEXT(NULL),
                             P_LIMIT(filter->limit)};
    bool of_run = !id_is_none(&filter->run_id), of_status = filter->status != NULL;
    const struct list_ask ask = {
        .sql = of_run      ? &sql->of_run
               : of_status ? &sql->of_status
                           : &sql->all,
        .params = params,
        .count = COUNT_OF(params),
        .lead = of_run ? filter->run_id.text : filter->status,
        .scan = filter->scan,
        .filtered = of_run && of_status,
    };
    return query_list(db, &ask, shape, arena, ret_rows, ret_count, err);
}
