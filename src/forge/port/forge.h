/*
 * forge.h - git hosts behind one interface: look up a branch, open a pull request, withdraw a
 * branch without a pull request, merge or close a pull request.
 *
 * All may be retried after a crash at any point: the commit is made of its input alone, so it has
 * the same hash every time, and a pull request that exists is found by its run.
 *
 * All are fenced: once a later holder of a run has acted at the forge, nothing that an earlier one
 * does there takes effect, however long it was frozen.  Forges that keep refs do it with a ref of
 * the run that every act moves (git/fence.h); forge_push (port/change.h) does that for any of them.
 * A forge that opens pull requests in another way than by refs has to bring its own means to the
 * same end: what the act of a later holder has to leave behind, and what every act has to compare
 * in the same step.
 */
#ifndef FORGE_PORT_FORGE_H
#define FORGE_PORT_FORGE_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include "forge/git/fence.h"
#include "forge/git/git.h"
#include "forge/port/call.h"
#include <stdbool.h>
#include <stdint.h>

/* Who acts for a run. */
struct forge_holder {
    const char *name; /* Worker, job and epoch: for people. */
    /* Called after the fence was read and before it is moved, every time; anything but RC_OK stops
       the work. */
    enum rc (*may_go_on)(void *ctx, struct err *err);
    void *ctx;
};

/* A verified patch that is to become a pull request. */
struct forge_change {
    struct forge_holder holder;
    const char *url;    /* The origin. */
    const char *mirror; /* A bare repository that holds the base commit. */
    const char
        *scratch; /* A path for a repository of its own: made anew, the caller's to remove. */
    const char *run_id;
    const char *base_commit;
    struct str patch;
    const char *tree; /* That was verified: base + patch must make the same; NULL: none was. */
    const char *branch;
    const char *target_branch;
    const char *title;
    const char *body;    /* Of the pull request; "Drover-Run: <run id>" is in it. */
    const char *message; /* Of the commit, below its title; NULL: the body. */
    int64_t time_us;     /* Date of the commit: the same at every try. */
    bool draft;
    /* A repair of a pull request that is there: base_commit is its head, the commit goes on top. */
    int64_t number; /* 0: it is to be opened, or found by the branch or the run. */
    /* Its head, where base_commit is something else: the merge of the head and `merged`, with
       conflict marks.  Both are the parents of the commit then.  NULL: base_commit is the head. */
    const char *head, *merged;
    const char *const *labels;    /* NULL-terminated, or NULL. */
    const char *const *reviewers; /* The same. */
};

struct forge_pr {
    int64_t number;
    char head[GIT_HASH_BYTES];
    const char *url;     /* In the arena. */
    const char *warning; /* What the forge did not accept beside it: labels, reviewers; or NULL. */
    bool found;          /* It was there already: an earlier try made it, or a person. */
};

/* A run that has ended without a pull request: its branch and its unrecorded pull request are
   withdrawn. */
struct forge_withdrawal {
    struct forge_holder holder;
    const char *url;
    const char *run_id;
    const char *branch;
};

enum forge_branch {
    BRANCH_ABSENT, /* It was never pushed, or is gone already. */
    BRANCH_DELETED,
    BRANCH_FOREIGN, /* Its last commit is not the run's, or it is checked out: kept. */
};

struct forge_withdrawn {
    enum forge_branch branch;
    int64_t pr_number; /* Of a pull request that was opened and never recorded; 0: none. */
};

/* Which branch is looked up. */
struct forge_question {
    const char *url;
    const char *branch;
};

/* What the forge has of it, by any author.  A pull request that drover opened is left out: only
   foreign ones are reported. */
struct forge_found {
    char head[GIT_HASH_BYTES]; /* Of the branch; "": there is none. */
    int64_t pr_number;         /* Of a pull request from it that drover did not open; 0: none. */
    const char *pr_url;        /* In the arena; NULL without one. */
    bool pr_draft;
};

struct forge_merge {
    const char *forge; /* "local" */
    const char *url;
    int64_t number;
    const char *run_id, *branch; /* Whose it is: RC_CONFLICT when it is that of another run. */
    const char *expected_head;   /* RC_CONFLICT when the pull request has moved. */
    const char *expected_tree;   /* RC_CONFLICT when the head shows other files; NULL: any. */
    const char *target_branch;
    const char *message;
};

struct forge_closing {
    const char *forge; /* As above. */
    const char *url;
    int64_t number;
    const char *run_id, *branch;
    const char *target_branch; /* RC_CONFLICT when it is merged there already; NULL: not checked. */
};

/* A branch or a pull request that is there for a run, or has a name that only drover gives. */
struct forge_trace {
    const char *ref; /* As people find it. */
    const char *head;
    const char *branch; /* Its name; NULL: this is a pull request. */
    int64_t number;     /* Of a pull request. */
    const char *run_id; /* Of the run for which it was opened; NULL: not known. */
    const char *named;  /* The run that the last commit names; NULL: none. */
};
struct forge_traces {
    struct forge_trace *items;
    size_t count;
};

