/*
 * expiry_phases.c - see expiry_phases.h.
 *
 * Each call of a phase reads one page, and posts at most one command about it (two, when a mark is
 * moved behind it).  What a command has not handled is given to the next one, or read again.
 */
#include "control/watch/expiry_phases.h"
#include "base/log.h"
#include "core/event_types.h"
#include "store/artifact_uses.h"
#include "store/artifacts.h"
#include "store/expiry.h"
#include "store/expiry_rows.h"
#include "store/retention_sums.h"
#include <string.h>

enum {
    ROOTS_AT_ONCE = 64,   /* That are judged in one step. */
    LOG_PAGE = 500,       /* Events that are looked at in one step. */
    JOBS_PAGE = 500,      /* Jobs, the same. */
    ITEMS_MAX = LOG_PAGE, /* Of one command. */
    GOING_BUSY_MAX = 16,  /* Tasks of a command, while others come. */
    ROWS_BUSY_MAX = 400,
    ROWS_MAX = 4000,
    FAMILY_MAX = 2000,
    SPACE_BUSY_PAGES = 64, /* That are given back by one command. */
    SPACE_PAGES = 512,
    SPACE_KEPT_MIN = 256,
    SPACE_KEPT_SHARE = 50, /* Free pages that are kept, for what comes: a fiftieth. */
    SETTLED_TRIES = 600,   /* A minute, then the log is left to the next round. */
};
#define BUDGET_BUSY_US (3 * US_PER_MS)
#define BUDGET_US      (20 * US_PER_MS)
#define GRACE_US       US_PER_DAY /* A content that was put later may still get its row. */
#define SWEEP_US       US_PER_DAY
#define JOBS_AGAIN_US  (7 * US_PER_DAY)

/* ---- commands ---- */

static struct cmd_expire *begin(struct expiry_round *round, enum expire_what what)
{
    struct cmd_expire *cmd = cmd_expire_new();
    cmd->what = what;
    cmd->turn = round->turn;
    cmd->rules = round->rules;
    cmd->rows_max = round->busy ? ROWS_BUSY_MAX : ROWS_MAX;
    if (!round->untimed)
        cmd->budget_us = round->busy ? BUDGET_BUSY_US : BUDGET_US;
    return cmd;
}

static struct expire_item *items_of(struct cmd_expire *cmd, size_t count)
{
    struct expire_item *items = arena_array(&cmd->base.arena, count, sizeof *items);
    cmd->items = items;
    return items;
}

/* Frees the command; the caller has what it needs of its answer in *ret_answer. */
static enum rc post(struct expiry_round *round, struct cmd_expire *cmd,
                    struct cmd_expire *ret_answer, struct err *err)
{
    enum rc rc = round->call(round->ctx, &cmd->base);
    *ret_answer = *cmd;
    if (rc == RC_OK) {
        round->rows += cmd->rows;
        round->bytes += cmd->bytes;
        round->spent_us += cmd->spent_us;
    } else {
        *err = cmd->base.err;
    }
    command_free(&cmd->base);
    return rc;
}

/* ---- tasks ---- */

static int64_t before(const struct expiry_round *round, int64_t keep_us)
{
    return expiry_before(keep_us, round->now_us);
}

static enum rc judge_task(struct expiry_round *round, const struct id *task_id,
                          enum expiry_keep *ret_keep, struct err *err)
{
    struct expiry_task task = {0};
    bool unpublished = false;
    enum rc rc = expiry_facts(round->db, task_id, &task, err);
    if (rc != RC_OK)
        return rc;
    *ret_keep = expiry_judge_task(round->rules, &task, round->now_us);
    if (*ret_keep != EXPIRY_GOES ||
        expiry_since(&task) < before(round, round->rules->unpublished_us))
        return RC_OK;
    rc = expiry_unpublished(round->db, task_id, &round->arena, &unpublished, err);
    if (rc == RC_OK && unpublished)
        *ret_keep = EXPIRY_UNPUBLISHED;
    return rc;
}

/* The task and all that are below it. */
static enum rc judge_family(struct expiry_round *round, const struct id *root_id,
                            enum expiry_keep *ret_keep, struct err *err)
{
    struct id *ids;
    size_t count;
    enum rc rc = judge_task(round, root_id, ret_keep, err);
    if (rc != RC_OK || *ret_keep != EXPIRY_GOES)
        return rc;
    rc = expiry_family(round->db, root_id, FAMILY_MAX, &round->arena, &ids, &count, err);
    for (size_t i = 0; rc == RC_OK && *ret_keep == EXPIRY_GOES && i < count; i++)
        rc = judge_task(round, &ids[i], ret_keep, err);
    return rc;
}

