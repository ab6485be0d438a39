/*
 * command_list.h - commands one after another, hooked together by command->next.
 *
 * A command is in one list at a time.  A list owns nothing and takes no locks.
 */
#ifndef CONTROL_COMMIT_COMMAND_LIST_H
#define CONTROL_COMMIT_COMMAND_LIST_H
#include "control/commit/command.h"

struct command_list {
    struct command *first;
    struct command **end; /* Where the next one is hooked in. */
    size_t count;
};

void command_list_init(struct command_list *list);
void command_list_push(struct command_list *list, struct command *command);
struct command *command_list_pop(struct command_list *list); /* The first, or NULL. */
/* Takes out the one that *link points to. */
struct command *command_list_unlink(struct command_list *list, struct command **link);
/* Hooks it in before the one that *link points to, or at the end. */
void command_list_insert(struct command_list *list, struct command **link, struct command *command);
void command_list_append(struct command_list *list, struct command_list *from);  /* Empties it. */
void command_list_prepend(struct command_list *list, struct command_list *from); /* The same. */
#endif
