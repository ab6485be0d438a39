/*
 * hosted.c - a change becomes a pull request at a forge that is a server.
 *
 * What may be left behind by a try that stopped, and what the next one makes of it:
 *
 *   nothing                    the same commit is made again: its input decides its hash
 *   branch and fence           the branch is the commit, or shows its files: taken as it is
 *   the pull request           found by its branch: one of a branch and a target is open at a time
 *   labels, some of them       set again
 *
 * Nothing of an earlier holder takes effect after the act of a later one: the branch and the fence
 * of the run move in one push, from the values that were read before may_go_on was asked.  A pull
 * request cannot be opened for a branch that is gone, so a withdrawal, which deletes the branch and
 * then closes what is open, ends it for good.
 */
#include "forge/host/hosted.h"
#include "base/fault.h"
#include "forge/git/remote.h"
#include "forge/port/change.h"
#include "forge/port/prs.h"
#include <string.h>

enum { TRIES_MAX = 4, RUN_ID_MAX = 64 };
#define MARK "Drover-Run: "

const char *hosted_run_of(const char *body, struct arena *arena)
{
    const char *mark = body != NULL ? strstr(body, MARK) : NULL;
    if (mark == NULL)
        return NULL;
    mark += strlen(MARK);
    size_t len = strspn(mark, "0123456789abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    return len > 0 && len <= RUN_ID_MAX ? arena_strndup(arena, mark, len) : NULL;
}

/* ---- look ---- */

/* An open one of this repository's own branch, which drover did not open. */
static const struct host_pr *find_foreign(const struct host_pr *prs, size_t count,
                                          struct arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        if (prs[i].open && !prs[i].foreign_head && hosted_run_of(prs[i].body, arena) == NULL)
            return &prs[i];
    }
    return NULL;
}

enum rc hosted_look(const struct forge_ops *forge, struct forge_call *call,
                    const struct forge_question *question, struct arena *arena,
                    struct forge_found *ret_found, struct err *err)
{
    const struct host_ops *host = forge->host;
    const struct remote remote = {.git = &call->git, .url = question->url, .arena = arena};
    const char *name = arena_printf(arena, "refs/heads/%s", question->branch);
    struct forge_found found = {.pr_number = 0};
    struct host_repo repo;
    struct host_pr *prs = NULL;
    size_t count = 0;
    char heads[1][GIT_HASH_BYTES];
    enum rc rc = host->place(call, question->url, arena, &repo, err);
    if (rc == RC_OK)
        rc = remote_refs(&remote, &name, 1, heads, err);
    if (rc == RC_OK && heads[0][0] != '\0')
        rc = host->find(call, &repo, question->branch, arena, &prs, &count, err);
    if (rc != RC_OK)
        return rc;
    text_copy(found.head, sizeof found.head, heads[0]);
    const struct host_pr *foreign = find_foreign(prs, count, arena);
    if (foreign != NULL) {
        found.pr_number = foreign->number;
        found.pr_url = foreign->url;
        found.pr_draft = foreign->draft;
    }
    *ret_found = found;
    return RC_OK;
}

/* ---- the branch ---- */

struct publishing {
    const struct forge_ops *forge;
    struct forge_call *call;
    const struct forge_change *change;
    struct host_repo repo;
    struct remote remote; /* Its repository is the scratch one of the change. */
    struct fence fence;
    char head[GIT_HASH_BYTES];
    bool again; /* To be retried: read the refs again, and call may_go_on again. */
};

static bool is_repair(const struct forge_change *change)
{
    return change->number > 0;
}

/* What the branch of a repair is now. */
static const char *head_of(const struct forge_change *change)
{
    return change->head != NULL ? change->head : change->base_commit;
}

static enum rc taken(const struct forge_change *change, const char *branch, struct err *err)
{
    if (is_repair(change))
        return err_set(err, RC_CONFLICT, "HEAD_MOVED",
                       "The branch %.200s is at %.12s, and this change belongs on %.12s: commits "
                       "were pushed to it meanwhile.",
                       change->branch, branch, head_of(change));
    return err_set(err, RC_CONFLICT, "BRANCH_TAKEN",
                   "The branch %.200s of the origin is at %.12s, which is not this change.",
                   change->branch, branch);
}

