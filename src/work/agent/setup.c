#include "work/agent/setup.h"
#include "base/fd.h"
#include "base/log.h"
#include "work/agent/compute_process.h"
#include "work/agent/scratch.h"
#include "work/agent/setup_key.h"
#include "work/job/childenv.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include "work/tree/outputs.h"
#include "work/tree/setup_store.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <string.h>

enum { LOG_BYTES_MAX = 16 * 1024 * 1024, OUTPUT_ENTRIES_MAX = 500000, WORDS_MAX = 300 };
/* Of all outputs of one setup. */
#define OUTPUT_BYTES_MAX (INT64_C(8) << 30)

/* One setup at work. */
struct making {
    struct setup *setup; /* With those before it. */
    const struct setup_config *config;
    const char *base;
    struct str patch; /* Not empty: its failure is the patch's. */
    const char *tree, *home, *log;
};

static struct outputs_room room_of(const struct step *step)
{
    return (struct outputs_room){.bytes = OUTPUT_BYTES_MAX,
                                 .entries = OUTPUT_ENTRIES_MAX,
                                 .cancel = &step->stop->reason,
                                 .deadline_us = step->deadline_us};
}

/* ---- the command ---- */

/* err has the reason.  With a patch it is an answer about the patch. */
static enum rc fail(struct making *making, bool retryable, struct err *err)
{
    making->setup->failed = making->config;
    if (making->patch.len > 0)
        return RC_CONFLICT;
    return step_fail(making->setup->step, RC_INVALID, err,
                     (struct port_failure){.code = "setup_failed", .retryable = retryable});
}

static enum rc settle(struct making *making, const struct compute_result *ended, struct err *err)
{
    const char *name = making->config->name, *words = ended->last_words;
    size_t len = strlen(words);
    words += len > WORDS_MAX ? len - WORDS_MAX : 0;
    if (ended->end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The setup was stopped.");
    if (ended->exited && ended->exit_code == 0 && ended->end == COMPUTE_ENDED)
        return RC_OK;
    if (ended->end == COMPUTE_TIMED_OUT)
        (void)err_set(err, RC_INVALID, "SETUP_FAILED",
                      "Setup %s took longer than %" PRId64 " s. Its last words: %s", name,
                      making->config->timeout_ms / 1000, words);
    else if (ended->limit != NULL)
        (void)err_set(err, RC_INVALID, "SETUP_FAILED",
                      "Setup %s was stopped by its %s (agent.resources). Its last words: %s", name,
                      ended->limit, words);
    else if (ended->exited)
        (void)err_set(err, RC_INVALID, "SETUP_FAILED",
                      "Setup %s ended with status %d. Its last words: %s", name, ended->exit_code,
                      words);
    else
        (void)err_set(err, RC_INVALID, "SETUP_FAILED",
                      "Setup %s was ended by signal %d. Its last words: %s", name, ended->signal,
                      words);
    return fail(making, ended->limit == NULL, err); /* A registry may be away. */
}

static enum rc run_command(struct making *making, struct err *err)
{
    struct step *step = making->setup->step;
    struct childenv *env = arena_alloc(step->arena, sizeof *env);
    struct scratch scratch;
    enum rc rc = scratch_open(step, SCRATCH_SETUP, &scratch, err);
    if (rc != RC_OK)
        return rc;
    childenv_init(env, step, making->home);
    scratch_set(&scratch, step->arena, env);
    const char *const argv[] = {"/bin/sh", "-c", making->config->command, NULL};
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = argv,
                 .cwd = making->tree,
                 .binds = {{step->mirror, false}, {making->tree, true}, {making->home, true}}},
        .env = env->entries,
        .log_path = making->log,
        .secrets = step_secrets(step),
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = step_time_ms(step, making->config->timeout_ms),
        .stop = step->stop,
    };
    compute_grant(&spec, &step->input.config.agent, step->input.run_id.text);
    scratch_show(&scratch, &spec);
    struct compute_result ended;
    rc = compute_run(&spec, &ended, err);
    if (rc != RC_OK)
        return step_fail(
            step, rc, err,
            (struct port_failure){.code = "setup_failed", .retryable = retry_may_help(rc)});
    const char *report = NULL;
    rc = step_put_file(step, "report",
                       arena_printf(step->arena, "setup-%s.log", making->config->name), making->log,
                       &report, err);
    return rc == RC_OK ? settle(making, &ended, err) : rc;
}

static enum rc take_outputs(struct making *making, const char *to, int64_t *ret_bytes,
                            struct err *err)
{
    struct outputs_room room = room_of(making->setup->step);
    int64_t bytes = 0;
    for (size_t i = 0; making->config->outputs[i] != NULL; i++) {
        struct outputs_count count = {0};
        const struct outputs_copy copy = {
            .from = making->tree, .to = to, .path = making->config->outputs[i], .inside = true};
        enum rc rc = outputs_copy(&copy, &room, &count, err);
        if (rc == RC_NOT_FOUND || rc == RC_TOO_LARGE || rc == RC_DENIED) {
            (void)err_wrap(err, rc,
                           arena_printf(making->setup->step->arena,
                                        "Setup %s succeeded, but its outputs cannot be "
                                        "used",
                                        making->config->name));
            return fail(making, false, err);
        }
        if (rc != RC_OK)
            return rc;
        bytes += count.bytes;
    }
    *ret_bytes = bytes;
    return RC_OK;
}

