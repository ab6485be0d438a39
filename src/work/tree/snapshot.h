/*
 * snapshot.h - the agent's work so far, as a commit in the snapshot repository.
 *
 *     work_dir/mirrors/<hash>.snapshots.git            beside the mirror, borrows its objects
 *     refs/drover/snapshots/<run id>/<attempt>-<n>     a ref in it
 *
 * Every sandbox of the same repository can read the mirror, so no object of a snapshot is stored
 * there.  The snapshot repository has mode 0700 and is bound into no sandbox.
 *
 * Each has the one before it as its parent, the first one the base commit: the last one leads to
 * all.  An unchanged tree makes none.
 */
#ifndef WORK_TREE_SNAPSHOT_H
#define WORK_TREE_SNAPSHOT_H
#include "work/tree/mirror.h"
#include "work/tree/treegit.h"

#define SNAPSHOT_REFS  "refs/drover/snapshots/"
#define PUBLISHED_REFS "refs/drover/published/" /* publication.h */
/* Trailer of the commit with the name of the run's repository, for lists. */
#define SNAPSHOT_REPOSITORY_KEY "Drover-Repository"

/* What is larger stays in the run's directory. */
enum {
    SNAPSHOT_KIB_MAX = 256 * 1024, /* Of packs, and of one file. */
    SNAPSHOT_UNPACKED = 8,         /* Unpacked, all files may have so many times as much. */
    SNAPSHOT_OBJECTS_MAX = 400 * 1000,
    SNAPSHOT_REF_BYTES = 160,
};

struct snapshot {
    char ref[SNAPSHOT_REF_BYTES]; /* "": there is none yet, the rest is the base commit's. */
    char commit[GIT_HASH_BYTES];
    char tree[GIT_HASH_BYTES];
    int64_t attempt, number;
    int64_t files; /* Changed since the base commit. */
    int64_t kib;   /* Of its pack, and of those before it since the last one was found. */
};

struct snapshot_news {
    bool fresh;         /* There is a new one. */
    const char *nested; /* Repositories in the tree that it leaves out: see treegit.h. */
};

/* The run's last one on this machine. */
MUST_USE enum rc snapshot_find_last(struct step *step, const char *base, struct snapshot *ret_last,
                                    struct err *err);
/* A git directory to take them with: its names, and made anew. */
struct treegit snapshot_treegit(struct step *step, const char *name, const char *base);
MUST_USE enum rc snapshot_open(const struct treegit *treegit, const struct snapshot *last,
                               struct err *err);
/* *last moves on to the new one.  RC_TOO_LARGE: with it they would take more than SNAPSHOT_KIB_MAX
   since the last one was found. */
MUST_USE enum rc snapshot_take(const struct treegit *treegit, struct snapshot *last,
                               struct snapshot_news *ret_news, struct err *err);
/* {ref, commit, files, attempt, reason, worker, mirror}; mirror: the snapshot repository */
void snapshot_write(struct buf *data, const struct step *step, const struct snapshot *snapshot,
                    const char *reason);

/* Where the origin is a repository that we may write to: the same ref there, so that a person can
   fetch it.  *ret_ref: its name there; NULL: it was not pushed.  *ret_new: it was not there. */
MUST_USE enum rc snapshot_push(struct step *step, const struct snapshot *snapshot,
                               const char **ret_ref, bool *ret_new, struct err *err);
/* Has the run one on this machine? */
bool snapshot_any(const struct step *step);
/* For a run whose work is published. */
MUST_USE enum rc snapshot_drop_all(struct step *step, struct err *err);
#endif
