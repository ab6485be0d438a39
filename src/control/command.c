/*
 * command.c - see command.h.
 */
#include "control/command.h"
#include "base/mem.h"
#include <assert.h>

void *command_new(const struct command_ops *ops, size_t bytes)
{
    assert(bytes >= sizeof(struct command));
    struct command *command = mem_alloc(bytes);
    command->ops = ops;
    command->actor = (struct actor){.type = "system", .id = "drover"};
    return command;
}

void command_free(struct command *command)
{
    if (command == NULL)
        return;
    js_free(command->tree);
    arena_release(&command->arena);
    mem_free(command);
}
