/*
 * adapter_acp.c - agents that speak the Agent Client Protocol, version 1: JSON-RPC 2.0, one message
 * a line, drover is the client.  https://agentclientprotocol.com/protocol/v1
 *
 *     drover                                agent
 *     initialize                     --->
 *                                    <---   {protocolVersion: 1, agentCapabilities}
 *     session/new; session/resume or
 *     session/load in a later attempt --->
 *                                    <---   {sessionId, configOptions}
 *     session/set_config_option      --->   (where agent.model is another than the current one)
 *     session/prompt                 --->
 *                                    <---   session/update: text, thoughts, tool calls, plan, usage
 *                                    <---   session/request_permission: answered at once, or when
 *                                           a person has (acp_asks.h)
 *                                    <---   elicitation/create: a form for people, the same
 *                                    <---   {stopReason, usage}
 *     session/prompt                 --->   the messages of people that came meanwhile
 *     ...
 *     session/cancel                 --->   when it is to end
 *
 * One request of ours is under way at a time; an answer with another id is dropped.  drover offers
 * no file system and no terminal: such requests, and those that it does not know, are answered with
 * "method not found"; a form that cannot be asked is "invalid params".  Updates before the first
 * prompt are the history of a session that was loaded, and count for nothing.
 *
 * The cost of usage_update is that of the whole session: what earlier attempts have spent, or what
 * it says before the first prompt, is subtracted.
 */
#include "base/jw.h"
#include "base/mem.h"
#include "work/agent/acp_tools.h"
#include "work/agent/adapter.h"
#include <string.h>

enum {
    PROTOCOL_VERSION = 1,
    SESSION_ID_MAX = 200,
    RPC_ID_BYTES_MAX = 200,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    REQUEST_CANCELLED = -32800,
    AUTH_REQUIRED = -32000,
};

/* What is awaited. */
enum acp_state { ACP_INITIALIZE, ACP_OPEN, ACP_MODEL, ACP_PROMPT, ACP_IDLE, ACP_OVER };

struct acp {
    enum acp_state state;
    int64_t id; /* Of our last request. */
    char *cwd, *model, *resume;
    char session[SESSION_ID_MAX];
    bool prompted;                    /* At least once: updates are about our own work. */
    bool cancelled;                   /* The prompt was: no other follows. */
    bool answered;                    /* The agent has said something since the last prompt. */
    bool cost_known;                  /* By the agent itself. */
    double cost_before;               /* Of the session, before the first prompt. */
    bool asks_permission, asks_forms; /* Of people: struct conversation. */
    struct buf blocks;                /* Content blocks of the next prompt, with commas between. */
    struct acp_tools tools;
    struct acp_asks asks; /* Not answered yet. */
};

void acp_free(struct acp *acp)
{
    if (acp == NULL)
        return;
    mem_free(acp->cwd);
    mem_free(acp->model);
    mem_free(acp->resume);
    buf_release(&acp->blocks);
    acp_asks_release(&acp->asks);
    mem_free(acp);
}

/* ---- messages to the agent ---- */

/* An object that is open, with "jsonrpc". */
static struct jw open_message(struct buf *message)
{
    buf_init(message, ADAPTER_INPUT_MAX);
    struct jw jw = jw_to(message);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "jsonrpc", "2.0");
    return jw;
}

/* The same with id, method and "params", which is an open object. */
static struct jw open_request(struct acp *acp, struct buf *message, const char *method)
{
    struct jw jw = open_message(message);
    jw_kint(&jw, "id", ++acp->id);
    jw_kstr(&jw, "method", method);
    jw_key(&jw, "params");
    jw_begin(&jw, '{');
    return jw;
}

static void send_request(struct transcript *transcript, struct jw *jw, enum acp_state awaited)
{
    jw_end(jw, '}');
    jw_end(jw, '}');
    transcript->acp->state = awaited;
    transcript_send(transcript, jw->buf);
}

/* As the protocol wants it when a turn is over. */
static void cancel_asks(struct transcript *transcript)
{
    struct acp_asks *asks = &transcript->acp->asks;
    while (acp_asks_first(asks) != NULL) {
        CLEANUP(buf_release) struct buf message;
        struct jw jw = open_message(&message);
        acp_asks_cancel(asks, &jw);
        jw_end(&jw, '}');
        transcript_send(transcript, &message);
    }
}

