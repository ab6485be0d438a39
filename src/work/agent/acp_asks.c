#include "work/agent/acp_asks.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/text/prose.h"
#include <assert.h>
#include <string.h>

enum {
    LINE_BYTES = 500,       /* Of a name, title or path. */
    ARGUMENTS_BYTES = 2000, /* Of a call, as JSON. */
    FILES_SHOWN = 5,
    OPTION_ID_BYTES = 1000, /* Options with longer ids are not offered. */
};

struct acp_ask {
    struct arena arena; /* Has all texts. */
    const char *rpc_id;
    struct question_spec spec;
    const char *ids[QUESTION_OPTIONS_MAX]; /* Permission: of the options. */
    bool allows[QUESTION_OPTIONS_MAX];
    const char *rejection;              /* One of them, or NULL. */
    const char *call_id, *name, *title; /* Permission: of the call; or NULL. */
    struct acp_form *form;              /* NULL: a permission. */
};

static struct acp_ask *ask_new(const char *rpc_id)
{
    struct acp_ask *ask = mem_alloc(sizeof *ask);
    ask->rpc_id = arena_strdup(&ask->arena, rpc_id);
    return ask;
}

static void ask_free(struct acp_ask *ask)
{
    arena_release(&ask->arena);
    mem_free(ask);
}

void acp_asks_release(struct acp_asks *asks)
{
    for (size_t i = 0; i < asks->count; i++)
        ask_free(asks->waiting[i]);
    asks->count = 0;
}

/* ---- permission ---- */

const char *acp_option(const struct js *options, const char *kind)
{
    for (size_t i = 0; js_type(options) == JS_ARRAY && i < js_count(options); i++) {
        const struct js *option = js_at(options, i);
        if (text_same(js_get_str(option, "kind", ""), kind))
            return js_get_str(option, "optionId", NULL);
    }
    return NULL;
}

const char *acp_rejection(const struct js *options)
{
    const char *once = acp_option(options, "reject_once");
    return once != NULL ? once : acp_option(options, "reject_always");
}

static void add_files(struct arena *arena, const struct js *locations, struct buf *text)
{
    size_t count = js_type(locations) == JS_ARRAY ? js_count(locations) : 0;
    for (size_t i = 0; i < count && i < FILES_SHOWN; i++)
        buf_addf(text, "%s%s", i == 0 ? "\nFiles: " : ", ",
                 prose_line(arena, js_get_str(js_at(locations, i), "path", ""), LINE_BYTES));
    if (count > FILES_SHOWN)
        buf_addf(text, ", and %zu more", count - FILES_SHOWN);
}

/* "May the agent call Bash: git push?", its files and its arguments. */
static void write_permission(struct acp_ask *ask, const struct acp_permission *request)
{
    const struct js *call = js_get(request->params, "toolCall");
    const struct js *arguments = js_get(call, "rawInput");
    const char *name = text_empty(request->name) ? "a tool" : request->name;
    const char *title = js_get_str(call, "title", request->title);
    ask->call_id = arena_strdup(&ask->arena, js_get_str(call, "toolCallId", NULL));
    ask->name = arena_strdup(&ask->arena, request->name);
    ask->title = arena_strdup(&ask->arena, title);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, QUESTION_BYTES_MAX * 2);
    buf_addf(&text, "May the agent call %s", prose_line(&ask->arena, name, LINE_BYTES));
    if (!text_empty(title))
        buf_addf(&text, ": %s", prose_line(&ask->arena, title, LINE_BYTES));
    buf_addc(&text, '?');
    add_files(&ask->arena, js_get(call, "locations"), &text);
    CLEANUP(arena_release) struct arena scratch = {0}; /* They may be large. */
    if (js_type(arguments) == JS_STRING || js_count(arguments) > 0)
        buf_addf(&text, "\n%s",
                 prose_line(&scratch, js_text(arguments, &scratch), ARGUMENTS_BYTES));
    ask->spec.text = arena_strndup(&ask->arena, buf_text(&text),
                                   prose_fit(buf_text(&text), text.len, QUESTION_BYTES_MAX));
}

static bool is_usable(const char *id)
{
    return id != NULL && strlen(id) <= OPTION_ID_BYTES;
}

/* All that there is room for, the rejection among them: that is the default. */
static void add_options(struct acp_ask *ask, const struct js *options)
{
    struct question_spec *spec = &ask->spec;
    for (size_t i = 0; js_type(options) == JS_ARRAY && i < js_count(options); i++) {
        const struct js *option = js_at(options, i);
        const char *id = js_get_str(option, "optionId", NULL);
        bool awaited = ask->rejection != NULL && spec->default_answer == NULL;
        bool rejects = awaited && text_same(id, ask->rejection);
        size_t room = QUESTION_OPTIONS_MAX - spec->option_count;
        if (!is_usable(id) || room == 0 || (room == 1 && awaited && !rejects))
            continue;
        ask->ids[spec->option_count] = arena_strdup(&ask->arena, id);
        ask->allows[spec->option_count] = !text_starts(js_get_str(option, "kind", ""), "reject");
        question_spec_add(spec, js_get_str(option, "name", js_get_str(option, "kind", "")),
                          &ask->arena);
        if (rejects)
            spec->default_answer = spec->options[spec->option_count - 1];
    }
}

