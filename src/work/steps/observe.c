/*
 * observe.c - reads a pull request as its forge shows it, and why its checks are red.
 *
 *   payload.shepherd  {number, branch, targetBranch, head, passed: [name], failures: [{check}],
 *                      failedHead, paths: [path]}
 *   result            {viewSha256, can, failures: [{check, cause, why, fingerprint, line}],
 *                      faultSha256}
 *
 * Logs are read once: failures are reported when a check is red that was not among those of this
 * head before.  Reads only, so it may be repeated.
 */
#include "base/fault.h"
#include "core/pr/ci_failure.h"
#include "core/pr/shepherd_facts.h"
#include "core/text/prose.h"
#include "core/text/redact.h"
#include "forge/port/checks.h"
#include "forge/port/prs.h"
#include "work/job/repo_step.h"
#include "work/job/step_secrets.h"
#include <string.h>

enum {
    VIEW_BYTES_MAX = 4 * 1024 * 1024,
    FAULT_BYTES_MAX = 12 * 1024,
    FAILURES_MAX = 10, /* That are reported. */
    LOGS_MAX = 5,      /* That are read: of the others the forge's own summary is used. */
    PATHS_MAX = 200,
    NAME_TOLD_MAX = 200,
    LINE_TOLD_MAX = 300,
};

struct observing {
    struct step *step;
    struct forge_call *call;
    const struct forge_ops *forge;
    const struct js *told;
    struct pr_view view;
    const char *paths[PATHS_MAX + 1];
    struct check_view *base_checks;
    size_t base_count;
    bool base_read;
    struct ci_failure failures[FAILURES_MAX];
    const char *names[FAILURES_MAX];
    size_t count;
};

/* ---- what is known already ---- */

static bool list_has(const struct js *list, const char *key, const char *name)
{
    for (size_t i = 0; i < js_count(list); i++) {
        const struct js *item = js_at(list, i);
        if (text_same(key != NULL ? js_get_str(item, key, NULL) : js_str(item, NULL), name))
            return true;
    }
    return false;
}

/* Is there a red check that was not among those of this head before? */
static bool has_news(const struct observing *observing)
{
    const struct pr_view *view = &observing->view;
    const struct js *known = js_get(observing->told, "failures");
    bool same = text_same(js_get_str(observing->told, "failedHead", NULL), view->head);
    for (size_t i = 0; i < view->check_count; i++) {
        const struct check_view *check = &view->checks[i];
        if (check_counts(view, check) && check_is_red(check) &&
            !(same && list_has(known, "check", check->name)))
            return true;
    }
    return false;
}

static void read_paths(struct observing *observing)
{
    const struct js *paths = js_get(observing->told, "paths");
    size_t count = 0;
    for (size_t i = 0; i < js_count(paths) && count < PATHS_MAX; i++) {
        const char *path = js_str(js_at(paths, i), NULL);
        if (path != NULL)
            observing->paths[count++] = path;
    }
}

/* ---- one check ---- */

/* The end of its log; empty where there is none. */
static enum rc read_log(struct observing *observing, const struct check_view *check,
                        struct buf *into, struct err *err)
{
    const struct check_ops *checks = observing->forge->checks;
    buf_init(into, CHECK_LOG_MAX);
    bool can = checks != NULL && checks->log != NULL && check->job &&
               (observing->forge->can & CAN_CHECK_LOG) != 0;
    if (!can)
        return RC_OK;
    enum rc rc = checks->log(observing->call, observing->step->input.config.url, check, into, err);
    if (rc == RC_NOT_FOUND || rc == RC_CORRUPT || rc == RC_CONFLICT) {
        err_clear(err);
        return RC_OK;
    }
    return rc;
}