static void fail(struct transcript *transcript, const char *what, const char *why)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX);
    buf_addf(&text, "%s%s%s", what, text_empty(why) ? "" : ": ", text_empty(why) ? "" : why);
    transcript->acp->state = ACP_OVER;
    transcript->input_over = true;
    transcript_refused(transcript, &(struct provider_refusal){.text = buf_text(&text)});
}

/* The prompt is about work that the session knows: another session needs another one. */
static void lose_session(struct transcript *transcript, const char *what, const char *why)
{
    transcript->session_lost = true;
    fail(transcript, what, why);
}

static void send_initialize(struct transcript *transcript)
{
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_request(transcript->acp, &message, "initialize");
    jw_kint(&jw, "protocolVersion", PROTOCOL_VERSION);
    jw_key(&jw, "clientCapabilities");
    jw_begin(&jw, '{');
    jw_key(&jw, "fs");
    jw_begin(&jw, '{');
    jw_kbool(&jw, "readTextFile", false);
    jw_kbool(&jw, "writeTextFile", false);
    jw_end(&jw, '}');
    jw_kbool(&jw, "terminal", false);
    if (transcript->acp->asks_forms)
        jw_kraw(&jw, "elicitation", STR("{\"form\":{}}"));
    jw_end(&jw, '}');
    jw_key(&jw, "clientInfo");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", "drover");
    jw_kstr(&jw, "title", "drover");
    jw_kstr(&jw, "version", DROVER_VERSION);
    jw_end(&jw, '}');
    send_request(transcript, &jw, ACP_INITIALIZE);
}

/* session/new, session/load or session/resume. */
static void send_open(struct transcript *transcript, const char *method)
{
    struct acp *acp = transcript->acp;
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_request(acp, &message, method);
    jw_optstr(&jw, "sessionId", acp->resume);
    jw_kstr(&jw, "cwd", acp->cwd);
    jw_key(&jw, "mcpServers");
    jw_begin(&jw, '[');
    jw_end(&jw, ']');
    send_request(transcript, &jw, ACP_OPEN);
}

static void send_prompt(struct transcript *transcript)
{
    struct acp *acp = transcript->acp;
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_request(acp, &message, "session/prompt");
    jw_kstr(&jw, "sessionId", acp->session);
    jw_key(&jw, "prompt");
    jw_begin(&jw, '[');
    jw_raw(&jw, buf_str(&acp->blocks));
    jw_end(&jw, ']');
    buf_release(&acp->blocks);
    transcript->input_waits = false;
    acp->prompted = true;
    acp->answered = false;
    transcript->input_waits = false;
    send_request(transcript, &jw, ACP_PROMPT);
}

static void add_block(struct acp *acp, const char *text)
{
    struct jw jw = jw_to(&acp->blocks);
    jw.comma = acp->blocks.len > 0;
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", "text");
    jw_kstr(&jw, "text", text);
    jw_end(&jw, '}');
}

/* ---- the model ---- */

/* How the agent lets its model be chosen; `id` is NULL: it does not. */
struct model_choice {
    const char *id; /* Of the configuration option; "": session/set_model of earlier versions. */
    const char *current;
    bool offered; /* The wanted one is in the list. */
};

/* Options may be grouped: [{value}], or [{group, options: [{value}]}]. */
static bool offers(const struct js *options, const char *member, const char *wanted)
{
    for (size_t i = 0; js_type(options) == JS_ARRAY && i < js_count(options); i++) {
        const struct js *option = js_at(options, i);
        const struct js *inner = js_get(option, "options");
        if (text_same(js_get_str(option, member, NULL), wanted))
            return true;
        for (size_t j = 0; js_type(inner) == JS_ARRAY && j < js_count(inner); j++) {
            if (text_same(js_get_str(js_at(inner, j), member, NULL), wanted))
                return true;
        }
    }
    return false;
}

