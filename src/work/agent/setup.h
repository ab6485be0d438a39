/*
 * setup.h - what trees need before work begins in them: installed packages, generated files.
 *
 * The commands of `setup` run in a checkout of their own, in the sandbox.  What they declare as
 * outputs is kept (tree/setup_store.h) under a key, and copied into trees of agents and checks.
 *
 *     key = sha256 of the repository's address, the command, its outputs, its environment as
 *           configured, names and contents of the key files at the base commit, the key of the
 *           setup before it, the kind of sandbox, the machine
 *
 * Invariants:
 *   1. An entry is made from a checkout of a base commit that nothing else has worked in, never
 *      from an agent's tree or one with a patch.
 *   2. Of a base commit that the default branch does not have (the head of a pull request, say),
 *      or without any key file, the commit itself is part of the key: what an agent wrote reaches
 *      no tree of another commit.
 *   3. For a patch that changes key files the commands run again, with the patch, and what they
 *      make is used for that one tree or verification only.
 *   4. No link in an entry leads out of the tree (outputs.h).
 */
#ifndef WORK_AGENT_SETUP_H
#define WORK_AGENT_SETUP_H
#include "work/job/step.h"

struct setup_tree {
    const char *tree; /* A checkout in which nothing was started yet. */
    const char *base; /* Its commit. */
    struct str patch; /* Applied to it; may be empty. */
    const char *dir;  /* For our own use; removed by setup_release. */
};

/* The outputs of all setups, in order. */
struct setup {
    struct step *step;
    const char *dir;
    struct {
        const struct setup_config *config;
        const char *files; /* Below it are the outputs. */
        int lock;          /* Of the entry; -1: it is only for this patch. */
    } parts[CONFIG_SETUPS_MAX];
    size_t count;
    const struct setup_config *failed; /* RC_CONFLICT: this one. */
};

/* Finds or makes them.  RC_CONFLICT: a command fails with the patch, which says something about
   the patch; other failures of commands are the step's (setup_failed).  In any case
   setup_release. */
MUST_USE enum rc setup_open(struct step *step, const struct setup_tree *tree,
                            struct setup *ret_setup, struct err *err);
/* Copies them into a tree in which nothing was started yet; nothing there is replaced. */
MUST_USE enum rc setup_fill(const struct setup *setup, const char *tree, struct err *err);
void setup_release(struct setup *setup);
#endif
