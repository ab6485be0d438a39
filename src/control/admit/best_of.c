/*
 * best_of.c - which agents compete, and their sub-tasks.
 *
 *   candidates: [a, b]   these of the repository's, in this order
 *   bestOf: N            the first N of the repository's, from the beginning again when there are
 *                        fewer; N times the repository's own agent when it has none
 */
#include "control/admit/best_of.h"
#include "base/jw.h"
#include "control/run/effective.h"
#include "control/run/subtasks.h"

static const struct candidate_config *find(const struct repo_config *config, const char *name)
{
    for (size_t i = 0; i < config->candidate_count; i++) {
        if (text_same(config->candidates[i].name, name))
            return &config->candidates[i];
    }
    return NULL;
}

static const char *list_names(struct context *ctx, const struct repo_config *config)
{
    enum { NAMES_BYTES_MAX = 300 };
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, NAMES_BYTES_MAX);
    for (size_t i = 0; i < config->candidate_count; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", config->candidates[i].name);
    return config->candidate_count > 0 ? arena_strdup(ctx->arena, buf_text(&names)) : "none";
}

enum rc best_of_check(struct context *ctx, const struct submission *want,
                      const struct repo_config *config)
{
    for (size_t i = 0; i < want->candidate_count; i++) {
        if (find(config, want->candidates[i]) == NULL)
            return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "candidates",
                             "the repository has no candidate %.64s; it has: %s",
                             want->candidates[i], list_names(ctx, config));
    }
    return RC_OK;
}

/* NULL: the repository's own agent. */
static const struct candidate_config *candidate_at(const struct submission *want,
                                                   const struct repo_config *config, size_t index)
{
    if (want->candidate_count > 0)
        return find(config, want->candidates[index]);
    return config->candidate_count > 0 ? &config->candidates[index % config->candidate_count]
                                       : NULL;
}

/* The overrides of the task, with the candidate's layer in place of their agent.  A merge of the
   two would lose the nulls of the layer. */
static enum rc make_overrides(struct context *ctx, const struct flow *parent,
                              const struct candidate_config *candidate, struct str *ret_overrides)
{
    const struct task_row *task = &parent->task;
    CLEANUP(js_freep) struct js *document = NULL, *given = NULL, *layer = NULL;
    *ret_overrides = task->overrides;
    if (candidate == NULL)
        return RC_OK;
    enum rc rc = js_parse(task->config.at, task->config.len, &document, ctx->err);
    if (rc == RC_OK && task->overrides.len > 0)
        rc = js_parse(task->overrides.at, task->overrides.len, &given, ctx->err);
    if (rc != RC_OK)
        return rc;
    struct str text = candidate_layer(document, candidate->agent, ctx->arena);
    if (given == NULL) {
        *ret_overrides = text;
        return RC_OK;
    }
    rc = js_parse(text.at, text.len, &layer, ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(buf_release) struct buf all;
    buf_init(&all, text.len + task->overrides.len + 64);
    struct jw jw = jw_to(&all);
    size_t at = 0;
    const char *key;
    const struct js *value;
    jw_begin(&jw, '{');
    while (js_next(given, &at, &key, &value)) {
        if (text_same(key, "agent"))
            continue;
        jw_key(&jw, key);
        js_write(&jw, value);
    }
    jw_key(&jw, "agent");
    js_write(&jw, js_get(layer, "agent"));
    jw_end(&jw, '}');
    *ret_overrides = (struct str){arena_strndup(ctx->arena, buf_text(&all), all.len), all.len};
    return RC_OK;
}

static enum rc submit_one(struct context *ctx, const struct submission *want,
                          const struct repository_row *repository, const struct flow *parent,
                          size_t index, const struct candidate_config *candidate)
{
    CLEANUP(flow_release) struct flow flow = {.task = parent->task};
    struct task_row *task = &flow.task;
    task->id = context_id(ctx);
    task->parent_id = parent->task.id;
    task->mode = MODE_PATCH_ONLY;
    task->best_of = 0;
    task->candidate_no = (int64_t)index + 1;
    task->candidate = candidate != NULL ? candidate->name : NULL;
    task->last_event_id = (struct id){0};
    enum rc rc = subtasks_check(ctx, &parent->run, NULL, &flow.lineage);
    if (rc == RC_OK)
        rc = make_overrides(ctx, parent, candidate, &task->overrides);
    if (rc == RC_OK)
        rc = effective_config(ctx, repository, task->overrides, &task->config);
    return rc == RC_OK ? submit_insert(ctx, want, &flow) : rc;
}

enum rc best_of_submit(struct context *ctx, const struct submission *want,
                       const struct repository_row *repository, struct flow *parent)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, parent, &config);
    for (size_t i = 0; rc == RC_OK && i < (size_t)parent->task.best_of; i++)
        rc = submit_one(ctx, want, repository, parent, i, candidate_at(want, config, i));
    return rc == RC_OK ? subtasks_join(ctx, &parent->run) : rc;
}
