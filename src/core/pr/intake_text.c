/*
 * intake_text.c - see intake_text.h.
 *
 *   **drover** is working on this: `verify`.
 *
 *   - Asked for by alice (label drover)
 *   - Task `0197...`, run 2, $1.23
 *   - Pull request [#7](https://...), draft
 *
 *   What can be done next.
 *
 * Texts of others are shown as code on one line: they neither mention people nor end the list.
 */
#include "core/pr/intake_text.h"
#include "base/str.h"
#include "core/text/prose.h"
#include <inttypes.h>
#include <string.h>

enum { LINE_MAX_BYTES = 300 };

static const char help_text[] =
    "\nComments that begin with one of these are commands, for people who may ask here:\n\n"
    "- `/drover run` works on this issue as it is now\n"
    "- `/drover retry` tries again after a failure\n"
    "- `/drover cancel` stops the run\n"
    "- `/drover status` writes this comment again\n";

static const char *as_code(const char *text, struct arena *arena)
{
    char *line = prose_line(arena, text, LINE_MAX_BYTES);
    for (char *at = line; *at; at++) {
        if (*at == '`')
            *at = '\'';
    }
    return arena_printf(arena, "`%s`", line);
}

static void write_headline(const struct issue_progress *progress, struct arena *arena,
                           struct buf *into)
{
    if (progress->state == ISSUE_AWAITING) {
        buf_addf(into, "**drover** waits for an approval: %s.\n", progress->reason);
        return;
    }
    if (progress->task_id == NULL) {
        if (progress->state == ISSUE_DONE)
            buf_addf(into, "**drover** could not take this on: %s.\n",
                     as_code(progress->reason != NULL ? progress->reason : "", arena));
        else
            buf_adds(into, "**drover** is not working on this.\n");
        return;
    }
    if (text_same(progress->pr_state, "merged"))
        buf_adds(into, "**drover** is done: the pull request was merged.\n");
    else if (text_same(progress->pr_state, "closed"))
        buf_adds(into, "**drover** is done: the pull request was closed without a merge.\n");
    else if (progress->question != NULL)
        buf_addf(into, "**drover** has a question: %s\n", as_code(progress->question, arena));
    else if (progress->approval)
        buf_adds(into, "**drover** waits until a person approves the result.\n");
    else if (progress->status == TASK_COMPLETED)
        buf_adds(into, progress->pr_number > 0 ? "**drover** has opened a pull request.\n"
                                               : "**drover** is done.\n");
    else if (task_is_terminal(progress->status))
        buf_addf(into, "**drover** stopped: %s%s%s.\n", task_status_name(progress->status),
                 progress->error != NULL ? ", " : "",
                 progress->error != NULL ? as_code(progress->error, arena) : "");
    else if (progress->step != NULL)
        buf_addf(into, "**drover** is working on this: `%s`.\n", progress->step);
    else if (progress->deferred != NULL)
        buf_addf(into, "**drover** has accepted this; it waits: %s.\n",
                 as_code(progress->deferred, arena));
    else
        buf_adds(into, "**drover** has accepted this; it waits for a worker.\n");
}

static void write_facts(const struct issue_progress *progress, struct arena *arena,
                        struct buf *into)
{
    buf_adds(into, "\n");
    if (progress->asked_by != NULL)
        buf_addf(into, "- Asked for by %s (%s)\n", as_code(progress->asked_by, arena),
                 progress->by != NULL ? progress->by : "request");
    if (progress->task_id != NULL)
        buf_addf(into, "- Task `%s`, run %" PRId64 ", $%.2f\n", progress->task_id, progress->run_no,
                 (double)progress->cost_microusd / 1e6);
    if (progress->pr_number > 0)
        buf_addf(into, "- Pull request [#%" PRId64 "](%s), %s\n", progress->pr_number,
                 progress->pr_url != NULL ? progress->pr_url : "",
                 progress->pr_state != NULL ? progress->pr_state : "open");
    if (progress->pr_news != NULL)
        buf_addf(into, "- %s\n", as_code(progress->pr_news, arena));
    if (progress->changed && progress->task_id != NULL)
        buf_adds(into, "- The text of this issue has changed since it was approved; what is worked "
                       "on is the approved one\n");
}

static const char *next_step(const struct issue_progress *progress)
{
    bool ended = progress->task_id != NULL && task_is_terminal(progress->status);
    if (progress->state == ISSUE_AWAITING)
        return "A person who may ask here starts it with the comment `/drover run`. What is worked "
               "on is the text as it is at that moment.";
    if (progress->state == ISSUE_SEEN)
        return NULL;
    if (progress->task_id == NULL)
        return "`/drover run` asks for it once more.";
    if (progress->question != NULL)
        return "It is answered with `drover question answer`, or it goes on with its default.";
    if (progress->approval)
        return "It is decided with `drover approval`.";
    if (ended && progress->can_retry)
        return "`/drover retry` tries again; edit the text first if it misses something, and use "
               "`/drover run`.";
    if (ended)
        return progress->changed ? "`/drover run` works on the new text." : NULL;
    return "`/drover cancel`, closing the issue or taking the request away stops it.";
}

void issue_progress_write(const struct issue_progress *progress, struct arena *arena,
                          struct buf *into)
{
    const char *next = next_step(progress);
    write_headline(progress, arena, into);
    write_facts(progress, arena, into);
    if (next != NULL)
        buf_addf(into, "\n%s\n", next);
    if (progress->help)
        buf_adds(into, help_text);
}
