#include "work/agent/stream_json.h"
#include "base/jw.h"
#include "work/agent/quota.h"
#include "work/agent/todos.h"
#include <string.h>

/* ---- messages of the model ---- */

struct tokens stream_json_tokens(const struct stream_json *kind, const struct js *usage)
{
    int64_t cached = tokens_bounded(js_get_int(usage, "cache_read_input_tokens", 0));
    int64_t written = tokens_bounded(js_get_int(usage, "cache_creation_input_tokens", 0));
    int64_t hour = js_int(js_path(usage, "cache_creation.ephemeral_1h_input_tokens"), 0);
    int64_t input = tokens_bounded(js_get_int(usage, "input_tokens", 0));
    hour = hour > 0 && hour <= written ? hour : 0;
    return (struct tokens){
        .input = kind->input_holds_cached ? input : input + cached + written,
        .cached_input = cached,
        .cache_write = written - hour,
        .cache_write_1h = hour,
        .output = js_get_int(usage, "output_tokens", 0),
    };
}

void stream_json_count(struct transcript *transcript, const struct stream_json *kind,
                       const struct js *message, bool of_main)
{
    const char *model = js_get_str(message, "model", NULL);
    if (of_main)
        transcript_model(transcript, model);
    struct request_usage request = {
        .message_id = js_get_str(message, "id", NULL),
        .model = model,
        .tokens = stream_json_tokens(kind, js_get(message, "usage")),
    };
    if (transcript_tokens(transcript, &request) && of_main)
        transcript_turn(transcript, 0);
    else
        transcript_sums(transcript);
}

bool stream_json_of_main(const struct js *object)
{
    return js_type(js_get(object, "parent_tool_use_id")) == JS_NULL;
}

const char *stream_json_text(const struct js *content)
{
    for (size_t i = 0; js_type(content) == JS_ARRAY && i < js_count(content); i++) {
        const char *text = js_get_str(js_at(content, i), "text", NULL);
        if (text != NULL)
            return text;
    }
    return "";
}

static void on_tool_use(struct transcript *transcript, const struct js *block)
{
    const char *name = js_get_str(block, "name", NULL);
    const struct js *input = js_get(block, "input");
    transcript_tool(transcript, &(struct tool_event){.status = TOOL_STARTED,
                                                     .id = js_get_str(block, "id", NULL),
                                                     .name = name,
                                                     .summary = tool_summary(input),
                                                     .arguments = input});
    if (text_same(name, "TodoWrite") || text_same(name, "todo_write"))
        todos_plan(transcript, js_get(input, "todos"));
    else if (text_same(name, "TaskUpdate"))
        todos_mark(transcript, js_get_str(input, "taskId", ""), js_get_str(input, "status", ""));
    else if (text_same(name, "ExitPlanMode"))
        transcript_plan(transcript, js_get_str(input, "plan", NULL), NULL);
}

