/*
 * issues.c - issues of the local forge: they live in the repository itself.
 *
 *     refs/drover/issues/<N>    a chain of commits of the empty tree, the oldest opened the issue
 *
 * Each commit is one thing that happened.  Its message has two lines of JSON:
 *
 *     {"title", "state", "author", "labels", "createdAt", "updatedAt", "comments"}    as it is now
 *                                                                                     (blank)
 *     {"event": "opened" | "commented" | "closed" | "reopened" | "labelled" | "noted",
 *      "by", "at", "body", "key"}                                                     what happened
 *
 * So a listing reads the subjects of the last commits, and the chain is the history.  Events of
 * unknown kinds are skipped.  Numbers are taken once: a ref is created only where none is, and none
 * is ever deleted.  Every change of an issue names the commit that it has read.
 *
 * A note is a comment that may be edited: of those with one key the last one counts, at the place
 * of the first.  All authors are users of drover who may write issues, hence members.
 *
 * A chain is read as a whole, so nothing is added that would make it too long to be read.
 */
#include "forge/local/issues.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/js.h"
#include "base/jw.h"
#include "forge/git/origin.h"
#include "forge/local/local.h"
#include "forge/port/issues.h"
#include "forge/port/mark.h"
#include "forge/port/prs.h"
#include <inttypes.h>
#include <string.h>

#define ISSUES_PREFIX "refs/drover/issues/"
#define ISSUES_LOCK   "drover-issues.lock"
#define MEMBER        "MEMBER"
enum {
    MESSAGE_BYTES_MAX = 1024 * 1024, /* Every byte of it escaped. */
    CHAIN_BYTES_MAX = 64 * 1024 * 1024,
    CHAIN_COMMENTS_MAX = CHAIN_BYTES_MAX - MESSAGE_BYTES_MAX, /* It can still be closed then. */
    COMMIT_LINES_BYTES = 128,                                 /* What git prints round a message. */
};

struct chain {
    const char *tip;
    size_t bytes; /* As git prints all of it. */
    struct issue issue;
    int64_t said;       /* Comments that were read so far. */
    const char **notes; /* Of each comment its key, or NULL. */
    struct forge_act *acts;
    size_t act_count;
    struct str labels_before; /* The last event. */
    bool opened;
};

static const char *ref_of(const struct origin *origin, int64_t number)
{
    return arena_printf(origin->arena, ISSUES_PREFIX "%" PRId64, number);
}

/* ---- writing ---- */

static void write_head(struct jw *jw, const struct issue *issue)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "title", issue->title);
    jw_kstr(jw, "state", issue->state);
    jw_kstr(jw, "author", issue->author);
    jw_kraw(jw, "labels", issue->labels);
    jw_ktime(jw, "createdAt", issue->created_us);
    jw_ktime(jw, "updatedAt", issue->updated_us);
    jw_kint(jw, "comments", issue->comment_count);
    jw_end(jw, '}');
}

static const char *event_of(const struct issue_words *words)
{
    if (words->title != NULL)
        return "opened";
    if (words->state != NULL)
        return text_same(words->state, "closed") ? "closed" : "reopened";
    if (words->key != NULL)
        return "noted";
    return words->body == NULL ? "labelled" : "commented";
}

static void write_message(struct buf *message, const struct issue *issue,
                          const struct issue_words *words)
{
    struct jw head = jw_to(message);
    write_head(&head, issue);
    buf_adds(message, "\n\n");
    struct jw event = jw_to(message);
    jw_begin(&event, '{');
    jw_kstr(&event, "event", event_of(words));
    jw_kstr(&event, "by", words->author);
    jw_ktime(&event, "at", words->time_us);
    jw_kstr(&event, "body", words->body);
    jw_optstr(&event, "key", words->key);
    jw_end(&event, '}');
}

