/*
 * judge.h - the `rules` judge: scope, size and forbidden paths, decided from the patch alone.
 */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H
#include "core/patch.h"
#include <stdbool.h>

enum { JUDGE_GLOBS_MAX = 128, JUDGE_FINDINGS_MAX = 50 };

struct judge_rules {
    int64_t max_files;                          /* 0: none */
    int64_t max_lines;                          /* added + deleted; 0: none */
    const char *forbidden[JUDGE_GLOBS_MAX + 1]; /* NULL-terminated globs. */
};

struct judge_finding {
    const char *rule; /* max_files, max_lines, forbidden_path, out_of_scope */
    const char *path; /* or NULL */
    const char *text; /* What to do about it, for the agent and for people. */
};
struct judgement {
    bool pass;
    double score; /* 1 without findings, falling with each. */
    struct judge_finding findings[JUDGE_FINDINGS_MAX];
    size_t finding_count;
};

/* scope: NULL-terminated globs that the patch must stay within; NULL or empty allows all. */
void judge_patch(const struct judge_rules *rules, const char *const *scope,
                 const struct patch_stats *patch, struct arena *arena, struct judgement *ret);
/* The findings as a paragraph for the agent. */
char *judge_feedback(const struct judgement *judgement, struct arena *arena);
#endif
