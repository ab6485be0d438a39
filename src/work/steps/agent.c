/*
 * agent.c - one attempt of the agent: made ready, run to its end, collected, reported.
 *
 * compute.h has where the agent runs.  Here is what holds for all of them: an agent is
 * ended when the server cancels it, when its time is up, and when it has used up its turns or its
 * budget.
 */
#include "work/agent/attempt.h"
#include "work/agent/session_cost.h"

enum { QUOTA_END_MS = 5000 };

/* What is left of the agent's own time, and of the run's. */
static int64_t wall_ms(const struct step *step)
{
    const struct step_input *input = &step->input;
    int64_t ms = input->config.timeouts.agent_ms;
    int64_t now_us = clock_now_us(&step->site->clock);
    if (input->session_begun_us > 0) /* Another worker polled it before. */
        ms -= (now_us - input->session_begun_us) / US_PER_MS;
    if (input->run_deadline_us > 0) {
        int64_t left_ms = (input->run_deadline_us - now_us) / US_PER_MS;
        ms = left_ms < ms ? left_ms : ms;
    }
    return ms > 0 ? ms : 1;
}

/* A program that met a usage limit ends by itself, with a failure: that confirms its message. */
void attempt_check_limits(struct attempt *attempt)
{
    const struct transcript *transcript = &attempt->transcript;
    if (attempt->limit != NULL || transcript->stop == NULL)
        return;
    bool may_end = text_same(transcript->stop, CUT_QUOTA) && transcript->quota.rejected;
    attempt->limit = transcript->stop;
    attempt->cut_us = clock_mono_us() + (may_end ? QUOTA_END_MS * US_PER_MS : 0);
}

bool attempt_is_cut(const struct attempt *attempt)
{
    return attempt->limit != NULL && clock_mono_us() >= attempt->cut_us;
}

/* COMPUTE_ENDED: it may continue. */
static enum compute_end reason_to_end(const struct attempt *attempt)
{
    if (stop_asked(attempt->step->stop) != STOP_NONE)
        return COMPUTE_STOPPED;
    if (attempt_is_cut(attempt))
        return COMPUTE_CUT_OFF;
    bool held = attempt->hold != PORT_HOLD_NONE;
    return !held && clock_mono_us() >= attempt->end_us ? COMPUTE_TIMED_OUT : COMPUTE_ENDED;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum rc watch(struct attempt *attempt, struct err *err)
{
    const struct compute_ops *compute = attempt->compute;
    bool stopping = false, ended = false;
    enum rc rc = RC_OK;
    while (rc == RC_OK && !ended) {
        int64_t until_us = earlier(attempt_steer(attempt), attempt_ask(attempt));
        enum compute_end why = reason_to_end(attempt);
        if (why != COMPUTE_ENDED && !stopping) {
            stopping = true;
            compute->stop(attempt, why);
        }
        until_us = earlier(until_us, snapshot_thread_tick(attempt->snapshots, &attempt->progress));
        until_us = earlier(until_us, rollout_look(&attempt->rollout));
        attempt_check_limits(attempt);
        until_us = earlier(until_us, progress_tick(&attempt->progress, clock_mono_us()));
        until_us = earlier(until_us, rollout_look(&attempt->rollout));
        attempt_check_limits(attempt);
        if (attempt->limit != NULL && !stopping)
            until_us = earlier(until_us, attempt->cut_us);
        if (!stopping && attempt->hold == PORT_HOLD_NONE)
            until_us = earlier(until_us, attempt->end_us);
        rc = compute->poll(attempt, until_us, &ended, err);
    }
    return rc;
}

static enum rc run_agent(struct attempt *attempt, struct err *err)
{
    attempt->end_us = clock_mono_us() + wall_ms(attempt->step) * US_PER_MS;
    enum rc rc = attempt->compute->start(attempt, err);
    if (rc == RC_OK)
        rc = watch(attempt, err);
    attempt_ask_over(attempt);
    attempt_report_delivered(attempt);
    if (attempt->transcript.session_usd > 0)
        session_cost_write(attempt->step, attempt->transcript.session_id,
                           attempt->transcript.session_usd);
    rollout_finish(&attempt->rollout);
    attempt_check_limits(attempt);
    /* A result has the sums too; one that was stopped has no result. */
    progress_finish(&attempt->progress);
    if (rc == RC_OK && attempt->ended.end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The agent was stopped.");
    return rc;
}

enum rc attempt_run(struct attempt *attempt, struct err *err)
{
    enum rc rc = attempt->compute->ready(attempt, err);
    if (rc != RC_OK)
        return rc;
    rc = run_agent(attempt, err);
    attempt_save_login(attempt);
    return rc;
}

/* The work of an agent in our tree is saved when it failed or was stopped.  When the lease is lost
   that could not be reported: the step that makes the tree anew saves it. */
static void save_work(const struct attempt *attempt, enum rc rc)
{
    static const char *const by_stop[] = {
        [STOP_CANCEL] = "cancelled",
        [STOP_SHUTDOWN] = "shutdown",
        [STOP_TIMEOUT] = "timed_out",
    };
    static const char *const by_end[] = {
        [COMPUTE_ENDED] = "failed",       [COMPUTE_TIMED_OUT] = "timed_out",
        [COMPUTE_CUT_OFF] = "cut_off",    [COMPUTE_IDLE_TIMED_OUT] = "timed_out",
        [COMPUTE_OVER_LIMIT] = "cut_off", [COMPUTE_STOPPED] = "cancelled",
    };
    enum stop_reason asked = stop_asked(attempt->step->stop);
    enum compute_end end = attempt->ended.end;
    bool good = rc == RC_OK && end == COMPUTE_ENDED;
    if (attempt->handed_out && !good && asked != STOP_LOST)
        snapshot_thread_last(attempt->step, asked == STOP_NONE ? by_end[end] : by_stop[asked],
                             asked != STOP_SHUTDOWN);
}

enum rc step_agent(struct step *step, struct err *err)
{
    CLEANUP(attempt_release) struct attempt attempt;
    attempt_init(&attempt, step);
    if (attempt.compute == NULL) {
        enum rc rc = err_set(err, RC_INVALID, "INVALID_FIELD",
                             "An agent of this repository leases its work itself.");
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    }
    enum rc rc = attempt_run(&attempt, err);
    if (rc == RC_OK && attempt_lost_session(&attempt)) {
        attempt_begin_anew(&attempt);
        rc = attempt_run(&attempt, err);
    }
    if (rc == RC_OK)
        rc = attempt.compute->collect(&attempt, err);
    save_work(&attempt, rc);
    if (rc == RC_OK)
        attempt_write_result(&attempt);
    return rc;
}
