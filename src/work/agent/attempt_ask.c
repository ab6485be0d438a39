/*
 * attempt_ask.c - what an agent asks people in its own protocol, asked for it at the server.
 *
 *     request of the agent --> adapter --> question of the run --> answer --> adapter --> agent
 *
 * One at a time: a run has one open question.  While it is open the clocks of the attempt stand
 * still, and it is looked at when the server says that the hold is over, and now and then.  An
 * agent that is stopped or dies leaves its question open: the run waits for the answer, and the
 * agent that is started with it gets it when it asks the same again.  A question that the agent
 * itself has given up is withdrawn.
 */
#include "core/text/prose.h"
#include "core/text/redact.h"
#include "work/agent/attempt.h"
#include "work/job/step_secrets.h"
#include <string.h>

enum {
    LOOK_MS = 1000,     /* Between two looks at an open question, and two tries to ask it. */
    LOOK_SOON_MS = 100, /* The same when it should be closed by now. */
};

static int64_t after_ms(int64_t ms)
{
    return clock_mono_us() + ms * US_PER_MS;
}

/* ---- what is asked ---- */

static bool is_ending(const struct attempt *attempt)
{
    return attempt->transcript.stop != NULL || attempt->limit != NULL ||
           stop_asked(attempt->step->stop) != STOP_NONE;
}

static const struct question_spec *wanted_of(const struct attempt *attempt)
{
    const struct transcript *transcript = &attempt->transcript;
    if (!attempt->converses || transcript->ops->asks == NULL || is_ending(attempt))
        return NULL;
    return transcript->ops->asks(transcript);
}

/* What the agent wrote, without secrets, within the limits of questions. */
static void copy_spec(struct attempt *attempt, const struct question_spec *wanted)
{
    struct asking *asking = &attempt->asking;
    struct arena *arena = &asking->arena;
    const struct secrets *secrets = step_secrets(attempt->step);
    const char *text = redact_dup(secrets, wanted->text, arena);
    asking->wanted = arena_strdup(arena, wanted->text);
    asking->spec = (struct question_spec){
        .text = arena_strndup(arena, text, prose_fit(text, strlen(text), QUESTION_BYTES_MAX)),
        .timeout_ms = wanted->timeout_ms};
    for (size_t i = 0; i < wanted->option_count; i++) {
        question_spec_add(&asking->spec, redact_dup(secrets, wanted->options[i], arena), arena);
        if (text_same(wanted->options[i], wanted->default_answer))
            asking->spec.default_answer = asking->spec.options[i];
    }
    if (wanted->option_count == 0 && wanted->default_answer != NULL)
        asking->spec.default_answer = redact_dup(secrets, wanted->default_answer, arena);
}

/* ---- the answer ---- */

/* Where options had secrets in them the agent gets its own words back. */
static const char *own_words(const struct attempt *attempt, const char *answer)
{
    const struct question_spec *asked = &attempt->asking.spec, *wanted = wanted_of(attempt);
    for (size_t i = 0; answer != NULL && wanted != NULL && i < asked->option_count; i++)
        if (text_same(asked->options[i], answer) && i < wanted->option_count)
            return wanted->options[i];
    return answer;
}

static void forget(struct attempt *attempt)
{
    struct asking *asking = &attempt->asking;
    struct steer *steer = attempt->step->steer;
    /* The next heartbeat says so, too.  A pause is left alone. */
    if (asking->open && steer_hold(steer) == PORT_HOLD_ASKING)
        steer_note(steer, &(struct port_beat){.ok = true, .hold = PORT_HOLD_NONE});
    arena_release(&asking->arena);
    *asking = (struct asking){.answers_used = asking->answers_used};
}

static void pass_on(struct attempt *attempt, const char *answer)
{
    struct transcript *transcript = &attempt->transcript;
    if (wanted_of(attempt) != NULL)
        transcript->ops->answer(transcript, own_words(attempt, answer));
    forget(attempt);
}

