/*
 * prs.c - what drover does with a pull request of Gitea or Forgejo, and which ones changed.
 *
 * A comment of a review is answered by Gitea's own call (1.27); elsewhere by a review with one
 * comment on the same line, which both show in the same conversation.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "forge/gitea/view.h"
#include "forge/port/mark.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGED_READ_MAX = 1000, CHANGED_TRIES_MAX = 24 };

/* An act on one pull request or issue. */
struct act {
    struct arena arena;
    struct host_api api;
    const struct pr_ref *ref;
    const char *pull; /* "/repos/.../pulls/7" */
};

static void act_release(struct act *act)
{
    arena_release(&act->arena);
}

static enum rc act_open(struct act *act, struct forge_call *call, const struct pr_ref *ref,
                        struct err *err)
{
    act->ref = ref;
    enum rc rc = gitea_open(call, ref->url, &act->arena, &act->api, err);
    if (rc == RC_OK)
        act->pull = host_path(&act->api, "/pulls/%" PRId64, ref->number);
    return rc;
}

static enum rc send_text(const struct act *act, const char *method, const char *path,
                         const char *key, const char *text, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, key, text);
    host_body_end(&jw);
    return host_send(&act->api, method, path, &body, NULL, err);
}

static enum rc edit_comment(const struct act *act, int64_t id, const char *text, struct err *err)
{
    return send_text(act, "PATCH", host_path(&act->api, "/issues/comments/%" PRId64, id), "body",
                     text, err);
}

/* ---- comments that drover keeps ---- */

struct comment_search {
    const char *login, *key; /* login NULL: of any author. */
    int64_t found;
};

static bool look_at_comment(void *ctx, const struct js *item)
{
    struct comment_search *search = ctx;
    const char *author = js_get_str(js_get(item, "user"), "login", NULL);
    if ((search->login == NULL || text_same(author, search->login)) &&
        mark_is(js_get_str(item, "body", NULL), search->key))
        search->found = js_get_int(item, "id", 0);
    return search->found == 0;
}

static enum rc gitea_comment(struct forge_call *call, const struct pr_ref *ref,
                             const struct forge_comment *comment, struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    struct comment_search search = {.key = comment->key};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = gitea_whoami(&act.api, &search.login, err);
    if (rc != RC_OK)
        return rc;
    const char *path = host_path(&act.api, "/issues/%" PRId64 "/comments", ref->number);
    const struct host_list list = {.path = path, .each = look_at_comment, .ctx = &search};
    const char *text = mark_add(&act.arena, comment->body, comment->key);
    rc = host_pages(&act.api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    return search.found != 0 ? edit_comment(&act, search.found, text, err)
                             : send_text(&act, "POST", path, "body", text, err);
}

/* ---- threads ---- */

static const struct gitea_thread *thread_of(const struct gitea_threads *threads, const char *id)
{
    for (size_t i = 0; i < threads->count; i++) {
        if (text_same(threads->items[i].view.id, id))
            return &threads->items[i];
    }
    return NULL;
}

/* The id of drover's comment in the thread; 0: there is none. */
static int64_t reply_in(const struct gitea_thread *thread, const char *login, const char *key)
{
    for (size_t i = 0; i < thread->view.comment_count; i++) {
        const struct thread_comment *comment = &thread->view.comments[i];
        int64_t id = 0;
        if ((login == NULL || text_same(login, comment->author)) && mark_is(comment->body, key) &&
            text_to_i64(comment->id, &id))
            return id;
    }
    return 0;
}

/* Finds the thread, and an earlier reply in it. */
static enum rc find_thread(const struct act *act, const char *id, const char *key,
                           struct gitea_thread *ret_thread, int64_t *ret_reply, struct err *err)
{
    struct gitea_threads threads = {.count = 0};
    struct review_view *reviews = NULL;
    size_t review_count = 0;
    const char *login = NULL;
    enum rc rc = gitea_whoami(&act->api, &login, err);
    if (rc == RC_OK)
        rc = gitea_read_reviews(&act->api, act->ref->number, &reviews, &review_count, &threads,
                                err);
    if (rc != RC_OK)
        return rc;
    const struct gitea_thread *thread = thread_of(&threads, id);
    if (thread == NULL)
        return err_set(err, RC_NOT_FOUND, "THREAD_NOT_FOUND",
                       "Pull request %" PRId64 " has no thread %.50s.", act->ref->number, id);
    *ret_thread = *thread;
    *ret_reply = reply_in(thread, login, key);
    return RC_OK;
}

static enum rc reply_below(const struct act *act, const struct gitea_thread *thread,
                           const char *text, struct err *err)
{
    return send_text(
        act, "POST",
        arena_printf(act->api.arena, "%s/comments/%" PRId64 "/replies", act->pull, thread->first),
        "body", text, err);
}

static enum rc reply_by_review(const struct act *act, const struct gitea_thread *thread,
                               const char *text, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "event", "COMMENT");
    jw_key(&jw, "comments");
    jw_begin(&jw, '[');
    jw_begin(&jw, '{');
    jw_kstr(&jw, "path", thread->view.path);
    jw_kstr(&jw, "body", text);
    jw_kint(&jw, "new_position", thread->new_line);
    jw_kint(&jw, "old_position", thread->old_line);
    jw_end(&jw, '}');
    jw_end(&jw, ']');
    host_body_end(&jw);
    return host_send(&act->api, "POST", arena_printf(act->api.arena, "%s/reviews", act->pull),
                     &body, NULL, err);
}