static struct model_choice choice_of(const struct js *session, const char *wanted)
{
    const struct js *options = js_get(session, "configOptions");
    const struct js *models = js_get(session, "models");
    for (size_t i = 0; js_type(options) == JS_ARRAY && i < js_count(options); i++) {
        const struct js *option = js_at(options, i);
        if (text_same(js_get_str(option, "category", ""), "model") &&
            js_get_str(option, "id", NULL) != NULL)
            return (struct model_choice){js_get_str(option, "id", NULL),
                                         js_get_str(option, "currentValue", NULL),
                                         offers(js_get(option, "options"), "value", wanted)};
    }
    if (js_type(models) != JS_OBJECT)
        return (struct model_choice){NULL, NULL, false};
    return (struct model_choice){"", js_get_str(models, "currentModelId", NULL),
                                 offers(js_get(models, "availableModels"), "modelId", wanted)};
}

static void send_model(struct transcript *transcript, const struct model_choice *choice)
{
    struct acp *acp = transcript->acp;
    bool by_option = choice->id[0] != '\0';
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_request(acp, &message,
                                by_option ? "session/set_config_option" : "session/set_model");
    jw_kstr(&jw, "sessionId", acp->session);
    if (by_option)
        jw_kstr(&jw, "configId", choice->id);
    jw_kstr(&jw, by_option ? "value" : "modelId", acp->model);
    send_request(transcript, &jw, ACP_MODEL);
}

/* ---- answers of the agent ---- */

static void on_initialized(struct transcript *transcript, const struct js *result)
{
    struct acp *acp = transcript->acp;
    const struct js *can = js_get(result, "agentCapabilities");
    if (js_get_int(result, "protocolVersion", -1) != PROTOCOL_VERSION)
        fail(transcript, "The agent does not speak version 1 of the Agent Client Protocol", NULL);
    else if (acp->resume == NULL)
        send_open(transcript, "session/new");
    else if (js_type(js_path(can, "sessionCapabilities.resume")) == JS_OBJECT)
        send_open(transcript, "session/resume");
    else if (js_get_bool(can, "loadSession", false))
        send_open(transcript, "session/load");
    else
        lose_session(transcript, "The agent cannot resume a session", NULL);
}

static void on_opened(struct transcript *transcript, const struct js *result)
{
    struct acp *acp = transcript->acp;
    const char *id = acp->resume != NULL ? acp->resume : js_get_str(result, "sessionId", "");
    if (id[0] == '\0' || strlen(id) >= sizeof acp->session) {
        fail(transcript, "The agent gave its session no usable id", NULL);
        return;
    }
    text_copy(acp->session, sizeof acp->session, id);
    const struct model_choice choice = choice_of(result, acp->model);
    transcript_session(transcript, id, choice.current);
    bool wanted = acp->model != NULL && !text_same(acp->model, choice.current);
    if (wanted && choice.id == NULL)
        transcript_message(transcript, "The agent offers no choice of models: agent.model has no "
                                       "effect on it by its protocol.");
    if (!wanted || choice.id == NULL)
        send_prompt(transcript);
    else if (!choice.offered)
        fail(transcript, "The agent does not offer the model that agent.model names", acp->model);
    else
        send_model(transcript, &choice);
}

static void on_model(struct transcript *transcript)
{
    transcript_model(transcript, transcript->acp->model);
    send_prompt(transcript);
}

static void count_prompt(struct transcript *transcript, const struct js *usage)
{
    int64_t cached = js_get_int(usage, "cachedReadTokens", 0);
    int64_t written = js_get_int(usage, "cachedWriteTokens", 0);
    double cost = transcript->usage.cost_usd;
    struct request_usage request = {
        .tokens = {.input = tokens_bounded(js_get_int(usage, "inputTokens", 0)) +
                            tokens_bounded(cached) + tokens_bounded(written),
                   .cached_input = cached,
                   .cache_write = written,
                   .output = tokens_bounded(js_get_int(usage, "outputTokens", 0)) +
                             tokens_bounded(js_get_int(usage, "thoughtTokens", 0))},
        .many = true,
    };
    (void)transcript_tokens(transcript, &request);
    if (transcript->acp->cost_known)
        transcript->usage.cost_usd = cost;
    if (!transcript->acp->answered)
        transcript_answers(transcript); /* The model was called, also if it gave no answer. */
    transcript->answering = false;
    transcript_sums(transcript);
}

static void on_stop_reason(struct transcript *transcript, const char *reason)
{
    if (text_same(reason, "end_turn")) {
        transcript_succeeded(transcript, NULL);
    } else if (text_same(reason, "max_turn_requests")) {
        transcript_failed(transcript, "The agent reached its limit of turns.");
        transcript_stop(transcript, CUT_TURN_LIMIT);
    } else if (text_same(reason, "max_tokens")) {
        transcript_failed(transcript, "The agent reached its limit of tokens.");
    } else if (text_same(reason, "refusal")) {
        fail(transcript, "The agent refused to go on", transcript->summary);
    } else {
        fail(transcript, "The agent's turn ended", reason);
    }
}

