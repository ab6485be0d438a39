#include "work/agent/acp_tools.h"

/* ---- names ---- */

/* A call may be known by several names: the most telling first. */
enum { NAMES_MAX = 4 };

struct names {
    const char *at[NAMES_MAX];
    size_t count;
};

static void add_name(struct names *names, const char *name)
{
    if (!text_empty(name) && names->count < NAMES_MAX)
        names->at[names->count++] = name;
}

/* Agents put the tool's own name into an extension where their version of the protocol has no
   member for it: {"_meta": {"claudeCode": {"toolName": "Bash"}}}. */
static const char *name_in_meta(const struct js *meta)
{
    const char *key;
    const struct js *value;
    for (size_t at = 0; js_type(meta) == JS_OBJECT && js_next(meta, &at, &key, &value);) {
        const char *name = js_get_str(value, "toolName", NULL);
        if (name != NULL)
            return name;
    }
    return NULL;
}

/* known: as it was announced, or NULL. */
static struct names names_of(const struct js *call, const char *known)
{
    struct names names = {.count = 0};
    add_name(&names, js_get_str(call, "name", NULL));
    add_name(&names, name_in_meta(js_get(call, "_meta")));
    add_name(&names, known);
    add_name(&names, js_get_str(call, "kind", NULL));
    return names;
}

/* Stops the agent when one of them is denied. */
static void check_names(struct transcript *transcript, const struct names *names, const char *id)
{
    for (size_t i = 0; i < names->count && transcript->stop == NULL; i++)
        transcript_tool_named(transcript, id, names->at[i]);
}

/* ---- calls under way ---- */

/* ADAPTER_CALLS_MAX: it was not announced. */
static size_t find_call(const struct acp_tools *tools, const char *id)
{
    char cut[ADAPTER_ID_MAX] = "";
    size_t at = 0;
    transcript_copy(cut, sizeof cut, id != NULL ? id : "");
    while (at < ADAPTER_CALLS_MAX && (cut[0] == '\0' || !text_same(tools->calls[at].id, cut)))
        at++;
    return at;
}

static size_t announce(struct acp_tools *tools, const struct js *call, const char *name)
{
    size_t at = tools->next;
    const char *id = js_get_str(call, "toolCallId", "");
    if (id[0] == '\0')
        return ADAPTER_CALLS_MAX;
    transcript_copy(tools->calls[at].id, ADAPTER_ID_MAX, id);
    transcript_copy(tools->calls[at].title, ADAPTER_BRIEF_MAX, js_get_str(call, "title", ""));
    transcript_copy(tools->calls[at].name, ADAPTER_ID_MAX, name != NULL ? name : "");
    tools->calls[at].begun = false;
    tools->next = (at + 1) % ADAPTER_CALLS_MAX;
    return at;
}

/* ---- updates ---- */

static const struct {
    const char *name;
    enum tool_status status;
} states[] = {
    {"pending", TOOL_STARTED},
    {"in_progress", TOOL_STARTED},
    {"completed", TOOL_COMPLETED},
    {"failed", TOOL_FAILED},
};

static enum tool_status status_of(const struct js *update)
{
    const char *status = js_get_str(update, "status", "");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (text_same(states[i].name, status))
            return states[i].status;
    }
    return TOOL_STARTED;
}

/* The first text that a call produced. */
static const char *text_of(const struct js *content)
{
    for (size_t i = 0; js_type(content) == JS_ARRAY && i < js_count(content); i++) {
        const char *text = js_str(js_path(js_at(content, i), "content.text"), NULL);
        if (!text_empty(text))
            return text;
    }
    return NULL;
}

/* While they are streamed they are an empty object, the same for all calls. */
static const struct js *arguments_of(const struct js *call)
{
    const struct js *input = js_get(call, "rawInput");
    return js_type(input) == JS_OBJECT && js_count(input) == 0 ? NULL : input;
}

static void report_begin(struct transcript *transcript, const struct js *call, const char *name,
                         const char *title)
{
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = js_get_str(call, "toolCallId", NULL),
                                                     .name = name != NULL ? name : "tool",
                                                     .summary = js_get_str(call, "title", title),
                                                     .arguments = arguments_of(call)});
}

