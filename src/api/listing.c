/*
 * listing.c - the parameters of a page, the frame of its answer, and the cursor of the next one.
 */
#include "api/listing.h"
#include <inttypes.h>

enum { PAGE_LIMIT_DEFAULT = 50, PAGE_LIMIT_MAX = 200 };

static bool read_cursor(struct listing *list, const char *cursor)
{
    const char *key = NULL;
    if (!cursor_decode(list->kind, cursor, list->arena, &key))
        return false;
    if (list->kind == CURSOR_ID)
        return id_parse(key, &list->before);
    if (list->kind == CURSOR_SEQ)
        return text_to_i64(key, &list->after_seq) && list->after_seq >= 0;
    list->after = key;
    return true;
}

void listing_open(struct listing *list, struct call *call, enum cursor_kind kind, struct err *err)
{
    *list = (struct listing){.call = call,
                             .arena = &call->http.arena,
                             .kind = kind,
                             .query_limit = INT64_MAX,
                             .scan = {.rows_max = SCAN_ROWS_MAX}};
    list->params.rc = call_params(call, &list->params, err);
    if (kind == CURSOR_NONE)
        return;
    int64_t limit = PAGE_LIMIT_DEFAULT;
    const char *cursor = NULL;
    params_int(&list->params, "limit", &(struct param_range){1, PAGE_LIMIT_MAX}, &limit);
    params_text(&list->params, "cursor", CURSOR_TEXT_MAX, &cursor);
    if (cursor != NULL && !read_cursor(list, cursor))
        params_fail(&list->params, "cursor", "cursor is not one that this listing has given");
    list->query_limit = limit + 1;
}

enum rc listing_begin(struct listing *list)
{
    enum rc rc = params_end(&list->params);
    if (rc != RC_OK)
        return rc;
    list->jw = call_answer(list->call, 200);
    jw_begin(&list->jw, '{');
    jw_key(&list->jw, "items");
    jw_begin(&list->jw, '[');
    return RC_OK;
}

bool listing_shows(const struct listing *list, size_t i)
{
    return i < list->count && (int64_t)i < list->query_limit - 1;
}

/* The key of the last row that is shown, when there are more; else of the last row that the scan
   has read, when there are more to read; else NULL. */
static const char *next_key(const struct listing *list)
{
    bool more = (int64_t)list->count >= list->query_limit;
    if (more && list->last != NULL)
        return list->last;
    if (!more && !id_is_none(&list->scan.end))
        return list->scan.end.text;
    int64_t number = more ? list->last_number : list->scan.end_seq;
    return number > 0 ? arena_printf(list->arena, "%" PRId64, number) : NULL;
}

enum rc listing_end(struct listing *list, enum rc rc)
{
    if (rc != RC_OK)
        return rc;
    jw_end(&list->jw, ']');
    return listing_close(list);
}

enum rc listing_close(struct listing *list)
{
    const char *key = next_key(list);
    jw_kstr(&list->jw, "cursor", key != NULL ? cursor_encode(list->kind, key, list->arena) : NULL);
    jw_end(&list->jw, '}');
    return RC_OK;
}
