/*
 * judge.c - runs the judges of the patch one after the other, also after one has failed it, so that
 * the agent gets all findings at once.
 *
 *     report (artifact, JSON)         of each judge that found something or is no plain rule
 *     feedback (artifact, Markdown)   for the agent's next attempt
 *     result (<= 10 KB)               for the server; with many findings texts are cut, then left
 *                                     out
 */
#include "core/run/judge.h"
#include "base/fd.h"
#include "core/event_types.h"
#include "core/text/redact.h"
#include "work/job/step_secrets.h"
#include "work/steps/judging.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <string.h>

enum {
    REPORT_BYTES = 2 * 1024 * 1024,
    NAME_MAX_BYTES = 120,
    PROBLEM_MAX = 300,
    OUTPUT_MAX = 64 * 1024,
};

int64_t judging_left_ms(const struct judging *judging, int64_t until_us)
{
    return step_time_ms(judging->step, (until_us - clock_mono_us()) / US_PER_MS);
}

/* ---- their input ---- */

static enum rc read_input(struct judging *judging, struct err *err)
{
    struct step *step = judging->step;
    const struct step_input *input = &step->input;
    enum rc rc = RC_OK;
    if (input->patch_sha256 != NULL)
        rc = step_get(step, input->patch_sha256, &judging->diff, err);
    if (rc == RC_OK)
        rc = patch_read(buf_str(&judging->diff), step->arena, &judging->stats, err);
    if (rc == RC_OK && input->certificate_sha256 != NULL)
        rc = step_get(step, input->certificate_sha256, &judging->certificate, err);
    return rc;
}

/* ---- one judge ---- */

static void report_start(struct step *step, const struct judge_config *judge)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_RESULT_MAX / 2);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "judgeType", judge_kind_names[judge->kind]);
    step_write_text(&jw, "name", judge->name, NAME_MAX_BYTES);
    jw_end(&jw, '}');
    step_event(step, EV_JUDGE_STARTED, buf_str(&data));
}

