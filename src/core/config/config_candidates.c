/*
 * config_candidates.c - the section `candidates` of a repository's configuration: agents that may
 * work on one task side by side (core/run/candidates.h).
 *
 *   candidates: [{name, agent: {...}}]
 *
 * An agent with `use`, `command` or `compute` of its own replaces the repository's; any other is
 * merged into it, so that {agent: {model: X}} is the same agent with another model.
 */
#include "base/jw.h"
#include "base/merge_patch.h"
#include "base/str.h"
#include "core/config/config_decoder.h"

enum { LAYER_BYTES_MAX = 256 * 1024 };

static bool replaces(const struct js *agent)
{
    return js_get(agent, "use") != NULL || js_get(agent, "command") != NULL ||
           js_get(agent, "compute") != NULL;
}

/* account and accounts exclude each other. */
static bool is_other_account(const struct js *agent, const char *key)
{
    return (text_same(key, "account") && js_get(agent, "accounts") != NULL) ||
           (text_same(key, "accounts") && js_get(agent, "account") != NULL);
}

/* As a merge patch: null removes what the repository's agent has and the candidate's has not. */
static void write_agent(struct jw *jw, const struct js *agent, const struct js *base)
{
    size_t at = 0;
    const char *key;
    const struct js *value;
    jw_begin(jw, '{');
    while (js_next(base, &at, &key, &value)) {
        bool gone = replaces(agent) || is_other_account(agent, key);
        if (gone && js_get(agent, key) == NULL) {
            jw_key(jw, key);
            jw_null(jw);
        }
    }
    at = 0;
    while (js_next(agent, &at, &key, &value)) {
        jw_key(jw, key);
        js_write(jw, value);
    }
    jw_end(jw, '}');
}

struct str candidate_layer(const struct js *document, const struct js *agent, struct arena *arena)
{
    CLEANUP(buf_release) struct buf layer;
    buf_init(&layer, LAYER_BYTES_MAX);
    struct jw jw = jw_to(&layer);
    jw_begin(&jw, '{');
    jw_key(&jw, "agent");
    write_agent(&jw, agent, js_get(document, "agent"));
    jw_end(&jw, '}');
    return (struct str){arena_strndup(arena, buf_text(&layer), layer.len), layer.len};
}

/* Is the repository's agent with this candidate's members a valid one? */
static enum rc check_agent(struct decoder *decoder, const struct js *document,
                           const struct js *agent, const char *path)
{
    CLEANUP(js_freep) struct js *layer = NULL, *merged = NULL;
    struct str patch = candidate_layer(document, agent, decoder->arena), text;
    struct err why = {0};
    enum rc rc = js_parse(patch.at, patch.len, &layer, &why);
    if (rc == RC_OK)
        rc = merge_patch(str_of(js_text(document, decoder->arena)), layer, decoder->arena, &text,
                         &why);
    if (rc == RC_OK)
        rc = js_parse(text.at, text.len, &merged, &why);
    struct decoder *alone = arena_alloc(decoder->arena, sizeof *alone);
    *alone = (struct decoder){.arena = decoder->arena, .err = &why, .config = config_default()};
    if (rc == RC_OK)
        rc = config_decode_agent(alone, js_get(merged, "agent"));
    if (rc == RC_OK)
        return rc;
    return err_field(decoder->err, rc, why.code, arena_printf(decoder->arena, "%s.agent", path),
                     "%s: %s", path, why.text);
}

enum rc config_decode_candidate(struct decoder *decoder, const struct js *object, const char *path)
{
    struct repo_config *config = &decoder->config;
    struct candidate_config candidate = {.name = NULL};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    config_name(&fields, "name", FIELD_REQUIRED, &candidate.name);
    fields_object(&fields, "agent", FIELD_REQUIRED, &candidate.agent);
    for (size_t i = 0; candidate.name != NULL && i < config->candidate_count; i++) {
        if (text_same(config->candidates[i].name, candidate.name))
            fields_fail(&fields, "name", "two candidates are called %s", candidate.name);
    }
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = check_agent(decoder, decoder->document, candidate.agent, path);
    if (rc == RC_OK)
        config->candidates[config->candidate_count++] = candidate;
    return rc;
}
