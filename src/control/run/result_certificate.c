#include "control/run/result_certificate.h"
#include "core/run/feedback.h"
#include "store/artifacts.h"
#include "store/patches.h"
#include <string.h>

enum { CERTIFICATE_BYTES_MAX = 4 * 1024 * 1024 };

struct sealing {
    struct context *ctx;
    struct flow *flow;
    const struct repo_config *config;
    const struct js *result;
    const struct js *certificate;
};

#define REFUSE(ctx, field, ...) \
    err_field((ctx)->err, RC_INVALID, "RESULT_REFUSED", (field), __VA_ARGS__)

/* A patch that does not apply is one failed check before all others. */
static bool is_apply(const struct js *checks, const struct repo_config *config)
{
    return js_count(checks) == config->verify_count + 1 &&
           text_same(js_get_str(js_at(checks, 0), "name", ""), "apply") &&
           text_same(js_get_str(js_at(checks, 0), "status", ""), "failed");
}

/* ---- whose it is ---- */

static enum rc compare(struct context *ctx, const struct js *certificate, const char *key,
                       const char *want)
{
    const char *said = js_get_str(certificate, key, NULL);
    if (text_same(said, want))
        return RC_OK;
    return REFUSE(ctx, "certificateSha256",
                  "the certificate has %.70s as its %s, and it should be "
                  "%.70s",
                  said != NULL ? said : "null", key, want != NULL ? want : "null");
}

static enum rc find_tree(struct context *ctx, const struct flow *flow, const char **ret_tree)
{
    *ret_tree = NULL;
    if (id_is_none(&flow->run.patch_id))
        return RC_OK;
    struct patch_row patch;
    enum rc rc = patches_get(ctx->db, &flow->run.patch_id, ctx->arena, &patch, ctx->err);
    if (rc == RC_OK)
        *ret_tree = patch.tree_hash;
    return rc;
}

/* A patch that does not apply has no tree. */
static enum rc check_tree(const struct sealing *sealing)
{
    struct context *ctx = sealing->ctx;
    const char *tree = NULL, *said = js_get_str(sealing->result, "treeHash", NULL);
    bool unapplied = is_apply(js_get(sealing->certificate, "checks"), sealing->config);
    enum rc rc = compare(ctx, sealing->certificate, "treeHash", said);
    if (rc == RC_OK && said == NULL && !unapplied)
        return REFUSE(ctx, "treeHash", "treeHash is missing, and the patch did apply");
    if (rc == RC_OK && said != NULL && unapplied)
        return REFUSE(ctx, "treeHash", "treeHash is %.70s, and the patch did not apply", said);
    if (rc == RC_OK && said != NULL)
        rc = find_tree(ctx, sealing->flow, &tree);
    if (rc != RC_OK || said == NULL || tree == NULL || strcmp(said, tree) == 0)
        return rc;
    return REFUSE(ctx, "treeHash", "treeHash is %s, and the patch of this attempt makes %s", said,
                  tree);
}

static enum rc check_owner(const struct sealing *sealing)
{
    struct context *ctx = sealing->ctx;
    const struct js *certificate = sealing->certificate;
    const struct run_row *run = &sealing->flow->run;
    enum rc rc = compare(ctx, certificate, "runId", run->id.text);
    if (rc == RC_OK)
        rc = compare(ctx, certificate, "taskId", sealing->flow->task.id.text);
    if (rc == RC_OK)
        rc = compare(ctx, certificate, "baseCommit", run->base_commit);
    if (rc == RC_OK)
        rc = compare(ctx, certificate, "patchSha256", run->patch_sha256);
    if (rc != RC_OK)
        return rc;
    int64_t attempt = js_get_int(certificate, "attempt", -1);
    if (attempt != run->attempt)
        return REFUSE(ctx, "certificateSha256",
                      "the certificate is of attempt %lld, and this is "
                      "attempt %lld",
                      (long long)attempt, (long long)run->attempt);
    return check_tree(sealing);
}

/* ---- the checks ---- */

