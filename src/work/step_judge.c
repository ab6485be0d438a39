/*
 * step_judge.c - the rules judge looks at the patch.
 */
#include "core/event_types.h"
#include "core/judge.h"
#include "work/step.h"

/* Findings stop here, so that the result stays within its limit. */
enum { FINDINGS_BYTES_MAX = 8 * 1024, TEXT_MAX = 400 };

static enum rc read_patch(struct step *step, struct patch_stats *ret_stats, struct err *err)
{
    *ret_stats = (struct patch_stats){0};
    if (!step->input.patch_sha256)
        return RC_OK;
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = step_get(step, step->input.patch_sha256, &diff, err);
    return rc == RC_OK ? patch_read(buf_str(&diff), step->arena, ret_stats, err) : rc;
}

static void write_findings(struct jw *jw, const struct judgement *judgement)
{
    size_t told = 0;
    jw_key(jw, "findings");
    jw_begin(jw, '[');
    for (; told < judgement->finding_count && jw->buf->len < FINDINGS_BYTES_MAX; told++) {
        const struct judge_finding *finding = &judgement->findings[told];
        jw_begin(jw, '{');
        jw_kstr(jw, "rule", finding->rule);
        step_write_text(jw, "path", finding->path, TEXT_MAX);
        step_write_text(jw, "text", finding->text, TEXT_MAX);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_kint(jw, "findingsOmitted", (int64_t)(judgement->finding_count - told));
}

enum rc step_judge(struct step *step, struct err *err)
{
    struct patch_stats stats;
    step_event(step, EV_JUDGE_STARTED, STR("{\"judgeType\":\"rules\"}"));
    enum rc rc = read_patch(step, &stats, err);
    if (rc != RC_OK)
        return rc;
    struct judgement *judgement = arena_alloc(step->arena, sizeof *judgement);
    judge_patch(&step->input.config.rules, step->input.scope, &stats, step->arena, judgement);
    const char *feedback = NULL;
    if (judgement->verdict != VERDICT_PASS) {
        const struct judgement *all[] = {judgement};
        const char *text = judge_feedback(all, 1, step->arena);
        rc = step_put(step, "feedback", "judge-feedback.md", str_of(text), &feedback, err);
        if (rc != RC_OK)
            return rc;
    }
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "verdict", verdict_name(judgement->verdict));
    jw_kreal(&jw, "score", judgement->score);
    jw_kstr(&jw, "feedbackSha256", feedback);
    step_write_artifacts(step, &jw);
    write_findings(&jw, judgement);
    jw_end(&jw, '}');
    return RC_OK;
}
