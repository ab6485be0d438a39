/*
 * progress.c - a bounded batch of events on its way to the server.
 */
#include "work/job/progress.h"
#include "base/clock.h"
#include "base/jw.h"
#include "base/log.h"
#include "core/event_types.h"
#include "core/text/redact.h"
#include "work/job/retry.h"
#include <poll.h>

/* Kept free for the turn and for the note about what was dropped. */
enum { RESERVE_BYTES = 2048 };

void progress_init(struct progress *progress, struct port *port, const struct port_ref *lease,
                   struct stop *stop)
{
    *progress = (struct progress){.port = port, .lease = *lease, .stop = stop};
    buf_init(&progress->events, PROGRESS_BYTES_MAX);
}

void progress_release(struct progress *progress)
{
    buf_release(&progress->events);
}

static void append(struct buf *events, const char *type, struct str data)
{
    struct jw jw = jw_to(events);
    jw.comma = events->len > 0;
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", type);
    jw_kraw(&jw, "data", data);
    jw_end(&jw, '}');
}

bool progress_add(struct progress *progress, const char *type, struct str data)
{
    enum { FRAME_BYTES = 128, OWN_EVENTS = 2 };
    size_t room = PROGRESS_BYTES_MAX - RESERVE_BYTES;
    if (progress->count >= PROGRESS_EVENTS_MAX - OWN_EVENTS ||
        progress->events.len + data.len + FRAME_BYTES > room) {
        progress->dropped++;
        return false;
    }
    CLEANUP(buf_release) struct buf clean;
    buf_init(&clean, PROGRESS_BYTES_MAX);
    redact_text(progress->secrets, data, &clean);
    size_t before = progress->events.len;
    append(&progress->events, type, buf_str(&clean));
    if (progress->events.overflow) { /* Redaction made it longer. */
        buf_cut(&progress->events, before);
        progress->events.overflow = false;
        progress->dropped++;
        return false;
    }
    progress->count++;
    return true;
}

void progress_turn(struct progress *progress, const struct usage *usage)
{
    progress->turn = *usage;
    progress->turn_waits = true;
}

static void append_turn(struct buf *events, const struct usage *turn)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, RESERVE_BYTES);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kint(&jw, "turns", turn->turns);
    jw_kint(&jw, "inputTokens", turn->input_tokens);
    if (turn->cached_input_tokens > 0)
        jw_kint(&jw, "cachedInputTokens", turn->cached_input_tokens);
    jw_kint(&jw, "outputTokens", turn->output_tokens);
    jw_kreal(&jw, "costUsd", turn->cost_usd);
    jw_kstr(&jw, "model", turn->model[0] ? turn->model : NULL);
    jw_end(&jw, '}');
    append(events, EV_MODEL_TURN_COMPLETED, buf_str(&data));
}

static void append_dropped(struct buf *events, int64_t dropped)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, RESERVE_BYTES);
    buf_addf(&data, "{\"text\":\"%lld more events came too fast to be told.\"}",
             (long long)dropped);
    append(events, EV_AGENT_MESSAGE, buf_str(&data));
}

/* True when the batch must not be sent again. */
static bool settle(struct progress *progress, enum rc rc, bool cancel, const struct err *err)
{
    switch (rc) {
    case RC_OK:
        if (cancel)
            stop_ask(progress->stop, STOP_CANCEL);
        return true;
    case RC_STALE:
        stop_ask(progress->stop, STOP_LOST);
        return true;
    case RC_BUSY:
    case RC_UNREACHABLE:
    case RC_IO:
        return false;
    default:
        LOG(LOG_WARN, "the server refused events of an agent",
            LOG_STR("jobId", progress->lease.id.text), LOG_STR("error", err->text));
        return true;
    }
}

/* The events that wait, and the two that always have room: the sum of turns, what was dropped. */
static bool send_batch(struct progress *progress)
{
    CLEANUP(buf_release) struct buf batch;
    buf_init(&batch, PROGRESS_BYTES_MAX);
    buf_add(&batch, progress->events.data, progress->events.len);
    if (progress->turn_waits)
        append_turn(&batch, &progress->turn);
    if (progress->dropped > 0)
        append_dropped(&batch, progress->dropped);
    CLEANUP(buf_release) struct buf call;
    buf_init(&call, PROGRESS_BYTES_MAX + 2);
    buf_addf(&call, "[%s]", buf_text(&batch));
    struct port_beat beat = {0};
    struct err err = {0};
    struct port *port = progress->port;
    enum rc rc = port->ops->progress(port, &progress->lease, buf_str(&call), &beat, &err);
    if (rc == RC_OK)
        steer_note(progress->steer, &beat);
    return settle(progress, rc, beat.cancel, &err);
}

static void forget(struct progress *progress)
{
    buf_clear(&progress->events);
    progress->count = progress->dropped = 0;
    progress->turn_waits = false;
}

static bool waits(const struct progress *progress)
{
    return progress->count > 0 || progress->turn_waits || progress->dropped > 0;
}

void progress_flush(struct progress *progress)
{
    if (!waits(progress))
        return;
    bool sent = send_batch(progress);
    if (sent)
        forget(progress);
    int64_t pause_ms = sent ? PROGRESS_EVERY_MS : PROGRESS_RETRY_MS;
    progress->next_us = clock_mono_us() + pause_ms * US_PER_MS;
}

void progress_finish(struct progress *progress)
{
    enum { TRIES = 5 };
    struct random random = random_from_os();
    for (int64_t i = 1; i <= TRIES && waits(progress); i++) {
        progress_flush(progress);
        if (waits(progress) && i < TRIES)
            (void)poll(NULL, 0, (int)retry_pause_ms(i, &random));
    }
}

int64_t progress_tick(struct progress *progress, int64_t now_us)
{
    if (waits(progress) && now_us >= progress->next_us)
        progress_flush(progress);
    if (waits(progress))
        return progress->next_us;
    return INT64_MAX;
}
