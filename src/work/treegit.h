/*
 * treegit.h - git on the agent's tree, behind the walls.
 *
 * The tree belongs to the agent, its .git included.  So git reads it from inside the sandbox, with
 * the tree read-only, and with a git directory of our own in place of the agent's: a planted
 * configuration, hook or filter is not even looked at, and commits count just as uncommitted
 * changes do.
 */
#ifndef WORK_TREEGIT_H
#define WORK_TREEGIT_H
#include "work/step.h"

struct treegit {
    struct step *step;   /* Its mirror, sandbox, arena, stop and deadline. */
    const char *git_dir; /* Ours; borrows the mirror's objects. */
    const char *tree;
    const char *base; /* Commit that the index begins with. */
};

/* The names alone.  name: of our git directory in the run's. */
struct treegit treegit_at(struct step *step, const char *name, const char *base);
/* The same, and our git directory is made anew, with the base commit in its index. */
MUST_USE enum rc treegit_open(struct treegit *treegit, struct step *step, const char *name,
                              const char *base, struct err *err);
/* All at once, which is cheaper: opened, hashed, and what git diff says with these options of the
   index against the base commit. */
struct treegit_patch {
    const char *const *options; /* NULL-terminated */
    const char *hash;           /* The answer. */
    struct buf *diff;           /* The answer; at most what it may hold. */
};
MUST_USE enum rc treegit_patch(struct treegit *treegit, struct treegit_patch *patch,
                               struct err *err);
/* Removes our git directory. */
void treegit_close(const struct treegit *treegit);

/* One git command.  out may be NULL. */
MUST_USE enum rc treegit_run(const struct treegit *treegit, const char *const *args,
                             struct buf *out, struct err *err);
/* The same for an answer of one line. */
MUST_USE enum rc treegit_line(const struct treegit *treegit, const char *const *args,
                              const char **ret_line, struct err *err);
/* All that is in the tree, as the hash of a git tree. */
MUST_USE enum rc treegit_hash(const struct treegit *treegit, const char **ret_hash,
                              struct err *err);
#endif
