/*
 * result_facts.c - see result_facts.h; result_certificate.c has what a verification seals.
 */
#include "control/run/result_facts.h"
#include "control/run/result_certificate.h"
#include "core/event_types.h"
#include "core/run/judge.h"
#include "core/run/tool_facts.h"
#include "core/run/worker_report.h"
#include "forge/forges.h"
#include "store/artifacts.h"
#include "store/pull_requests.h"
#include <string.h>

#define REFUSE(ctx, field, ...) \
    err_field((ctx)->err, RC_INVALID, "RESULT_REFUSED", (field), __VA_ARGS__)

/* ---- artifacts ---- */

static enum rc stat_artifact(struct context *ctx, const char *field, const char *sha256,
                             int64_t *ret_bytes)
{
    struct artifact_source source = {ctx->store, ctx->db};
    enum rc rc = artifact_stat(&source, sha256, ret_bytes, ctx->err);
    if (rc != RC_NOT_FOUND)
        return rc;
    err_clear(ctx->err);
    return REFUSE(ctx, field, "%s: there is no artifact %s; store it before the step completes",
                  field, sha256);
}

static enum rc check_list(const struct result_claims *claims)
{
    struct context *ctx = claims->ctx;
    const struct js *artifacts = js_get(claims->result, "artifacts");
    for (size_t i = 0; i < js_count(artifacts); i++) {
        const struct js *artifact = js_at(artifacts, i);
        const char *field = arena_printf(ctx->arena, "artifacts[%zu]", i);
        int64_t bytes = 0, told;
        enum rc rc = stat_artifact(ctx, field, js_get_str(artifact, "sha256", ""), &bytes);
        if (rc != RC_OK)
            return rc;
        told = js_get_int(artifact, "bytes", bytes);
        if (told != bytes)
            return REFUSE(ctx, field, "%s.bytes is %lld, and the artifact has %lld", field,
                          (long long)told, (long long)bytes);
    }
    return RC_OK;
}

/* A member that names an artifact; the list of artifacts must not call it something else. */
struct named {
    const char *field, *sha256;
    const char *kinds[2];
};

static enum rc check_named(const struct result_claims *claims, const struct named *named,
                           int64_t *ret_bytes)
{
    struct context *ctx = claims->ctx;
    const struct js *artifacts = js_get(claims->result, "artifacts");
    for (size_t i = 0; i < js_count(artifacts); i++) {
        const struct js *artifact = js_at(artifacts, i);
        const char *kind = js_get_str(artifact, "kind", "");
        if (!text_same(js_get_str(artifact, "sha256", ""), named->sha256))
            continue;
        if (!text_same(kind, named->kinds[0]) && !text_same(kind, named->kinds[1]))
            return REFUSE(ctx, named->field, "%s names an artifact of kind %s, not %s",
                          named->field, kind, named->kinds[0]);
    }
    int64_t bytes = 0;
    enum rc rc = stat_artifact(ctx, named->field, named->sha256, &bytes);
    if (rc == RC_OK && ret_bytes != NULL)
        *ret_bytes = bytes;
    return rc;
}

/* The same for a member that may be absent. */
static enum rc check_member(const struct result_claims *claims, const char *field, const char *kind)
{
    const char *sha256 = js_str(js_path(claims->result, field), NULL);
    if (text_empty(sha256))
        return RC_OK;
    struct named named = {field, sha256, {kind, NULL}};
    return check_named(claims, &named, NULL);
}

/* ---- prepare, hydrate, plan ---- */

enum rc facts_of_prepare(const struct result_claims *claims)
{
    const char *base = js_get_str(claims->result, "baseCommit", "");
    const char *known = claims->flow->run.base_commit;
    if (known == NULL || strcmp(known, base) == 0)
        return RC_OK;
    return REFUSE(claims->ctx, "baseCommit", "baseCommit is %s, and the run began at %s", base,
                  known);
}

enum rc facts_of_hydrate(const struct result_claims *claims)
{
    return check_member(claims, "promptSha256", "prompt");
}

