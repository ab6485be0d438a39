/*
 * publish.c - the verified patch becomes a pull request, or goes on top of one.
 *
 *   commit, branch, pull request (a draft)   forge.open_pr
 *   the certificate as a check of the head   where the forge has such checks
 *   ready for review                         unless it is to stay a draft
 *   approved by the reviewing identity       where one is configured
 *
 * Everything that the commit is made of comes from the payload and from artifacts, so that a
 * second try, after a crash at any point, makes the same commit and finds the same pull request;
 * each of the later parts finds what it has done itself.
 */
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "core/event_types.h"
#include "core/text/redact.h"
#include "forge/forges.h"
#include "forge/port/checks.h"
#include "forge/port/prs.h"
#include "work/job/repo_step.h"
#include "work/job/step_secrets.h"
#include "work/steps/pr_text.h"
#include "work/tree/worktree.h"

struct publishing {
    struct step *step;
    struct forge_call call;
    const struct forge_ops *forge;
    struct buf patch;
    struct patch_stats stats;
    struct js *certificate; /* NULL: nothing was verified. */
    struct forge_change change;
    struct forge_pr pr;
    bool stays_draft;
};

static void publishing_release(struct publishing *publishing)
{
    forge_call_release(&publishing->call);
    buf_release(&publishing->patch);
    js_free(publishing->certificate);
}

static enum rc fail_publish(struct step *step, enum rc rc, const struct err *err)
{
    return step_forge_fail(step, rc, err, "publish_failed");
}

static struct pr_facts facts_of(const struct publishing *publishing)
{
    return (struct pr_facts){.input = &publishing->step->input,
                             .patch = &publishing->stats,
                             .certificate = publishing->certificate};
}

/* ---- what is published ---- */

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

static enum rc read_certificate(struct publishing *publishing, struct err *err)
{
    struct step *step = publishing->step;
    const char *sha256 = step->input.certificate_sha256;
    if (sha256 == NULL)
        return RC_OK;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX);
    enum rc rc = step_get(step, sha256, &text, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&text), text.len, &publishing->certificate, err);
    if (rc == RC_OK)
        publishing->change.tree = js_get_str(publishing->certificate, "treeHash", NULL);
    return rc;
}

/* What goes out of the house has no secrets in it. */
static void write_texts(struct publishing *publishing)
{
    struct step *step = publishing->step;
    struct forge_change *change = &publishing->change;
    const struct pr_facts facts = facts_of(publishing);
    change->message = pr_commit_message(&facts, step->arena);
    change->body = redact_dup(step_secrets(step), pr_body(&facts, step->arena), step->arena);
}

static bool stays_draft(const struct step_input *input)
{
    static const bool stays[] = {[PR_DRAFT_ALWAYS] = true, [PR_DRAFT_NEVER] = false};
    enum pr_draft draft = input->config.pr.draft;
    return draft == PR_DRAFT_BY_MODE ? input->draft : stays[draft];
}

/* A draft first where the forge has them: it is ready when the certificate is there. */
static struct forge_change change_of(struct publishing *publishing)
{
    struct step *step = publishing->step;
    const struct step_input *input = &step->input;
    return (struct forge_change){
        .url = input->config.url,
        .mirror = step->mirror,
        .scratch = worktree_path(step, "publish.git"),
        .run_id = input->run_id.text,
        .branch = input->branch,
        .target_branch = input->target_branch,
        .title = input->title,
        .time_us = input->task_created_us,
        .draft = true,
        .number = input->pr_number,
        .head = input->pr.merge_with != NULL ? input->pr.head : NULL,
        .merged = input->pr.merge_with,
        .labels = input->config.pr.labels,
        .reviewers = input->config.pr.reviewers,
        .holder = step_holder(step),
    };
}

static enum rc gather(struct publishing *publishing, struct err *err)
{
    struct step *step = publishing->step;
    const struct step_input *input = &step->input;
    publishing->change = change_of(publishing);
    publishing->stays_draft = stays_draft(input);
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &publishing->change.base_commit, err);
    if (rc == RC_OK)
        rc = dir_make(step->run_dir, 0700, err);
    if (rc == RC_OK)
        rc = step_get(step, input->patch_sha256, &publishing->patch, err);
    if (rc == RC_OK)
        rc = patch_read(buf_str(&publishing->patch), step->arena, &publishing->stats, err);
    if (rc == RC_OK)
        rc = read_certificate(publishing, err);
    if (rc != RC_OK)
        return rc;
    publishing->change.patch = buf_str(&publishing->patch);
    write_texts(publishing);
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

/* ---- what follows ---- */

/* The pull request is there: what the forge will never accept beside it is a remark. */
static enum rc remark(struct publishing *publishing, enum rc rc, const char *what, struct err *err)
{
    struct step *step = publishing->step;
    if (rc != RC_NOT_FOUND && rc != RC_CONFLICT && rc != RC_INVALID && rc != RC_DENIED &&
        rc != RC_UNAUTHORIZED)
        return rc;
    const char *before = publishing->pr.warning;
    publishing->pr.warning = arena_printf(step->arena, "%s%s%s: %s", before != NULL ? before : "",
                                          before != NULL ? "; " : "", what,
                                          redact_dup(step_secrets(step), err->text, step->arena));
    err_clear(err);
    return RC_OK;
}

