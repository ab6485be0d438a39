/*
 * repair_prompt.h - what the agent of a repair is told: what is wrong with the pull request, as the
 * forge, its checks and its reviewers say.
 *
 * All of that is untrusted and stands in a fence of its own.
 */
#ifndef CORE_PR_REPAIR_PROMPT_H
#define CORE_PR_REPAIR_PROMPT_H
#include "base/arena.h"
#include "base/jw.h"
#include "core/pr/pr_view.h"
#include "core/pr/shepherd.h"

enum {
    REPAIR_PROMPT_MAX = 48 * 1024,
    REPAIR_THREADS_MAX = 40,
    REPAIR_COMMENT_MAX = 2000, /* Bytes of one thread that are told; less where there are many. */
    REPAIR_ANSWER_MAX = 1000,
};

/* What a reviewer has asked for.  Texts may live in a JSON tree. */
struct repair_thread {
    const char *id;   /* NULL: a review as a whole; it cannot be answered in a thread. */
    const char *path; /* or NULL */
    int64_t line;
    const char *author, *text;
    const char *answer; /* What was done about it; NULL: not known. */
};

struct repair_request {
    enum repair_cause cause;
    int64_t number;
    const char *title, *branch, *target_branch;
    const char *fault;                   /* REPAIR_CHECKS, REPAIR_CONFLICT: what failed; or NULL */
    const struct repair_thread *threads; /* REPAIR_REVIEW */
    size_t thread_count;
    const char *boundary; /* Random, for what is untrusted: core/run/untrusted.h */
};
const char *repair_prompt(const struct repair_request *request, struct arena *arena);

/* The threads and reviews of a view that ask for something said after then: the first of them, all
   of which fit into a prompt.  *ret_until_us: nothing that was said until then is left out. */
size_t repair_threads(const struct pr_view *view, int64_t after_us, struct arena *arena,
                      struct repair_thread **ret_threads, int64_t *ret_until_us);
void repair_threads_write(struct jw *jw, const struct repair_thread *threads, size_t count);
size_t repair_threads_read(const struct js *array, struct arena *arena,
                           struct repair_thread **ret_threads);
/* Fills in the answers from lines "Thread N: ..." of the agent's summary, which may be NULL. */
void repair_take_answers(struct repair_thread *threads, size_t count, const char *summary,
                         struct arena *arena);
#endif