/* The tree of a commit in the scratch repository. */
static enum rc tree_of(const struct publishing *publishing, const char *commit,
                       const char **ret_tree, struct err *err)
{
    const struct remote *remote = &publishing->remote;
    struct git_call ask = {.git_dir = remote->dir,
                           .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options",
                                            arena_printf(remote->arena, "%s^{tree}", commit))};
    return git_line(remote->git, &ask, remote->arena, ret_tree, err);
}

/* The branch is there: head becomes what it is, if that shows the same files.  RC_CONFLICT: it
   shows others. */
static enum rc take_branch(struct publishing *publishing, const char *branch, struct err *err)
{
    const struct forge_change *change = publishing->change;
    struct arena *arena = publishing->remote.arena;
    struct remote_commit there;
    const char *tree = NULL;
    if (text_same(branch, publishing->head))
        return RC_OK;
    enum rc rc = remote_look(&publishing->remote,
                             arena_printf(arena, "refs/heads/%s", change->branch), &there, err);
    if (rc == RC_OK)
        rc = tree_of(publishing, publishing->head, &tree, err);
    if (rc != RC_OK)
        return rc;
    publishing->again = !text_same(there.hash, branch);
    if (publishing->again)
        return err_set(err, RC_BUSY, "FENCE_MOVED",
                       "Others changed what the run has at the origin, time and again.");
    if (!text_same(there.tree, tree))
        return taken(change, branch, err);
    text_copy(publishing->head, sizeof publishing->head, branch);
    return RC_OK;
}

/* What the push may replace: "" for a new branch, the base of a repair, or what is there already
   and is this change. */
static enum rc expect_branch(struct publishing *publishing, const char *branch,
                             const char **ret_from, struct err *err)
{
    const struct forge_change *change = publishing->change;
    *ret_from = branch;
    if (branch[0] == '\0' && !is_repair(change))
        return RC_OK;
    if (branch[0] == '\0')
        return err_set(err, RC_CONFLICT, "BRANCH_GONE",
                       "The branch %.200s of pull request %lld is gone.", change->branch,
                       (long long)change->number);
    if (is_repair(change) && text_same(branch, head_of(change)))
        return RC_OK;
    return take_branch(publishing, branch, err);
}

/* The branch is there afterwards, and the fence has moved. */
static enum rc bring_branch(struct publishing *publishing, struct err *err)
{
    enum { AT_FENCE, AT_BRANCH, AT_COUNT };
    const struct forge_change *change = publishing->change;
    struct remote *remote = &publishing->remote;
    const char *names[AT_COUNT] = {
        [AT_FENCE] = fence_ref(change->run_id, remote->arena),
        [AT_BRANCH] = arena_printf(remote->arena, "refs/heads/%s", change->branch),
    };
    const struct fence_text text = {.act = "publish", .holder = change->holder.name};
    char at[AT_COUNT][GIT_HASH_BYTES];
    struct forge_push push = {.head = publishing->head, .fence = &publishing->fence};
    enum rc rc = remote_refs(remote, names, AT_COUNT, at, err);
    if (rc != RC_OK)
        return rc;
    publishing->fence = (struct fence){.moved = false};
    text_copy(publishing->fence.old, sizeof publishing->fence.old, at[AT_FENCE]);
    rc = expect_branch(publishing, at[AT_BRANCH], &push.branch_from, err);
    if (rc == RC_OK)
        rc = fence_make(remote->git, remote->dir, &text, &publishing->fence, err);
    if (rc == RC_OK)
        rc = change->holder.may_go_on(change->holder.ctx, err);
    if (rc == RC_OK)
        rc = fault_point("publish.push", err);
    if (rc != RC_OK)
        return rc;
    rc = forge_push(remote->git, change, &push, err);
    publishing->again = rc == RC_IO;
    return rc == RC_OK ? fault_point("publish.pushed", err) : rc;
}

/* ---- the pull request ---- */

static bool is_of_change(const struct host_pr *pr, const struct publishing *publishing)
{
    return !pr->foreign_head && text_same(pr->head_branch, publishing->change->branch);
}

/* One branch may have pull requests into several: that of the run is meant, or one into its
   target. */
static bool is_meant(const struct host_pr *pr, const struct publishing *publishing)
{
    const struct forge_change *change = publishing->change;
    return text_same(pr->target_branch, change->target_branch) ||
           text_same(hosted_run_of(pr->body, publishing->remote.arena), change->run_id);
}

