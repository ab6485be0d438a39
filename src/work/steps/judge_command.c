/*
 * judge_command.c - a command judges: /bin/sh -c in the sandbox, on a clean checkout with the
 * patch applied.
 *
 *     dir/tree              base + patch; the command's directory, made anew
 *     dir/home              $HOME
 *     dir/io/input.json     $DROVER_JUDGE_INPUT: the task, where the diff is, the verification
 *     dir/io/patch.diff
 *     dir/io/result.json    $DROVER_RESULT: its answer, unless that is on stdout
 *
 *     exit 0   the verdict of its answer; without one: pass
 *     exit 1   the verdict of its answer; without one: fail, with its output as the reason
 *     else     it could not work
 */
#include "base/fd.h"
#include "core/run/feedback.h"
#include "core/run/judge_answer.h"
#include "work/agent/compute_process.h"
#include "work/agent/scratch.h"
#include "work/job/childenv.h"
#include "work/job/step_secrets.h"
#include "work/steps/judging.h"
#include "work/tree/small_file.h"
#include "work/tree/worktree.h"
#include <inttypes.h>

enum {
    LOG_BYTES_MAX = 4 * 1024 * 1024,
    INPUT_BYTES_MAX = 32 * 1024 * 1024,
    PROBLEM_BYTES = 400,
    RECORD_BYTES_MAX = 64 * 1024,
};

struct hearing {
    struct judging *judging;
    struct opinion *opinion;
    const char *tree, *home, *io, *input, *diff, *result, *log;
    struct childenv env;
    struct buf out; /* Its stdout. */
    struct compute_result ended;
};

/* ---- before ---- */

static void write_input(struct hearing *hearing, struct buf *text)
{
    const struct judging *judging = hearing->judging;
    const struct step_input *input = &judging->step->input;
    struct jw jw = jw_to(text);
    jw_begin(&jw, '{');
    jw_key(&jw, "task");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", input->task_id.text);
    jw_kstr(&jw, "repository", input->repository);
    jw_kstr(&jw, "description", input->description);
    if (input->issue_number > 0)
        jw_kint(&jw, "issueNumber", input->issue_number);
    jw_key(&jw, "scope");
    jw_begin(&jw, '[');
    for (size_t i = 0; input->scope[i] != NULL; i++)
        jw_str(&jw, input->scope[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    jw_kstr(&jw, "runId", input->run_id.text);
    jw_kint(&jw, "attempt", input->attempt);
    jw_kstr(&jw, "baseCommit", input->base_commit);
    jw_kstr(&jw, "diff", hearing->diff);
    jw_kint(&jw, "files", (int64_t)judging->stats.files);
    jw_kint(&jw, "linesAdded", judging->stats.lines_added);
    jw_kint(&jw, "linesDeleted", judging->stats.lines_deleted);
    jw_kraw(&jw, "verification", buf_str(&judging->certificate));
    jw_end(&jw, '}');
}

static enum rc make_io(struct hearing *hearing, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, INPUT_BYTES_MAX);
    write_input(hearing, &text);
    if (text.overflow)
        return err_set(err, RC_TOO_LARGE, "INPUT_TOO_LARGE",
                       "What it is told (the task and the verification) is larger than %d bytes.",
                       INPUT_BYTES_MAX);
    const struct buf *diff = &hearing->judging->diff;
    enum rc rc = dir_make(hearing->io, 0700, err);
    if (rc == RC_OK)
        rc = dir_make(hearing->home, 0700, err);
    if (rc == RC_OK)
        rc = file_write_durable(hearing->input, buf_text(&text), text.len, 0600, err);
    if (rc == RC_OK)
        rc = file_write_durable(hearing->diff, buf_text(diff), diff->len, 0600, err);
    return rc;
}

static enum rc make_place(struct hearing *hearing, struct err *err)
{
    struct judging *judging = hearing->judging;
    struct step *step = judging->step;
    const char *base = NULL;
    enum rc rc = dir_remove(judging->dir, err);
    if (rc == RC_OK)
        rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &base, err);
    if (rc == RC_OK)
        rc = make_io(hearing, err);
    if (rc != RC_OK)
        return rc;
    struct checkout checkout = {
        .dir = hearing->tree, .base = base, .patch = buf_str(&judging->diff)};
    return worktree_checkout(step, &checkout, err);
}

/* ---- during ---- */

static bool on_line(void *ctx, struct str line)
{
    struct hearing *hearing = ctx;
    buf_add(&hearing->out, line.at, line.len);
    buf_addc(&hearing->out, '\n');
    return true;
}

static enum rc run_judge(struct hearing *hearing, struct err *err)
{
    struct step *step = hearing->judging->step;
    struct arena *arena = step->arena;
    const struct judge_config *judge = hearing->opinion->judge;
    struct scratch scratch;
    enum rc rc = scratch_open(step, SCRATCH_JUDGE, &scratch, err);
    if (rc != RC_OK)
        return rc;
    childenv_init(&hearing->env, step, hearing->home);
    scratch_set(&scratch, arena, &hearing->env);
    childenv_set(&hearing->env, arena, "DROVER_JUDGE_INPUT", hearing->input);
    childenv_set(&hearing->env, arena, "DROVER_RESULT", hearing->result);
    childenv_set(&hearing->env, arena, "DROVER_ATTEMPT",
                 arena_printf(arena, "%" PRId64, step->input.attempt));
    const char *const argv[] = {"/bin/sh", "-c", judge->command, NULL};
    int64_t until_us = clock_mono_us() + judge->timeout_ms * US_PER_MS;
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = argv,
                 .cwd = hearing->tree,
                 .binds = {{step->mirror, false},
                           {hearing->tree, true},
                           {hearing->home, true},
                           {hearing->io, true}}},
        .env = hearing->env.entries,
        .log_path = hearing->log,
        .secrets = step_secrets(step),
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = judging_left_ms(hearing->judging, until_us),
        .stop = step->stop,
        .reader = {.ctx = hearing, .line = on_line},
    };
    compute_grant(&spec, &step->input.config.agent, step->input.run_id.text);
    scratch_show(&scratch, &spec);
    return compute_run(&spec, &hearing->ended, err);
}

