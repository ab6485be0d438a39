#include "core/pr/intake.h"
#include "base/clock.h"
#include "base/str.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum { MARKDOWN_CODE_INDENT = 4 };

static const char *const state_names[ISSUE_STATE_COUNT] = {
    [ISSUE_SEEN] = "seen",
    [ISSUE_AWAITING] = "awaiting",
    [ISSUE_ACTIVE] = "active",
    [ISSUE_DONE] = "done",
};
static const char *const do_names[ISSUE_DO_COUNT] = {
    [ISSUE_NOTHING] = "nothing", [ISSUE_SUBMIT] = "submit", [ISSUE_AWAIT] = "await",
    [ISSUE_CANCEL] = "cancel",   [ISSUE_FORGET] = "forget", [ISSUE_RETRY] = "retry",
    [ISSUE_STATUS] = "status",   [ISSUE_HELP] = "help",
};

const char *issue_state_name(enum issue_state state)
{
    assert((unsigned)state < ISSUE_STATE_COUNT);
    return state_names[state];
}

bool issue_state_parse(const char *name, enum issue_state *ret_state)
{
    for (int i = 0; i < ISSUE_STATE_COUNT; i++) {
        if (!text_same(state_names[i], name))
            continue;
        *ret_state = (enum issue_state)i;
        return true;
    }
    return false;
}

const char *issue_do_name(enum issue_do what)
{
    assert((unsigned)what < ISSUE_DO_COUNT);
    return do_names[what];
}

struct intake_rules intake_rules_default(void)
{
    return (struct intake_rules){
        .commands = true,
        .associations = {"OWNER", "MEMBER", "COLLABORATOR"},
        .comment = true,
        .close = true,
    };
}

/* ---- people ---- */

/* Logins and labels of the forges do not differ by case. */
static bool has(const char *const *list, const char *word)
{
    for (size_t i = 0; list != NULL && word != NULL && list[i] != NULL; i++)
        if (strcasecmp(list[i], word) == 0)
            return true;
    return false;
}

bool intake_may_ask(const struct intake_rules *rules, const struct issue_person *person)
{
    if (text_empty(person->login))
        return false;
    if (has(rules->associations, person->association) || has(rules->people, person->login))
        return true;
    for (size_t i = 0; person->teams != NULL && person->teams[i] != NULL; i++)
        if (has(rules->teams, person->teams[i]))
            return true;
    return false;
}

/* ---- commands ---- */

static const struct {
    const char *word;
    enum issue_command command;
} command_words[] = {
    {"run", COMMAND_RUN},       {"retry", COMMAND_RETRY}, {"cancel", COMMAND_CANCEL},
    {"status", COMMAND_STATUS}, {"help", COMMAND_HELP},
};

static struct str take_word(struct str *line)
{
    while (line->len > 0 && strchr(" \t\r", line->at[0]) != NULL)
        *line = (struct str){line->at + 1, line->len - 1};
    size_t len = 0;
    while (len < line->len && strchr(" \t\r", line->at[len]) == NULL)
        len++;
    struct str word = {line->at, len};
    *line = (struct str){line->at + len, line->len - len};
    return word;
}

/* A block of code, as Markdown has it: open while len > 0. */
struct code_block {
    char mark;
    size_t len; /* Of the line that opened it. */
};

static size_t indent_of(struct str line)
{
    size_t indent = 0;
    for (; indent < line.len && strchr(" \t", line.at[indent]) != NULL; indent++) {
        if (line.at[indent] == '\t')
            return MARKDOWN_CODE_INDENT;
    }
    return indent;
}

/* true: the line opens or closes a block.  Only as many of the same marks, with nothing behind
   them, close it: what a person quotes may have others. */
static bool is_code_fence(struct str line, struct code_block *block)
{
    size_t indent = indent_of(line), len = 0;
    if (indent >= MARKDOWN_CODE_INDENT || indent == line.len ||
        strchr("`~", line.at[indent]) == NULL)
        return false;
    char mark = line.at[indent];
    while (indent + len < line.len && line.at[indent + len] == mark)
        len++;
    struct str behind = {line.at + indent + len, line.len - indent - len};
    if (block->len > 0) {
        bool closes = mark == block->mark && len >= block->len && take_word(&behind).len == 0;
        block->len = closes ? 0 : block->len;
        return closes;
    }
    if (len < 3 || (mark == '`' && behind.len > 0 && memchr(behind.at, '`', behind.len) != NULL))
        return false;
    *block = (struct code_block){mark, len};
    return true;
}

