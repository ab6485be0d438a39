/*
 * jobs_model.c - see jobs_model.h.
 *
 * Held after every transaction:
 *   - a job goes from state to state as the table has it, and is in one place: its row
 *   - its epoch grows by one at every claim, and with nothing else; its owner changes with it only
 *   - a lease that ends without success leaves one attempt, written with it, of the same epoch
 *   - a job is dead when, and only when, one of the reasons holds that it gives
 *   - a lease is not taken away before its time
 * and of every answer:
 *   - a job that was acknowledged is there
 *   - a job that is handed out is leased, under that epoch, and to that principal
 *   - no job is handed out twice under one epoch
 *   - a report that was taken ended the lease of its own epoch and owner, in the way it says
 *   - a report is refused only when its lease is over, or another's
 *   - a request is answered with the reply that is there, or timed out and has expired
 * and while nothing is wrong with the store, the server and its clock:
 *   - no lease, delay or time to live has been over for longer than SIM_LATE_US
 * What the rules of queues say is held in jobs_queue.c.
 */
#include "tests/sim/jobs_model.h"
#include "base/mem.h"
#include "control/queue/complete.h"
#include "control/queue/dead_letters.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/watch/doctor.h"
#include "tests/sim/jobs_queue.h"
#include "tests/sim/jobs_requests.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { QUEUES_MAX_HERE = 16, PAGE = 500 };

struct jobs_model {
    struct world *world;
    struct map jobs;
    struct queue_fact queues[QUEUES_MAX_HERE];
    size_t queue_count;
    int64_t tx; /* Transactions that were seen. */
    int64_t open;
    struct jobs_stats stats;
};

/* ---- what to say when it is broken ---- */

static void print_trace(const struct job_fact *job, const struct queue_fact *queue)
{
    fprintf(stderr, "\njob %s of %s (seq %" PRId64 ", priority %" PRId64 "), %" PRId64 " moves:\n",
            job->id.text, queue->name, job->seq, job->priority, job->moves);
    int64_t from = job->moves > SIM_TRACE ? job->moves - SIM_TRACE : 0;
    for (int64_t i = from; i < job->moves; i++) {
        const struct moment *moment = &job->trace[i % SIM_TRACE];
        fprintf(stderr, "  %14.6f  %-11s -> %-11s epoch %" PRId64 " attempt %" PRId64 " %s\n",
                (double)moment->at_us / 1e6, i == 0 ? "" : job_state_name(moment->from),
                job_state_name(moment->to), moment->epoch, moment->attempt,
                moment->outcome != NULL ? moment->outcome : "");
    }
}

static _Noreturn void broken(const struct jobs_model *model, const struct job_fact *job,
                             const char *what)
{
    print_trace(job, &model->queues[job->queue]);
    world_broken(model->world, "job %s of %s %s", job->id.text, model->queues[job->queue].name,
                 what);
}

static void must(const struct jobs_model *model, const struct job_fact *job, bool sound,
                 const char *otherwise)
{
    if (!sound)
        broken(model, job, otherwise);
}

/* ---- writes ---- */

static struct queue_fact *queue_of(struct jobs_model *model, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < model->queue_count; i++) {
        if (strcmp(model->queues[i].name, name) != 0)
            continue;
        *ret_index = i;
        return &model->queues[i];
    }
    world_broken(model->world, "nobody knows the queue %s", name);
}

static void note_move(struct jobs_model *model, struct job_fact *job, const struct sighting *seen,
                      const char *outcome)
{
    job->trace[job->moves++ % SIM_TRACE] = (struct moment){
        .at_us = seen->updated_us,
        .epoch = seen->life.epoch,
        .attempt = seen->life.attempt,
        .from = job->life.state,
        .to = seen->life.state,
        .outcome = outcome,
    };
    model->stats.transitions++;
}

static void take_insert(struct jobs_model *model, const struct sighting *seen)
{
    size_t index;
    struct queue_fact *queue = queue_of(model, seen->queue, &index);
    struct job_fact *job = map_at(&model->jobs, &seen->id);
    job->queue = index;
    must(model, job, job->moves == 0, "came twice");
    job->seq = seen->seq;
    job->rank = seen->rank;
    job->priority = seen->priority;
    job->created_us = seen->created_us;
    note_move(model, job, seen, NULL);
    must(model, job, seen->life.epoch == 0 && seen->life.attempt == 0, "came with a past");
    must(model, job,
         seen->life.state == JOB_QUEUED || seen->life.state == JOB_SCHEDULED ||
             seen->life.state == JOB_BLOCKED,
         "came in a state that no new job has");
    job->life = seen->life;
    model->open++;
    model->stats.jobs++;
    const char *wrong = queue_came(queue, job, seen);
    must(model, job, wrong == NULL, wrong);
}

