/*
 * pr_view.c - see pr_view.h.
 *
 *   {"number", "url", "title", "author", "state", "draft", "head", "headBranch", "base",
 *    "targetBranch", "mergeCommit", "mergeable", "autoMerge", "queued", "updatedAt", "cut",
 *    "labels": [...],
 *    "checks":  [{"id", "name", "state", "url", "summary", "startedAt", "endedAt", "required",
 *                 "own", "job"}],
 *    "reviews": [{"id", "author", "association", "verdict", "commit", "body", "submittedAt"}],
 *    "threads": [{"id", "path", "line", "resolved", "outdated",
 *                 "comments": [{"id", "author", "association", "body", "createdAt"}]}]}
 */
#include "core/pr/pr_view.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/str.h"

enum { TEXT_MAX = 1024 * 1024, LABELS_MAX = 100 };

static const char *const state_names[] = {
    [PR_OPEN] = "open", [PR_MERGED] = "merged", [PR_CLOSED] = "closed", NULL};
static const char *const mergeable_names[] = {
    [MERGE_UNKNOWN] = "unknown", [MERGE_CLEAN] = "clean",     [MERGE_CONFLICT] = "conflict",
    [MERGE_BEHIND] = "behind",   [MERGE_BLOCKED] = "blocked", NULL};
static const char *const check_names[] = {[CHECK_PENDING] = "pending",
                                          [CHECK_PASSED] = "passed",
                                          [CHECK_FAILED] = "failed",
                                          [CHECK_TIMED_OUT] = "timed_out",
                                          [CHECK_CANCELLED] = "cancelled",
                                          [CHECK_BROKEN] = "broken",
                                          NULL};
static const char *const verdict_names[] = {[REVIEW_COMMENTED] = "commented",
                                            [REVIEW_APPROVED] = "approved",
                                            [REVIEW_CHANGES_REQUESTED] = "changes_requested",
                                            [REVIEW_PENDING] = "pending",
                                            NULL};

const char *check_state_name(enum check_state state)
{
    return check_names[state];
}

const char *pr_mergeable_name(enum pr_mergeable mergeable)
{
    return mergeable_names[mergeable];
}

const char *review_verdict_name(enum review_verdict verdict)
{
    return verdict_names[verdict];
}

/* ---- writing ---- */

