/*
 * prs.c - what drover does with a merge request, and which ones changed.  What it reads of
 * one is in view.c.
 *
 * GitLab replaces the list of reviewers as a whole, and adds labels by name.
 */
#include "base/clock.h"
#include "forge/gitlab/api.h"
#include "forge/gitlab/view.h"
#include "forge/port/mark.h"
#include <inttypes.h>
#include <string.h>

enum { REVIEWERS_MAX = 50, CHANGED_PAGE = 100 };

/* An act on one merge request, or on an issue. */
struct act {
    struct arena arena;
    struct host_api api;
    const struct pr_ref *ref;
    const char *path; /* Of it: "/projects/.../merge_requests/7" */
};

static void act_release(struct act *act)
{
    arena_release(&act->arena);
}

static enum rc act_open(struct act *act, struct forge_call *call, const struct pr_ref *ref,
                        struct err *err)
{
    act->ref = ref;
    enum rc rc = gitlab_open(call, ref->url, &act->arena, &act->api, err);
    if (rc == RC_OK)
        act->path = host_path(&act->api, "/%s/%" PRId64, ref->issue ? "issues" : "merge_requests",
                              ref->number);
    return rc;
}

/* ---- notes that drover keeps ---- */

/* Looks for the note of a user with the mark of a key. */
struct note_search {
    const char *login, *key;
    int64_t found; /* 0: none yet */
};

static bool look_at_note(void *ctx, const struct js *note)
{
    struct note_search *search = ctx;
    bool own = text_same(js_get_str(js_get(note, "author"), "username", NULL), search->login);
    if (own && !js_get_bool(note, "system", false) &&
        mark_is(js_get_str(note, "body", NULL), search->key))
        search->found = js_get_int(note, "id", 0);
    return search->found == 0;
}

/* Writes the note with the id, or a new one. */
static enum rc write_note(const struct act *act, const char *notes, int64_t id,
                          const struct forge_comment *comment, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "body", mark_add(act->api.arena, comment->body, comment->key));
    host_body_end(&jw);
    const char *path = id == 0 ? notes : arena_printf(act->api.arena, "%s/%" PRId64, notes, id);
    return host_send(&act->api, id == 0 ? "POST" : "PUT", path, &body, NULL, err);
}

static enum rc keep_note(struct act *act, const struct forge_comment *comment, struct err *err)
{
    const char *notes = arena_printf(act->api.arena, "%s/notes", act->path);
    struct note_search search = {.key = comment->key};
    const struct host_list list = {
        .path = arena_printf(act->api.arena, "%s?order_by=created_at&sort=asc&per_page=100", notes),
        .each = look_at_note,
        .ctx = &search};
    enum rc rc = gitlab_whoami(&act->api, &search.login, err);
    if (rc == RC_OK)
        rc = host_pages(&act->api, &list, NULL, err);
    return rc == RC_OK ? write_note(act, notes, search.found, comment, err) : rc;
}

static enum rc gitlab_comment(struct forge_call *call, const struct pr_ref *ref,
                              const struct forge_comment *comment, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    enum rc rc = act_open(&act, call, ref, err);
    return rc == RC_OK ? keep_note(&act, comment, err) : rc;
}

static enum rc gitlab_thread_reply(struct forge_call *call, const struct pr_ref *ref,
                                   const char *thread, const struct forge_comment *comment,
                                   struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct note_search search = {.key = comment->key};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = gitlab_whoami(&act.api, &search.login, err);
    if (rc != RC_OK)
        return rc;
    const char *path = arena_printf(&act.arena, "%s/discussions/%s", act.path,
                                    host_escaped(&act.arena, thread));
    rc = host_get(&act.api, path, &answer, err);
    if (rc != RC_OK)
        return rc;
    const struct js *notes = js_get(answer.document, "notes");
    for (size_t i = 0; i < js_count(notes) && look_at_note(&search, js_at(notes, i)); i++)
        continue;
    return write_note(&act, arena_printf(&act.arena, "%s/notes", path), search.found, comment, err);
}