/* On top of the chain, or (NULL) the first of one. */
static enum rc make_commit(const struct origin *origin, const struct issue *issue,
                           const struct issue_words *words, const struct chain *chain,
                           const char **ret_hash, struct err *err)
{
    CLEANUP(buf_release) struct buf message;
    buf_init(&message, MESSAGE_BYTES_MAX);
    write_message(&message, issue, words);
    if (message.overflow)
        return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "The text is too large for an issue.");
    size_t bytes_max = words->state != NULL ? CHAIN_BYTES_MAX : CHAIN_COMMENTS_MAX;
    if (chain != NULL && chain->bytes + message.len + COMMIT_LINES_BYTES > bytes_max)
        return err_set(err, RC_CONFLICT, "ISSUE_FULL",
                       "Issue %" PRId64 " has as much text as an issue can have; open another one.",
                       issue->number);
    const struct origin_note note = {.parent = chain != NULL ? chain->tip : NULL,
                                     .message = buf_text(&message),
                                     .time_us = words->time_us};
    return origin_commit(origin, &note, ret_hash, err);
}

/* Only if the ref still is what was seen; "" is "must not exist". */
static enum rc move_ref(const struct origin *origin, const char *ref, const char *to,
                        const char *seen, struct err *err)
{
    return origin_move_ref(origin, &(struct origin_move){.ref = ref, .to = to, .seen = seen}, err);
}

/* ---- reading ---- */

static bool read_head(const struct js *head, struct arena *arena, struct issue *issue)
{
    const char *title = js_get_str(head, "title", NULL);
    if (title == NULL)
        return false;
    const struct js *labels = js_get(head, "labels");
    issue->title = arena_strdup(arena, title);
    issue->state = text_same(js_get_str(head, "state", ""), "closed") ? "closed" : "open";
    issue->author = arena_strdup(arena, js_get_str(head, "author", ""));
    issue->association = MEMBER;
    issue->labels = js_type(labels) == JS_ARRAY ? str_of(js_text(labels, arena)) : STR("[]");
    if (!time_parse(js_get_str(head, "createdAt", ""), &issue->created_us) ||
        !time_parse(js_get_str(head, "updatedAt", ""), &issue->updated_us))
        return false;
    issue->comment_count = js_get_int(head, "comments", 0);
    return true;
}

static bool read_head_line(const char *line, struct arena *arena, struct issue *issue)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    return js_parse(line, strlen(line), &tree, NULL) == RC_OK && read_head(tree, arena, issue);
}

/* Labels that are in the head now and were not before it. */
static void read_labels(const struct js *event, struct arena *arena, struct chain *chain)
{
    CLEANUP(js_freep) struct js *now = NULL, *then = NULL;
    if (js_parse(chain->issue.labels.at, chain->issue.labels.len, &now, NULL) != RC_OK ||
        js_parse(chain->labels_before.at, chain->labels_before.len, &then, NULL) != RC_OK)
        return;
    for (size_t i = 0; i < js_count(now) && chain->act_count < FORGE_ACTS_MAX; i++) {
        const char *label = js_str(js_at(now, i), "");
        size_t at = 0;
        while (at < js_count(then) && !text_same(js_str(js_at(then, at), ""), label))
            at++;
        if (at < js_count(then))
            continue;
        struct forge_act *act = &chain->acts[chain->act_count++];
        *act = (struct forge_act){.what = arena_strdup(arena, label),
                                  .actor = arena_strdup(arena, js_get_str(event, "by", ""))};
        if (!time_parse(js_get_str(event, "at", ""), &act->at_us))
            act->at_us = 0;
    }
}

/* The comment with this key; a new one without it. */
static struct issue_comment *comment_of(struct chain *chain, const char *key)
{
    for (int64_t i = 0; key != NULL && i < chain->said; i++)
        if (text_same(chain->notes[i], key))
            return &chain->issue.comments[i];
    return chain->said < ISSUE_COMMENTS_MAX ? &chain->issue.comments[chain->said] : NULL;
}

static void read_comment(const struct js *event, struct arena *arena, struct chain *chain)
{
    const char *key = js_get_str(event, "key", NULL);
    struct issue_comment *comment = comment_of(chain, key);
    int64_t at_us = 0;
    if (comment == NULL)
        return;
    if (comment == &chain->issue.comments[chain->said]) {
        chain->notes[chain->said++] = arena_strdup(arena, key);
        comment->id = chain->said;
    }
    if (!time_parse(js_get_str(event, "at", ""), &at_us))
        at_us = 0;
    comment->author = arena_strdup(arena, js_get_str(event, "by", ""));
    comment->association = MEMBER;
    comment->body = arena_strdup(arena, js_get_str(event, "body", ""));
    if (comment->created_us == 0)
        comment->created_us = at_us;
    comment->updated_us = at_us;
}