enum rc facts_of_plan(const struct result_claims *claims)
{
    bool cut_short = strcmp(js_get_str(claims->result, "outcome", ""), "ended") != 0 ||
                     strcmp(js_get_str(claims->result, "report", ""), "error") == 0 ||
                     js_type(js_get(claims->result, "question")) == JS_OBJECT;
    if (!cut_short && text_empty(js_get_str(claims->result, "planSha256", "")))
        return REFUSE(claims->ctx, "planSha256", "planSha256 is empty, and the agent did not fail");
    return check_member(claims, "planSha256", "plan");
}

/* ---- agent, collect ---- */

static enum rc check_patch(const struct result_claims *claims, bool is_final)
{
    struct context *ctx = claims->ctx;
    const struct js *patch = js_get(claims->result, "patch");
    if (js_type(patch) != JS_OBJECT)
        return RC_OK;
    int64_t bytes = 0;
    struct named named = {
        "patch.sha256", js_get_str(patch, "sha256", ""), {"patch", "given_patch"}};
    enum rc rc = check_named(claims, &named, &bytes);
    if (rc != RC_OK)
        return rc;
    int64_t files = js_get_int(patch, "files", 0), told = js_get_int(patch, "bytes", bytes);
    if (told != bytes && is_final)
        return REFUSE(ctx, "patch.bytes", "patch.bytes is %lld, and the artifact has %lld",
                      (long long)told, (long long)bytes);
    if (bytes == 0 || bytes > claims->config->limits.max_patch_bytes)
        return REFUSE(ctx, "patch.sha256",
                      "the patch has %lld bytes, and limits.maxPatchBytes is "
                      "%lld",
                      (long long)bytes, (long long)claims->config->limits.max_patch_bytes);
    if (is_final && js_get_str(patch, "treeHash", NULL) == NULL)
        return REFUSE(ctx, "patch.treeHash", "patch.treeHash is missing");
    if (is_final && files == 0)
        return REFUSE(ctx, "patch.files",
                      "patch.files is 0, and a patch changes at least one file");
    if (js_get_int(patch, "forbiddenPaths", 0) > files)
        return REFUSE(ctx, "patch.forbiddenPaths", "patch.forbiddenPaths is more than patch.files");
    if ((int64_t)js_count(js_get(patch, "paths")) > files && is_final)
        return REFUSE(ctx, "patch.paths", "patch.paths has more than patch.files");
    return RC_OK;
}

enum rc facts_of_agent(const struct result_claims *claims)
{
    bool remote = claims->config->agent.compute == COMPUTE_REMOTE;
    if (js_type(js_get(claims->result, "pullRequest")) != JS_NULL)
        return REFUSE(claims->ctx, "pullRequest",
                      "pullRequest is for the step collect, not for the agent's own step");
    enum rc rc = check_patch(claims, !remote);
    return rc == RC_OK ? check_member(claims, "patchSha256", "given_patch") : rc;
}

enum rc facts_of_collect(const struct result_claims *claims)
{
    const struct js *pr = js_get(claims->result, "pullRequest");
    enum rc rc = check_patch(claims, true);
    if (rc != RC_OK || js_type(pr) == JS_NULL)
        return rc;
    return result_check_pr(claims->ctx, claims->flow, pr, "pullRequest.");
}

/* ---- verify ---- */

static enum rc check_reports(const struct result_claims *claims, const char *list, const char *kind)
{
    struct context *ctx = claims->ctx;
    const struct js *items = js_get(claims->result, list);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(items); i++) {
        const char *sha256 = js_get_str(js_at(items, i), "reportSha256", NULL);
        struct named named = {
            arena_printf(ctx->arena, "%s[%zu].reportSha256", list, i), sha256, {kind, NULL}};
        if (sha256 != NULL)
            rc = check_named(claims, &named, NULL);
    }
    return rc;
}

/* What goes back to the agent when its patch did not pass. */
static enum rc check_feedback(const struct result_claims *claims, bool needed)
{
    if (needed && js_get_str(claims->result, "feedbackSha256", NULL) == NULL)
        return REFUSE(claims->ctx, "feedbackSha256",
                      "feedbackSha256 is missing, and the verdict is a failure");
    return check_member(claims, "feedbackSha256", "feedback");
}