static void write_checks(struct jw *jw, const struct pr_view *view)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < view->check_count; i++) {
        const struct check_view *check = &view->checks[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "id", check->id);
        jw_kstr(jw, "name", check->name);
        jw_kstr(jw, "state", check_names[check->state]);
        jw_kstr(jw, "url", check->url);
        jw_kstr(jw, "summary", check->summary);
        jw_ktime(jw, "startedAt", check->started_us);
        jw_ktime(jw, "endedAt", check->ended_us);
        jw_kbool(jw, "required", check->required);
        jw_kbool(jw, "own", check->own);
        jw_kbool(jw, "job", check->job);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_reviews(struct jw *jw, const struct pr_view *view)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < view->review_count; i++) {
        const struct review_view *review = &view->reviews[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "id", review->id);
        jw_kstr(jw, "author", review->author);
        jw_kstr(jw, "association", review->association);
        jw_kstr(jw, "verdict", verdict_names[review->verdict]);
        jw_kstr(jw, "commit", review->commit);
        jw_kstr(jw, "body", review->body);
        jw_ktime(jw, "submittedAt", review->submitted_us);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_comments(struct jw *jw, const struct thread_view *thread)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < thread->comment_count; i++) {
        const struct thread_comment *comment = &thread->comments[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "id", comment->id);
        jw_kstr(jw, "author", comment->author);
        jw_kstr(jw, "association", comment->association);
        jw_kstr(jw, "body", comment->body);
        jw_ktime(jw, "createdAt", comment->created_us);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_threads(struct jw *jw, const struct pr_view *view)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < view->thread_count; i++) {
        const struct thread_view *thread = &view->threads[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "id", thread->id);
        jw_kstr(jw, "path", thread->path);
        jw_kint(jw, "line", thread->line);
        jw_kbool(jw, "resolved", thread->resolved);
        jw_kbool(jw, "outdated", thread->outdated);
        jw_key(jw, "comments");
        write_comments(jw, thread);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_labels(struct jw *jw, const char **labels)
{
    jw_begin(jw, '[');
    for (size_t i = 0; labels != NULL && labels[i] != NULL; i++)
        jw_str(jw, labels[i]);
    jw_end(jw, ']');
}

void pr_view_write(struct jw *jw, const struct pr_view *view)
{
    jw_begin(jw, '{');
    jw_kint(jw, "number", view->number);
    jw_kstr(jw, "url", view->url);
    jw_kstr(jw, "title", view->title);
    jw_kstr(jw, "author", view->author);
    jw_kstr(jw, "state", state_names[view->state]);
    jw_kbool(jw, "draft", view->draft);
    jw_kstr(jw, "head", view->head);
    jw_kstr(jw, "headBranch", view->head_branch);
    jw_kstr(jw, "base", view->base);
    jw_kstr(jw, "targetBranch", view->target_branch);
    jw_kstr(jw, "mergeCommit", view->merge_commit);
    jw_kstr(jw, "mergeable", mergeable_names[view->mergeable]);
    jw_kbool(jw, "autoMerge", view->auto_merge);
    jw_kbool(jw, "queued", view->queued);
    jw_ktime(jw, "updatedAt", view->updated_us);
    jw_kbool(jw, "cut", view->cut);
    jw_key(jw, "labels");
    write_labels(jw, view->labels);
    jw_key(jw, "checks");
    write_checks(jw, view);
    jw_key(jw, "reviews");
    write_reviews(jw, view);
    jw_key(jw, "threads");
    write_threads(jw, view);
    jw_end(jw, '}');
}

/* ---- reading ---- */

/* What a decoding passes on. */
struct decoding {
    struct arena *arena;
    struct err *err;
    struct pr_view view;
};

/* A copy in the arena; *text keeps its value when the field is absent. */
static void copy_text(struct fields *fields, const char *key, enum field_need need,
                      struct arena *arena, const char **text)
{
    const char *found = NULL;
    fields_string(fields, key, need, &(struct field_text){.max = TEXT_MAX}, &found);
    if (found != NULL)
        *text = arena_strdup(arena, found);
}

static void take_time(struct fields *fields, const char *key, int64_t *ret_us)
{
    const char *text = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){.max = TIME_TEXT_BYTES}, &text);
    if (text != NULL && !time_parse(text, ret_us))
        fields_fail(fields, key, "%s must be a time, such as 2026-07-03T12:00:00Z", key);
}

static enum rc decode_check(struct decoding *decoding, const struct js *object, const char *path)
{
    struct check_view check = {.id = ""};
    int state = CHECK_PENDING;
    struct fields fields;
    fields_open(&fields, object, path, decoding->err);
    copy_text(&fields, "id", FIELD_REQUIRED, decoding->arena, &check.id);
    copy_text(&fields, "name", FIELD_REQUIRED, decoding->arena, &check.name);
    fields_choice(&fields, "state", FIELD_REQUIRED, check_names, &state);
    copy_text(&fields, "url", FIELD_OPTIONAL, decoding->arena, &check.url);
    copy_text(&fields, "summary", FIELD_OPTIONAL, decoding->arena, &check.summary);
    take_time(&fields, "startedAt", &check.started_us);
    take_time(&fields, "endedAt", &check.ended_us);
    fields_bool(&fields, "required", FIELD_OPTIONAL, &check.required);
    fields_bool(&fields, "own", FIELD_OPTIONAL, &check.own);
    fields_bool(&fields, "job", FIELD_OPTIONAL, &check.job);
    check.state = (enum check_state)state;
    decoding->view.checks[decoding->view.check_count++] = check;
    return fields_close(&fields);
}

