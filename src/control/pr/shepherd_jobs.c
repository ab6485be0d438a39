/*
 * shepherd_jobs.c - jobs of the shepherd: what they are told, and what follows from their end.
 *
 *   observe   reads the pull request, and the logs of its red checks
 *   attend    does a list of acts at the forge
 *   rebase    rebases its head, or leaves it, and has it verified; pushes what is new
 *
 * A job that is not (or no longer) the one that its row names is ignored.
 */
#include "control/pr/shepherd_flow.h"
#include "control/run/assignment.h"
#include "core/event_types.h"
#include "core/pr/repair_prompt.h"
#include "store/artifacts.h"
#include <string.h>

enum { MORE_BYTES_MAX = 96 * 1024, VIEW_BYTES_MAX = 4 * 1024 * 1024 };
/* A job was given up, dead letters say why: as long again as nothing was seen, within these. */
#define RETRY_US      (5 * US_PER_MINUTE)
#define RETRY_MOST_US (2 * US_PER_HOUR)
#define SECOND_US     US_PER_SECOND

bool shepherd_job_is(const struct job_row *job)
{
    return !id_is_none(&job->run_id) &&
           (step_is(job->type, STEP_OBSERVE) || step_is(job->type, STEP_ATTEND) ||
            step_is(job->type, STEP_REBASE));
}

/* ---- making them ---- */

enum rc shepherd_enqueue(struct context *ctx, struct shepherding *it, enum step_kind kind,
                         struct str more, struct id *ret_job_id)
{
    struct job_row job = {0};
    it->flow.shepherd = more;
    enum rc rc = assignment_make(ctx, &it->flow, kind, &job);
    it->flow.shepherd = (struct str){0};
    if (rc == RC_OK)
        rc = jobs_insert(ctx->db, &job, ctx->err);
    if (rc != RC_OK)
        return rc;
    context_ready(ctx, job.queue);
    *ret_job_id = job.id;
    return RC_OK;
}

static struct str close_more(struct context *ctx, struct buf *buf, struct jw *jw)
{
    jw_end(jw, '}');
    return (struct str){arena_strndup(ctx->arena, buf->data, buf->len), buf->len};
}

static struct jw open_more(struct buf *buf, const struct shepherding *it)
{
    buf_init(buf, MORE_BYTES_MAX);
    struct jw jw = jw_to(buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "pullRequestId", it->pr.id.text);
    jw_kint(&jw, "number", it->pr.number);
    jw_kstr(&jw, "branch", it->pr.branch);
    jw_kstr(&jw, "targetBranch", it->pr.target_branch);
    return jw;
}

enum rc shepherd_observe(struct context *ctx, struct shepherding *it)
{
    CLEANUP(buf_release) struct buf buf;
    struct jw jw = open_more(&buf, it);
    jw_optstr(&jw, "head", it->row.head);
    jw_optstr(&jw, "failedHead", it->row.failed_head);
    if (it->row.passed.len > 0)
        jw_kraw(&jw, "passed", it->row.passed);
    if (it->row.failures.len > 0)
        jw_kraw(&jw, "failures", it->row.failures);
    if (it->flow.run.paths.len > 0)
        jw_kraw(&jw, "paths", it->flow.run.paths);
    return shepherd_enqueue(ctx, it, STEP_OBSERVE, close_more(ctx, &buf, &jw), &it->row.job_id);
}

enum rc shepherd_rebase(struct context *ctx, struct shepherding *it, bool verify_only)
{
    CLEANUP(buf_release) struct buf buf;
    struct jw jw = open_more(&buf, it);
    jw_kstr(&jw, "head", it->row.head);
    jw_kstr(&jw, "mode", verify_only ? "verify" : "rebase");
    enum rc rc = shepherd_enqueue(ctx, it, STEP_REBASE, close_more(ctx, &buf, &jw),
                                  &it->row.work_id);
    if (rc != RC_OK)
        return rc;
    it->row.work = verify_only ? "verify" : "rebase";
    it->row.work_head = it->row.head;
    it->row.work_cause = NULL;
    it->row.verifies += verify_only;
    it->row.rebases += !verify_only;
    return RC_OK;
}

/* ---- acts ---- */