/* The check of the same name on the target branch; NULL: there is none, or it is not red. */
static enum rc red_on_base(struct observing *observing, const struct check_view *check,
                           const struct check_view **ret_check, struct err *err)
{
    const struct check_ops *checks = observing->forge->checks;
    enum rc rc = RC_OK;
    *ret_check = NULL;
    if (checks == NULL || checks->of_commit == NULL || observing->view.base == NULL)
        return RC_OK;
    if (!observing->base_read)
        rc = checks->of_commit(observing->call, observing->step->input.config.url,
                               observing->view.base, observing->step->arena,
                               &observing->base_checks, &observing->base_count, err);
    observing->base_read = rc == RC_OK;
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        observing->base_read = true;
        return RC_OK;
    }
    for (size_t i = 0; rc == RC_OK && i < observing->base_count; i++)
        if (text_same(observing->base_checks[i].name, check->name) &&
            check_is_red(&observing->base_checks[i]))
            *ret_check = &observing->base_checks[i];
    return rc;
}

/* Red there by another failure is no excuse. */
static enum rc differs_on_base(struct observing *observing, const struct check_view *base,
                               const char *fingerprint, bool *ret_differs, struct err *err)
{
    CLEANUP(buf_release) struct buf log = {0};
    char there[SHA256_TEXT_BYTES];
    *ret_differs = false;
    enum rc rc = read_log(observing, base, &log, err);
    if (rc != RC_OK || log.len == 0)
        return rc;
    ci_fingerprint(base->name, buf_str(&log), observing->step->arena, there);
    *ret_differs = strcmp(there, fingerprint) != 0;
    return RC_OK;
}

static enum rc examine(struct observing *observing, const struct check_view *check, bool with_log,
                       struct ci_failure *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf log = {0};
    const struct check_view *base = NULL;
    enum rc rc = with_log ? read_log(observing, check, &log, err) : RC_OK;
    if (rc == RC_OK)
        rc = red_on_base(observing, check, &base, err);
    if (rc != RC_OK)
        return rc;
    struct ci_evidence evidence = {
        .check = check,
        .log = log.len > 0 ? buf_str(&log) : (struct str){0},
        .paths = observing->paths,
        .red_on_base = base != NULL,
        .passed_before = text_same(js_get_str(observing->told, "head", NULL),
                                   observing->view.head) &&
                         list_has(js_get(observing->told, "passed"), NULL, check->name),
    };
    *ret = ci_failure_classify(&evidence, observing->step->arena);
    if (ret->cause != CI_BASE || base == NULL || log.len == 0)
        return RC_OK;
    rc = differs_on_base(observing, base, ret->fingerprint, &evidence.base_differs, err);
    if (rc == RC_OK && evidence.base_differs)
        *ret = ci_failure_classify(&evidence, observing->step->arena);
    return rc;
}

/* What a check has printed goes into events, a question to people and the prompt of a repair. */
static void hide_secrets(struct step *step, struct ci_failure *failure)
{
    const struct secrets *secrets = step_secrets(step);
    failure->summary = redact_dup(secrets, failure->summary, step->arena);
    failure->line = redact_dup(secrets, failure->line, step->arena);
}

/* The same for what the view holds of others. */
static void hide_secrets_of_view(struct step *step, struct pr_view *view)
{
    const struct secrets *secrets = step_secrets(step);
    for (size_t i = 0; i < view->check_count; i++) {
        struct check_view *check = &view->checks[i];
        if (check->summary != NULL)
            check->summary = redact_dup(secrets, check->summary, step->arena);
    }
    for (size_t i = 0; i < view->review_count; i++) {
        struct review_view *review = &view->reviews[i];
        if (review->body != NULL)
            review->body = redact_dup(secrets, review->body, step->arena);
    }
    for (size_t i = 0; i < view->thread_count; i++) {
        struct thread_view *thread = &view->threads[i];
        for (size_t at = 0; at < thread->comment_count; at++)
            if (thread->comments[at].body != NULL)
                thread->comments[at].body = redact_dup(secrets, thread->comments[at].body,
                                                       step->arena);
    }
}

static enum rc examine_all(struct observing *observing, struct err *err)
{
    const struct pr_view *view = &observing->view;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < view->check_count; i++) {
        const struct check_view *check = &view->checks[i];
        if (!check_counts(view, check) || !check_is_red(check) || observing->count == FAILURES_MAX)
            continue;
        observing->names[observing->count] = check->name;
        rc = examine(observing, check, observing->count < LOGS_MAX,
                     &observing->failures[observing->count], err);
        if (rc == RC_OK)
            hide_secrets(observing->step, &observing->failures[observing->count]);
        observing->count += rc == RC_OK;
    }
    return rc;
}

