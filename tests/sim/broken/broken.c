/*
 * broken.c - the simulator with one invariant broken on purpose, to see that it is caught.
 *
 * Linked in front of production functions (ld --wrap); SIM_BREAK says which one lies:
 *
 *   fencing      reports of any epoch are taken
 *   owner        reports about the lease of another owner are taken
 *   limits       everything may start at once
 *   lost_job     now and then a job is not stored
 *   lost_event   now and then an event is not stored
 *   lost_timer   now and then a lease that ran out is not noticed, for good
 *   late_timer   what is due is looked at once in many times
 *   lost_attempt now and then an attempt that failed is not written down
 *   order        now and then the youngest of a key comes forward, not the oldest
 *   two_heads    now and then a job does not see that others of its key are before it
 *   concurrency  a queue never has jobs out
 *   rate         a queue's rate is never used up
 *   length       nothing ever waits in a queue
 *   parked       no account is ever seen to be parked
 *   homes        no account is ever seen to have a run
 *   undo         a command of a rolled-back transaction keeps the answer that was made for it
 *   turn         a node that has lost its turn at the timers goes on
 *   done_early   an issue is done in any state
 *   old_branch   no branch of an issue is ever abandoned
 *   smoke        smoke failures of an issue are not counted
 *   stranger     every agent is taken for the one that an issue is assigned to
 *   busy         no agent has any issue, for the Conductor
 *   takeover     the timers stay with their first holder, whatever becomes of it
 */
#include "control/commit/command.h"
#include "control/run/account_view.h"
#include "core/conductor/choose.h"
#include "core/queue/bucket.h"
#include "core/queue/job.h"
#include "core/run/admission.h"
#include "store/accounts.h"
#include "store/events.h"
#include "store/jobs.h"
#include "store/leases.h"
#include "store/queues.h"
#include <stdlib.h>
#include <string.h>

enum rc __real_job_step(const struct job_life *job, const struct job_input *in,
                        struct job_life *ret_next);
enum rc __wrap_job_step(const struct job_life *job, const struct job_input *in,
                        struct job_life *ret_next);
enum admission_check __real_admission_start(const struct start_facts *facts);
enum admission_check __wrap_admission_start(const struct start_facts *facts);
enum rc __real_jobs_insert(struct db *db, const struct job_row *row, struct err *err);
enum rc __wrap_jobs_insert(struct db *db, const struct job_row *row, struct err *err);
enum rc __real_events_append(struct db *db, const struct event *event, struct err *err);
enum rc __wrap_events_append(struct db *db, const struct event *event, struct err *err);
enum rc __real_attempts_insert(struct db *db, const struct attempt_row *row, struct err *err);
enum rc __wrap_attempts_insert(struct db *db, const struct attempt_row *row, struct err *err);
enum rc __real_job_keys_enter(struct db *db, const char *queue, const char *key,
                              const struct id *job_id, bool *ret_head, struct err *err);
enum rc __wrap_job_keys_enter(struct db *db, const char *queue, const char *key,
                              const struct id *job_id, bool *ret_head, struct err *err);
enum rc __real_job_keys_leave(struct db *db, const char *queue, const char *key,
                              struct id *ret_next, struct err *err);
enum rc __wrap_job_keys_leave(struct db *db, const char *queue, const char *key,
                              struct id *ret_next, struct err *err);
enum rc __real_queues_leased(struct db *db, const char *name, int64_t *ret_count, struct err *err);
enum rc __wrap_queues_leased(struct db *db, const char *name, int64_t *ret_count, struct err *err);
enum rc __real_queues_waiting(struct db *db, const char *name, int64_t limit, int64_t *ret_count,
                              struct err *err);
enum rc __wrap_queues_waiting(struct db *db, const char *name, int64_t limit, int64_t *ret_count,
                              struct err *err);
int64_t __real_bucket_take(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                           int64_t want);
int64_t __wrap_bucket_take(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                           int64_t want);
enum rc __real_accounts_state_list(struct db *db, int64_t now_us, int64_t limit,
                                   struct arena *arena, struct account_row **ret_rows,
                                   size_t *ret_count, struct err *err);
enum rc __wrap_accounts_state_list(struct db *db, int64_t now_us, int64_t limit,
                                   struct arena *arena, struct account_row **ret_rows,
                                   size_t *ret_count, struct err *err);
enum rc __real_account_view_runs(struct context *ctx, const char *name, int64_t *ret_runs);
enum rc __wrap_account_view_runs(struct context *ctx, const char *name, int64_t *ret_runs);
enum rc __real_accounts_runs_but(struct db *db, const char *name, const struct id *run_id,
                                 int64_t *ret_runs, struct err *err);
enum rc __wrap_accounts_runs_but(struct db *db, const char *name, const struct id *run_id,
                                 int64_t *ret_runs, struct err *err);
