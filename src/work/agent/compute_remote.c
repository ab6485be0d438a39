/*
 * compute_remote.c - an agent behind an HTTP address, followed by its session.
 *
 * The server stored the session's id before any worker could start it, so every worker that leases
 * the job knows the session, also after a crash:
 *
 *     no worker had the job before    start
 *     a worker may have started it    poll; start if the remote agent does not know it
 *     it is known to have begun       poll; if the remote agent does not know it, it is lost
 *
 * A lost session (not found, too many polls in a row without an answer, or a poll that is answered
 * as if it were a start: the remote agent has lost it and begun anew) is stopped and ends without a
 * report; what it left is looked up in the forge (steps/collect.c).
 *
 * A worker that loses its lease or shuts down leaves the session alone: another worker continues
 * polling.
 */
#include "work/agent/compute_remote.h"
#include "base/log.h"
#include "core/event_types.h"
#include "work/agent/attempt.h"
#include "work/agent/remote_link.h"
#include <math.h>
#include <poll.h>

enum { EVENTS_MAX = 100, STOP_TRIES_MAX = 3, STOP_PAUSE_MS = 500 };
static const int64_t count_max = INT64_C(1000000000000);
static const double cost_max = 1e6;

struct remote {
    struct remote_link *link;
    int64_t next_us;           /* Of the next poll, by clock_mono_us. */
    int64_t failures;          /* Polls without a usable answer in a row. */
    enum compute_end stopping; /* COMPUTE_ENDED: no stop is requested. */
    bool over;                 /* It has ended, or is lost. */
    struct remote_answer last; /* Its last answer. */
};

static enum rc ready(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    if (step->input.session_id == NULL || step->input.base_commit == NULL) {
        enum rc rc = err_set(err, RC_INVALID, "INVALID_FIELD",
                             "The payload has no sessionId or no baseCommit.");
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    }
    attempt->remote = arena_alloc(step->arena, sizeof *attempt->remote);
    *attempt->remote = (struct remote){.stopping = COMPUTE_ENDED};
    attempt->base = step->input.base_commit;
    return remote_link_open(step, &attempt->remote->link, err);
}

static void release(struct attempt *attempt)
{
    struct remote *remote = attempt->remote;
    if (remote == NULL)
        return;
    remote_link_free(remote->link);
    remote_answer_release(&remote->last);
    attempt->remote = NULL;
}

/* ---- events ---- */

static void report(struct step *step, const char *type, const char *reason)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_RESULT_MAX / 2);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sessionId", step->input.session_id);
    jw_kint(&jw, "attempt", step->input.attempt);
    jw_optstr(&jw, "reason", reason);
    jw_end(&jw, '}');
    step_event(step, type, buf_str(&data));
}

/* ---- what it answers ---- */

static void lose(struct attempt *attempt, const char *reason, const char *text)
{
    struct remote *remote = attempt->remote;
    remote->over = true;
    transcript_copy(attempt->transcript.error, sizeof attempt->transcript.error, text);
    report(attempt->step, EV_SESSION_LOST, reason);
    if (remote_end(remote->link, NULL) != RC_OK)
        LOG(LOG_WARN, "a lost session could not be stopped",
            LOG_STR("runId", attempt->step->input.run_id.text),
            LOG_STR("sessionId", attempt->step->input.session_id));
}

static int64_t larger(int64_t now, int64_t said)
{
    return said > now && said <= count_max ? said : now;
}

/* Sums since the session began; they only grow. */
static void take_usage(struct attempt *attempt, const struct js *answer)
{
    struct usage *usage = &attempt->transcript.usage;
    const struct usage before = *usage;
    double cost = js_num(js_get(answer, "costUsd"), 0);
    usage->turns = larger(usage->turns, js_get_int(answer, "turns", 0));
    usage->input_tokens = larger(usage->input_tokens, js_get_int(answer, "inputTokens", 0));
    usage->output_tokens = larger(usage->output_tokens, js_get_int(answer, "outputTokens", 0));
    if (isfinite(cost) && cost > usage->cost_usd)
        usage->cost_usd = cost < cost_max ? cost : cost_max;
    transcript_copy(usage->model, sizeof usage->model, js_get_str(answer, "model", usage->model));
    if (usage->turns != before.turns || usage->cost_usd > before.cost_usd)
        progress_turn(&attempt->progress, usage);
}

/* What happened since the last poll, in the form of the ndjson adapter.  A session may last for
   days: nothing of a poll stays in memory. */