static enum check_state state_of(const struct js *certificate)
{
    const char *verdict = js_get_str(certificate, "verdict", "");
    if (text_same(verdict, "verified"))
        return CHECK_PASSED;
    return text_same(verdict, "failed") ? CHECK_FAILED : CHECK_BROKEN;
}

static enum rc put_check(struct publishing *publishing, struct err *err)
{
    struct step *step = publishing->step;
    const struct forge_ops *forge = publishing->forge;
    if (publishing->certificate == NULL || (forge->can & CAN_PUT_CHECK) == 0)
        return RC_OK;
    const struct pr_facts facts = facts_of(publishing);
    const struct forge_check check = {
        .commit = publishing->pr.head,
        .name = "drover",
        .key = step->input.run_id.text,
        .state = state_of(publishing->certificate),
        .title = pr_certificate_title(publishing->certificate, step->arena),
        .summary = redact_dup(step_secrets(step), pr_certificate_text(&facts, step->arena),
                              step->arena),
    };
    enum rc rc = fault_point("publish.check", err);
    if (rc == RC_OK)
        rc = forge->checks->put(&publishing->call, step->input.config.url, &check, err);
    return remark(publishing, rc, "the certificate as a check", err);
}

static struct pr_ref ref_of(const struct publishing *publishing)
{
    return (struct pr_ref){.url = publishing->step->input.config.url,
                           .number = publishing->pr.number};
}

static enum rc make_ready(struct publishing *publishing, struct err *err)
{
    const struct forge_ops *forge = publishing->forge;
    const struct pr_ref ref = ref_of(publishing);
    if (publishing->stays_draft || publishing->change.number > 0 || (forge->can & CAN_DRAFT) == 0)
        return RC_OK; /* Of a repair its shepherd decides. */
    enum rc rc = fault_point("publish.ready", err);
    return rc == RC_OK ? forge->prs->mark_ready(&publishing->call, &ref, err) : rc;
}

/* As the second identity, which did not write it, at the head that was verified. */
static enum rc approve(struct publishing *publishing, struct err *err)
{
    struct step *step = publishing->step;
    const struct forge_ops *forge = publishing->forge;
    const struct pr_ref ref = ref_of(publishing);
    if (!token_source_reviews(&step->input.config) || (forge->can & CAN_REVIEW) == 0 ||
        publishing->stays_draft || publishing->certificate == NULL ||
        state_of(publishing->certificate) != CHECK_PASSED)
        return RC_OK;
    const struct pr_review_words words = {
        .key = arena_printf(step->arena, "certificate:%s", step->input.run_id.text),
        .commit = publishing->pr.head,
        .body = arena_printf(step->arena, "Certificate `%s`: %s.", step->input.certificate_sha256,
                             pr_certificate_title(publishing->certificate, step->arena)),
        .approve = true,
    };
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    enum rc rc = step_forge_open(step, ACCESS_REVIEW, &call, &forge, err);
    if (rc == RC_OK)
        rc = fault_point("publish.approve", err);
    if (rc == RC_OK)
        rc = forge->prs->review(&call, &ref, &words, err);
    return remark(publishing, rc, "the approval", err);
}

/* ---- the step ---- */

static enum rc open_pr(struct publishing *publishing, struct err *err)
{
    struct step *step = publishing->step;
    enum rc rc = step_forge_open(step, ACCESS_WRITE, &publishing->call, &publishing->forge, err);
    if (rc != RC_OK)
        return rc;
    report_request(step);
    rc = publishing->forge->open_pr(publishing->forge, &publishing->call, &publishing->change,
                                    step->arena, &publishing->pr, err);
    worktree_drop(step, publishing->change.scratch);
    if (rc == RC_OK)
        rc = put_check(publishing, err);
    if (rc == RC_OK)
        rc = make_ready(publishing, err);
    return rc == RC_OK ? approve(publishing, err) : rc;
}

static void write_result(const struct publishing *publishing)
{
    const struct step *step = publishing->step;
    const struct forge_pr *pr = &publishing->pr;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kint(&jw, "number", pr->number);
    jw_kstr(&jw, "url", pr->url);
    jw_kstr(&jw, "headCommit", pr->head);
    jw_kstr(&jw, "branch", step->input.branch);
    jw_kbool(&jw, "draft", publishing->stays_draft);
    if (pr->warning != NULL)
        step_write_text(&jw, "warning", pr->warning, STEP_MESSAGE_MAX);
    jw_end(&jw, '}');
    if (pr->warning != NULL)
        LOG(LOG_WARN, "the forge did not accept all that belongs to a pull request",
            LOG_STR("runId", step->input.run_id.text), LOG_INT("number", pr->number),
            LOG_STR("error", pr->warning));
}

enum rc step_publish(struct step *step, struct err *err)
{
    CLEANUP(publishing_release) struct publishing publishing = {.step = step};
    buf_init(&publishing.patch, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = check_input(&step->input, err);
    if (rc != RC_OK)
        return fail_publish(step, rc, err);
    rc = gather(&publishing, err);
    if (rc != RC_OK)
        return rc;
    rc = open_pr(&publishing, err);
    if (rc != RC_OK)
        return fail_publish(step, rc, err);
    write_result(&publishing);
    return RC_OK;
}