static enum rc gitlab_thread_resolve(struct forge_call *call, const struct pr_ref *ref,
                                     const char *thread, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kbool(&jw, "resolved", true);
    host_body_end(&jw);
    enum rc rc = act_open(&act, call, ref, err);
    if (rc != RC_OK)
        return rc;
    return host_send(
        &act.api, "PUT",
        arena_printf(&act.arena, "%s/discussions/%s", act.path, host_escaped(&act.arena, thread)),
        &body, NULL, err);
}

/* ---- the merge request itself ---- */

/* One member of it, changed. */
static enum rc put_text(struct act *act, const char *key, const char *text, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, key, text);
    host_body_end(&jw);
    return host_send(&act->api, "PUT", act->path, &body, NULL, err);
}

static enum rc gitlab_set_body(struct forge_call *call, const struct pr_ref *ref, const char *text,
                               struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    enum rc rc = act_open(&act, call, ref, err);
    return rc == RC_OK ? put_text(&act, "description", text, err) : rc;
}

static enum rc gitlab_mark_ready(struct forge_call *call, const struct pr_ref *ref, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = host_get(&act.api, act.path, &answer, err);
    if (rc != RC_OK)
        return rc;
    const char *title = js_get_str(answer.document, "title", NULL);
    if (title == NULL)
        return host_unreadable(&act.api, "merge request", err);
    const char *ready = gitlab_ready_title(title);
    return text_same(title, ready) ? RC_OK : put_text(&act, "title", ready, err);
}

static enum rc gitlab_label(struct forge_call *call, const struct pr_ref *ref,
                            const char *const *labels, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(buf_release) struct buf joined;
    buf_init(&joined, HOST_BODY_MAX);
    for (; *labels != NULL; labels++) {
        if (strchr(*labels, ',') != NULL)
            return err_set(err, RC_INVALID, "INVALID_LABEL",
                           "The label %.100s has a comma, which GitLab takes for two labels.",
                           *labels);
        buf_addf(&joined, "%s%s", joined.len > 0 ? "," : "", *labels);
    }
    enum rc rc = act_open(&act, call, ref, err);
    return rc == RC_OK && joined.len > 0 ? put_text(&act, "add_labels", buf_text(&joined), err)
                                         : rc;
}

/* ---- reviewers ---- */

struct ids {
    int64_t items[REVIEWERS_MAX];
    size_t count;
};

static void ids_add(struct ids *ids, int64_t id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->items[i] == id)
            return;
    }
    if (id > 0 && ids->count < REVIEWERS_MAX)
        ids->items[ids->count++] = id;
}

static enum rc find_user(const struct act *act, const char *login, struct ids *ids, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    const char *path = arena_printf(act->api.arena, "/users?username=%s",
                                    host_escaped(act->api.arena, login));
    if (text_starts(login, "team/"))
        return err_set(err, RC_INVALID, "UNKNOWN_REVIEWER",
                       "GitLab requests no reviews from groups: name people, not %.100s.", login);
    enum rc rc = host_get(&act->api, path, &answer, err);
    if (rc != RC_OK)
        return rc;
    if (js_count(answer.document) != 1)
        return err_set(err, RC_INVALID, "UNKNOWN_REVIEWER", "GitLab has no user called %.100s.",
                       login);
    ids_add(ids, js_get_int(js_at(answer.document, 0), "id", 0));
    return RC_OK;
}

static enum rc put_reviewers(struct act *act, const struct ids *ids, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_key(&jw, "reviewer_ids");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < ids->count; i++)
        jw_int(&jw, ids->items[i]);
    jw_end(&jw, ']');
    host_body_end(&jw);
    return host_send(&act->api, "PUT", act->path, &body, NULL, err);
}

