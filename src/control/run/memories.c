#include "control/run/memories.h"
#include "control/run/names.h"
#include "core/event_types.h"
#include "core/run/memory.h"
#include "core/text/prose.h"
#include "store/memories.h"
#include "store/patches.h"
#include "store/pull_requests.h"
#include "store/verifications.h"
#include <string.h>

enum {
    TITLE_MAX = 200,
    TEXT_MAX = 500,
    FAILURES_TOLD_MAX = 3,
    FAILURE_MAX = 200,
    NOTES_READ_MAX = 40, /* Every run reads so many: the newest of its repository. */
    SCOPE_MAX = 100,
    FILES_TOLD_MAX = 8,
    SCRATCH_BYTES = 8 * 1024,
};

static const char *keep_text(struct context *ctx, struct buf *text)
{
    buf_cut(text, prose_fit(buf_text(text), text->len, MEMORY_SUMMARY_MAX));
    return arena_strdup(ctx->arena, buf_text(text));
}

/* ---- the record ---- */

/* What the store has of a run beside its row. */
struct deeds {
    struct patch_row *patches;
    size_t patch_count;
    struct verification_row *checks;
    size_t check_count;
    struct pull_request_row pr; /* number 0: none */
};

static enum rc load_deeds(struct context *ctx, const struct flow *flow, struct deeds *ret_deeds)
{
    const struct run_row *run = &flow->run;
    struct deeds deeds = {0};
    enum rc rc = RC_OK;
    if (!id_is_none(&run->patch_id))
        rc = patches_of_run(ctx->db, &run->id, ctx->arena, &deeds.patches, &deeds.patch_count,
                            ctx->err);
    if (rc == RC_OK && (run->attempt > 1 || run->status != RUN_COMPLETED))
        rc = verifications_of_run(ctx->db, &run->id, ctx->arena, &deeds.checks, &deeds.check_count,
                                  ctx->err);
    if (rc == RC_OK && !id_is_none(&run->pull_request_id))
        rc = pull_requests_get(ctx->db, &run->pull_request_id, ctx->arena, &deeds.pr, ctx->err);
    if (rc == RC_OK)
        *ret_deeds = deeds;
    return rc;
}

static void add_line(struct context *ctx, struct buf *to, const char *label, const char *text,
                     size_t max)
{
    buf_addf(to, "%s: %s\n", label, prose_line(ctx->arena, text, max));
}

static void add_outcome(struct context *ctx, struct buf *to, const struct run_row *run,
                        const struct deeds *deeds)
{
    buf_addf(to, "Outcome: %s", run_status_name(run->status));
    if (run->error_code != NULL)
        buf_addf(to, " (%s)", run->error_code);
    if (run->attempt > 1)
        buf_addf(to, " after %lld attempts", (long long)run->attempt);
    if (deeds->pr.number > 0)
        buf_addf(to, ", pull request #%lld", (long long)deeds->pr.number);
    buf_addc(to, '\n');
    if (!text_empty(run->error_message))
        add_line(ctx, to, "Error", run->error_message, TEXT_MAX);
}

static bool went_wrong(enum verify_status status)
{
    return status == VERIFY_FAILED || status == VERIFY_ERRORED || status == VERIFY_TIMED_OUT;
}

/* The checks that failed, in order of time. */
static void add_failures(struct context *ctx, struct buf *to, const struct deeds *deeds)
{
    size_t told = 0, rejected = 0;
    for (size_t i = 0; i < deeds->check_count && told < FAILURES_TOLD_MAX; i++) {
        const struct verification_row *check = &deeds->checks[i];
        if (!went_wrong(check->status))
            continue;
        told++;
        add_line(ctx, to, "Failed on the way",
                 arena_printf(ctx->arena, "%s: %s", check->name,
                              check->summary != NULL ? check->summary : ""),
                 FAILURE_MAX);
    }
    for (size_t i = 0; i < deeds->patch_count; i++)
        rejected += text_same(deeds->patches[i].status, "rejected");
    if (rejected > 0)
        buf_addf(to, "Patches that the judges did not accept: %zu\n", rejected);
}

