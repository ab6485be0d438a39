/*
 * judge.h - the verdict of a judge on a patch, and the `rules` judge: scope, size and forbidden
 * paths, decided from the patch alone.
 *
 *   pass                 no objection
 *   fail                 back to the agent, with the findings
 *   needs_human_review   a person decides
 *   inconclusive         the judge could not decide, or failed: a person decides
 *
 * Of many judges one `fail` decides; else one needs_human_review or inconclusive does.  A missing
 * answer is never a pass.
 */
#ifndef CORE_RUN_JUDGE_H
#define CORE_RUN_JUDGE_H
#include "core/judge_kind.h"
#include "core/run/patch.h"
#include <stdbool.h>

enum { JUDGE_GLOBS_MAX = 128, JUDGE_FINDINGS_MAX = 50, JUDGE_TEXT_MAX = 400 };

enum verdict {
    VERDICT_PASS,
    VERDICT_FAIL,
    VERDICT_NEEDS_HUMAN_REVIEW,
    VERDICT_INCONCLUSIVE,
    VERDICT_COUNT
};
const char *verdict_name(enum verdict verdict);
MUST_USE bool verdict_parse(const char *name, enum verdict *ret_verdict);

struct judge_rules {
    int64_t max_files;                          /* 0: none */
    int64_t max_lines;                          /* added + deleted; 0: none */
    const char *forbidden[JUDGE_GLOBS_MAX + 1]; /* NULL-terminated globs. */
};

struct judge_finding {
    const char *rule;     /* max_files, max_lines, forbidden_path, out_of_scope; or the judge's */
    const char *category; /* size, forbidden_path, scope_overreach; or the judge's, or NULL */
    const char *path;     /* or NULL */
    const char *text;     /* What to do about it, for the agent and for people. */
};
struct judgement {
    const char *name; /* Of the judge. */
    enum verdict verdict;
    bool errored;        /* The judge failed; the verdict is inconclusive. */
    const char *problem; /* Why it could not decide, or NULL. */
    bool scored;
    double score; /* 0 to 1; of the rules: 1 without findings, falling with each. */
    struct judge_finding findings[JUDGE_FINDINGS_MAX];
    size_t finding_count;
};

/* scope: NULL-terminated globs that the patch must stay within; NULL or empty allows all. */
void judge_patch(const struct judge_rules *rules, const char *const *scope,
                 const struct patch_stats *patch, struct arena *arena, struct judgement *ret);

void judgement_add(struct judgement *judgement, struct judge_finding finding);
/* Makes it inconclusive, with the reason. */
void judgement_doubt(struct judgement *judgement, bool errored, const char *problem);
/* A pass needs at least this score; 0: the verdict alone counts. */
void judgement_weigh(struct judgement *judgement, double min_score, struct arena *arena);
/* Of the most important finding; NULL: none has one. */
const char *judgement_category(const struct judgement *judgement);

/* The one verdict of many judges. */
enum verdict verdicts_combine(const enum verdict *verdicts, size_t count);
enum verdict judge_verdict(const struct judgement *const *judgements, size_t count);
/* All their findings, for the agent. */
char *judge_feedback(const struct judgement *const *judgements, size_t count, struct arena *arena);
#endif
