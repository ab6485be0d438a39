#include "work/tree/rescue.h"
#include "base/fd.h"
#include "base/log.h"
#include "core/event_types.h"
#include "core/text/redact.h"
#include "work/job/step_secrets.h"
#include "work/tree/publication.h"
#include "work/tree/retention.h"
#include "work/tree/sweep.h"
#include "work/tree/worktree.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEPT_TRIES_MAX = 100,
    DATA_BYTES_MAX = 4096,
    STRAY_MS = 10 * 60 * 1000,
};

/* ---- a snapshot ---- */

static void report(struct step *step, const struct snapshot *snapshot, const char *reason)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_BYTES_MAX);
    snapshot_write(&data, step, snapshot, reason);
    step_last_word(step, EV_SNAPSHOT_TAKEN, buf_str(&data));
    LOG(LOG_INFO, "an agent's unpublished work is in a snapshot",
        LOG_STR("runId", step->input.run_id.text), LOG_STR("ref", snapshot->ref),
        LOG_STR("repository", mirror_snapshots(step)), LOG_STR("reason", reason));
}

/* A repository within the tree is in no snapshot: see treegit.h. */
static enum rc check_whole(const char *nested, struct err *err)
{
    if (nested[0] == '\0')
        return RC_OK;
    return err_set(err, RC_CONFLICT, "NESTED_REPOSITORY",
                   "the tree has a repository inside it, which no snapshot can hold: %.*s",
                   (int)strcspn(nested, "\n"), nested);
}

struct saving {
    const char *reason;
    bool again; /* Reports an existing one: its worker may have been killed before it could. */
    bool whole; /* The tree is removed: nothing may be left out. */
};

static enum rc save(struct step *step, const struct saving *saving, struct snapshot *ret_last,
                    struct err *err)
{
    struct work_mark work = {0};
    struct treegit treegit = {0};
    struct snapshot_news news = {.nested = ""};
    enum rc rc = worktree_read_work(step, &work, err);
    if (rc == RC_OK)
        rc = snapshot_find_last(step, work.base, ret_last, err);
    if (rc == RC_OK) {
        treegit = snapshot_treegit(step, "rescue.git", work.base);
        rc = snapshot_open(&treegit, ret_last, err);
    }
    if (rc == RC_OK)
        rc = snapshot_take(&treegit, ret_last, &news, err);
    if (news.fresh || (rc == RC_OK && saving->again && ret_last->ref[0]))
        report(step, ret_last, saving->reason);
    if (rc == RC_OK && saving->whole)
        rc = check_whole(news.nested, err);
    treegit_close(&treegit);
    return rc;
}

enum rc rescue_snapshot(struct step *step, const char *reason, struct snapshot *ret_last,
                        struct err *err)
{
    return save(step, &(struct saving){.reason = reason}, ret_last, err);
}

void rescue_publish(struct step *step, const struct snapshot *last)
{
    const char *ref = NULL;
    bool fresh = false;
    struct err err = {0};
    enum rc rc = snapshot_push(step, last, &ref, &fresh, &err);
    if (rc == RC_OK && ref != NULL)
        rc = publication_confirm(step, last, ref, &err);
    if (rc != RC_OK)
        LOG(LOG_WARN, "a snapshot stays on this machine: the origin does not have it",
            LOG_STR("runId", step->input.run_id.text), LOG_STR("ref", last->ref),
            LOG_STR("error", redact_dup(step_secrets(step), err.text, step->arena)));
    if (rc != RC_OK || !fresh)
        return;
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, DATA_BYTES_MAX);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "ref", last->ref);
    jw_kstr(&jw, "originRef", ref);
    jw_kstr(&jw, "commit", last->commit);
    jw_end(&jw, '}');
    step_last_word(step, EV_SNAPSHOT_PUBLISHED, buf_str(&data));
}

/* ---- a tree that cannot be saved ---- */

static void report_kept(struct step *step, const struct err *why)
{
    LOG(LOG_ERROR, "an agent's work could not be saved: its tree is kept",
        LOG_STR("runId", step->input.run_id.text), LOG_STR("path", step->kept_tree),
        LOG_STR("error", why->text));
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, STEP_RESULT_MAX / 2);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "keptAt", step->kept_tree);
    jw_kstr(&jw, "worker", step->site->worker);
    step_write_text(&jw, "error", redact_dup(step_secrets(step), why->text, step->arena),
                    DATA_BYTES_MAX / 2);
    jw_end(&jw, '}');
    step_last_word(step, EV_SNAPSHOT_FAILED, buf_str(&data));
}