static void note_kept(struct expiry_round *round, enum expiry_keep keep, const struct id *id)
{
    struct expiry_kept *kept = &round->kept[keep];
    if (kept->count++ == 0)
        kept->example = *id;
}

/* One that cannot be read is left, and counts as one that is at work. */
static enum rc choose_roots(struct expiry_round *round, const struct expiry_root *roots,
                            size_t count, struct err *err)
{
    int64_t before_us = before(round, round->rules->tasks_us);
    size_t most = round->busy ? GOING_BUSY_MAX : EXPIRY_GOING_MAX;
    for (size_t i = 0; i < count && round->going_count < most; i++) {
        enum expiry_keep keep = EXPIRY_YOUNG;
        enum rc rc = RC_OK;
        if (roots[i].ended_us > 0 && roots[i].ended_us < before_us)
            rc = judge_family(round, &roots[i].id, &keep, err);
        if (rc == RC_NOT_FOUND) /* Since it was listed. */
            keep = EXPIRY_YOUNG;
        else if (rc == RC_CORRUPT || rc == RC_TOO_LARGE)
            keep = EXPIRY_OPEN;
        else if (rc != RC_OK)
            return rc;
        /* What needs it may be among those that go: it is judged again after them. */
        if ((keep == EXPIRY_DEPENDENT || keep == EXPIRY_REPAIR) && round->going_count > 0)
            return RC_OK;
        if (keep == EXPIRY_GOES)
            round->going[round->going_count++] = roots[i].id;
        else if (expiry_waits(keep))
            note_kept(round, keep, &roots[i].id);
        round->before = roots[i].id;
    }
    return RC_OK;
}

/* Those that a command has not come to are given to the next. */
static enum rc expire_going(struct expiry_round *round, struct err *err)
{
    struct cmd_expire *cmd = begin(round, EXPIRE_TASKS), answer;
    struct expire_item *items = items_of(cmd, round->going_count);
    for (size_t i = 0; i < round->going_count; i++)
        items[i].id = round->going[i];
    cmd->count = round->going_count;
    cmd->before_us = before(round, round->rules->tasks_us);
    enum rc rc = post(round, cmd, &answer, err);
    if (rc != RC_OK)
        return rc;
    round->going_count -= answer.handled;
    memmove(round->going, round->going + answer.handled, round->going_count * sizeof *round->going);
    return RC_OK;
}

static enum rc do_tasks(struct expiry_round *round, bool *ret_done, struct err *err)
{
    struct expiry_root *roots;
    size_t count;
    int64_t before_us = before(round, round->rules->tasks_us);
    *ret_done = before_us == 0;
    if (*ret_done)
        return RC_OK;
    if (round->going_count > 0)
        return expire_going(round, err);
    if (id_is_none(&round->before))
        round->before = id_first_at(before_us);
    const struct id from = round->before;
    enum rc rc = expiry_roots(round->db, &from, ROOTS_AT_ONCE, &round->arena, &roots, &count, err);
    *ret_done = rc == RC_OK && count == 0;
    if (rc == RC_OK)
        rc = choose_roots(round, roots, count, err);
    return rc == RC_OK && round->going_count > 0 ? expire_going(round, err) : rc;
}

/* ---- how far the log may be cut ---- */