void acp_tool_update(struct transcript *transcript, struct acp_tools *tools,
                     const struct js *update)
{
    const char *id = js_get_str(update, "toolCallId", NULL);
    size_t at = find_call(tools, id);
    bool known = at < ADAPTER_CALLS_MAX;
    const struct names names = names_of(update, known ? tools->calls[at].name : NULL);
    const char *name = names.count > 0 ? names.at[0] : NULL;
    enum tool_status status = status_of(update);
    check_names(transcript, &names, id);
    if (transcript->stop != NULL)
        return;
    if (!known)
        at = announce(tools, update, name);
    bool listed = at < ADAPTER_CALLS_MAX, begun = listed && tools->calls[at].begun;
    bool runs = text_same(js_get_str(update, "status", ""), "in_progress");
    if (!begun && (runs || status != TOOL_STARTED || arguments_of(update) != NULL)) {
        report_begin(transcript, update, name, listed ? tools->calls[at].title : NULL);
        if (listed)
            tools->calls[at].begun = true;
    }
    if (status == TOOL_STARTED || transcript->stop != NULL)
        return;
    transcript->answering = false; /* What the model says next is another answer. */
    bool failed = status == TOOL_FAILED;
    transcript_tool(transcript, &(struct tool_event){
                                    .status = status,
                                    .id = id,
                                    .name = name,
                                    .error = failed ? text_of(js_get(update, "content")) : NULL});
    if (listed)
        tools->calls[at].id[0] = '\0';
}

/* ---- permission ---- */

void acp_tool_denied(struct acp_tools *tools, const char *id)
{
    size_t at = find_call(tools, id);
    if (at < ADAPTER_CALLS_MAX)
        tools->calls[at].begun = true;
}

static bool is_allowed(const struct transcript *transcript, const struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (tool_rule(transcript->limits.tools_allowed, names->at[i]) != NULL)
            return true;
    return false;
}

/* False: people cannot be asked about it. */
static bool ask_person(struct transcript *transcript, struct acp_asks *asks,
                       const struct acp_permission *request)
{
    if (acp_asks_permission(asks, request))
        return true;
    transcript_message(transcript, "The agent asked for a permission that people cannot be asked "
                                   "about: it has no options, or too many wait already.");
    return false;
}

static const char *reject(struct transcript *transcript, struct acp_tools *tools,
                          const struct tool_event *asked, const struct js *options)
{
    struct tool_event denied = *asked;
    denied.status = TOOL_DENIED;
    denied.error = "drover could not allow this single call";
    transcript_tool(transcript, &denied);
    acp_tool_denied(tools, asked->id);
    return acp_rejection(options);
}

const char *acp_tool_permit(struct transcript *transcript, struct acp_tools *tools,
                            const struct js *params, const char *rpc_id, struct acp_asks *asks,
                            bool *ret_waits)
{
    const struct js *call = js_get(params, "toolCall");
    const struct js *options = js_get(params, "options");
    const char *id = js_get_str(call, "toolCallId", NULL);
    size_t at = find_call(tools, id);
    bool known = at < ADAPTER_CALLS_MAX;
    const struct names names = names_of(call, known ? tools->calls[at].name : NULL);
    const char *once = acp_option(options, "allow_once");
    *ret_waits = false;
    check_names(transcript, &names, id);
    if (transcript->stop != NULL)
        return acp_rejection(options);
    struct tool_event asked = {
        .status = TOOL_REQUESTED,
        .id = id,
        .name = names.count > 0 ? names.at[0] : NULL,
        .summary = js_get_str(call, "title", known ? tools->calls[at].title : NULL),
        .arguments = arguments_of(call)};
    transcript_tool(transcript, &asked);
    if (asks != NULL && !is_allowed(transcript, &names)) {
        const struct acp_permission request = {.rpc_id = rpc_id,
                                               .name = asked.name,
                                               .title = known ? tools->calls[at].title : NULL,
                                               .params = params};
        *ret_waits = ask_person(transcript, asks, &request);
        return *ret_waits ? NULL : reject(transcript, tools, &asked, options);
    }
    if (once != NULL) {
        asked.status = TOOL_ALLOWED;
        transcript_tool(transcript, &asked);
        return once;
    }
    transcript_message(transcript, "The agent asked for a permission that it would keep for "
                                   "ever; drover allows single calls only.");
    return reject(transcript, tools, &asked, options);
}
