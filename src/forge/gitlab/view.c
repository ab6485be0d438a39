/*
 * view.c - a merge request as pr_view has it.
 *
 * GitLab does not tell which commit was approved.  It does tell when, and when each version of the
 * merge request was pushed: the reviewed commit is the head of the newest version before that.  An
 * approval without a time counts for no commit; a request for changes without one counts for the
 * head.
 */
#include "forge/gitlab/view.h"
#include "forge/gitlab/roles.h"
#include "forge/port/checks.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSIONS_MAX = 100 };

struct version {
    const char *head;
    int64_t created_us;
};

struct view_reader {
    struct host_api api;
    const char *path; /* Of the merge request. */
    struct pr_view *view;
    struct version versions[VERSIONS_MAX]; /* Newest first. */
    size_t version_count;
    struct host_people people;
    struct err *err;
};

/* ---- the merge request ---- */

static enum pr_mergeable mergeable_of(const struct js *mr)
{
    static const struct {
        const char *status;
        enum pr_mergeable mergeable;
    } statuses[] = {
        {"mergeable", MERGE_CLEAN},           {"conflict", MERGE_CONFLICT},
        {"need_rebase", MERGE_BEHIND},        {"unchecked", MERGE_UNKNOWN},
        {"checking", MERGE_UNKNOWN},          {"preparing", MERGE_UNKNOWN},
        {"approvals_syncing", MERGE_UNKNOWN}, {"broken_status", MERGE_CONFLICT},
    };
    const char *status = js_get_str(mr, "detailed_merge_status", "unchecked");
    if (js_get_bool(mr, "has_conflicts", false))
        return MERGE_CONFLICT;
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (text_same(status, statuses[i].status))
            return statuses[i].mergeable;
    }
    return MERGE_BLOCKED; /* Each of the others names a rule that is not met. */
}

static enum rc read_request(struct view_reader *reader)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct arena *arena = reader->api.arena;
    struct pr_view *view = reader->view;
    enum rc rc = host_get(&reader->api, reader->path, &answer, reader->err);
    if (rc != RC_OK)
        return rc;
    const struct js *mr = answer.document;
    const char *state = js_get_str(mr, "state", "");
    *view = (struct pr_view){
        .number = js_get_int(mr, "iid", 0),
        .url = host_text(arena, mr, "web_url"),
        .title = host_text(arena, mr, "title"),
        .author = gitlab_user(arena, mr, "author"),
        .state = text_same(state, "merged")   ? PR_MERGED
                 : text_same(state, "closed") ? PR_CLOSED
                                              : PR_OPEN,
        .draft = js_get_bool(mr, "draft", js_get_bool(mr, "work_in_progress", false)),
        .head = host_text(arena, mr, "sha"),
        .head_branch = host_text(arena, mr, "source_branch"),
        .base = arena_strdup(arena, js_str(js_path(mr, "diff_refs.start_sha"), "")),
        .target_branch = host_text(arena, mr, "target_branch"),
        .mergeable = mergeable_of(mr),
        .auto_merge = js_get_bool(mr, "merge_when_pipeline_succeeds", false),
        .labels = host_texts(arena, js_get(mr, "labels"), NULL),
        .updated_us = host_time(mr, "updated_at"),
    };
    if (view->state == PR_MERGED)
        view->merge_commit = arena_strdup(
            arena, js_get_str(mr, "merge_commit_sha",
                              js_get_str(mr, "squash_commit_sha", js_get_str(mr, "sha", NULL))));
    return host_view_check(&reader->api, view, "merge request", reader->err);
}

/* The tip of the target now; the merge request only has the one of its last push. */
static enum rc read_target(struct view_reader *reader)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct arena *arena = reader->api.arena;
    enum rc rc = host_get(&reader->api,
                          host_path(&reader->api, "/repository/branches/%s",
                                    host_escaped(arena, reader->view->target_branch)),
                          &answer, reader->err);
    if (rc == RC_NOT_FOUND)
        return RC_OK; /* The target was deleted; GitLab closes or retargets it. */
    const char *tip = js_str(js_path(answer.document, "commit.id"), "");
    if (rc == RC_OK && git_hash_valid(tip))
        reader->view->base = arena_strdup(arena, tip);
    return rc;
}

/* An automatic merge may be one of the merge train. */
static enum rc read_train(struct view_reader *reader)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    if (!reader->view->auto_merge || reader->view->state != PR_OPEN)
        return RC_OK;
    enum rc rc = host_get(
        &reader->api,
        host_path(&reader->api, "/merge_trains/merge_requests/%" PRId64, reader->view->number),
        &answer, reader->err);
    if (rc == RC_NOT_FOUND || rc == RC_DENIED) /* The project has no trains. */
        return RC_OK;
    reader->view->queued = rc == RC_OK &&
                           !text_same(js_get_str(answer.document, "status", "merged"), "merged");
    return rc;
}

