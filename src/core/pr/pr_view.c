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
 *
 * Each object is a table of the members of its struct, by which it is written and read.
 * To add a member: its row, in the order of the form above, and docs/PROTOCOL.md where it is shown.
 */
#include "core/pr/pr_view.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/str.h"
#include <string.h>

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

/* ---- the form ---- */

enum kind {
    KIND_TEXT,
    KIND_INT,
    KIND_BOOL,
    KIND_TIME,
    KIND_CHOICE,
    KIND_TEXTS, /* NULL-terminated. */
    KIND_LIST,
};

struct member {
    const char *key;
    enum kind kind;
    size_t at; /* In the struct. */
    enum field_need need;
    const char *fallback;     /* Of a text that is absent. */
    int64_t min;              /* Of a number. */
    const char *const *names; /* Of a choice. */
    const struct shape *of;   /* Of a list: its items, and where their number is. */
    size_t count_at, max;
};

struct shape {
    size_t bytes;
    const struct member *members; /* Ends with one without a key. */
};

#define AT(type, name) offsetof(struct type, name)

static const struct member check_members[] = {
    {.key = "id", .kind = KIND_TEXT, .at = AT(check_view, id), .need = FIELD_REQUIRED},
    {.key = "name", .kind = KIND_TEXT, .at = AT(check_view, name), .need = FIELD_REQUIRED},
    {.key = "state",
     .kind = KIND_CHOICE,
     .at = AT(check_view, state),
     .need = FIELD_REQUIRED,
     .names = check_names},
    {.key = "url", .kind = KIND_TEXT, .at = AT(check_view, url)},
    {.key = "summary", .kind = KIND_TEXT, .at = AT(check_view, summary)},
    {.key = "startedAt", .kind = KIND_TIME, .at = AT(check_view, started_us)},
    {.key = "endedAt", .kind = KIND_TIME, .at = AT(check_view, ended_us)},
    {.key = "required", .kind = KIND_BOOL, .at = AT(check_view, required)},
    {.key = "own", .kind = KIND_BOOL, .at = AT(check_view, own)},
    {.key = "job", .kind = KIND_BOOL, .at = AT(check_view, job)},
    {.key = NULL},
};
static const struct shape check_shape = {.bytes = sizeof(struct check_view),
                                         .members = check_members};

static const struct member review_members[] = {
    {.key = "id", .kind = KIND_TEXT, .at = AT(review_view, id), .need = FIELD_REQUIRED},
    {.key = "author", .kind = KIND_TEXT, .at = AT(review_view, author), .need = FIELD_REQUIRED},
    {.key = "association", .kind = KIND_TEXT, .at = AT(review_view, association)},
    {.key = "verdict",
     .kind = KIND_CHOICE,
     .at = AT(review_view, verdict),
     .need = FIELD_REQUIRED,
     .names = verdict_names},
    {.key = "commit", .kind = KIND_TEXT, .at = AT(review_view, commit), .fallback = ""},
    {.key = "body", .kind = KIND_TEXT, .at = AT(review_view, body), .fallback = ""},
    {.key = "submittedAt", .kind = KIND_TIME, .at = AT(review_view, submitted_us)},
    {.key = NULL},
};
static const struct shape review_shape = {.bytes = sizeof(struct review_view),
                                          .members = review_members};

static const struct member comment_members[] = {
    {.key = "id", .kind = KIND_TEXT, .at = AT(thread_comment, id), .need = FIELD_REQUIRED},
    {.key = "author", .kind = KIND_TEXT, .at = AT(thread_comment, author), .need = FIELD_REQUIRED},
    {.key = "association", .kind = KIND_TEXT, .at = AT(thread_comment, association)},
    {.key = "body", .kind = KIND_TEXT, .at = AT(thread_comment, body), .fallback = ""},
    {.key = "createdAt", .kind = KIND_TIME, .at = AT(thread_comment, created_us)},
    {.key = NULL},
};
static const struct shape comment_shape = {.bytes = sizeof(struct thread_comment),
                                           .members = comment_members};

static const struct member thread_members[] = {
    {.key = "id", .kind = KIND_TEXT, .at = AT(thread_view, id), .need = FIELD_REQUIRED},
    {.key = "path", .kind = KIND_TEXT, .at = AT(thread_view, path)},
    {.key = "line", .kind = KIND_INT, .at = AT(thread_view, line)},
    {.key = "resolved", .kind = KIND_BOOL, .at = AT(thread_view, resolved)},
    {.key = "outdated", .kind = KIND_BOOL, .at = AT(thread_view, outdated)},
    {.key = "comments",
     .kind = KIND_LIST,
     .at = AT(thread_view, comments),
     .count_at = AT(thread_view, comment_count),
     .of = &comment_shape,
     .max = PR_THREAD_COMMENTS_MAX},
    {.key = NULL},
};
static const struct shape thread_shape = {.bytes = sizeof(struct thread_view),
                                          .members = thread_members};

