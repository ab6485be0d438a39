/*
 * train.c - one position of a merge train: pull requests merged onto the target as they would land,
 * and verified on a clean checkout.
 *
 * Merges are made in the mirror, objects only: no git of ours has a tree of files with what agents
 * wrote before the checkout that every verification makes (verify.c).  A position whose tree was
 * verified before, on another commit of the target with the same files, is not verified again.  One
 * whose checks failed and may be flaky, or could not reach something, is verified once more: the
 * second verdict counts.
 */
#include "core/pr/ci_failure.h"
#include "work/job/repo_step.h"
#include "work/steps/hauling.h"
#include "work/steps/verification.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <string.h>

enum {
    DETAIL_BYTES_MAX = 4000,
    TITLE_BYTES_MAX = 300,
    FAILED_MAX = 8,
    PATHS_MAX = 2000, /* Of a position; with more, no failure is taken for a flaky one. */
    PATHS_BYTES_MAX = 512 * 1024,
};
#define CODE "train_failed"

/* ---- the payload ---- */

static enum rc invalid(struct step *step, const char *what, struct err *err)
{
    enum rc rc = err_set(err, RC_INVALID, "PAYLOAD_INVALID", "The payload of a train: %s.", what);
    return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
}

static bool hash_or_null(const char *text)
{
    return text == NULL || git_hash_valid(text);
}

static enum rc read_car(struct hauling *hauling, const struct js *object, struct err *err)
{
    struct landing_car *car = &hauling->cars[hauling->landing.count];
    const char *title = js_get_str(object, "title", NULL);
    *car = (struct landing_car){
        .number = js_get_int(object, "number", 0),
        .run_id = js_get_str(object, "runId", NULL),
        .branch = js_get_str(object, "branch", NULL),
        .head = js_get_str(object, "head", ""),
        .time_us = js_get_int(object, "time", 0) * US_PER_SECOND,
    };
    if (title != NULL) {
        char *line = arena_strndup(hauling->step->arena, title, strnlen(title, TITLE_BYTES_MAX));
        git_clean(line);
        car->title = line;
    }
    hauling->trees[hauling->landing.count] = js_get_str(object, "tree", NULL);
    struct id run_id;
    if (car->number < 1 || !git_hash_valid(car->head) || car->branch == NULL ||
        !branch_name_valid(car->branch) || car->run_id == NULL || !id_parse(car->run_id, &run_id) ||
        !hash_or_null(hauling->trees[hauling->landing.count]))
        return invalid(hauling->step, "a car lacks its number, run, branch or head", err);
    hauling->landing.count++;
    return RC_OK;
}

static enum rc read_payload(struct hauling *hauling, struct err *err)
{
    struct step *step = hauling->step;
    const struct js *payload = step->input.payload, *cars = js_get(payload, "cars");
    const char *target = js_get_str(payload, "targetBranch", "");
    hauling->landing = (struct landing){
        .url = step->input.config.url,
        .git_dir = step->mirror,
        .target_branch = target,
        .base = js_get_str(payload, "base", NULL),
        .cars = hauling->cars,
        .single = js_get_bool(payload, "single", false),
        .holder = step_holder(step),
    };
    size_t count = js_count(cars);
    if (!branch_name_valid(target) || !hash_or_null(hauling->landing.base) || count == 0 ||
        count > LANDING_CARS_MAX)
        return invalid(step, "no branch, no cars, or too many", err);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = read_car(hauling, js_at(cars, i), err);
    return rc;
}

/* A directory and a user of its own, as a run has them; the checks of the train. */
static void take_place(struct step *step, const struct step_row *row)
{
    struct repo_config *config = &step->input.config;
    if (config->train.checks != NULL) {
        memset(config->verify, 0, sizeof config->verify);
        memcpy(config->verify, config->train.checks,
               config->train.check_count * sizeof config->verify[0]);
        config->verify_count = config->train.check_count;
    }
    step->input.run_id = step->lease.id;
    step->input.target_branch = js_get_str(step->input.payload, "targetBranch", "");
    step_place(step);
    /* The checks may run twice. */
    int64_t deadline_us = clock_mono_us() +
                          2 * (repo_config_step_ms(config, row) - row->time_ms) * US_PER_MS;
    if (deadline_us < step->deadline_us)
        step->deadline_us = deadline_us;
}

