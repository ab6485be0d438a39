/*
 * publish.c - the verified patch becomes a pull request.
 *
 * Everything that the commit is made of comes from the payload and from artifacts, so that a
 * second try, after a crash at any point, makes the same commit and finds the same pull request.
 */
#include "base/fd.h"
#include "core/event_types.h"
#include "core/text/prose.h"
#include "forge/forge.h"
#include "work/job/repo_step.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <string.h>

enum { CHECKS_TOLD_MAX = 50, BODY_BYTES = 64 * 1024 };

static void add_checks(struct buf *body, const struct js *certificate)
{
    const struct js *checks = js_get(certificate, "checks");
    size_t count = js_count(checks);
    const struct js *counts = js_get(certificate, "counts");
    buf_addf(body, "Verification: %s, %" PRId64 " of %" PRId64 " passed, tree %s\n",
             js_get_str(certificate, "verdict", "unknown"), js_get_int(counts, "passed", 0),
             js_get_int(counts, "total", 0), js_get_str(certificate, "treeHash", "unknown"));
    for (size_t i = 0; i < count && i < CHECKS_TOLD_MAX; i++) {
        const struct js *check = js_at(checks, i);
        buf_addf(body, "- %s%s: %s (exit %" PRId64 ")\n", js_get_str(check, "name", ""),
                 js_get_bool(check, "optional", false) ? " (optional)" : "",
                 js_get_str(check, "status", ""), js_get_int(check, "exitCode", -1));
    }
}

/* What verified the patch, for the body, and the tree that was verified, for the commit. */
static enum rc add_certificate(struct step *step, struct buf *body, const char **ret_tree,
                               struct err *err)
{
    const char *sha256 = step->input.certificate_sha256;
    if (sha256 == NULL)
        return RC_OK;
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *certificate = NULL;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX);
    enum rc rc = step_get(step, sha256, &text, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&text), text.len, &certificate, err);
    if (rc != RC_OK)
        return rc;
    const char *tree = js_get_str(certificate, "treeHash", NULL);
    *ret_tree = tree != NULL ? arena_strdup(step->arena, tree) : NULL;
    add_checks(body, certificate);
    buf_addf(body, "Certificate: %s\n\n", sha256);
    return RC_OK;
}

/* The description, what verified it, and where it came from. */
static enum rc make_body(struct step *step, const char **ret_body, const char **ret_tree,
                         struct err *err)
{
    const struct step_input *input = &step->input;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES);
    /* A description of one line is the title already. */
    if (input->description != NULL && strchr(input->description, '\n') != NULL) {
        size_t fit = prose_fit(input->description, strlen(input->description), BODY_BYTES / 2);
        buf_add(&body, input->description, fit);
        buf_adds(&body, "\n\n");
    }
    enum rc rc = add_certificate(step, &body, ret_tree, err);
    if (rc != RC_OK)
        return rc;
    buf_addf(&body, "Drover-Task: %s\nDrover-Run: %s\n", input->task_id.text, input->run_id.text);
    *ret_body = arena_strdup(step->arena, buf_text(&body));
    return RC_OK;
}

static void report_request(struct step *step)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_RESULT_MAX / 2);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "branch", step->input.branch);
    jw_end(&jw, '}');
    step_event(step, EV_PR_CREATION_REQUESTED, buf_str(&data));
}

static enum rc fail_publish(struct step *step, enum rc rc, const struct err *err)
{
    return step_forge_fail(step, rc, err, "publish_failed");
}

static enum rc check_input(const struct step_input *input, struct err *err)
{
    if (forge_find(input->config.forge) == NULL)
        return err_set(err, RC_INVALID, "UNKNOWN_FORGE", "There is no forge called %.50s.",
                       input->config.forge);
    if (input->base_commit == NULL || input->patch_sha256 == NULL)
        return err_set(err, RC_INVALID, "NOTHING_TO_PUBLISH",
                       "There is no patch, or no commit that it belongs to.");
    return RC_OK;
}

static enum rc open_pr(struct step *step, struct forge_pr *ret_pr, struct err *err)
{
    const struct step_input *input = &step->input;
    enum rc rc = check_input(input, err);
    if (rc != RC_OK)
        return fail_publish(step, rc, err);
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)input->config.limits.max_patch_bytes);
    struct forge_change change = {
        .url = input->config.url,
        .mirror = step->mirror,
        .scratch = worktree_path(step, "publish.git"),
        .run_id = input->run_id.text,
        .branch = input->branch,
        .target_branch = input->target_branch,
        .title = step->input.title,
        .time_us = input->task_created_us,
        .draft = input->draft,
        .holder = step_holder(step),
    };
    rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &change.base_commit, err);
    if (rc == RC_OK)
        rc = dir_make(step->run_dir, 0700, err);
    if (rc == RC_OK)
        rc = step_get(step, input->patch_sha256, &patch, err);
    if (rc == RC_OK)
        rc = make_body(step, &change.body, &change.tree, err);
    if (rc != RC_OK)
        return rc;
    change.patch = buf_str(&patch);
    const struct forge_ops *forge = NULL;
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    rc = step_forge_open(step, ACCESS_WRITE, &call, &forge, err);
    if (rc != RC_OK)
        return fail_publish(step, rc, err);
    report_request(step);
    rc = forge->open_pr(&call, &change, step->arena, ret_pr, err);
    worktree_drop(step, change.scratch);
    return rc == RC_OK ? RC_OK : fail_publish(step, rc, err);
}

enum rc step_publish(struct step *step, struct err *err)
{
    struct forge_pr pr = {0};
    enum rc rc = open_pr(step, &pr, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kint(&jw, "number", pr.number);
    jw_kstr(&jw, "url", pr.url);
    jw_kstr(&jw, "headCommit", pr.head);
    jw_kstr(&jw, "branch", step->input.branch);
    jw_kbool(&jw, "draft", step->input.draft);
    jw_end(&jw, '}');
    return RC_OK;
}