/* In a checkout that is thrown away. */
static enum rc make(struct making *making, const char *to, int64_t *ret_bytes, struct err *err)
{
    struct setup *setup = making->setup;
    struct arena *arena = setup->step->arena;
    making->tree = arena_printf(arena, "%s/make/tree", setup->dir);
    making->home = arena_printf(arena, "%s/make/home", setup->dir);
    making->log = arena_printf(arena, "%s/make/log", setup->dir);
    const struct checkout checkout = {
        .dir = making->tree, .base = making->base, .patch = making->patch};
    enum rc rc = dir_remove(making->home, err);
    if (rc == RC_OK)
        rc = dir_make(making->home, 0700, err);
    if (rc == RC_OK)
        rc = worktree_checkout(setup->step, &checkout, err);
    if (rc ==
        RC_CONFLICT) /* RC_CONFLICT says that a command failed; the patch has applied before. */
        rc = RC_IO;
    if (rc == RC_OK)
        rc = setup_fill(setup, making->tree, err);
    if (rc == RC_OK)
        rc = run_command(making, err);
    if (rc == RC_OK)
        rc = take_outputs(making, to, ret_bytes, err);
    worktree_drop(setup->step, arena_printf(arena, "%s/make", setup->dir));
    return rc;
}

/* ---- kept, or of this patch alone ---- */

static void add_part(struct making *making, const char *files, int lock)
{
    struct setup *setup = making->setup;
    setup->parts[setup->count].config = making->config;
    setup->parts[setup->count].files = files;
    setup->parts[setup->count++].lock = lock;
}

static enum rc make_kept(struct making *making, const char *key, struct err *err)
{
    struct step *step = making->setup->step;
    struct git git = step_git(step);
    const struct setup_store store = {
        .work_dir = step->site->work_dir, .key = key, .arena = step->arena, .git = &git};
    CLEANUP(fd_closep) int lock = -1;
    const char *files = NULL;
    int64_t bytes = 0;
    enum rc rc = setup_store_open(&store, &files, &lock, err);
    if (rc == RC_NOT_FOUND) {
        err_clear(err);
        rc = setup_store_begin(&store, &files, err);
        if (rc == RC_OK)
            rc = make(making, files, &bytes, err);
        if (rc == RC_OK)
            rc = setup_store_end(&store, bytes, lock, &files, err);
        if (rc != RC_OK)
            setup_store_drop(&store);
        else
            LOG(LOG_INFO, "made a setup", LOG_STR("runId", step->input.run_id.text),
                LOG_STR("setup", making->config->name), LOG_STR("key", key),
                LOG_INT("bytes", bytes));
    }
    if (rc == RC_OK)
        add_part(making, files, fd_take(&lock));
    return rc;
}

static enum rc make_once(struct making *making, struct err *err)
{
    int64_t bytes = 0;
    const char *files = arena_printf(making->setup->step->arena, "%s/%s", making->setup->dir,
                                     making->config->name);
    enum rc rc = dir_make(files, 0700, err);
    if (rc == RC_OK)
        rc = make(making, files, &bytes, err);
    if (rc == RC_OK)
        add_part(making, files, -1);
    return rc;
}

/* Does the patch change a file that this setup depends on? */
static enum rc is_changed(struct making *making, const struct setup_tree *tree,
                          const struct setup_files *files, bool *ret_changed, struct err *err)
{
    struct setup_files now = *files;
    enum rc rc = RC_OK;
    if (tree->patch.len > 0)
        rc = setup_files(making->setup->step, making->config, NULL, tree->tree, &now, err);
    *ret_changed = !text_same(now.sha256, files->sha256);
    return rc;
}

static enum rc open_all(struct setup *setup, const struct setup_tree *tree, struct err *err)
{
    struct step *step = setup->step;
    const struct repo_config *config = &step->input.config;
    const char *before = NULL;
    bool trusted = false, changed = false;
    enum rc rc = setup_is_trusted(step, tree->base, &trusted, err);
    for (size_t i = 0; rc == RC_OK && i < config->setup_count; i++) {
        struct making making = {.setup = setup, .config = &config->setup[i], .base = tree->base};
        struct setup_files files;
        char *key = arena_alloc(step->arena, SHA256_TEXT_BYTES);
        rc = setup_files(step, making.config, tree->base, NULL, &files, err);
        if (rc == RC_OK && !changed) /* What comes after a changed one may depend on it. */
            rc = is_changed(&making, tree, &files, &changed, err);
        if (rc != RC_OK)
            return rc;
        if (changed)
            making.patch = tree->patch;
        setup_key(step,
                  &(struct setup_key){.config = making.config,
                                      .files = &files,
                                      .commit = trusted && files.count > 0 ? NULL : tree->base,
                                      .before = before},
                  key);
        before = key;
        rc = changed ? make_once(&making, err) : make_kept(&making, key, err);
    }
    return rc;
}

enum rc setup_open(struct step *step, const struct setup_tree *tree, struct setup *ret_setup,
                   struct err *err)
{
    *ret_setup = (struct setup){.step = step, .dir = tree->dir};
    if (step->input.config.setup_count == 0)
        return RC_OK;
    enum rc rc = dir_remove(tree->dir, err);
    return rc == RC_OK ? open_all(ret_setup, tree, err) : rc;
}

enum rc setup_fill(const struct setup *setup, const char *tree, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < setup->count; i++) {
        struct outputs_room room = room_of(setup->step);
        struct outputs_count count = {0};
        const char *const *path = setup->parts[i].config->outputs;
        for (; rc == RC_OK && *path != NULL; path++) {
            const struct outputs_copy copy = {
                .from = setup->parts[i].files, .to = tree, .path = *path, .inside = true};
            rc = outputs_copy(&copy, &room, &count, err);
        }
    }
    return rc;
}

void setup_release(struct setup *setup)
{
    for (size_t i = 0; i < setup->count; i++)
        fd_close(setup->parts[i].lock);
    if (setup->step != NULL && setup->step->input.config.setup_count > 0)
        worktree_drop(setup->step, setup->dir);
    *setup = (struct setup){.count = 0};
}