/* ---- the result ---- */

static void write_merged(struct jw *jw, const struct hauling *hauling, const bool *merged)
{
    jw_key(jw, "merged");
    jw_begin(jw, '[');
    for (size_t i = 0; i < hauling->landing.count; i++) {
        if (merged[i])
            jw_int(jw, (int64_t)i);
    }
    jw_end(jw, ']');
}

void haul_report(struct hauling *hauling, const struct haul_outcome *outcome)
{
    struct jw jw = jw_to(hauling->step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "outcome", outcome->name);
    jw_kint(&jw, "at", (int64_t)outcome->at);
    jw_kstr(&jw, "base", hauling->landing.base);
    jw_kstr(&jw, "tip", hauling->tip);
    jw_kstr(&jw, "commit", outcome->commit);
    jw_kstr(&jw, "tree", outcome->tree);
    step_write_text(&jw, "detail", outcome->detail, DETAIL_BYTES_MAX);
    if (outcome->reused)
        jw_kbool(&jw, "reused", true);
    if (outcome->rerun)
        jw_kbool(&jw, "rerun", true);
    if (outcome->unverified)
        jw_kbool(&jw, "unverified", true);
    if (outcome->merged != NULL)
        write_merged(&jw, hauling, outcome->merged);
    jw_end(&jw, '}');
}

/* ---- the target ---- */

enum rc haul_fetch(struct hauling *hauling, struct err *err)
{
    struct step *step = hauling->step;
    step->input.base_commit = NULL;
    enum rc rc = worktree_fetch(step, err);
    return rc == RC_OK ? worktree_base(step, &hauling->tip, err) : rc;
}

enum rc haul_is_ancestor(struct hauling *hauling, const char *commit, const char *of, bool *ret_is,
                         struct err *err)
{
    struct git git = step_git(hauling->step);
    struct git_call ask = {.git_dir = hauling->step->mirror,
                           .args = GIT_ARGS("merge-base", "--is-ancestor", commit, of)};
    int status = 1;
    enum rc rc = git_ask(&git, &ask, &status, err);
    if (rc == RC_OK)
        *ret_is = status == 0;
    return rc;
}

enum rc haul_is_merged(struct hauling *hauling, size_t at, bool asks, bool *ret_merged,
                       struct err *err)
{
    const struct landing_car *car = &hauling->cars[at];
    struct pr_view view;
    enum rc rc = haul_is_ancestor(hauling, car->head, hauling->tip, ret_merged, err);
    if (rc != RC_OK || *ret_merged || !asks)
        return rc;
    rc = haul_open_forge(hauling, err);
    if (rc != RC_OK || hauling->ops->prs == NULL || hauling->ops->prs->view == NULL)
        return rc;
    const struct pr_ref ref = {.url = hauling->landing.url, .number = car->number};
    rc = hauling->ops->prs->view(&hauling->call, &ref, hauling->step->arena, &view, err);
    if (rc == RC_OK)
        *ret_merged = view.state == PR_MERGED;
    return rc;
}

enum rc haul_moved(struct hauling *hauling, struct err *err)
{
    bool merged[LANDING_CARS_MAX] = {false};
    bool asks = hauling->step->input.config.train.api;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < hauling->landing.count; i++)
        rc = haul_is_merged(hauling, i, asks, &merged[i], err);
    if (rc == RC_OK)
        haul_report(hauling, &(struct haul_outcome){.name = "moved", .merged = merged});
    return rc;
}

enum rc haul_open_forge(struct hauling *hauling, struct err *err)
{
    if (hauling->ops != NULL)
        return RC_OK;
    enum rc rc = step_forge_open(hauling->step, ACCESS_WRITE, &hauling->call, &hauling->ops, err);
    if (rc == RC_OK || rc == RC_LIMIT || rc == RC_STALE || rc == RC_CANCELLED)
        return rc;
    return step_forge_fail(hauling->step, rc, err, CODE);
}

/* ---- the cars ---- */

static bool has_commit(struct hauling *hauling, const char *commit)
{
    struct git git = step_git(hauling->step);
    const char *object = arena_printf(hauling->step->arena, "%s^{commit}", commit);
    struct git_call ask = {.git_dir = hauling->step->mirror,
                           .args = GIT_ARGS("cat-file", "-e", object)};
    return git_run(&git, &ask, NULL) == RC_OK;
}

