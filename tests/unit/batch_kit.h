/*
 * batch_kit.h - batches in the lab, on both engines: workers are the test, time is virtual.
 *
 * Members are named by their number, from 1; a batch looks like "aawcf":
 *
 *     w waiting, a under way, c completed, f failed, x cancelled, s skipped, d dropped, r refused
 */
#ifndef TESTS_UNIT_BATCH_KIT_H
#define TESTS_UNIT_BATCH_KIT_H
#include "control/admit/batch_commands.h"
#include "store/batches.h"
#include "store/leases.h"
#include "tests/unit/lab.h"

extern struct lab fleet;
extern struct lease_fence fleet_turn;  /* To run the timers. */
extern const char *const fleet_all[1]; /* The pattern of all repositories. */

/* With so many repositories acme/r0, acme/r1, ...; or with limits and none. */
void fleet_open(int engine, int repositories);
void fleet_open_with(int engine, const struct committer_limits *limits);
void fleet_close(void); /* The doctor is content. */
/* What is due now happens, until nothing is. */
void fleet_pass_ms(int64_t ms);

/* One task over all repositories; the caller changes it. */
struct cmd_batch_submit *fleet_batch(void);
/* Submits and frees it, and its first members become tasks. */
struct id fleet_submit(struct cmd_batch_submit *cmd);
struct batch_row fleet_row(const struct id *id);
struct batch_member_view *fleet_members(const struct id *id, size_t *ret_count);
struct batch_member_view fleet_member(const struct id *id, int64_t no);
const char *fleet_shape(const struct id *id);
void fleet_expect(const struct id *id, enum batch_status status, const char *members);
int fleet_events(const struct id *id, const char *type); /* How many of this type it has. */
/* By bob; fleet_move: it must be taken. */
enum rc fleet_move_as(const struct id *id, enum batch_event event, const char *code);
void fleet_move(const struct id *id, enum batch_event event);
enum rc fleet_retry_as(const struct id *id, int64_t no, const char *code);

/* The first job of a run that has started, taken. */
struct job_row fleet_take_prepare(const struct id *run_id);
/* The agent's job of the member's latest run, taken. */
struct job_row fleet_start_agent(const struct id *id, int64_t no);
/* To the end; costs 0.50 USD when it completes. */
void fleet_complete(const struct id *id, int64_t no);
void fleet_fail(const struct id *id, int64_t no);
/* What the attempt has cost by now. */
void fleet_spend(const struct job_row *job, double usd);
#endif