static void read_event(const struct js *event, struct arena *arena, struct chain *chain)
{
    const char *what = js_get_str(event, "event", "");
    if (text_same(what, "opened")) {
        chain->issue.body = arena_strdup(arena, js_get_str(event, "body", ""));
        chain->opened = true;
    }
    if (text_same(what, "opened") || text_same(what, "labelled"))
        read_labels(event, arena, chain);
    if (text_same(what, "commented") || text_same(what, "noted"))
        read_comment(event, arena, chain);
}

/* One line of `rev-list --format=%B`: of a message, or between two. */
static void read_line(const char *line, struct arena *arena, struct chain *chain)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (line[0] != '{' || js_parse(line, strlen(line), &tree, NULL) != RC_OK)
        return;
    if (js_get(tree, "event") != NULL) {
        read_event(tree, arena, chain);
        return;
    }
    chain->labels_before = chain->issue.labels.len > 0 ? chain->issue.labels : STR("[]");
    (void)read_head(tree, arena, &chain->issue); /* The last one stays. */
}

/* The line at *at, ended there; NULL past the last one. */
static char *next_line(char **at)
{
    char *line = *at;
    if (line == NULL || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    if (end != NULL)
        *end = '\0';
    *at = end != NULL ? end + 1 : NULL;
    return line;
}

static enum rc find_tip(const struct origin *origin, int64_t number, const char **ret_tip,
                        struct err *err)
{
    const char *tip = NULL;
    enum rc rc = origin_ref(origin, ref_of(origin, number), &tip, err);
    if (rc == RC_OK && tip == NULL)
        return err_set(err, RC_NOT_FOUND, "ISSUE_NOT_FOUND",
                       "The repository has no issue %" PRId64 ".", number);
    if (rc == RC_OK)
        *ret_tip = tip;
    return rc;
}

static enum rc read_chain(const struct origin *origin, int64_t number, struct chain *ret_chain,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, CHAIN_BYTES_MAX);
    struct chain chain = {
        .issue = {.number = number,
                  .comments = arena_array(origin->arena, ISSUE_COMMENTS_MAX + 1,
                                          sizeof(struct issue_comment))},
        .notes = arena_array(origin->arena, ISSUE_COMMENTS_MAX + 1, sizeof(const char *)),
        .acts = arena_array(origin->arena, FORGE_ACTS_MAX, sizeof(struct forge_act)),
    };
    enum rc rc = find_tip(origin, number, &chain.tip, err);
    if (rc != RC_OK)
        return rc;
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("rev-list", "--reverse", "--format=%B", chain.tip, "--"),
        .out = &out};
    rc = git_run(origin->git, &list, err);
    if (rc != RC_OK)
        return rc;
    char *at = out.data;
    for (const char *line; (line = next_line(&at)) != NULL;)
        read_line(line, origin->arena, &chain);
    if (!chain.opened || chain.issue.title == NULL)
        return err_set(err, RC_CORRUPT, "ISSUE_UNREADABLE",
                       "What the repository has as issue %" PRId64 " is no issue.", number);
    chain.issue.comment_count = chain.said;
    chain.bytes = out.len;
    *ret_chain = chain;
    return RC_OK;
}

static enum rc local_get(const struct issue_ops *ops, struct forge_call *call, const char *url,
                         int64_t number, struct arena *arena, struct issue *ret_issue,
                         struct err *err)
{
    (void)ops;
    const struct git *git = &call->git;
    struct origin origin = {.git = git, .arena = arena};
    struct chain chain;
    enum rc rc = origin_open(&origin, url, err);
    if (rc == RC_OK)
        rc = read_chain(&origin, number, &chain, err);
    if (rc == RC_OK)
        *ret_issue = chain.issue;
    return rc;
}

/* ---- list ---- */