static void take_delete(struct jobs_model *model, const struct sighting *seen)
{
    struct job_fact *job = map_at(&model->jobs, &seen->id);
    must(model, job, job->life.state == JOB_DEAD_LETTER, "was deleted and is not dead");
    queue_gone(&model->queues[job->queue], job);
    job->deleted = true;
    model->stats.deleted++;
}

static void take_attempt(struct jobs_model *model, const struct sighting *seen)
{
    struct job_fact *job = map_at(&model->jobs, &seen->id);
    must(model, job, job->life.state == JOB_LEASED, "has an attempt that ended without a lease");
    must(model, job, seen->life.epoch == job->life.epoch, "has an attempt of another epoch");
    must(model, job, seen->life.attempt == job->life.attempt + 1, "has attempts counted wrong");
    must(model, job, job->outcome == NULL, "has two attempts of one lease");
    static const char *const outcomes[] = {"failed", "lost", "released", "cancelled"};
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        if (strcmp(outcomes[i], seen->word) == 0)
            job->outcome = outcomes[i];
    job->attempts++;
}

#define TO(state) (1u << (state))
static const unsigned ways[JOB_STATE_COUNT] = {
    [JOB_SCHEDULED] = TO(JOB_SCHEDULED) | TO(JOB_QUEUED) | TO(JOB_DEAD_LETTER) | TO(JOB_CANCELLED),
    [JOB_BLOCKED] = TO(JOB_BLOCKED) | TO(JOB_SCHEDULED) | TO(JOB_QUEUED) | TO(JOB_DEAD_LETTER) |
                    TO(JOB_CANCELLED),
    [JOB_QUEUED] = TO(JOB_LEASED) | TO(JOB_DEAD_LETTER) | TO(JOB_CANCELLED),
    [JOB_LEASED] = TO(JOB_LEASED) | TO(JOB_QUEUED) | TO(JOB_SCHEDULED) | TO(JOB_SUCCEEDED) |
                   TO(JOB_DEAD_LETTER) | TO(JOB_CANCELLED),
    [JOB_DEAD_LETTER] = TO(JOB_QUEUED) | TO(JOB_BLOCKED) | TO(JOB_SCHEDULED),
};

/* How a lease ended, from the attempt that was written with it. */
static const char *end_of_lease(struct jobs_model *model, struct job_fact *job,
                                const struct sighting *seen)
{
    const char *outcome = job->outcome;
    job->outcome = NULL;
    if (seen->life.state == JOB_SUCCEEDED) {
        must(model, job, outcome == NULL, "succeeded and has an attempt that did not");
        outcome = "succeeded";
    }
    must(model, job, outcome != NULL, "lost its lease and no attempt tells of it");
    bool lost = strcmp(outcome, "lost") == 0;
    bool ended = strcmp(outcome, "failed") == 0 || strcmp(outcome, "succeeded") == 0;
    must(model, job, seen->life.attempt == job->life.attempt + ended, "has attempts counted wrong");
    must(model, job, seen->life.lost == job->life.lost + lost, "has lost leases counted wrong");
    if (lost)
        must(model, job,
             job->life.due_us <= seen->updated_us ||
                 strcmp(job->owner.text, principal_of_node(SIM_NODE).text) == 0,
             "lost its lease before its time");
    job->ends[job->end_count++ % SIM_ENDS] = (struct job_end){
        .epoch = job->life.epoch,
        .tx = model->tx,
        .owner = job->owner,
        .outcome = outcome,
        .state = seen->life.state,
        .reason = seen->life.dead_reason,
    };
    return outcome;
}

static bool has_reason(const struct job_fact *job, const struct sighting *seen, const char *outcome)
{
    const struct job_life *life = &seen->life;
    bool failed = outcome != NULL && strcmp(outcome, "failed") == 0;
    bool used_up = life->attempt == life->attempt_max;
    switch (life->dead_reason) {
    case DEAD_MAX_ATTEMPTS:
        return failed && used_up;
    case DEAD_NON_RETRYABLE:
    case DEAD_POLICY_BLOCKED:
        return failed;
    case DEAD_POISON:
        return outcome != NULL && strcmp(outcome, "lost") == 0 && life->lost == JOB_LOST_MAX;
    case DEAD_EXPIRED: /* Or it would be before its next attempt. */
        return life->expires_us > 0 && (failed || seen->updated_us >= life->expires_us) &&
               (failed || job->life.state != JOB_LEASED);
    default:
        return false;
    }
}