/* Found: an open one from this branch, by anyone; or one that shows this commit and was merged.
   RC_CONFLICT: a person has closed it. */
static enum rc find_pr(const struct publishing *publishing, struct host_pr *ret_pr, bool *ret_found,
                       struct err *err)
{
    struct arena *arena = publishing->remote.arena;
    const struct forge_change *change = publishing->change;
    struct host_pr *prs = NULL;
    size_t count = 0;
    *ret_found = false;
    enum rc rc = publishing->forge->host->find(publishing->call, &publishing->repo, change->branch,
                                               arena, &prs, &count, err);
    if (rc != RC_OK)
        return rc;
    const struct host_pr *open = NULL, *merged = NULL, *closed = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct host_pr *pr = &prs[i];
        if (!is_of_change(pr, publishing) || !is_meant(pr, publishing))
            continue;
        if (pr->open && open == NULL)
            open = pr;
        else if (pr->merged && text_same(pr->head, publishing->head))
            merged = pr;
        else if (!pr->open && !pr->merged &&
                 text_same(hosted_run_of(pr->body, arena), change->run_id))
            closed = pr;
    }
    if (open == NULL && merged == NULL && closed != NULL)
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_CLOSED",
                       "Pull request %lld of this run was closed at the forge. Reopen it, or retry "
                       "the task.",
                       (long long)closed->number);
    *ret_found = open != NULL || merged != NULL;
    if (*ret_found)
        *ret_pr = open != NULL ? *open : *merged;
    return RC_OK;
}

/* No answer, or half of one: it may have been made. */
static bool may_have_been_made(enum rc rc)
{
    return rc == RC_CONFLICT || rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_IO ||
           rc == RC_CORRUPT;
}

static enum rc create_pr(const struct publishing *publishing, struct host_pr *ret_pr,
                         bool *ret_found, struct err *err)
{
    const struct forge_change *change = publishing->change;
    const struct host_new_pr wanted = {
        .branch = change->branch,
        .target_branch = change->target_branch,
        .title = change->title,
        .body = change->body,
        .draft = change->draft && (publishing->forge->can & CAN_DRAFT) != 0,
    };
    enum rc rc = change->holder.may_go_on(change->holder.ctx, err);
    if (rc == RC_OK)
        rc = fault_point("publish.create", err);
    if (rc != RC_OK)
        return rc;
    rc = publishing->forge->host->create(publishing->call, &publishing->repo, &wanted,
                                         publishing->remote.arena, ret_pr, err);
    if (rc == RC_OK)
        return fault_point("publish.created", err);
    struct err why = {0};
    if (!may_have_been_made(rc) || find_pr(publishing, ret_pr, ret_found, &why) != RC_OK ||
        !*ret_found)
        return rc;
    err_clear(err);
    return RC_OK;
}

static enum rc find_or_create(struct publishing *publishing, struct host_pr *ret_pr,
                              bool *ret_found, struct err *err)
{
    const struct forge_change *change = publishing->change;
    enum rc rc = fault_point("publish.number", err);
    if (rc != RC_OK)
        return rc;
    if (is_repair(change)) {
        *ret_found = true;
        return publishing->forge->host->get(publishing->call, &publishing->repo, change->number,
                                            publishing->remote.arena, ret_pr, err);
    }
    rc = find_pr(publishing, ret_pr, ret_found, err);
    return rc == RC_OK && !*ret_found ? create_pr(publishing, ret_pr, ret_found, err) : rc;
}

/* ---- labels and reviewers ---- */

/* What the forge refuses for good is a remark: the pull request is there. */
static enum rc remark(const struct publishing *publishing, enum publish_part part, enum rc rc,
                      const char **warning, struct err *err)
{
    struct arena *arena = publishing->remote.arena;
    const char *what = publish_part_names[part];
    if (rc == RC_OK)
        publish_part_end(publishing->change->parts, part, PART_DONE, NULL);
    if (rc != RC_NOT_FOUND && rc != RC_CONFLICT && rc != RC_INVALID && rc != RC_DENIED)
        return rc;
    *warning = arena_printf(arena, "%s%s%s: %s", *warning != NULL ? *warning : "",
                            *warning != NULL ? "; " : "", what, err->text);
    publish_part_end(publishing->change->parts, part, PART_REFUSED, arena_strdup(arena, err->text));
    err_clear(err);
    return RC_OK;
}