/* The line after "/drover"; false: it is no command. */
static bool is_command(struct str line, struct str *ret_rest)
{
    if (indent_of(line) >= MARKDOWN_CODE_INDENT || !str_is(take_word(&line), "/drover"))
        return false;
    *ret_rest = line;
    return true;
}

enum issue_command issue_command_find(const char *body, struct arena *arena,
                                      const char **ret_argument)
{
    struct str rest = str_of(body), line, words;
    struct code_block code = {.len = 0};
    *ret_argument = "";
    while (str_take_line(&rest, &line)) {
        if (is_code_fence(line, &code) || code.len > 0 || !is_command(line, &words))
            continue;
        struct str verb = take_word(&words);
        *ret_argument = str_dup(arena, take_word(&words));
        for (size_t i = 0; i < COUNT_OF(command_words); i++)
            if (str_is(verb, command_words[i].word))
                return command_words[i].command;
        return COMMAND_HELP;
    }
    return COMMAND_NONE;
}

/* On a line of its own: a quote of drover's comment is not drover's. */
static bool is_own(const char *body)
{
    struct str rest = str_of(body), line;
    size_t len = strlen(INTAKE_MARK);
    while (str_take_line(&rest, &line)) {
        if (line.len >= len && memcmp(line.at, INTAKE_MARK, len) == 0)
            return true;
    }
    return false;
}

bool intake_skips(const struct issue_comment_view *comment)
{
    struct str rest = str_of(comment->body), line, words;
    if (is_own(comment->body))
        return true;
    while (str_take_line(&rest, &line)) {
        struct str left = line;
        if (take_word(&left).len > 0 && !is_command(line, &words))
            return false;
    }
    return true;
}

/* ---- the request ---- */

/* What is asked, by whom, and since when. */
struct request {
    bool made;
    struct issue_person by;
    const char *how;      /* "label drover" */
    const char *argument; /* Of a command, or NULL. */
    int64_t at_us;        /* 0: not told */
    int64_t comment_id;   /* Of a command. */
};

/* The last act that has put it there. */
static const struct issue_act *last_act(const struct issue_view *view, enum issue_act_kind kind,
                                        const char *what)
{
    for (size_t i = view->act_count; i > 0; i--) {
        const struct issue_act *act = &view->acts[i - 1];
        if (act->kind == kind && strcasecmp(act->what, what) == 0)
            return act;
    }
    return NULL;
}

/* The newest of the requests that the labels or the assignees make. */
static void find_standing(const struct issue_view *view, enum issue_act_kind kind,
                          const char *const *wanted, struct arena *arena, struct request *request)
{
    const char *const *there = kind == ACT_LABELED ? view->labels : view->assignees;
    for (size_t i = 0; wanted[i] != NULL; i++) {
        if (!has(there, wanted[i]))
            continue;
        const struct issue_act *act = last_act(view, kind, wanted[i]);
        int64_t at_us = act != NULL ? act->at_us : 0;
        if (request->made && at_us <= request->at_us)
            continue;
        *request = (struct request){
            .made = true,
            .by = act != NULL ? act->by : view->author,
            .how = arena_printf(arena, "%s %s", kind == ACT_LABELED ? "label" : "assignee",
                                wanted[i]),
            .at_us = at_us,
        };
    }
}

static struct request standing_request(const struct intake_rules *rules,
                                       const struct issue_view *view, struct arena *arena)
{
    struct request request = {.made = false};
    find_standing(view, ACT_LABELED, rules->labels, arena, &request);
    find_standing(view, ACT_ASSIGNED, rules->assignees, arena, &request);
    return request;
}

bool intake_is_asked(const struct intake_rules *rules, const struct issue_view *view)
{
    for (size_t i = 0; rules->labels[i] != NULL; i++)
        if (has(view->labels, rules->labels[i]))
            return true;
    for (size_t i = 0; rules->assignees[i] != NULL; i++)
        if (has(view->assignees, rules->assignees[i]))
            return true;
    for (size_t i = 0; rules->commands && i < view->comment_count; i++)
        if (strstr(view->comments[i].body, "/drover") != NULL)
            return true;
    return false;
}

/* ---- deciding ---- */

struct question {
    const struct intake_rules *rules;
    const struct issue_view *view;
    const struct issue_known *known;
    struct arena *arena;
    struct issue_decision *decision;
};

static void decide(const struct question *question, enum issue_do what, const char *reason)
{
    question->decision->what = what;
    question->decision->reason = reason;
}