/* ---- the report ---- */

/* For the prompt of a repair: those that the patch may be the cause of come first. */
static enum rc put_fault(struct observing *observing, const char **ret_sha256, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, FAULT_BYTES_MAX);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < observing->count; i++) {
            const struct ci_failure *failure = &observing->failures[i];
            if ((failure->cause == CI_PATCH) != (pass == 0))
                continue;
            buf_addf(&text, "## %.200s (%s: %s)\n\n%s\n", observing->names[i],
                     ci_cause_name(failure->cause), failure->why, failure->summary);
        }
    }
    size_t fit = prose_fit(buf_text(&text), text.len, FAULT_BYTES_MAX - 1);
    return step_put(observing->step, "report", "checks.md", (struct str){buf_text(&text), fit},
                    ret_sha256, err);
}

static enum rc put_view(struct observing *observing, const char **ret_sha256, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, VIEW_BYTES_MAX);
    struct jw jw = jw_to(&text);
    pr_view_write(&jw, &observing->view);
    if (text.overflow)
        return err_set(err, RC_TOO_LARGE, "VIEW_TOO_LARGE",
                       "What the forge shows of the pull request has more than %d bytes.",
                       VIEW_BYTES_MAX);
    return step_put(observing->step, "report", "pull-request.json", buf_str(&text), ret_sha256,
                    err);
}

static void write_failures(const struct observing *observing, struct jw *jw)
{
    jw_key(jw, "failures");
    jw_begin(jw, '[');
    for (size_t i = 0; i < observing->count; i++) {
        const struct ci_failure *failure = &observing->failures[i];
        jw_begin(jw, '{');
        step_write_text(jw, "check", observing->names[i], NAME_TOLD_MAX);
        jw_kstr(jw, "cause", ci_cause_name(failure->cause));
        step_write_text(jw, "why", failure->why, NAME_TOLD_MAX);
        jw_kstr(jw, "fingerprint", failure->fingerprint);
        step_write_text(jw, "line", failure->line, LINE_TOLD_MAX);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static enum rc report(struct observing *observing, struct err *err)
{
    struct step *step = observing->step;
    const char *view = NULL, *fault = NULL;
    enum rc rc = put_view(observing, &view, err);
    if (rc == RC_OK && observing->count > 0)
        rc = put_fault(observing, &fault, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "viewSha256", view);
    jw_kint(&jw, "can", observing->forge->can);
    if (observing->count > 0)
        write_failures(observing, &jw);
    jw_optstr(&jw, "faultSha256", fault);
    step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
    return RC_OK;
}

enum rc step_observe(struct step *step, struct err *err)
{
    struct observing *observing = arena_alloc(step->arena, sizeof *observing);
    observing->step = step;
    observing->told = js_get(step->input.payload, "shepherd");
    const struct pr_ref ref = {.url = step->input.config.url,
                               .number = js_get_int(observing->told, "number", 0)};
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    observing->call = &call;
    enum rc rc = step_forge_open(step, ACCESS_READ, &call, &observing->forge, err);
    if (rc == RC_OK && (observing->forge->prs == NULL || observing->forge->prs->view == NULL))
        rc = err_set(err, RC_INVALID, "NO_PULL_REQUESTS",
                     "The forge %.50s cannot be asked about pull requests.",
                     observing->forge->name);
    if (rc == RC_OK)
        rc = fault_point("observe.read", err);
    if (rc == RC_OK)
        rc = observing->forge->prs->view(&call, &ref, step->arena, &observing->view, err);
    if (rc == RC_OK)
        hide_secrets_of_view(step, &observing->view);
    read_paths(observing);
    if (rc == RC_OK && observing->view.state == PR_OPEN && has_news(observing))
        rc = examine_all(observing, err);
    if (rc != RC_OK)
        return step_forge_fail(step, rc, err, "observe_failed");
    return report(observing, err);
}
