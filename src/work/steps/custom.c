/*
 * custom.c - a step of the repository's own: a command in the sandbox, or a service.
 *
 * Both get the same input and give the same answer:
 *
 *     {"step", "taskId", "runId", "runNo", "attempt", "repository", "description", "issueNumber",
 *      "branch", "targetBranch", "baseCommit", "patchArtifactId", "config", "previousStepResults"}
 *     {"status": "success" | "failed", "metadata": {...}, "error": "..."}
 *
 * `config` is the step's own: nothing else of the repository's configuration reaches it, and no
 * credential.  A command reads $DROVER_STEP_INPUT and writes $DROVER_RESULT; one that writes
 * nothing succeeds with exit status 0.  It works in a checkout of base and patch that is thrown
 * away.  A step that answers "failed" has failed; one that cannot be run or reached is retried.
 *
 *     run_dir/step-<name>/tree, io, home
 */
#include "base/fd.h"
#include "net/http_client.h"
#include "work/agent/compute_process.h"
#include "work/agent/scratch.h"
#include "work/job/childenv.h"
#include "work/job/retry.h"
#include "work/job/step.h"
#include "work/job/step_secrets.h"
#include "work/tree/small_file.h"
#include "work/tree/worktree.h"
#include <string.h>

enum {
    INPUT_BYTES_MAX = 512 * 1024,
    ANSWER_BYTES_MAX = 64 * 1024,
    METADATA_BYTES_MAX = 8 * 1024, /* The result has 10 KB, with the rest of it. */
    ERROR_MAX = 1200,
    LOG_BYTES_MAX = 16 * 1024 * 1024,
    EXIT_TRY_AGAIN = 75, /* EX_TEMPFAIL of sysexits.h */
};

struct custom {
    struct step *step;
    const struct custom_step *config;
    const char *dir, *tree, *io, *home;
    const char *input_path, *record_path, *log_path;
    struct buf input;
    struct js *answer; /* NULL: none was given. */
};

static void custom_release(struct custom *custom)
{
    buf_release(&custom->input);
    js_free(custom->answer);
}

/* ---- its input ---- */

static void write_previous(struct jw *jw, const struct js *previous)
{
    jw_key(jw, "previousStepResults");
    if (previous != NULL) {
        js_write(jw, previous);
        return;
    }
    jw_begin(jw, '[');
    jw_end(jw, ']');
}

/* RC_TOO_LARGE: it exceeds the limit of a step's input. */
static enum rc write_input(struct custom *custom, struct err *err)
{
    const struct step_input *input = &custom->step->input;
    struct jw jw = jw_to(&custom->input);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "step", custom->config->name);
    jw_kstr(&jw, "taskId", input->task_id.text);
    jw_kstr(&jw, "runId", input->run_id.text);
    jw_kint(&jw, "runNo", input->run_no);
    jw_kint(&jw, "attempt", input->attempt);
    jw_kstr(&jw, "repository", input->repository);
    jw_kstr(&jw, "description", input->description);
    if (input->issue_number > 0)
        jw_kint(&jw, "issueNumber", input->issue_number);
    jw_kstr(&jw, "branch", input->branch);
    jw_kstr(&jw, "targetBranch", input->target_branch);
    jw_kstr(&jw, "baseCommit", input->base_commit);
    jw_kstr(&jw, "patchArtifactId", input->patch_sha256);
    jw_kraw(&jw, "config", custom->config->config.len > 0 ? custom->config->config : STR("{}"));
    write_previous(&jw, input->previous);
    jw_end(&jw, '}');
    if (!custom->input.overflow)
        return RC_OK;
    enum rc rc = err_set(err, RC_TOO_LARGE, "INPUT_TOO_LARGE",
                         "What step %s is told (description, config and what earlier steps said) "
                         "is larger than %d bytes.",
                         custom->config->name, INPUT_BYTES_MAX);
    return step_fail(custom->step, rc, err, (struct port_failure){.code = "payload_invalid"});
}

static enum rc try_again(struct custom *custom, enum rc rc, struct err *err)
{
    return step_fail(custom->step, rc, err,
                     (struct port_failure){.code = "custom_step_unavailable", .retryable = true});
}

/* ---- its answer ---- */

