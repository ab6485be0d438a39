/*
 * verify.c - the verifiers, each on a clean checkout of its own with the patch applied.
 *
 *     run_dir/verify-<n>/tree           base + patch, made anew for every check
 *     run_dir/verify-<n>/home           $HOME of the check, the same
 *     run_dir/verify-<n>/<i>/...        both for check i when it runs beside others
 *     run_dir/verify-<n>/outputs-<i>/   what check i has declared and made; no check can write here
 *
 * Invariants:
 *   1. A check runs code that an agent wrote, so its tree and home are not used again: the next
 *      check gets others.  Checks that run one after the other get them under the same name,
 *      because build tools note absolute paths in what they make.
 *   2. drover's git works in a checkout before its check starts, and never afterwards.
 *   3. What goes from one check to another are the declared outputs of checks that passed.  They
 *      are copied once out of the check's tree, and from there into the trees of later checks,
 *      where they replace no file of the patch (outputs.h).
 *
 * What `setup` makes is copied into every tree before its check starts, after the outputs of
 * earlier checks.  A setup that fails with the patch is reported as a failed check, like a patch
 * that does not apply.
 *
 * Neighbours that are marked parallel run at the same time, as many as there are processors: they
 * share nothing but the mirror, which they cannot write.  A check that could not be run is reported
 * as errored: that is no result for the patch, and the server decides whether to retry.
 */
#include "base/fd.h"
#include "base/thread.h"
#include "core/event_types.h"
#include "core/run/feedback.h"
#include "work/agent/compute_process.h"
#include "work/agent/scratch.h"
#include "work/agent/setup.h"
#include "work/job/childenv.h"
#include "work/job/step.h"
#include "work/job/step_secrets.h"
#include "work/steps/verification.h"
#include "work/tree/outputs.h"
#include "work/tree/worktree.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOG_BYTES_MAX = 16 * 1024 * 1024,
    LOG_TAIL_BYTES = 256 * 1024, /* What the summary is made from. */
    LOG_KEPT_BYTES = 64 * 1024,
    PARALLEL_MIN = 2, /* On any machine: configurations may rely on it. */
    PARALLEL_MAX = 16,
    STORED_MAX = CONFIG_VERIFIERS_MAX * CONFIG_OUTPUTS_MAX,
    OUTPUT_ENTRIES_MAX = 200000,
};
/* Of all outputs of one check. */
#define OUTPUT_BYTES_MAX (INT64_C(4) << 30)

/* An output that later checks get. */
struct stored {
    const char *path, *from; /* from: the check's name. */
    const char *dir;         /* outputs-<i> */
};

struct bench {
    struct step *step;
    const char *dir, *tree, *home;
    bool fresh;       /* Nothing has run in tree and home yet. */
    int64_t begin_us; /* Wall clock, before the first checkout. */
    struct buf patch;
    struct stored stored[STORED_MAX]; /* Each path once. */
    size_t stored_count;
    struct setup setup;
    struct scratch scratch; /* Of all checks together. */
    struct verification found;
};

/* One check on its way. */
struct trial {
    struct bench *bench;
    const struct verifier_config *verifier;
    struct check *check;
    const char *tree, *home, *log;
    struct childenv env;
    struct compute_result ended;
    enum rc rc;
    struct err err;
};

/* ---- the checkout ---- */

static enum rc fill(struct bench *bench, const char *tree, const char *home, struct err *err)
{
    struct checkout checkout = {
        .dir = tree, .base = bench->found.base, .patch = buf_str(&bench->patch)};
    enum rc rc = dir_remove(home, err);
    if (rc == RC_OK)
        rc = dir_make(home, 0700, err);
    return rc == RC_OK ? worktree_checkout(bench->step, &checkout, err) : rc;
}

/* RC_CONFLICT: the patch does not apply. */
static enum rc make_tree(struct bench *bench, struct err *err)
{
    struct step *step = bench->step;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &bench->found.base, err);
    if (rc == RC_OK && step->input.patch_sha256 != NULL)
        rc = step_get(step, step->input.patch_sha256, &bench->patch, err);
    if (rc == RC_OK)
        rc = dir_remove(bench->dir, err);
    if (rc == RC_OK)
        rc = fill(bench, bench->tree, bench->home, err);
    if (rc != RC_OK)
        return rc;
    bench->fresh = true;
    struct git git = step_git(step);
    struct git_call write = {.dir = bench->tree, .args = GIT_ARGS("write-tree")};
    return git_line(&git, &write, step->arena, &bench->found.tree_hash, err);
}