static void write_rerun(struct jw *jw, const struct shepherding *it)
{
    jw_key(jw, "checks");
    jw_begin(jw, '[');
    for (size_t i = 0; i < it->view->check_count; i++) {
        const struct check_view *check = &it->view->checks[i];
        if (!check_counts(it->view, check) || !check_is_red(check) || !check->job)
            continue;
        jw_begin(jw, '{');
        jw_kstr(jw, "id", check->id);
        jw_kstr(jw, "name", check->name);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

/* Each thread is answered by what was done; where the agent did not say, by the commit. */
static void write_answers(struct context *ctx, struct jw *jw, const struct shepherding *it)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct repair_thread *threads = NULL;
    size_t count = 0;
    if (it->row.threads.len > 0 &&
        js_parse(it->row.threads.at, it->row.threads.len, &tree, NULL) == RC_OK)
        count = repair_threads_read(tree, ctx->arena, &threads);
    jw_key(jw, "threads");
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++) {
        if (threads[i].id == NULL)
            continue;
        const char *said = threads[i].answer;
        jw_begin(jw, '{');
        jw_kstr(jw, "id", threads[i].id);
        jw_kstr(jw, "body",
                said != NULL
                    ? arena_printf(ctx->arena, "%s (%.12s)", said, it->row.head)
                    : arena_printf(ctx->arena, "Addressed by commit %.12s.", it->row.head));
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_act(struct context *ctx, struct jw *jw, const struct shepherding *it,
                      enum shepherd_act act)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "act", shepherd_act_name(act));
    if (act == ACT_RERUN)
        write_rerun(jw, it);
    if (act == ACT_ANSWER)
        write_answers(ctx, jw, it);
    if (act == ACT_CERTIFICATE)
        jw_optstr(jw, "certificateSha256", it->row.certificate_sha256);
    if (act == ACT_AUTO_MERGE)
        jw_kstr(jw, "method", it->config->shepherd.method);
    jw_end(jw, '}');
}

enum rc shepherd_attend(struct context *ctx, struct shepherding *it, unsigned acts)
{
    CLEANUP(buf_release) struct buf buf;
    struct jw jw = open_more(&buf, it);
    jw_kstr(&jw, "head", it->row.head);
    jw_key(&jw, "acts");
    jw_begin(&jw, '[');
    for (unsigned i = 0; i < ACT_COUNT; i++)
        if (acts & (1U << i))
            write_act(ctx, &jw, it, (enum shepherd_act)(1U << i));
    jw_end(&jw, ']');
    enum rc rc = shepherd_enqueue(ctx, it, STEP_ATTEND, close_more(ctx, &buf, &jw),
                                  &it->row.job_id);
    if (rc != RC_OK)
        return rc;
    /* Counted when it is told, not when it is done: a lost answer costs one try, not a loop. */
    if (acts & ACT_RERUN) {
        it->row.reruns++;
        it->row.rerun_us = ctx->now_us;
    }
    it->row.merges += (acts & (ACT_MERGE | ACT_AUTO_MERGE | ACT_ENQUEUE)) != 0;
    it->row.rounds = it->row.acts == (int64_t)acts ? it->row.rounds + 1 : 0;
    it->row.acts = (int64_t)acts;
    return RC_OK;
}

/* ---- what they report ---- */

static enum rc read_text(struct context *ctx, const char *sha256, size_t max, struct buf *into)
{
    const struct artifact_source source = {ctx->store, ctx->db};
    buf_init(into, max);
    return artifact_read(&source, sha256, into, ctx->err);
}

static enum rc read_view(struct context *ctx, struct shepherding *it, const struct js *result)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct pr_view *view = arena_alloc(ctx->arena, sizeof *view);
    enum rc rc = read_text(ctx, js_get_str(result, "viewSha256", ""), VIEW_BYTES_MAX, &text);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&text), text.len, &tree, ctx->err);
    if (rc == RC_OK)
        rc = pr_view_decode(tree, ctx->arena, view, ctx->err);
    if (rc != RC_OK)
        return rc;
    it->view = view;
    it->can = js_get_int(result, "can", 0);
    return RC_OK;
}

/* What a repair is to mend, out of an artifact. */
static enum rc read_fault(struct context *ctx, struct shepherding *it, const char *sha256)
{
    CLEANUP(buf_release) struct buf text = {0};
    if (sha256 == NULL)
        return RC_OK;
    enum rc rc = read_text(ctx, sha256, SHEPHERD_FAULT_MAX, &text);
    if (rc == RC_OK || rc == RC_TOO_LARGE)
        it->row.fault = arena_strdup(ctx->arena, buf_text(&text));
    if (rc == RC_TOO_LARGE)
        err_clear(ctx->err);
    return rc == RC_TOO_LARGE ? RC_OK : rc;
}