static enum rc take_answer(struct custom *custom, struct str text, struct err *err)
{
    enum rc rc = js_parse(text.at, text.len, &custom->answer, err);
    const char *status = js_get_str(custom->answer, "status", "");
    if (rc == RC_OK && !text_same(status, "success") && !text_same(status, "failed"))
        rc = err_set(err, RC_INVALID, "INVALID_ANSWER",
                     "Step %s must answer {\"status\": \"success\" or \"failed\", ...}.",
                     custom->config->name);
    if (rc == RC_OK)
        return rc;
    return step_fail(custom->step, rc, err,
                     (struct port_failure){.code = "custom_step_bad_answer"});
}

/* Metadata that is too large is left out, and the result has metadataDropped. */
static void write_metadata(struct jw *jw, const struct js *metadata, struct arena *arena)
{
    const char *text = js_type(metadata) == JS_OBJECT ? js_text(metadata, arena) : NULL;
    if (text != NULL && strlen(text) <= METADATA_BYTES_MAX)
        jw_kraw(jw, "metadata", str_of(text));
    else if (metadata != NULL)
        jw_kbool(jw, "metadataDropped", true);
}

static void write_result(struct custom *custom, const char *status, const char *error)
{
    struct jw jw = jw_to(custom->step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "status", status);
    if (error != NULL)
        step_write_text(&jw, "error", error, ERROR_MAX);
    write_metadata(&jw, js_get(custom->answer, "metadata"), custom->step->arena);
    step_write_artifacts(custom->step, &jw);
    jw_end(&jw, '}');
}

static enum rc settle_answer(struct custom *custom, struct str text, struct err *err)
{
    enum rc rc = take_answer(custom, text, err);
    if (rc == RC_OK)
        write_result(custom, js_get_str(custom->answer, "status", "failed"),
                     js_get_str(custom->answer, "error", NULL));
    return rc;
}

/* ---- a command ---- */

static enum rc make_tree(struct custom *custom, struct err *err)
{
    struct step *step = custom->step;
    const char *base = NULL;
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &base, err);
    if (rc == RC_OK && step->input.patch_sha256 != NULL)
        rc = step_get(step, step->input.patch_sha256, &patch, err);
    if (rc != RC_OK)
        return rc;
    struct checkout checkout = {.dir = custom->tree, .base = base, .patch = buf_str(&patch)};
    return worktree_checkout(step, &checkout, err);
}

static enum rc make_place(struct custom *custom, struct err *err)
{
    enum rc rc = dir_remove(custom->dir, err);
    if (rc == RC_OK)
        rc = dir_make(custom->io, 0700, err);
    if (rc == RC_OK)
        rc = dir_make(custom->home, 0700, err);
    if (rc == RC_OK)
        rc = make_tree(custom, err);
    if (rc == RC_OK)
        rc = file_write_new(custom->input_path, custom->input.data, custom->input.len, 0600, err);
    return rc;
}

/* The exit status of a command that left no record. */
static void settle_status(struct custom *custom, const struct compute_result *ended)
{
    struct arena *arena = custom->step->arena;
    if (ended->exited && ended->exit_code == 0)
        write_result(custom, "success", NULL);
    else if (ended->limit != NULL)
        write_result(custom, "failed",
                     arena_printf(arena, "its command passed its %s", ended->limit));
    else if (ended->exited)
        write_result(custom, "failed",
                     arena_printf(arena, "its command ended with status %d", ended->exit_code));
    else
        write_result(custom, "failed",
                     arena_printf(arena, "its command was ended by signal %d", ended->signal));
}

static enum rc settle_command(struct custom *custom, const struct compute_result *ended,
                              struct err *err)
{
    const char *name = custom->config->name;
    if (ended->end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The step was stopped.");
    if (ended->end == COMPUTE_TIMED_OUT) {
        enum rc rc = err_set(err, RC_BUSY, "TIMEOUT", "Step %s took longer than %lld ms.", name,
                             (long long)custom->config->timeout_ms);
        return try_again(custom, rc, err);
    }
    if (ended->exited && ended->exit_code == EXIT_TRY_AGAIN) {
        enum rc rc = err_set(err, RC_BUSY, "TRY_AGAIN",
                             "Step %s ended with status 75: it wants to be tried again.", name);
        return try_again(custom, rc, err);
    }
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ANSWER_BYTES_MAX);
    if (small_file_read(custom->record_path, &text) == RC_OK && text.len > 0)
        return settle_answer(custom, buf_str(&text), err);
    settle_status(custom, ended);
    return RC_OK;
}

static enum rc keep_log(struct custom *custom, struct err *err)
{
    const char *sha256 = NULL;
    const char *name = arena_printf(custom->step->arena, "%s.log", custom->config->name);
    return step_put_file(custom->step, "report", name, custom->log_path, &sha256, err);
}