/* Without a tree there is nothing to check. */
static void note_no_tree(struct bench *bench, const struct check *why, const char *line)
{
    const struct repo_config *config = &bench->step->input.config;
    struct verification *found = &bench->found;
    found->checks[found->count++] = *why;
    for (size_t i = 0; i < config->verify_count; i++)
        found->checks[found->count++] = (struct check){
            .name = config->verify[i].name,
            .command = config->verify[i].command,
            .status = VERIFY_SKIPPED,
            .exit_code = -1,
            .optional = config->verify[i].optional,
            .line = line,
        };
}

static void note_no_apply(struct bench *bench, const struct err *err)
{
    const struct check why = {
        .name = "apply",
        .command = "git apply --index",
        .status = VERIFY_FAILED,
        .category = FAILURE_PATCH_DOES_NOT_APPLY,
        .exit_code = 1,
        .line = arena_strdup(bench->step->arena, err->text),
        .summary = arena_strdup(bench->step->arena, err->text),
    };
    note_no_tree(bench, &why, "The patch does not apply.");
}

static void note_no_setup(struct bench *bench, const struct err *err)
{
    struct arena *arena = bench->step->arena;
    const struct setup_config *failed = bench->setup.failed;
    const struct check why = {
        .name = arena_printf(arena, "setup-%s", failed->name),
        .command = failed->command,
        .status = VERIFY_FAILED,
        .category = FAILURE_DEPENDENCY,
        .exit_code = 1,
        .line = arena_strdup(arena, err->text),
        .summary = arena_strdup(arena, err->text),
    };
    note_no_tree(bench, &why, "A setup fails with the patch.");
}

/* RC_CONFLICT: a setup fails with the patch. */
static enum rc set_up(struct bench *bench, struct err *err)
{
    const struct setup_tree tree = {
        .tree = bench->tree,
        .base = bench->found.base,
        .patch = buf_str(&bench->patch),
        .dir = arena_printf(bench->step->arena, "%s/setup", bench->dir)};
    return setup_open(bench->step, &tree, &bench->setup, err);
}

/* ---- outputs ---- */

static struct outputs_room room_of(const struct step *step)
{
    return (struct outputs_room){.bytes = OUTPUT_BYTES_MAX,
                                 .entries = OUTPUT_ENTRIES_MAX,
                                 .cancel = &step->stop->reason,
                                 .deadline_us = step->deadline_us};
}

/* One of the same path that an earlier check has made is of no more use. */
static void note_stored(struct bench *bench, const struct stored *stored)
{
    for (size_t i = 0; i < bench->stored_count; i++) {
        if (text_same(bench->stored[i].path, stored->path)) {
            bench->stored[i] = *stored;
            return;
        }
    }
    bench->stored[bench->stored_count++] = *stored;
}

/* RC_TOO_LARGE, RC_IO: they cannot be carried, which counts as a failure of the check. */
static enum rc store_outputs(struct trial *trial, struct err *err)
{
    struct bench *bench = trial->bench;
    struct outputs_room room = room_of(bench->step);
    const char *dir = arena_printf(bench->step->arena, "%s/outputs-%zu", bench->dir,
                                   (size_t)(trial->check - bench->found.checks));
    enum rc rc = dir_make(dir, 0700, err);
    for (size_t i = 0; rc == RC_OK && trial->verifier->outputs[i] != NULL; i++) {
        struct outputs_count count = {0};
        const struct outputs_copy copy = {
            .from = trial->tree, .to = dir, .path = trial->verifier->outputs[i]};
        rc = outputs_copy(&copy, &room, &count, err);
        if (rc == RC_OK)
            note_stored(bench, &(struct stored){
                                   .path = copy.path, .from = trial->verifier->name, .dir = dir});
        else if (rc == RC_NOT_FOUND)
            rc = RC_OK;
    }
    return rc;
}

