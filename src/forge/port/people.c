#include "forge/port/people.h"
#include <string.h>

void act_list_add(struct act_list *list, const struct forge_act *act)
{
    if (list->acts == NULL)
        list->acts = arena_array(list->arena, FORGE_ACTS_MAX, sizeof *list->acts);
    if (list->count == FORGE_ACTS_MAX)
        memmove(list->acts, list->acts + 1, --list->count * sizeof *list->acts);
    list->acts[list->count++] = *act;
}
