/*
 * adapter_provider.c - what an agent's program reports of its provider: retries, how much of the
 * account is used up, and requests that were refused for good.
 */
#include "base/jw.h"
#include "core/event_types.h"
#include "work/agent/adapter.h"
#include "work/agent/refusal.h"
#include "work/job/step.h"

enum {
    DATA_MAX = 2000,
    WINDOW_MAX = 100,
    /* A login that was just renewed may be refused once or twice; a program with a wrong key
       repeats its requests for minutes. */
    LOGIN_FAILURES_MAX = 3,
};

/* "retrying 2/10 after 529 overloaded, in 4 s" */
static void describe(const struct provider_retry *retry, struct buf *text)
{
    buf_adds(text, "retrying");
    if (retry->attempt > 0 && retry->attempts_max > 0)
        buf_addf(text, " %lld/%lld", (long long)retry->attempt, (long long)retry->attempts_max);
    if (retry->status > 0 || !text_empty(retry->why))
        buf_adds(text, " after");
    if (retry->status > 0)
        buf_addf(text, " %lld", (long long)retry->status);
    if (!text_empty(retry->why))
        buf_addf(text, " %s", retry->why);
    if (retry->delay_ms > 0)
        buf_addf(text, ", in %lld s", (long long)((retry->delay_ms + 999) / 1000));
}

static void fail_login(struct transcript *transcript, const char *why)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX);
    buf_addf(&text,
             "The provider refused the agent's login; log in again, or give it a valid key: %s",
             why);
    transcript->report = REPORT_ERROR;
    transcript_copy(transcript->error, sizeof transcript->error, buf_text(&text));
    transcript_stop(transcript, CUT_LOGIN);
}

void transcript_retrying(struct transcript *transcript, const struct provider_retry *retry)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_NAME_MAX - 1);
    describe(retry, &text);
    bool login = refusal_of(retry->status, text_empty(retry->why) ? "" : retry->why) ==
                 REFUSAL_LOGIN;
    transcript->login_failures = login ? transcript->login_failures + 1 : 0;
    if (!text_same(buf_text(&text), transcript->retry_text)) {
        transcript_copy(transcript->retry_text, sizeof transcript->retry_text, buf_text(&text));
        transcript_message(transcript, buf_text(&text));
    }
    if (transcript->login_failures >= LOGIN_FAILURES_MAX)
        fail_login(transcript, buf_text(&text));
}

void transcript_account(struct transcript *transcript, const struct account_usage *usage)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "window", usage->window, WINDOW_MAX);
    if (usage->utilization >= 0)
        jw_kreal(&jw, "utilization", usage->utilization < 1 ? usage->utilization : 1);
    jw_ktime(&jw, "resetsAt", usage->resets_us);
    jw_kstr(&jw, "status", usage->status);
    jw_end(&jw, '}');
    progress_add(transcript->progress, EV_ACCOUNT_USAGE, buf_str(&data));
}

void transcript_refused(struct transcript *transcript, const struct provider_refusal *refusal)
{
    const char *text = refusal->text;
    enum refusal kind = refusal_of(refusal->status, text);
    transcript->report = REPORT_ERROR;
    transcript_copy(transcript->error, sizeof transcript->error, text);
    transcript->overloaded = kind == REFUSAL_OVERLOAD;
    if (kind == REFUSAL_LOGIN)
        fail_login(transcript, text);
    if (kind == REFUSAL_QUOTA || kind == REFUSAL_CREDIT || transcript->quota.rejected) {
        transcript->quota.rejected |= refusal->status > 0 || refusal->has_no_status;
        transcript_quota(transcript, text);
    }
}