/* Files of a new checkout must not be newer than what was built from an earlier one. */
static enum rc date_checkout(struct bench *bench, const char *tree, struct err *err)
{
    struct git git = step_git(bench->step);
    struct git_call refresh = {.dir = tree, .args = GIT_ARGS("update-index", "-q", "--refresh")};
    enum rc rc = outputs_date_tree(tree, bench->begin_us, err);
    return rc == RC_OK ? git_run(&git, &refresh, err) : rc;
}

static enum rc carry_outputs(struct trial *trial, struct err *err)
{
    struct bench *bench = trial->bench;
    struct check *check = trial->check;
    if (bench->stored_count == 0)
        return RC_OK;
    check->carried = arena_array(bench->step->arena, bench->stored_count, sizeof *check->carried);
    enum rc rc = date_checkout(bench, trial->tree, err);
    for (size_t i = 0; rc == RC_OK && i < bench->stored_count; i++) {
        const struct stored *stored = &bench->stored[i];
        struct outputs_room room = room_of(bench->step);
        struct outputs_count count = {0};
        const struct outputs_copy copy = {
            .from = stored->dir, .to = trial->tree, .path = stored->path};
        rc = outputs_copy(&copy, &room, &count, err);
        check->carried[check->carried_count++] = (struct carried){.path = stored->path,
                                                                  .from = stored->from,
                                                                  .files = count.files,
                                                                  .bytes = count.bytes,
                                                                  .skipped = count.skipped};
    }
    return rc;
}

/* ---- one check ---- */

static void report_start(struct step *step, const struct check *check)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_RESULT_MAX / 2);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "name", check->name, 200);
    step_write_text(&jw, "verifierName", check->name, 200);
    step_write_text(&jw, "command", check->command, 1000);
    jw_end(&jw, '}');
    step_event(step, EV_VERIFICATION_STARTED, buf_str(&data));
}

/* The end of the log: most checks print their errors last. */
static enum rc read_tail(const char *path, struct buf *into, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot open %.300s: %s", path, strerror(errno));
    off_t begin = status.st_size > LOG_TAIL_BYTES ? status.st_size - LOG_TAIL_BYTES : 0;
    char chunk[16384];
    ssize_t got = 0;
    for (off_t at = begin; (got = pread(fd, chunk, sizeof chunk, at)) > 0; at += got)
        buf_add(into, chunk, (size_t)got);
    if (got < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot read %.300s: %s", path, strerror(errno));
    return RC_OK;
}

static enum rc describe(struct bench *bench, struct check *check, const char *log, struct err *err)
{
    struct arena *arena = bench->step->arena;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, LOG_TAIL_BYTES);
    enum rc rc = read_tail(log, &text, err);
    if (rc != RC_OK)
        return rc;
    struct check_output output = {.command = check->command,
                                  .exit_code = check->exit_code,
                                  .signal = check->signal,
                                  .log = buf_str(&text)};
    bool timed_out = check->status == VERIFY_TIMED_OUT;
    check->category = timed_out ? FAILURE_TIMEOUT : feedback_category(&output);
    check->line = feedback_line(&output, arena);
    check->summary = feedback_summary(&output, arena);
    size_t kept = text.len < LOG_KEPT_BYTES ? text.len : LOG_KEPT_BYTES;
    check->log = (struct str){arena_strndup(arena, buf_text(&text) + text.len - kept, kept), kept};
    return RC_OK;
}

/* It was stopped for what it used: that explains more than its output does. */
static void note_limit(struct step *step, struct check *check, const char *limit)
{
    check->category = text_same(limit, "memory_limit") ? FAILURE_OUT_OF_MEMORY
                                                       : FAILURE_RESOURCE_LIMIT;
    check->line = arena_printf(step->arena, "stopped by its %s", limit);
    check->summary = arena_printf(step->arena, "It was stopped by its %s.\n%s", limit,
                                  check->summary);
}

static enum rc settle_ended(struct trial *trial, struct err *err)
{
    struct bench *bench = trial->bench;
    const struct compute_result *ended = &trial->ended;
    struct check *check = trial->check;
    bool passed = ended->exited && ended->exit_code == 0;
    check->status = ended->end == COMPUTE_TIMED_OUT ? VERIFY_TIMED_OUT
                    : passed                        ? VERIFY_PASSED
                                                    : VERIFY_FAILED;
    check->exit_code = ended->exit_code;
    check->signal = ended->signal;
    check->duration_ms = ended->duration_us / US_PER_MS;
    enum rc rc = check->status == VERIFY_PASSED ? RC_OK : describe(bench, check, trial->log, err);
    if (rc != RC_OK)
        return rc;
    if (ended->limit != NULL)
        note_limit(bench->step, check, ended->limit);
    const char *name = arena_printf(bench->step->arena, "%s.log", check->name);
    rc = step_put_file(bench->step, "report", name, trial->log, &check->report, err);
    (void)unlink(trial->log);
    return rc;
}

