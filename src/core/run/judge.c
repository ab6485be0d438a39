/*
 * judge.c - the `rules` judge, and the combined verdict of many judges.
 *
 * Findings have a fixed order for one patch: size first, then path by path as the
 * patch lists them, forbidden before out of scope.  Both names of a rename are judged.
 */
#include "core/run/judge.h"
#include "base/buf.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

enum { FEEDBACK_BYTES_MAX = 16 * 1024, FEEDBACK_MARGIN = 400 };

static const char *const verdict_names[VERDICT_COUNT] = {
    [VERDICT_PASS] = "pass",
    [VERDICT_FAIL] = "fail",
    [VERDICT_NEEDS_HUMAN_REVIEW] = "needs_human_review",
    [VERDICT_INCONCLUSIVE] = "inconclusive",
};

const char *verdict_name(enum verdict verdict)
{
    assert((unsigned)verdict < VERDICT_COUNT);
    return verdict_names[verdict];
}

bool verdict_parse(const char *name, enum verdict *ret_verdict)
{
    for (size_t i = 0; i < VERDICT_COUNT; i++) {
        if (strcasecmp(name, verdict_names[i]) == 0) {
            *ret_verdict = (enum verdict)i;
            return true;
        }
    }
    return false;
}

/* ---- rules ---- */

void judgement_add(struct judgement *judgement, struct judge_finding finding)
{
    if (judgement->finding_count < JUDGE_FINDINGS_MAX)
        judgement->findings[judgement->finding_count++] = finding;
}

static const char *first_cover(const char *const *patterns, const char *path)
{
    for (size_t i = 0; patterns[i] != NULL; i++) {
        if (glob_covers(patterns[i], path))
            return patterns[i];
    }
    return NULL;
}

static void judge_size(const struct judge_rules *rules, const struct patch_stats *patch,
                       struct arena *arena, struct judgement *judgement)
{
    if (rules->max_files > 0 && patch->files > (size_t)rules->max_files)
        judgement_add(judgement,
                      (struct judge_finding){
                          .rule = "max_files",
                          .category = "size",
                          .text = arena_printf(arena,
                                               "Change fewer files: the patch changes %zu, at most "
                                               "%lld are allowed.",
                                               patch->files, (long long)rules->max_files)});
    int64_t lines = patch->lines_added + patch->lines_deleted;
    if (rules->max_lines > 0 && lines > rules->max_lines)
        judgement_add(judgement, (struct judge_finding){
                                     .rule = "max_lines",
                                     .category = "size",
                                     .text = arena_printf(
                                         arena,
                                         "Change fewer lines: the patch adds and deletes %lld, "
                                         "at most %lld are allowed.",
                                         (long long)lines, (long long)rules->max_lines)});
}

static void judge_path(const struct judge_rules *rules, const char *const *scope, const char *path,
                       struct arena *arena, struct judgement *judgement)
{
    const char *forbidden = first_cover(rules->forbidden, path);
    if (forbidden != NULL)
        judgement_add(judgement,
                      (struct judge_finding){
                          .rule = "forbidden_path",
                          .category = "forbidden_path",
                          .path = path,
                          .text = arena_printf(arena,
                                               "Revert the change to %s: the repository's rules "
                                               "forbid changes to %s.",
                                               path, forbidden)});
    if (scope != NULL && scope[0] != NULL && first_cover(scope, path) == NULL)
        judgement_add(judgement,
                      (struct judge_finding){
                          .rule = "out_of_scope",
                          .category = "scope_overreach",
                          .path = path,
                          .text = arena_printf(arena,
                                               "Revert the change to %s: it is outside the task's "
                                               "scope.",
                                               path)});
}

void judge_patch(const struct judge_rules *rules, const char *const *scope,
                 const struct patch_stats *patch, struct arena *arena, struct judgement *ret)
{
    *ret = (struct judgement){.name = "rules", .scored = true};
    judge_size(rules, patch, arena, ret);
    for (size_t i = 0; i < patch->files; i++)
        judge_path(rules, scope, patch->paths[i], arena, ret);
    for (size_t i = 0; i < patch->renamed_from_count; i++)
        judge_path(rules, scope, patch->renamed_from[i], arena, ret);
    ret->verdict = ret->finding_count == 0 ? VERDICT_PASS : VERDICT_FAIL;
    ret->score = 1.0 / (1.0 + (double)ret->finding_count);
}

