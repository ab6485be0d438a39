#include "control/commit/command.h"
#include "base/mem.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

struct command_before {
    struct arena_mark arena;
    unsigned char written[]; /* As apply found it. */
};

void *command_new(const struct command_ops *ops, size_t bytes)
{
    assert(bytes >= sizeof(struct command));
    struct command *command = mem_alloc(bytes);
    command->ops = ops;
    command->bytes = bytes;
    command->actor = (struct actor){.type = "system", .id = "drover"};
    return command;
}

void command_free(struct command *command)
{
    if (command == NULL)
        return;
    assert(command->before == NULL);
    js_free(command->tree);
    arena_release(&command->arena);
    mem_free(command);
}

static unsigned char *written_at(struct command *command)
{
    return (unsigned char *)command + offsetof(struct command, rc);
}

static size_t written_bytes(const struct command *command)
{
    return command->bytes - offsetof(struct command, rc);
}

void command_stage(struct command *command, struct arena *memory)
{
    if (command->before != NULL)
        return;
    struct command_before *before = arena_alloc(memory, sizeof *before + written_bytes(command));
    before->arena = arena_mark(&command->arena);
    memcpy(before->written, written_at(command), written_bytes(command));
    command->before = before;
}

void command_keep(struct command *command)
{
    command->before = NULL;
    command->committed = true;
}

void command_undo(struct command *command)
{
    struct command_before *before = command->before;
    if (before == NULL)
        return;
    memcpy(written_at(command), before->written, written_bytes(command));
    arena_rewind(&command->arena, &before->arena);
    command->before = NULL;
}