/* An answer to the same question that came when no agent was there; it counts once. */
static bool take_unread(struct attempt *attempt)
{
    struct asking *asking = &attempt->asking;
    const struct js *answers = js_get(attempt->step->input.payload, "answers");
    for (size_t i = 0; i < js_count(answers) && i < ANSWERS_MAX; i++) {
        const struct js *item = js_at(answers, i);
        uint64_t bit = UINT64_C(1) << i;
        if (!js_get_bool(item, "unread", false) || (asking->answers_used & bit) != 0 ||
            !text_same(js_get_str(item, "question", ""), asking->spec.text))
            continue;
        asking->answers_used |= bit;
        transcript_message(&attempt->transcript, "The agent asks what was answered while it was "
                                                 "not there, and gets that answer.");
        pass_on(attempt, js_get_str(item, "answer", NULL));
        return true;
    }
    return false;
}

/* ---- the server ---- */

static void begin(struct attempt *attempt)
{
    struct asking *asking = &attempt->asking;
    struct step *step = attempt->step;
    struct port *port = step->site->port;
    struct port_question question = {0};
    struct err err = {0};
    enum rc rc = port->ops->ask(port, &step->lease, &asking->spec, &asking->arena, &question, &err);
    asking->look_us = after_ms(LOOK_MS);
    if (rc == RC_OK) {
        asking->open = true;
        asking->id = question.id;
        steer_note(step->steer, &(struct port_beat){.ok = true, .hold = PORT_HOLD_ASKING});
    } else if (rc == RC_STALE) {
        stop_ask(step->stop, STOP_LOST);
    } else if (text_same(err.code, "QUESTION_OPEN")) {
        return; /* Another one of the agent, by drover ask: after that. */
    } else if (text_same(err.code, "TOO_MANY_QUESTIONS") ||
               (rc != RC_BUSY && rc != RC_UNREACHABLE && rc != RC_IO)) {
        transcript_message(
            &attempt->transcript,
            arena_printf(&asking->arena, "The agent's question cannot be asked: %s", err.text));
        pass_on(attempt, asking->spec.default_answer);
    }
}

static void look(struct attempt *attempt)
{
    struct asking *asking = &attempt->asking;
    struct step *step = attempt->step;
    struct port *port = step->site->port;
    struct port_question question = {0};
    enum rc rc = port->ops->question(port, &step->lease, &asking->id, &asking->arena, &question,
                                     NULL);
    asking->look_us = after_ms(LOOK_MS);
    if (rc == RC_STALE)
        stop_ask(step->stop, STOP_LOST);
    else if ((rc == RC_OK && !question.open) || rc == RC_NOT_FOUND)
        pass_on(attempt, rc == RC_OK ? question.answer : NULL);
}

static void withdraw(struct attempt *attempt)
{
    struct step *step = attempt->step;
    struct port *port = step->site->port;
    if (port->ops->withdraw(port, &step->lease, &attempt->asking.id, NULL) == RC_STALE)
        stop_ask(step->stop, STOP_LOST);
    forget(attempt);
}

/* ---- in the loop of the attempt ---- */

int64_t attempt_ask(struct attempt *attempt)
{
    struct asking *asking = &attempt->asking;
    const struct question_spec *wanted = wanted_of(attempt);
    bool same = wanted != NULL && text_same(asking->wanted, wanted->text);
    if (asking->open && !same && !is_ending(attempt))
        withdraw(attempt);
    if (wanted == NULL)
        return INT64_MAX;
    if (!same) {
        forget(attempt);
        copy_spec(attempt, wanted);
        if (take_unread(attempt))
            return clock_mono_us(); /* There may be another one. */
    }
    /* A hold that is over: the question should be closed. */
    if (asking->open && steer_hold(attempt->step->steer) == PORT_HOLD_NONE &&
        asking->look_us > after_ms(LOOK_SOON_MS))
        asking->look_us = after_ms(LOOK_SOON_MS);
    if (clock_mono_us() < asking->look_us)
        return asking->look_us;
    if (asking->open)
        look(attempt);
    else
        begin(attempt);
    return asking->wanted != NULL ? asking->look_us : clock_mono_us();
}

void attempt_ask_over(struct attempt *attempt)
{
    const struct transcript *transcript = &attempt->transcript;
    bool given_up = attempt->asking.open && !is_ending(attempt) &&
                    transcript->ops->asks(transcript) == NULL;
    if (given_up)
        withdraw(attempt);
    arena_release(&attempt->asking.arena);
    attempt->asking = (struct asking){.look_us = 0};
}
