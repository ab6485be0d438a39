/*
 * view.c - a pull request of Gitea or Forgejo as pr_view has it.
 *
 * "mergeable" is false for a draft, for a conflict, and while the server is still looking.  A pull
 * request that holds the tip of its target cannot conflict: then the server is looking.
 */
#include "forge/gitea/view.h"
#include "forge/gitea/writers.h"
#include "forge/host/people.h"
#include "forge/port/checks.h"
#include <inttypes.h>
#include <string.h>

struct view_reader {
    struct host_api api;
    struct pr_view *view;
    struct err *err;
};

/* ---- the pull request ---- */

static enum pr_mergeable mergeable_of(const struct js *pr)
{
    const char *tip = js_str(js_path(pr, "base.sha"), "");
    if (js_get_bool(pr, "mergeable", false))
        return MERGE_CLEAN;
    if (js_get_bool(pr, "draft", false))
        return MERGE_BLOCKED;
    return text_same(js_get_str(pr, "merge_base", NULL), tip) ? MERGE_UNKNOWN : MERGE_CONFLICT;
}

static enum rc read_request(struct view_reader *reader, int64_t number)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct arena *arena = reader->api.arena;
    struct pr_view *view = reader->view;
    enum rc rc = host_get(&reader->api, host_path(&reader->api, "/pulls/%" PRId64, number), &answer,
                          reader->err);
    if (rc != RC_OK)
        return rc;
    const struct js *pr = answer.document, *head = js_get(pr, "head"), *base = js_get(pr, "base");
    bool merged = js_get_bool(pr, "merged", false);
    *view = (struct pr_view){
        .number = js_get_int(pr, "number", 0),
        .url = host_text(arena, pr, "html_url"),
        .title = host_text(arena, pr, "title"),
        .author = gitea_user(arena, pr, "user"),
        .state = merged                                             ? PR_MERGED
                 : text_same(js_get_str(pr, "state", ""), "closed") ? PR_CLOSED
                                                                    : PR_OPEN,
        .draft = js_get_bool(pr, "draft", false),
        .head = host_text(arena, head, "sha"),
        .head_branch = arena_strdup(arena,
                                    js_get_str(head, "label", js_get_str(head, "ref", NULL))),
        .base = arena_strdup(arena, js_get_str(base, "sha", "")),
        .target_branch = host_text(arena, base, "ref"),
        .merge_commit = merged ? host_text(arena, pr, "merge_commit_sha") : NULL,
        .mergeable = mergeable_of(pr),
        .labels = host_texts(arena, js_get(pr, "labels"), "name"),
        .updated_us = host_time(pr, "updated_at"),
    };
    return host_view_check(&reader->api, view, "pull request", reader->err);
}

/* The checks that the target demands, by patterns of their names. */
static enum rc mark_required(struct view_reader *reader)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct pr_view *view = reader->view;
    enum rc rc = host_get(&reader->api,
                          host_path(&reader->api, "/branches/%s",
                                    host_escaped(reader->api.arena, view->target_branch)),
                          &answer, reader->err);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    const struct js *patterns = js_get(answer.document, "status_check_contexts");
    bool enabled = rc == RC_OK && js_get_bool(answer.document, "enable_status_check", false);
    for (size_t i = 0; i < js_count(patterns) && enabled; i++) {
        const char *pattern = js_str(js_at(patterns, i), "");
        for (size_t at = 0; at < view->check_count; at++)
            view->checks[at].required |= text_same(pattern, view->checks[at].name) ||
                                         glob_match(pattern, view->checks[at].name);
    }
    return rc;
}

/* ---- reviews and threads ---- */

struct review_reader {
    const struct host_api *api;
    struct review_view *reviews;
    size_t count;
    int64_t *commented; /* Ids of reviews that have comments on lines. */
    size_t commented_count;
    struct gitea_threads threads;
};