/* ---- reviews ---- */

static bool add_version(void *ctx, const struct js *item)
{
    struct view_reader *reader = ctx;
    if (reader->version_count == VERSIONS_MAX)
        return false;
    reader->versions[reader->version_count++] = (struct version){
        .head = host_text(reader->api.arena, item, "head_commit_sha"),
        .created_us = host_time(item, "created_at")};
    return true;
}

static enum rc read_versions(struct view_reader *reader)
{
    const struct host_list list = {
        .path = arena_printf(reader->api.arena, "%s/versions?per_page=100", reader->path),
        .each = add_version,
        .ctx = reader};
    return host_pages(&reader->api, &list, NULL, reader->err);
}

static const char *head_at(const struct view_reader *reader, int64_t time_us)
{
    for (size_t i = 0; i < reader->version_count && time_us > 0; i++) {
        if (reader->versions[i].created_us <= time_us && reader->versions[i].head != NULL)
            return reader->versions[i].head;
    }
    return "";
}

/* The review of an author with this verdict; NULL: there is none yet. */
static struct review_view *review_by(struct view_reader *reader, const char *author,
                                     enum review_verdict verdict)
{
    for (size_t i = 0; i < reader->view->review_count; i++) {
        struct review_view *review = &reader->view->reviews[i];
        if (review->verdict == verdict && text_same(review->author, author))
            return review;
    }
    return NULL;
}

static void add_review(struct view_reader *reader, const struct js *user,
                       enum review_verdict verdict, int64_t time_us)
{
    struct pr_view *view = reader->view;
    struct arena *arena = reader->api.arena;
    const char *author = arena_strdup(arena, js_get_str(user, "username", ""));
    if (view->review_count == PR_REVIEWS_MAX) {
        view->cut = true;
        return;
    }
    host_people_add(&reader->people, user);
    view->reviews[view->review_count++] = (struct review_view){
        .id = arena_printf(arena, "%s:%s", verdict == REVIEW_APPROVED ? "approval" : "changes",
                           author),
        .author = author,
        .verdict = verdict,
        .commit = "",
        .body = "",
        .submitted_us = time_us};
}

static enum rc read_approvals(struct view_reader *reader)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct arena *arena = reader->api.arena;
    enum rc rc = host_get(&reader->api, arena_printf(arena, "%s/approvals", reader->path), &answer,
                          reader->err);
    if (rc != RC_OK)
        return rc;
    const struct js *by = js_get(answer.document, "approved_by");
    for (size_t i = 0; i < js_count(by); i++)
        add_review(reader, js_get(js_at(by, i), "user"), REVIEW_APPROVED,
                   host_time(js_at(by, i), "approved_at"));
    return RC_OK;
}

static bool add_reviewer(void *ctx, const struct js *item)
{
    struct view_reader *reader = ctx;
    if (text_same(js_get_str(item, "state", ""), "requested_changes"))
        add_review(reader, js_get(item, "user"), REVIEW_CHANGES_REQUESTED, 0);
    return true;
}

static enum rc read_reviewers(struct view_reader *reader)
{
    const struct host_list list = {
        .path = arena_printf(reader->api.arena, "%s/reviewers?per_page=100", reader->path),
        .each = add_reviewer,
        .ctx = reader};
    return host_pages(&reader->api, &list, NULL, reader->err);
}

/* GitLab writes a note for each approval and request; the last one of an author counts. */
static void note_review(struct view_reader *reader, const struct js *note)
{
    const char *body = js_get_str(note, "body", "");
    const char *author = js_get_str(js_get(note, "author"), "username", "");
    enum review_verdict verdict = REVIEW_APPROVED;
    if (text_starts(body, "requested changes"))
        verdict = REVIEW_CHANGES_REQUESTED;
    else if (!text_starts(body, "approved this merge request"))
        return;
    struct review_view *review = review_by(reader, author, verdict);
    int64_t time_us = host_time(note, "created_at");
    if (review != NULL && time_us > review->submitted_us)
        review->submitted_us = time_us;
}

static int later(const void *a, const void *b)
{
    const struct review_view *left = a, *right = b;
    return (left->submitted_us > right->submitted_us) - (left->submitted_us < right->submitted_us);
}

static void place_reviews(struct view_reader *reader)
{
    struct pr_view *view = reader->view;
    for (size_t i = 0; i < view->review_count; i++) {
        struct review_view *review = &view->reviews[i];
        review->commit = head_at(reader, review->submitted_us);
        if (review->verdict == REVIEW_CHANGES_REQUESTED && !review->commit[0])
            review->commit = view->head;
    }
    qsort(view->reviews, view->review_count, sizeof *view->reviews, later);
}

