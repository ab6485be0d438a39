/*
 * context.h - the prompt, assembled from its sources within a token budget.
 *
 * In order: system text, repository rules, issue with comments, the task, memory, attachments.
 * Four bytes count as a token.  Over the budget the oldest comments go first, then the memory,
 * the attachments and the rules files, each from the last; issue and task are never cut.
 */
#ifndef CORE_RUN_CONTEXT_H
#define CORE_RUN_CONTEXT_H
#include "base/buf.h"
#include "base/id.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum context_kind {
    CONTEXT_SYSTEM,
    CONTEXT_RULES,
    CONTEXT_ISSUE,
    CONTEXT_COMMENT, /* Oldest first. */
    CONTEXT_TASK,
    CONTEXT_MEMORY,     /* The most useful first. */
    CONTEXT_ATTACHMENT, /* The agent has it as a file too. */
    CONTEXT_KIND_COUNT
};
struct context_part {
    enum context_kind kind;
    const char *title; /* File name, issue title, comment author. */
    const char *text;
};
struct context_input {
    const char *task_id;
    const char *repository;
    const struct context_part *parts; /* Any order; grouped by kind, kept in order within one. */
    size_t part_count;
    int64_t token_budget;
};
struct context_result {
    int64_t token_estimate;
    bool truncated;
    bool used[CONTEXT_KIND_COUNT];
};

/* The system text where the repository configures no other. */
extern const char context_system_text[];
/* Changes whenever the same parts would make another prompt. */
enum { CONTEXT_TEMPLATE_VERSION = 1 };
enum { PROMPT_VERSION_BYTES = 32 };
/* "1-4be0c28a9f01": the template, and a hash of the system text.  Returns to. */
char *context_version(char to[PROMPT_VERSION_BYTES], const char *system_text);

/* RC_INVALID when there is neither task nor issue text; RC_TOO_LARGE when even the task overflows
   `into`, which is left alone on failure. */
MUST_USE enum rc context_assemble(const struct context_input *input, struct buf *into,
                                  struct context_result *ret_result, struct err *err);
int64_t token_estimate(size_t bytes);
const char *context_kind_name(enum context_kind kind); /* system, repository_rules, issue, ... */
#endif