static bool verdict_of(const struct js *review, enum review_verdict *ret_verdict)
{
    static const struct {
        const char *state;
        enum review_verdict verdict;
    } states[] = {{"APPROVED", REVIEW_APPROVED},
                  {"REQUEST_CHANGES", REVIEW_CHANGES_REQUESTED},
                  {"COMMENT", REVIEW_COMMENTED},
                  {"PENDING", REVIEW_PENDING}};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (text_same(js_get_str(review, "state", ""), states[i].state)) {
            *ret_verdict = states[i].verdict;
            return true;
        }
    }
    return false; /* REQUEST_REVIEW is none yet. */
}

static bool add_review(void *ctx, const struct js *item)
{
    struct review_reader *reader = ctx;
    struct arena *arena = reader->api->arena;
    enum review_verdict verdict;
    if (reader->count == PR_REVIEWS_MAX) {
        reader->threads.cut = true;
        return false;
    }
    int64_t id = js_get_int(item, "id", 0);
    if (js_get_int(item, "comments_count", 0) > 0)
        reader->commented[reader->commented_count++] = id;
    if (!verdict_of(item, &verdict) || js_get_bool(item, "dismissed", false))
        return reader->commented_count < PR_REVIEWS_MAX;
    reader->reviews[reader->count++] = (struct review_view){
        .id = arena_printf(arena, "%" PRId64, id),
        .author = gitea_user(arena, item, "user"),
        .verdict = verdict,
        .commit = arena_strdup(arena, js_get_str(item, "commit_id", "")),
        .body = arena_strdup(arena, js_get_str(item, "body", "")),
        .submitted_us = host_time(item, "submitted_at")};
    return reader->commented_count < PR_REVIEWS_MAX;
}

static struct gitea_thread *thread_at(struct review_reader *reader, const struct js *comment)
{
    struct gitea_threads *threads = &reader->threads;
    const char *path = js_get_str(comment, "path", "");
    int64_t new_line = js_get_int(comment, "position", 0);
    int64_t old_line = js_get_int(comment, "original_position", 0);
    for (size_t i = 0; i < threads->count; i++) {
        struct gitea_thread *thread = &threads->items[i];
        if (text_same(thread->view.path, path) && thread->new_line == new_line &&
            thread->old_line == old_line)
            return thread;
    }
    if (threads->count == PR_THREADS_MAX) {
        threads->cut = true;
        return NULL;
    }
    struct gitea_thread *thread = &threads->items[threads->count++];
    *thread = (struct gitea_thread){
        .view = {.path = arena_strdup(reader->api->arena, path),
                 .line = new_line > 0 ? new_line : old_line,
                 .comments = arena_array(reader->api->arena, PR_THREAD_COMMENTS_MAX,
                                         sizeof(struct thread_comment))},
        .new_line = new_line,
        .old_line = old_line};
    return thread;
}

/* Comments are listed by review, so the first of a thread may come last. */
static bool add_comment(void *ctx, const struct js *item)
{
    struct review_reader *reader = ctx;
    struct arena *arena = reader->api->arena;
    int64_t id = js_get_int(item, "id", 0);
    struct gitea_thread *thread = id > 0 ? thread_at(reader, item) : NULL;
    if (thread == NULL)
        return true;
    struct thread_view *view = &thread->view;
    if (view->comment_count == PR_THREAD_COMMENTS_MAX) {
        reader->threads.cut = true;
        return true;
    }
    const struct thread_comment comment = {
        .id = arena_printf(arena, "%" PRId64, id),
        .author = gitea_user(arena, item, "user"),
        .body = arena_strdup(arena, js_get_str(item, "body", "")),
        .created_us = host_time(item, "created_at")};
    size_t at = view->comment_count++;
    for (; at > 0 && view->comments[at - 1].created_us > comment.created_us; at--)
        view->comments[at] = view->comments[at - 1];
    view->comments[at] = comment;
    if (thread->first == 0 || id < thread->first)
        thread->first = id;
    view->id = arena_printf(arena, "%" PRId64, thread->first);
    view->resolved |= js_get_str(js_get(item, "resolver"), "login", NULL) != NULL;
    return true;
}

