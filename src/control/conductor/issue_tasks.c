#include "control/conductor/issue_tasks.h"
#include "base/js.h"
#include "control/admit/submit.h"
#include "control/run/stop.h"
#include "core/event_types.h"
#include <string.h>

/* ---- tasks ---- */

static const char *description_of(const struct issue_row *issue, struct arena *arena)
{
    const struct issue_life *life = &issue->life;
    const char *fix = life->stage == STAGE_SMOKE_FAILED
                          ? "\n\nWhat was merged for this issue failed its smoke test after the "
                            "deployment. Make the fix on top of the target branch."
                          : "";
    return arena_printf(arena, "Issue %s%s%s%s%s%s", issue->issue_id,
                        life->title != NULL ? ": " : "", life->title != NULL ? life->title : "",
                        life->description != NULL ? "\n\n" : "",
                        life->description != NULL ? life->description : "", fix);
}

enum rc issue_submit(struct context *ctx, const struct issue_row *issue,
                     const struct conductor_agent *agent, struct id *ret_task_id)
{
    struct submission wanted = submission_new();
    struct submitted answer = {0};
    wanted.repository = issue->life.repository;
    wanted.description = description_of(issue, ctx->arena);
    wanted.labels = issue->life.labels;
    wanted.priority = issue->life.priority;
    wanted.priority_given = true;
    wanted.requested_by = "conductor";
    if (agent->profile != NULL)
        wanted.overrides = str_of(
            arena_printf(ctx->arena, "{\"agent\":{\"use\":\"%s\"}}", agent->profile));
    enum rc rc = submit_task(ctx, &wanted, &answer);
    if (rc == RC_OK && answer.refused != RC_OK)
        return answer.refused;
    if (rc == RC_OK)
        *ret_task_id = answer.task_id;
    return rc;
}

enum rc issue_cancel_task(struct context *ctx, const struct issue_row *issue, const char *reason)
{
    CLEANUP(flow_release) struct flow flow = {0};
    bool stopping;
    if (id_is_none(&issue->life.task_id))
        return RC_OK;
    enum rc rc = flow_load_latest(ctx, &issue->life.task_id, &flow);
    if (rc != RC_OK || run_is_terminal(flow.run.status))
        return rc;
    const struct stop_request request = {
        .kind = RUN_STOP_CANCEL, .by = "conductor", .reason = reason};
    return stop_run(ctx, &flow, &request, &stopping);
}

/* ---- events of runs ---- */

struct mapping {
    struct context *ctx;
    const struct issue_run_event *event;
    const struct js *data;
    struct issue_row row;
};

/* A rule that forbids it is no error: the issue is elsewhere already. */
static enum rc write_step(struct mapping *map, const struct issue_event *step,
                          enum issue_writer writer)
{
    struct issue_writing writing = {
        .event = *step, .writer = writer, .cause = map->event->event_id};
    bool is_new;
    writing.event.issue_id = map->row.issue_id;
    enum rc rc = issue_append(map->ctx, &writing, &map->row, &is_new);
    if (rc != RC_CONFLICT || !text_starts(map->ctx->err->code, "issue."))
        return rc;
    err_clear(map->ctx->err);
    return RC_OK;
}

static enum rc write_plain(struct mapping *map, enum issue_kind kind)
{
    return write_step(map, &(struct issue_event){.kind = kind}, WRITER_DEV_AGENT);
}

static enum rc started(struct mapping *map)
{
    const struct issue_event branch = {.kind = ISSUE_EV_BRANCH_CREATED,
                                       .branch = js_get_str(map->data, "branch", NULL)};
    enum rc rc = write_plain(map, ISSUE_EV_WORK_STARTED);
    return rc == RC_OK && branch.branch != NULL ? write_step(map, &branch, WRITER_DEV_AGENT) : rc;
}

