/*
 * ref_tx.h - refs of one repository, changed together or not at all.
 *
 * Every move names the value that it expects: a ref that has another one stops the whole
 * transaction.  git locks all refs, compares, then writes; input that ends early writes nothing.
 * Objects are on the disk before the refs that name them, and the refs when it has committed.
 */
#ifndef FORGE_GIT_REF_TX_H
#define FORGE_GIT_REF_TX_H
#include "forge/git/git.h"

enum { REF_TX_BYTES_MAX = 64 * 1024 };

struct ref_tx {
    struct buf lines;
};

/* "" is no ref.  The same value twice: it must stay as it is. */
struct ref_move {
    const char *from, *to;
};

void ref_tx_begin(struct ref_tx *tx);
void ref_tx_move(struct ref_tx *tx, const char *ref, struct ref_move move);
/* RC_IO: a ref has another value than was expected, or git cannot write; nothing has changed. */
MUST_USE enum rc ref_tx_commit(struct ref_tx *tx, const struct git *git, const char *git_dir,
                               struct err *err);
void ref_tx_release(struct ref_tx *tx); /* For CLEANUP. */
#endif