static const char *write_summary(struct context *ctx, const struct flow *flow,
                                 const struct deeds *deeds)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SCRATCH_BYTES);
    add_line(ctx, &text, "Task",
             task_title(flow->task.description, flow->task.issue_number, ctx->arena), TITLE_MAX);
    add_outcome(ctx, &text, &flow->run, deeds);
    add_failures(ctx, &text, deeds);
    const char *said = deeds->patch_count > 0 ? deeds->patches[deeds->patch_count - 1].summary
                                              : NULL;
    if (!text_empty(said))
        add_line(ctx, &text, flow->run.attempt > 1 ? "Mended by" : "What was done", said, TEXT_MAX);
    return keep_text(ctx, &text);
}

static enum rc emit(struct context *ctx, struct flow *flow, const struct memory_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "memoryId", row->id.text);
    jw_kstr(&body.jw, "runId", row->run_id.text);
    jw_kstr(&body.jw, "outcome", row->outcome);
    return flow_emit(ctx, flow, EV_MEMORY_RECORDED, &body);
}

/* Ends for which a worker, a login or a provider is the reason: the next agent would learn nothing
   of the repository from them. */
static bool is_about_setup(const char *code)
{
    static const char *const codes[] = {
        "agent_command_not_found", "agent_login_failed",    "agent_home_refused",
        "agent_mount_refused",     "agent_start_failed",    "account_incomplete",
        "sandbox_unavailable",     "credential_missing",    "credential_refused",
        "provider_overloaded",     "repository_unreachable"};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (text_same(codes[i], code))
            return true;
    }
    return false;
}

enum rc memories_record(struct context *ctx, struct flow *flow)
{
    struct deeds deeds;
    if (is_about_setup(flow->run.error_code))
        return RC_OK;
    enum rc rc = load_deeds(ctx, flow, &deeds);
    if (rc != RC_OK)
        return rc;
    const struct run_row *run = &flow->run;
    struct memory_row row = {
        .id = context_id(ctx),
        .workspace_id = run->workspace_id,
        .repository_id = run->repository_id,
        .task_id = run->task_id,
        .run_id = run->id,
        .outcome = run_status_name(run->status),
        .error_code = run->error_code,
        .summary = write_summary(ctx, flow, &deeds),
        .paths = run->paths,
        .head_commit = deeds.pr.head_commit,
        .turns = run->turns,
        .cost_microusd = run->cost_microusd,
        .created_us = ctx->now_us,
    };
    if (deeds.pr.number > 0)
        row.pull_request = arena_printf(ctx->arena, "%lld", (long long)deeds.pr.number);
    rc = memories_insert(ctx->db, &row, ctx->err);
    ctx->round->notes = NULL;
    return rc == RC_OK ? emit(ctx, flow, &row) : rc;
}

/* ---- what a new run is told ---- */

/* At most max of them. */
static enum rc read_some(struct context *ctx, struct str json, size_t max, struct names *ret)
{
    enum rc rc = names_read(ctx, json, NULL, ret);
    if (rc == RC_OK && ret->count > max)
        ret->count = max;
    return rc;
}

/* What the agent of a new run reads of it: the record, and which files it was about. */
static const char *note_text(struct context *ctx, const struct memory_row *row,
                             const struct names *paths)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SCRATCH_BYTES);
    buf_adds(&text, row->summary);
    for (size_t i = 0; i < paths->count && i < FILES_TOLD_MAX; i++)
        buf_addf(&text, "%s%s", i == 0 ? "Files: " : ", ",
                 prose_line(ctx->arena, paths->at[i], TITLE_MAX));
    if (paths->count > FILES_TOLD_MAX)
        buf_addf(&text, " and %zu more", paths->count - FILES_TOLD_MAX);
    return keep_text(ctx, &text);
}