static enum rc observed(struct context *ctx, struct shepherding *it, const struct js *result)
{
    const struct js *failures = js_get(result, "failures");
    enum rc rc = read_view(ctx, it, result);
    if (rc != RC_OK)
        return rc;
    bool own = false, new_head = !text_same(it->view->head, it->row.head);
    it->row.job_id = (struct id){0};
    it->row.looked_us = ctx->now_us;
    if (new_head)
        rc = shepherd_pushes(ctx, it, &own);
    if (rc == RC_OK && own) /* Its report says so in a moment. */
        return shepherding_look_in(ctx, it, SECOND_US);
    if (rc == RC_OK && new_head)
        rc = shepherd_new_head(ctx, it, it->view->head);
    if (rc == RC_OK && js_count(failures) > 0)
        rc = read_fault(ctx, it, js_get_str(result, "faultSha256", NULL));
    if (rc == RC_OK && js_count(failures) > 0)
        rc = shepherd_take_failures(ctx, it, failures);
    if (rc == RC_OK)
        rc = shepherd_settle_repair(ctx, it);
    if (rc == RC_OK)
        rc = shepherd_hear(ctx, it);
    if (rc == RC_OK)
        rc = shepherd_decide_on(ctx, it);
    if (rc == RC_OK && it->row.again && !shepherd_is_final(it->row.state))
        rc = shepherding_look_in(ctx, it, 0);
    it->row.again = false;
    return rc;
}

static bool has_done(const struct js *result, enum shepherd_act act)
{
    const struct js *done = js_get(result, "done");
    for (size_t i = 0; i < js_count(done); i++)
        if (text_same(js_str(js_at(done, i), ""), shepherd_act_name(act)))
            return true;
    return false;
}

/* Why the forge did not merge it: told with the question that follows. */
static void note_refusal(struct context *ctx, struct shepherding *it, const struct js *result)
{
    const struct js *refused = js_get(result, "refused");
    for (size_t i = 0; i < js_count(refused); i++) {
        const char *act = js_get_str(js_at(refused, i), "act", "");
        bool merges = strcmp(act, shepherd_act_name(ACT_MERGE)) == 0 ||
                      strcmp(act, shepherd_act_name(ACT_AUTO_MERGE)) == 0 ||
                      strcmp(act, shepherd_act_name(ACT_ENQUEUE)) == 0;
        if (merges)
            it->row.fault = arena_strdup(ctx->arena,
                                         js_get_str(js_at(refused, i), "message", NULL));
    }
}

static enum rc attended(struct context *ctx, struct shepherding *it, const struct js *result)
{
    const char *commit = js_get_str(result, "mergeCommit", NULL);
    const char *head = js_get_str(result, "head", it->row.head);
    it->row.job_id = (struct id){0};
    note_refusal(ctx, it, result);
    if (has_done(result, ACT_CERTIFICATE))
        it->row.shown_head = arena_strdup(ctx->arena, head);
    if (has_done(result, ACT_ANSWER))
        it->row.unanswered = false;
    if (has_done(result, ACT_AUTO_MERGE) || has_done(result, ACT_ENQUEUE))
        it->row.submitted_head = arena_strdup(ctx->arena, head);
    if (has_done(result, ACT_READY) && it->pr.draft) {
        it->pr.draft = false;
        it->pr.updated_us = ctx->now_us;
        enum rc rc = pull_requests_save(ctx->db, &it->pr, ctx->err);
        if (rc != RC_OK)
            return rc;
    }
    if (has_done(result, ACT_MERGE) && commit != NULL)
        return shepherd_ended(ctx, it, arena_strdup(ctx->arena, commit));
    if (has_done(result, ACT_CLOSE))
        return shepherd_ended(ctx, it, NULL);
    /* Acts that the forge does not show at once are not repeated at once. */
    int64_t rounds = it->row.rounds < 10 ? it->row.rounds : 10;
    int64_t delay_us = rounds == 0 ? 0 : SECOND_US << rounds;
    int64_t most_us = it->config->shepherd.poll_ms * US_PER_MS;
    return shepherding_look_in(ctx, it, delay_us < most_us ? delay_us : most_us);
}

/* A new head that drover has pushed, with the certificate of its verification. */
static enum rc take_certificate(struct context *ctx, struct shepherding *it,
                                const struct js *result, bool good)
{
    const char *head = arena_strdup(ctx->arena, js_get_str(result, "head", it->row.work_head));
    it->row.certified_head = head;
    it->row.certified = good;
    it->row.certificate_sha256 = arena_strdup(ctx->arena,
                                              js_get_str(result, "certificateSha256", NULL));
    if (text_same(head, it->pr.head_commit))
        return RC_OK;
    it->pr.head_commit = head;
    it->pr.updated_us = ctx->now_us;
    return pull_requests_save(ctx->db, &it->pr, ctx->err);
}

