#include "tests/sim/issues_model.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/mem.h"
#include "control/watch/doctor.h"
#include "store/events.h"
#include "store/issue_states.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 500, BRANCHES_MAX = 64, NAME_BYTES = 64, DEPENDS_MAX = 4 };

struct issue_fact {
    bool approved, assigned, verified, external, ci_failed, done, escalated;
    int64_t agent;
    int64_t depends[DEPENDS_MAX];
    size_t depend_count;
    int64_t smoke, stuck;
    int64_t gate_us, gate_period;
    int64_t milestone;
    char branch[NAME_BYTES], pull_request[NAME_BYTES];
    char abandoned[BRANCHES_MAX][NAME_BYTES];
    size_t abandoned_count;
    bool fixing; /* A smoke test failed, and the fix is not there yet. */
};

struct issues_model {
    struct world *world;
    struct issue_fact *issues;
    int64_t count, seq;
    int64_t load[SIM_AGENTS];
    int64_t complete[SIM_MILESTONES];
    struct issues_stats stats;
};

static int64_t number_of(const char *name)
{
    const char *digits = name == NULL ? "" : strpbrk(name, "0123456789");
    int64_t number;
    return digits != NULL && text_to_i64(digits, &number) ? number : -1;
}

static _Noreturn void broken(struct issues_model *model, int64_t issue, const char *what)
{
    world_broken(model->world, "issue %" PRId64 ": %s", issue, what);
}

static void must(struct issues_model *model, int64_t issue, bool held, const char *what)
{
    if (!held)
        broken(model, issue, what);
}

/* ---- events ---- */

static void on_approved(struct issues_model *model, int64_t no, const struct js *data)
{
    struct issue_fact *fact = &model->issues[no];
    const struct js *depends = js_get(data, "dependsOn");
    must(model, no, !fact->approved || fact->escalated, "was approved twice");
    model->stats.issues += !fact->approved;
    model->stats.escalated -= fact->escalated;
    if (!fact->approved) {
        fact->depend_count = js_count(depends);
        for (size_t i = 0; i < fact->depend_count; i++)
            fact->depends[i] = number_of(js_str(js_at(depends, i), NULL));
        fact->milestone = number_of(js_get_str(data, "milestone", NULL));
        model->complete[fact->milestone] = 0; /* It has one more now. */
    }
    fact->approved = true;
    fact->escalated = fact->external = false;
    fact->smoke = fact->stuck = 0;
}

static void on_assigned(struct issues_model *model, int64_t no, int64_t agent)
{
    struct issue_fact *fact = &model->issues[no];
    must(model, no, fact->approved && !fact->done && !fact->escalated, "was assigned too early");
    must(model, no, !fact->assigned, "is assigned twice at once");
    must(model, no, fact->stuck < ISSUE_STUCK_MAX, "was assigned after two stuck agents");
    for (size_t i = 0; i < fact->depend_count; i++)
        must(model, no, model->issues[fact->depends[i]].done,
             "was assigned before one that it depends on was done");
    fact->assigned = true;
    fact->agent = agent;
    fact->branch[0] = '\0';
    fact->fixing = fact->ci_failed = false;
    must(model, no, ++model->load[agent] <= SIM_CAPACITY, "its agent has too many issues");
    model->stats.assignments++;
    model->stats.reassignments += fact->abandoned_count > 0;
}

static void abandon(struct issue_fact *fact)
{
    if (fact->branch[0] != '\0' && fact->abandoned_count < BRANCHES_MAX)
        text_copy(fact->abandoned[fact->abandoned_count++], NAME_BYTES, fact->branch);
}

static void free_agent(struct issues_model *model, struct issue_fact *fact)
{
    if (fact->assigned)
        model->load[fact->agent]--;
}

static void on_branch(struct issues_model *model, int64_t no, const struct js *data, bool is_pr)
{
    struct issue_fact *fact = &model->issues[no];
    const char *branch = js_get_str(data, "branch", "");
    const char *pull_request = js_get_str(data, "pullRequest", "");
    for (size_t i = 0; i < fact->abandoned_count; i++)
        must(model, no, strcmp(fact->abandoned[i], branch) != 0, "an abandoned branch is used");
    if (fact->fixing) {
        must(model, no, !fact->external, "is fixed although a dependency outside has failed");
        must(model, no, fact->smoke < ISSUE_SMOKE_MAX, "has a fix after three smoke failures");
    }
    if (is_pr) {
        must(model, no, !fact->fixing || strcmp(fact->pull_request, pull_request) != 0,
             "is fixed in the pull request that was merged");
        fact->fixing = fact->ci_failed = false;
        text_copy(fact->pull_request, NAME_BYTES, pull_request);
    }
    text_copy(fact->branch, NAME_BYTES, branch);
}

