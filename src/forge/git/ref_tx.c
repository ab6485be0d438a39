#include "forge/git/ref_tx.h"
#include "base/fd.h"
#include "forge/git/origin.h"
#include <string.h>

void ref_tx_begin(struct ref_tx *tx)
{
    buf_init(&tx->lines, REF_TX_BYTES_MAX);
    /* Without it the end of the input commits, also when the writer was killed half-way. */
    buf_adds(&tx->lines, "start\n");
}

void ref_tx_move(struct ref_tx *tx, const char *ref, struct ref_move move)
{
    if (text_same(move.from, move.to))
        buf_addf(&tx->lines, "verify %s%s%s\n", ref, move.from[0] ? " " : "", move.from);
    else if (!move.from[0])
        buf_addf(&tx->lines, "create %s %s\n", ref, move.to);
    else if (!move.to[0])
        buf_addf(&tx->lines, "delete %s %s\n", ref, move.from);
    else
        buf_addf(&tx->lines, "update %s %s %s\n", ref, move.to, move.from);
}

/* Of the refs in the lines, "<verb> <ref> ...". */
static void drop_stale_locks(const struct ref_tx *tx, const char *git_dir)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct origin origin = {.dir = git_dir, .arena = &arena};
    struct str rest = buf_str(&tx->lines), line;
    while (str_take_line(&rest, &line)) {
        const char *text = arena_strndup(&arena, line.at, line.len);
        const char *ref = strchr(text, ' ');
        if (ref != NULL)
            origin_drop_stale_locks(&origin, arena_strndup(&arena, ref + 1, strcspn(ref + 1, " ")));
    }
}

enum rc ref_tx_commit(struct ref_tx *tx, const struct git *git, const char *git_dir,
                      struct err *err)
{
    buf_adds(&tx->lines, "prepare\ncommit\n");
    if (tx->lines.overflow)
        return err_set(err, RC_TOO_LARGE, "TOO_MANY_REFS",
                       "More refs than fit into one transaction would have to change.");
    struct git_call update = {.git_dir = git_dir,
                              .args = GIT_ARGS("update-ref", "--stdin"),
                              .input = buf_str(&tx->lines),
                              .durable = true};
    drop_stale_locks(tx, git_dir);
    enum rc rc = dir_sync_file_system(git_dir, err); /* What the refs will name: see origin.h. */
    if (rc == RC_OK)
        rc = git_run(git, &update, err);
    return rc == RC_OK ? dir_sync_file_system(git_dir, err) : rc;
}

void ref_tx_release(struct ref_tx *tx)
{
    buf_release(&tx->lines);
}