/* A git that cannot work has no commit at all. */
static enum rc check_git(struct hauling *hauling, struct err *err)
{
    struct git git = step_git(hauling->step);
    struct git_call ask = {.git_dir = hauling->step->mirror,
                           .args = GIT_ARGS("cat-file", "-e", hauling->tip)};
    return git_run(&git, &ask, err);
}

/* The head of a pull request whose branch is gone, or is one of another repository. */
static void fetch_head(struct hauling *hauling, const struct landing_car *car)
{
    struct arena *arena = hauling->step->arena;
    struct git git = step_git(hauling->step);
    const char *const refs[] = {
        arena_printf(arena, "refs/pull/%" PRId64 "/head", car->number),
        arena_printf(arena, "refs/merge-requests/%" PRId64 "/head", car->number)};
    for (size_t i = 0; i < COUNT_OF(refs) && !has_commit(hauling, car->head); i++) {
        struct git_call fetch = {.git_dir = hauling->step->mirror,
                                 .args = GIT_ARGS("fetch", "--quiet", "--no-tags",
                                                  "--no-write-fetch-head", "origin", refs[i]),
                                 .origin = hauling->landing.url,
                                 .durable = true};
        (void)!git_run(&git, &fetch, NULL);
    }
}

/* Where its branch is now; "" when it is gone. */
static const char *branch_at(struct hauling *hauling, const struct landing_car *car)
{
    struct git git = step_git(hauling->step);
    const char *hash = "";
    const char *ref = arena_printf(hauling->step->arena, "refs/heads/%s^{commit}", car->branch);
    struct git_call ask = {
        .git_dir = hauling->step->mirror,
        .args = GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options", ref)};
    return git_line(&git, &ask, hauling->step->arena, &hash, NULL) == RC_OK ? hash : "";
}

/* *ret_gone: it was reported that one of them is not what the train knows. */
static enum rc check_cars(struct hauling *hauling, bool *ret_gone, struct err *err)
{
    struct arena *arena = hauling->step->arena;
    *ret_gone = false;
    for (size_t i = 0; i < hauling->landing.count; i++) {
        const struct landing_car *car = &hauling->cars[i];
        const char *now = branch_at(hauling, car), *why = NULL;
        fetch_head(hauling, car);
        if (stop_asked(hauling->step->stop) != STOP_NONE)
            return err_set(err, RC_CANCELLED, "CANCELLED", "The step was asked to stop.");
        if (now[0] != '\0' && !text_same(now, car->head))
            why = arena_printf(arena, "Its branch %s is at %.12s now, not at %.12s.", car->branch,
                               now, car->head);
        else if (!has_commit(hauling, car->head))
            why = arena_printf(arena, "The repository has no commit %.12s any more.", car->head);
        if (why == NULL)
            continue;
        enum rc rc = check_git(hauling, err);
        if (rc != RC_OK)
            return rc;
        haul_report(hauling, &(struct haul_outcome){.name = "gone", .at = i, .detail = why});
        *ret_gone = true;
        return RC_OK;
    }
    return RC_OK;
}

/* A car that does not merge ends it: clash has why. */
static enum rc merge_cars(struct hauling *hauling, struct err *err)
{
    struct git git = step_git(hauling->step);
    size_t at = 0;
    enum rc rc = landing_merge(&git, &hauling->landing, hauling->step->arena, hauling->positions,
                               &at, &hauling->clash);
    hauling->merged = rc == RC_CONFLICT ? at : hauling->landing.count;
    if (rc != RC_OK && rc != RC_CONFLICT)
        *err = hauling->clash;
    return rc == RC_CONFLICT ? RC_OK : rc;
}

enum rc haul_goal(struct hauling *hauling, const char **ret_commit, struct err *err)
{
    const struct landing_position *last = &hauling->positions[hauling->landing.count - 1];
    struct git git = step_git(hauling->step);
    *ret_commit = last->commit;
    return hauling->landing.single ? landing_single(&git, &hauling->landing, last->tree,
                                                    hauling->step->arena, ret_commit, err)
                                   : RC_OK;
}

/* Is the target where the positions are built on, or at one of them: what lands meanwhile? */
static bool target_fits(const struct hauling *hauling)
{
    bool fits = text_same(hauling->tip, hauling->landing.base);
    for (size_t i = 0; !fits && i < hauling->merged; i++)
        fits = text_same(hauling->tip, hauling->positions[i].commit);
    return fits;
}

/* ---- the checks ---- */

/* What failed, and how: for the pull request that is to blame, and for its repair. */
static const char *describe(struct hauling *hauling, const struct verification *found)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DETAIL_BYTES_MAX * 2);
    size_t told = 0;
    for (size_t i = 0; i < found->count && told < FAILED_MAX; i++) {
        const struct check *check = &found->checks[i];
        if (check->optional || check->status == VERIFY_PASSED || check->status == VERIFY_SKIPPED)
            continue;
        buf_addf(&text, "%s%s: %s%s%.1500s", told > 0 ? "\n\n" : "", check->name,
                 verify_status_name(check->status), check->summary != NULL ? "\n" : "",
                 check->summary != NULL ? check->summary : "");
        told++;
    }
    return arena_strdup(hauling->step->arena, buf_text(&text));
}