/* A new reply is made by add(); one with this key is edited. */
static enum rc put_reply(struct forge_call *call, const struct pr_ref *ref, const char *thread_id,
                         const struct forge_comment *comment,
                         enum rc (*add)(const struct act *act, const struct gitea_thread *thread,
                                        const char *text, struct err *err),
                         struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    struct gitea_thread thread;
    int64_t reply = 0;
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = find_thread(&act, thread_id, comment->key, &thread, &reply, err);
    if (rc != RC_OK)
        return rc;
    const char *text = mark_add(&act.arena, comment->body, comment->key);
    return reply != 0 ? edit_comment(&act, reply, text, err) : add(&act, &thread, text, err);
}

static enum rc gitea_thread_reply(struct forge_call *call, const struct pr_ref *ref,
                                  const char *thread, const struct forge_comment *comment,
                                  struct err *err)
{
    return put_reply(call, ref, thread, comment, reply_below, err);
}

static enum rc forgejo_thread_reply(struct forge_call *call, const struct pr_ref *ref,
                                    const char *thread, const struct forge_comment *comment,
                                    struct err *err)
{
    return put_reply(call, ref, thread, comment, reply_by_review, err);
}

static enum rc gitea_thread_resolve(struct forge_call *call, const struct pr_ref *ref,
                                    const char *thread, struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc != RC_OK)
        return rc;
    return host_send(
        &act.api, "POST",
        host_path(&act.api, "/pulls/comments/%s/resolve", host_escaped(&act.arena, thread)), NULL,
        NULL, err);
}

/* ---- the pull request itself ---- */

static enum rc gitea_set_body(struct forge_call *call, const struct pr_ref *ref, const char *text,
                              struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    enum rc rc = act_open(&act, call, ref, err);
    return rc == RC_OK ? send_text(&act, "PATCH", act.pull, "body", text, err) : rc;
}

static enum rc gitea_mark_ready(struct forge_call *call, const struct pr_ref *ref, struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = host_get(&act.api, act.pull, &answer, err);
    if (rc != RC_OK)
        return rc;
    const char *title = js_get_str(answer.document, "title", NULL);
    if (title == NULL)
        return host_unreadable(&act.api, "pull request", err);
    const char *ready = gitea_ready_title(title);
    return text_same(title, ready) ? RC_OK
                                   : send_text(&act, "PATCH", act.pull, "title", ready, err);
}

static enum rc gitea_label(struct forge_call *call, const struct pr_ref *ref,
                           const char *const *labels, struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    enum rc rc = act_open(&act, call, ref, err);
    return rc == RC_OK ? gitea_add_labels(&act.api, ref->number, labels, err) : rc;
}

static void write_reviewers(struct jw *jw, const char *key, const char *const *reviewers,
                            bool teams)
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (; *reviewers != NULL; reviewers++) {
        if (text_starts(*reviewers, "team/") == teams)
            jw_str(jw, *reviewers + (teams ? strlen("team/") : 0));
    }
    jw_end(jw, ']');
}

static enum rc gitea_request_review(struct forge_call *call, const struct pr_ref *ref,
                                    const char *const *reviewers, struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    write_reviewers(&jw, "reviewers", reviewers, false);
    write_reviewers(&jw, "team_reviewers", reviewers, true);
    host_body_end(&jw);
    if (*reviewers == NULL)
        return RC_OK;
    enum rc rc = act_open(&act, call, ref, err);
    if (rc != RC_OK)
        return rc;
    return host_send(&act.api, "POST", arena_printf(&act.arena, "%s/requested_reviewers", act.pull),
                     &body, NULL, err);
}

/* Is there a review with the key, by this user? */
static bool has_review(const struct review_view *reviews, size_t count, const char *login,
                       const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if ((login == NULL || text_same(login, reviews[i].author)) && mark_is(reviews[i].body, key))
            return true;
    }
    return false;
}

static enum rc gitea_review(struct forge_call *call, const struct pr_ref *ref,
                            const struct pr_review_words *words, struct err *err)
{
    CLEANUP(act_release) struct act act = {.pull = NULL};
    CLEANUP(buf_release) struct buf body;
    struct gitea_threads threads = {.count = 0};
    struct review_view *reviews = NULL;
    size_t count = 0;
    const char *login = NULL;
    struct jw jw = host_body(&body);
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = gitea_whoami(&act.api, &login, err);
    if (rc == RC_OK)
        rc = gitea_read_reviews(&act.api, ref->number, &reviews, &count, &threads, err);
    if (rc != RC_OK || has_review(reviews, count, login, words->key))
        return rc;
    jw_kstr(&jw, "event", words->approve ? "APPROVED" : "COMMENT");
    jw_kstr(&jw, "commit_id", words->commit);
    jw_kstr(&jw, "body", mark_add(&act.arena, words->body, words->key));
    host_body_end(&jw);
    return host_send(&act.api, "POST", arena_printf(&act.arena, "%s/reviews", act.pull), &body,
                     NULL, err);
}

