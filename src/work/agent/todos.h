/*
 * todos.h - the to-do lists of agents, as a plan:
 *
 *     [x] look
 *     [>] write
 *     [ ] test
 */
#ifndef WORK_AGENT_TODOS_H
#define WORK_AGENT_TODOS_H
#include "work/agent/adapter.h"

/* A whole list: objects with their text (content, text, step, title, description) and status
   (completed or done, in_progress; or completed: true). */
void todos_plan(struct transcript *transcript, const struct js *items);

/* A list that is made one by one.  One task more, or a known one with another text; */
void todos_put(struct transcript *transcript, const char *id, const char *text);
/* another status of it; "deleted" removes it.  Unknown ids are ignored. */
void todos_mark(struct transcript *transcript, const char *id, const char *status);
#endif