static enum rc gitlab_request_review(struct forge_call *call, const struct pr_ref *ref,
                                     const char *const *reviewers, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct ids ids = {.count = 0};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = host_get(&act.api, act.path, &answer, err);
    if (rc != RC_OK)
        return rc;
    const struct js *present = js_get(answer.document, "reviewers");
    for (size_t i = 0; i < js_count(present); i++)
        ids_add(&ids, js_get_int(js_at(present, i), "id", 0));
    size_t before = ids.count;
    for (; *reviewers != NULL && rc == RC_OK; reviewers++)
        rc = find_user(&act, *reviewers, &ids, err);
    return rc == RC_OK && ids.count > before ? put_reviewers(&act, &ids, err) : rc;
}

/* Approves unless this user has: GitLab answers a second time with 401. */
static enum rc approve(struct act *act, const char *commit, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "sha", commit);
    host_body_end(&jw);
    const char *login = NULL;
    enum rc rc = gitlab_whoami(&act->api, &login, err);
    if (rc == RC_OK)
        rc = host_get(&act->api, arena_printf(&act->arena, "%s/approvals", act->path), &answer,
                      err);
    if (rc != RC_OK)
        return rc;
    const struct js *by = js_get(answer.document, "approved_by");
    for (size_t i = 0; i < js_count(by); i++) {
        if (text_same(js_str(js_path(js_at(by, i), "user.username"), NULL), login))
            return RC_OK;
    }
    return host_send(&act->api, "POST", arena_printf(&act->arena, "%s/approve", act->path), &body,
                     NULL, err);
}

static enum rc gitlab_review(struct forge_call *call, const struct pr_ref *ref,
                             const struct pr_review_words *words, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    const struct forge_comment note = {.key = words->key, .body = words->body};
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK && !text_empty(words->body))
        rc = keep_note(&act, &note, err);
    return rc == RC_OK && words->approve ? approve(&act, words->commit, err) : rc;
}

/* ---- merging, left to GitLab ---- */

static enum rc gitlab_auto_merge(struct forge_call *call, const struct pr_ref *ref,
                                 const char *head, enum merge_way way, struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "sha", head);
    jw_kbool(&jw, "auto_merge", true);
    jw_kbool(&jw, "merge_when_pipeline_succeeds", true); /* Its name before 17.11. */
    if (way == MERGE_WAY_SQUASH)
        jw_kbool(&jw, "squash", true);
    host_body_end(&jw);
    enum rc rc = act_open(&act, call, ref, err);
    if (rc == RC_OK)
        rc = host_send(&act.api, "PUT", arena_printf(&act.arena, "%s/merge", act.path), &body, NULL,
                       err);
    return rc == RC_INVALID ? RC_CONFLICT : rc;
}

static enum rc gitlab_enqueue(struct forge_call *call, const struct pr_ref *ref, const char *head,
                              struct err *err)
{
    CLEANUP(act_release) struct act act = {.path = NULL};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "sha", head);
    jw_kbool(&jw, "auto_merge", true);
    host_body_end(&jw);
    enum rc rc = act_open(&act, call, ref, err);
    if (rc != RC_OK)
        return rc;
    const char *path = host_path(&act.api, "/merge_trains/merge_requests/%" PRId64, ref->number);
    rc = host_get(&act.api, path, &answer, err);
    bool there = rc == RC_OK && !text_same(js_get_str(answer.document, "status", ""), "merged");
    if (there || (rc != RC_OK && rc != RC_NOT_FOUND))
        return rc;
    rc = host_send(&act.api, "POST", path, &body, NULL, err);
    return rc == RC_INVALID ? RC_CONFLICT : rc;
}

/* ---- what changed ---- */

struct changes {
    struct arena *arena;
    struct forge_changed *items;
    size_t count;
    bool is_pr;
};

static void add_changes(struct changes *to, const struct js *items)
{
    for (size_t i = 0; i < js_count(items) && to->count < PRS_CHANGED_MAX; i++) {
        const struct js *item = js_at(items, i);
        struct forge_changed changed = {.number = js_get_int(item, "iid", 0),
                                        .is_pr = to->is_pr,
                                        .updated_us = host_time(item, "updated_at")};
        size_t at = to->count;
        if (changed.number < 1)
            continue;
        for (; at > 0 && to->items[at - 1].updated_us > changed.updated_us; at--)
            to->items[at] = to->items[at - 1];
        to->items[at] = changed;
        to->count++;
    }
}

