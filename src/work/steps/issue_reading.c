/*
 * issue_reading.c - see issue_reading.h.
 *
 * Calls are bounded: people of whom the forge says nothing with the issue are asked about one by
 * one, PEOPLE_MAX of them, and linked issues are read, ISSUE_VIEW_LINKS_MAX of them.  What cannot
 * be had for lack of rights counts as no rights.
 */
#include "work/steps/issue_reading.h"
#include "forge/forges.h"
#include "work/job/repo_step.h"
#include <string.h>

enum { PEOPLE_MAX = 30 };

struct reading {
    struct step *step;
    struct forge_call *call;
    const struct forge_ops *forge;
    const struct people_ops *people;
    const char *url;
    struct issue_person asked[PEOPLE_MAX]; /* What is known of them by now. */
    size_t asked_count;
    struct issue_view view;
    struct err *err;
};

/* ---- people ---- */

static bool may_ask(const struct reading *reading, const struct issue_person *person)
{
    return intake_may_ask(&reading->step->input.config.intake, person);
}

/* Not being told is not a failure: the person has no rights then. */
static bool is_silence(enum rc rc)
{
    return rc == RC_NOT_FOUND || rc == RC_DENIED || rc == RC_UNAUTHORIZED || rc == RC_INVALID;
}

static enum rc ask_standing(struct reading *reading, struct issue_person *person)
{
    const char *association = NULL;
    if (person->association != NULL || reading->people == NULL || reading->people->standing == NULL)
        return RC_OK;
    enum rc rc = reading->people->standing(reading->call, reading->url, person->login,
                                           reading->step->arena, &association, reading->err);
    if (rc == RC_OK)
        person->association = association;
    return is_silence(rc) ? RC_OK : rc;
}

static enum rc ask_teams(struct reading *reading, struct issue_person *person)
{
    const char *const *teams = reading->step->input.config.intake.teams;
    const char **found = arena_array(reading->step->arena, ISSUE_VIEW_TEAMS_MAX + 1, sizeof *found);
    size_t count = 0;
    if (reading->people == NULL || reading->people->in_team == NULL)
        return RC_OK;
    for (size_t i = 0; teams[i] != NULL && count < ISSUE_VIEW_TEAMS_MAX; i++) {
        bool in = false;
        enum rc rc = reading->people->in_team(reading->call, reading->url,
                                              teams[i] + strlen("team/"), person->login, &in,
                                              reading->err);
        if (rc != RC_OK && !is_silence(rc))
            return rc;
        if (rc == RC_OK && in)
            found[count++] = teams[i];
    }
    person->teams = found;
    return RC_OK;
}

/* Fills in what makes a difference: of a person who may ask nothing more is wanted. */
static enum rc ask_about(struct reading *reading, struct issue_person *person)
{
    if (text_empty(person->login) || may_ask(reading, person))
        return RC_OK;
    for (size_t i = 0; i < reading->asked_count; i++) {
        if (text_same(reading->asked[i].login, person->login)) {
            *person = reading->asked[i];
            return RC_OK;
        }
    }
    if (reading->asked_count == PEOPLE_MAX)
        return RC_OK;
    enum rc rc = ask_standing(reading, person);
    if (rc == RC_OK && !may_ask(reading, person))
        rc = ask_teams(reading, person);
    if (rc == RC_OK)
        reading->asked[reading->asked_count++] = *person;
    return rc;
}

/* Those who ask first, so that the limit does not leave them out. */
static enum rc ask_about_all(struct reading *reading)
{
    struct issue_view *view = &reading->view;
    enum rc rc = ask_about(reading, &view->author);
    for (size_t i = view->act_count; rc == RC_OK && i > 0; i--)
        rc = ask_about(reading, &view->acts[i - 1].by);
    for (size_t i = view->comment_count; rc == RC_OK && i > 0; i--)
        rc = ask_about(reading, &view->comments[i - 1].author);
    return rc;
}

/* ---- the issue ---- */