/* A pull request as the database has it. */
struct forge_known {
    int64_t number;
    const char *head;         /* A commit; closed: it may have moved since. */
    const char *merge_commit; /* NULL: not merged. */
    const char *target_branch;
    bool merged_lately; /* So that the target branch should still lead to it. */
    bool closed;
};

/* What is wrong with them, and what to do about it, for people; NULL: nothing. */
struct forge_examined {
    const char **wrong; /* One for each. */
    const char *broken; /* Something else: git's own words. */
};

/* What a forge can do beyond branches and pull requests. */
enum forge_can {
    CAN_DRAFT = 1 << 0,
    CAN_LABEL = 1 << 1,
    CAN_REQUEST_REVIEW = 1 << 2,
    CAN_CHECKS = 1 << 3,    /* It has checks of its own that can be read. */
    CAN_PUT_CHECK = 1 << 4, /* drover's own can be put beside them. */
    CAN_RERUN_CHECK = 1 << 5,
    CAN_CHECK_LOG = 1 << 6,
    CAN_REVIEW = 1 << 7,  /* People review there; an identity of drover's may approve. */
    CAN_THREADS = 1 << 8, /* Threads can be answered. */
    CAN_RESOLVE = 1 << 9, /* And resolved. */
    CAN_AUTO_MERGE = 1 << 10,
    CAN_QUEUE = 1 << 11, /* It has a merge queue of its own. */
    CAN_WEBHOOKS = 1 << 12,
    CAN_LIST_DELIVERIES = 1 << 13,
    CAN_DEPENDENCIES = 1 << 14, /* Issues block issues. */
    CAN_APP = 1 << 15,          /* Tokens for one repository, made from a key. */
};

struct issue_ops;
struct pr_ops;
struct check_ops;
struct delivery_ops;
struct people_ops;
struct host_ops;
struct branch_move;
/* Every function is given the forge that it is a member of. */
struct forge_ops {
    const char *name;
    unsigned can; /* Of enum forge_can. */
    /* Its origin takes refs of unpublished work beside the branches (work/tree/snapshot.h). */
    bool takes_snapshots;
    enum rc (*look)(const struct forge_ops *forge, struct forge_call *call,
                    const struct forge_question *question, struct arena *arena,
                    struct forge_found *ret_found, struct err *err);
    /* A branch that shows the very files of the change already, as an agent may have pushed them,
       is taken as it is.  RC_CONFLICT: the patch does not apply, or the branch has other commits
       that drover did not push. */
    enum rc (*open_pr)(const struct forge_ops *forge, struct forge_call *call,
                       const struct forge_change *change, struct arena *arena,
                       struct forge_pr *ret_pr, struct err *err);
    /* Deletes the run's branch unless its last commit is not the run's, and closes a pull request
       that the run has opened.  From then on an earlier holder of the run can publish nothing,
       whether or not there was something to withdraw. */
    enum rc (*withdraw)(const struct forge_ops *forge, struct forge_call *call,
                        const struct forge_withdrawal *withdrawal,
                        struct forge_withdrawn *ret_withdrawn, struct err *err);
    enum rc (*merge)(const struct forge_ops *forge, struct forge_call *call,
                     const struct forge_merge *merge, char ret_commit[GIT_HASH_BYTES],
                     struct err *err);
    /* Without merging it; the branch stays.  One that is gone, or closed already, is RC_OK. */
    enum rc (*close)(const struct forge_ops *forge, struct forge_call *call,
                     const struct forge_closing *closing, struct err *err);
    /* One try of branch_move (forge/port/branch_move.h).  RC_IO: a ref is not what it was. */
    enum rc (*move_branch)(const struct forge_ops *forge, struct forge_call *call,
                           const struct branch_move *move, struct err *err);
    /* All branches that are named as drover names them, and all pull requests that are not closed,
       by any author.  In the arena. */
    enum rc (*survey)(const struct forge_ops *forge, struct forge_call *call, const char *url,
                      struct arena *arena, struct forge_traces *ret_traces, struct err *err);
    /* Compares what the forge has with what the database has.  NULL: it cannot. */
    enum rc (*examine)(const struct forge_ops *forge, struct forge_call *call, const char *url,
                       const struct forge_known *known, size_t count, struct arena *arena,
                       struct forge_examined *ret, struct err *err);
    /* The address of a pull request, without credentials. */
    const char *(*pr_url)(const struct forge_ops *forge, const char *url, int64_t number,
                          struct arena *arena);
    const struct host_ops *host;           /* forge/host/hosted.h; NULL: it is no server. */
    const struct issue_ops *issues;        /* forge/port/issues.h; NULL: it has none. */
    const struct pr_ops *prs;              /* forge/port/prs.h */
    const struct check_ops *checks;        /* forge/port/checks.h; NULL without CAN_CHECKS. */
    const struct delivery_ops *deliveries; /* forge/port/deliveries.h; NULL without CAN_WEBHOOKS. */
    const struct people_ops *people;       /* forge/port/people.h; NULL: it tells nothing. */
};
#endif
