/*
 * context.h - the prompt, assembled from its sources within a token budget.
 *
 * In order: system text, repository rules, issue with comments and linked issues, the task, memory,
 * attachments.  Four bytes count as a token.  Over the budget the oldest comments go first, then
 * the linked issues, the memory, the attachments and the rules files, each from the last; issue and
 * task are never cut.
 *
 * Text by people who are not trusted stands between two lines that it cannot write (untrusted.h).
 */
#ifndef CORE_RUN_PROMPT_H
#define CORE_RUN_PROMPT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prompt_kind {
    PROMPT_SYSTEM,
    PROMPT_RULES,
    PROMPT_ISSUE,
    PROMPT_COMMENT, /* Oldest first. */
    PROMPT_LINKED,  /* An issue that the issue names, or waits for. */
    PROMPT_TASK,
    PROMPT_MEMORY,     /* The most useful first. */
    PROMPT_ATTACHMENT, /* The agent has it as a file too. */
    PROMPT_KIND_COUNT
};
struct prompt_part {
    enum prompt_kind kind;
    const char *title; /* File name, issue title, comment author. */
    const char *text;
    bool untrusted; /* title and text were cleaned (untrusted.h); the text is fenced. */
};
struct prompt_input {
    const char *task_id;
    const char *repository;
    const struct prompt_part *parts; /* Any order; grouped by kind, kept in order within one. */
    size_t part_count;
    int64_t token_budget;
    const char *boundary; /* Random, for untrusted parts. */
};
struct prompt_result {
    int64_t token_estimate;
    bool truncated;
    bool used[PROMPT_KIND_COUNT];
};

/* The system text: the repository's own instructions, or drover's where own is NULL; then always
   what drover and the agent have agreed on. */
const char *prompt_system(const char *own, struct arena *arena);
/* What an agent is told that resumes its session: the feedback on its last attempt, and what people
   have said since; without either it was interrupted. */
struct prompt_news {
    const char *feedback, *said; /* or empty */
};
void prompt_resume(const struct prompt_news *news, struct buf *into);
/* Changes whenever the same parts would make another prompt. */
enum { PROMPT_TEMPLATE_VERSION = 2 };
enum { PROMPT_VERSION_BYTES = 32 };
/* "2-4be0c28a9f01": the template, and a hash of the system text.  Returns to. */
char *prompt_template_version(char to[PROMPT_VERSION_BYTES], const char *system_text);

/* RC_INVALID when there is neither task nor issue text; RC_TOO_LARGE when even the task overflows
   `into`, which is left alone on failure. */
MUST_USE enum rc prompt_assemble(const struct prompt_input *input, struct buf *into,
                                 struct prompt_result *ret_result, struct err *err);
int64_t token_estimate(size_t bytes);
const char *prompt_kind_name(enum prompt_kind kind); /* system, repository_rules, issue, ... */
#endif
