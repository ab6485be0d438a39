/*
 * issues_model.h - what must be true of issues, read from the log alone:
 *
 *   - an issue has one agent at a time, and an agent no more issues than its capacity
 *   - it is assigned after those that it depends on are done
 *   - only the agent that has it writes as its agent
 *   - it is done only after it was verified in production
 *   - a branch that was abandoned is never used again
 *   - after three smoke failures in code there is no fourth fix, and after one for an external
 *     dependency none at all; a fix is a new pull request
 *   - after a failed CI the next of its kind follows another push
 *   - two agents that were stuck on it are enough
 *   - a gate lets nothing pass, and there is one reminder in a period
 *   - a milestone is complete when all of it is done, once until it gets another issue
 */
#ifndef TESTS_SIM_ISSUES_MODEL_H
#define TESTS_SIM_ISSUES_MODEL_H
#include "core/conductor/issue.h"
#include "tests/sim/world.h"

enum { SIM_AGENTS = 12, SIM_CAPACITY = 3, SIM_MILESTONES = 20 };
#define SIM_ISSUE_NAME "i%lld"
#define SIM_AGENT_NAME "agent-%lld"

struct issues_stats {
    int64_t issues, done, escalated, assignments, reassignments, reminders, stuck, events;
};
struct issues_model;
struct issues_model *issues_model_new(struct world *world, int64_t issues);
void issues_model_free(struct issues_model *model);
/* Reads on in the log. */
void issues_model_look(struct issues_model *model);
/* Approved, and neither done nor escalated. */
int64_t issues_model_open(const struct issues_model *model);
int64_t issues_model_approved(const struct issues_model *model);
void issues_model_look_at_the_end(struct issues_model *model);
const struct issues_stats *issues_model_stats(const struct issues_model *model);
#endif
