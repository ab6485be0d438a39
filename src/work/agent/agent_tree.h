/*
 * agent_tree.h - the tree that an agent works in, made of base and patch and what `setup` makes.
 */
#ifndef WORK_AGENT_AGENT_TREE_H
#define WORK_AGENT_AGENT_TREE_H
#include "work/job/step.h"

/* At base + latest patch of the input, always made anew.  What an agent did in the one before is
   saved first. */
MUST_USE enum rc agent_tree_make(struct step *step, const char *base, struct err *err);
/* The same, but kept if it is there and shows just that. */
MUST_USE enum rc agent_tree_keep_or_make(struct step *step, const char *base, struct err *err);
#endif