static void take_events(struct attempt *attempt, const struct js *answer)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct js *events = js_get(answer, "events");
    size_t count = js_count(events);
    for (size_t i = 0; i < count && i < EVENTS_MAX; i++) {
        transcript_line(&attempt->transcript, str_of(js_text(js_at(events, i), &arena)));
        arena_reset(&arena);
    }
}

static enum compute_end end_of(const struct js *answer)
{
    const char *reason = js_get_str(answer, "reason", "");
    if (text_same(reason, "idle_timeout"))
        return COMPUTE_IDLE_TIMED_OUT;
    return text_same(reason, "timeout") ? COMPUTE_TIMED_OUT : COMPUTE_ENDED;
}

static void take_end(struct attempt *attempt, struct remote_answer *answer)
{
    struct remote *remote = attempt->remote;
    bool failed = answer->status == REMOTE_FAILED;
    struct transcript *transcript = &attempt->transcript;
    attempt->record = failed ? REPORT_ERROR : REPORT_SUCCESS;
    attempt->ended.end = failed ? end_of(answer->tree) : COMPUTE_ENDED;
    transcript_copy(transcript->summary, sizeof transcript->summary,
                    js_get_str(answer->tree, "summary", ""));
    if (failed)
        transcript_failed(transcript, js_get_str(answer->tree, "error", ""));
    remote->over = true;
    remote->last = *answer;
    answer->tree = NULL;
}

static void count_failure(struct attempt *attempt, const char *text)
{
    struct remote *remote = attempt->remote;
    if (++remote->failures >= attempt->step->input.config.agent.remote.lost_polls)
        lose(attempt, "no_answer", text);
}

static void take_answer(struct attempt *attempt, struct remote_answer *answer)
{
    struct remote *remote = attempt->remote;
    if (answer->status == REMOTE_UNKNOWN) {
        count_failure(attempt, "The remote agent's answers make no sense.");
        return;
    }
    remote->failures = 0;
    take_events(attempt, answer->tree);
    take_usage(attempt, answer->tree);
    if (answer->status == REMOTE_ACCEPTED)
        lose(attempt, "began_anew", "The remote side lost the session and began it anew.");
    else if (answer->status == REMOTE_RUNNING)
        transcript_check(&attempt->transcript);
    else
        take_end(attempt, answer); /* What it used is used: it is not cut off any more. */
    attempt_check_limits(attempt);
}

static enum rc poll_once(struct attempt *attempt, struct err *err)
{
    struct remote *remote = attempt->remote;
    CLEANUP(remote_answer_release) struct remote_answer answer = {0};
    enum rc rc = remote_ask(remote->link, &answer, err);
    if (rc == RC_OK)
        take_answer(attempt, &answer);
    else if (rc == RC_NOT_FOUND)
        lose(attempt, "not_found", "The remote side does not know the session any more.");
    else if (rc == RC_TOO_LARGE)
        return step_fail(attempt->step, rc, err, (struct port_failure){.code = "patch_too_large"});
    else if (rc != RC_CANCELLED) /* Then steps/agent.c handles the stop. */
        count_failure(attempt, err->text);
    return RC_OK;
}

static void plan_next(struct attempt *attempt)
{
    int64_t poll_ms = attempt->step->input.config.agent.remote.poll_ms;
    attempt->remote->next_us = clock_mono_us() + poll_ms * US_PER_MS;
}

/* ---- start ---- */

static enum rc fail_start(struct step *step, enum rc rc, const struct err *err)
{
    if (rc == RC_CANCELLED)
        return rc;
    bool retryable = rc == RC_LIMIT || rc == RC_BUSY || rc == RC_UNREACHABLE || rc == RC_TIMEOUT ||
                     rc == RC_IO;
    /* A call timed out, not the step. */
    return step_fail(step, rc == RC_TIMEOUT ? RC_UNREACHABLE : rc, err,
                     (struct port_failure){.code = "session_start_failed", .retryable = retryable});
}

static enum rc begin(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    CLEANUP(remote_answer_release) struct remote_answer answer = {0};
    enum rc rc = step_still_mine(step, err);
    if (rc != RC_OK)
        return rc;
    rc = remote_begin(attempt->remote->link, &answer, err);
    bool had_it = rc == RC_CONFLICT; /* An earlier start arrived after all. */
    if (rc != RC_OK && !had_it)
        return fail_start(step, rc, err);
    if (answer.status == REMOTE_UNKNOWN && !had_it) {
        rc = err_set(err, RC_INVALID, "INVALID_ANSWER",
                     "The remote agent did not acknowledge the task.");
        return fail_start(step, rc, err);
    }
    report(step, EV_SESSION_STARTED, NULL);
    return RC_OK;
}