static void note_errored(struct step *step, struct check *check, const struct err *err)
{
    check->status = VERIFY_ERRORED;
    check->category = FAILURE_INFRASTRUCTURE;
    check->exit_code = -1;
    check->line = check->summary = arena_strdup(step->arena, err->text);
}

/* Maybe in a thread of its own: uses only parts of the step that all threads may use. */
static void run_trial(struct trial *trial)
{
    struct step *step = trial->bench->step;
    report_start(step, trial->check);
    const char *const argv[] = {"/bin/sh", "-c", trial->verifier->command, NULL};
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = argv,
                 .cwd = trial->tree,
                 .binds = {{step->mirror, false}, {trial->tree, true}, {trial->home, true}}},
        .env = trial->env.entries,
        .log_path = trial->log,
        .secrets = step->secrets,
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = step_time_ms(step, trial->verifier->timeout_ms),
        .stop = step->stop,
    };
    compute_grant(&spec, &step->input.config.agent, step->input.run_id.text);
    scratch_show(&trial->bench->scratch, &spec);
    trial->rc = compute_run(&spec, &trial->ended, &trial->err);
}

static enum rc settle_trial(struct trial *trial, struct err *err)
{
    if (trial->rc != RC_OK && sandbox_is_unavailable(&trial->err)) {
        *err = trial->err;
        return trial->rc;
    }
    if (trial->rc != RC_OK) {
        note_errored(trial->bench->step, trial->check, &trial->err);
        return RC_OK;
    }
    if (trial->ended.end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The checks were stopped.");
    return settle_ended(trial, err);
}

/* Later checks rely on its outputs: without them it has not passed. */
static enum rc settle_outputs(struct trial *trial, struct err *err)
{
    struct check *check = trial->check;
    struct arena *arena = trial->bench->step->arena;
    if (check->status != VERIFY_PASSED || trial->verifier->outputs[0] == NULL)
        return RC_OK;
    enum rc rc = store_outputs(trial, err);
    if (rc != RC_TOO_LARGE && rc != RC_IO)
        return rc;
    check->status = VERIFY_FAILED;
    check->category = FAILURE_RESOURCE_LIMIT;
    check->line = arena_printf(arena, "its outputs cannot be carried: %s", err->text);
    check->summary = arena_printf(arena,
                                  "It passed, but its outputs cannot be carried to later "
                                  "checks: %s.",
                                  err->text);
    err_clear(err);
    return RC_OK;
}

/* What its code may have changed is not used again. */
static void drop_trial(const struct trial *trial)
{
    worktree_drop(trial->bench->step, trial->tree);
    worktree_drop(trial->bench->step, trial->home);
}

/* ---- many checks at once ---- */

struct round {
    struct trial *trials;
    size_t count;
    size_t next; /* Atomic: the first that no thread has taken. */
};

static void *run_trials(void *ctx)
{
    struct round *round = ctx;
    size_t mine;
    while ((mine = __atomic_fetch_add(&round->next, 1, __ATOMIC_RELAXED)) < round->count)
        run_trial(&round->trials[mine]);
    return NULL;
}

static size_t hands_for(size_t trials)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cores < PARALLEL_MIN   ? PARALLEL_MIN
                  : cores > PARALLEL_MAX ? PARALLEL_MAX
                                         : (size_t)cores;
    return trials < most ? trials : most;
}

/* This thread works too: where no other can be started it does all. */
static void run_round(struct round *round)
{
    pthread_t helpers[PARALLEL_MAX];
    size_t count = 0, wanted = hands_for(round->count) - 1;
    const struct thread_spec helper = {.body = run_trials, .ctx = round};
    while (count < wanted && thread_start(&helper, &helpers[count], NULL) == RC_OK)
        count++;
    (void)run_trials(round);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(helpers[i], NULL);
}