static enum rc rebased(struct context *ctx, struct shepherding *it, const struct js *result)
{
    const char *outcome = js_get_str(result, "outcome", "");
    const char *head = it->row.work_head;
    bool verify_only = text_same(it->row.work, "verify");
    enum rc rc = RC_OK;
    it->row.work = NULL;
    it->row.conflict_head = NULL;
    if (strcmp(outcome, "verified") == 0) {
        rc = take_certificate(ctx, it, result, true);
    } else if (strcmp(outcome, "failed") == 0 && verify_only) {
        rc = read_fault(ctx, it, js_get_str(result, "feedbackSha256", NULL));
        if (rc == RC_OK)
            rc = take_certificate(ctx, it, result, false);
        if (rc == RC_OK)
            rc = shepherd_take_fault(ctx, it);
    } else if (strcmp(outcome, "conflict") == 0 || strcmp(outcome, "failed") == 0) {
        it->row.stuck_head = head;
        it->row.stuck_base = arena_strdup(ctx->arena, js_get_str(result, "target", NULL));
        it->row.fault = arena_strdup(ctx->arena, js_get_str(result, "detail", NULL));
        rc = read_fault(ctx, it, js_get_str(result, "feedbackSha256", NULL));
    } else if (strcmp(outcome, "empty") == 0) {
        it->row.empty_head = head;
    } /* moved: the next look sees where to. */
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    shepherd_event_open(&body, it);
    jw_kstr(&body.jw, "mode", verify_only ? "verify" : "rebase");
    jw_kstr(&body.jw, "outcome", outcome);
    jw_kstr(&body.jw, "fromHead", head);
    jw_optstr(&body.jw, "head", js_get_str(result, "head", NULL));
    jw_optstr(&body.jw, "certificate", js_get_str(result, "certificateSha256", NULL));
    jw_optstr(&body.jw, "detail", js_get_str(result, "detail", NULL));
    rc = flow_emit(ctx, &it->flow, EV_PR_REBASED, &body);
    return rc == RC_OK ? shepherding_look_in(ctx, it, 0) : rc;
}

/* RC_NOT_FOUND: it is not a job that the row waits for. */
static enum rc load_owner(struct context *ctx, const struct job_row *job, struct shepherding *it)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    struct id id;
    enum rc rc = js_parse(job->payload.at, job->payload.len, &payload, ctx->err);
    if (rc != RC_OK)
        return rc;
    const char *text = js_get_str(js_get(payload, "shepherd"), "pullRequestId", "");
    if (!id_parse(text, &id))
        return err_set(ctx->err, RC_CORRUPT, "RUN_MISSING", "job %s names no pull request",
                       job->id.text);
    rc = shepherding_load(ctx, &id, it);
    if (rc != RC_OK)
        return rc;
    const struct id *waited = step_is(job->type, STEP_REBASE) ? &it->row.work_id : &it->row.job_id;
    return id_same(waited, &job->id) && it->followed ? RC_OK : RC_NOT_FOUND;
}

enum rc shepherd_job_completed(struct context *ctx, const struct job_row *job,
                               const struct js *result)
{
    CLEANUP(shepherding_release) struct shepherding it = {0};
    enum rc rc = load_owner(ctx, job, &it);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = result_link_artifacts(ctx, &it.flow, result);
    if (rc != RC_OK)
        return rc;
    if (step_is(job->type, STEP_OBSERVE))
        rc = observed(ctx, &it, result);
    else if (step_is(job->type, STEP_ATTEND))
        rc = attended(ctx, &it, result);
    else
        rc = rebased(ctx, &it, result);
    return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
}

/* It was given up, or cancelled.  The next look begins anew; a verification that could not be run
   has used up a try (verifies). */
enum rc shepherd_job_gone(struct context *ctx, const struct job_row *job)
{
    CLEANUP(shepherding_release) struct shepherding it = {0};
    enum rc rc = load_owner(ctx, job, &it);
    if (rc != RC_OK) {
        if (rc == RC_NOT_FOUND)
            err_clear(ctx->err);
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    if (step_is(job->type, STEP_REBASE))
        it.row.work = NULL;
    else
        it.row.job_id = (struct id){0};
    int64_t blind_us = ctx->now_us - (it.row.looked_us > 0 ? it.row.looked_us : it.row.created_us);
    int64_t delay_us = blind_us < RETRY_MOST_US ? blind_us : RETRY_MOST_US;
    rc = shepherding_look_in(ctx, &it, delay_us > RETRY_US ? delay_us : RETRY_US);
    return rc == RC_OK ? shepherding_save(ctx, &it) : rc;
}
