/*
 * treegit.h - git on the agent's tree, inside the sandbox.
 *
 * The tree belongs to the agent, its .git included, and so does every process that git may start
 * while it reads the tree.  Invariants:
 *
 *   1. git runs in the sandbox, as the run's user, with the agent's system call filter and limits
 *      (with floors, so that git can work at all).  The tree is read-only there.
 *   2. It uses a git directory of our own: configuration, hooks and refs of the tree's .git do not
 *      count.  Attributes of the tree cannot choose a filter or hide a text file from the diff.
 *   3. The index holds no gitlink while git compares it with the tree: for a gitlink git starts
 *      `git status` in that directory, with the configuration that lies there.
 *   4. Only bytes come out: a hash, names, a diff, a pack.  No git outside the sandbox opens the
 *      git directory, which the sandbox can write (forge/git/pack.h takes the pack).
 *
 * A repository inside the tree is left out: what is in it is in no patch and no snapshot.  Its name
 * is reported.  A gitlink of the base commit stays as it is for as long as its directory is there
 * and no file below it is taken.
 */
#ifndef WORK_TREE_TREEGIT_H
#define WORK_TREE_TREEGIT_H
#include "work/job/step.h"

struct treegit {
    struct step *step;   /* Its mirror, sandbox, arena, stop and deadline. */
    const char *git_dir; /* Ours; borrows the mirror's objects. */
    const char *tree;
    const char *base;       /* Commit that the tree is compared with. */
    int64_t file_bytes_max; /* A changed file may have. */
};

/* What the tree holds. */
struct treegit_state {
    const char *hash;   /* As a git tree. */
    const char *nested; /* Repositories that were left out, a line each, as git quotes names; "". */
    int64_t nested_count; /* Of all; nested has the first 50. */
    int64_t files;        /* Changed since the base commit. */
};

/* The names alone.  name: of our git directory in the run's. */
struct treegit treegit_at(struct step *step, const char *name, const char *base);
/* Makes our git directory anew, with this commit or tree in its index. */
struct treegit_source {
    const char *tree;
    const char *repository, *ref; /* The ref is copied from there; NULL: the mirror has the tree. */
};
MUST_USE enum rc treegit_open(const struct treegit *treegit, const struct treegit_source *source,
                              struct err *err);
/* Removes our git directory. */
void treegit_close(const struct treegit *treegit);

/* Outputs of `setup`, which are no change of the agent's: patterns for git, a line each. */
const char *treegit_excludes(const struct step *step);

/* All of these: RC_LIMIT when the tree is larger than file_bytes_max or the limits of the agent
   allow to read. */

/* Reads the whole tree into the index, and writes what is new to our git directory. */
MUST_USE enum rc treegit_take(const struct treegit *treegit, struct treegit_state *ret_state,
                              struct err *err);
/* treegit_open at the base commit, treegit_take, and git diff with these options: in one sandbox,
   which is cheaper. */
struct treegit_patch {
    const char *const *options; /* NULL-terminated */
    struct treegit_state state; /* The answer, without `files`. */
    struct buf *diff;           /* The answer; at most what it may hold. */
};
MUST_USE enum rc treegit_patch(const struct treegit *treegit, struct treegit_patch *patch,
                               struct err *err);
/* One object of the diff. */
MUST_USE enum rc treegit_blob(const struct treegit *treegit, const char *hash, struct buf *into,
                              struct err *err);

/* Writes to fd what the tree `tip` holds beyond the commit or tree `known`, as a pack. */
struct treegit_pack {
    const char *tip, *known;
    int fd;
    int64_t bytes_max; /* RC_TOO_LARGE: it would have more. */
};
MUST_USE enum rc treegit_pack(const struct treegit *treegit, const struct treegit_pack *pack,
                              struct err *err);
#endif