static enum rc add_labels(const struct publishing *publishing, const struct pr_ref *ref,
                          const char **warning, struct err *err)
{
    const struct forge_ops *forge = publishing->forge;
    const struct forge_change *change = publishing->change;
    if (is_repair(change) || change->labels == NULL || change->labels[0] == NULL ||
        (forge->can & CAN_LABEL) == 0)
        return RC_OK;
    publish_part_begin(change->parts, PART_LABELS);
    enum rc rc = fault_point("publish.label", err);
    if (rc == RC_OK)
        rc = forge->prs->label(publishing->call, ref, change->labels, err);
    return remark(publishing, PART_LABELS, rc, warning, err);
}

static enum rc add_reviewers(const struct publishing *publishing, const struct pr_ref *ref,
                             const char **warning, struct err *err)
{
    const struct forge_ops *forge = publishing->forge;
    const struct forge_change *change = publishing->change;
    if (is_repair(change) || change->reviewers == NULL || change->reviewers[0] == NULL ||
        (forge->can & CAN_REQUEST_REVIEW) == 0)
        return RC_OK;
    publish_part_begin(change->parts, PART_REVIEWERS);
    enum rc rc = fault_point("publish.reviewers", err);
    if (rc == RC_OK)
        rc = forge->prs->request_review(publishing->call, ref, change->reviewers, err);
    return remark(publishing, PART_REVIEWERS, rc, warning, err);
}

/* ---- open ---- */

static enum rc open_once(struct publishing *publishing, struct host_pr *ret_pr, bool *ret_found,
                         struct err *err)
{
    publishing->again = false;
    struct publish_parts *parts = publishing->change->parts;
    enum rc rc = publish_part_try(parts, PART_BRANCH, bring_branch(publishing, err));
    if (rc == RC_OK)
        rc = publish_part_try(parts, PART_PULL_REQUEST,
                              find_or_create(publishing, ret_pr, ret_found, err));
    if (rc == RC_OK && *ret_found)
        publish_part_end(parts, PART_PULL_REQUEST, PART_FOUND, NULL);
    return rc;
}

enum rc hosted_open_pr(const struct forge_ops *forge, struct forge_call *call,
                       const struct forge_change *change, struct arena *arena,
                       struct forge_pr *ret_pr, struct err *err)
{
    const struct host_ops *host = forge->host;
    struct publishing publishing = {
        .forge = forge,
        .call = call,
        .change = change,
        .remote = {.git = &call->git, .url = change->url, .dir = change->scratch, .arena = arena},
    };
    struct host_pr pr = {.number = 0};
    struct forge_pr opened = {.found = false};
    enum rc rc = host->place(call, change->url, arena, &publishing.repo, err);
    if (rc == RC_OK)
        rc = fault_point("publish.commit", err);
    if (rc == RC_OK)
        rc = forge_commit(&call->git, change, publishing.head, err);
    if (rc != RC_OK)
        return rc;
    int tries = 0;
    do
        rc = open_once(&publishing, &pr, &opened.found, err);
    while (rc != RC_OK && publishing.again && ++tries < TRIES_MAX);
    const struct pr_ref ref = {.url = change->url, .number = pr.number};
    if (rc == RC_OK)
        rc = add_labels(&publishing, &ref, &opened.warning, err);
    if (rc == RC_OK)
        rc = add_reviewers(&publishing, &ref, &opened.warning, err);
    if (rc == RC_OK)
        rc = fault_point("publish.numbered", err);
    if (rc != RC_OK)
        return rc;
    opened.number = pr.number;
    /* By the address that is configured: a renamed repository redirects it. */
    opened.url = host->pr_url(&publishing.repo, pr.number, arena);
    text_copy(opened.head, sizeof opened.head, publishing.head);
    *ret_pr = opened;
    return RC_OK;
}

const char *hosted_pr_url(const struct forge_ops *forge, const char *url, int64_t number,
                          struct arena *arena)
{
    const struct forge_call none = {0};
    struct host_repo repo;
    if (forge->host->place(&none, url, arena, &repo, NULL) == RC_OK)
        return forge->host->pr_url(&repo, number, arena);
    char *shown = arena_strdup(arena, url);
    git_redact(shown);
    return shown;
}