/* A check that could not be run says nothing about the pull requests. */
static const struct check *find_errored(const struct verification *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->checks[i].status == VERIFY_ERRORED && !found->checks[i].optional)
            return &found->checks[i];
    }
    return NULL;
}

static enum rc verify_once(struct hauling *hauling, struct verification *found, bool *ret_failed,
                           struct err *err)
{
    struct step *step = hauling->step;
    enum rc rc = verification_run(step, "train", found, err);
    if (rc != RC_OK)
        return rc;
    const struct check *errored = find_errored(found);
    if (errored != NULL) {
        rc = err_set(err, RC_IO, "CHECK_ERRORED", "The check %.60s could not be run: %.300s",
                     errored->name, errored->line != NULL ? errored->line : "");
        return step_fail(step, rc, err, (struct port_failure){.code = CODE, .retryable = true});
    }
    *ret_failed = text_same(verification_verdict(found), "failed");
    return RC_OK;
}

/* The files in which the position differs from the target; NULL: they are too many. */
static enum rc changed_paths(struct hauling *hauling, const char *commit,
                             const char *const **ret_paths, struct err *err)
{
    struct arena *arena = hauling->step->arena;
    struct git git = step_git(hauling->step);
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, PATHS_BYTES_MAX);
    struct git_call ask = {.git_dir = hauling->step->mirror,
                           .args = GIT_ARGS("diff", "--name-only", "-z", "--no-renames",
                                            hauling->landing.base, commit),
                           .out = &out};
    const char **paths = arena_array(arena, PATHS_MAX + 1, sizeof *paths);
    size_t count = 0;
    *ret_paths = NULL;
    enum rc rc = git_run(&git, &ask, err);
    if (rc == RC_TOO_LARGE || (rc == RC_OK && out.overflow)) {
        err_clear(err);
        return RC_OK;
    }
    for (const char *at = out.data; rc == RC_OK && at < out.data + out.len; at += strlen(at) + 1) {
        if (count == PATHS_MAX)
            return RC_OK;
        paths[count++] = arena_strdup(arena, at);
    }
    if (rc == RC_OK)
        *ret_paths = paths;
    return rc;
}

/* Why a check failed that did not fail because of the pull requests; NULL: it may have. */
static const char *excuse_of(struct hauling *hauling, const struct check *check,
                             const char *const *paths)
{
    const struct check_view view = {
        .name = check->name,
        .state = check->status == VERIFY_TIMED_OUT ? CHECK_TIMED_OUT : CHECK_FAILED,
    };
    const struct ci_evidence evidence = {.check = &view, .log = check->log, .paths = paths};
    const struct ci_failure failure = ci_failure_classify(&evidence, hauling->step->arena);
    bool excused = failure.cause == CI_FLAKY || failure.cause == CI_INFRASTRUCTURE;
    return excused ? failure.why : NULL;
}

