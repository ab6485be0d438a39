/*
 * notify.c - the channels by which people and programs are notified about tasks.
 */
#include "control/run/notify.h"
#include "api/routes.h"

enum rc api_notification_list(struct call *call, struct db *db, struct err *err)
{
    (void)db;
    const struct notify_channels *channels = &call->api->channels;
    struct params params;
    int64_t from = 0; /* The cursor counts: they stay in the order of the configuration. */
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page_by_name(call, &params);
    if (page.after && (!text_to_i64(page.after, &from) || from < 0))
        params_fail(&params, "cursor", "this cursor is of another listing");
    rc = params_end(&params);
    if (rc != RC_OK)
        return rc;
    size_t count = (size_t)from < channels->count ? channels->count - (size_t)from : 0;
    size_t shown = page_rows(&page, count);
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < shown; i++)
        notify_channel_write(&jw, &channels->items[(size_t)from + i]);
    const char *next = arena_printf(&call->http.arena, "%zu", (size_t)from + shown);
    call_list_end(&jw, call_next_name(call, &page, count, next));
    return RC_OK;
}

enum rc api_notification_test(struct call *call, struct command **ret_command, struct err *err)
{
    struct cmd_notify_test *cmd = cmd_notify_test_new();
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_no_fields(call, err);
    if (rc != RC_OK)
        return rc;
    cmd->channel = arena_strdup(&cmd->base.arena, call->vars[0]);
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
}

void api_notification_test_answer(struct call *call, struct command *command)
{
    const struct cmd_notify_test *cmd = (const struct cmd_notify_test *)command;
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "channel", cmd->channel);
    jw_kstr(&jw, "jobId", cmd->job_id.text);
    jw_end(&jw, '}');
}