static void take_move(struct jobs_model *model, struct job_fact *job, const struct sighting *seen)
{
    enum job_state from = job->life.state, to = seen->life.state;
    const char *outcome = from == JOB_LEASED ? end_of_lease(model, job, seen) : NULL;
    note_move(model, job, seen, outcome);
    must(model, job, seen->life.epoch == job->life.epoch + (to == JOB_LEASED),
         "has an epoch that does not count its claims");
    if (to == JOB_DEAD_LETTER) {
        must(model, job, has_reason(job, seen, outcome), "is dead for a reason that is none");
        model->stats.by_reason[seen->life.dead_reason]++;
    } else if (to != JOB_SUCCEEDED) {
        must(model, job, seen->life.attempt < seen->life.attempt_max,
             "has used up its attempts and is not dead");
    }
    if (from == JOB_DEAD_LETTER) {
        must(model, job, seen->life.attempt == 0 && seen->life.lost == 0,
             "was replayed and its attempts are not");
        job->replayed = true;
        model->stats.replayed++;
        model->open++;
    } else if (from != JOB_LEASED) {
        must(model, job,
             seen->life.attempt == job->life.attempt && seen->life.lost == job->life.lost,
             "has attempts that nobody made");
    }
    if (from == JOB_SCHEDULED && to == JOB_QUEUED)
        must(model, job, job->life.due_us <= seen->updated_us, "was let out before it was due");
    job->rank = seen->rank;
    const char *wrong = queue_moved(&model->queues[job->queue], job, seen);
    must(model, job, wrong == NULL, wrong);
    model->open -= job_is_settled(to);
    model->stats.leases += to == JOB_LEASED;
}

static struct principal owner_of(const struct sighting *seen)
{
    struct principal owner = {""};
    if (seen->owner != NULL)
        text_copy(owner.text, sizeof owner.text, seen->owner);
    return owner;
}

static void take_update(struct jobs_model *model, const struct sighting *seen)
{
    struct job_fact *job = map_find(&model->jobs, &seen->id);
    if (job == NULL)
        world_broken(model->world, "job %s was never there", seen->id.text);
    enum job_state from = job->life.state, to = seen->life.state;
    must(model, job, (ways[from] & TO(to)) != 0, "went a way that there is not");
    must(model, job,
         (from != to && to == JOB_LEASED) || strcmp(owner_of(seen).text, job->owner.text) == 0,
         "has another owner without a claim");
    must(model, job, from == to || !job_is_settled(from) || from == JOB_DEAD_LETTER,
         "went on after its end");
    if (from != to)
        take_move(model, job, seen);
    else
        must(model, job, seen->life.epoch == job->life.epoch, "changed its epoch where it was");
    job->life = seen->life;
    job->life.owner = NULL;
    job->owner = owner_of(seen);
}

/* All that is there belongs to one transaction, but for those that nobody was answered for. */
static void look(struct jobs_model *model)
{
    size_t count, index;
    const struct sighting *seen = witness_seen(&count);
    if (count == 0)
        return;
    model->tx++;
    for (size_t i = 0; i < count; i++) {
        if (seen[i].kind == SEEN_INSERT)
            take_insert(model, &seen[i]);
        else if (seen[i].kind == SEEN_UPDATE)
            take_update(model, &seen[i]);
        else if (seen[i].kind == SEEN_DELETE)
            take_delete(model, &seen[i]);
        else if (seen[i].kind == SEEN_ATTEMPT)
            take_attempt(model, &seen[i]);
        else
            queue_ruled(queue_of(model, seen[i].queue, &index), &seen[i]);
    }
    witness_forget();
    for (size_t i = 0; i < model->queue_count; i++) {
        const char *wrong = queue_committed(&model->queues[i]);
        if (wrong != NULL)
            world_broken(model->world, "queue %s %s", model->queues[i].name, wrong);
    }
}

/* ---- answers ---- */