enum rc __real_jobs_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                        struct job_row **ret_rows, size_t *ret_count, struct err *err);
enum rc __wrap_jobs_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                        struct job_row **ret_rows, size_t *ret_count, struct err *err);
void __real_command_undo(struct command *command);
void __wrap_command_undo(struct command *command);

enum rc __real_issue_step(const struct issue_life *issue, const struct issue_event *event,
                          const struct issue_facts *facts, struct arena *arena,
                          struct issue_life *ret_next, enum issue_rule *ret_rule);
enum rc __wrap_issue_step(const struct issue_life *issue, const struct issue_event *event,
                          const struct issue_facts *facts, struct arena *arena,
                          struct issue_life *ret_next, enum issue_rule *ret_rule);
int __real_choose_agent(const struct issue_life *issue, bool may_submit,
                        const struct conductor_agent *agents, size_t count);
int __wrap_choose_agent(const struct issue_life *issue, bool may_submit,
                        const struct conductor_agent *agents, size_t count);
enum rc __real_leases_enter(struct db *db, const struct lease_fence *fence,
                            struct lease_proof *ret_proof, struct err *err);
enum rc __wrap_leases_enter(struct db *db, const struct lease_fence *fence,
                            struct lease_proof *ret_proof, struct err *err);
enum rc __real_leases_claim(struct db *db, const struct lease_claim *claim, struct arena *arena,
                            int64_t *ret_epoch, struct lease_row *ret_before, struct err *err);
enum rc __wrap_leases_claim(struct db *db, const struct lease_claim *claim, struct arena *arena,
                            int64_t *ret_epoch, struct lease_row *ret_before, struct err *err);

enum { NOW_AND_THEN = 500, QUITE_OFTEN = 20 };

static bool breaks(const char *what)
{
    const char *wish = getenv("SIM_BREAK");
    return wish != NULL && strcmp(wish, what) == 0;
}

static bool now_and_then(void)
{
    static int calls;
    return ++calls % NOW_AND_THEN == 0;
}

static bool quite_often(void)
{
    static int calls;
    return ++calls % QUITE_OFTEN == 0;
}

enum rc __wrap_job_step(const struct job_life *job, const struct job_input *in,
                        struct job_life *ret_next)
{
    struct job_input lie = *in;
    if (breaks("fencing") && job->state == JOB_LEASED)
        lie.epoch = job->epoch;
    if (breaks("owner") && job->state == JOB_LEASED)
        lie.owner = job->owner;
    if (breaks("lost_timer") && in->event == JOB_EV_EXPIRE && now_and_then()) {
        *ret_next = *job;
        ret_next->due_us = INT64_MAX / 2;
        return RC_OK;
    }
    return __real_job_step(job, &lie, ret_next);
}

enum rc __wrap_jobs_due(struct db *db, const struct due_ask *ask, struct arena *arena,
                        struct job_row **ret_rows, size_t *ret_count, struct err *err)
{
    enum rc rc = __real_jobs_due(db, ask, arena, ret_rows, ret_count, err);
    if (rc == RC_OK && breaks("late_timer") && !quite_often())
        *ret_count = 0;
    return rc;
}

/* Without an account a run cannot start at all. */
enum admission_check __wrap_admission_start(const struct start_facts *facts)
{
    static const enum admission_check kept[] = {CHECK_ACCOUNT, CHECK_QUOTA, CHECK_REPORTED_QUOTA};
    if (!breaks("limits"))
        return __real_admission_start(facts);
    struct start_facts rest = {0};
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        rest.of[kept[i]] = facts->of[kept[i]];
    return __real_admission_start(&rest);
}

enum rc __wrap_jobs_insert(struct db *db, const struct job_row *row, struct err *err)
{
    return breaks("lost_job") && now_and_then() ? RC_OK : __real_jobs_insert(db, row, err);
}

enum rc __wrap_events_append(struct db *db, const struct event *event, struct err *err)
{
    if (breaks("lost_event") && now_and_then())
        return RC_OK;
    return __real_events_append(db, event, err);
}

enum rc __wrap_attempts_insert(struct db *db, const struct attempt_row *row, struct err *err)
{
    if (breaks("lost_attempt") && quite_often())
        return RC_OK;
    return __real_attempts_insert(db, row, err);
}

enum rc __wrap_job_keys_enter(struct db *db, const char *queue, const char *key,
                              const struct id *job_id, bool *ret_head, struct err *err)
{
    enum rc rc = __real_job_keys_enter(db, queue, key, job_id, ret_head, err);
    if (breaks("two_heads") && quite_often())
        *ret_head = true;
    return rc;
}