/* ---- what changed ---- */

struct changes {
    struct forge_changed *items;
    size_t count;
};

static bool add_change(void *ctx, const struct js *item)
{
    struct changes *changes = ctx;
    if (changes->count == CHANGED_READ_MAX)
        return false;
    changes->items[changes->count++] = (struct forge_changed){
        .number = js_get_int(item, "number", 0),
        .is_pr = js_type(js_get(item, "pull_request")) == JS_OBJECT,
        .updated_us = host_time(item, "updated_at")};
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct forge_changed *left = a, *right = b;
    return (left->updated_us > right->updated_us) - (left->updated_us < right->updated_us);
}

/* All that changed in [since, before), in no order. */
static enum rc read_changes(const struct host_api *api, int64_t since_us, int64_t before_us,
                            struct changes *changes, bool *ret_cut, struct err *err)
{
    char since[TIME_TEXT_BYTES], before[TIME_TEXT_BYTES];
    int64_t since_s = since_us / US_PER_SECOND * US_PER_SECOND;
    const char *until = before_us == 0 ? ""
                                       : arena_printf(api->arena, "&before=%s",
                                                      time_format(before, before_us));
    const struct host_list list = {
        .path = since_us == 0 ? host_path(api, "/issues?state=open&limit=50")
                              : host_path(api, "/issues?state=all&limit=50&since=%s%s",
                                          time_format(since, since_s), until),
        .each = add_change,
        .ctx = changes};
    changes->count = 0;
    return host_pages(api, &list, ret_cut, err);
}

/* There are no ETags.  The list itself serves as one: what changed last is in every answer, since
   times are whole seconds. */
static const char *tag_of(struct arena *arena, const struct changes *changes)
{
    struct sha256 *sha = sha256_begin();
    char hash[SHA256_TEXT_BYTES];
    for (size_t i = 0; i < changes->count; i++) {
        sha256_add(sha, &changes->items[i].number, sizeof changes->items[i].number);
        sha256_add(sha, &changes->items[i].updated_us, sizeof changes->items[i].updated_us);
    }
    sha256_end(sha, hash);
    return arena_strdup(arena, hash);
}

/* The list is ordered by creation, so one that is too long is asked for a shorter time. */
static enum rc gitea_changed(struct forge_call *call, const struct changed_query *query,
                             struct arena *arena, struct changed_answer *ret_answer,
                             struct err *err)
{
    struct host_api api;
    struct changes changes = {.count = 0};
    const struct clock clock = clock_real();
    int64_t span_us = clock_now_us(&clock) - query->since_us, before_us = 0;
    bool cut = true, more = false;
    changes.items = arena_array(arena, CHANGED_READ_MAX, sizeof *changes.items);
    enum rc rc = gitea_open(call, query->url, arena, &api, err);
    for (int i = 0; i < CHANGED_TRIES_MAX && rc == RC_OK && cut; i++) {
        rc = read_changes(&api, query->since_us, before_us, &changes, &cut, err);
        more = cut || before_us != 0;
        span_us /= 2;
        before_us = (query->since_us + span_us) / US_PER_SECOND * US_PER_SECOND + US_PER_SECOND;
        if (query->since_us == 0 || span_us < US_PER_SECOND)
            break;
    }
    if (rc != RC_OK)
        return rc;
    qsort(changes.items, changes.count, sizeof *changes.items, by_time);
    more = more || changes.count > PRS_CHANGED_MAX;
    *ret_answer = (struct changed_answer){
        .items = changes.items,
        .count = changes.count < PRS_CHANGED_MAX ? changes.count : PRS_CHANGED_MAX,
        .more = more,
        .etag = tag_of(arena, &changes)};
    ret_answer->same = !more && text_same(ret_answer->etag, query->etag);
    return RC_OK;
}

const struct pr_ops prs_gitea = {
    .view = gitea_view,
    .changed = gitea_changed,
    .comment = gitea_comment,
    .label = gitea_label,
    .request_review = gitea_request_review,
    .mark_ready = gitea_mark_ready,
    .set_body = gitea_set_body,
    .review = gitea_review,
    .thread_reply = gitea_thread_reply,
    .thread_resolve = gitea_thread_resolve,
};

const struct pr_ops prs_forgejo = {
    .view = forgejo_view,
    .changed = gitea_changed,
    .comment = gitea_comment,
    .label = gitea_label,
    .request_review = gitea_request_review,
    .mark_ready = gitea_mark_ready,
    .set_body = gitea_set_body,
    .review = gitea_review,
    .thread_reply = forgejo_thread_reply,
};
