/*
 * envelope.c - one block of memory: the struct, the frame with the JSON in it, the other texts.
 */
#include "control/watch/envelope.h"
#include "base/mem.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

static atomic_size_t bytes_alive;

void envelope_frame(struct buf *to, const struct event *event, struct str json)
{
    buf_addf(to, "id: %" PRId64 "\nevent: %s\ndata: ", event->seq, event->type);
    buf_add(to, json.at, json.len);
    buf_adds(to, "\n\n");
}

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

/* NULL stays NULL. */
static const char *put_text(char **to, const char *text)
{
    char *at = *to;
    if (text == NULL)
        return NULL;
    memcpy(at, text, strlen(text) + 1);
    *to += strlen(text) + 1;
    return at;
}

/* The data is the last member of the CloudEvent: see event_write. */
static struct str data_in(struct str json, const struct event *event)
{
    size_t len = event->data.len;
    if (len == 0 || json.len < len + 1)
        return STR("{}");
    return (struct str){json.at + json.len - 1 - len, len};
}

static struct envelope *fill(const struct event *event, struct str frame, size_t json_at,
                             size_t json_len)
{
    size_t texts = text_bytes(event->type) + text_bytes(event->tags) +
                   text_bytes(event->actor.type) + text_bytes(event->actor.id);
    struct envelope *envelope = mem_alloc(sizeof *envelope + frame.len + texts);
    char *block = (char *)(envelope + 1), *at = block + frame.len;
    const struct event_type *entry = event_type_find(event->type);
    memcpy(block, frame.at, frame.len);
    *envelope = (struct envelope){
        .seq = event->seq,
        .id = event->id,
        .task_id = event->task_id,
        .run_id = event->run_id,
        .correlation_id = event->correlation_id,
        .time_us = event->time_us,
        .frame = {block, frame.len},
        .json = {block + json_at, json_len},
        .type_index = entry != NULL ? event_type_index(entry) : EVENT_TYPE_COUNT,
        .refs = 1,
    };
    envelope->data = data_in(envelope->json, event);
    envelope->traits = (struct event_traits){.type = put_text(&at, event->type),
                                             .tags = put_text(&at, event->tags),
                                             .severity = event_severity_of(event)};
    envelope->actor.type = put_text(&at, event->actor.type);
    envelope->actor.id = put_text(&at, event->actor.id);
    atomic_fetch_add_explicit(&bytes_alive, json_len, memory_order_relaxed);
    return envelope;
}

struct envelope *envelope_new(const struct event *event, const char **ret_why)
{
    CLEANUP(buf_release) struct buf json;
    CLEANUP(buf_release) struct buf frame;
    buf_init(&json, ENVELOPE_BYTES_MAX);
    buf_init(&frame, ENVELOPE_BYTES_MAX + 2 * EVENT_TYPE_MAX);
    struct jw jw = jw_to(&json);
    event_write(&jw, event);
    const char *why = json.overflow ? "it is too large" : event_unsendable(event, buf_str(&json));
    if (why != NULL) {
        *ret_why = why;
        return NULL;
    }
    envelope_frame(&frame, event, buf_str(&json));
    size_t json_at = frame.len - json.len - strlen("\n\n");
    return fill(event, buf_str(&frame), json_at, json.len);
}

struct envelope *envelope_ref(struct envelope *envelope)
{
    __atomic_add_fetch(&envelope->refs, 1, __ATOMIC_RELAXED);
    return envelope;
}

void envelope_unref(struct envelope *envelope)
{
    if (envelope == NULL || __atomic_sub_fetch(&envelope->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    atomic_fetch_sub_explicit(&bytes_alive, envelope->json.len, memory_order_relaxed);
    mem_free(envelope);
}

size_t envelope_bytes_alive(void)
{
    return atomic_load_explicit(&bytes_alive, memory_order_relaxed);
}