enum rc facts_of_verify(const struct result_claims *claims)
{
    const char *verdict = js_get_str(claims->result, "verdict", "");
    enum rc rc = check_member(claims, "certificateSha256", "certificate");
    if (rc == RC_OK)
        rc = certificate_check(claims->ctx, claims->flow, claims->config, claims->result);
    if (rc == RC_OK)
        rc = check_reports(claims, "checks", "report");
    return rc == RC_OK ? check_feedback(claims, strcmp(verdict, "failed") == 0) : rc;
}

/* ---- judge ---- */

static enum rc check_opinion(const struct result_claims *claims, size_t i, const struct js *opinion,
                             enum verdict *ret_verdict)
{
    struct context *ctx = claims->ctx;
    const struct judge_config *judge = &claims->config->judges[i];
    const char *name = js_get_str(opinion, "name", "");
    const char *kind = judge_kind_names[judge->kind];
    const char *field = arena_printf(ctx->arena, "judges[%zu]", i);
    if (!text_same(name, judge->name) || !text_same(js_get_str(opinion, "kind", ""), kind))
        return REFUSE(ctx, field, "%s is %.120s, and the configuration has %.120s (%s) there",
                      field, name, judge->name, kind);
    if (!verdict_parse(js_get_str(opinion, "verdict", ""), ret_verdict))
        return REFUSE(ctx, field, "%s.verdict is not known", field);
    if (js_get_bool(opinion, "errored", false) && *ret_verdict != VERDICT_INCONCLUSIVE)
        return REFUSE(ctx, field, "%s could not work, and its verdict is %s", field,
                      verdict_name(*ret_verdict));
    const struct js *score = js_get(opinion, "score");
    bool enough = judge->min_score <= 0 || js_num(score, -1) >= judge->min_score;
    if (*ret_verdict == VERDICT_PASS && !enough)
        return REFUSE(ctx, field, "%s passes without the score that minScore asks for", field);
    return RC_OK;
}

enum rc facts_of_judge(const struct result_claims *claims)
{
    struct context *ctx = claims->ctx;
    const struct js *judges = js_get(claims->result, "judges");
    enum verdict verdicts[CONFIG_JUDGES_MAX + 1], told = VERDICT_INCONCLUSIVE;
    size_t count = claims->config->judge_count;
    if (js_count(judges) != count)
        return REFUSE(ctx, "judges", "judges has %zu, and the configuration %zu", js_count(judges),
                      count);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = check_opinion(claims, i, js_at(judges, i), &verdicts[i]);
    if (rc != RC_OK)
        return rc;
    enum verdict follows = verdicts_combine(verdicts, count);
    const char *name = js_get_str(claims->result, "verdict", "");
    if (!verdict_parse(name, &told) || told != follows)
        return REFUSE(ctx, "verdict", "verdict is %s, and %s follows from the judges", name,
                      verdict_name(follows));
    rc = check_reports(claims, "judges", "judge_report");
    return rc == RC_OK ? check_feedback(claims, follows == VERDICT_FAIL) : rc;
}

/* ---- pull requests ---- */

enum rc result_pr_url(struct context *ctx, struct flow *flow, int64_t number, const char **ret_url)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    const struct forge_ops *forge = forge_find(config->forge);
    if (forge == NULL)
        return REFUSE(ctx, "url", "there is no forge called %.50s", config->forge);
    *ret_url = forge->pr_url(forge, config->url, number, ctx->arena);
    return RC_OK;
}

/* Open pull requests belong to one run each.  Closed ones do not count: an origin that was restored
   from a backup gives their numbers out again. */