void stream_json_assistant(struct transcript *transcript, const struct stream_json *kind,
                           const struct js *object)
{
    const struct js *message = js_get(object, "message");
    const struct js *content = js_get(message, "content");
    bool of_main = stream_json_of_main(object);
    stream_json_count(transcript, kind, message, of_main);
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

/* "a.c, +3 -1" or "a.c, 20 lines", where the program says what its tool did. */
static const char *describe(const struct js *told, struct buf *text)
{
    const char *path = js_get_str(told, "filePath", NULL);
    const struct js *hunks = js_get(told, "structuredPatch");
    int64_t lines = js_int(js_path(told, "file.numLines"), -1), added = 0, removed = 0;
    if (path == NULL && lines >= 0) {
        path = js_str(js_path(told, "file.filePath"), "");
        buf_addf(text, "%s, %lld lines", path, (long long)lines);
        return buf_text(text);
    }
    if (path == NULL || js_type(hunks) != JS_ARRAY)
        return NULL;
    for (size_t i = 0; i < js_count(hunks); i++) {
        const struct js *changed = js_get(js_at(hunks, i), "lines");
        for (size_t j = 0; j < js_count(changed); j++) {
            const char *line = js_str(js_at(changed, j), "");
            added += line[0] == '+';
            removed += line[0] == '-';
        }
    }
    buf_addf(text, "%s, +%lld -%lld", path, (long long)added, (long long)removed);
    return buf_text(text);
}

/* "Exit code 3\n..." of the tool Bash. */
static int64_t exit_code_of(const char *error)
{
    static const char start[] = "Exit code ";
    char digits[12] = "";
    int64_t code = 0;
    if (!text_starts(error, start))
        return 0;
    size_t len = strspn(error + sizeof start - 1, "0123456789");
    if (len < sizeof digits)
        memcpy(digits, error + sizeof start - 1, len);
    return text_to_i64(digits, &code) ? code : 0;
}

static void on_tool_result(struct transcript *transcript, const struct js *block,
                           const struct js *told)
{
    CLEANUP(buf_release) struct buf did;
    buf_init(&did, ADAPTER_TEXT_MAX);
    bool failed = js_get_bool(block, "is_error", false);
    const struct js *content = js_get(block, "content");
    const char *error = NULL;
    if (failed)
        error = js_str(content, stream_json_text(content));
    transcript_tool(transcript,
                    &(struct tool_event){.status = failed ? TOOL_FAILED : TOOL_COMPLETED,
                                         .id = js_get_str(block, "tool_use_id", NULL),
                                         .summary = failed ? NULL : describe(told, &did),
                                         .error = error,
                                         .exit_code = failed ? exit_code_of(error) : 0});
}

void stream_json_user(struct transcript *transcript, const struct js *object)
{
    const struct js *content = js_path(object, "message.content");
    const struct js *told = js_get(object, "tool_use_result");
    const struct js *task = js_get(told, "task"); /* Of TaskCreate. */
    for (size_t i = 0; js_type(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *block = js_at(content, i);
        if (text_same(js_get_str(block, "type", ""), "tool_result"))
            on_tool_result(transcript, block, told);
    }
    if (js_get_str(task, "subject", NULL) != NULL)
        todos_put(transcript, js_get_str(task, "id", ""), js_get_str(task, "subject", ""));
}

/* ---- the end ---- */

/* All models that worked, subagents and side requests such as the session's title included. */
static bool add_models(const struct js *models, struct tokens *total, double *usd)
{
    size_t position = 0;
    const char *name;
    const struct js *model;
    while (js_type(models) == JS_OBJECT && js_next(models, &position, &name, &model)) {
        int64_t cached = tokens_bounded(js_get_int(model, "cacheReadInputTokens", 0));
        total->input += tokens_bounded(js_get_int(model, "inputTokens", 0)) + cached +
                        tokens_bounded(js_get_int(model, "cacheCreationInputTokens", 0));
        total->cached_input += cached;
        total->output += tokens_bounded(js_get_int(model, "outputTokens", 0));
        *usd += cost_bounded(js_num(js_get(model, "costUSD"), 0));
    }
    return position > 0;
}

/* Older programs have no sums of models: then those of the main agent are a lower bound. */
static void raise_tokens(struct usage *usage, const struct js *told)
{
    static const struct stream_json apart = {.program = ""};
    struct tokens total = stream_json_tokens(&apart, told);
    if (total.input > usage->input_tokens)
        usage->input_tokens = tokens_bounded(total.input);
    if (total.cached_input > usage->cached_input_tokens)
        usage->cached_input_tokens = tokens_bounded(total.cached_input);
    if (total.output > usage->output_tokens)
        usage->output_tokens = tokens_bounded(total.output);
}

/* A result corrects what was counted.  It takes back no more than half of it: any process of the
   agent's can print a line that looks like a result, and must not get its limits anew by that. */
static void hold_to_counted(struct usage *usage, const struct usage *counted)
{
    if (usage->input_tokens < counted->input_tokens / 2)
        usage->input_tokens = counted->input_tokens / 2;
    if (usage->output_tokens < counted->output_tokens / 2)
        usage->output_tokens = counted->output_tokens / 2;
    if (usage->cost_usd < counted->cost_usd / 2)
        usage->cost_usd = counted->cost_usd / 2;
}

/* Sums of a session that was resumed hold those of earlier attempts, since 2.1.326 or before: the
   part since the last result does not. */
static void take_sums(struct transcript *transcript, const struct js *object)
{
    struct usage *usage = &transcript->usage;
    struct tokens total = {0};
    double usd = 0, cost = js_num(js_get(object, "total_cost_usd"), -1);
    if (add_models(js_get(object, "model_usage_since_last_result"), &transcript->results.tokens,
                   &transcript->results.usd)) {
        transcript_total(transcript, &transcript->results.tokens);
        cost = transcript->results.usd;
    } else if (add_models(js_get(object, "modelUsage"), &total, &usd)) {
        transcript_total(transcript, &total);
        cost = cost >= 0 ? cost : usd;
    } else {
        raise_tokens(usage, js_get(object, "usage"));
    }
    if (cost >= 0)
        usage->cost_usd = cost_bounded(cost);
    hold_to_counted(usage, &transcript->counted);
}

static void record_denials(struct transcript *transcript, const struct js *denials)
{
    for (size_t i = 0; i < js_count(denials) && i < ADAPTER_CALLS_MAX; i++) {
        const struct js *denial = js_at(denials, i);
        const struct js *input = js_get(denial, "tool_input");
        transcript_tool(transcript,
                        &(struct tool_event){.status = TOOL_DENIED,
                                             .id = js_get_str(denial, "tool_use_id", NULL),
                                             .name = js_get_str(denial, "tool_name", "tool"),
                                             .summary = tool_summary(input),
                                             .arguments = input,
                                             .error = "permission denied"});
    }
}

static const struct {
    const char *subtype, *error, *stop;
} ends[] = {
    {"error_max_turns", "reached its limit of turns.", CUT_TURN_LIMIT},
    {"error_max_budget_usd", "reached its limit of cost.", CUT_BUDGET_LIMIT},
    {"error_during_execution", "failed while it worked.", NULL},
};

static void on_error_result(struct transcript *transcript, const struct stream_json *kind,
                            const struct js *object)
{
    const char *subtype = js_get_str(object, "subtype", "");
    const char *text = js_get_str(object, "result", js_get_str(object, "error", ""));
    const char *stop = NULL, *standard = "failed.";
    CLEANUP(buf_release) struct buf own;
    buf_init(&own, ADAPTER_NAME_MAX);
    if (text_empty(text))
        text = js_str(js_at(js_get(object, "errors"), 0), "");
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (text_same(ends[i].subtype, subtype)) {
            stop = ends[i].stop;
            standard = ends[i].error;
        }
    }
    bool interrupted = text_starts(js_get_str(object, "terminal_reason", ""), "aborted");
    if (interrupted || text_empty(text)) {
        buf_addf(&own, "%s %s", kind->program, interrupted ? "was interrupted." : standard);
        text = buf_text(&own);
    }
    if (stop != NULL)
        transcript_failed(transcript, text);
    else
        transcript_refused(transcript,
                           &(struct provider_refusal){
                               .status = js_get_int(object, "api_error_status", 0), .text = text});
    if (stop != NULL)
        transcript_stop(transcript, stop);
}

/* The agent waits for the next message, unless one is on its way. */
static void end_input(struct transcript *transcript)
{
    transcript->input_over |= transcript->input.len == 0;
}

void stream_json_result(struct transcript *transcript, const struct stream_json *kind,
                        const struct js *object)
{
    const char *text = js_get_str(object, "result", "");
    bool good = text_same(js_get_str(object, "subtype", ""), "success") &&
                !js_get_bool(object, "is_error", false);
    take_sums(transcript, object);
    bool answered = good || !text_same(js_get_str(object, "subtype", ""), "success");
    if (transcript->usage.turns == 0 && answered) /* Else a message of the program's own. */
        transcript->usage.turns = tokens_bounded(js_get_int(object, "num_turns", 0));
    progress_turn(transcript->progress, &transcript->usage);
    record_denials(transcript, js_get(object, "permission_denials"));
    if (!good)
        on_error_result(transcript, kind, object);
    else if (quota_notice(text))
        transcript_failed(transcript, text);
    else
        transcript_succeeded(transcript, text);
    transcript_check(transcript);
    end_input(transcript);
}

void stream_json_late_result(struct transcript *transcript, const struct js *object)
{
    const struct usage before = transcript->usage;
    take_sums(transcript, object);
    const struct usage *now = &transcript->usage;
    if (now->input_tokens != before.input_tokens || now->output_tokens != before.output_tokens ||
        now->cost_usd > before.cost_usd || now->cost_usd < before.cost_usd)
        progress_turn(transcript->progress, now);
    end_input(transcript);
}

/* ---- what it is told ---- */

void stream_json_say(struct transcript *transcript, const char *text)
{
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, ADAPTER_INPUT_MAX);
    struct jw jw = jw_to(&line);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", "user");
    jw_key(&jw, "message");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "role", "user");
    jw_key(&jw, "content");
    jw_begin(&jw, '[');
    jw_begin(&jw, '{');
    jw_kstr(&jw, "type", "text");
    jw_kstr(&jw, "text", text);
    jw_end(&jw, '}');
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    transcript_send(transcript, &line);
}

void stream_json_begin(struct transcript *transcript, const struct conversation *conversation)
{
    stream_json_say(transcript, conversation->prompt);
}
