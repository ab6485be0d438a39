/*
 * hydrate.c - the prompt: system text, rules, issue, task, memory and attachments, within a
 * budget of tokens and of time.
 *
 * The mirror may have to be fetched first; the time of hydration counts from there on.
 */
#include "base/log.h"
#include "work/steps/hydration.h"
#include "work/tree/worktree.h"

enum { ATTACHMENT_TEXT_MAX = 256 * 1024 };

void hydration_add(struct hydration *hydration, const struct prompt_part *part)
{
    if (hydration->count < HYDRATION_PARTS_MAX)
        hydration->parts[hydration->count++] = *part;
}

enum rc hydration_degrade(struct hydration *hydration, enum prompt_kind kind, enum rc rc,
                          const struct err *err)
{
    if (rc == RC_TIMEOUT || rc == RC_CANCELLED || rc == RC_STALE)
        return rc;
    hydration->degraded[kind] = true;
    LOG(LOG_WARN, "a source of a prompt cannot be had; going on without it",
        LOG_STR("runId", hydration->step->input.run_id.text),
        LOG_STR("source", prompt_kind_name(kind)), LOG_STR("code", err->code),
        LOG_STR("error", err->text));
    return RC_OK;
}

static const char *system_text(const struct step *step)
{
    return prompt_system(step->input.config.prompt.system, step->arena);
}

static void add_task(struct hydration *hydration)
{
    const struct step_input *input = &hydration->step->input;
    struct prompt_part task = {.kind = PROMPT_TASK, .text = input->description};
    if (text_empty(input->description))
        task.text = "Resolve the issue above: make the change that it asks for.";
    hydration_add(hydration, &task);
}

/* The server has chosen them; null means that it could not. */
static enum rc add_memory(struct hydration *hydration, struct err *err)
{
    struct arena *arena = hydration->step->arena;
    const struct js *notes = js_get(hydration->step->input.payload, "memory");
    if (notes != NULL && js_type(notes) != JS_ARRAY) {
        enum rc rc = err_set(err, RC_CORRUPT, "MEMORY_UNREADABLE", "The memory cannot be read.");
        return hydration_degrade(hydration, PROMPT_MEMORY, rc, err);
    }
    for (size_t i = 0; i < js_count(notes) && i < MEMORY_NOTES_MAX; i++) {
        const struct js *note = js_at(notes, i);
        const char *title = arena_printf(arena, "%s %.10s", js_get_str(note, "outcome", ""),
                                         js_get_str(note, "createdAt", ""));
        hydration_add(hydration, &(struct prompt_part){.kind = PROMPT_MEMORY,
                                                       .title = title,
                                                       .text = js_get_str(note, "text", "")});
    }
    return RC_OK;
}

/* The prompt's artifacts name it too, so that people find it with the run. */
static void note_attachment(struct step *step, const struct attachment *attachment, size_t bytes)
{
    if (step->artifact_count == STEP_ARTIFACTS_MAX)
        return;
    struct step_artifact *noted = &step->artifacts[step->artifact_count++];
    *noted = (struct step_artifact){
        .kind = "attachment", .name = attachment->name, .bytes = (int64_t)bytes};
    text_copy(noted->sha256, sizeof noted->sha256, attachment->sha256);
}

/* Text is put into the prompt; for all other files the prompt has their path. */
static enum rc add_attachment(struct hydration *hydration, const struct attachment *attachment,
                              struct err *err)
{
    struct step *step = hydration->step;
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, ATTACHMENT_BYTES_MAX);
    enum rc rc = step_get(step, attachment->sha256, &bytes, err);
    if (rc == RC_NOT_FOUND) {
        (void)err_wrap(err, rc, attachment->name);
        return step_fail(step, rc, err, (struct port_failure){.code = "attachment_unavailable"});
    }
    if (rc != RC_OK)
        return rc;
    bool text = bytes.len <= ATTACHMENT_TEXT_MAX && text_utf8_valid(buf_text(&bytes), bytes.len);
    struct prompt_part part = {
        .kind = PROMPT_ATTACHMENT,
        .title = attachment->name,
        .text = text ? arena_strdup(step->arena, buf_text(&bytes))
                     : "Not shown here; it is a file in the directory $DROVER_ATTACHMENTS.",
    };
    hydration_add(hydration, &part);
    note_attachment(step, attachment, bytes.len);
    return RC_OK;
}