/* What speaks for another try, of all that failed; NULL: one failed for a reason. */
static enum rc find_excuse(struct hauling *hauling, const struct verification *found,
                           const char *commit, const char **ret_excuse, struct err *err)
{
    struct arena *arena = hauling->step->arena;
    const char *const *paths = NULL, *text = NULL;
    *ret_excuse = NULL;
    enum rc rc = changed_paths(hauling, commit, &paths, err);
    if (rc != RC_OK || paths == NULL)
        return rc;
    for (size_t i = 0; i < found->count; i++) {
        const struct check *check = &found->checks[i];
        if (check->optional || check->status == VERIFY_PASSED || check->status == VERIFY_SKIPPED)
            continue;
        const char *why = excuse_of(hauling, check, paths);
        if (why == NULL)
            return RC_OK;
        text = arena_printf(arena, "%s%s%s: %s", text != NULL ? text : "", text != NULL ? "; " : "",
                            check->name, why);
    }
    *ret_excuse = text;
    return RC_OK;
}

static enum rc verify_position(struct hauling *hauling, struct haul_outcome *outcome,
                               struct err *err)
{
    struct step *step = hauling->step;
    struct verification *found = arena_alloc(step->arena, sizeof *found);
    const char *excuse = NULL;
    bool failed = false;
    step->input.base_commit = outcome->commit;
    enum rc rc = verify_once(hauling, found, &failed, err);
    if (rc == RC_OK && failed)
        rc = find_excuse(hauling, found, outcome->commit, &excuse, err);
    if (rc == RC_OK && excuse != NULL) {
        outcome->rerun = true;
        rc = verify_once(hauling, found, &failed, err);
    }
    if (rc != RC_OK)
        return rc;
    outcome->name = failed ? "failed" : "passed";
    if (failed)
        outcome->detail = describe(hauling, found);
    else if (outcome->rerun)
        outcome->detail = arena_printf(step->arena, "It failed and passed when it ran again: %s",
                                       excuse);
    return RC_OK;
}

static enum rc test_position(struct hauling *hauling, struct err *err)
{
    size_t last = hauling->landing.count - 1;
    if (hauling->merged < hauling->landing.count) {
        haul_report(hauling, &(struct haul_outcome){.name = "conflict",
                                                    .at = hauling->merged,
                                                    .detail = hauling->clash.text});
        return RC_OK;
    }
    struct haul_outcome outcome = {
        .name = "passed", .at = last, .tree = hauling->positions[last].tree, .reused = true};
    enum rc rc = haul_goal(hauling, &outcome.commit, err);
    if (rc == RC_OK && !text_same(outcome.tree, hauling->trees[last])) {
        outcome.reused = false;
        rc = verify_position(hauling, &outcome, err);
    }
    if (rc == RC_OK)
        haul_report(hauling, &outcome);
    return rc;
}

/* ---- the step ---- */

static enum rc haul(struct hauling *hauling, struct err *err)
{
    const char *act = js_get_str(hauling->step->input.payload, "act", "");
    bool gone = false;
    if (text_same(act, "hand"))
        return haul_hand(hauling, err);
    enum rc rc = haul_fetch(hauling, err);
    if (rc == RC_OK && hauling->landing.base == NULL)
        hauling->landing.base = hauling->tip;
    if (rc == RC_OK && !has_commit(hauling, hauling->landing.base))
        return haul_moved(hauling, err); /* The branch was pushed by force. */
    if (rc == RC_OK && text_same(act, "land"))
        return haul_land(hauling, err);
    if (rc == RC_OK)
        rc = check_cars(hauling, &gone, err);
    if (rc != RC_OK || gone)
        return rc;
    rc = merge_cars(hauling, err);
    if (rc != RC_OK)
        return rc;
    bool merged = false; /* The first of a round may be there already. */
    for (size_t i = 0; rc == RC_OK && !merged && i < hauling->landing.count; i++)
        rc = haul_is_ancestor(hauling, hauling->cars[i].head, hauling->landing.base, &merged, err);
    if (rc != RC_OK)
        return rc;
    return merged || !target_fits(hauling) ? haul_moved(hauling, err) : test_position(hauling, err);
}

enum rc step_train(struct step *step, struct err *err)
{
    struct hauling *hauling = arena_alloc(step->arena, sizeof *hauling);
    *hauling = (struct hauling){.step = step};
    enum rc rc = repo_step_open(step, err);
    if (rc != RC_OK)
        return rc;
    take_place(step, step_row(STEP_TRAIN));
    rc = read_payload(hauling, err);
    if (rc == RC_OK)
        rc = haul(hauling, err);
    forge_call_release(&hauling->call);
    worktree_drop(step, step->run_dir);
    return rc;
}
