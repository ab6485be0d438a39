/*
 * issue_view.c - see issue_view.h.  The form is that of docs/PROTOCOL.md, "An issue as read".
 */
#include "core/pr/issue_view.h"
#include "base/clock.h"
#include "base/str.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const act_names[] = {[ACT_LABELED] = "labeled", [ACT_ASSIGNED] = "assigned"};
static const char *const relation_names[] = {
    [LINK_MENTIONED] = "mentioned", [LINK_BLOCKED_BY] = "blocked_by"};

/* ---- writing ---- */

static void write_words(struct jw *jw, const char *key, const char *const *words)
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        jw_str(jw, words[i]);
    jw_end(jw, ']');
}

static void write_person(struct jw *jw, const char *key, const struct issue_person *person)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kstr(jw, "login", person->login);
    jw_optstr(jw, "association", person->association);
    if (person->teams != NULL && person->teams[0] != NULL)
        write_words(jw, "teams", person->teams);
    jw_end(jw, '}');
}

static void write_comments(struct jw *jw, const struct issue_view *view)
{
    jw_key(jw, "comments");
    jw_begin(jw, '[');
    for (size_t i = 0; i < view->comment_count; i++) {
        const struct issue_comment_view *comment = &view->comments[i];
        jw_begin(jw, '{');
        jw_kint(jw, "id", comment->id);
        write_person(jw, "author", &comment->author);
        jw_kstr(jw, "body", comment->body);
        jw_ktime(jw, "createdAt", comment->created_us);
        jw_kbool(jw, "edited", comment->edited);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_acts(struct jw *jw, const struct issue_view *view)
{
    jw_key(jw, "acts");
    jw_begin(jw, '[');
    for (size_t i = 0; i < view->act_count; i++) {
        const struct issue_act *act = &view->acts[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "act", act_names[act->kind]);
        jw_kstr(jw, "what", act->what);
        write_person(jw, "by", &act->by);
        jw_ktime(jw, "at", act->at_us);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_links(struct jw *jw, const struct issue_view *view)
{
    jw_key(jw, "links");
    jw_begin(jw, '[');
    for (size_t i = 0; i < view->link_count; i++) {
        const struct issue_link *link = &view->links[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "relation", relation_names[link->relation]);
        jw_kint(jw, "number", link->number);
        jw_kstr(jw, "title", link->title);
        jw_kstr(jw, "body", link->body);
        jw_kbool(jw, "open", link->open);
        write_person(jw, "author", &link->author);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

void issue_view_write(struct jw *jw, const struct issue_view *view)
{
    jw_begin(jw, '{');
    jw_optstr(jw, "repositoryId", view->repository_id);
    jw_kint(jw, "number", view->number);
    jw_kstr(jw, "title", view->title);
    jw_kstr(jw, "body", view->body);
    jw_kbool(jw, "open", view->open);
    write_person(jw, "author", &view->author);
    jw_ktime(jw, "createdAt", view->created_us);
    jw_ktime(jw, "updatedAt", view->updated_us);
    write_words(jw, "labels", view->labels);
    write_words(jw, "assignees", view->assignees);
    write_comments(jw, view);
    write_acts(jw, view);
    write_links(jw, view);
    jw_kbool(jw, "cut", view->cut);
    jw_end(jw, '}');
}

/* ---- reading ---- */

static const char *read_text(const struct js *object, const char *key, struct arena *arena)
{
    return arena_strdup(arena, js_get_str(object, key, ""));
}

static const char *const *read_words(const struct js *array, size_t max, struct arena *arena)
{
    size_t count = js_count(array) < max ? js_count(array) : max, kept = 0;
    const char **words = arena_array(arena, count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++) {
        const char *word = js_str(js_at(array, i), NULL);
        if (word != NULL)
            words[kept++] = arena_strdup(arena, word);
    }
    return words;
}

static struct issue_person read_person(const struct js *person, struct arena *arena)
{
    return (struct issue_person){
        .login = read_text(person, "login", arena),
        .association = arena_strdup(arena, js_get_str(person, "association", NULL)),
        .teams = read_words(js_get(person, "teams"), ISSUE_VIEW_TEAMS_MAX, arena),
    };
}

static int64_t read_time(const struct js *object, const char *key)
{
    int64_t time_us = 0;
    return time_parse(js_get_str(object, key, ""), &time_us) ? time_us : 0;
}

/* Entries of an array that is no longer than max. */
static const struct js *list_of(const struct js *document, const char *key, size_t max,
                                size_t *ret_count)
{
    const struct js *list = js_get(document, key);
    *ret_count = js_count(list) < max ? js_count(list) : max;
    return list;
}

static void read_comments(const struct js *document, struct arena *arena, struct issue_view *view)
{
    const struct js *list = list_of(document, "comments", ISSUE_VIEW_COMMENTS_MAX,
                                    &view->comment_count);
    view->comments = arena_array(arena, view->comment_count + 1, sizeof *view->comments);
    for (size_t i = 0; i < view->comment_count; i++) {
        const struct js *each = js_at(list, i);
        view->comments[i] = (struct issue_comment_view){
            .id = js_get_int(each, "id", 0),
            .author = read_person(js_get(each, "author"), arena),
            .body = read_text(each, "body", arena),
            .created_us = read_time(each, "createdAt"),
            .edited = js_get_bool(each, "edited", false),
        };
    }
}

static void read_acts(const struct js *document, struct arena *arena, struct issue_view *view)
{
    const struct js *list = list_of(document, "acts", ISSUE_VIEW_ACTS_MAX, &view->act_count);
    view->acts = arena_array(arena, view->act_count + 1, sizeof *view->acts);
    for (size_t i = 0; i < view->act_count; i++) {
        const struct js *each = js_at(list, i);
        bool assigned = text_same(js_get_str(each, "act", ""), act_names[ACT_ASSIGNED]);
        view->acts[i] = (struct issue_act){
            .kind = assigned ? ACT_ASSIGNED : ACT_LABELED,
            .what = read_text(each, "what", arena),
            .by = read_person(js_get(each, "by"), arena),
            .at_us = read_time(each, "at"),
        };
    }
}

static void read_links(const struct js *document, struct arena *arena, struct issue_view *view)
{
    const struct js *list = list_of(document, "links", ISSUE_VIEW_LINKS_MAX, &view->link_count);
    view->links = arena_array(arena, view->link_count + 1, sizeof *view->links);
    for (size_t i = 0; i < view->link_count; i++) {
        const struct js *each = js_at(list, i);
        bool blocks = text_same(js_get_str(each, "relation", ""), relation_names[LINK_BLOCKED_BY]);
        view->links[i] = (struct issue_link){
            .relation = blocks ? LINK_BLOCKED_BY : LINK_MENTIONED,
            .number = js_get_int(each, "number", 0),
            .title = read_text(each, "title", arena),
            .body = read_text(each, "body", arena),
            .open = js_get_bool(each, "open", false),
            .author = read_person(js_get(each, "author"), arena),
        };
    }
}

enum rc issue_view_decode(const struct js *document, struct arena *arena,
                          struct issue_view *ret_view, struct err *err)
{
    struct issue_view view = {
        .repository_id = arena_strdup(arena, js_get_str(document, "repositoryId", NULL)),
        .number = js_get_int(document, "number", 0),
        .title = read_text(document, "title", arena),
        .body = read_text(document, "body", arena),
        .open = js_get_bool(document, "open", false),
        .author = read_person(js_get(document, "author"), arena),
        .created_us = read_time(document, "createdAt"),
        .updated_us = read_time(document, "updatedAt"),
        .labels = read_words(js_get(document, "labels"), ISSUE_VIEW_WORDS_MAX, arena),
        .assignees = read_words(js_get(document, "assignees"), ISSUE_VIEW_WORDS_MAX, arena),
        .cut = js_get_bool(document, "cut", false),
    };
    if (view.number < 1 || js_type(js_get(document, "title")) != JS_STRING)
        return err_set(err, RC_CORRUPT, "ISSUE_UNREADABLE",
                       "What was stored of an issue has no number or no title.");
    read_comments(document, arena, &view);
    read_acts(document, arena, &view);
    read_links(document, arena, &view);
    *ret_view = view;
    return RC_OK;
}

/* ---- what it names ---- */

static bool contains(const int64_t *numbers, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* "#12" that does not belong to a longer word: not "issue#12", not "&#12;", not "/#12". */
size_t issue_mentions(const char *text, int64_t self, int64_t *to, size_t max)
{
    size_t count = 0;
    for (const char *at = strchr(text, '#'); at != NULL && count < max; at = strchr(at + 1, '#')) {
        size_t digits = strspn(at + 1, "0123456789");
        bool alone = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '&' &&
                                    at[-1] != '/' && at[-1] != '_');
        unsigned char next = (unsigned char)at[1 + digits];
        int64_t number = 0;
        if (!alone || digits == 0 || digits > 9 || isalnum(next) || next == '_')
            continue;
        for (size_t i = 1; i <= digits; i++)
            number = number * 10 + (at[i] - '0');
        if (number > 0 && number != self && !contains(to, count, number))
            to[count++] = number;
    }
    return count;
}

/* ---- hashes ---- */

/* With its end, so that no two texts run into each other. */
static void add_text(struct sha256 *sha, const char *text)
{
    sha256_add(sha, text, strlen(text) + 1);
}

void issue_text_sha256(const struct issue_view *view, char to[SHA256_TEXT_BYTES])
{
    issue_prompt_sha256(view, NULL, 0, to);
}

const struct issue_comment_view *issue_view_comment(const struct issue_view *view, int64_t id)
{
    for (size_t i = 0; i < view->comment_count; i++)
        if (view->comments[i].id == id)
            return &view->comments[i];
    return NULL;
}

void issue_prompt_sha256(const struct issue_view *view, const int64_t *ids, size_t count,
                         char to[SHA256_TEXT_BYTES])
{
    char id[24];
    struct sha256 *sha = sha256_begin();
    add_text(sha, view->title);
    add_text(sha, view->body);
    for (size_t i = 0; i < count; i++) {
        const struct issue_comment_view *comment = issue_view_comment(view, ids[i]);
        (void)snprintf(id, sizeof id, "%lld", (long long)ids[i]);
        add_text(sha, id);
        add_text(sha, comment != NULL ? comment->author.login : "");
        add_text(sha, comment != NULL ? comment->body : "");
    }
    sha256_end(sha, to);
}