static enum rc read_comments(struct review_reader *reader, int64_t number, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < reader->commented_count && rc == RC_OK; i++) {
        const struct host_list list = {
            .path = host_path(reader->api, "/pulls/%" PRId64 "/reviews/%" PRId64 "/comments",
                              number, reader->commented[i]),
            .each = add_comment,
            .ctx = reader};
        rc = host_pages(reader->api, &list, NULL, err);
    }
    return rc;
}

enum rc gitea_read_reviews(const struct host_api *api, int64_t number,
                           struct review_view **ret_reviews, size_t *ret_count,
                           struct gitea_threads *ret_threads, struct err *err)
{
    struct review_reader reader = {.api = api};
    reader.reviews = arena_array(api->arena, PR_REVIEWS_MAX, sizeof *reader.reviews);
    reader.commented = arena_array(api->arena, PR_REVIEWS_MAX, sizeof *reader.commented);
    reader.threads.items = arena_array(api->arena, PR_THREADS_MAX, sizeof *reader.threads.items);
    const struct host_list list = {
        .path = host_path(api, "/pulls/%" PRId64 "/reviews?limit=50", number),
        .each = add_review,
        .ctx = &reader};
    bool cut = false;
    enum rc rc = host_pages(api, &list, &cut, err);
    if (rc == RC_OK)
        rc = read_comments(&reader, number, err);
    if (rc != RC_OK)
        return rc;
    reader.threads.cut |= cut;
    *ret_reviews = reader.reviews;
    *ret_count = reader.count;
    *ret_threads = reader.threads;
    return RC_OK;
}

/* ---- all of it ---- */

static enum rc read_reviews(struct view_reader *reader)
{
    struct pr_view *view = reader->view;
    struct gitea_threads threads = {.count = 0};
    enum rc rc = gitea_read_reviews(&reader->api, view->number, &view->reviews, &view->review_count,
                                    &threads, reader->err);
    if (rc != RC_OK)
        return rc;
    view->threads = arena_array(reader->api.arena, threads.count + 1, sizeof *view->threads);
    view->thread_count = threads.count;
    view->cut |= threads.cut;
    for (size_t i = 0; i < threads.count; i++)
        view->threads[i] = threads.items[i].view;
    const struct host_people people = host_people_new(&reader->api, &gitea_writers);
    return view->review_count > 0 ? host_people_of_view(&people, view, reader->err) : RC_OK;
}

static enum rc read_view(struct forge_call *call, const struct check_ops *checks,
                         const struct pr_ref *ref, struct arena *arena, struct pr_view *ret_view,
                         struct err *err)
{
    struct pr_view view;
    struct view_reader reader = {.view = &view, .err = err};
    enum rc rc = gitea_open(call, ref->url, arena, &reader.api, err);
    if (rc == RC_OK)
        rc = read_request(&reader, ref->number);
    if (rc == RC_OK)
        rc = read_reviews(&reader);
    if (rc == RC_OK)
        rc = checks->of_commit(call, ref->url, view.head, arena, &view.checks, &view.check_count,
                               err);
    if (rc == RC_OK)
        rc = mark_required(&reader);
    if (rc == RC_OK)
        view.cut |= view.check_count == PR_CHECKS_MAX;
    if (rc == RC_OK)
        *ret_view = view;
    return rc;
}

enum rc gitea_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                   struct pr_view *ret_view, struct err *err)
{
    return read_view(call, &checks_gitea, ref, arena, ret_view, err);
}

enum rc forgejo_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                     struct pr_view *ret_view, struct err *err)
{
    return read_view(call, &checks_forgejo, ref, arena, ret_view, err);
}