static void on_prompted(struct transcript *transcript, const struct js *result, bool late)
{
    struct acp *acp = transcript->acp;
    acp->state = ACP_IDLE;
    cancel_asks(transcript);
    bool more = !late && !acp->cancelled && acp->blocks.len > 0;
    transcript->input_over = !more;
    if (!late)
        transcript_words_over(transcript);
    count_prompt(transcript, js_get(result, "usage"));
    if (!late)
        on_stop_reason(transcript, js_get_str(result, "stopReason", "without a reason"));
    if (more && acp->state == ACP_IDLE && transcript->stop == NULL)
        send_prompt(transcript);
}

static const char *const failures[] = {
    [ACP_INITIALIZE] = "The agent could not be initialized",
    [ACP_OPEN] = "The agent could not begin a session",
    [ACP_MODEL] = "The agent refuses the model that agent.model names",
    [ACP_PROMPT] = "The agent failed",
};

static void on_error(struct transcript *transcript, const struct js *error, bool late)
{
    struct acp *acp = transcript->acp;
    const char *text = js_get_str(error, "message", "");
    bool login = js_get_int(error, "code", 0) == AUTH_REQUIRED ||
                 text_same(js_str(js_path(error, "data.errorKind"), ""), "authentication_failed");
    if (late) {
        transcript->input_over = true;
        return;
    }
    if (acp->state == ACP_PROMPT)
        transcript_words_over(transcript);
    if (acp->state == ACP_OPEN && acp->resume != NULL && !login)
        lose_session(transcript, "The agent could not resume its session", text);
    else
        fail(transcript, failures[acp->state], text);
    if (login)
        transcript_stop(transcript, CUT_LOGIN);
}

static void on_answer(struct transcript *transcript, const struct js *object, bool late)
{
    struct acp *acp = transcript->acp;
    const struct js *result = js_get(object, "result");
    const struct js *error = js_get(object, "error");
    bool awaited = acp->state < ACP_IDLE && js_type(js_get(object, "id")) == JS_INT &&
                   js_get_int(object, "id", 0) == acp->id;
    if (!awaited)
        return;
    if (js_type(error) == JS_OBJECT)
        on_error(transcript, error, late);
    else if (acp->state == ACP_PROMPT)
        on_prompted(transcript, result, late);
    else if (late)
        transcript->input_over = true;
    else if (acp->state == ACP_INITIALIZE)
        on_initialized(transcript, result);
    else if (acp->state == ACP_OPEN)
        on_opened(transcript, result);
    else
        on_model(transcript);
}

/* ---- updates ---- */

static void on_usage(struct transcript *transcript, const struct js *update)
{
    struct acp *acp = transcript->acp;
    const struct js *cost = js_get(update, "cost");
    double amount = js_num(js_get(cost, "amount"), -1);
    /* An extension of claude-agent-acp, whose own name of the model may be "default". */
    transcript_model(transcript, js_get_str(js_get(update, "_meta"), "_claude/model", NULL));
    if (amount < 0 || !text_same(js_get_str(cost, "currency", ""), "USD"))
        return;
    if (!acp->prompted) {
        if (acp->resume != NULL)
            acp->cost_before = cost_bounded(amount);
        return;
    }
    if (amount < acp->cost_before)
        acp->cost_before = 0; /* It counts from its own start. */
    if (amount > transcript->session_usd)
        transcript->session_usd = cost_bounded(amount);
    double spent = cost_bounded(amount - acp->cost_before);
    if (spent > 0 && (!acp->cost_known || spent > transcript->usage.cost_usd))
        transcript->usage.cost_usd = spent; /* It is a sum: it only grows. */
    acp->cost_known = true;
    transcript_sums(transcript);
}

