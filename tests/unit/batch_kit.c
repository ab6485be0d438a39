#include "tests/unit/batch_kit.h"
#include "control/admit/retry.h"
#include "control/run/run_batch.h"
#include "control/watch/due.h"
#include "store/leases.h"
#include <check.h>
#include <string.h>

struct lab fleet;
struct lease_fence fleet_turn;

enum { HELD_MAX = 256 };
static struct job_row held[HELD_MAX]; /* Jobs of prepare, leased and not done. */
static size_t held_count;

void fleet_open_with(int engine, const struct committer_limits *limits)
{
    static const struct lease_claim claim = {.name = LEASE_TIMERS,
                                             .holder = "lab",
                                             .session = "lab",
                                             .place = "",
                                             .under = "",
                                             .ttl_us = US_PER_HOUR};
    lab_open(&fleet, &(struct lab_options){.limits = *limits, .engine = engine});
    fleet_turn = (struct lease_fence){.name = LEASE_TIMERS};
    held_count = 0;
    struct lease_row before;
    struct err err = {0};
    if (engine != LAB_SQLITE)
        ck_assert_int_eq(
            leases_claim(fleet.db, &claim, &fleet.arena, &fleet_turn.epoch, &before, &err), RC_OK);
}

/* A fleet with so many repositories acme/r0, acme/r1, ... */
void fleet_open(int engine, int repositories)
{
    fleet_open_with(engine, &(struct committer_limits){0});
    for (int i = 0; i < repositories; i++)
        lab_repository(&fleet, arena_printf(&fleet.arena, "acme/r%d", i),
                       "\"timeouts\":{\"cancelMs\":1000}");
}

void fleet_close(void)
{
    lab_check(&fleet);
    lab_close(&fleet);
}

/* What is due now happens, until nothing is. */
void fleet_pass_ms(int64_t ms)
{
    fleet.now_us += ms * US_PER_MS;
    for (bool more = true; more;) {
        struct cmd_due *due = cmd_due_new();
        due->turn = fleet_turn;
        enum rc rc = lab_call(&fleet, &due->base);
        ck_assert_msg(rc == RC_OK, "%s", due->base.err.text);
        more = due->next_due_us > 0 && due->next_due_us <= fleet.now_us;
        command_free(&due->base);
    }
    committer_want_admission(fleet.committer);
    lab_rounds(&fleet);
}

/* ---- batches ---- */

const char *const fleet_all[] = {"acme/*"};

struct cmd_batch_submit *fleet_batch(void)
{
    struct cmd_batch_submit *cmd = cmd_batch_submit_new();
    cmd->base.actor = (struct actor){"user", "ada"};
    cmd->name = "fleet";
    cmd->task = STR("{\"description\":\"Mend it\",\"executionMode\":\"patch_only\"}");
    cmd->says_what = true;
    cmd->patterns = fleet_all;
    cmd->pattern_count = 1;
    cmd->limits.stop_after = BATCH_STOP_AFTER_DEFAULT;
    return cmd;
}

/* Submits it, and the first members become tasks. */
struct id fleet_submit(struct cmd_batch_submit *cmd)
{
    enum rc rc = lab_call(&fleet, &cmd->base);
    ck_assert_msg(rc == RC_OK, "%s: %s", cmd->base.err.code, cmd->base.err.text);
    struct id id = cmd->batch_id;
    command_free(&cmd->base);
    fleet_pass_ms(1);
    return id;
}

struct batch_row fleet_row(const struct id *id)
{
    struct batch_row row;
    ck_assert_int_eq(batches_peek(fleet.db, id, &fleet.arena, &row, NULL), RC_OK);
    return row;
}