/* The last command that is not handled yet, by a person who may. */
static enum issue_command take_commands(const struct question *question,
                                        struct request *ret_request)
{
    const struct issue_view *view = question->view;
    enum issue_command last = COMMAND_NONE;
    for (size_t i = 0; i < view->comment_count; i++) {
        const struct issue_comment_view *comment = &view->comments[i];
        const char *argument;
        if (comment->id > question->decision->last_comment_id)
            question->decision->last_comment_id = comment->id;
        if (!question->rules->commands || comment->id <= question->known->last_comment_id ||
            comment->created_us < question->known->since_us || is_own(comment->body))
            continue;
        enum issue_command command = issue_command_find(comment->body, question->arena, &argument);
        if (command == COMMAND_NONE)
            continue;
        if (!intake_may_ask(question->rules, &comment->author)) {
            question->decision->denied++;
            continue;
        }
        last = command;
        *ret_request = (struct request){
            .made = true,
            .by = comment->author,
            .how = "command",
            .argument = argument,
            .at_us = comment->created_us,
            .comment_id = comment->id,
        };
    }
    return last;
}

static bool rule_matches(const struct intake_rule *rule, const struct issue_view *view,
                         const struct request *request)
{
    if (rule->label != NULL)
        return has(view->labels, rule->label);
    if (rule->assignee != NULL)
        return has(view->assignees, rule->assignee);
    return rule->command != NULL && request->argument != NULL &&
           strcasecmp(rule->command, request->argument) == 0;
}

static struct issue_task task_of(const struct question *question, const struct request *request)
{
    struct issue_task task = {.risk = -1, .mode = -1, .priority = -1};
    for (size_t i = 0; i < question->rules->rule_count; i++) {
        const struct issue_task *set = &question->rules->rules[i].task;
        if (!rule_matches(&question->rules->rules[i], question->view, request))
            continue;
        if (set->task_type != NULL)
            task.task_type = set->task_type;
        if (set->risk >= 0)
            task.risk = set->risk;
        if (set->mode >= 0)
            task.mode = set->mode;
        if (set->priority >= 0)
            task.priority = set->priority;
        if (set->max_budget_microusd > 0)
            task.max_budget_microusd = set->max_budget_microusd;
        if (set->target_branch != NULL)
            task.target_branch = set->target_branch;
    }
    return task;
}

/* Comments that belong to what was approved. */
static void choose_comments(const struct question *question, int64_t until_us)
{
    const struct issue_view *view = question->view;
    struct issue_decision *decision = question->decision;
    decision->comment_ids = arena_array(question->arena, view->comment_count + 1, sizeof(int64_t));
    for (size_t i = 0; i < view->comment_count; i++) {
        const struct issue_comment_view *comment = &view->comments[i];
        bool trusted = intake_may_ask(question->rules, &comment->author);
        bool late = until_us > 0 && comment->created_us > until_us;
        if (!intake_skips(comment) && !late && (trusted || !comment->edited))
            decision->comment_ids[decision->comment_count++] = comment->id;
    }
    issue_prompt_sha256(view, decision->comment_ids, decision->comment_count,
                        decision->prompt_sha256);
}

/* Was the text that is there now the text when the request was made? */
static bool text_is_approved(const struct question *question, const struct request *request)
{
    return request->at_us > 0 && request->at_us >= question->decision->text_us;
}

static void decide_request(const struct question *question, const struct request *request)
{
    struct issue_decision *decision = question->decision;
    const struct issue_view *view = question->view;
    decision->asker = request->by;
    decision->by = request->how;
    decision->act_us = request->at_us;
    if (!intake_may_ask(question->rules, &request->by)) {
        decide(question, ISSUE_AWAIT,
               arena_printf(question->arena, "asked for by %s (%s), who may not ask here",
                            request->by.login, request->how));
        return;
    }
    if (!intake_may_ask(question->rules, &view->author) && !text_is_approved(question, request)) {
        decide(question, ISSUE_AWAIT,
               arena_printf(question->arena,
                            "its text is by %s, who may not ask here, and may have changed after "
                            "%s asked for it (%s)",
                            view->author.login, request->by.login, request->how));
        return;
    }
    decision->task = task_of(question, request);
    choose_comments(question, request->at_us);
    decide(question, ISSUE_SUBMIT,
           arena_printf(question->arena, "asked for by %s (%s)", request->by.login, request->how));
}