static enum rc check_one(const struct sealing *sealing, size_t i, bool unapplied,
                         struct verify_outcome *ret_outcome)
{
    struct context *ctx = sealing->ctx;
    const struct js *sealed = js_at(js_get(sealing->certificate, "checks"), i);
    const struct js *told = js_at(js_get(sealing->result, "checks"), i);
    const char *field = arena_printf(ctx->arena, "checks[%zu]", i);
    const char *name = js_get_str(sealed, "name", ""), *status = js_get_str(sealed, "status", "");
    if (!text_same(js_get_str(told, "name", ""), name) ||
        !text_same(js_get_str(told, "status", ""), status))
        return REFUSE(ctx, field, "%s differs from the certificate, which has %.120s: %.20s", field,
                      name, status);
    if (!verify_status_parse(status, &ret_outcome->status))
        return REFUSE(ctx, field, "%s has a status that is not known", field);
    bool passed = ret_outcome->status == VERIFY_PASSED;
    if (passed && js_get_int(sealed, "exitCode", -1) != 0)
        return REFUSE(ctx, field, "%s passed, and its exit code is not 0", field);
    ret_outcome->optional = js_get_bool(sealed, "optional", false);
    if (unapplied && i == 0)
        return ret_outcome->optional
                   ? REFUSE(ctx, field, "%s is apply, which cannot be optional", field)
                   : RC_OK;
    if ((ret_outcome->status == VERIFY_SKIPPED) != unapplied)
        return REFUSE(ctx, field,
                      "%s: checks are skipped when the patch does not apply, all of "
                      "them, and only then",
                      field);
    const struct verifier_config *verifier = &sealing->config->verify[i - unapplied];
    if (!text_same(name, verifier->name) ||
        !text_same(js_get_str(sealed, "command", ""), verifier->command) ||
        ret_outcome->optional != verifier->optional)
        return REFUSE(ctx, field,
                      "%s is %.120s, and the configuration has %.120s there; name, "
                      "command and optional have to be the same",
                      field, name, verifier->name);
    return RC_OK;
}

static enum rc check_verdict(const struct sealing *sealing, const struct verify_outcome *outcomes,
                             size_t count)
{
    struct context *ctx = sealing->ctx;
    const char *follows = verify_verdict(outcomes, count);
    const char *told = js_get_str(sealing->result, "verdict", "");
    enum rc rc = compare(ctx, sealing->certificate, "verdict", follows);
    if (rc == RC_OK && strcmp(told, follows) != 0)
        return REFUSE(ctx, "verdict", "verdict is %s, and %s follows from the checks", told,
                      follows);
    return rc;
}

static enum rc check_checks(const struct sealing *sealing)
{
    struct context *ctx = sealing->ctx;
    const struct js *checks = js_get(sealing->certificate, "checks");
    bool unapplied = is_apply(checks, sealing->config);
    size_t count = sealing->config->verify_count + unapplied;
    if (js_count(checks) != count || js_count(js_get(sealing->result, "checks")) != count)
        return REFUSE(ctx, "checks",
                      "the result has %zu checks, the certificate %zu, and the "
                      "configuration %zu",
                      js_count(js_get(sealing->result, "checks")), js_count(checks),
                      sealing->config->verify_count);
    struct verify_outcome outcomes[CONFIG_VERIFIERS_MAX + 1];
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = check_one(sealing, i, unapplied, &outcomes[i]);
    return rc == RC_OK ? check_verdict(sealing, outcomes, count) : rc;
}

enum rc certificate_check(struct context *ctx, struct flow *flow, const struct repo_config *config,
                          const struct js *result)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *certificate = NULL;
    const struct artifact_source source = {ctx->store, ctx->db};
    buf_init(&text, CERTIFICATE_BYTES_MAX);
    enum rc rc = artifact_read(&source, js_get_str(result, "certificateSha256", ""), &text,
                               ctx->err);
    if (rc == RC_TOO_LARGE || text.overflow) {
        err_clear(ctx->err);
        return REFUSE(ctx, "certificateSha256", "the certificate has more than %d bytes",
                      CERTIFICATE_BYTES_MAX);
    }
    if (rc != RC_OK)
        return rc;
    if (js_parse(buf_text(&text), text.len, &certificate, NULL) != RC_OK ||
        js_type(certificate) != JS_OBJECT)
        return REFUSE(ctx, "certificateSha256", "the certificate is not a JSON object");
    struct sealing sealing = {ctx, flow, config, result, certificate};
    rc = check_owner(&sealing);
    return rc == RC_OK ? check_checks(&sealing) : rc;
}
