/*
 * logs.c - GET /v1/logs: lines of the server's own log that the database keeps (log.store).
 */
#include "api/listing.h"
#include "api/routes.h"
#include "base/log.h"
#include "store/log_lines.h"

static void read_filter(struct params *params, struct log_line_filter *filter)
{
    const char *name = NULL;
    enum log_level level = LOG_DEBUG;
    params_text(params, "level", sizeof "warning", &name);
    if (name != NULL && !log_level_parse(name, &level))
        params_fail(params, "level", "%.16s is not a level: debug, info, warn, error, fatal", name);
    filter->level = (int64_t)level;
    params_time(params, "since", &filter->since_us);
    params_time(params, "until", &filter->until_us);
    params_id(params, "runId", &filter->run_id);
}

static void write_line(struct jw *jw, const struct log_line_row *row)
{
    jw_begin(jw, '{');
    jw_kint(jw, "seq", row->seq);
    jw_ktime(jw, "time", row->time_us);
    jw_kstr(jw, "level", log_level_name((enum log_level)row->level));
    jw_kstr(jw, "node", row->node);
    jw_optstr(jw, "runId", row->run_id.text);
    jw_kstr(jw, "message", row->message);
    jw_kraw(jw, "line", row->fields);
    jw_end(jw, '}');
}

enum rc api_log_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct log_line_filter filter = {0};
    struct log_line_row *rows = NULL;
    listing_open(&list, call, CURSOR_SEQ, err);
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    filter.after_seq = list.after_seq;
    filter.limit = list.query_limit;
    if (rc == RC_OK)
        rc = log_lines_list(db, &filter, list.arena, &rows, &list.count, err);
    if (rc == RC_OK && list.count == 0 && !call->api->keeps_log)
        rc = err_set(err, RC_CONFLICT, "LOGS_NOT_KEPT",
                     "this server keeps no lines of its log: set log.store in its configuration "
                     "and start it again");
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_line(&list.jw, &rows[i]);
        list.last_number = rows[i].seq;
    }
    return listing_end(&list, rc);
}
