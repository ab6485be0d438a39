/*
 * verification.c - certificate, feedback and result of a verification.
 *
 *     certificate (artifact, JSON)    the sealed facts: tree hash, commands, exit codes, counts
 *     feedback (artifact, Markdown)   for the agent's next attempt: what failed, and how
 *     result (<= 10 KB)               for the server; with many checks texts are cut, then left out
 */
#include "work/steps/verification.h"
#include <assert.h>

enum {
    CERTIFICATE_VERSION = 1,
    /* 32 checks with commands of 16 KB, all escapes, and 512 outputs carried to each. */
    CERTIFICATE_BYTES = STEP_TEXT_ARTIFACT_MAX,
    FEEDBACK_BYTES = 1024 * 1024,
    NAME_MAX_BYTES = 120,
};

static size_t count_of(const struct verification *verification, enum verify_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < verification->count; i++)
        count += verification->checks[i].status == status;
    return count;
}

const char *verification_verdict(const struct verification *verification)
{
    struct verify_outcome outcomes[COUNT_OF(verification->checks)];
    for (size_t i = 0; i < verification->count; i++)
        outcomes[i] = (struct verify_outcome){verification->checks[i].status,
                                              verification->checks[i].optional};
    return verify_verdict(outcomes, verification->count);
}

/* ---- certificate ---- */

static void write_carried(struct jw *jw, const struct check *check)
{
    jw_key(jw, "carried");
    jw_begin(jw, '[');
    for (size_t i = 0; i < check->carried_count; i++) {
        const struct carried *carried = &check->carried[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "path", carried->path);
        jw_kstr(jw, "from", carried->from);
        jw_kint(jw, "files", carried->files);
        jw_kint(jw, "bytes", carried->bytes);
        jw_kint(jw, "skipped", carried->skipped);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_certified_check(struct jw *jw, const struct check *check)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", check->name);
    jw_kstr(jw, "command", check->command);
    jw_kstr(jw, "status", verify_status_name(check->status));
    jw_kint(jw, "exitCode", check->exit_code);
    jw_kint(jw, "signal", check->signal);
    jw_kint(jw, "durationMs", check->duration_ms);
    jw_kbool(jw, "optional", check->optional);
    jw_optstr(jw, "category", failure_category_name(check->category));
    jw_kstr(jw, "reportSha256", check->report);
    write_carried(jw, check);
    jw_end(jw, '}');
}

static void write_counts(struct jw *jw, const struct verification *verification)
{
    jw_key(jw, "counts");
    jw_begin(jw, '{');
    jw_kint(jw, "total", (int64_t)verification->count);
    for (int status = 0; status < VERIFY_STATUS_COUNT; status++)
        jw_kint(jw, verify_status_name((enum verify_status)status),
                (int64_t)count_of(verification, (enum verify_status)status));
    jw_end(jw, '}');
}

static enum rc put_certificate(struct step *step, const struct verification *verification,
                               const char **ret_sha256, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, CERTIFICATE_BYTES);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kint(&jw, "version", CERTIFICATE_VERSION);
    jw_kstr(&jw, "taskId", step->input.task_id.text);
    jw_kstr(&jw, "runId", step->input.run_id.text);
    jw_kint(&jw, "attempt", step->input.attempt);
    jw_kstr(&jw, "baseCommit", verification->base);
    jw_kstr(&jw, "treeHash", verification->tree_hash);
    jw_kstr(&jw, "patchSha256", step->input.patch_sha256);
    jw_kstr(&jw, "sandbox", sandbox_name(&step->site->sandbox));
    jw_kstr(&jw, "verdict", verification_verdict(verification));
    jw_key(&jw, "checks");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < verification->count; i++)
        write_certified_check(&jw, &verification->checks[i]);
    jw_end(&jw, ']');
    write_counts(&jw, verification);
    jw_end(&jw, '}');
    assert(!text.overflow);
    return step_put(step, "certificate", "certificate.json", buf_str(&text), ret_sha256, err);
}

/* ---- feedback ---- */

static void add_failure(struct buf *text, const struct check *check)
{
    buf_addf(text, "\n## %s: %s%s\n\n", check->name, verify_status_name(check->status),
             check->optional ? " (optional)" : "");
    buf_addf(text, "Command: `%s`\n", check->command);
    if (check->status == VERIFY_TIMED_OUT)
        buf_addf(text, "It did not end within %.1f seconds.\n", (double)check->duration_ms / 1000);
    if (check->summary != NULL)
        buf_addf(text, "\n```\n%s\n```\n", check->summary);
}

static enum rc put_feedback(struct step *step, const struct verification *verification,
                            const char **ret_sha256, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FEEDBACK_BYTES);
    buf_adds(&text, "# Verification failed\n\n"
                    "Your changes were applied to a clean checkout and checked there.\n");
    for (size_t i = 0; i < verification->count; i++) {
        enum verify_status status = verification->checks[i].status;
        if (status != VERIFY_PASSED && status != VERIFY_SKIPPED)
            add_failure(&text, &verification->checks[i]);
    }
    return step_put(step, "feedback", "verify-feedback.md", buf_str(&text), ret_sha256, err);
}

/* ---- result ---- */

/* How much room texts get; tried in order until the result fits. */
static const struct detail {
    size_t command_max, line_max;
    bool artifacts; /* Of reports: each check names its own anyway. */
    bool reports;
} details[] = {
    {300, 320, true, true}, {100, 100, true, true}, {40, 60, false, true},
    {2, 2, false, true},    {2, 2, false, false},
};

static void write_check(struct jw *jw, const struct check *check, const struct detail *detail)
{
    jw_begin(jw, '{');
    step_write_text(jw, "name", check->name, NAME_MAX_BYTES);
    step_write_text(jw, "command", check->command, detail->command_max);
    jw_kstr(jw, "status", verify_status_name(check->status));
    jw_kint(jw, "exitCode", check->exit_code);
    jw_kint(jw, "signal", check->signal);
    jw_kstr(jw, "category", failure_category_name(check->category));
    if (check->optional)
        jw_kbool(jw, "optional", true);
    step_write_text(jw, "summary", check->line, detail->line_max);
    jw_kstr(jw, "reportSha256", detail->reports ? check->report : NULL);
    jw_kint(jw, "durationMs", check->duration_ms);
    jw_end(jw, '}');
}

struct told {
    const char *certificate, *feedback;
};

static void write_result(struct step *step, const struct verification *verification,
                         const struct told *told, const struct detail *detail)
{
    buf_clear(step->result);
    step->result->overflow = false;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "verdict", verification_verdict(verification));
    jw_kstr(&jw, "treeHash", verification->tree_hash);
    jw_kstr(&jw, "certificateSha256", told->certificate);
    jw_kstr(&jw, "feedbackSha256", told->feedback);
    jw_key(&jw, "checks");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < verification->count; i++)
        write_check(&jw, &verification->checks[i], detail);
    jw_end(&jw, ']');
    if (detail->artifacts)
        step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
}

enum rc verification_report(struct step *step, const struct verification *verification,
                            struct err *err)
{
    struct told told = {0};
    enum rc rc = put_certificate(step, verification, &told.certificate, err);
    bool failed = text_same(verification_verdict(verification), "failed");
    if (rc == RC_OK && failed)
        rc = put_feedback(step, verification, &told.feedback, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < COUNT_OF(details); i++) {
        write_result(step, verification, &told, &details[i]);
        if (!step->result->overflow)
            break;
    }
    return RC_OK;
}
