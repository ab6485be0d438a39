#include "work/job/port_link.h"
#include "base/mem.h"
#include "base/str.h"
#include <string.h>

enum { BODY_BYTES_MAX = 1024 * 1024 };

/* ---- connections ---- */

static enum rc take_client(struct port_link *link, struct http_client **ret_client, struct err *err)
{
    struct http_client *client = NULL;
    (void)pthread_mutex_lock(&link->lock);
    if (link->idle_count > 0)
        client = link->idle[--link->idle_count];
    (void)pthread_mutex_unlock(&link->lock);
    if (client == NULL) {
        const struct http_client_options options = {.url = link->url, .token = link->token};
        enum rc rc = http_client_new(&options, &client, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_client = client;
    return RC_OK;
}

static void give_client(struct port_link *link, struct http_client *client)
{
    (void)pthread_mutex_lock(&link->lock);
    if (link->idle_count < PORT_IDLE_MAX) {
        link->idle[link->idle_count++] = client;
        client = NULL;
    }
    (void)pthread_mutex_unlock(&link->lock);
    http_client_free(client);
}

/* ---- its life ---- */

enum rc port_link_init(struct port_link *link, const struct http_client_options *to,
                       struct err *err)
{
    struct http_client *first = NULL; /* Made to check address and token. */
    enum rc rc = http_client_new(to, &first, err);
    if (rc != RC_OK)
        return rc;
    *link = (struct port_link){.token = to->token != NULL ? mem_strdup(to->token) : NULL};
    text_copy(link->url, sizeof link->url, http_client_url(first));
    (void)pthread_mutex_init(&link->lock, NULL);
    give_client(link, first);
    return RC_OK;
}

void port_link_release(struct port_link *link)
{
    for (size_t i = 0; i < link->idle_count; i++)
        http_client_free(link->idle[i]);
    (void)pthread_mutex_destroy(&link->lock);
    if (link->token != NULL)
        explicit_bzero(link->token, strlen(link->token));
    mem_free(link->token);
}

/* ---- requests ---- */

/* What the outcome of a request means for a worker. */
static enum rc meaning(enum rc rc, const struct err *err)
{
    if (rc == RC_TIMEOUT)
        return RC_UNREACHABLE;
    if (rc == RC_LIMIT)
        return RC_BUSY;
    return rc == RC_CONFLICT && text_same(err->code, "LEASE_LOST") ? RC_STALE : rc;
}

enum rc port_link_call(struct port_link *link, const struct http_call *call, struct buf *answer,
                       struct err *err)
{
    struct http_client *client = NULL;
    struct http_reply reply;
    struct err own = {0};
    enum rc rc = take_client(link, &client, &own);
    if (rc == RC_OK) {
        rc = http_client_call(client, call, answer, &reply, &own);
        give_client(link, client);
    }
    if (rc != RC_OK && err != NULL)
        *err = own;
    return meaning(rc, &own);
}

void exchange_release(struct exchange *exchange)
{
    buf_release(&exchange->body);
    buf_release(&exchange->answer);
    js_free(exchange->tree);
}

void exchange_open(struct exchange *exchange)
{
    *exchange = (struct exchange){0};
    buf_init(&exchange->body, BODY_BYTES_MAX);
    buf_init(&exchange->answer, PORT_ANSWER_MAX);
    exchange->jw = jw_to(&exchange->body);
    jw_begin(&exchange->jw, '{');
}

enum rc exchange_send(struct exchange *exchange, struct port_link *link,
                      const struct http_call *how, struct err *err)
{
    jw_end(&exchange->jw, '}');
    if (exchange->body.overflow)
        return err_set(err, RC_TOO_LARGE, "CALL_TOO_LARGE", "%s: more than %d bytes", how->path,
                       BODY_BYTES_MAX);
    struct http_call call = *how;
    call.method = "POST";
    call.body = buf_str(&exchange->body);
    enum rc rc = port_link_call(link, &call, &exchange->answer, err);
    if (rc != RC_OK)
        return rc;
    if (js_parse(exchange->answer.data, exchange->answer.len, &exchange->tree, NULL) != RC_OK)
        return err_set(err, RC_IO, "ODD_ANSWER", "%s does not answer with JSON: is it a drover?",
                       link->url);
    return RC_OK;
}
