#include "http/body.h"
#include "http/conn.h"
#include "http/spool.h"

enum rc http_body_begin(struct http_request *request, const struct http_head *head,
                        const struct http_body_plan *plan, struct err *err)
{
    if (!plan->spool || request->http->options.spool == NULL) {
        buf_init(&request->body, (size_t)plan->bytes_max);
        return RC_OK;
    }
    struct spool_claim claim = {.holder = plan->holder,
                                .admin = plan->admin,
                                .bytes = head->chunked ? -1 : head->content_length};
    return spool_begin(request->http->options.spool, &claim, &request->spooled, err);
}

enum rc http_body_add(struct http_request *request, struct str content, int64_t bytes_max,
                      struct err *err)
{
    struct spool_file *file = request->spooled;
    int64_t had = file != NULL ? spool_file_bytes(file) : (int64_t)request->body.len;
    if (had + (int64_t)content.len > bytes_max)
        return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE", "at most %lld bytes are taken here",
                       (long long)bytes_max);
    if (file != NULL)
        return spool_add(file, content.at, content.len, err);
    buf_add(&request->body, content.at, content.len);
    return RC_OK;
}

enum rc http_body_end(struct http_request *request, struct err *err)
{
    struct spool_file *file = request->spooled;
    if (file == NULL)
        return RC_OK;
    if (spool_file_bytes(file) > 0)
        return spool_end(file, err);
    http_body_drop(request);
    return RC_OK;
}

void http_body_drop(struct http_request *request)
{
    buf_release(&request->body);
    spool_file_free(request->spooled);
    request->spooled = NULL;
}