/* One of the two lists: a page of it, the oldest change first. */
struct half {
    const char *kind; /* merge_requests, issues */
    const char *etag; /* Of the last answer; then of this one. */
    bool same;
    int64_t cut_us; /* There are more after this change; 0: there are not. */
};

static enum rc read_half(const struct host_api *api, const struct changed_query *query,
                         struct half *half, struct changes *to, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    char since[TIME_TEXT_BYTES];
    const char *which = query->since_us == 0
                            ? "state=opened"
                            : arena_printf(api->arena, "state=all&updated_after=%s",
                                           time_format(since, query->since_us));
    const struct rest_request request = {
        .dialect = api->dialect,
        .base = api->repo->api,
        .host = api->repo->host,
        .method = "GET",
        .path = host_path(api, "/%s?%s&scope=all&order_by=updated_at&sort=asc&per_page=%d",
                          half->kind, which, CHANGED_PAGE),
        .etag = text_empty(half->etag) ? NULL : half->etag};
    enum rc rc = rest_call(api->call, &request, api->arena, &answer, err);
    if (rc != RC_OK)
        return rc;
    half->same = answer.same;
    half->etag = answer.etag != NULL ? answer.etag : "";
    if (answer.same)
        return RC_OK;
    if (js_type(answer.document) != JS_ARRAY)
        return host_unreadable(api, "list", err);
    to->is_pr = text_same(half->kind, "merge_requests");
    add_changes(to, answer.document);
    size_t count = js_count(answer.document);
    if (answer.next != NULL && count > 0)
        half->cut_us = host_time(js_at(answer.document, count - 1), "updated_at");
    return RC_OK;
}

/* Drops what comes after the end of a list that is not whole. */
static void cut_after(struct changes *changes, int64_t time_us)
{
    while (changes->count > 0 && changes->items[changes->count - 1].updated_us > time_us)
        changes->count--;
}

static enum rc gitlab_changed(struct forge_call *call, const struct changed_query *query,
                              struct arena *arena, struct changed_answer *ret_answer,
                              struct err *err)
{
    struct host_api api;
    struct changes changes = {.arena = arena};
    char *tags = arena_strdup(arena, query->etag != NULL ? query->etag : "");
    struct half halves[] = {{.kind = "merge_requests", .etag = strsep(&tags, " ")},
                            {.kind = "issues", .etag = tags}};
    changes.items = arena_array(arena, PRS_CHANGED_MAX + 1, sizeof *changes.items);
    enum rc rc = gitlab_open(call, query->url, arena, &api, err);
    for (size_t i = 0; i < COUNT_OF(halves) && rc == RC_OK; i++)
        rc = read_half(&api, query, &halves[i], &changes, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < COUNT_OF(halves); i++) {
        if (halves[i].cut_us != 0)
            cut_after(&changes, halves[i].cut_us);
    }
    *ret_answer = (struct changed_answer){
        .items = changes.items,
        .count = changes.count,
        .same = halves[0].same && halves[1].same,
        .more = halves[0].cut_us != 0 || halves[1].cut_us != 0,
        /* An ETag of GitLab's has no blanks in it. */
        .etag = arena_printf(arena, "%s %s", halves[0].etag, halves[1].etag),
    };
    return RC_OK;
}

const struct pr_ops prs_gitlab = {
    .view = gitlab_view,
    .changed = gitlab_changed,
    .comment = gitlab_comment,
    .label = gitlab_label,
    .request_review = gitlab_request_review,
    .mark_ready = gitlab_mark_ready,
    .set_body = gitlab_set_body,
    .review = gitlab_review,
    .thread_reply = gitlab_thread_reply,
    .thread_resolve = gitlab_thread_resolve,
    .auto_merge = gitlab_auto_merge,
    .enqueue = gitlab_enqueue,
};