static enum rc do_limits(struct expiry_round *round, bool *ret_done, struct err *err)
{
    const char *reader = NULL;
    int64_t last = 0;
    enum rc rc = settled_last(round->db, &round->settled, err);
    *ret_done = rc == RC_OK || ++round->settled_tries >= SETTLED_TRIES;
    if (rc == RC_BUSY) { /* A transaction is open that may hold events. */
        round->wait_us = EXPIRY_SETTLE_US;
        round->settled_seq = 0;
        err_clear(err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = events_last_seq(round->db, &last, err);
    if (rc != RC_OK)
        return rc;
    /* The newest event is never deleted: numbers of new ones continue from it. */
    round->settled_seq = round->settled.after_seq < last ? round->settled.after_seq : last - 1;
    round->settled = (struct settled){0};
    rc = log_unread(round->db, &round->arena, &round->read_seq, &reader, err);
    if (rc == RC_NOT_FOUND) {
        round->read_seq = INT64_MAX;
        rc = RC_OK;
    }
    text_copy(round->reader, sizeof round->reader, reader != NULL ? reader : "");
    return rc;
}

/* Events up to here may go, of those that are kept for so long: what all have read, and what no
   reader gets any more since it is behind for too long. */
static enum rc through(struct expiry_round *round, int64_t keep_us, int64_t *ret_seq,
                       struct err *err)
{
    const struct expiry_rules *rules = round->rules;
    int64_t seq = round->read_seq, late_seq = 0;
    int64_t late_us = rules->unread_us > 0 ? before(round, keep_us + rules->unread_us) : 0;
    enum rc rc = late_us > 0 ? log_place_before(round->db, late_us, &late_seq, err) : RC_OK;
    if (late_seq > seq)
        seq = late_seq;
    *ret_seq = seq < round->settled_seq ? seq : round->settled_seq;
    return rc;
}

static enum rc do_events(struct expiry_round *round, bool *ret_done, struct err *err)
{
    struct expired_task *tasks;
    size_t count;
    int64_t through_seq = 0;
    enum rc rc = through(round, round->rules->tasks_us, &through_seq, err);
    if (rc == RC_OK)
        rc = expired_tasks_list(round->db, through_seq, ROOTS_AT_ONCE, &round->arena, &tasks,
                                &count, err);
    *ret_done = rc == RC_OK && count == 0;
    if (rc != RC_OK || count == 0)
        return rc;
    struct cmd_expire *cmd = begin(round, EXPIRE_EVENTS), answer;
    struct expire_item *items = items_of(cmd, count);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct expire_item){.id = tasks[i].task_id, .seq = tasks[i].last_seq};
    cmd->count = count;
    cmd->through_seq = through_seq;
    cmd->unread_seq = round->read_seq;
    return post(round, cmd, &answer, err);
}

/* ---- walks through the log ---- */

struct walk {
    const char *mark;
    enum expire_what what;
    int64_t keep_us;
};

static bool is_diagnostic(const struct log_entry *entry)
{
    const struct event_type *type = entry->own ? event_type_find(entry->type) : NULL;
    return type != NULL && type->volume == VOLUME_DIAGNOSTIC && !id_is_none(&entry->run_id);
}

/* Once for each run. */
static void add_run(struct cmd_expire *cmd, struct expire_item *items, const struct id *run_id)
{
    for (size_t i = 0; i < cmd->count; i++)
        if (id_same(&items[i].id, run_id))
            return;
    items[cmd->count++].id = *run_id;
}

/* Up to which event the page was looked through; the walk ends before the first that is young. */
static int64_t choose_events(const struct walk *walk, const struct log_entry *entries, size_t count,
                             struct cmd_expire *cmd)
{
    struct expire_item *items = items_of(cmd, ITEMS_MAX);
    int64_t seq = 0;
    for (size_t i = 0; i < count; i++) {
        const struct log_entry *entry = &entries[i];
        if (entry->time_us >= cmd->before_us || entry->seq > cmd->through_seq)
            break;
        seq = entry->seq;
        if (walk->what == EXPIRE_DIAGNOSTICS && is_diagnostic(entry))
            add_run(cmd, items, &entry->run_id);
        else if (walk->what == EXPIRE_LOG && !entry->of_task &&
                 expiry_event_may_go(entry->type, entry->about_issue))
            items[cmd->count++] = (struct expire_item){.seq = entry->seq,
                                                       .type = entry->own ? entry->type : NULL};
    }
    return seq;
}

/* The mark moves with the last command about a page: a page that was handled in part is read
   again, where it is shorter. */
static enum rc walk_log(struct expiry_round *round, const struct walk *walk, bool *ret_done,
                        struct err *err)
{
    struct log_entry *entries;
    size_t count = 0;
    int64_t after = 0, through_seq = 0, before_us = before(round, walk->keep_us);
    *ret_done = before_us == 0;
    if (*ret_done)
        return RC_OK;
    enum rc rc = through(round, walk->keep_us, &through_seq, err);
    if (rc == RC_OK)
        rc = retention_sums_get(round->db, walk->mark, &after, err);
    if (rc == RC_OK)
        rc = log_entries(round->db, after, LOG_PAGE, &round->arena, &entries, &count, err);
    if (rc != RC_OK)
        return rc;
    struct cmd_expire *cmd = begin(round, walk->what), answer;
    cmd->before_us = before_us;
    cmd->through_seq = through_seq;
    cmd->unread_seq = round->read_seq;
    int64_t seq = choose_events(walk, entries, count, cmd);
    *ret_done = seq == 0;
    if (seq == 0) {
        command_free(&cmd->base);
        return RC_OK;
    }
    const struct retention_sum mark = {.name = walk->mark, .value = seq};
    size_t wanted = cmd->count;
    bool whole = wanted == 0 || walk->what == EXPIRE_LOG; /* Deletes all of its items. */
    cmd->sums = &mark;
    cmd->sum_count = whole ? 1 : 0;
    rc = post(round, cmd, &answer, err);
    if (rc != RC_OK || whole || answer.handled < wanted)
        return rc;
    cmd = begin(round, EXPIRE_SUMS);
    cmd->sums = &mark;
    cmd->sum_count = 1;
    return post(round, cmd, &answer, err);
}

static enum rc do_log(struct expiry_round *round, bool *ret_done, struct err *err)
{
    const struct walk walk = {MARK_EVENTS_SEQ, EXPIRE_LOG, round->rules->events_us};
    return walk_log(round, &walk, ret_done, err);
}

static enum rc do_diagnostics(struct expiry_round *round, bool *ret_done, struct err *err)
{
    const struct walk walk = {MARK_DIAGNOSTICS, EXPIRE_DIAGNOSTICS, round->rules->diagnostics_us};
    return walk_log(round, &walk, ret_done, err);
}

/* ---- rows of no task ---- */

/* Jobs that were at work when the walk passed them are found by the next walk from the beginning,
   once a week. */
static enum rc do_jobs(struct expiry_round *round, bool *ret_done, struct err *err)
{
    int64_t before_us = before(round, round->rules->jobs_us);
    struct expiry_job *jobs;
    size_t count = 0;
    *ret_done = true;
    if (before_us == 0)
        return RC_OK;
    if (round->now_us - round->jobs_us >= JOBS_AGAIN_US) {
        round->jobs_seq = 0;
        round->jobs_us = round->now_us;
    }
    const struct expiry_job_page page = {round->jobs_seq, before_us, JOBS_PAGE};
    enum rc rc = expiry_jobs(round->db, &page, &round->arena, &jobs, &count, err);
    if (rc != RC_OK || count == 0)
        return rc;
    struct cmd_expire *cmd = begin(round, EXPIRE_JOBS), answer;
    struct expire_item *items = items_of(cmd, count);
    size_t looked = 0;
    for (; looked < count && jobs[looked].created_us < before_us; looked++)
        if (jobs[looked].goes)
            items[cmd->count++] = (struct expire_item){jobs[looked].id, jobs[looked].seq, NULL, ""};
    int64_t last = looked > 0 ? jobs[looked - 1].seq : 0;
    *ret_done = looked < count;
    if (cmd->count == 0) {
        command_free(&cmd->base);
        round->jobs_seq = looked > 0 ? last : round->jobs_seq;
        return RC_OK;
    }
    rc = post(round, cmd, &answer, err);
    if (rc == RC_OK && answer.handled == answer.count)
        round->jobs_seq = last;
    else
        *ret_done = false;
    return rc;
}

typedef enum rc find_ids(struct db *db, int64_t before_us, int64_t limit, struct arena *arena,
                         struct id **ret_ids, size_t *ret_count, struct err *err);

static enum rc expire_found(struct expiry_round *round, enum expire_what what, int64_t keep_us,
                            find_ids *find, bool *ret_done, struct err *err)
{
    int64_t before_us = before(round, keep_us);
    struct id *ids;
    size_t count = 0;
    enum rc rc = before_us == 0
                     ? RC_OK
                     : find(round->db, before_us, ROOTS_AT_ONCE, &round->arena, &ids, &count, err);
    *ret_done = rc == RC_OK && count == 0;
    if (rc != RC_OK || count == 0)
        return rc;
    struct cmd_expire *cmd = begin(round, what), answer;
    struct expire_item *items = items_of(cmd, count);
    for (size_t i = 0; i < count; i++)
        items[i].id = ids[i];
    cmd->count = count;
    cmd->before_us = before_us;
    return post(round, cmd, &answer, err);
}

static enum rc do_sagas(struct expiry_round *round, bool *ret_done, struct err *err)
{
    return expire_found(round, EXPIRE_SAGAS, round->rules->jobs_us, expiry_sagas, ret_done, err);
}

static enum rc do_batches(struct expiry_round *round, bool *ret_done, struct err *err)
{
    return expire_found(round, EXPIRE_BATCHES, round->rules->tasks_us, expiry_batches, ret_done,
                        err);
}

static enum rc do_letters(struct expiry_round *round, bool *ret_done, struct err *err)
{
    int64_t before_us = before(round, round->rules->dead_letters_us), count = 0;
    enum rc rc = before_us == 0 ? RC_OK : expiry_count_letters(round->db, before_us, &count, err);
    *ret_done = rc == RC_OK && count == 0;
    if (rc != RC_OK || count == 0)
        return rc;
    struct cmd_expire *cmd = begin(round, EXPIRE_LETTERS), answer;
    cmd->before_us = before_us;
    return post(round, cmd, &answer, err);
}

/* ---- contents ---- */

/* Once a day all contents are looked at: one whose row was never written is found so. */
static enum rc do_sweep(struct expiry_round *round, bool *ret_done, struct err *err)
{
    const struct artifact_source source = {round->store, round->db};
    struct artifact_name *names;
    size_t count = 0;
    int64_t swept_us = 0;
    enum rc rc = retention_sums_get(round->db, MARK_SWEEP_US, &swept_us, err);
    if (rc == RC_OK && round->swept[0] == '\0')
        round->sweeps = round->rules->tasks_us > 0 && round->now_us - swept_us >= SWEEP_US &&
                        (store_is_shared(round->store) || store_artifact_dir(round->store) != NULL);
    *ret_done = rc == RC_OK && !round->sweeps;
    if (rc != RC_OK || *ret_done)
        return rc;
    rc = artifact_names(&source, round->swept[0] ? round->swept : NULL, &round->arena, &names,
                        &count, err);
    struct cmd_expire *cmd = begin(round, EXPIRE_LOOSEN), answer;
    struct expire_item *items = items_of(cmd, ITEMS_MAX);
    for (size_t i = 0; rc == RC_OK && i < count && cmd->count < ITEMS_MAX; i++) {
        bool used = false;
        rc = artifact_is_used(round->db, names[i].sha256, &used, err);
        memcpy(round->swept, names[i].sha256, sizeof round->swept);
        if (rc == RC_OK && !used)
            memcpy(items[cmd->count++].sha256, names[i].sha256, sizeof names[i].sha256);
    }
    const struct retention_sum mark = {.name = MARK_SWEEP_US, .value = round->now_us};
    *ret_done = rc == RC_OK && count == 0;
    cmd->sums = &mark;
    cmd->sum_count = *ret_done ? 1 : 0;
    if (rc == RC_OK && (cmd->count > 0 || *ret_done))
        return post(round, cmd, &answer, err);
    command_free(&cmd->base);
    return rc;
}

static enum rc do_contents(struct expiry_round *round, bool *ret_done, struct err *err)
{
    struct loose_artifact *rows;
    size_t count = 0;
    enum rc rc = round->rules->tasks_us == 0
                     ? RC_OK
                     : loose_artifacts_list(round->db, round->loose, ROOTS_AT_ONCE, &round->arena,
                                            &rows, &count, err);
    *ret_done = rc == RC_OK && count == 0;
    if (rc != RC_OK || count == 0)
        return rc;
    struct cmd_expire *cmd = begin(round, EXPIRE_CONTENTS), answer;
    struct expire_item *items = items_of(cmd, count);
    for (size_t i = 0; i < count; i++)
        memcpy(items[i].sha256, rows[i].sha256, sizeof rows[i].sha256);
    cmd->count = count;
    cmd->before_us = before(round, GRACE_US);
    rc = post(round, cmd, &answer, err);
    if (rc == RC_OK && answer.handled > 0)
        memcpy(round->loose, rows[answer.handled - 1].sha256, sizeof round->loose);
    return rc;
}

/* ---- space ---- */

static enum rc do_space(struct expiry_round *round, bool *ret_done, struct err *err)
{
    struct db_space space = {0};
    *ret_done = db_is_shared(round->db);
    if (*ret_done)
        return RC_OK;
    enum rc rc = db_space(round->db, &space, err);
    int64_t kept = space.pages / SPACE_KEPT_SHARE;
    if (kept < SPACE_KEPT_MIN)
        kept = SPACE_KEPT_MIN;
    *ret_done = rc == RC_OK && (!space.gives_back || space.free_pages <= kept);
    if (rc != RC_OK || *ret_done)
        return rc;
    struct cmd_expire *cmd = begin(round, EXPIRE_SPACE), answer;
    int64_t more = space.free_pages - kept;
    cmd->rows_max = round->busy ? SPACE_BUSY_PAGES : SPACE_PAGES;
    if (more < cmd->rows_max)
        cmd->rows_max = more;
    rc = post(round, cmd, &answer, err);
    *ret_done = rc == RC_OK && answer.rows == 0;
    return rc;
}

/* ---- the end ---- */

static void log_round(const struct expiry_round *round, int64_t took_us)
{
    if (round->rows > 0)
        LOG(LOG_INFO, "retention: deleted what is past its time", LOG_INT("rows", round->rows),
            LOG_INT("bytesGivenBack", round->bytes), LOG_INT("tookMs", took_us / US_PER_MS));
    if (round->unread > 0)
        LOG(LOG_WARN,
            "retention: deleted events that a reader of the log has not read: it was behind for "
            "longer than retention.unreadDays",
            LOG_STR("reader", round->reader), LOG_INT("events", round->unread));
}

static enum rc count_unread(struct expiry_round *round, int64_t *ret_unread, struct err *err)
{
    return retention_sums_get(round->db, MARK_UNREAD, ret_unread, err);
}

static enum rc do_end(struct expiry_round *round, bool *ret_done, struct err *err)
{
    struct retention_sum sums[EXPIRY_KEEP_COUNT + 2];
    size_t count = 0;
    int64_t now_us = clock_now_us(&round->clock), unread = 0;
    enum rc rc = count_unread(round, &unread, err);
    if (rc != RC_OK)
        return rc;
    round->unread = unread - round->unread;
    sums[count++] = (struct retention_sum){.name = MARK_ROUND_US, .value = now_us};
    sums[count++] = (struct retention_sum){.name = MARK_ROUND_TOOK_US,
                                           .value = now_us - round->begun_us};
    for (int i = 0; i < EXPIRY_KEEP_COUNT; i++) {
        const struct expiry_kept *kept = &round->kept[i];
        if (!expiry_waits((enum expiry_keep)i))
            continue;
        sums[count++] = (struct retention_sum){
            .name = arena_printf(&round->arena, RETENTION_KEPT "%s",
                                 expiry_keep_name((enum expiry_keep)i)),
            .value = kept->count,
            .note = id_or_null(&kept->example),
        };
    }
    struct cmd_expire *cmd = begin(round, EXPIRE_SUMS), answer;
    cmd->sums = sums;
    cmd->sum_count = count;
    rc = post(round, cmd, &answer, err);
    *ret_done = rc == RC_OK;
    if (rc == RC_OK)
        log_round(round, now_us - round->begun_us);
    return rc;
}

static enum rc (*const phases[EXPIRY_PHASE_COUNT])(struct expiry_round *round, bool *ret_done,
                                                   struct err *err) = {
    [EXPIRY_PHASE_TASKS] = do_tasks,
    [EXPIRY_PHASE_LIMITS] = do_limits,
    [EXPIRY_PHASE_EVENTS] = do_events,
    [EXPIRY_PHASE_LOG] = do_log,
    [EXPIRY_PHASE_DIAGNOSTICS] = do_diagnostics,
    [EXPIRY_PHASE_JOBS] = do_jobs,
    [EXPIRY_PHASE_SAGAS] = do_sagas,
    [EXPIRY_PHASE_BATCHES] = do_batches,
    [EXPIRY_PHASE_LETTERS] = do_letters,
    [EXPIRY_PHASE_SWEEP] = do_sweep,
    [EXPIRY_PHASE_CONTENTS] = do_contents,
    [EXPIRY_PHASE_SPACE] = do_space,
    [EXPIRY_PHASE_END] = do_end,
};

enum rc expiry_phase_step(struct expiry_round *round, bool *ret_done, struct err *err)
{
    enum rc rc = RC_OK;
    if (round->phase == EXPIRY_PHASE_TASKS && id_is_none(&round->before))
        rc = count_unread(round, &round->unread, err);
    if (rc == RC_OK)
        rc = phases[round->phase](round, ret_done, err);
    arena_reset(&round->arena);
    return rc;
}
