/*
 * adapter_claude.c - Claude Code: claude -p --output-format stream-json --verbose
 *
 *     {"type":"system","subtype":"init","session_id":"...","model":"claude-...",...}
 *     {"type":"assistant","message":{"id":"msg_1","model":"...","content":[
 *         {"type":"text","text":"..."},
 *         {"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"..."}}],
 *       "usage":{"input_tokens":4,"cache_creation_input_tokens":5,"cache_read_input_tokens":6,
 *                "output_tokens":7}},"parent_tool_use_id":null,"error":"rate_limit"?}
 *     {"type":"user","message":{"content":[
 *         {"type":"tool_result","tool_use_id":"toolu_1","is_error":false,"content":"..."}]}}
 *     {"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1787412000}}
 *     {"type":"result","subtype":"success|error_max_turns|error_during_execution|...",
 *      "is_error":false,"api_error_status":429?,
 *      "result":"...","num_turns":2,"total_cost_usd":0.05,"usage":{...},
 *      "permission_denials":[{"tool_name":"...","tool_use_id":"..."}]}
 *
 * One message of the model may be split into several lines, all with its id and its usage: it is
 * one turn.  Messages of subagents (parent_tool_use_id) cost tokens and are no turns.  The cost is
 * reported at the end only; until then it is computed from the tokens and the prices of the
 * configuration.
 */
#include "work/agent/adapter.h"
#include "work/agent/quota.h"

enum { TOO_MANY_REQUESTS = 429 };

/* ---- messages of the model ---- */

static struct tokens tokens_of(const struct js *usage)
{
    int64_t cached = tokens_bounded(js_get_int(usage, "cache_read_input_tokens", 0));
    return (struct tokens){
        .input = tokens_bounded(js_get_int(usage, "input_tokens", 0)) + cached +
                 tokens_bounded(js_get_int(usage, "cache_creation_input_tokens", 0)),
        .cached_input = cached,
        .output = js_get_int(usage, "output_tokens", 0),
    };
}

/* The most descriptive argument of a call, by its usual names. */
static const char *summary_of(const struct js *input)
{
    static const char *const keys[] = {"command",     "file_path", "notebook_path", "path",
                                       "pattern",     "query",     "url",           "skill",
                                       "description", "prompt"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *text = js_get_str(input, keys[i], NULL);
        if (!text_empty(text))
            return text;
    }
    return NULL;
}

/* "[x] done\n[>] under way\n[ ] to do\n" */
static void record_todos(struct transcript *transcript, const struct js *todos)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ADAPTER_TEXT_MAX * 4);
    for (size_t i = 0; i < js_count(todos); i++) {
        const struct js *todo = js_at(todos, i);
        const char *status = js_get_str(todo, "status", "");
        const char *mark = text_same(status, "completed")     ? "x"
                           : text_same(status, "in_progress") ? ">"
                                                              : " ";
        buf_addf(&text, "[%s] %s\n", mark, js_get_str(todo, "content", ""));
    }
    transcript_plan(transcript, buf_text(&text), NULL);
}

static void on_tool_use(struct transcript *transcript, const struct js *block)
{
    const char *name = js_get_str(block, "name", NULL);
    const struct js *input = js_get(block, "input");
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = js_get_str(block, "id", NULL),
                                                     .name = name,
                                                     .summary = summary_of(input),
                                                     .arguments = input});
    if (text_same(name, "TodoWrite"))
        record_todos(transcript, js_get(input, "todos"));
    else if (text_same(name, "ExitPlanMode"))
        transcript_plan(transcript, js_get_str(input, "plan", NULL), NULL);
}

static const char *first_text(const struct js *content)
{
    for (size_t i = 0; i < js_count(content); i++) {
        const char *text = js_get_str(js_at(content, i), "text", NULL);
        if (text != NULL)
            return text;
    }
    return "";
}

/* The message is from Claude Code itself, not from the model: an error of the provider. */
static bool is_notice(const struct js *object, const struct js *message)
{
    return text_same(js_get_str(message, "model", ""), "<synthetic>") ||
           js_get_str(object, "error", NULL) != NULL;
}

static void on_notice(struct transcript *transcript, const struct js *object,
                      const struct js *message)
{
    const char *text = first_text(js_get(message, "content"));
    bool refused = text_same(js_get_str(object, "error", ""), "rate_limit");
    transcript->quota.rejected |= refused;
    if (refused || quota_notice(text))
        transcript_quota(transcript, text);
    else if (text[0])
        transcript_message(transcript, text);
}

static void count_message(struct transcript *transcript, const struct js *message, bool of_main)
{
    const char *model = js_get_str(message, "model", NULL);
    if (of_main && !text_empty(model))
        transcript_copy(transcript->usage.model, sizeof transcript->usage.model, model);
    bool fresh = transcript_tokens(transcript, js_get_str(message, "id", NULL),
                                   tokens_of(js_get(message, "usage")));
    if (fresh && of_main) {
        transcript_turn(transcript, 0);
        return;
    }
    progress_turn(transcript->progress, &transcript->usage);
    transcript_sums(transcript);
}

static void on_assistant(struct transcript *transcript, const struct js *object)
{
    const struct js *message = js_get(object, "message");
    const struct js *content = js_get(message, "content");
    bool of_main = js_type(js_get(object, "parent_tool_use_id")) == JS_NULL;
    if (is_notice(object, message)) {
        on_notice(transcript, object, message);
        return;
    }
    count_message(transcript, message, of_main);
    for (size_t i = 0; i < js_count(content) && transcript->stop == NULL; i++) {
        const struct js *block = js_at(content, i);
        const char *type = js_get_str(block, "type", "");
        if (text_same(type, "tool_use"))
            on_tool_use(transcript, block);
        else if (text_same(type, "text") && of_main)
            transcript_message(transcript, js_get_str(block, "text", ""));
    }
}