static enum rc run_command(struct custom *custom, struct err *err)
{
    struct step *step = custom->step;
    struct scratch scratch;
    enum rc rc = make_place(custom, err);
    if (rc == RC_OK)
        rc = scratch_open(step, SCRATCH_CUSTOM, &scratch, err);
    if (rc != RC_OK)
        return rc;
    struct childenv *env = arena_alloc(step->arena, sizeof *env);
    childenv_init_bare(env, step, custom->home);
    scratch_set(&scratch, step->arena, env);
    childenv_set(env, step->arena, "DROVER_STEP", custom->config->name);
    childenv_set(env, step->arena, "DROVER_STEP_INPUT", custom->input_path);
    childenv_set(env, step->arena, "DROVER_RESULT", custom->record_path);
    const char *const argv[] = {"/bin/sh", "-c", custom->config->command, NULL};
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = argv,
                 .cwd = custom->tree,
                 .binds = {{step->mirror, false},
                           {custom->tree, true},
                           {custom->io, true},
                           {custom->home, true}}},
        .env = env->entries,
        .log_path = custom->log_path,
        .secrets = step_secrets(custom->step),
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = step_time_ms(step, custom->config->timeout_ms),
        .stop = step->stop,
    };
    compute_grant(&spec, &step->input.config.agent, step->input.run_id.text);
    scratch_show(&scratch, &spec);
    struct compute_result ended;
    rc = compute_run(&spec, &ended, err);
    if (rc != RC_OK)
        return try_again(custom, rc, err);
    rc = keep_log(custom, err);
    return rc == RC_OK ? settle_command(custom, &ended, err) : rc;
}

/* ---- a service ---- */

/* Errors of the network and of the server may pass; a request that it refused would be refused
   again. */
static bool may_pass(enum rc rc)
{
    return rc == RC_TIMEOUT || rc == RC_LIMIT || retry_may_help(rc);
}

static enum rc call_service(struct custom *custom, struct err *err)
{
    struct step *step = custom->step;
    CLEANUP(http_client_freep) struct http_client *client = NULL;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, ANSWER_BYTES_MAX);
    struct http_client_options options = {
        .url = custom->config->url, .timeout_ms = step_time_ms(step, custom->config->timeout_ms)};
    struct http_call call = {
        .method = "POST", .path = "", .body = buf_str(&custom->input), .stop = &step->stop->reason};
    struct http_reply reply = {0};
    enum rc rc = http_client_new(&options, &client, err);
    if (rc == RC_OK)
        rc = http_client_call(client, &call, &body, &reply, err);
    if (rc == RC_OK)
        return settle_answer(custom, buf_str(&body), err);
    if (rc == RC_CANCELLED)
        return rc;
    if (may_pass(rc)) /* RC_TIMEOUT of the step itself would mean that its time is over. */
        return try_again(custom, RC_BUSY, err);
    return step_fail(step, rc, err, (struct port_failure){.code = "custom_step_refused"});
}

/* ---- the step ---- */

static void place(struct custom *custom)
{
    struct arena *arena = custom->step->arena;
    const char *name = arena_printf(arena, "step-%s", custom->config->name);
    custom->dir = worktree_path(custom->step, name);
    custom->tree = arena_printf(arena, "%s/tree", custom->dir);
    custom->io = arena_printf(arena, "%s/io", custom->dir);
    custom->home = arena_printf(arena, "%s/home", custom->dir);
    custom->input_path = arena_printf(arena, "%s/input.json", custom->io);
    custom->record_path = arena_printf(arena, "%s/result.json", custom->io);
    custom->log_path = arena_printf(arena, "%s/step.log", custom->dir);
}

enum rc step_custom(struct step *step, struct err *err)
{
    struct blueprint_step found;
    if (!blueprint_find(&step->input.config.blueprint, step->input.step, &found) ||
        found.custom == NULL) {
        enum rc rc = err_set(err, RC_INVALID, "INVALID_FIELD",
                             "The configuration has no step %.100s.", step->input.step);
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    }
    CLEANUP(custom_release) struct custom custom = {.step = step, .config = found.custom};
    place(&custom);
    buf_init(&custom.input, INPUT_BYTES_MAX);
    enum rc rc = write_input(&custom, err);
    if (rc != RC_OK)
        return rc;
    if (found.custom->url != NULL)
        return call_service(&custom, err);
    rc = run_command(&custom, err);
    worktree_drop(step, custom.dir);
    return rc;
}
