/*
 * attend.c - does at the forge what the shepherd of a pull request has decided.
 *
 *   payload.shepherd  {number, branch, targetBranch, head, acts: [{act, ...}]}
 *   result            {head, done: [act], refused: [{act, code, message}], mergeCommit}
 *
 * Every act may be repeated: one that an earlier try has done is found.  One that the forge refuses
 * (RC_CONFLICT, or it cannot) is reported and does not stop the others; a forge that cannot be
 * reached fails the step, which is tried again.
 */
#include "base/fault.h"
#include "forge/port/checks.h"
#include "forge/port/prs.h"
#include "work/job/repo_step.h"
#include <string.h>

enum { ACTS_MAX = 16, ITEMS_MAX = 200, MESSAGE_TOLD_MAX = 300, SUMMARY_MAX = 8 * 1024 };

struct attending {
    struct step *step;
    struct forge_call *call;
    const struct forge_ops *forge;
    const struct js *told;
    struct pr_ref ref;
    const char *head, *branch, *target_branch;
    char merge_commit[GIT_HASH_BYTES];
};

static enum rc cannot(const struct attending *attending, const char *what, struct err *err)
{
    return err_set(err, RC_CONFLICT, "FORGE_CANNOT", "The forge %.50s cannot %s.",
                   attending->forge->name, what);
}

/* ---- the acts ---- */

static enum rc rerun(struct attending *attending, const struct js *act, struct err *err)
{
    const struct check_ops *checks = attending->forge->checks;
    const struct js *list = js_get(act, "checks");
    enum rc rc = RC_OK;
    if (checks == NULL || checks->rerun == NULL)
        return cannot(attending, "run a check again", err);
    for (size_t i = 0; rc == RC_OK && i < js_count(list) && i < ITEMS_MAX; i++) {
        const struct js *item = js_at(list, i);
        const struct check_view check = {.id = js_get_str(item, "id", ""),
                                         .name = js_get_str(item, "name", ""),
                                         .state = CHECK_FAILED,
                                         .job = true};
        rc = checks->rerun(attending->call, attending->ref.url, &check, err);
        if (rc == RC_CONFLICT) { /* It runs already. */
            err_clear(err);
            rc = RC_OK;
        }
    }
    return rc;
}

static enum rc ready(struct attending *attending, const struct js *act, struct err *err)
{
    const struct pr_ops *prs = attending->forge->prs;
    (void)act;
    if (prs == NULL || prs->mark_ready == NULL)
        return cannot(attending, "mark a pull request as ready", err);
    return prs->mark_ready(attending->call, &attending->ref, err);
}

/* What drover's own verification says of the head, beside the forge's checks. */
static enum rc certificate(struct attending *attending, const struct js *act, struct err *err)
{
    const struct check_ops *checks = attending->forge->checks;
    struct step *step = attending->step;
    const char *sha256 = js_get_str(act, "certificateSha256", NULL);
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf summary = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    if (checks == NULL || checks->put == NULL)
        return cannot(attending, "show a check of drover's", err);
    if (sha256 == NULL)
        return RC_OK;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX);
    buf_init(&summary, SUMMARY_MAX);
    enum rc rc = step_get(step, sha256, &text, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&text), text.len, &tree, err);
    if (rc != RC_OK)
        return rc;
    const struct js *list = js_get(tree, "checks");
    for (size_t i = 0; i < js_count(list) && i < ITEMS_MAX; i++)
        buf_addf(&summary, "- %.200s: %s\n", js_get_str(js_at(list, i), "name", ""),
                 js_get_str(js_at(list, i), "status", ""));
    buf_addf(&summary, "\nCertificate: %s\n", sha256);
    const struct forge_check check = {
        .commit = attending->head,
        .name = "drover",
        .key = step->input.run_id.text,
        .state = CHECK_PASSED,
        .title = arena_printf(step->arena, "Verified on a clean checkout: %s",
                              js_get_str(tree, "verdict", "unknown")),
        .summary = buf_text(&summary),
    };
    return checks->put(attending->call, attending->ref.url, &check, err);
}

static enum rc answer(struct attending *attending, const struct js *act, struct err *err)
{
    const struct pr_ops *prs = attending->forge->prs;
    const struct js *threads = js_get(act, "threads");
    enum rc rc = RC_OK;
    if (prs == NULL || prs->thread_reply == NULL)
        return cannot(attending, "answer a thread", err);
    for (size_t i = 0; rc == RC_OK && i < js_count(threads) && i < ITEMS_MAX; i++) {
        const struct js *thread = js_at(threads, i);
        const char *id = js_get_str(thread, "id", "");
        const struct forge_comment words = {
            .key = arena_printf(attending->step->arena, "answer-%.12s-%s", attending->head, id),
            .body = js_get_str(thread, "body", "")};
        rc = prs->thread_reply(attending->call, &attending->ref, id, &words, err);
        if (rc == RC_OK && prs->thread_resolve != NULL &&
            (attending->forge->can & CAN_RESOLVE) != 0)
            rc = prs->thread_resolve(attending->call, &attending->ref, id, err);
        if (rc == RC_NOT_FOUND || rc == RC_CONFLICT) { /* A person has removed or resolved it. */
            err_clear(err);
            rc = RC_OK;
        }
    }
    return rc;
}

static enum rc merge(struct attending *attending, const struct js *act, struct err *err)
{
    const struct step_input *input = &attending->step->input;
    (void)act;
    const struct forge_merge wanted = {
        .forge = attending->forge->name,
        .url = attending->ref.url,
        .number = attending->ref.number,
        .run_id = input->run_id.text,
        .branch = attending->branch,
        .expected_head = attending->head,
        .target_branch = attending->target_branch,
        .message = arena_printf(attending->step->arena, "Merge pull request #%lld: %s\n",
                                (long long)attending->ref.number, input->title),
    };
    enum rc rc = step_still_mine(attending->step, err);
    return rc == RC_OK ? attending->forge->merge(attending->forge, attending->call, &wanted,
                                                 attending->merge_commit, err)
                       : rc;
}