/* ---- after ---- */

/* Its answer: in the file, or on stdout.  RC_NOT_FOUND: it gave none. */
static enum rc read_answer(struct hearing *hearing, struct err *err)
{
    struct judgement *judgement = &hearing->opinion->judgement;
    struct arena *arena = hearing->judging->step->arena;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, RECORD_BYTES_MAX);
    if (small_file_read(hearing->result, &text) == RC_OK && text.len > 0) {
        enum rc rc = judge_answer_read(buf_str(&text), arena, judgement, err);
        return rc == RC_NOT_FOUND ? err_set(err, RC_INVALID, "NO_ANSWER",
                                            "What it wrote to $DROVER_RESULT holds no verdict.")
                                  : rc;
    }
    return judge_answer_read(buf_str(&hearing->out), arena, judgement, err);
}

/* Without an answer: the exit status is the verdict, the output the reason. */
static void take_exit(struct hearing *hearing)
{
    struct judgement *judgement = &hearing->opinion->judgement;
    struct arena *arena = hearing->judging->step->arena;
    judgement->verdict = hearing->ended.exit_code == 0 ? VERDICT_PASS : VERDICT_FAIL;
    if (judgement->verdict == VERDICT_PASS)
        return;
    struct check_output output = {.command = hearing->opinion->judge->command,
                                  .exit_code = hearing->ended.exit_code,
                                  .log = str_of(hearing->opinion->output)};
    judgement_add(judgement, (struct judge_finding){.rule = hearing->opinion->judge->name,
                                                    .text = feedback_line(&output, arena)});
}

static void take_end(struct hearing *hearing)
{
    const struct compute_result *ended = &hearing->ended;
    struct judgement *judgement = &hearing->opinion->judgement;
    struct arena *arena = hearing->judging->step->arena;
    struct err err = {0};
    if (ended->end == COMPUTE_TIMED_OUT) {
        judgement_doubt(judgement, true, "It did not end within its time.");
        return;
    }
    if (ended->limit != NULL) {
        judgement_doubt(judgement, true,
                        arena_printf(arena, "It was stopped by its %s.", ended->limit));
        return;
    }
    if (!ended->exited || ended->exit_code > 1) {
        const char *how = ended->exited
                              ? arena_printf(arena, "It ended with exit code %d.", ended->exit_code)
                              : arena_printf(arena, "It was ended by signal %d.", ended->signal);
        judgement_doubt(judgement, true, how);
        return;
    }
    enum rc rc = read_answer(hearing, &err);
    if (rc == RC_NOT_FOUND)
        take_exit(hearing);
    else if (rc != RC_OK)
        judgement_doubt(judgement, false, arena_strndup(arena, err.text, PROBLEM_BYTES));
}

static void keep_output(struct hearing *hearing)
{
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, LOG_BYTES_MAX + PROBLEM_BYTES);
    if (file_read(hearing->log, &log, NULL) == RC_OK)
        hearing->opinion->output = arena_strdup(hearing->judging->step->arena, buf_text(&log));
}

enum rc judge_by_command(struct judging *judging, struct opinion *opinion, struct err *err)
{
    struct arena *arena = judging->step->arena;
    struct hearing *hearing = arena_alloc(arena, sizeof *hearing);
    *hearing = (struct hearing){
        .judging = judging,
        .opinion = opinion,
        .tree = arena_printf(arena, "%s/tree", judging->dir),
        .home = arena_printf(arena, "%s/home", judging->dir),
        .io = arena_printf(arena, "%s/io", judging->dir),
        .input = arena_printf(arena, "%s/io/input.json", judging->dir),
        .diff = arena_printf(arena, "%s/io/patch.diff", judging->dir),
        .result = arena_printf(arena, "%s/io/result.json", judging->dir),
        .log = arena_printf(arena, "%s/judge.log", judging->dir),
    };
    buf_init(&hearing->out, JUDGE_ANSWER_MAX);
    enum rc rc = make_place(hearing, err);
    if (rc == RC_OK)
        rc = run_judge(hearing, err);
    if (rc == RC_OK && hearing->ended.end == COMPUTE_STOPPED)
        rc = err_set(err, RC_CANCELLED, "CANCELLED", "The judge was stopped.");
    if (rc == RC_OK) {
        keep_output(hearing);
        take_end(hearing);
    } else if (rc != RC_CANCELLED && !sandbox_is_unavailable(err)) {
        judgement_doubt(&opinion->judgement, true, arena_strdup(arena, err->text));
        rc = RC_OK;
    }
    buf_release(&hearing->out);
    return rc;
}