static void write_findings(struct jw *jw, const struct judgement *judgement, size_t text_max,
                           size_t count_max)
{
    jw_key(jw, "findings");
    jw_begin(jw, '[');
    for (size_t i = 0; i < judgement->finding_count && i < count_max; i++) {
        const struct judge_finding *finding = &judgement->findings[i];
        jw_begin(jw, '{');
        step_write_text(jw, "rule", finding->rule, NAME_MAX_BYTES);
        jw_kstr(jw, "category", finding->category);
        step_write_text(jw, "path", finding->path, text_max);
        step_write_text(jw, "text", finding->text, text_max);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_judgement(struct jw *jw, const struct opinion *opinion)
{
    const struct judgement *judgement = &opinion->judgement;
    step_write_text(jw, "name", opinion->judge->name, NAME_MAX_BYTES);
    jw_kstr(jw, "kind", judge_kind_names[opinion->judge->kind]);
    jw_kstr(jw, "verdict", verdict_name(judgement->verdict));
    if (judgement->errored)
        jw_kbool(jw, "errored", true);
    if (judgement->problem != NULL)
        step_write_text(jw, "problem", judgement->problem, PROBLEM_MAX);
    if (judgement->scored)
        jw_kreal(jw, "score", judgement->score);
    jw_optstr(jw, "category", judgement_category(judgement));
    jw_kint(jw, "findingsCount", (int64_t)judgement->finding_count);
}

static enum rc put_report(struct step *step, struct opinion *opinion, struct err *err)
{
    const struct judgement *judgement = &opinion->judgement;
    if (opinion->judge->kind == JUDGE_RULES && judgement->finding_count == 0)
        return RC_OK;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, REPORT_BYTES);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    write_judgement(&jw, opinion);
    write_findings(&jw, judgement, JUDGE_TEXT_MAX * 6, JUDGE_FINDINGS_MAX);
    if (opinion->output != NULL)
        step_write_text(&jw, "output", opinion->output, OUTPUT_MAX);
    jw_end(&jw, '}');
    const char *name = arena_printf(step->arena, "judge-%s.json", opinion->judge->name);
    return step_put(step, "judge_report", name, buf_str(&text), &opinion->report, err);
}

/* The answer of a judge may quote the tree, and the tree is the agent's. */
static void keep_clean(struct step *step, struct opinion *opinion)
{
    struct judgement *judgement = &opinion->judgement;
    const struct secrets *secrets = step_secrets(step);
    for (size_t i = 0; i < judgement->finding_count; i++) {
        struct judge_finding *finding = &judgement->findings[i];
        finding->text = redact_dup(secrets, finding->text, step->arena);
        finding->path = redact_dup(secrets, finding->path, step->arena);
    }
    judgement->problem = redact_dup(secrets, judgement->problem, step->arena);
    opinion->output = redact_dup(secrets, opinion->output, step->arena);
}

static enum rc read_opinion(struct judging *judging, struct opinion *opinion, struct err *err)
{
    struct step *step = judging->step;
    const struct judge_config *judge = opinion->judge;
    opinion->judgement.name = judge->name;
    report_start(step, judge);
    enum rc rc = RC_OK;
    switch (judge->kind) {
    case JUDGE_RULES:
        judge_patch(&step->input.config.rules, step->input.scope, &judging->stats, step->arena,
                    &opinion->judgement);
        break;
    case JUDGE_COMMAND:
        rc = judge_by_command(judging, opinion, err);
        break;
    case JUDGE_MODEL:
        rc = judge_by_model(judging, opinion, err);
        break;
    }
    if (rc != RC_OK)
        return rc;
    judgement_weigh(&opinion->judgement, judge->min_score, step->arena);
    keep_clean(step, opinion);
    return put_report(step, opinion, err);
}

/* ---- the result ---- */

/* How much room findings get; tried in order until the result fits. */
static const struct detail {
    size_t text_max, count_max;
    bool artifacts; /* Of reports: each judge names its own anyway. */
} details[] = {
    {800, JUDGE_FINDINGS_MAX, true},
    {400, 20, true},
    {200, 8, true},
    {120, 3, false},
    {60, 1, false},
    {2, 0, false},
};

static void write_usage(struct jw *jw, const struct opinion *opinion)
{
    if (opinion->model == NULL)
        return;
    jw_key(jw, "usage");
    jw_begin(jw, '{');
    step_write_text(jw, "model", opinion->model, NAME_MAX_BYTES);
    jw_kint(jw, "inputTokens", opinion->input_tokens);
    jw_kint(jw, "outputTokens", opinion->output_tokens);
    if (opinion->cost_usd > 0)
        jw_kreal(jw, "costUsd", opinion->cost_usd);
    jw_end(jw, '}');
}

struct panel {
    struct opinion *opinions;
    const struct judgement **judgements;
    size_t count;
    const char *feedback; /* Artifact, or NULL. */
};

static void write_result(struct step *step, const struct panel *panel, const struct detail *detail)
{
    buf_clear(step->result);
    step->result->overflow = false;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "verdict", verdict_name(judge_verdict(panel->judgements, panel->count)));
    jw_kstr(&jw, "feedbackSha256", panel->feedback);
    jw_key(&jw, "judges");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < panel->count; i++) {
        const struct opinion *opinion = &panel->opinions[i];
        jw_begin(&jw, '{');
        write_judgement(&jw, opinion);
        write_findings(&jw, &opinion->judgement, detail->text_max, detail->count_max);
        jw_kstr(&jw, "reportSha256", opinion->report);
        write_usage(&jw, opinion);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    if (detail->artifacts)
        step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
}

static enum rc report(struct step *step, struct panel *panel, struct err *err)
{
    if (judge_verdict(panel->judgements, panel->count) == VERDICT_FAIL) {
        const char *text = judge_feedback(panel->judgements, panel->count, step->arena);
        enum rc rc = step_put(step, "feedback", "judge-feedback.md", str_of(text), &panel->feedback,
                              err);
        if (rc != RC_OK)
            return rc;
    }
    for (size_t i = 0; i < COUNT_OF(details); i++) {
        write_result(step, panel, &details[i]);
        if (!step->result->overflow)
            break;
    }
    return RC_OK;
}

enum rc step_judge(struct step *step, struct err *err)
{
    const struct repo_config *config = &step->input.config;
    struct judging judging = {
        .step = step,
        .dir = worktree_path(step,
                             arena_printf(step->arena, "judge-%" PRId64, step->input.attempt)),
    };
    struct panel panel = {
        .opinions = arena_array(step->arena, config->judge_count, sizeof(struct opinion)),
        .judgements = arena_array(step->arena, config->judge_count, sizeof(struct judgement *)),
        .count = config->judge_count,
    };
    buf_init(&judging.diff, (size_t)config->limits.max_patch_bytes);
    buf_init(&judging.certificate, STEP_TEXT_ARTIFACT_MAX);
    enum rc rc = read_input(&judging, err);
    for (size_t i = 0; rc == RC_OK && i < config->judge_count; i++) {
        panel.opinions[i].judge = &config->judges[i];
        panel.judgements[i] = &panel.opinions[i].judgement;
        rc = read_opinion(&judging, &panel.opinions[i], err);
    }
    if (rc == RC_OK)
        rc = report(step, &panel, err);
    worktree_drop(step, judging.dir);
    buf_release(&judging.diff);
    buf_release(&judging.certificate);
    return rc;
}