static enum rc auto_merge(struct attending *attending, const struct js *act, struct err *err)
{
    const struct pr_ops *prs = attending->forge->prs;
    const char *method = js_get_str(act, "method", "merge");
    enum merge_way way = MERGE_WAY_MERGE;
    if (strcmp(method, "squash") == 0)
        way = MERGE_WAY_SQUASH;
    else if (strcmp(method, "rebase") == 0)
        way = MERGE_WAY_REBASE;
    if (prs == NULL || prs->auto_merge == NULL)
        return cannot(attending, "merge by itself", err);
    return prs->auto_merge(attending->call, &attending->ref, attending->head, way, err);
}

static enum rc enqueue(struct attending *attending, const struct js *act, struct err *err)
{
    const struct pr_ops *prs = attending->forge->prs;
    (void)act;
    if (prs == NULL || prs->enqueue == NULL)
        return cannot(attending, "queue a merge", err);
    return prs->enqueue(attending->call, &attending->ref, attending->head, err);
}

static enum rc close_it(struct attending *attending, const struct js *act, struct err *err)
{
    const struct step_input *input = &attending->step->input;
    (void)act;
    const struct forge_closing closing = {
        .forge = attending->forge->name,
        .url = attending->ref.url,
        .number = attending->ref.number,
        .run_id = input->run_id.text,
        .branch = attending->branch,
        .target_branch = attending->target_branch,
    };
    enum rc rc = step_still_mine(attending->step, err);
    return rc == RC_OK ? attending->forge->close(attending->forge, attending->call, &closing, err)
                       : rc;
}

/* In this order: a thread is answered before the merge ends the pull request. */
static const struct {
    const char *name;
    enum rc (*run)(struct attending *attending, const struct js *act, struct err *err);
} acts[] = {
    {"answer", answer},         {"certificate", certificate}, {"ready", ready}, {"rerun", rerun},
    {"auto_merge", auto_merge}, {"enqueue", enqueue},         {"merge", merge}, {"close", close_it},
};

/* ---- the list ---- */

static const struct js *find_act(const struct attending *attending, const char *name)
{
    const struct js *list = js_get(attending->told, "acts");
    for (size_t i = 0; i < js_count(list) && i < ACTS_MAX; i++)
        if (text_same(js_get_str(js_at(list, i), "act", ""), name))
            return js_at(list, i);
    return NULL;
}

struct refusal {
    const char *act, *code, *message;
};

static void write_result(const struct attending *attending, const char *const *done,
                         const struct refusal *refusals, size_t refused)
{
    struct jw jw = jw_to(attending->step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "head", attending->head);
    jw_key(&jw, "done");
    jw_begin(&jw, '[');
    for (size_t i = 0; done[i] != NULL; i++)
        jw_str(&jw, done[i]);
    jw_end(&jw, ']');
    jw_key(&jw, "refused");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < refused; i++) {
        jw_begin(&jw, '{');
        jw_kstr(&jw, "act", refusals[i].act);
        jw_kstr(&jw, "code", refusals[i].code);
        step_write_text(&jw, "message", refusals[i].message, MESSAGE_TOLD_MAX);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_optstr(&jw, "mergeCommit", attending->merge_commit);
    jw_end(&jw, '}');
}

static bool is_refusal(enum rc rc)
{
    return rc == RC_CONFLICT || rc == RC_INVALID || rc == RC_DENIED || rc == RC_NOT_FOUND;
}

static enum rc do_acts(struct attending *attending, struct err *err)
{
    const char *done[ACTS_MAX + 1] = {NULL};
    struct refusal refusals[ACTS_MAX];
    size_t done_count = 0, refused = 0;
    struct arena *arena = attending->step->arena;
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        const struct js *act = find_act(attending, acts[i].name);
        if (act == NULL)
            continue;
        enum rc rc = fault_point("attend.act", err);
        if (rc == RC_OK)
            rc = acts[i].run(attending, act, err);
        if (rc == RC_OK)
            rc = fault_point("attend.acted", err);
        if (rc == RC_OK) {
            done[done_count++] = acts[i].name;
        } else if (is_refusal(rc)) {
            refusals[refused++] = (struct refusal){acts[i].name, arena_strdup(arena, err->code),
                                                   arena_strdup(arena, err->text)};
            err_clear(err);
        } else {
            return rc;
        }
    }
    write_result(attending, done, refusals, refused);
    return RC_OK;
}

enum rc step_attend(struct step *step, struct err *err)
{
    const struct js *told = js_get(step->input.payload, "shepherd");
    struct attending attending = {
        .step = step,
        .told = told,
        .ref = {.url = step->input.config.url, .number = js_get_int(told, "number", 0)},
        .head = js_get_str(told, "head", NULL),
        .branch = js_get_str(told, "branch", step->input.branch),
        .target_branch = js_get_str(told, "targetBranch", step->input.target_branch),
    };
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    attending.call = &call;
    if (attending.head == NULL || !git_hash_valid(attending.head))
        return err_set(err, RC_INVALID, "INVALID_FIELD", "The payload names no head.");
    enum rc rc = step_forge_open(step, ACCESS_WRITE, &call, &attending.forge, err);
    if (rc == RC_OK)
        rc = do_acts(&attending, err);
    return rc == RC_OK ? RC_OK : step_forge_fail(step, rc, err, "attend_failed");
}
