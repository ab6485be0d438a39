/*
 * notify.c - the channels by which people and programs are notified about tasks.
 */
#include "control/run/notify.h"
#include "api/listing.h"
#include "api/routes.h"

enum rc api_notification_list(struct call *call, struct db *db, struct err *err)
{
    (void)db;
    const struct notify_channels *channels = &call->api->channels;
    struct listing list;
    int64_t from = 0; /* The cursor counts: they stay in the order of the configuration. */
    listing_open(&list, call, CURSOR_NAME, err);
    if (list.after != NULL && (!text_to_i64(list.after, &from) || from < 0))
        params_fail(&list.params, "cursor", "this cursor is of another listing");
    enum rc rc = listing_begin(&list);
    list.count = (size_t)from < channels->count ? channels->count - (size_t)from : 0;
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        notify_channel_write(&list.jw, &channels->items[(size_t)from + i]);
        list.last_number = from + (int64_t)i + 1;
    }
    return listing_end(&list, rc);
}

enum rc api_notification_test(struct call *call, struct err *err)
{
    struct cmd_notify_test *cmd = cmd_notify_test_new();
    call_own(call, &cmd->base);
    cmd->channel = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
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