/* "refs/drover/issues/<N> <head>" */
static bool read_listed(char *line, struct arena *arena, struct issue *issue)
{
    char *blank = strchr(line, ' ');
    if (!text_starts(line, ISSUES_PREFIX) || blank == NULL)
        return false;
    *blank = '\0';
    if (!text_to_i64(line + strlen(ISSUES_PREFIX), &issue->number) || issue->number < 1)
        return false;
    issue->body = "";
    return read_head_line(blank + 1, arena, issue);
}

static enum rc local_list(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          const struct issue_filter *filter, struct arena *arena,
                          struct issue **ret_issues, size_t *ret_count, struct err *err)
{
    (void)ops;
    const struct git *git = &call->git;
    struct origin origin = {.git = git, .arena = arena};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    size_t limit = filter->limit < ISSUES_LISTED_MAX ? filter->limit : ISSUES_LISTED_MAX;
    struct issue *issues = arena_array(arena, limit + 1, sizeof *issues);
    size_t count = 0;
    enum rc rc = origin_open(&origin, url, err);
    if (rc != RC_OK)
        return rc;
    struct git_call list = {.git_dir = origin.dir,
                            .args = GIT_ARGS("for-each-ref", "--sort=-version:refname",
                                             "--format=%(refname) %(contents:subject)",
                                             ISSUES_PREFIX),
                            .out = &out};
    rc = git_run(git, &list, err);
    if (rc != RC_OK)
        return rc;
    char *at = out.data;
    for (char *line; count < limit && (line = next_line(&at)) != NULL;) {
        struct issue issue = {0};
        if (read_listed(line, arena, &issue) &&
            (filter->before == 0 || issue.number < filter->before) &&
            (filter->state == NULL || text_same(filter->state, issue.state)))
            issues[count++] = issue;
    }
    *ret_issues = issues;
    *ret_count = count;
    return RC_OK;
}

/* ---- open and change ---- */

static enum rc highest(const struct origin *origin, int64_t *ret_number, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    struct git_call list = {.git_dir = origin->dir,
                            .args = GIT_ARGS("for-each-ref", "--format=%(refname)", ISSUES_PREFIX),
                            .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc != RC_OK)
        return rc;
    int64_t number = 0, found = 0;
    char *at = out.data;
    for (const char *line; (line = next_line(&at)) != NULL;) {
        if (text_to_i64(line + strlen(ISSUES_PREFIX), &found) && found > number &&
            found <= ORIGIN_NUMBER_MAX)
            number = found;
    }
    *ret_number = number;
    return RC_OK;
}

/* A number that another process takes meanwhile without our lock is not used. */
static enum rc take_number(const struct origin *origin, const char *commit, int64_t *ret_number,
                           struct err *err)
{
    int64_t tried = 0;
    enum rc rc = RC_IO;
    for (int i = 0; i < ORIGIN_TRIES_MAX && rc == RC_IO; i++) {
        int64_t number = 0;
        rc = highest(origin, &number, err);
        if (rc != RC_OK)
            return rc;
        number = number >= tried ? number + 1 : tried + 1;
        rc = move_ref(origin, ref_of(origin, number), commit, NULL, err);
        if (rc == RC_OK)
            *ret_number = number;
        tried = number;
    }
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "cannot take a number for the issue");
}

static enum rc local_open(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          const struct issue_words *words, struct arena *arena,
                          struct issue *ret_issue, struct err *err)
{
    (void)ops;
    const struct git *git = &call->git;
    struct origin origin = {.git = git, .arena = arena};
    CLEANUP(fd_closep) int lock = -1;
    struct issue issue = {
        .title = words->title,
        .body = words->body,
        .state = "open",
        .author = words->author,
        .labels = words->labels.len > 0 ? words->labels : STR("[]"),
        .created_us = words->time_us,
        .updated_us = words->time_us,
    };
    const char *commit = NULL;
    enum rc rc = origin_open(&origin, url, err);
    if (rc == RC_OK)
        rc = make_commit(&origin, &issue, words, NULL, &commit, err);
    if (rc == RC_OK)
        rc = origin_lock(&origin, ISSUES_LOCK, &lock, err);
    if (rc == RC_OK)
        rc = take_number(&origin, commit, &issue.number, err);
    if (rc == RC_OK)
        *ret_issue = issue;
    return rc;
}