static void check_enqueued(struct jobs_model *model, const struct cmd_enqueue *cmd)
{
    for (size_t i = 0; i < cmd->count; i++) {
        const struct enqueue_answer *answer = &cmd->answers[i];
        model->stats.turned_away += answer->dropped;
        model->stats.duplicates += answer->duplicate;
        model->stats.gathered += answer->batched;
        if (answer->dropped)
            continue;
        struct job_fact *job = map_find(&model->jobs, &answer->id);
        if (job == NULL)
            world_broken(model->world, "job %s was acknowledged and is not there", answer->id.text);
        must(model, job, !job->deleted || answer->duplicate, "was acknowledged and deleted");
        must(model, job, strcmp(model->queues[job->queue].name, cmd->jobs[i].queue) == 0,
             "went into another queue than it was sent to");
        job->gathered += answer->batched;
    }
}

static const struct job_end *find_end(const struct job_fact *job, int64_t epoch)
{
    int64_t from = job->end_count > SIM_ENDS ? job->end_count - SIM_ENDS : 0;
    for (int64_t i = job->end_count; i-- > from;)
        if (job->ends[i % SIM_ENDS].epoch == epoch)
            return &job->ends[i % SIM_ENDS];
    return NULL;
}

static bool is_foreign(const struct job_fact *job, const struct command *command,
                       const struct job_ref *ref)
{
    return job->life.epoch == ref->epoch && strcmp(job->owner.text, command->principal) != 0;
}

static bool holds(const struct job_fact *job, const struct command *command,
                  const struct job_ref *ref)
{
    return job->life.state == JOB_LEASED && job->life.epoch == ref->epoch &&
           !is_foreign(job, command, ref);
}

static void check_leased(struct jobs_model *model, const struct cmd_lease *cmd)
{
    for (size_t i = 0; i < cmd->job_count; i++) {
        struct job_fact *job = map_find(&model->jobs, &cmd->jobs[i].id);
        int64_t epoch = cmd->jobs[i].life.epoch;
        if (job == NULL)
            world_broken(model->world, "job %s was leased and is not there", cmd->jobs[i].id.text);
        must(model, job, job->life.state == JOB_LEASED && job->life.epoch == epoch,
             "was handed out under a lease that is not there");
        must(model, job, strcmp(job->owner.text, cmd->base.principal) == 0,
             "was leased and belongs to another");
        must(model, job, epoch > job->handed, "was handed out twice under one epoch");
        job->handed = epoch;
    }
}

/* What the lease of this report came to; NULL: the report was refused, and rightly so. */
static const struct job_end *check_report(struct jobs_model *model, const struct command *command,
                                          const struct job_ref *ref,
                                          const struct job_answer *answer, const char *outcome)
{
    struct job_fact *job = map_find(&model->jobs, &ref->id);
    if (job == NULL)
        world_broken(model->world, "job %s was leased and is not there", ref->id.text);
    if (!answer->ok) {
        must(model, job, !holds(job, command, ref), "has a lease whose report was refused");
        model->stats.stale++;
        model->stats.foreign += is_foreign(job, command, ref);
        return NULL;
    }
    const struct job_end *end = find_end(job, ref->epoch);
    must(model, job, end == NULL || strcmp(end->owner.text, command->principal) == 0,
         "took a report of another's lease");
    must(model, job, end != NULL && strcmp(end->outcome, outcome) == 0,
         "took a report of a lease that it did not end");
    return end;
}

static void check_failed(struct jobs_model *model, const struct command *command,
                         const struct job_failed *failed, const struct job_answer *answer)
{
    const struct job_end *end = check_report(model, command, &failed->ref, answer, "failed");
    if (end == NULL)
        return;
    struct job_fact *job = map_find(&model->jobs, &failed->ref.id);
    enum dead_reason reason = failed->policy       ? DEAD_POLICY_BLOCKED
                              : !failed->retryable ? DEAD_NON_RETRYABLE
                                                   : DEAD_NONE;
    bool tried_again = end->state == JOB_SCHEDULED || end->reason == DEAD_MAX_ATTEMPTS ||
                       end->reason == DEAD_EXPIRED;
    must(model, job, reason == DEAD_NONE ? tried_again : end->reason == reason,
         "took a failure for another than it was");
}

static void check_beat(struct jobs_model *model, const struct command *command,
                       const struct job_ref *ref, const struct job_answer *answer)
{
    struct job_fact *job = map_find(&model->jobs, &ref->id);
    bool held = holds(job, command, ref);
    const struct job_end *end = find_end(job, ref->epoch);
    if (answer->ok)
        must(model, job,
             held || (end != NULL && end->tx == model->tx &&
                      strcmp(end->owner.text, command->principal) == 0),
             "took a heartbeat of a lease that was over or another's");
    else
        must(model, job, !held, "has a lease whose heartbeat was refused");
}