/* ---- threads ---- */

static struct thread_view thread_of(struct view_reader *reader, const struct js *discussion)
{
    struct arena *arena = reader->api.arena;
    const struct js *notes = js_get(discussion, "notes"), *first = js_at(notes, 0);
    const struct js *position = js_get(first, "position");
    size_t count = js_count(notes);
    struct thread_view thread = {
        .id = host_text(arena, discussion, "id"),
        .path = arena_strdup(
            arena, js_get_str(position, "new_path", js_get_str(position, "old_path", NULL))),
        .line = js_get_int(position, "new_line", js_get_int(position, "old_line", 0)),
        .resolved = true,
        .outdated = position != NULL &&
                    !text_same(js_get_str(position, "head_sha", ""), reader->view->head),
        .comments = arena_array(arena, PR_THREAD_COMMENTS_MAX, sizeof(struct thread_comment)),
    };
    reader->view->cut |= count > PR_THREAD_COMMENTS_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct js *note = js_at(notes, i);
        if (js_get_bool(note, "resolvable", false) && !js_get_bool(note, "resolved", false))
            thread.resolved = false;
        if (js_get_bool(note, "system", false) || thread.comment_count == PR_THREAD_COMMENTS_MAX)
            continue;
        host_people_add(&reader->people, js_get(note, "author"));
        thread.comments[thread.comment_count++] = (struct thread_comment){
            .id = arena_printf(arena, "%" PRId64, js_get_int(note, "id", 0)),
            .author = gitlab_user(arena, note, "author"),
            .body = arena_strdup(arena, js_get_str(note, "body", "")),
            .created_us = host_time(note, "created_at")};
    }
    return thread;
}

static bool add_discussion(void *ctx, const struct js *item)
{
    struct view_reader *reader = ctx;
    struct pr_view *view = reader->view;
    const struct js *notes = js_get(item, "notes"), *first = js_at(notes, 0);
    for (size_t i = 0; i < js_count(notes); i++) {
        if (js_get_bool(js_at(notes, i), "system", false))
            note_review(reader, js_at(notes, i));
    }
    if (!js_get_bool(first, "resolvable", false) || js_get_str(item, "id", NULL) == NULL)
        return true;
    if (view->thread_count == PR_THREADS_MAX) {
        view->cut = true;
        return true;
    }
    view->threads[view->thread_count++] = thread_of(reader, item);
    return true;
}

static enum rc read_discussions(struct view_reader *reader)
{
    bool cut = false;
    const struct host_list list = {
        .path = arena_printf(reader->api.arena, "%s/discussions?per_page=100", reader->path),
        .each = add_discussion,
        .ctx = reader};
    enum rc rc = host_pages(&reader->api, &list, &cut, reader->err);
    reader->view->cut |= cut;
    return rc;
}

/* ---- all of it ---- */

static enum rc read_reviews(struct view_reader *reader)
{
    struct pr_view *view = reader->view;
    view->reviews = arena_array(reader->api.arena, PR_REVIEWS_MAX, sizeof *view->reviews);
    view->threads = arena_array(reader->api.arena, PR_THREADS_MAX, sizeof *view->threads);
    enum rc rc = read_approvals(reader);
    if (rc == RC_OK)
        rc = read_reviewers(reader);
    if (rc == RC_OK)
        rc = read_discussions(reader);
    if (rc == RC_OK && view->review_count > 0)
        rc = read_versions(reader);
    if (rc == RC_OK)
        rc = host_people_of_view(&reader->people, view, reader->err);
    if (rc == RC_OK)
        place_reviews(reader);
    return rc;
}

enum rc gitlab_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                    struct pr_view *ret_view, struct err *err)
{
    struct pr_view view;
    struct view_reader *reader = arena_alloc(arena, sizeof *reader);
    reader->view = &view;
    reader->err = err;
    enum rc rc = gitlab_open(call, ref->url, arena, &reader->api, err);
    if (rc != RC_OK)
        return rc;
    reader->people = host_people_new(&reader->api, &gitlab_roles);
    reader->path = host_path(&reader->api, "/merge_requests/%" PRId64, ref->number);
    rc = read_request(reader);
    if (rc == RC_OK)
        rc = read_target(reader);
    if (rc == RC_OK)
        rc = read_train(reader);
    if (rc == RC_OK)
        rc = read_reviews(reader);
    if (rc == RC_OK)
        rc = checks_gitlab.of_commit(call, ref->url, view.head, arena, &view.checks,
                                     &view.check_count, err);
    view.cut |= rc == RC_OK && view.check_count == PR_CHECKS_MAX;
    if (rc == RC_OK)
        *ret_view = view;
    return rc;
}