/* ---- results of tools ---- */

static void on_tool_result(struct transcript *transcript, const struct js *block)
{
    bool failed = js_get_bool(block, "is_error", false);
    const struct js *content = js_get(block, "content");
    const char *error = js_str(content, NULL);
    if (failed && error == NULL)
        error = first_text(content);
    transcript_tool(transcript,
                    &(struct tool_event){.status = failed ? TOOL_FAILED : TOOL_COMPLETED,
                                         .id = js_get_str(block, "tool_use_id", NULL),
                                         .error = failed ? error : NULL});
}

static void on_user(struct transcript *transcript, const struct js *object)
{
    const struct js *content = js_path(object, "message.content");
    for (size_t i = 0; js_type(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *block = js_at(content, i);
        if (text_same(js_get_str(block, "type", ""), "tool_result"))
            on_tool_result(transcript, block);
    }
}

/* ---- limits of the provider ---- */

/* The event is sent for accepted requests as well.  A rejected request may still continue at extra
   cost. */
static void on_rate_limit(struct transcript *transcript, const struct js *object)
{
    const struct js *info = js_get(object, "rate_limit_info");
    if (!text_same(js_get_str(info, "status", ""), "rejected") ||
        js_get_bool(info, "isUsingOverage", false) ||
        text_same(js_get_str(info, "overageStatus", ""), "allowed"))
        return;
    int64_t now_us = clock_now_us(&transcript->clock);
    transcript->quota.rejected = true;
    transcript->quota.resets_us = quota_reset_epoch(js_get_int(info, "resetsAt", 0), now_us);
}

/* ---- the end ---- */

static void take_sums(struct transcript *transcript, const struct js *object)
{
    struct usage *usage = &transcript->usage;
    struct tokens total = tokens_of(js_get(object, "usage"));
    if (total.input > usage->input_tokens)
        usage->input_tokens = tokens_bounded(total.input);
    if (total.cached_input > usage->cached_input_tokens)
        usage->cached_input_tokens = tokens_bounded(total.cached_input);
    if (total.output > usage->output_tokens)
        usage->output_tokens = tokens_bounded(total.output);
    if (usage->turns == 0)
        usage->turns = tokens_bounded(js_get_int(object, "num_turns", 0));
    double cost = js_num(js_get(object, "total_cost_usd"), -1);
    if (cost >= 0)
        usage->cost_usd = cost_bounded(cost);
    progress_turn(transcript->progress, usage);
}

static void record_denials(struct transcript *transcript, const struct js *denials)
{
    for (size_t i = 0; i < js_count(denials) && i < ADAPTER_CALLS_MAX; i++) {
        const struct js *denial = js_at(denials, i);
        const struct js *input = js_get(denial, "tool_input");
        transcript_tool(transcript,
                        &(struct tool_event){.status = TOOL_DENIED,
                                             .id = js_get_str(denial, "tool_use_id", NULL),
                                             .name = js_get_str(denial, "tool_name", NULL),
                                             .summary = summary_of(input),
                                             .arguments = input,
                                             .error = "by the agent's own permissions"});
    }
}

/* Limits that Claude Code was given by its own options. */
static const struct {
    const char *subtype, *error, *stop;
} ends[] = {
    {"error_max_turns", "Claude Code reached its limit of turns.", CUT_TURN_LIMIT},
    {"error_max_budget_usd", "Claude Code reached its limit of cost.", CUT_BUDGET_LIMIT},
    {"error_during_execution", "Claude Code failed while it worked.", NULL},
};

static void on_error_result(struct transcript *transcript, const struct js *object)
{
    const char *subtype = js_get_str(object, "subtype", "");
    const char *text = js_get_str(object, "result", "");
    if (text_empty(text))
        text = js_str(js_at(js_get(object, "errors"), 0), "");
    const char *stop = NULL;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (!text_same(ends[i].subtype, subtype))
            continue;
        stop = ends[i].stop;
        text = text_empty(text) ? ends[i].error : text;
    }
    transcript->quota.rejected |= js_get_int(object, "api_error_status", 0) == TOO_MANY_REQUESTS;
    transcript_failed(transcript, text);
    if (transcript->stop == NULL)
        transcript->stop = stop;
}

static void on_result(struct transcript *transcript, const struct js *object)
{
    const char *text = js_get_str(object, "result", "");
    bool good = text_same(js_get_str(object, "subtype", ""), "success") &&
                !js_get_bool(object, "is_error", false);
    take_sums(transcript, object);
    record_denials(transcript, js_get(object, "permission_denials"));
    if (!good) {
        on_error_result(transcript, object);
    } else if (quota_notice(text)) {
        transcript_failed(transcript, text);
    } else {
        transcript->report = REPORT_SUCCESS;
        transcript_copy(transcript->summary, sizeof transcript->summary, text);
        transcript->error[0] = '\0';
    }
    transcript_sums(transcript);
}

static void claude_line(struct transcript *transcript, struct str line)
{
    CLEANUP(js_freep) struct js *object = transcript_parse(line);
    const char *type = js_get_str(object, "type", "");
    if (text_same(type, "assistant"))
        on_assistant(transcript, object);
    else if (text_same(type, "user"))
        on_user(transcript, object);
    else if (text_same(type, "result"))
        on_result(transcript, object);
    else if (text_same(type, "rate_limit_event"))
        on_rate_limit(transcript, object);
    else if (text_same(type, "system") && text_same(js_get_str(object, "subtype", ""), "init"))
        transcript_session(transcript, js_get_str(object, "session_id", NULL),
                           js_get_str(object, "model", NULL));
}

const struct adapter_ops adapter_claude = {.line = claude_line};