static enum rc decode_review(struct decoding *decoding, const struct js *object, const char *path)
{
    struct review_view review = {.body = "", .commit = ""};
    int verdict = REVIEW_COMMENTED;
    struct fields fields;
    fields_open(&fields, object, path, decoding->err);
    copy_text(&fields, "id", FIELD_REQUIRED, decoding->arena, &review.id);
    copy_text(&fields, "author", FIELD_REQUIRED, decoding->arena, &review.author);
    copy_text(&fields, "association", FIELD_OPTIONAL, decoding->arena, &review.association);
    fields_choice(&fields, "verdict", FIELD_REQUIRED, verdict_names, &verdict);
    copy_text(&fields, "commit", FIELD_OPTIONAL, decoding->arena, &review.commit);
    copy_text(&fields, "body", FIELD_OPTIONAL, decoding->arena, &review.body);
    take_time(&fields, "submittedAt", &review.submitted_us);
    review.verdict = (enum review_verdict)verdict;
    decoding->view.reviews[decoding->view.review_count++] = review;
    return fields_close(&fields);
}

static enum rc decode_comment(struct decoding *decoding, const struct js *object, const char *path,
                              struct thread_comment *comment)
{
    struct fields fields;
    *comment = (struct thread_comment){.body = ""};
    fields_open(&fields, object, path, decoding->err);
    copy_text(&fields, "id", FIELD_REQUIRED, decoding->arena, &comment->id);
    copy_text(&fields, "author", FIELD_REQUIRED, decoding->arena, &comment->author);
    copy_text(&fields, "association", FIELD_OPTIONAL, decoding->arena, &comment->association);
    copy_text(&fields, "body", FIELD_OPTIONAL, decoding->arena, &comment->body);
    take_time(&fields, "createdAt", &comment->created_us);
    return fields_close(&fields);
}

static enum rc decode_thread(struct decoding *decoding, const struct js *object, const char *path)
{
    struct arena *arena = decoding->arena;
    struct thread_view thread = {.line = 0};
    const struct js *comments = NULL;
    struct fields fields;
    fields_open(&fields, object, path, decoding->err);
    copy_text(&fields, "id", FIELD_REQUIRED, arena, &thread.id);
    copy_text(&fields, "path", FIELD_OPTIONAL, arena, &thread.path);
    fields_int(&fields, "line", FIELD_OPTIONAL, &(struct field_range){0, INT64_MAX}, &thread.line);
    fields_bool(&fields, "resolved", FIELD_OPTIONAL, &thread.resolved);
    fields_bool(&fields, "outdated", FIELD_OPTIONAL, &thread.outdated);
    fields_array(&fields, "comments", FIELD_OPTIONAL, PR_THREAD_COMMENTS_MAX, &comments);
    enum rc rc = fields_close(&fields);
    thread.comments = arena_array(arena, js_count(comments) + 1, sizeof *thread.comments);
    for (size_t i = 0; i < js_count(comments) && rc == RC_OK; i++)
        rc = decode_comment(decoding, js_at(comments, i),
                            arena_printf(arena, "%s.comments[%zu]", path, i),
                            &thread.comments[thread.comment_count++]);
    decoding->view.threads[decoding->view.thread_count++] = thread;
    return rc;
}

/* The lists of a view, not decoded yet. */
struct lists {
    const struct js *labels, *checks, *reviews, *threads;
};

static void decode_place(struct fields *fields, struct decoding *decoding)
{
    struct pr_view *view = &decoding->view;
    struct arena *arena = decoding->arena;
    fields_int(fields, "number", FIELD_REQUIRED, &(struct field_range){1, INT64_MAX},
               &view->number);
    copy_text(fields, "url", FIELD_OPTIONAL, arena, &view->url);
    copy_text(fields, "title", FIELD_OPTIONAL, arena, &view->title);
    copy_text(fields, "author", FIELD_OPTIONAL, arena, &view->author);
    copy_text(fields, "head", FIELD_REQUIRED, arena, &view->head);
    copy_text(fields, "headBranch", FIELD_OPTIONAL, arena, &view->head_branch);
    copy_text(fields, "base", FIELD_OPTIONAL, arena, &view->base);
    copy_text(fields, "targetBranch", FIELD_REQUIRED, arena, &view->target_branch);
    copy_text(fields, "mergeCommit", FIELD_OPTIONAL, arena, &view->merge_commit);
}

