/*
 * trains.c - merge trains: what is in them, and who enters and leaves.
 */
#include "store/trains.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"
#include "control/pr/train.h"

enum { REPOSITORY_NAME_MAX = 200, ENDED_SHOWN = 20 };

static void write_id(struct jw *jw, const char *key, const struct id *id)
{
    jw_kstr(jw, key, id_or_null(id));
}

static void write_car(struct jw *jw, const struct train_car_row *car)
{
    jw_begin(jw, '{');
    write_id(jw, "id", &car->id);
    write_id(jw, "pullRequestId", &car->pull_request_id);
    write_id(jw, "runId", &car->run_id);
    jw_kint(jw, "number", car->number);
    jw_kstr(jw, "title", car->title);
    jw_kstr(jw, "branch", car->branch);
    jw_kstr(jw, "headCommit", car->head_commit);
    jw_kstr(jw, "state", car_state_name(car->state));
    jw_kbool(jw, "urgent", car->urgent);
    write_id(jw, "jobId", &car->job_id);
    jw_kstr(jw, "commit", car->commit_hash);
    jw_kstr(jw, "detail", car->detail);
    jw_ktime(jw, "enteredAt", car->entered_us);
    jw_ktime(jw, "endedAt", car->ended_us);
    jw_end(jw, '}');
}

/* In the order in which they would land. */
static void write_line(struct jw *jw, const struct train_car_row *cars, size_t count)
{
    struct train_car line[TRAIN_CARS_MAX];
    struct train train = {.cars = line, .count = count};
    for (size_t i = 0; i < count; i++)
        line[i] = (struct train_car){
            .seq = (int64_t)i, .urgent = cars[i].urgent, .state = cars[i].state, .tag = i};
    train_sort(&train);
    jw_key(jw, "cars");
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++)
        write_car(jw, &cars[line[i].tag]);
    jw_end(jw, ']');
}

static const char *state_of(const struct train_row *train, size_t live)
{
    if (live == 0)
        return "empty";
    return train->error_code != NULL ? "stalled" : "running";
}

static enum rc write_train(struct listing *list, struct db *db, const struct train_row *train,
                           struct err *err)
{
    struct train_car_row *live = NULL, *ended = NULL;
    size_t live_count = 0, ended_count = 0;
    struct jw *jw = &list->jw;
    enum rc rc = train_cars_live(db, &train->id, list->arena, &live, &live_count, err);
    if (rc == RC_OK)
        rc = train_cars_ended(db, &train->id, ENDED_SHOWN, list->arena, &ended, &ended_count, err);
    if (rc != RC_OK)
        return rc;
    jw_begin(jw, '{');
    write_id(jw, "id", &train->id);
    jw_kstr(jw, "repository", train->repository);
    jw_kstr(jw, "targetBranch", train->target_branch);
    jw_kstr(jw, "state", state_of(train, live_count));
    jw_kstr(jw, "baseCommit", train->base_commit);
    jw_kint(jw, "rounds", train->rounds);
    jw_kint(jw, "verifications", train->verifications);
    jw_kint(jw, "landed", train->landed);
    jw_kint(jw, "rejected", train->rejected);
    write_id(jw, "landJobId", &train->land_job_id);
    jw_kstr(jw, "errorCode", train->error_code);
    jw_kstr(jw, "errorMessage", train->error_message);
    jw_ktime(jw, "retryAt", train->retry_us);
    write_line(jw, live, live_count);
    jw_key(jw, "ended");
    jw_begin(jw, '[');
    for (size_t i = 0; i < ended_count; i++)
        write_car(jw, &ended[i]);
    jw_end(jw, ']');
    jw_ktime(jw, "updatedAt", train->updated_us);
    jw_end(jw, '}');
    return RC_OK;
}

enum rc api_train_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct train_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct train_filter filter = {.before = list.before, .limit = list.query_limit};
    params_text(&list.params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = trains_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = write_train(&list, db, &rows[i], err);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_train_add(struct call *call, struct err *err)
{
    struct cmd_train_add *cmd = cmd_train_add_new();
    struct fields fields;
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->pull_request_id, err);
    if (rc == RC_OK)
        rc = call_json_optional(call, &cmd->base.tree, err);
    if (rc != RC_OK || cmd->base.tree == NULL)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_bool(&fields, "urgent", FIELD_OPTIONAL, &cmd->urgent);
    return fields_close(&fields);
}

void api_train_add_answer(struct call *call, struct command *command)
{
    const struct cmd_train_add *cmd = (const struct cmd_train_add *)command;
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "pullRequestId", cmd->pull_request_id.text);
    jw_kint(&jw, "number", cmd->number);
    jw_kstr(&jw, "repository", cmd->repository);
    jw_kstr(&jw, "targetBranch", cmd->target_branch);
    jw_kbool(&jw, "urgent", cmd->urgent);
    jw_end(&jw, '}');
}

enum rc api_train_remove(struct call *call, struct err *err)
{
    struct cmd_train_remove *cmd = cmd_train_remove_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_id(call, 0, &cmd->pull_request_id, err) : rc;
}