struct batch_member_view *fleet_members(const struct id *id, size_t *ret_count)
{
    struct batch_member_view *views;
    struct err err = {0};
    enum rc rc = batch_members_all(fleet.db, id, &fleet.arena, &views, ret_count, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return views;
}

struct batch_member_view fleet_member(const struct id *id, int64_t no)
{
    size_t count;
    struct batch_member_view *views = fleet_members(id, &count);
    ck_assert_int_le(no, (int64_t)count);
    return views[no - 1];
}

/* One letter for each member: w waiting, a under way, c completed, f failed, x cancelled,
   s skipped, d dropped, r refused. */
const char *fleet_shape(const struct id *id)
{
    static const char states[] = {'w', '*', 'r', 's', 'd'}, phases[] = "wacfxs";
    size_t count;
    struct batch_member_view *views = fleet_members(id, &count);
    char *text = arena_alloc(&fleet.arena, count + 1);
    for (size_t i = 0; i < count; i++) {
        enum member_state state = views[i].row.state;
        text[i] = state == MEMBER_SUBMITTED ? phases[member_phase(state, views[i].status)]
                                            : states[state];
    }
    return text;
}

void fleet_expect(const struct id *id, enum batch_status status, const char *members)
{
    ck_assert_str_eq(fleet_shape(id), members);
    ck_assert_str_eq(batch_status_name(fleet_row(id).status), batch_status_name(status));
}

int fleet_events(const struct id *id, const char *type)
{
    struct event_filter filter = {.limit = 100000};
    struct event *events;
    size_t count;
    int matching = 0;
    const char *subject = arena_printf(&fleet.arena, "batch/%s", id->text);
    ck_assert_int_eq(events_list(fleet.db, &filter, &fleet.arena, &events, &count, NULL), RC_OK);
    for (size_t i = 0; i < count; i++)
        matching += strcmp(events[i].type, type) == 0 && strcmp(events[i].subject, subject) == 0;
    return matching;
}

enum rc fleet_move_as(const struct id *id, enum batch_event event, const char *code)
{
    struct cmd_batch_move *cmd = cmd_batch_move_new(event);
    cmd->base.actor = (struct actor){"user", "bob"};
    cmd->batch_id = *id;
    cmd->reason = "enough";
    enum rc rc = lab_call(&fleet, &cmd->base);
    ck_assert_str_eq(cmd->base.err.code, code);
    command_free(&cmd->base);
    return rc;
}

void fleet_move(const struct id *id, enum batch_event event)
{
    ck_assert_int_eq(fleet_move_as(id, event, ""), RC_OK);
}

/* ---- work ---- */

struct job_row fleet_take_prepare(const struct id *run_id)
{
    struct job_row *jobs;
    for (size_t count = 1; count > 0;) {
        count = lab_lease(&fleet, "drover.prepare", "node-1/0", &jobs);
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_lt(held_count, HELD_MAX);
            held[held_count++] = jobs[i];
        }
    }
    for (size_t i = 0; i < held_count; i++) {
        struct job_row job = held[i];
        if (!id_same(&job.run_id, run_id))
            continue;
        held[i] = held[--held_count];
        return job;
    }
    ck_abort_msg("run %s has not started", run_id->text);
}

/* The agent's job of the member's latest run, taken. */
struct job_row fleet_start_agent(const struct id *id, int64_t no)
{
    struct id run_id = fleet_member(id, no).run_id;
    struct job_row job = fleet_take_prepare(&run_id);
    lab_finish(&fleet, &job, RESULT_PREPARE);
    lab_step(&fleet, "hydrate", RESULT_HYDRATE);
    return lab_take(&fleet, "agent");
}

void fleet_complete(const struct id *id, int64_t no)
{
    struct job_row job = fleet_start_agent(id, no);
    lab_finish(&fleet, &job, RESULT_AGENT);
    lab_step(&fleet, "verify", RESULT_VERIFIED);
    lab_step(&fleet, "judge", RESULT_JUDGED);
    fleet_pass_ms(1);
}

void fleet_fail(const struct id *id, int64_t no)
{
    struct id run_id = fleet_member(id, no).run_id;
    struct job_row job = fleet_take_prepare(&run_id);
    ck_assert(lab_fail(&fleet, &job, "repository_broken", false).ok);
    fleet_pass_ms(1);
}

enum rc fleet_retry_as(const struct id *id, int64_t no, const char *code)
{
    struct cmd_retry *cmd = cmd_retry_new();
    cmd->task_id = fleet_member(id, no).row.task_id;
    enum rc rc = lab_call(&fleet, &cmd->base);
    ck_assert_str_eq(cmd->base.err.code, code);
    command_free(&cmd->base);
    fleet_pass_ms(1);
    return rc;
}

void fleet_spend(const struct job_row *job, double usd)
{
    (void)lab_progress(&fleet, job,
                       arena_printf(&fleet.arena,
                                    "[{\"type\":\"agent.model.turn.completed\",\"data\":"
                                    "{\"turns\":1,\"inputTokens\":1,\"outputTokens\":1,"
                                    "\"costUsd\":%f}}]",
                                    usd));
}