bool acp_asks_permission(struct acp_asks *asks, const struct acp_permission *request)
{
    const struct js *options = js_get(request->params, "options");
    if (asks->count == ACP_ASKS_MAX)
        return false;
    struct acp_ask *ask = ask_new(request->rpc_id);
    const char *rejection = acp_rejection(options);
    ask->rejection = is_usable(rejection) ? arena_strdup(&ask->arena, rejection) : NULL;
    add_options(ask, options);
    if (ask->spec.option_count == 0) {
        ask_free(ask);
        return false;
    }
    write_permission(ask, request);
    asks->waiting[asks->count++] = ask;
    return true;
}

void acp_write_outcome(struct jw *jw, const char *option_id)
{
    jw_key(jw, "result");
    jw_begin(jw, '{');
    jw_key(jw, "outcome");
    jw_begin(jw, '{');
    jw_kstr(jw, "outcome", option_id != NULL ? "selected" : "cancelled");
    jw_optstr(jw, "optionId", option_id);
    jw_end(jw, '}');
    jw_end(jw, '}');
}

/* option_count: none of them. */
static size_t option_at(const struct acp_ask *ask, const char *answer)
{
    size_t at = 0;
    while (at < ask->spec.option_count && !text_same(ask->spec.options[at], answer))
        at++;
    return at;
}

static const char *chosen(const struct acp_ask *ask, const char *answer)
{
    size_t at = option_at(ask, answer);
    return at < ask->spec.option_count ? ask->ids[at] : ask->rejection;
}

bool acp_asks_verdict(const struct acp_asks *asks, const char *answer, struct tool_event *ret_event)
{
    assert(asks->count > 0);
    const struct acp_ask *ask = asks->waiting[0];
    size_t at = option_at(ask, answer);
    if (ask->form != NULL)
        return false;
    bool allowed = at < ask->spec.option_count && ask->allows[at];
    *ret_event = (struct tool_event){
        .status = allowed ? TOOL_ALLOWED : TOOL_DENIED,
        .id = ask->call_id,
        .name = ask->name,
        .summary = ask->title,
        .error = allowed          ? NULL
                 : answer != NULL ? "a person denied it"
                                  : "no person answered in time",
    };
    return true;
}

/* ---- forms ---- */

const char *acp_asks_form(struct acp_asks *asks, const char *rpc_id, const struct js *params)
{
    if (asks->count == ACP_ASKS_MAX)
        return "too many requests wait for a person already";
    struct acp_ask *ask = ask_new(rpc_id);
    ask->form = arena_alloc(&ask->arena, sizeof *ask->form);
    const char *why = acp_form_read(ask->form, params, &ask->arena, &ask->spec);
    if (why != NULL)
        ask_free(ask);
    else
        asks->waiting[asks->count++] = ask;
    return why;
}

/* ---- answers ---- */

const struct question_spec *acp_asks_first(const struct acp_asks *asks)
{
    return asks->count > 0 ? &asks->waiting[0]->spec : NULL;
}

static void drop(struct acp_asks *asks, size_t at)
{
    ask_free(asks->waiting[at]);
    asks->count--;
    memmove(asks->waiting + at, asks->waiting + at + 1, (asks->count - at) * sizeof *asks->waiting);
}

bool acp_asks_drop(struct acp_asks *asks, const char *rpc_id)
{
    size_t at = 0;
    while (at < asks->count && !text_same(asks->waiting[at]->rpc_id, rpc_id))
        at++;
    if (at == asks->count)
        return false;
    drop(asks, at);
    return true;
}

bool acp_asks_answer(struct acp_asks *asks, const char *answer, struct jw *jw)
{
    assert(asks->count > 0);
    struct acp_ask *ask = asks->waiting[0];
    jw_kraw(jw, "id", str_of(ask->rpc_id));
    if (ask->form == NULL)
        acp_write_outcome(jw, chosen(ask, answer));
    else if (!acp_form_answer(ask->form, answer, &ask->arena, &ask->spec, jw))
        return false;
    drop(asks, 0);
    return true;
}

void acp_asks_cancel(struct acp_asks *asks, struct jw *jw)
{
    assert(asks->count > 0);
    const struct acp_ask *ask = asks->waiting[0];
    jw_kraw(jw, "id", str_of(ask->rpc_id));
    if (ask->form == NULL)
        acp_write_outcome(jw, NULL);
    else
        acp_form_cancel(jw);
    drop(asks, 0);
}