/* "[x] done\n[>] under way\n[ ] to do\n" */
static void on_plan(struct transcript *transcript, const struct js *entries)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX * 4);
    for (size_t i = 0; js_type(entries) == JS_ARRAY && i < js_count(entries); i++) {
        const struct js *entry = js_at(entries, i);
        const char *status = js_get_str(entry, "status", "");
        char mark = text_same(status, "completed")     ? 'x'
                    : text_same(status, "in_progress") ? '>'
                                                       : ' ';
        buf_addf(&text, "[%c] %s\n", mark, js_get_str(entry, "content", ""));
    }
    transcript_plan(transcript, buf_text(&text), NULL);
}

static void on_answering(struct transcript *transcript)
{
    transcript->acp->answered = true;
    transcript_answers(transcript);
}

static void on_update(struct transcript *transcript, const struct js *params, bool late)
{
    struct acp *acp = transcript->acp;
    const struct js *update = js_get(params, "update");
    const char *kind = js_get_str(update, "sessionUpdate", "");
    if (!text_same(js_get_str(params, "sessionId", ""), acp->session) && acp->session[0] != '\0')
        return;
    if (text_same(kind, "usage_update")) {
        on_usage(transcript, update);
        return;
    }
    if (late || !acp->prompted)
        return;
    bool is_call = text_same(kind, "tool_call");
    if (text_same(kind, "agent_message_chunk")) {
        on_answering(transcript);
        transcript_words(transcript, js_str(js_path(update, "content.text"), ""));
    } else if (text_same(kind, "agent_thought_chunk")) {
        on_answering(transcript);
    } else if (is_call || text_same(kind, "tool_call_update")) {
        if (is_call)
            on_answering(transcript);
        transcript_words_over(transcript);
        acp_tool_update(transcript, &acp->tools, update);
    } else if (text_same(kind, "plan")) {
        on_plan(transcript, js_get(update, "entries"));
    } else if (text_same(kind, "config_option_update")) {
        transcript_model(transcript, choice_of(update, NULL).current);
    }
}

/* ---- requests of the agent ---- */

/* False: a person answers it later. */
static bool answer_permission(struct transcript *transcript, const char *rpc_id,
                              const struct js *params, bool late, struct jw *jw)
{
    struct acp *acp = transcript->acp;
    bool over = late || acp->cancelled, waits = false;
    const char *option = over ? NULL
                              : acp_tool_permit(transcript, &acp->tools, params, rpc_id,
                                                acp->asks_permission ? &acp->asks : NULL, &waits);
    if (!waits)
        acp_write_outcome(jw, option);
    return !waits;
}

static void write_error(struct jw *jw, int code, const char *message)
{
    jw_key(jw, "error");
    jw_begin(jw, '{');
    jw_kint(jw, "code", code);
    jw_kstr(jw, "message", message);
    jw_end(jw, '}');
}

/* False: the same. */
static bool answer_form(struct transcript *transcript, const char *rpc_id, const struct js *params,
                        bool late, struct jw *jw)
{
    struct acp *acp = transcript->acp;
    const char *session = js_get_str(params, "sessionId", acp->session);
    if (!acp->asks_forms) {
        write_error(jw, METHOD_NOT_FOUND, "Method not found");
        return true;
    }
    if (late || acp->cancelled) {
        acp_form_cancel(jw);
        return true;
    }
    const char *why = text_same(session, acp->session) ? acp_asks_form(&acp->asks, rpc_id, params)
                                                       : "drover knows no such session";
    if (why == NULL)
        return false;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX);
    buf_addf(&text, "What the agent wants to know cannot be asked: %s.", why);
    transcript_message(transcript, buf_text(&text));
    write_error(jw, INVALID_PARAMS, why);
    return true;
}

static void on_request(struct transcript *transcript, const struct js *object, bool late)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *id = js_text(js_get(object, "id"), &arena);
    const char *method = js_get_str(object, "method", "");
    const struct js *params = js_get(object, "params");
    if (strlen(id) > RPC_ID_BYTES_MAX)
        return;
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_message(&message);
    bool answered = true;
    jw_kraw(&jw, "id", str_of(id));
    if (text_same(method, "session/request_permission"))
        answered = answer_permission(transcript, id, params, late, &jw);
    else if (text_same(method, "elicitation/create"))
        answered = answer_form(transcript, id, params, late, &jw);
    else
        write_error(&jw, METHOD_NOT_FOUND, "Method not found");
    jw_end(&jw, '}');
    if (answered)
        transcript_send(transcript, &message);
}

/* ---- what people are asked ---- */