static enum rc add_attachments(struct hydration *hydration, struct err *err)
{
    struct attachment list[ATTACHMENTS_MAX];
    size_t count = attachments_of(hydration->step, list);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = add_attachment(hydration, &list[i], err);
    return rc;
}

static enum rc gather(struct hydration *hydration, const char *base, struct err *err)
{
    struct step *step = hydration->step;
    hydration_add(hydration,
                  &(struct prompt_part){.kind = PROMPT_SYSTEM, .text = system_text(step)});
    add_task(hydration);
    enum rc rc = hydrate_rules(hydration, base, err);
    if (rc == RC_OK)
        rc = hydrate_issue(hydration, err);
    if (rc == RC_OK)
        rc = add_memory(hydration, err);
    if (rc == RC_OK)
        rc = add_attachments(hydration, err);
    return rc;
}

static void write_kinds(struct jw *jw, const char *key, const bool chosen[PROMPT_KIND_COUNT])
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (int kind = 0; kind < PROMPT_KIND_COUNT; kind++) {
        if (chosen[kind])
            jw_str(jw, prompt_kind_name((enum prompt_kind)kind));
    }
    jw_end(jw, ']');
}

static void write_result(const struct hydration *hydration, const char *sha256,
                         const struct prompt_result *context)
{
    struct step *step = hydration->step;
    char version[PROMPT_VERSION_BYTES];
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "promptSha256", sha256);
    jw_kstr(&jw, "promptVersion", prompt_template_version(version, system_text(step)));
    write_kinds(&jw, "sources", context->used);
    jw_kint(&jw, "tokenEstimate", context->token_estimate);
    jw_kbool(&jw, "truncated", context->truncated);
    write_kinds(&jw, "degraded", hydration->degraded);
    step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
}

static enum rc assemble(const struct hydration *hydration, struct err *err)
{
    struct step *step = hydration->step;
    const struct step_input *input = &step->input;
    CLEANUP(buf_release) struct buf prompt;
    buf_init(&prompt, STEP_TEXT_ARTIFACT_MAX);
    const struct prompt_input context = {
        .task_id = input->task_id.text,
        .repository = input->repository,
        .parts = hydration->parts,
        .part_count = hydration->count,
        .token_budget = input->config.prompt.token_budget,
        .boundary = hydration->boundary,
    };
    struct prompt_result assembled;
    const char *sha256 = NULL;
    enum rc rc = prompt_assemble(&context, &prompt, &assembled, err);
    if (rc == RC_OK)
        rc = step_put(step, "prompt", "prompt.md", buf_str(&prompt), &sha256, err);
    if (rc == RC_OK)
        write_result(hydration, sha256, &assembled);
    return rc;
}

/* The timeout of hydration itself has passed; no stop was requested. */
static enum rc time_is_up(struct step *step, struct err *err)
{
    (void)err_set(err, RC_LIMIT, "HYDRATION_TIMED_OUT",
                  "The prompt was not ready within timeouts.hydrateMs (%lld ms).",
                  (long long)step->input.config.timeouts.hydrate_ms);
    return step_fail(step, RC_LIMIT, err, (struct port_failure){.code = "hydration_timed_out"});
}

enum rc step_hydrate(struct step *step, struct err *err)
{
    struct hydration *hydration = arena_alloc(step->arena, sizeof *hydration);
    hydration->step = step;
    struct random random = random_from_os();
    const uint64_t numbers[2] = {random_next(&random), random_next(&random)};
    (void)untrusted_boundary(hydration->boundary, numbers);
    const char *base = NULL;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &base, err);
    if (rc != RC_OK)
        return rc;
    int64_t until_us = clock_mono_us() + step->input.config.timeouts.hydrate_ms * US_PER_MS;
    if (until_us < step->deadline_us)
        step->deadline_us = until_us;
    rc = gather(hydration, base, err);
    if (rc == RC_OK)
        rc = assemble(hydration, err);
    return rc == RC_TIMEOUT && stop_asked(step->stop) == STOP_NONE ? time_is_up(step, err) : rc;
}