/* true: that was all. */
static bool decide_command(const struct question *question, enum issue_command command,
                           const struct request *request)
{
    const struct issue_known *known = question->known;
    struct arena *arena = question->arena;
    const char *who = request->by.login;
    bool active = known->state == ISSUE_ACTIVE;
    if (command == COMMAND_NONE)
        return false;
    question->decision->asker = request->by;
    question->decision->by = request->how;
    question->decision->act_us = request->at_us;
    if (command == COMMAND_HELP)
        decide(question, ISSUE_HELP, arena_printf(arena, "%s asked for help", who));
    else if (command == COMMAND_STATUS)
        decide(question, ISSUE_STATUS, arena_printf(arena, "%s asked for the status", who));
    else if (command == COMMAND_CANCEL && active)
        decide(question, ISSUE_CANCEL, arena_printf(arena, "%s cancelled it by a comment", who));
    else if (command == COMMAND_CANCEL && known->state == ISSUE_AWAITING)
        decide(question, ISSUE_FORGET, arena_printf(arena, "%s declined it by a comment", who));
    else if (command == COMMAND_CANCEL)
        decide(question, ISSUE_STATUS, "there is no run to cancel");
    else if (!question->view->open)
        decide(question, ISSUE_STATUS, "the issue is closed; reopen it first");
    else if (active)
        decide(question, ISSUE_STATUS, "it is being worked on already");
    else if (command == COMMAND_RETRY && known->state == ISSUE_DONE && !known->completed)
        decide(question, ISSUE_RETRY, arena_printf(arena, "%s wants it tried again", who));
    else /* Without a task that could be tried again a retry is a run. */
        decide_request(question, request);
    return true;
}

/* The issue was closed, or the label that made the request is gone. */
static bool decide_taken_back(const struct question *question, const struct request *standing)
{
    const struct issue_known *known = question->known;
    bool by_command = text_same(known->started_by, "command");
    bool closed = !question->view->open;
    if (!known->there || (!closed && (standing->made || by_command)))
        return false;
    const char *why = closed
                          ? "the issue was closed"
                          : arena_printf(question->arena, "the %s was taken away",
                                         known->started_by != NULL ? known->started_by : "request");
    if (known->state == ISSUE_ACTIVE) {
        decide(question, ISSUE_CANCEL, why);
        return true;
    }
    /* So that the same label starts it again.  What is done stays in its comment. */
    if (known->state == ISSUE_AWAITING || (known->state == ISSUE_DONE && !closed)) {
        decide(question, ISSUE_FORGET, why);
        return true;
    }
    return false;
}

/* Times of a forge are whole seconds: a request of the second in which a text changed may have been
   for the text before.  So a changed text counts from the next second on, in later looks as well,
   to which it is no news. */
static void note_text(const struct question *question)
{
    const struct issue_known *known = question->known;
    struct issue_decision *decision = question->decision;
    issue_text_sha256(question->view, decision->text_sha256);
    bool same = text_same(known->text_sha256, decision->text_sha256);
    decision->changed = known->text_sha256 != NULL && !same;
    decision->text_us = same ? known->text_us
                             : question->view->updated_us + (decision->changed ? US_PER_SECOND : 0);
}

struct issue_decision issue_decide(const struct intake_rules *rules, const struct issue_view *view,
                                   const struct issue_known *known, struct arena *arena)
{
    struct issue_decision decision = {.last_comment_id = known->last_comment_id};
    const struct question question = {rules, view, known, arena, &decision};
    struct request asked = {.made = false};
    note_text(&question);
    decide(&question, ISSUE_NOTHING, "it was not asked for");
    if (!rules->enabled) {
        decide(&question, ISSUE_NOTHING, "the repository takes no issues in");
        return decision;
    }
    enum issue_command command = take_commands(&question, &asked);
    if (decide_command(&question, command, &asked))
        return decision;
    const struct request standing = standing_request(rules, view, arena);
    if (decide_taken_back(&question, &standing))
        return decision;
    if (!view->open)
        decide(&question, ISSUE_NOTHING, "the issue is closed");
    else if (known->state == ISSUE_ACTIVE)
        decide(&question, ISSUE_NOTHING, "it is being worked on");
    else if (standing.made && known->state == ISSUE_DONE && standing.at_us <= known->act_us)
        decide(&question, ISSUE_NOTHING, "it was worked on already");
    else if (standing.made)
        decide_request(&question, &standing);
    else if (decision.denied > 0)
        decide(&question, ISSUE_NOTHING, "a command by a person who may not ask here");
    return decision;
}