static const struct question_spec *acp_asking(const struct transcript *transcript)
{
    const struct acp *acp = transcript->acp;
    return acp != NULL && acp->state != ACP_OVER ? acp_asks_first(&acp->asks) : NULL;
}

static void report_verdict(struct transcript *transcript, const char *answer)
{
    struct acp *acp = transcript->acp;
    struct tool_event verdict;
    if (!acp_asks_verdict(&acp->asks, answer, &verdict))
        return;
    transcript_tool(transcript, &verdict);
    if (verdict.status == TOOL_DENIED)
        acp_tool_denied(&acp->tools, verdict.id);
}

static void acp_answer(struct transcript *transcript, const char *answer)
{
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_message(&message);
    report_verdict(transcript, answer);
    if (!acp_asks_answer(&transcript->acp->asks, answer, &jw))
        return;
    jw_end(&jw, '}');
    transcript_send(transcript, &message);
}

/* $/cancel_request: the agent does not wait for the answer any more. */
static void on_given_up(struct transcript *transcript, const struct js *params)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *id = js_text(js_get(params, "requestId"), &arena);
    if (!acp_asks_drop(&transcript->acp->asks, id))
        return;
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_message(&message);
    jw_kraw(&jw, "id", str_of(id));
    write_error(&jw, REQUEST_CANCELLED, "Cancelled");
    jw_end(&jw, '}');
    transcript_send(transcript, &message);
}

/* ---- the adapter ---- */

static void take_line(struct transcript *transcript, struct str line, bool late)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *method = js_get_str(object, "method", NULL);
    enum js_type id = js_type(js_get(object, "id"));
    bool has_id = id == JS_INT || id == JS_STRING;
    if (object == NULL || transcript->acp == NULL)
        return;
    if (method != NULL && has_id)
        on_request(transcript, object, late);
    else if (text_same(method, "session/update"))
        on_update(transcript, js_get(object, "params"), late);
    else if (text_same(method, "$/cancel_request"))
        on_given_up(transcript, js_get(object, "params"));
    else if (method == NULL && has_id)
        on_answer(transcript, object, late);
}

static void acp_line(struct transcript *transcript, struct str line)
{
    take_line(transcript, line, false);
}

static void acp_late_line(struct transcript *transcript, struct str line)
{
    take_line(transcript, line, true);
}

static char *copied(const char *text)
{
    return text_empty(text) ? NULL : mem_strdup(text);
}

static void acp_begin(struct transcript *transcript, const struct conversation *conversation)
{
    struct acp *acp = mem_alloc(sizeof *acp);
    acp->cwd = mem_strdup(conversation->cwd);
    acp->model = copied(conversation->model);
    acp->resume = copied(conversation->session_id);
    acp->cost_before = acp->resume != NULL ? conversation->session_usd : 0;
    acp->asks_permission = conversation->asks_permission;
    acp->asks_forms = conversation->asks_forms;
    buf_init(&acp->blocks, ADAPTER_INPUT_MAX);
    transcript->acp = acp;
    add_block(acp, conversation->prompt);
    send_initialize(transcript);
    if (acp->blocks.overflow)
        fail(transcript, "The prompt is too long for the agent's stdin", NULL);
}

static void acp_say(struct transcript *transcript, const char *text)
{
    struct acp *acp = transcript->acp;
    transcript->input_waits = true;
    if (acp->state == ACP_OVER)
        return;
    add_block(acp, text);
    transcript->input_waits = true;
    if (acp->state == ACP_IDLE)
        send_prompt(transcript);
}

static void acp_interrupt(struct transcript *transcript)
{
    struct acp *acp = transcript->acp;
    cancel_asks(transcript);
    if (acp->state != ACP_PROMPT) {
        transcript->input_over = true;
        return;
    }
    CLEANUP(buf_release) struct buf message;
    struct jw jw = open_message(&message);
    jw_kstr(&jw, "method", "session/cancel");
    jw_key(&jw, "params");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sessionId", acp->session);
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    acp->cancelled = true;
    transcript_send(transcript, &message);
}

const struct adapter_ops adapter_acp = {
    .line = acp_line,
    .late_line = acp_late_line,
    .tells_end = true,
    .begin = acp_begin,
    .say = acp_say,
    .asks = acp_asking,
    .answer = acp_answer,
    .interrupt = acp_interrupt,
};