static enum rc check_unowned(struct context *ctx, const struct flow *flow, const char *url,
                             const char *field)
{
    struct pull_request_row other;
    enum rc rc = pull_requests_open_at(ctx->db, url, ctx->arena, &other, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    bool own = rc == RC_OK && (id_same(&other.run_id, &flow->run.id) ||
                               id_same(&other.id, &flow->task.pull_request_id));
    if (rc != RC_OK || own)
        return rc;
    return REFUSE(ctx, field,
                  "pull request #%lld is that of run %s; close it if the repository "
                  "gave its number out again",
                  (long long)other.number, other.run_id.text);
}

enum rc result_check_pr(struct context *ctx, struct flow *flow, const struct js *pr,
                        const char *prefix)
{
    const char *url = NULL, *branch = js_get_str(pr, "branch", "");
    int64_t number = js_get_int(pr, "number", 0);
    const char *field = arena_printf(ctx->arena, "%snumber", prefix);
    if (number < 1)
        return REFUSE(ctx, field, "%s must be 1 or more", field);
    if (!text_same(branch, flow->run.branch)) {
        field = arena_printf(ctx->arena, "%sbranch", prefix);
        return REFUSE(ctx, field, "%s is %.200s, and the run's branch is %.200s", field, branch,
                      flow->run.branch);
    }
    enum rc rc = result_pr_url(ctx, flow, number, &url);
    if (rc != RC_OK)
        return rc;
    if (!text_same(js_get_str(pr, "url", url), url)) {
        field = arena_printf(ctx->arena, "%surl", prefix);
        return REFUSE(ctx, field, "%s is not the address of pull request %lld, which is %.300s",
                      field, (long long)number, url);
    }
    return check_unowned(ctx, flow, url, field);
}

enum rc facts_of_publish(const struct result_claims *claims)
{
    const enum pr_draft wanted = claims->config->pr.draft;
    bool draft = wanted == PR_DRAFT_BY_MODE ? claims->flow->task.mode != MODE_AUTONOMOUS_PR
                                            : wanted == PR_DRAFT_ALWAYS;
    if (js_get_bool(claims->result, "draft", draft) != draft)
        return REFUSE(claims->ctx, "draft",
                      "draft must be %s in this execution mode and configuration",
                      draft ? "true" : "false");
    return result_check_pr(claims->ctx, claims->flow, claims->result, "");
}

/* ---- all of them ---- */

enum rc result_check_facts(struct context *ctx, struct flow *flow, result_facts_fn *facts,
                           const struct js *result)
{
    struct result_claims claims = {.ctx = ctx, .flow = flow, .result = result};
    enum rc rc = flow_config(ctx, flow, &claims.config);
    if (rc == RC_OK)
        rc = check_list(&claims);
    return rc == RC_OK && facts != NULL ? facts(&claims) : rc;
}

/* ---- events ---- */

static enum rc check_ref(const struct job_row *job, const char *key, const struct js *data,
                         struct err *err)
{
    static const char prefix[] = "refs/drover/snapshots/";
    const char *ref = js_get_str(data, key, NULL);
    if (ref == NULL)
        return RC_OK;
    bool own = text_starts(ref, prefix) && text_starts(ref + strlen(prefix), job->run_id.text) &&
               ref[strlen(prefix) + strlen(job->run_id.text)] == '/';
    if (own)
        return RC_OK;
    return err_field(err, RC_INVALID, "INVALID_FIELD", key,
                     "%s must lie under %s%s/, the snapshots of the run", key, prefix,
                     job->run_id.text);
}

/* Leases are held by "NAME" or by "NAME/slot". */
static enum rc check_worker(const struct job_row *job, const struct js *data, struct err *err)
{
    const char *worker = js_get_str(data, "worker", NULL);
    if (worker == NULL || job->worker == NULL)
        return RC_OK;
    size_t len = strlen(worker);
    bool own = text_starts(job->worker, worker) &&
               (job->worker[len] == '\0' || job->worker[len] == '/');
    if (own)
        return RC_OK;
    return err_field(err, RC_INVALID, "INVALID_FIELD", "worker",
                     "worker is %.200s, and the lease is held by %.200s", worker, job->worker);
}

static enum rc check_own_run(const struct job_row *job, const struct js *data, struct err *err)
{
    if (text_same(js_get_str(data, "runId", job->run_id.text), job->run_id.text))
        return RC_OK;
    return err_field(err, RC_INVALID, "INVALID_FIELD", "runId",
                     "runId must be that of the job's run, %s; or leave it out", job->run_id.text);
}

enum rc event_check_facts(const struct job_row *job, const char *type, const struct js *data,
                          struct err *err)
{
    if (text_starts(type, TOOL_CALL_PREFIX))
        return check_own_run(job, data, err);
    if (!text_starts(type, "agent.snapshot."))
        return RC_OK;
    enum rc rc = check_ref(job, "ref", data, err);
    if (rc == RC_OK)
        rc = check_ref(job, "originRef", data, err);
    return rc == RC_OK ? check_worker(job, data, err) : rc;
}
