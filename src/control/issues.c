/*
 * issues.c - see issues.h.
 */
#include "control/issues.h"
#include "control/flow.h"
#include "core/event_types.h"

static enum rc apply_told(struct cx *cx, struct command *command)
{
    const struct cmd_issue_told *cmd = (const struct cmd_issue_told *)command;
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "repositoryId", cmd->repository_id.text);
    jw_kstr(&note.jw, "repository", cmd->repository);
    jw_kint(&note.jw, "number", cmd->number);
    jw_kstr(&note.jw, "title", cmd->title);
    if (text_same(cmd->event, EV_ISSUE_COMMENTED))
        jw_kint(&note.jw, "commentNo", cmd->comment_count);
    if (text_same(cmd->event, EV_ISSUE_CREATED))
        jw_kraw(&note.jw, "labels", cmd->labels);
    struct event event = {
        .type = cmd->event,
        .subject = arena_printf(cx->arena, "issue/%s/%lld", cmd->repository,
                                (long long)cmd->number),
        .correlation_id = cmd->repository_id,
        .data = note_close(&note),
    };
    return cx_append(cx, &event, NULL);
}

static const struct command_ops told_ops = {.name = "issue_told", .apply = apply_told};

struct cmd_issue_told *cmd_issue_told_new(void)
{
    return command_new(&told_ops, sizeof(struct cmd_issue_told));
}
