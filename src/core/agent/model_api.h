/*
 * model_api.h - one request to a language model, in the two formats that vendors and compatible
 * servers use.
 *
 *     openai      POST {url}/chat/completions     Authorization: Bearer KEY
 *                 {model, messages: [{role, content}], max_completion_tokens}
 *                 → {choices: [{message: {content, refusal}, finish_reason}],
 *                    usage: {prompt_tokens, completion_tokens}}
 *     anthropic   POST {url}/v1/messages          x-api-key: KEY, anthropic-version: 2023-06-01
 *                 {model, system, messages: [{role, content}], max_tokens}
 *                 → {content: [{type: "text", text}], stop_reason,
 *                    usage: {input_tokens, output_tokens}}
 *
 * Both report errors as {error: {type, message}}.
 */
#ifndef CORE_AGENT_MODEL_API_H
#define CORE_AGENT_MODEL_API_H
#include "base/buf.h"
#include "core/config/repo_config.h"

#define MODEL_ANTHROPIC_VERSION "2023-06-01"

struct model_question {
    enum model_api api;
    const char *model;
    const char *system;
    const char *user;
    int64_t max_tokens; /* Of the answer. */
};

struct model_answer {
    const char *text;  /* All text parts, joined. */
    const char *model; /* Its name as it reports it, or NULL. */
    int64_t input_tokens, output_tokens;
    double cost_usd; /* As the endpoint reports; 0: it does not. */
    bool cut_off;    /* It ran out of tokens. */
};

const char *model_api_path(enum model_api api);
void model_api_write(const struct model_question *question, struct buf *into);
/* RC_INVALID: that is no answer of this shape, or a refusal.  The texts go into the arena. */
MUST_USE enum rc model_api_read(enum model_api api, struct str body, struct arena *arena,
                                struct model_answer *ret_answer, struct err *err);
/* The message of the error, on one line; NULL: nothing that can be read. */
const char *model_api_error(struct str body, struct arena *arena);
#endif
