/*
 * attempt_steer.c - what people want of an agent while it works, passed on to it.
 *
 * A hold (work/job/steer.h) stops the clocks of the attempt, and a pause the agent's processes too.
 *
 * Messages are read from the server when it has told of one, and once more when the agent is done
 * and its stdin is about to be closed: then a message is another turn.  Each is said once.  It is
 * delivered when the agent has read it; one that it did not read before it ended stays with the
 * server, for the next attempt.
 */
#include "core/event_types.h"
#include "work/agent/attempt.h"
#include <string.h>

enum { ASK_AGAIN_MS = 1000, SAY_SPARE_BYTES = 1024, ESCAPED_BYTES_MAX = 6 };

static void set_hold(struct attempt *attempt, enum port_hold hold)
{
    int64_t now_us = clock_mono_us();
    if (hold == attempt->hold)
        return;
    if (attempt->hold == PORT_HOLD_NONE)
        attempt->held_us = now_us;
    else if (hold == PORT_HOLD_NONE)
        attempt->end_us += now_us - attempt->held_us;
    attempt->hold = hold;
    if (attempt->compute->hold != NULL)
        attempt->compute->hold(attempt, hold);
}

/* ---- messages ---- */

static bool listens(const struct attempt *attempt)
{
    const struct transcript *transcript = &attempt->transcript;
    return attempt->converses && transcript->ops->say != NULL && transcript->stop == NULL &&
           stop_asked(attempt->step->stop) == STOP_NONE;
}

static bool has_news(const struct attempt *attempt)
{
    const struct step *step = attempt->step;
    return steer_message_seq(step->steer) > attempt->said_seq ||
           (attempt->transcript.input_over && !attempt->asked_last);
}

/* False: there is no room for it yet. */
static bool say(struct attempt *attempt, const struct port_message *message)
{
    struct transcript *transcript = &attempt->transcript;
    size_t bytes = ESCAPED_BYTES_MAX * strlen(message->text) + SAY_SPARE_BYTES;
    if (message->seq <= attempt->said_seq)
        return true;
    if (transcript->input.len + bytes > transcript->input.max_bytes && transcript->input.len > 0)
        return false;
    transcript->input_over = false;
    transcript->ops->say(transcript, message->text);
    attempt->said_seq = message->seq;
    attempt->asked_last = false;
    return true;
}

static void read_messages(struct attempt *attempt)
{
    struct step *step = attempt->step;
    struct port *port = step->site->port;
    struct port_message *messages = NULL;
    size_t count = 0;
    CLEANUP(arena_release) struct arena arena = {0};
    bool last = attempt->transcript.input_over;
    enum rc rc = port->ops->messages(port, &step->lease, attempt->said_seq, &arena, &messages,
                                     &count, NULL);
    if (rc == RC_STALE)
        stop_ask(step->stop, STOP_LOST);
    /* What is not there now, or not to be had, waits for the next attempt. */
    attempt->asked_last = last;
    bool room = true;
    for (size_t i = 0; rc == RC_OK && i < count && room; i++)
        room = say(attempt, &messages[i]);
    if (rc != RC_OK || !room || count == 0)
        attempt->ask_us = clock_mono_us() + ASK_AGAIN_MS * US_PER_MS;
}

void attempt_report_delivered(struct attempt *attempt)
{
    if (attempt->said_seq <= attempt->delivered_seq || attempt->child == NULL ||
        attempt->transcript.input_waits || !compute_input_taken(attempt->child))
        return;
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_MESSAGE_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kint(&jw, "seq", attempt->said_seq);
    jw_kint(&jw, "attempt", attempt->step->input.attempt);
    jw_end(&jw, '}');
    if (progress_add(&attempt->progress, EV_MESSAGE_DELIVERED, buf_str(&data)))
        attempt->delivered_seq = attempt->said_seq;
}

int64_t attempt_steer(struct attempt *attempt)
{
    const struct step *step = attempt->step;
    if (step->steer != NULL)
        steer_seen(step->steer);
    set_hold(attempt, steer_hold(step->steer));
    attempt_report_delivered(attempt);
    if (!listens(attempt) || !has_news(attempt))
        return INT64_MAX;
    bool closing = attempt->transcript.input_over;
    if (closing || clock_mono_us() >= attempt->ask_us)
        read_messages(attempt);
    return has_news(attempt) ? attempt->ask_us : INT64_MAX;
}