static enum rc opened(struct mapping *map)
{
    const struct issue_event pr = {
        .kind = ISSUE_EV_PR_CREATED,
        .branch = js_get_str(map->data, "branch", map->row.life.branch),
        .pull_request = arena_printf(map->ctx->arena, "%lld",
                                     (long long)js_get_int(map->data, "number", 0)),
    };
    if (pr.branch == NULL)
        return RC_OK;
    if (map->row.life.stage == STAGE_ASSIGNED) {
        enum rc rc = write_plain(map, ISSUE_EV_WORK_STARTED);
        if (rc != RC_OK)
            return rc;
    }
    return write_step(map, &pr, WRITER_DEV_AGENT);
}

static enum rc published(struct mapping *map)
{
    enum rc rc = opened(map);
    if (rc == RC_OK)
        rc = write_plain(map, ISSUE_EV_CI_PASSED);
    return rc == RC_OK ? write_step(map,
                                    &(struct issue_event){.kind = ISSUE_EV_REVIEW_PASSED,
                                                          .agent_id = "drover-judge"},
                                    WRITER_REVIEW_AGENT)
                       : rc;
}

static enum rc check_failed(struct mapping *map)
{
    const struct issue_event failed = {.kind = ISSUE_EV_CI_FAILED,
                                       .reason = js_get_str(map->data, "check", NULL)};
    return write_step(map, &failed, WRITER_CI);
}

static enum rc state_changed(struct mapping *map)
{
    const char *state = js_get_str(map->data, "toState", "");
    bool green = text_same(state, "review") || text_same(state, "mergeable") ||
                 text_same(state, "merging");
    return green && map->row.life.stage == STAGE_IN_CI ? write_plain(map, ISSUE_EV_CI_PASSED)
                                                       : RC_OK;
}

static enum rc merged(struct mapping *map)
{
    enum rc rc = map->row.life.stage == STAGE_CI_FAILED ? opened(map) : RC_OK;
    if (rc == RC_OK && map->row.life.stage == STAGE_IN_CI)
        rc = write_plain(map, ISSUE_EV_CI_PASSED);
    return rc == RC_OK ? write_plain(map, ISSUE_EV_MERGED) : rc;
}

static enum rc ended(struct mapping *map)
{
    const char *reason = js_get_str(map->data, "errorCode", map->event->type);
    const struct issue_event stuck = {.kind = ISSUE_EV_STUCK, .reason = reason};
    return write_step(map, &stuck, WRITER_DEV_AGENT);
}

/* A task that has ended well without a pull request has left nothing to merge. */
static enum rc completed(struct mapping *map)
{
    enum issue_stage stage = map->row.life.stage;
    bool without = stage == STAGE_ASSIGNED || stage == STAGE_WORKING;
    return without ? write_step(
                         map,
                         &(struct issue_event){.kind = ISSUE_EV_STUCK, .reason = "no_pull_request"},
                         WRITER_DEV_AGENT)
                   : RC_OK;
}

static const struct {
    const char *type;
    enum rc (*map)(struct mapping *map);
} mappings[] = {
    {EV_RUN_STARTED, started},
    {EV_PR_CREATED, published},
    {EV_PR_CHECK_FAILED, check_failed},
    {EV_PR_UPDATED, opened},
    {EV_PR_STATE_CHANGED, state_changed},
    {EV_PR_MERGED, merged},
    {EV_PR_CLOSED, ended},
    {EV_TASK_COMPLETED, completed},
    {EV_TASK_FAILED, ended},
    {EV_TASK_CANCELLED, ended},
    {EV_TASK_TIMED_OUT, ended},
    {EV_TASK_REJECTED, ended},
};

bool issue_run_event_matters(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(mappings); i++)
        if (strcmp(mappings[i].type, type) == 0)
            return true;
    return false;
}

enum rc issue_run_event(struct context *ctx, const struct issue_run_event *event)
{
    struct mapping map = {.ctx = ctx, .event = event};
    CLEANUP(js_freep) struct js *data = NULL;
    enum rc rc = issue_states_of_task(ctx->db, &event->task_id, ctx->arena, &map.row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc == RC_OK && event->data.len > 0)
        rc = js_parse(event->data.at, event->data.len, &data, ctx->err);
    map.data = data;
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(mappings); i++)
        if (strcmp(mappings[i].type, event->type) == 0)
            return mappings[i].map(&map);
    return rc;
}