static enum rc decode_top(struct decoding *decoding, const struct js *document, struct lists *lists)
{
    struct pr_view *view = &decoding->view;
    int state = PR_OPEN, mergeable = MERGE_UNKNOWN;
    struct fields fields;
    fields_open(&fields, document, "", decoding->err);
    decode_place(&fields, decoding);
    fields_choice(&fields, "state", FIELD_REQUIRED, state_names, &state);
    fields_choice(&fields, "mergeable", FIELD_OPTIONAL, mergeable_names, &mergeable);
    fields_bool(&fields, "draft", FIELD_OPTIONAL, &view->draft);
    fields_bool(&fields, "autoMerge", FIELD_OPTIONAL, &view->auto_merge);
    fields_bool(&fields, "queued", FIELD_OPTIONAL, &view->queued);
    fields_bool(&fields, "cut", FIELD_OPTIONAL, &view->cut);
    take_time(&fields, "updatedAt", &view->updated_us);
    fields_strings(&fields, "labels", FIELD_OPTIONAL, LABELS_MAX, &(struct field_text){.min = 0},
                   &lists->labels);
    fields_array(&fields, "checks", FIELD_OPTIONAL, PR_CHECKS_MAX, &lists->checks);
    fields_array(&fields, "reviews", FIELD_OPTIONAL, PR_REVIEWS_MAX, &lists->reviews);
    fields_array(&fields, "threads", FIELD_OPTIONAL, PR_THREADS_MAX, &lists->threads);
    view->state = (enum pr_state)state;
    view->mergeable = (enum pr_mergeable)mergeable;
    return fields_close(&fields);
}

static enum rc decode_each(struct decoding *decoding, const struct js *array, const char *key,
                           enum rc (*decode)(struct decoding *decoding, const struct js *object,
                                             const char *path))
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < js_count(array) && rc == RC_OK; i++)
        rc = decode(decoding, js_at(array, i), arena_printf(decoding->arena, "%s[%zu]", key, i));
    return rc;
}

enum rc pr_view_decode(const struct js *document, struct arena *arena, struct pr_view *ret_view,
                       struct err *err)
{
    struct decoding decoding = {
        .arena = arena,
        .err = err,
        .view = {.url = "", .title = "", .author = "", .head_branch = "", .base = ""}};
    struct pr_view *view = &decoding.view;
    struct lists lists = {NULL, NULL, NULL, NULL};
    enum rc rc = decode_top(&decoding, document, &lists);
    if (rc != RC_OK)
        return rc;
    view->labels = arena_array(arena, js_count(lists.labels) + 1, sizeof *view->labels);
    for (size_t i = 0; i < js_count(lists.labels); i++)
        view->labels[i] = arena_strdup(arena, js_str(js_at(lists.labels, i), ""));
    view->checks = arena_array(arena, js_count(lists.checks) + 1, sizeof *view->checks);
    view->reviews = arena_array(arena, js_count(lists.reviews) + 1, sizeof *view->reviews);
    view->threads = arena_array(arena, js_count(lists.threads) + 1, sizeof *view->threads);
    rc = decode_each(&decoding, lists.checks, "checks", decode_check);
    if (rc == RC_OK)
        rc = decode_each(&decoding, lists.reviews, "reviews", decode_review);
    if (rc == RC_OK)
        rc = decode_each(&decoding, lists.threads, "threads", decode_thread);
    if (rc == RC_OK)
        *ret_view = decoding.view;
    return rc;
}