/* To a place of its own; a run may leave more than one. */
static enum rc keep(struct step *step, const struct err *why, struct err *err)
{
    const char *kept = arena_printf(step->arena, "%s/kept", step->site->work_dir);
    const char *tree = worktree_path(step, "tree");
    const char *run_id = step->input.run_id.text;
    enum rc rc = dir_make_durable(kept, 0700, err);
    if (rc != RC_OK)
        return rc;
    sweep_touch(tree); /* Its age, for lists: retention.h. */
    retention_note(step->site->work_dir, &step->input.run_id, step->input.repository);
    for (int i = 1; i <= KEPT_TRIES_MAX; i++) {
        const char *path = i == 1 ? arena_printf(step->arena, "%s/%s", kept, run_id)
                                  : arena_printf(step->arena, "%s/%s.%d", kept, run_id, i);
        if (file_exists(path))
            continue;
        if (rename(tree, path) != 0)
            break;
        step->kept_tree = path;
        rc = dir_sync_file_system(kept,
                                  err); /* Nothing of it is synced, and nothing else has it. */
        report_kept(step, why);
        return rc;
    }
    return err_set(err, RC_IO, "IO_ERROR", "cannot move %.300s to %.300s: %s", tree, kept,
                   strerror(errno));
}

static enum rc save_or_keep(struct step *step, const struct saving *saving,
                            struct snapshot *ret_last, struct err *err)
{
    struct err why = {0};
    enum rc rc = save(step, saving, ret_last, &why);
    if (rc == RC_OK)
        return RC_OK;
    if (rc != RC_CONFLICT) /* Then there is a snapshot of the rest. */
        *ret_last = (struct snapshot){0};
    if (rc == RC_CANCELLED) /* It stays as it is, for the next step of the run. */
        return err_set(err, rc, "CANCELLED", "stopped while saving an agent's work");
    return keep(step, &why, err);
}

enum rc rescue_tree(struct step *step, struct err *err)
{
    struct snapshot last;
    const struct saving saving = {.reason = "recovered", .again = true, .whole = true};
    return worktree_is_unsaved(step) ? save_or_keep(step, &saving, &last, err) : RC_OK;
}

enum rc rescue_or_keep(struct step *step, const char *reason, struct snapshot *ret_last,
                       struct err *err)
{
    return save_or_keep(step, &(struct saving){.reason = reason, .whole = true}, ret_last, err);
}

/* ---- housekeeping ---- */

bool rescue_stray(const struct step_site *site, const struct id *run_id, struct stop *stop)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct step step = {
        .site = site,
        .input = {.run_id = *run_id, .attempt = 1},
        .arena = &arena,
        .stop = stop,
        .deadline_us = clock_mono_us() + STRAY_MS * US_PER_MS,
        .run_dir = arena_printf(&arena, "%s/runs/%s", site->work_dir, run_id->text),
    };
    struct work_mark work = {0};
    struct err err = {0};
    if (!worktree_is_unsaved(&step))
        return true;
    enum rc rc = worktree_read_work(&step, &work, &err);
    step.input.repository = work.repository;
    step.mirror = arena_printf(&arena, "%s/mirrors/%s", site->work_dir,
                               work.mirror != NULL ? work.mirror : "-");
    struct snapshot last;
    rc = rc == RC_OK ? rescue_or_keep(&step, "swept", &last, &err) : keep(&step, &err, &err);
    if (rc != RC_OK)
        LOG(LOG_WARN, "a run's directory stays: its work could not be saved",
            LOG_STR("runId", run_id->text), LOG_STR("error", err.text));
    return rc == RC_OK;
}

int rescue_count_kept(const char *work_dir)
{
    CLEANUP(arena_release) struct arena arena = {0};
    DIR *dir = opendir(arena_printf(&arena, "%s/kept", work_dir));
    if (dir == NULL)
        return 0;
    int count = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}
