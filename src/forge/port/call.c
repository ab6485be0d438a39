#include "forge/port/call.h"
#include "base/clock.h"

/* A timeout in whole milliseconds ends a little before the deadline. */
#define DEADLINE_SLACK_US (10 * US_PER_MS)

void forge_call_release(struct forge_call *call)
{
    http_client_free(call->http);
    call->http = NULL;
}

enum rc forge_http(struct forge_call *call, const char *base_url, const struct http_call *request,
                   struct buf *body, struct http_reply *ret_reply, struct err *err)
{
    const struct git *git = &call->git;
    struct http_call timed = *request;
    enum rc rc = RC_OK;
    timed.stop = git->cancel;
    if (git->deadline_us != 0) {
        int64_t left_ms = (git->deadline_us - clock_mono_us()) / US_PER_MS;
        if (left_ms <= 0)
            return err_set(err, RC_TIMEOUT, "NO_ANSWER", "no time is left to call %.200s",
                           base_url);
        if (timed.timeout_ms == 0 || timed.timeout_ms > left_ms)
            timed.timeout_ms = left_ms;
    }
    if (call->http == NULL)
        rc = http_client_new(
            &(struct http_client_options){.url = base_url, .token = git->credential}, &call->http,
            err);
    if (rc == RC_OK)
        rc = http_client_call(call->http, &timed, body, ret_reply, err);
    /* While it still connects, the client says that the server cannot be reached. */
    if (rc == RC_UNREACHABLE && git->deadline_us != 0 &&
        clock_mono_us() > git->deadline_us - DEADLINE_SLACK_US)
        rc = err_set(err, RC_TIMEOUT, "NO_ANSWER", "%.200s did not answer in time", base_url);
    return rc;
}