enum rc __wrap_job_keys_leave(struct db *db, const char *queue, const char *key,
                              struct id *ret_next, struct err *err)
{
    enum rc rc = __real_job_keys_leave(db, queue, key, ret_next, err);
    if (rc != RC_OK || id_is_none(ret_next) || !breaks("order") || !quite_often())
        return rc;
    struct arena arena = {0};
    struct job_filter filter = {.queue = queue, .state = JOB_BLOCKED, .limit = 200};
    struct job_row *rows;
    size_t count;
    rc = jobs_list(db, &filter, &arena, &rows, &count, err);
    for (size_t i = count; rc == RC_OK && i-- > 0;)
        if (strcmp(rows[i].ordering_key, key) == 0)
            *ret_next = rows[i].id;
    arena_release(&arena);
    return rc;
}

enum rc __wrap_queues_leased(struct db *db, const char *name, int64_t *ret_count, struct err *err)
{
    enum rc rc = __real_queues_leased(db, name, ret_count, err);
    if (breaks("concurrency"))
        *ret_count = 0;
    return rc;
}

enum rc __wrap_queues_waiting(struct db *db, const char *name, int64_t limit, int64_t *ret_count,
                              struct err *err)
{
    enum rc rc = __real_queues_waiting(db, name, limit, ret_count, err);
    if (breaks("length"))
        *ret_count = 0;
    return rc;
}

int64_t __wrap_bucket_take(const struct bucket_rule *rule, struct bucket *bucket, int64_t now_us,
                           int64_t want)
{
    return breaks("rate") ? want : __real_bucket_take(rule, bucket, now_us, want);
}

enum rc __wrap_accounts_state_list(struct db *db, int64_t now_us, int64_t limit,
                                   struct arena *arena, struct account_row **ret_rows,
                                   size_t *ret_count, struct err *err)
{
    enum rc rc = __real_accounts_state_list(db, now_us, limit, arena, ret_rows, ret_count, err);
    if (breaks("parked"))
        *ret_count = 0;
    return rc;
}

enum rc __wrap_account_view_runs(struct context *ctx, const char *name, int64_t *ret_runs)
{
    enum rc rc = __real_account_view_runs(ctx, name, ret_runs);
    if (breaks("homes"))
        *ret_runs = 0;
    return rc;
}

enum rc __wrap_accounts_runs_but(struct db *db, const char *name, const struct id *run_id,
                                 int64_t *ret_runs, struct err *err)
{
    enum rc rc = __real_accounts_runs_but(db, name, run_id, ret_runs, err);
    if (breaks("homes"))
        *ret_runs = 0;
    return rc;
}

void __wrap_command_undo(struct command *command)
{
    if (breaks("undo"))
        command_keep(command);
    else
        __real_command_undo(command);
}

enum rc __wrap_leases_enter(struct db *db, const struct lease_fence *fence,
                            struct lease_proof *ret_proof, struct err *err)
{
    if (!breaks("turn"))
        return __real_leases_enter(db, fence, ret_proof, err);
    *ret_proof = (struct lease_proof){.db = db};
    return RC_OK;
}

enum rc __wrap_leases_claim(struct db *db, const struct lease_claim *claim, struct arena *arena,
                            int64_t *ret_epoch, struct lease_row *ret_before, struct err *err)
{
    static bool taken;
    bool timers = breaks("takeover") && strcmp(claim->name, LEASE_TIMERS) == 0;
    if (timers && taken)
        return err_set(err, RC_CONFLICT, "LEASE_HELD", "it stays where it is");
    enum rc rc = __real_leases_claim(db, claim, arena, ret_epoch, ret_before, err);
    taken |= timers && rc == RC_OK;
    return rc;
}

/* ---- issues ---- */

enum rc __wrap_issue_step(const struct issue_life *issue, const struct issue_event *event,
                          const struct issue_facts *facts, struct arena *arena,
                          struct issue_life *ret_next, enum issue_rule *ret_rule)
{
    struct issue_life lie = *issue;
    struct issue_event told = *event;
    if (breaks("done_early") && event->kind == ISSUE_EV_DONE && issue_has_agent(issue->stage)) {
        lie.stage = STAGE_VERIFIED;
        lie.merged = true;
        lie.gate_us = 0;
    }
    if (breaks("old_branch"))
        lie.abandoned = NULL;
    if (breaks("smoke"))
        lie.smoke_failures = 0;
    if (breaks("stranger") && issue_kind_is_of_agent(event->kind) && event->agent_id != NULL)
        told.agent_id = issue->life.assigned_to;
    return __real_issue_step(&lie, &told, facts, arena, ret_next, ret_rule);
}

int __wrap_choose_agent(const struct issue_life *issue, bool may_submit,
                        const struct conductor_agent *agents, size_t count)
{
    struct conductor_agent lie;
    for (size_t i = 0; breaks("busy") && i < count; i++) {
        lie = agents[i];
        lie.load = 0;
        if (__real_choose_agent(issue, may_submit, &lie, 1) == 0)
            return (int)i;
    }
    return __real_choose_agent(issue, may_submit, agents, count);
}