static void check_dead(struct jobs_model *model, const struct cmd_dead *cmd, bool purge)
{
    for (size_t i = 0; !cmd->dry_run && i < cmd->answer_count; i++) {
        const struct job_fact *job = map_find(&model->jobs, &cmd->answers[i].id);
        if (cmd->answers[i].code == NULL)
            must(model, job, purge ? job->deleted : job->replayed,
                 "was replayed or purged and nothing tells of it");
    }
}

static void on_answered(void *who, const struct command *command)
{
    struct jobs_model *model = who;
    look(model);
    askers_check(model->world, command);
    if (command->rc != RC_OK)
        return;
    const char *name = command->ops->name;
    if (strcmp(name, "enqueue") == 0) {
        check_enqueued(model, (const struct cmd_enqueue *)command);
    } else if (strcmp(name, "lease") == 0) {
        check_leased(model, (const struct cmd_lease *)command);
    } else if (strcmp(name, "complete") == 0) {
        const struct cmd_complete *cmd = (const struct cmd_complete *)command;
        for (size_t i = 0; i < cmd->count; i++)
            (void)check_report(model, command, &cmd->jobs[i].ref, &cmd->answers[i], "succeeded");
    } else if (strcmp(name, "fail") == 0) {
        const struct cmd_fail *cmd = (const struct cmd_fail *)command;
        for (size_t i = 0; i < cmd->count; i++)
            check_failed(model, command, &cmd->jobs[i], &cmd->answers[i]);
    } else if (strcmp(name, "release") == 0) {
        const struct cmd_release *cmd = (const struct cmd_release *)command;
        for (size_t i = 0; i < cmd->count; i++)
            (void)check_report(model, command, &cmd->leases[i], &cmd->answers[i], "released");
    } else if (strcmp(name, "heartbeat") == 0) {
        const struct cmd_heartbeat *cmd = (const struct cmd_heartbeat *)command;
        for (size_t i = 0; i < cmd->count; i++)
            check_beat(model, command, &cmd->leases[i], &cmd->answers[i]);
    } else if (strcmp(name, "replay") == 0 || strcmp(name, "purge") == 0) {
        check_dead(model, (const struct cmd_dead *)command, name[0] == 'p');
    }
}

/* ---- timers ---- */

void jobs_model_check_timers(struct jobs_model *model)
{
    const struct world *world = model->world;
    if (world->trouble != NULL || world->mono_us - world->quiet_us < SIM_LATE_US)
        return;
    int64_t late_us = world_server_now(world) - SIM_LATE_US;
    size_t position = 0;
    struct job_fact *job;
    while ((job = map_next(&model->jobs, &position)) != NULL) {
        const struct job_life *life = &job->life;
        if (job->deleted || job_is_settled(life->state))
            continue;
        must(model, job, life->state != JOB_LEASED || life->due_us > late_us,
             "has a lease that was over long ago");
        must(model, job, life->state != JOB_SCHEDULED || life->due_us > late_us,
             "was due long ago and is not let out");
        int64_t since_us = job->trace[(job->moves - 1) % SIM_TRACE].at_us;
        must(model, job,
             life->state == JOB_LEASED || life->expires_us == 0 || life->expires_us > late_us ||
                 since_us > late_us,
             "has outlived its time by far");
    }
}

static void on_commit(void *who)
{
    look(who);
}

static void lose_commits(bool lose)
{
    witness_refuse(lose ? INT64_MAX : 0);
}

/* ---- the end ---- */

/* The whole history is there, one entry for every attempt, as clients read it. */
static void check_history(struct jobs_model *model, const struct job_fact *job,
                          const struct job_row *row, struct arena *arena)
{
    struct attempt_row *attempts;
    size_t count;
    if (attempts_list(store_writer(model->world->store), &row->id, arena, &attempts, &count,
                      NULL) != RC_OK)
        world_broken(model->world, "the attempts of %s cannot be read", row->id.text);
    int64_t failed = 0, lost = 0, epoch = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_failed = strcmp(attempts[i].outcome, "failed") == 0;
        bool is_lost = strcmp(attempts[i].outcome, "lost") == 0;
        must(model, job, attempts[i].epoch > epoch, "has attempts out of order");
        must(model, job, attempts[i].started_us > 0 && attempts[i].ended_us > 0,
             "has an attempt without its times");
        must(model, job, !(is_failed || is_lost) || !text_empty(attempts[i].error_message),
             "has an attempt without its error");
        epoch = attempts[i].epoch;
        failed += is_failed;
        lost += is_lost;
    }
    bool succeeded = row->life.state == JOB_SUCCEEDED;
    must(model, job, (int64_t)count == job->attempts + succeeded, "has lost attempts");
    must(model, job,
         job->replayed || (failed + succeeded == row->life.attempt && lost == row->life.lost),
         "has a history that does not add up");
}