static void on_smoke_failed(struct issue_fact *fact, const struct js *data)
{
    bool external = strcmp(js_get_str(data, "reason", ""), SMOKE_REASON_EXTERNAL) == 0;
    fact->external |= external;
    fact->smoke += !external;
    fact->fixing = true;
    fact->verified = false;
    abandon(fact);
}

static void on_reminder(struct issues_model *model, int64_t no, const struct js *data)
{
    struct issue_fact *fact = &model->issues[no];
    int64_t period = js_get_int(data, "period", 0);
    must(model, no, fact->gate_us > 0, "has a reminder without a gate");
    must(model, no, period > fact->gate_period, "has two reminders in one period");
    fact->gate_period = period;
    model->stats.reminders++;
}

static void on_gate(struct issues_model *model, int64_t no, enum issue_kind kind, int64_t time_us,
                    const struct js *data)
{
    struct issue_fact *fact = &model->issues[no];
    if (kind == ISSUE_EV_GATE_TRIGGERED) {
        fact->gate_us = time_us;
        fact->gate_period = 0;
    } else if (kind == ISSUE_EV_GATE_REMINDER) {
        on_reminder(model, no, data);
    } else if (kind == ISSUE_EV_GATE_APPROVED) {
        fact->gate_us = 0;
    }
}

static void on_milestone(struct issues_model *model, const struct js *data)
{
    int64_t milestone = number_of(js_get_str(data, "milestone", NULL));
    if (milestone < 0 || milestone >= SIM_MILESTONES)
        world_broken(model->world, "a milestone that there is not is complete");
    if (model->complete[milestone]++ > 0)
        world_broken(model->world, "milestone %" PRId64 " is complete twice", milestone);
    for (int64_t i = 0; i < model->count; i++) {
        const struct issue_fact *fact = &model->issues[i];
        if (fact->approved && fact->milestone == milestone && !fact->done)
            world_broken(model->world, "milestone %" PRId64 " is complete before its issues",
                         milestone);
    }
}

static void on_step(struct issues_model *model, int64_t no, enum issue_kind kind,
                    const struct event *event, const struct js *data)
{
    struct issue_fact *fact = &model->issues[no];
    int64_t agent = number_of(js_get_str(data, "agentId", NULL));
    if (issue_kind_is_of_agent(kind) && agent >= 0)
        must(model, no, fact->assigned && fact->agent == agent,
             "an agent that does not have it writes about it");
    switch (kind) {
    case ISSUE_EV_APPROVED:
        on_approved(model, no, data);
        break;
    case ISSUE_EV_ASSIGNED:
        on_assigned(model, no, agent);
        break;
    case ISSUE_EV_UNASSIGNED:
        must(model, no, fact->assigned, "is taken off without an agent");
        free_agent(model, fact);
        fact->assigned = fact->fixing = false;
        abandon(fact);
        fact->gate_us = 0;
        break;
    case ISSUE_EV_BRANCH_CREATED:
    case ISSUE_EV_PR_CREATED:
        on_branch(model, no, data, kind == ISSUE_EV_PR_CREATED);
        break;
    case ISSUE_EV_CI_FAILED:
        fact->ci_failed = true;
        break;
    case ISSUE_EV_CI_PASSED:
    case ISSUE_EV_MERGED:
        must(model, no, !fact->ci_failed, "goes on after a failed CI without a push");
        must(model, no, kind != ISSUE_EV_MERGED || fact->gate_us == 0, "merges at an open gate");
        break;
    case ISSUE_EV_DEPLOYED_STAGING:
    case ISSUE_EV_DEPLOYED_PRODUCTION:
        must(model, no, fact->gate_us == 0, "is deployed at an open gate");
        break;
    case ISSUE_EV_SMOKE_FAILED:
        on_smoke_failed(fact, data);
        fact->gate_us = 0;
        break;
    case ISSUE_EV_VERIFIED:
        fact->verified = true;
        break;
    case ISSUE_EV_DONE:
        must(model, no, fact->verified, "is done and was not verified");
        free_agent(model, fact);
        fact->done = true;
        model->stats.done++;
        break;
    case ISSUE_EV_STUCK:
        fact->stuck++;
        fact->gate_us = 0;
        model->stats.stuck++;
        break;
    case ISSUE_EV_ESCALATED:
    case ISSUE_EV_GATE_REJECTED:
        model->stats.escalated++;
        fact->escalated = true;
        fact->gate_us = 0;
        break;
    default:
        on_gate(model, no, kind, event->time_us, data);
        break;
    }
}