static enum rc make_notes(struct context *ctx, const struct memory_row *rows, size_t count,
                          struct memory_note *notes)
{
    for (size_t i = 0; i < count; i++) {
        struct names paths;
        enum rc rc = read_some(ctx, rows[i].paths, MEMORY_PATHS_MAX, &paths);
        if (rc != RC_OK)
            return rc;
        notes[i] = (struct memory_note){
            .summary = note_text(ctx, &rows[i], &paths),
            .paths = paths.at,
            .path_count = paths.count,
            .created_us = rows[i].created_us,
            .source = &rows[i],
        };
    }
    return RC_OK;
}

static void write_notes(struct jw *jw, const struct memory_note *notes, size_t count)
{
    jw_key(jw, "memory");
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++) {
        const struct memory_row *row = notes[i].source;
        jw_begin(jw, '{');
        jw_kstr(jw, "runId", row->run_id.text);
        jw_kstr(jw, "outcome", row->outcome);
        jw_ktime(jw, "createdAt", row->created_us);
        jw_kstr(jw, "text", notes[i].summary);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

/* The notes of one repository.  Runs that are hydrated in one batch are often of the same. */
struct known_notes {
    struct id repository_id;
    struct memory_note *notes;
    size_t count;
};

static enum rc load_notes(struct context *ctx, const struct id *repository_id,
                          const struct known_notes **ret_known)
{
    const struct known_notes *last = ctx->round->notes;
    if (last != NULL && id_same(&last->repository_id, repository_id)) {
        *ret_known = last;
        return RC_OK;
    }
    struct context whole = *ctx; /* What is read here lives as long as the batch. */
    whole.arena = ctx->batch_arena;
    struct known_notes *known = arena_alloc(whole.arena, sizeof *known);
    struct memory_row *rows;
    known->repository_id = *repository_id;
    enum rc rc = memories_of_repository(ctx->db, repository_id, NOTES_READ_MAX, whole.arena, &rows,
                                        &known->count, ctx->err);
    if (rc != RC_OK)
        return rc;
    known->notes = arena_array(whole.arena, known->count + 1, sizeof *known->notes);
    rc = make_notes(&whole, rows, known->count, known->notes);
    if (rc == RC_OK)
        *ret_known = ctx->round->notes = known;
    return rc;
}

static enum rc choose(struct context *ctx, const struct flow *flow, struct memory_note **ret_notes,
                      size_t *ret_count)
{
    const struct task_row *task = &flow->task;
    const struct known_notes *known;
    struct names scope;
    enum rc rc = load_notes(ctx, &task->repository_id, &known);
    if (rc == RC_OK)
        rc = read_some(ctx, task->scope, SCOPE_MAX, &scope);
    if (rc != RC_OK)
        return rc;
    const struct memory_topic topic = {
        .description = task->description, .scope = scope.at, .scope_count = scope.count};
    /* Choosing puts them into another order. */
    struct memory_note *notes = arena_array(ctx->arena, known->count + 1, sizeof *notes);
    memcpy(notes, known->notes, known->count * sizeof *notes);
    *ret_notes = notes;
    *ret_count = memory_choose(&topic, notes, known->count, ctx->arena);
    return RC_OK;
}

enum rc memories_write(struct context *ctx, const struct flow *flow, struct jw *jw)
{
    struct memory_note *notes;
    size_t count;
    enum rc rc = choose(ctx, flow, &notes, &count);
    if (rc == RC_CORRUPT) {
        err_clear(ctx->err);
        jw_kraw(jw, "memory", STR("null"));
        return RC_OK;
    }
    if (rc == RC_OK)
        write_notes(jw, notes, count);
    return rc;
}

/* ---- remove ---- */

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    const struct cmd_memory_remove *cmd = (const struct cmd_memory_remove *)command;
    struct memory_row row;
    enum rc rc = memories_get(ctx->db, &cmd->memory_id, ctx->arena, &row, ctx->err);
    ctx->round->notes = NULL;
    return rc == RC_OK ? memories_remove(ctx->db, &cmd->memory_id, ctx->err) : rc;
}

static const struct command_ops remove_ops = {.name = "memory_remove", .apply = apply_remove};

struct cmd_memory_remove *cmd_memory_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_memory_remove));
}