static void check_gathered(struct jobs_model *model, const struct job_fact *job,
                           const struct job_row *row)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    if (js_parse(row->payload.at, row->payload.len, &payload, NULL) != RC_OK)
        broken(model, job, "has a payload that cannot be read");
    /* Answers may have been lost: what is in it is at least what was acknowledged. */
    must(model, job, (int64_t)js_count(payload) >= job->gathered, "has lost some of its batch");
}

static void check_row(struct jobs_model *model, const struct job_row *row, struct arena *arena)
{
    struct job_fact *job = map_find(&model->jobs, &row->id);
    if (job == NULL || job->deleted)
        world_broken(model->world, "job %s came out of nowhere", row->id.text);
    must(model, job, row->life.state == job->life.state && row->life.epoch == job->life.epoch,
         "has a row that says otherwise");
    must(model, job,
         row->life.state != JOB_DEAD_LETTER || row->life.dead_reason == job->life.dead_reason,
         "died of something else");
    check_history(model, job, row, arena);
    if (job->gathered > 0)
        check_gathered(model, job, row);
}

static int64_t check_rows(struct jobs_model *model)
{
    struct job_filter filter = {.state = -1, .limit = PAGE};
    int64_t total = 0;
    size_t count;
    do {
        struct arena arena = {0};
        struct job_row *rows;
        struct err err = {0};
        if (jobs_list(store_writer(model->world->store), &filter, &arena, &rows, &count, &err) !=
            RC_OK)
            world_broken(model->world, "the jobs cannot be read: %s", err.text);
        for (size_t i = 0; i < count; i++)
            check_row(model, &rows[i], &arena);
        if (count > 0)
            filter.before = rows[count - 1].id;
        total += (int64_t)count;
        arena_release(&arena);
    } while (count == PAGE);
    return total;
}

static void check_doctor(struct jobs_model *model)
{
    struct arena arena = {0};
    struct doctor_report report;
    struct err err = {0};
    if (doctor_examine(store_writer(model->world->store), &arena, &report, &err) != RC_OK)
        world_broken(model->world, "the doctor cannot look: %s", err.text);
    for (size_t i = 0; i < report.check_count; i++)
        if (report.checks[i].bad > 0)
            world_broken(model->world, "%s: %s", report.checks[i].name, report.checks[i].first);
    arena_release(&arena);
}

void jobs_model_look_at_the_end(struct jobs_model *model)
{
    look(model);
    size_t position = 0;
    struct job_fact *job;
    int64_t there = 0;
    while ((job = map_next(&model->jobs, &position)) != NULL) {
        must(model, job, job->deleted || job_is_settled(job->life.state), "is stranded");
        model->stats.by_state[job->life.state]++;
        there += !job->deleted;
    }
    int64_t rows = check_rows(model);
    if (rows != there)
        world_broken(model->world, "%" PRId64 " jobs are stored, %" PRId64 " should be", rows,
                     there);
    check_doctor(model);
}

int64_t jobs_model_open(const struct jobs_model *model)
{
    return model->open;
}

const struct jobs_stats *jobs_model_stats(const struct jobs_model *model)
{
    return &model->stats;
}

struct jobs_model *jobs_model_new(struct world *world, const char *const *queues)
{
    struct jobs_model *model = mem_alloc(sizeof *model);
    model->world = world;
    model->jobs.each = sizeof(struct job_fact);
    for (; queues[model->queue_count] != NULL; model->queue_count++)
        queue_fact_init(&model->queues[model->queue_count], queues[model->queue_count],
                        &model->jobs);
    world->watch = (struct watch){on_answered, on_commit, lose_commits, model};
    witness_watch(store_writer(world->store));
    return model;
}

void jobs_model_free(struct jobs_model *model)
{
    for (size_t i = 0; i < model->queue_count; i++)
        queue_fact_release(&model->queues[i]);
    map_release(&model->jobs);
    mem_free(model);
}
