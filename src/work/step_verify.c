/*
 * step_verify.c - the verifiers, on a clean checkout with the patch applied.
 *
 *     run_dir/verify-<n>/tree    base + patch, fresh at every try
 *     run_dir/verify-<n>/home    $HOME of the checks
 *
 * The checkout is made by git before anything of the agent's runs in it; the checks run code that
 * an agent wrote, so they run in the sandbox.  A check that could not be run is reported as
 * errored: it says nothing about the patch, and the server decides whether to try it again.
 */
#include "base/fd.h"
#include "core/event_types.h"
#include "core/feedback.h"
#include "work/childenv.h"
#include "work/compute_process.h"
#include "work/step.h"
#include "work/verification.h"
#include "work/worktree.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOG_BYTES_MAX = 16 * 1024 * 1024,
    LOG_TAIL_BYTES = 256 * 1024, /* What the summary is made from. */
};

struct bench {
    struct step *step;
    const char *dir, *tree, *home;
    struct childenv env;
    struct verification found;
};

/* --- the checkout --- */

/* RC_CONFLICT: the patch does not apply. */
static enum rc make_tree(struct bench *bench, struct err *err)
{
    struct step *step = bench->step;
    CLEANUP(buf_release) struct buf patch;
    buf_init(&patch, (size_t)step->input.config.limits.max_patch_bytes);
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &bench->found.base, err);
    if (rc == RC_OK && step->input.patch_sha256)
        rc = step_get(step, step->input.patch_sha256, &patch, err);
    if (rc == RC_OK)
        rc = dir_remove(bench->dir, err);
    if (rc == RC_OK)
        rc = dir_make(bench->home, 0700, err);
    if (rc != RC_OK)
        return rc;
    struct checkout checkout = {
        .dir = bench->tree, .base = bench->found.base, .patch = buf_str(&patch)};
    rc = worktree_checkout(step, &checkout, err);
    if (rc != RC_OK)
        return rc;
    struct git git = step_git(step);
    struct git_call write = {.dir = bench->tree, .args = GIT_ARGS("write-tree")};
    return git_line(&git, &write, step->arena, &bench->found.tree_hash, err);
}

static void note_no_apply(struct bench *bench, const struct err *err)
{
    bench->found.checks[bench->found.count++] = (struct check){
        .name = "apply",
        .command = "git apply --index",
        .status = VERIFY_FAILED,
        .category = FAILURE_PATCH_DOES_NOT_APPLY,
        .exit_code = 1,
        .line = arena_strdup(bench->step->arena, err->text),
        .summary = arena_strdup(bench->step->arena, err->text),
    };
}

/* --- one check --- */

static void tell_start(struct step *step, const struct check *check)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_RESULT_MAX / 2);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "name", check->name, 200);
    step_write_text(&jw, "command", check->command, 1000);
    jw_end(&jw, '}');
    step_event(step, EV_VERIFICATION_STARTED, buf_str(&data));
}

/* The end of the log: that is where a check says what is wrong. */
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
    return RC_OK;
}

static enum rc settle_check(struct bench *bench, struct check *check,
                            const struct compute_result *ended, const char *log, struct err *err)
{
    struct step *step = bench->step;
    bool passed = ended->exited && ended->exit_code == 0;
    check->status = ended->end == COMPUTE_TIMED_OUT ? VERIFY_TIMED_OUT
                    : passed                        ? VERIFY_PASSED
                                                    : VERIFY_FAILED;
    check->exit_code = ended->exit_code;
    check->signal = ended->signal;
    check->duration_ms = ended->duration_us / US_PER_MS;
    enum rc rc = check->status == VERIFY_PASSED ? RC_OK : describe(bench, check, log, err);
    if (rc != RC_OK)
        return rc;
    const char *name = arena_printf(step->arena, "%s.log", check->name);
    rc = step_put_file(step, "report", name, log, &check->report, err);
    (void)unlink(log);
    return rc;
}

static void note_errored(struct step *step, struct check *check, const struct err *err)
{
    check->status = VERIFY_ERRORED;
    check->category = FAILURE_INFRASTRUCTURE;
    check->exit_code = -1;
    check->line = check->summary = arena_strdup(step->arena, err->text);
}

static enum rc run_check(struct bench *bench, const struct verifier_config *verifier,
                         struct err *err)
{
    struct step *step = bench->step;
    struct check *check = &bench->found.checks[bench->found.count++];
    *check = (struct check){.name = verifier->name, .command = verifier->command};
    tell_start(step, check);
    const char *log = arena_printf(step->arena, "%s/check-%zu.log", bench->dir, bench->found.count);
    const char *const argv[] = {"/bin/sh", "-c", verifier->command, NULL};
    int64_t left_ms = step_left_ms(step);
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = argv,
                 .cwd = bench->tree,
                 .binds = {{step->mirror, false}, {bench->tree, true}, {bench->home, true}}},
        .env = bench->env.entries,
        .log_path = log,
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = verifier->timeout_ms < left_ms ? verifier->timeout_ms : left_ms,
        .stop = step->stop,
    };
    compute_grant(&spec, &step->input.config.agent, step->input.run_id.text);
    struct compute_result ended;
    enum rc rc = compute_run(&spec, &ended, err);
    if (rc != RC_OK) {
        note_errored(step, check, err);
        return RC_OK;
    }
    if (ended.end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The checks were stopped.");
    return settle_check(bench, check, &ended, log, err);
}

/* --- the step --- */

static enum rc run_checks(struct bench *bench, struct err *err)
{
    const struct repo_config *config = &bench->step->input.config;
    enum rc rc = make_tree(bench, err);
    if (rc == RC_CONFLICT) {
        note_no_apply(bench, err);
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    childenv_init(&bench->env, bench->step, bench->home);
    for (size_t i = 0; rc == RC_OK && i < config->verify_count; i++)
        rc = run_check(bench, &config->verify[i], err);
    return rc;
}

enum rc step_verify(struct step *step, struct err *err)
{
    const char *name = arena_printf(step->arena, "verify-%" PRId64, step->input.attempt);
    struct bench *bench = arena_alloc(step->arena, sizeof *bench);
    *bench = (struct bench){.step = step, .dir = worktree_path(step, name)};
    bench->tree = arena_printf(step->arena, "%s/tree", bench->dir);
    bench->home = arena_printf(step->arena, "%s/home", bench->dir);
    enum rc rc = run_checks(bench, err);
    if (rc == RC_OK)
        rc = verification_tell(step, &bench->found, err);
    worktree_drop(step, bench->dir); /* The next try makes its own. */
    return rc;
}