/* ---- any judge ---- */

void judgement_doubt(struct judgement *judgement, bool errored, const char *problem)
{
    judgement->verdict = VERDICT_INCONCLUSIVE;
    judgement->errored = errored;
    judgement->problem = problem;
}

void judgement_weigh(struct judgement *judgement, double min_score, struct arena *arena)
{
    if (min_score <= 0 || judgement->verdict != VERDICT_PASS)
        return;
    if (!judgement->scored) {
        judgement_doubt(judgement, false, "It gave no score, and one is asked for.");
    } else if (judgement->score < min_score) {
        judgement->verdict = VERDICT_FAIL;
        judgement_add(judgement, (struct judge_finding){
                                     .rule = "min_score",
                                     .category = "quality",
                                     .text = arena_printf(arena,
                                                          "Make it better: it scores %.2f, at "
                                                          "least %.2f is asked for.",
                                                          judgement->score, min_score)});
    }
}

const char *judgement_category(const struct judgement *judgement)
{
    for (size_t i = 0; i < judgement->finding_count; i++) {
        if (judgement->findings[i].category != NULL)
            return judgement->findings[i].category;
    }
    return NULL;
}

/* ---- many judges ---- */

enum verdict verdicts_combine(const enum verdict *verdicts, size_t count)
{
    static const enum verdict order[] = {VERDICT_FAIL, VERDICT_NEEDS_HUMAN_REVIEW,
                                         VERDICT_INCONCLUSIVE};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        for (size_t j = 0; j < count; j++) {
            if (verdicts[j] == order[i])
                return order[i];
        }
    }
    return VERDICT_PASS;
}

enum verdict judge_verdict(const struct judgement *const *judgements, size_t count)
{
    enum verdict combined = VERDICT_PASS;
    for (size_t i = 0; i < count; i++)
        combined = verdicts_combine((enum verdict[]){combined, judgements[i]->verdict}, 2);
    return combined;
}

static void add_heading(struct buf *text, const struct judgement *judgement)
{
    size_t count = judgement->finding_count;
    if (text_same(judgement->name, "rules"))
        buf_addf(text, "The patch breaks %zu %s of this repository:\n", count,
                 count == 1 ? "rule" : "rules");
    else if (judgement->verdict == VERDICT_FAIL)
        buf_addf(text, "The judge %s does not accept the patch:\n", judgement->name);
    else
        buf_addf(text, "The judge %s notes:\n", judgement->name);
}

static void add_findings(struct buf *text, const struct judgement *judgement)
{
    size_t told = 0;
    for (; told < judgement->finding_count; told++) {
        const struct judge_finding *finding = &judgement->findings[told];
        const char *path = finding->path;
        size_t bytes = strlen(finding->text) + (path != NULL ? strlen(path) : 0);
        if (text->len + bytes > FEEDBACK_BYTES_MAX)
            break;
        if (path != NULL && strstr(finding->text, path) == NULL)
            buf_addf(text, "- %s: %s\n", path, finding->text);
        else
            buf_addf(text, "- %s\n", finding->text);
    }
    if (told < judgement->finding_count || told == JUDGE_FINDINGS_MAX)
        buf_adds(text, "There may be more of the same kind.\n");
}

char *judge_feedback(const struct judgement *const *judgements, size_t count, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FEEDBACK_BYTES_MAX + count * FEEDBACK_MARGIN);
    for (size_t i = 0; i < count; i++) {
        bool failed = judgements[i]->verdict == VERDICT_FAIL;
        if (!failed && judgements[i]->finding_count == 0)
            continue;
        buf_adds(&text, text.len > 0 ? "\n" : "");
        add_heading(&text, judgements[i]);
        add_findings(&text, judgements[i]);
    }
    return str_dup(arena, buf_str(&text));
}