/* Another worker had the job before, and it is not known how far it got.  While the remote agent
   does not answer, a start could start the session twice. */
static enum rc begin_unless_begun(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    CLEANUP(remote_answer_release) struct remote_answer answer = {0};
    enum rc rc = remote_ask(attempt->remote->link, &answer, err);
    if (rc == RC_NOT_FOUND)
        return begin(attempt, err);
    if (rc != RC_OK)
        return fail_start(step, rc, err);
    report(step, EV_SESSION_STARTED, NULL);
    take_answer(attempt, &answer);
    return RC_OK;
}

static enum rc start(struct attempt *attempt, struct err *err)
{
    const struct step *step = attempt->step;
    bool fresh = step->lease.epoch <= 1 && !step->input.session_resumed;
    enum rc rc;
    if (step->input.session_begun_us > 0)
        rc = poll_once(attempt, err);
    else
        rc = fresh ? begin(attempt, err) : begin_unless_begun(attempt, err);
    plan_next(attempt);
    return rc;
}

/* ---- poll and stop ---- */

static bool leaves_it_alone(const struct step *step)
{
    enum stop_reason reason = stop_asked(step->stop);
    return reason == STOP_LOST || reason == STOP_SHUTDOWN;
}

/* Retried until the remote agent has confirmed it, at most STOP_TRIES_MAX times; the clean step
   requests it once more. */
static void end_session(struct attempt *attempt)
{
    struct remote *remote = attempt->remote;
    struct err err = {0};
    enum rc rc = RC_OK;
    attempt->ended.end = remote->stopping;
    if (leaves_it_alone(attempt->step))
        return;
    for (int i = 0; i < STOP_TRIES_MAX; i++) {
        rc = remote_end(remote->link, &err);
        if (rc == RC_OK)
            return;
        (void)poll(NULL, 0, STOP_PAUSE_MS);
    }
    LOG(LOG_WARN, "a remote session does not confirm its end",
        LOG_STR("runId", attempt->step->input.run_id.text),
        LOG_STR("sessionId", attempt->step->input.session_id), LOG_STR("error", err.text));
}

static enum rc poll_remote(struct attempt *attempt, int64_t until_us, bool *ret_ended,
                           struct err *err)
{
    struct remote *remote = attempt->remote;
    if (!remote->over && remote->stopping != COMPUTE_ENDED) {
        end_session(attempt);
        remote->over = true;
    }
    int64_t wake_us = until_us < remote->next_us ? until_us : remote->next_us;
    if (!remote->over)
        (void)stop_wait(attempt->step->stop,
                        (wake_us - clock_mono_us() + US_PER_MS - 1) / US_PER_MS);
    enum rc rc = RC_OK;
    if (!remote->over && clock_mono_us() >= remote->next_us) {
        rc = poll_once(attempt, err);
        plan_next(attempt);
    }
    if (rc == RC_OK)
        *ret_ended = remote->over;
    return rc;
}

static void stop(struct attempt *attempt, enum compute_end why)
{
    attempt->remote->stopping = why;
}

/* ---- collect ---- */

/* Secrets in it end here; steps/collect.c checks whether it is a patch. */
static enum rc collect(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const char *patch = js_get_str(attempt->remote->last.tree, "patch", "");
    struct str bytes = str_of(patch);
    if (bytes.len == 0)
        return RC_OK;
    if ((int64_t)bytes.len > step->input.config.limits.max_patch_bytes) {
        enum rc rc = err_set(err, RC_TOO_LARGE, "PATCH_TOO_LARGE", "The patch has %zu bytes.",
                             bytes.len);
        return step_fail(step, rc, err, (struct port_failure){.code = "patch_too_large"});
    }
    struct collected given = {0};
    enum rc rc = collect_given(step, attempt->base, bytes, &given, err);
    attempt->given_sha256 = given.sha256;
    attempt->patch.scan.secrets = given.scan.secrets;
    return rc;
}

const struct compute_ops compute_remote = {
    .name = "remote",
    .ready = ready,
    .start = start,
    .poll = poll_remote,
    .stop = stop,
    .collect = collect,
    .release = release,
};

enum rc remote_stop_session(struct step *step, struct err *err)
{
    CLEANUP(remote_link_freep) struct remote_link *link = NULL;
    enum rc rc = remote_link_open(step, &link, err);
    return rc == RC_OK ? remote_end(link, err) : rc;
}
