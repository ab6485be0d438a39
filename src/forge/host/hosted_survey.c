/*
 * hosted_survey.c - what a forge that is a server has of drover's, and whether it fits the
 * database.
 *
 * Branches are read by git in one fetch, open pull requests by one listing: a few calls of the API
 * however many there are.
 */
#include "forge/git/remote.h"
#include "forge/host/hosted.h"
#include <string.h>

#define BRANCHES "refs/heads/"
enum { ASKED_MAX = 20 }; /* Pull requests that are asked for one by one. */

static struct forge_trace trace_of(const struct remote_ref *ref)
{
    return (struct forge_trace){.ref = ref->name,
                                .head = ref->commit.hash,
                                .branch = ref->name + strlen(BRANCHES),
                                .named = ref->commit.run_id};
}

static struct forge_trace trace_of_pr(const struct host_ops *host, const struct host_repo *repo,
                                      const struct host_pr *pr, struct arena *arena)
{
    return (struct forge_trace){
        .ref = pr->url != NULL ? pr->url : host->pr_url(repo, pr->number, arena),
        .head = pr->head,
        .number = pr->number,
        .run_id = hosted_run_of(pr->body, arena),
    };
}

enum rc hosted_survey(const struct forge_ops *forge, struct forge_call *call, const char *url,
                      struct arena *arena, struct forge_traces *ret_traces, struct err *err)
{
    const struct host_ops *host = forge->host;
    CLEANUP(remote_drop)
    struct remote remote = {.git = &call->git, .url = url, .arena = arena};
    struct remote_ref *refs = NULL;
    struct host_pr *prs = NULL;
    size_t ref_count = 0, pr_count = 0;
    struct host_repo repo;
    enum rc rc = host->place(call, url, arena, &repo, err);
    if (rc == RC_OK)
        rc = remote_make(&remote, err);
    if (rc == RC_OK)
        rc = remote_look_all(&remote, BRANCHES "drover/", FORGE_LISTED_MAX, &refs, &ref_count, err);
    if (rc == RC_OK)
        rc = host->list_open(call, &repo, arena, &prs, &pr_count, err);
    if (rc != RC_OK)
        return rc;
    struct forge_traces traces = {
        .items = arena_array(arena, ref_count + pr_count + 1, sizeof *traces.items)};
    for (size_t i = 0; i < ref_count; i++)
        traces.items[traces.count++] = trace_of(&refs[i]);
    for (size_t i = 0; i < pr_count; i++)
        traces.items[traces.count++] = trace_of_pr(host, &repo, &prs[i], arena);
    *ret_traces = traces;
    return RC_OK;
}

/* ---- examine ---- */

struct examining {
    const struct host_ops *host;
    struct forge_call *call;
    struct host_repo repo;
    struct arena *arena;
    const struct host_pr *open;
    size_t open_count;
    int asked;
};

static const struct host_pr *find_open(const struct examining *examining, int64_t number)
{
    for (size_t i = 0; i < examining->open_count; i++)
        if (examining->open[i].number == number)
            return &examining->open[i];
    return NULL;
}

static const char *differs(const struct examining *examining, const struct forge_known *known,
                           const char *how)
{
    return arena_printf(examining->arena,
                        "pull request %lld %s at the forge, and the database has it as open; it is "
                        "read again with the next look at it",
                        (long long)known->number, how);
}

/* An open one that is not in the list of open ones. */
static enum rc ask(struct examining *examining, const struct forge_known *known,
                   const char **ret_wrong, struct err *err)
{
    struct host_pr pr;
    if (examining->asked++ >= ASKED_MAX)
        return RC_OK;
    enum rc rc = examining->host->get(examining->call, &examining->repo, known->number,
                                      examining->arena, &pr, err);
    if (rc == RC_NOT_FOUND)
        *ret_wrong = differs(examining, known, "is not there");
    else if (rc == RC_OK && !pr.open)
        *ret_wrong = differs(examining, known, pr.merged ? "is merged" : "is closed");
    if (rc == RC_NOT_FOUND)
        err_clear(err);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc examine_one(struct examining *examining, const struct forge_known *known,
                           const char **ret_wrong, struct err *err)
{
    if (known->closed || known->merge_commit != NULL)
        return RC_OK;
    const struct host_pr *open = find_open(examining, known->number);
    if (open == NULL)
        return ask(examining, known, ret_wrong, err);
    if (!text_same(open->head, known->head))
        *ret_wrong = arena_printf(
            examining->arena,
            "pull request %lld is at %.12s at the forge, and the database has "
            "%.12s; it is read again with the next look at it",
            (long long)known->number, open->head, known->head);
    return RC_OK;
}

enum rc hosted_examine(const struct forge_ops *forge, struct forge_call *call, const char *url,
                       const struct forge_known *known, size_t count, struct arena *arena,
                       struct forge_examined *ret, struct err *err)
{
    const struct host_ops *host = forge->host;
    struct examining examining = {.host = host, .call = call, .arena = arena};
    struct host_pr *open = NULL;
    const char **wrong = arena_array(arena, count + 1, sizeof *wrong);
    enum rc rc = host->place(call, url, arena, &examining.repo, err);
    if (rc == RC_OK)
        rc = host->list_open(call, &examining.repo, arena, &open, &examining.open_count, err);
    examining.open = open;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = examine_one(&examining, &known[i], &wrong[i], err);
    if (rc == RC_OK)
        *ret = (struct forge_examined){.wrong = wrong};
    return rc;
}
