#include "control/commit/event_body.h"
#include <assert.h>

/* Texts of clients and workers are limited where they are accepted; this is several times their
   sum, with every byte escaped. */
enum { BODY_BYTES_MAX = 512 * 1024 };

void event_body_open(struct event_body *body)
{
    buf_init(&body->buf, BODY_BYTES_MAX);
    body->jw = jw_to(&body->buf);
    jw_begin(&body->jw, '{');
}

void event_body_release(struct event_body *body)
{
    buf_release(&body->buf);
}

struct str event_body_close(struct event_body *body)
{
    jw_end(&body->jw, '}');
    assert(!body->buf.overflow);
    return buf_str(&body->buf);
}