/* The note says that already. */
static bool has_note(struct chain *chain, const struct issue_words *words)
{
    const struct issue_comment *note = words->key != NULL ? comment_of(chain, words->key) : NULL;
    return note != NULL && text_same(note->body, words->body);
}

/* Applies the words to the issue. */
static enum rc take_in(struct chain *chain, const struct issue_words *words, struct err *err)
{
    struct issue *issue = &chain->issue;
    issue->updated_us = words->time_us;
    if (words->state != NULL && text_same(words->state, issue->state))
        return err_set(err, RC_CONFLICT,
                       text_same(issue->state, "closed") ? "ISSUE_CLOSED" : "ISSUE_OPEN",
                       "Issue %" PRId64 " is %s already.", issue->number, issue->state);
    if (words->state != NULL) {
        issue->state = words->state;
        return RC_OK;
    }
    if (words->body == NULL) {
        issue->labels = words->labels.len > 0 ? words->labels : STR("[]");
        return RC_OK;
    }
    if (words->key != NULL) {
        struct issue_comment *note = comment_of(chain, words->key);
        if (note != NULL && note != &issue->comments[chain->said]) {
            note->body = words->body;
            return RC_OK;
        }
    }
    if (issue->comment_count >= ISSUE_COMMENTS_MAX)
        return err_set(err, RC_CONFLICT, "TOO_MANY_COMMENTS",
                       "Issue %" PRId64 " has %d comments; it takes no more.", issue->number,
                       ISSUE_COMMENTS_MAX);
    issue->comments[issue->comment_count] = (struct issue_comment){
        .author = words->author,
        .body = words->body,
        .id = issue->comment_count + 1,
        .association = MEMBER,
        .created_us = words->time_us,
        .updated_us = words->time_us,
    };
    issue->comment_count++;
    return RC_OK;
}

static enum rc local_change(const struct issue_ops *ops, struct forge_call *call, const char *url,
                            int64_t number, const struct issue_words *words, struct arena *arena,
                            struct issue *ret_issue, struct err *err)
{
    (void)ops;
    const struct git *git = &call->git;
    struct origin origin = {.git = git, .arena = arena};
    CLEANUP(fd_closep) int lock = -1;
    struct chain chain;
    const char *commit = NULL;
    enum rc rc = origin_open(&origin, url, err);
    if (rc == RC_OK)
        rc = origin_lock(&origin, ISSUES_LOCK, &lock, err);
    if (rc == RC_OK)
        rc = read_chain(&origin, number, &chain, err);
    if (rc == RC_OK && has_note(&chain, words)) {
        *ret_issue = chain.issue;
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = take_in(&chain, words, err);
    if (rc == RC_OK)
        rc = make_commit(&origin, &chain.issue, words, &chain, &commit, err);
    if (rc == RC_OK)
        rc = move_ref(&origin, ref_of(&origin, number), commit, chain.tip, err);
    if (rc == RC_OK)
        *ret_issue = chain.issue;
    return rc;
}

static enum rc local_note(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          int64_t number, const struct forge_comment *comment, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct clock clock = clock_real();
    const struct issue_words words = {
        .body = mark_add(&arena, comment->body, comment->key),
        .author = "drover",
        .time_us = clock_now_us(&clock),
        .key = comment->key,
    };
    struct issue issue;
    return local_change(ops, call, url, number, &words, &arena, &issue, err);
}

enum rc issues_local_acts(struct forge_call *call, const char *url, int64_t number,
                          struct arena *arena, struct forge_act **ret_acts, size_t *ret_count,
                          struct err *err)
{
    struct origin origin = {.git = &call->git, .arena = arena};
    struct chain chain;
    enum rc rc = origin_open(&origin, url, err);
    if (rc == RC_OK)
        rc = read_chain(&origin, number, &chain, err);
    if (rc != RC_OK)
        return rc;
    *ret_acts = chain.acts;
    *ret_count = chain.act_count;
    return RC_OK;
}

const struct issue_ops issues_local = {
    .get = local_get,
    .open = local_open,
    .change = local_change,
    .list = local_list,
    .note = local_note,
};
