#include "control/pr/receive.h"
#include "control/pr/look.h"
#include "control/pr/sync.h"
#include <strings.h>

/* By the provider's id if both are known, else by name. */
static bool is_of(const struct sync_row *sync, const struct forge_event *event)
{
    if (event->repository_id != NULL && sync->provider_id != NULL)
        return text_same(event->repository_id, sync->provider_id);
    return event->repository_name == NULL ||
           strcasecmp(event->repository_name, sync->full_name) == 0;
}

/* What the delivery says, as a receipt.  One that cannot be read is recorded, too. */
static struct delivery_row receipt(struct context *ctx, const struct repository_row *repository,
                                   const struct delivery *delivery, struct forge_event *ret_event)
{
    struct delivery_row row = {
        .id = context_id(ctx),
        .repository_id = repository->id,
        .repository = repository->name,
        .forge = delivery->forge,
        .delivery_id = delivery->delivery_id,
        .event = delivery->event,
        .via = delivery->via,
        .payload_sha256 = delivery->payload_sha256,
        .payload_bytes = delivery->payload_bytes,
        .sent_us = delivery->sent_us,
        .received_us = ctx->now_us,
    };
    struct err err = {0};
    *ret_event = (struct forge_event){.subject = SUBJECT_NONE};
    if (delivery->lost != NULL) {
        row.status = DELIVERY_LOST;
        row.detail = delivery->lost;
        return row;
    }
    enum rc rc = forge_event_decode(delivery->forge, delivery->event, delivery->body, ctx->arena,
                                    ret_event, &err);
    if (rc != RC_OK) {
        row.status = DELIVERY_INVALID;
        row.detail = arena_strdup(ctx->arena, err.text);
        return row;
    }
    row.event = ret_event->name;
    if (delivery->of != NULL && !is_of(delivery->of, ret_event)) {
        *ret_event = (struct forge_event){.subject = SUBJECT_NONE};
        row.status = DELIVERY_IGNORED;
        row.detail = "it is about another repository";
        return row;
    }
    row.subject = ret_event->subject;
    row.number = ret_event->number;
    row.ref = ret_event->subject == SUBJECT_BRANCH ? ret_event->branch : ret_event->commit;
    row.actor = ret_event->actor;
    row.status = ret_event->subject == SUBJECT_NONE ? DELIVERY_IGNORED : DELIVERY_APPLIED;
    return row;
}

/* A push is about the pull requests of its branch; those of its commit are found by the branch. */
static enum rc look(struct context *ctx, const struct repository_row *repository,
                    const struct forge_event *event)
{
    switch (event->subject) {
    case SUBJECT_ISSUE:
        return look_at_issue(ctx, repository, event->number);
    case SUBJECT_PR:
        return look_at_pr(ctx, repository, event->number);
    case SUBJECT_COMMIT:
        return look_at_commit(ctx, repository, event->commit);
    case SUBJECT_BRANCH:
        return look_at_branch(ctx, repository, event->branch);
    case SUBJECT_NONE:
    case SUBJECT_PING:
    case SUBJECT_REPO:
        break;
    }
    return RC_OK;
}

enum rc receive_delivery(struct context *ctx, const struct repository_row *repository,
                         const struct delivery *delivery, struct delivery_row *ret_row,
                         bool *ret_new)
{
    struct forge_event event;
    struct delivery_row row = receipt(ctx, repository, delivery, &event);
    bool is_new = false;
    enum rc rc = deliveries_insert(ctx->db, &row, &is_new, ctx->err);
    if (rc == RC_OK && !is_new)
        rc = deliveries_find(ctx->db, &repository->id, delivery->delivery_id, &row.id, ctx->err);
    if (rc == RC_OK)
        rc = sync_received(ctx, repository, &row, &event);
    if (rc == RC_OK && is_new)
        rc = look(ctx, repository, &event);
    if (rc != RC_OK)
        return rc;
    *ret_row = row;
    *ret_new = is_new;
    return RC_OK;
}

static enum rc apply_receive(struct context *ctx, struct command *command)
{
    struct cmd_receive *cmd = (struct cmd_receive *)command;
    struct repository_row repository;
    enum rc rc = repositories_get(ctx->db, &cmd->repository_id, ctx->arena, &repository, ctx->err);
    if (rc == RC_OK && repository.removed)
        rc = err_set(ctx->err, RC_NOT_FOUND, "REPO_NOT_FOUND", "repository %s was removed",
                     repository.name);
    return rc == RC_OK ? receive_delivery(ctx, &repository, &cmd->delivery, &cmd->row, &cmd->is_new)
                       : rc;
}

static const struct command_ops receive_ops = {.name = "receive", .apply = apply_receive};

struct cmd_receive *cmd_receive_new(void)
{
    return command_new(&receive_ops, sizeof(struct cmd_receive));
}
