#include "core/agent/model_api.h"
#include "base/jw.h"
#include "core/text/prose.h"
#include <string.h>

enum { ANSWER_BYTES_MAX = 1024 * 1024, ERROR_MAX = 300, MODEL_NAME_MAX = 200 };

static const int64_t tokens_max = INT64_C(1000000000);
static const double cost_max = 1e6;

const char *model_api_path(enum model_api api)
{
    return api == MODEL_OPENAI ? "/chat/completions" : "/v1/messages";
}

static void write_message(struct jw *jw, const char *role, const char *content)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "role", role);
    jw_kstr(jw, "content", content);
    jw_end(jw, '}');
}

void model_api_write(const struct model_question *question, struct buf *into)
{
    bool openai = question->api == MODEL_OPENAI;
    struct jw jw = jw_to(into);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "model", question->model);
    jw_kint(&jw, openai ? "max_completion_tokens" : "max_tokens", question->max_tokens);
    if (!openai)
        jw_kstr(&jw, "system", question->system);
    jw_key(&jw, "messages");
    jw_begin(&jw, '[');
    if (openai)
        write_message(&jw, "system", question->system);
    write_message(&jw, "user", question->user);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* ---- the answer ---- */

/* Text, or blocks of which those of type text count. */
static const char *content_text(const struct js *content, struct arena *arena)
{
    if (js_type(content) == JS_STRING)
        return arena_strdup(arena, js_str(content, ""));
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ANSWER_BYTES_MAX);
    size_t count = js_type(content) == JS_ARRAY ? js_count(content) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct js *block = js_at(content, i);
        if (text_same(js_get_str(block, "type", ""), "text"))
            buf_adds(&text, js_get_str(block, "text", ""));
    }
    return text.len > 0 ? str_dup(arena, buf_str(&text)) : NULL;
}

static int64_t tokens_of(const struct js *usage, const char *key)
{
    int64_t tokens = js_get_int(usage, key, 0);
    return tokens < 0 ? 0 : tokens > tokens_max ? tokens_max : tokens;
}

static double cost_of(const struct js *usage)
{
    double cost = js_num(js_get(usage, "cost"), 0);
    return cost > 0 && cost < cost_max ? cost : 0;
}

static void read_openai(const struct js *tree, struct arena *arena, struct model_answer *answer,
                        const char **ret_refusal)
{
    const struct js *choice = js_at(js_get(tree, "choices"), 0);
    const struct js *usage = js_get(tree, "usage");
    answer->text = content_text(js_path(choice, "message.content"), arena);
    answer->cut_off = text_same(js_get_str(choice, "finish_reason", ""), "length");
    answer->input_tokens = tokens_of(usage, "prompt_tokens");
    answer->output_tokens = tokens_of(usage, "completion_tokens");
    answer->cost_usd = cost_of(usage);
    *ret_refusal = js_str(js_path(choice, "message.refusal"), NULL);
}

static void read_anthropic(const struct js *tree, struct arena *arena, struct model_answer *answer,
                           const char **ret_refusal)
{
    const struct js *usage = js_get(tree, "usage");
    const char *why = js_get_str(tree, "stop_reason", "");
    answer->text = content_text(js_get(tree, "content"), arena);
    answer->cut_off = text_same(why, "max_tokens");
    answer->input_tokens = tokens_of(usage, "input_tokens") +
                           tokens_of(usage, "cache_creation_input_tokens") +
                           tokens_of(usage, "cache_read_input_tokens");
    answer->output_tokens = tokens_of(usage, "output_tokens");
    answer->cost_usd = cost_of(usage);
    *ret_refusal = text_same(why, "refusal") ? why : NULL;
}

enum rc model_api_read(enum model_api api, struct str body, struct arena *arena,
                       struct model_answer *ret_answer, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct model_answer answer = {0};
    const char *refusal = NULL;
    if (js_parse(body.at, body.len, &tree, NULL) != RC_OK || js_type(tree) != JS_OBJECT)
        return err_set(err, RC_INVALID, "ODD_ANSWER", "The model's endpoint answers no JSON.");
    if (api == MODEL_OPENAI)
        read_openai(tree, arena, &answer, &refusal);
    else
        read_anthropic(tree, arena, &answer, &refusal);
    if (!text_empty(refusal))
        return err_set(err, RC_INVALID, "REFUSED", "The model refuses: %s",
                       prose_line(arena, refusal, ERROR_MAX));
    if (text_empty(answer.text))
        return err_set(err, RC_INVALID, "ODD_ANSWER", "There is no text in the model's answer.");
    const char *model = js_get_str(tree, "model", NULL);
    answer.model = model != NULL ? prose_line(arena, model, MODEL_NAME_MAX) : NULL;
    *ret_answer = answer;
    return RC_OK;
}

const char *model_api_error(struct str body, struct arena *arena)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse(body.at, body.len, &tree, NULL) != RC_OK)
        return NULL;
    const char *text = js_str(js_path(tree, "error.message"), NULL);
    return text_empty(text) ? NULL : prose_line(arena, text, ERROR_MAX);
}