static void on_event(struct issues_model *model, const struct event *event)
{
    CLEANUP(js_freep) struct js *data = NULL;
    enum issue_kind kind;
    if (!issue_kind_of_type(event->type, &kind))
        return;
    model->stats.events++;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK)
        world_broken(model->world, "the data of an event cannot be read");
    if (kind == ISSUE_EV_MILESTONE_COMPLETE) {
        on_milestone(model, data);
        return;
    }
    int64_t no = number_of(js_get_str(data, "issueId", NULL));
    if (no < 0 || no >= model->count || kind >= ISSUE_STEP_COUNT)
        world_broken(model->world, "an event of no issue: %s", event->type);
    on_step(model, no, kind, event, data);
}

void issues_model_look(struct issues_model *model)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct db *db = store_writer(model->world->store);
    size_t count = PAGE;
    while (count == PAGE) {
        const struct event_filter filter = {.after_seq = model->seq, .limit = PAGE};
        struct event *events = NULL;
        arena_reset(&arena);
        if (events_list(db, &filter, &arena, &events, &count, NULL) != RC_OK)
            return; /* The store is in trouble: later. */
        for (size_t i = 0; i < count; i++) {
            on_event(model, &events[i]);
            model->seq = events[i].seq;
        }
    }
}

static void look(void *who)
{
    issues_model_look(who);
}

static void on_answered(void *who, const struct command *command)
{
    (void)who;
    (void)command;
}

int64_t issues_model_approved(const struct issues_model *model)
{
    return model->stats.issues;
}

int64_t issues_model_open(const struct issues_model *model)
{
    return model->stats.issues - model->stats.done - model->stats.escalated;
}

const struct issues_stats *issues_model_stats(const struct issues_model *model)
{
    return &model->stats;
}

/* The rows are what the log says, and nobody is kept busy by what has ended. */
void issues_model_look_at_the_end(struct issues_model *model)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct doctor_report report;
    struct err err = {0};
    for (int64_t i = 0; i < model->count; i++) {
        const struct issue_fact *fact = &model->issues[i];
        must(model, i, fact->approved, "was lost");
        must(model, i, fact->done || fact->escalated, "has come to no end");
        must(model, i, fact->done || !fact->assigned, "is escalated and keeps its agent");
    }
    for (int64_t i = 0; i < SIM_MILESTONES; i++) {
        int64_t left = 0, all = 0;
        for (int64_t k = 0; k < model->count; k++) {
            all += model->issues[k].milestone == i;
            left += model->issues[k].milestone == i && !model->issues[k].done;
        }
        if (all > 0 && left == 0 && model->complete[i] == 0)
            world_broken(model->world, "milestone %" PRId64 " is done and not complete", i);
    }
    if (doctor_examine(store_writer(model->world->store), &arena, &report, &err) != RC_OK)
        world_broken(model->world, "the doctor cannot look: %s", err.text);
    for (size_t i = 0; i < report.check_count; i++)
        if (report.checks[i].bad > 0)
            world_broken(model->world, "the doctor: %s", report.checks[i].first);
}

struct issues_model *issues_model_new(struct world *world, int64_t issues)
{
    struct issues_model *model = mem_alloc(sizeof *model);
    model->world = world;
    model->count = issues;
    model->issues = mem_alloc((size_t)issues * sizeof *model->issues);
    for (int64_t i = 0; i < issues; i++)
        model->issues[i].milestone = -1;
    world->watch = (struct watch){on_answered, look, NULL, model};
    return model;
}

void issues_model_free(struct issues_model *model)
{
    mem_free(model->issues);
    mem_free(model);
}