static const struct member view_members[] = {
    {.key = "number",
     .kind = KIND_INT,
     .at = AT(pr_view, number),
     .need = FIELD_REQUIRED,
     .min = 1},
    {.key = "url", .kind = KIND_TEXT, .at = AT(pr_view, url), .fallback = ""},
    {.key = "title", .kind = KIND_TEXT, .at = AT(pr_view, title), .fallback = ""},
    {.key = "author", .kind = KIND_TEXT, .at = AT(pr_view, author), .fallback = ""},
    {.key = "state",
     .kind = KIND_CHOICE,
     .at = AT(pr_view, state),
     .need = FIELD_REQUIRED,
     .names = state_names},
    {.key = "draft", .kind = KIND_BOOL, .at = AT(pr_view, draft)},
    {.key = "head", .kind = KIND_TEXT, .at = AT(pr_view, head), .need = FIELD_REQUIRED},
    {.key = "headBranch", .kind = KIND_TEXT, .at = AT(pr_view, head_branch), .fallback = ""},
    {.key = "base", .kind = KIND_TEXT, .at = AT(pr_view, base), .fallback = ""},
    {.key = "targetBranch",
     .kind = KIND_TEXT,
     .at = AT(pr_view, target_branch),
     .need = FIELD_REQUIRED},
    {.key = "mergeCommit", .kind = KIND_TEXT, .at = AT(pr_view, merge_commit)},
    {.key = "mergeable",
     .kind = KIND_CHOICE,
     .at = AT(pr_view, mergeable),
     .names = mergeable_names},
    {.key = "autoMerge", .kind = KIND_BOOL, .at = AT(pr_view, auto_merge)},
    {.key = "queued", .kind = KIND_BOOL, .at = AT(pr_view, queued)},
    {.key = "updatedAt", .kind = KIND_TIME, .at = AT(pr_view, updated_us)},
    {.key = "cut", .kind = KIND_BOOL, .at = AT(pr_view, cut)},
    {.key = "labels", .kind = KIND_TEXTS, .at = AT(pr_view, labels), .max = LABELS_MAX},
    {.key = "checks",
     .kind = KIND_LIST,
     .at = AT(pr_view, checks),
     .count_at = AT(pr_view, check_count),
     .of = &check_shape,
     .max = PR_CHECKS_MAX},
    {.key = "reviews",
     .kind = KIND_LIST,
     .at = AT(pr_view, reviews),
     .count_at = AT(pr_view, review_count),
     .of = &review_shape,
     .max = PR_REVIEWS_MAX},
    {.key = "threads",
     .kind = KIND_LIST,
     .at = AT(pr_view, threads),
     .count_at = AT(pr_view, thread_count),
     .of = &thread_shape,
     .max = PR_THREADS_MAX},
    {.key = NULL},
};
static const struct shape view_shape = {.bytes = sizeof(struct pr_view), .members = view_members};

/* ---- writing ---- */

static void write_object(struct jw *jw, const struct shape *shape, const char *object);

static void write_texts(struct jw *jw, const struct member *member, const char *object)
{
    const char **texts;
    memcpy(&texts, object + member->at, sizeof texts);
    jw_key(jw, member->key);
    jw_begin(jw, '[');
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        jw_str(jw, texts[i]);
    jw_end(jw, ']');
}

static void write_list(struct jw *jw, const struct member *member, const char *object)
{
    const char *items;
    size_t count;
    memcpy(&items, object + member->at, sizeof items);
    memcpy(&count, object + member->count_at, sizeof count);
    jw_key(jw, member->key);
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++)
        write_object(jw, member->of, items + i * member->of->bytes);
    jw_end(jw, ']');
}

static void write_object(struct jw *jw, const struct shape *shape, const char *object)
{
    jw_begin(jw, '{');
    for (const struct member *member = shape->members; member->key != NULL; member++) {
        const void *at = object + member->at;
        switch (member->kind) {
        case KIND_TEXT:
            jw_kstr(jw, member->key, *(const char *const *)at);
            break;
        case KIND_INT:
            jw_kint(jw, member->key, *(const int64_t *)at);
            break;
        case KIND_BOOL:
            jw_kbool(jw, member->key, *(const bool *)at);
            break;
        case KIND_TIME:
            jw_ktime(jw, member->key, *(const int64_t *)at);
            break;
        case KIND_CHOICE:
            jw_kstr(jw, member->key, member->names[*(const unsigned *)at]);
            break;
        case KIND_TEXTS:
            write_texts(jw, member, object);
            break;
        case KIND_LIST:
            write_list(jw, member, object);
            break;
        }
    }
    jw_end(jw, '}');
}

