/*
 * github_forge.c - GitHub as a forge: what it can do, and where that is.
 */
#include "forge/checks.h"
#include "forge/deliveries.h"
#include "forge/github.h"
#include "forge/issues.h"

static enum rc forge_look(struct forge_call *call, const struct forge_question *question,
                          struct arena *arena, struct forge_found *ret_found, struct err *err)
{
    return hosted_look(&host_github, call, question, arena, ret_found, err);
}

static enum rc forge_open_pr(struct forge_call *call, const struct forge_change *change,
                             struct arena *arena, struct forge_pr *ret_pr, struct err *err)
{
    return hosted_open_pr(&forge_github, &host_github, call, change, arena, ret_pr, err);
}

static enum rc forge_withdraw(struct forge_call *call, const struct forge_withdrawal *withdrawal,
                              struct forge_withdrawn *ret_withdrawn, struct err *err)
{
    return hosted_withdraw(&host_github, call, withdrawal, ret_withdrawn, err);
}

static enum rc forge_merge_pr(struct forge_call *call, const struct forge_merge *wanted,
                              char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    return hosted_merge(&host_github, call, wanted, ret_commit, err);
}

static enum rc forge_close_pr(struct forge_call *call, const struct forge_closing *closing,
                              struct err *err)
{
    return hosted_close(&host_github, call, closing, err);
}

static enum rc forge_survey(struct forge_call *call, const char *url, struct arena *arena,
                            struct forge_traces *ret_traces, struct err *err)
{
    return hosted_survey(&host_github, call, url, arena, ret_traces, err);
}

static enum rc forge_examine(struct forge_call *call, const char *url,
                             const struct forge_known *known, size_t count, struct arena *arena,
                             struct forge_examined *ret, struct err *err)
{
    return hosted_examine(&host_github, call, url, known, count, arena, ret, err);
}

static const char *forge_pr_url(const char *url, int64_t number, struct arena *arena)
{
    struct host_repo repo;
    const struct forge_call none = {0};
    return github_place(&none, url, arena, &repo, NULL) == RC_OK
               ? host_github.pr_url(&repo, number, arena)
               : url;
}

const struct forge_ops forge_github = {
    .name = "github",
    .can = CAN_DRAFT | CAN_LABEL | CAN_REQUEST_REVIEW | CAN_CHECKS | CAN_PUT_CHECK |
           CAN_RERUN_CHECK | CAN_CHECK_LOG | CAN_REVIEW | CAN_THREADS | CAN_RESOLVE |
           CAN_AUTO_MERGE | CAN_QUEUE | CAN_WEBHOOKS | CAN_LIST_DELIVERIES | CAN_DEPENDENCIES |
           CAN_APP,
    .takes_snapshots = false, /* Unpublished work is not for all who may read the repository. */
    .look = forge_look,
    .open_pr = forge_open_pr,
    .withdraw = forge_withdraw,
    .merge = forge_merge_pr,
    .close = forge_close_pr,
    .survey = forge_survey,
    .examine = forge_examine,
    .pr_url = forge_pr_url,
    .issues = &issues_github,
    .prs = &prs_github,
    .checks = &checks_github,
    .deliveries = &deliveries_github,
};
