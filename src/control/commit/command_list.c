#include "control/commit/command_list.h"

void command_list_init(struct command_list *list)
{
    list->first = NULL;
    list->end = &list->first;
    list->count = 0;
}

void command_list_push(struct command_list *list, struct command *command)
{
    command->next = NULL;
    *list->end = command;
    list->end = &command->next;
    list->count++;
}

struct command *command_list_pop(struct command_list *list)
{
    return list->first == NULL ? NULL : command_list_unlink(list, &list->first);
}

struct command *command_list_unlink(struct command_list *list, struct command **link)
{
    struct command *command = *link;
    *link = command->next;
    if (list->end == &command->next)
        list->end = link;
    list->count--;
    command->next = NULL;
    return command;
}

void command_list_append(struct command_list *list, struct command_list *from)
{
    if (from->first == NULL)
        return;
    *list->end = from->first;
    list->end = from->end;
    list->count += from->count;
    command_list_init(from);
}

void command_list_prepend(struct command_list *list, struct command_list *from)
{
    command_list_append(from, list);
    if (from->first == NULL)
        return;
    *list = *from;
    command_list_init(from);
}

void command_list_insert(struct command_list *list, struct command **link, struct command *command)
{
    command->next = *link;
    *link = command;
    if (list->end == link)
        list->end = &command->next;
    list->count++;
}