void pr_view_write(struct jw *jw, const struct pr_view *view)
{
    write_object(jw, &view_shape, (const char *)view);
}

/* ---- reading ---- */

/* What a decoding passes on. */
struct decoding {
    struct arena *arena;
    struct err *err;
};

static enum rc decode_object(const struct decoding *decoding, const struct shape *shape,
                             const struct js *document, const char *path, char *object);

static void take_time(struct fields *fields, const char *key, int64_t *ret_us)
{
    const char *text = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){.max = TIME_TEXT_BYTES}, &text);
    if (text != NULL && !time_parse(text, ret_us))
        fields_fail(fields, key, "%s must be a time, such as 2026-07-03T12:00:00Z", key);
}

/* Copies go to the arena: the document ends before the view does. */
static void take_texts(struct fields *fields, const struct member *member, struct arena *arena,
                       char *object)
{
    const struct js *array = NULL;
    fields_strings(fields, member->key, member->need, member->max, &(struct field_text){.min = 0},
                   &array);
    const char **texts = arena_array(arena, js_count(array) + 1, sizeof *texts);
    for (size_t i = 0; i < js_count(array); i++)
        texts[i] = arena_strdup(arena, js_str(js_at(array, i), ""));
    memcpy(object + member->at, &texts, sizeof texts);
}

static enum rc take_list(struct fields *fields, const struct member *member,
                         const struct decoding *decoding, char *object)
{
    const struct js *array = NULL;
    enum rc rc = RC_OK;
    fields_array(fields, member->key, member->need, member->max, &array);
    size_t count = js_count(array);
    char *items = arena_array(decoding->arena, count + 1, member->of->bytes);
    const char *within = fields->path;
    for (size_t i = 0; i < count && rc == RC_OK; i++)
        rc = decode_object(decoding, member->of, js_at(array, i),
                           arena_printf(decoding->arena, "%s%s%s[%zu]", within,
                                        within[0] ? "." : "", member->key, i),
                           items + i * member->of->bytes);
    memcpy(object + member->at, &items, sizeof items);
    memcpy(object + member->count_at, &count, sizeof count);
    return rc;
}

static enum rc take_member(struct fields *fields, const struct member *member,
                           const struct decoding *decoding, char *object)
{
    void *at = object + member->at;
    const char *text = NULL;
    int choice = 0;
    switch (member->kind) {
    case KIND_TEXT:
        fields_string(fields, member->key, member->need, &(struct field_text){.max = TEXT_MAX},
                      &text);
        *(const char **)at = text != NULL ? arena_strdup(decoding->arena, text) : member->fallback;
        break;
    case KIND_INT:
        fields_int(fields, member->key, member->need, &(struct field_range){member->min, INT64_MAX},
                   at);
        break;
    case KIND_BOOL:
        fields_bool(fields, member->key, member->need, at);
        break;
    case KIND_TIME:
        take_time(fields, member->key, at);
        break;
    case KIND_CHOICE:
        fields_choice(fields, member->key, member->need, member->names, &choice);
        *(unsigned *)at = (unsigned)choice;
        break;
    case KIND_TEXTS:
        take_texts(fields, member, decoding->arena, object);
        break;
    case KIND_LIST:
        return take_list(fields, member, decoding, object);
    }
    return RC_OK;
}

/* The object is zeroed.  Of its own errors the first wins; an item of a list is reported before a
   member that is not known. */
static enum rc decode_object(const struct decoding *decoding, const struct shape *shape,
                             const struct js *document, const char *path, char *object)
{
    struct fields fields;
    enum rc rc = RC_OK;
    fields_open(&fields, document, path, decoding->err);
    for (const struct member *member = shape->members; member->key != NULL && rc == RC_OK; member++)
        rc = take_member(&fields, member, decoding, object);
    return rc == RC_OK ? fields_close(&fields) : rc;
}

enum rc pr_view_decode(const struct js *document, struct arena *arena, struct pr_view *ret_view,
                       struct err *err)
{
    struct pr_view view = {0};
    const struct decoding decoding = {.arena = arena, .err = err};
    enum rc rc = decode_object(&decoding, &view_shape, document, "", (char *)&view);
    if (rc == RC_OK)
        *ret_view = view;
    return rc;
}