static enum rc prepare_trial(struct bench *bench, const struct verifier_config *verifier,
                             bool apart, struct trial *trial, struct err *err)
{
    struct arena *arena = bench->step->arena;
    struct verification *found = &bench->found;
    size_t no = found->count;
    *trial = (struct trial){
        .bench = bench,
        .verifier = verifier,
        .check = &found->checks[found->count++],
        .tree = apart ? arena_printf(arena, "%s/%zu/tree", bench->dir, no) : bench->tree,
        .home = apart ? arena_printf(arena, "%s/%zu/home", bench->dir, no) : bench->home,
        .log = arena_printf(arena, "%s/check-%zu.log", bench->dir, no),
    };
    *trial->check = (struct check){
        .name = verifier->name, .command = verifier->command, .optional = verifier->optional};
    childenv_init(&trial->env, bench->step, trial->home);
    scratch_set(&bench->scratch, arena, &trial->env);
    enum rc rc = RC_OK;
    if (apart || !bench->fresh)
        rc = fill(bench, trial->tree, trial->home, err);
    if (!apart)
        bench->fresh = false;
    if (rc == RC_OK)
        rc = carry_outputs(trial, err);
    return rc == RC_OK ? setup_fill(&bench->setup, trial->tree, err) : rc;
}

static enum rc run_group(struct bench *bench, const struct verifier_config *verifiers, size_t count,
                         struct err *err)
{
    struct round round = {.trials = arena_array(bench->step->arena, count, sizeof(struct trial)),
                          .count = count};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = prepare_trial(bench, &verifiers[i], count > 1, &round.trials[i], err);
    if (rc != RC_OK)
        return rc;
    run_round(&round);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        rc = settle_trial(&round.trials[i], err);
        if (rc == RC_OK)
            rc = settle_outputs(&round.trials[i], err);
        drop_trial(&round.trials[i]);
    }
    return rc;
}

/* How many of these run at once: neighbours that are all marked parallel. */
static size_t group_size(const struct verifier_config *verifiers, size_t count)
{
    size_t size = 0;
    while (size < count && verifiers[size].parallel)
        size++;
    return size > 0 ? size : 1;
}

/* ---- the step ---- */

static enum rc run_checks(struct bench *bench, struct err *err)
{
    const struct repo_config *config = &bench->step->input.config;
    enum rc rc = make_tree(bench, err);
    if (rc == RC_CONFLICT) {
        note_no_apply(bench, err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = set_up(bench, err);
    if (rc == RC_CONFLICT) {
        note_no_setup(bench, err);
        return RC_OK;
    }
    if (rc == RC_OK && config->verify_count > 0)
        rc = scratch_open(bench->step, SCRATCH_VERIFY, &bench->scratch, err);
    (void)step_secrets(bench->step); /* Threads only read it. */
    for (size_t at = 0, size; rc == RC_OK && at < config->verify_count; at += size) {
        size = group_size(&config->verify[at], config->verify_count - at);
        rc = run_group(bench, &config->verify[at], size, err);
    }
    return rc;
}

enum rc verification_run(struct step *step, const char *name, struct verification *ret_found,
                         struct err *err)
{
    struct bench *bench = arena_alloc(step->arena, sizeof *bench);
    *bench = (struct bench){.step = step,
                            .dir = worktree_path(step, name),
                            .begin_us = clock_now_us(&step->site->clock)};
    bench->tree = arena_printf(step->arena, "%s/tree", bench->dir);
    bench->home = arena_printf(step->arena, "%s/home", bench->dir);
    buf_init(&bench->patch, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = run_checks(bench, err);
    if (rc == RC_OK)
        *ret_found = bench->found;
    setup_release(&bench->setup);
    scratch_close(step);             /* Another verification of this job gets its own. */
    worktree_drop(step, bench->dir); /* The next try makes its own. */
    buf_release(&bench->patch);
    return rc;
}

enum rc step_verify(struct step *step, struct err *err)
{
    const char *name = arena_printf(step->arena, "verify-%" PRId64, step->input.attempt);
    struct verification *found = arena_alloc(step->arena, sizeof *found);
    enum rc rc = verification_run(step, name, found, err);
    return rc == RC_OK ? verification_report(step, found, err) : rc;
}