static const char *const *words_of(struct reading *reading, struct str array)
{
    struct arena *arena = reading->step->arena;
    CLEANUP(js_freep) struct js *tree = NULL;
    if (array.len == 0 || js_parse(array.at, array.len, &tree, NULL) != RC_OK)
        return arena_array(arena, 1, sizeof(const char *));
    size_t count = js_count(tree) < ISSUE_VIEW_WORDS_MAX ? js_count(tree) : ISSUE_VIEW_WORDS_MAX;
    const char **words = arena_array(arena, count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = arena_strdup(arena, js_str(js_at(tree, i), ""));
    return words;
}

/* The newest that fit; older ones are left out. */
static void take_comments(struct reading *reading, const struct issue *issue)
{
    struct issue_view *view = &reading->view;
    size_t count = issue->comments != NULL ? (size_t)issue->comment_count : 0, first = count;
    size_t bytes = 0;
    while (first > 0 && count - first < ISSUE_VIEW_COMMENTS_MAX) {
        bytes += strlen(issue->comments[first - 1].body);
        if (bytes > ISSUE_VIEW_TEXT_MAX)
            break;
        first--;
    }
    view->cut = first > 0;
    view->comments = arena_array(reading->step->arena, count - first + 1, sizeof *view->comments);
    for (size_t i = first; i < count; i++) {
        const struct issue_comment *comment = &issue->comments[i];
        view->comments[view->comment_count++] = (struct issue_comment_view){
            .id = comment->id > 0 ? comment->id : (int64_t)i + 1,
            .author = {.login = comment->author, .association = comment->association},
            .body = comment->body,
            .created_us = comment->created_us,
            .edited = comment->updated_us != comment->created_us,
        };
    }
}

static enum rc read_issue(struct reading *reading, int64_t number)
{
    struct issue issue;
    const struct issue_ops *ops = reading->forge->issues;
    if (ops == NULL)
        return err_set(reading->err, RC_INVALID, "NO_ISSUES", "The forge %.50s has no issues.",
                       reading->forge->name);
    enum rc rc = ops->get(ops, reading->call, reading->url, number, reading->step->arena, &issue,
                          reading->err);
    if (rc != RC_OK)
        return rc;
    reading->view = (struct issue_view){
        .number = issue.number,
        .title = issue.title,
        .body = issue.body,
        .open = text_same(issue.state, "open"),
        .author = {.login = issue.author, .association = issue.association},
        .created_us = issue.created_us,
        .updated_us = issue.updated_us,
        .labels = words_of(reading, issue.labels),
        .assignees = words_of(reading, issue.assignees),
    };
    take_comments(reading, &issue);
    return RC_OK;
}

static enum rc read_acts(struct reading *reading)
{
    struct forge_act *acts = NULL;
    struct issue_view *view = &reading->view;
    size_t count = 0;
    if (reading->people == NULL || reading->people->acts == NULL)
        return RC_OK;
    enum rc rc = reading->people->acts(reading->call, reading->url, view->number,
                                       reading->step->arena, &acts, &count, reading->err);
    if (rc != RC_OK)
        return is_silence(rc) ? RC_OK : rc;
    view->acts = arena_array(reading->step->arena, count + 1, sizeof *view->acts);
    size_t first = count > ISSUE_VIEW_ACTS_MAX ? count - ISSUE_VIEW_ACTS_MAX : 0;
    for (size_t i = first; i < count; i++)
        view->acts[view->act_count++] = (struct issue_act){
            .kind = acts[i].assigned ? ACT_ASSIGNED : ACT_LABELED,
            .what = acts[i].what,
            .by = {.login = acts[i].actor},
            .at_us = acts[i].at_us,
        };
    return RC_OK;
}

/* ---- linked issues ---- */

/* The text of a stranger who has nothing to do with this issue is not taken along. */
static enum rc add_link(struct reading *reading, int64_t number, enum issue_relation relation)
{
    struct issue_view *view = &reading->view;
    struct issue issue;
    for (size_t i = 0; i < view->link_count; i++)
        if (view->links[i].number == number)
            return RC_OK;
    if (view->link_count == ISSUE_VIEW_LINKS_MAX || number == view->number)
        return RC_OK;
    enum rc rc = reading->forge->issues->get(reading->forge->issues, reading->call, reading->url,
                                             number, reading->step->arena, &issue, reading->err);
    if (rc != RC_OK)
        return is_silence(rc) ? RC_OK : rc;
    struct issue_link *link = &view->links[view->link_count];
    *link = (struct issue_link){
        .relation = relation,
        .number = issue.number,
        .title = issue.title,
        .body = issue.body,
        .open = text_same(issue.state, "open"),
        .author = {.login = issue.author, .association = issue.association},
    };
    rc = ask_about(reading, &link->author);
    if (rc != RC_OK)
        return rc;
    if (!may_ask(reading, &link->author))
        link->title = link->body = "";
    view->link_count++;
    return RC_OK;
}

static enum rc read_links(struct reading *reading)
{
    struct issue_view *view = &reading->view;
    const struct issue_ops *ops = reading->forge->issues;
    int64_t *blockers = NULL, mentioned[ISSUE_VIEW_LINKS_MAX];
    size_t count = 0;
    enum rc rc = RC_OK;
    view->links = arena_array(reading->step->arena, ISSUE_VIEW_LINKS_MAX + 1, sizeof *view->links);
    if (ops->blocked_by != NULL)
        rc = ops->blocked_by(ops, reading->call, reading->url, view->number, reading->step->arena,
                             &blockers, &count, reading->err);
    if (rc != RC_OK && !is_silence(rc))
        return rc;
    rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && blockers != NULL && i < count; i++)
        rc = add_link(reading, blockers[i], LINK_BLOCKED_BY);
    count = issue_mentions(view->body, view->number, mentioned, COUNT_OF(mentioned));
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = add_link(reading, mentioned[i], LINK_MENTIONED);
    return rc;
}

enum rc issue_reading(struct step *step, const struct issue_wanted *wanted,
                      struct issue_view *ret_view, struct err *err)
{
    struct reading *reading = arena_alloc(step->arena, sizeof *reading);
    CLEANUP(forge_call_release) struct forge_call call = {.gate = NULL};
    enum rc rc = step_forge_open(step, ACCESS_READ, &call, &reading->forge, err);
    if (rc != RC_OK)
        return rc;
    reading->step = step;
    reading->call = &call;
    reading->url = step->input.config.url;
    reading->people = people_of(step->input.config.forge);
    reading->err = err;
    rc = read_issue(reading, wanted->number);
    if (rc == RC_OK && wanted->acts)
        rc = read_acts(reading);
    if (rc == RC_OK)
        rc = ask_about_all(reading);
    if (rc == RC_OK &&
        (wanted->links || intake_is_asked(&step->input.config.intake, &reading->view)))
        rc = read_links(reading);
    if (rc == RC_OK)
        *ret_view = reading->view;
    return rc;
}
