/*
 * judge.c - the `rules` judge.
 *
 * Findings come in one order for one patch: size first, then path by path as the
 * patch lists them, forbidden before out of scope.  Both names of a rename are judged.
 */
#include "core/judge.h"
#include "base/buf.h"
#include "base/str.h"
#include <string.h>

enum { FEEDBACK_BYTES_MAX = 16 * 1024, FEEDBACK_MARGIN = 100 };

static void add_finding(struct judgement *judgement, struct judge_finding finding)
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
        add_finding(judgement,
                    (struct judge_finding){
                        .rule = "max_files",
                        .text = arena_printf(arena,
                                             "Change fewer files: the patch changes %zu, at most "
                                             "%lld are allowed.",
                                             patch->files, (long long)rules->max_files)});
    int64_t lines = patch->lines_added + patch->lines_deleted;
    if (rules->max_lines > 0 && lines > rules->max_lines)
        add_finding(judgement,
                    (struct judge_finding){
                        .rule = "max_lines",
                        .text = arena_printf(arena,
                                             "Change fewer lines: the patch adds and deletes %lld, "
                                             "at most %lld are allowed.",
                                             (long long)lines, (long long)rules->max_lines)});
}

static void judge_path(const struct judge_rules *rules, const char *const *scope, const char *path,
                       struct arena *arena, struct judgement *judgement)
{
    const char *forbidden = first_cover(rules->forbidden, path);
    if (forbidden != NULL)
        add_finding(judgement,
                    (struct judge_finding){
                        .rule = "forbidden_path",
                        .path = path,
                        .text = arena_printf(arena,
                                             "Revert the change to %s: the repository's rules "
                                             "forbid changes to %s.",
                                             path, forbidden)});
    if (scope != NULL && scope[0] != NULL && first_cover(scope, path) == NULL)
        add_finding(judgement,
                    (struct judge_finding){
                        .rule = "out_of_scope",
                        .path = path,
                        .text = arena_printf(arena,
                                             "Revert the change to %s: it is outside the task's "
                                             "scope.",
                                             path)});
}

void judge_patch(const struct judge_rules *rules, const char *const *scope,
                 const struct patch_stats *patch, struct arena *arena, struct judgement *ret)
{
    *ret = (struct judgement){.finding_count = 0};
    judge_size(rules, patch, arena, ret);
    for (size_t i = 0; i < patch->files; i++)
        judge_path(rules, scope, patch->paths[i], arena, ret);
    for (size_t i = 0; i < patch->renamed_from_count; i++)
        judge_path(rules, scope, patch->renamed_from[i], arena, ret);
    ret->pass = ret->finding_count == 0;
    ret->score = 1.0 / (1.0 + (double)ret->finding_count);
}

char *judge_feedback(const struct judgement *judgement, struct arena *arena)
{
    if (judgement->pass)
        return arena_strdup(arena, "The patch keeps all rules.");
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FEEDBACK_BYTES_MAX + FEEDBACK_MARGIN);
    buf_addf(&text, "The patch breaks %zu %s of this repository:\n", judgement->finding_count,
             judgement->finding_count == 1 ? "rule" : "rules");
    size_t told = 0;
    for (; told < judgement->finding_count; told++) {
        const char *finding = judgement->findings[told].text;
        if (text.len + strlen(finding) > FEEDBACK_BYTES_MAX)
            break;
        buf_addf(&text, "- %s\n", finding);
    }
    if (told < judgement->finding_count || told == JUDGE_FINDINGS_MAX)
        buf_adds(&text, "There may be more of the same kind.\n");
    return str_dup(arena, buf_str(&text));
}
