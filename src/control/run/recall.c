/*
 * recall.c - the agent starts again, not for a failure but for what people have said.
 *
 * It is a new attempt and counts as no retry: each one needs something new from a person, or the
 * end of a question.
 */
#include "control/run/messages.h"
#include "control/run/pipeline.h"
#include "control/run/questions.h"
#include "control/run/results.h"
#include "core/event_types.h"

enum rc pipeline_recall(struct context *ctx, struct flow *flow, const struct recall *recall)
{
    flow->run.attempt++;
    flow->run.feedback_sha256 = NULL; /* Of an attempt before: it is dealt with. */
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "reason", recall->reason);
    jw_kint(&body.jw, "attempt", flow->run.attempt);
    jw_kstr(&body.jw, "summary", recall->summary);
    enum rc rc = flow_emit(ctx, flow, EV_RUN_RETRY_WITH_FEEDBACK, &body);
    if (rc == RC_OK && flow->run.status != RUN_RUNNING)
        rc = flow_move(ctx, flow, RUN_EV_REPAIR, recall->summary);
    return rc == RC_OK ? pipeline_start_agent(ctx, flow) : rc;
}

enum rc pipeline_recalls(struct context *ctx, struct flow *flow, const struct recall **ret_recall)
{
    static const struct recall question = {"question", "The agent ended with an open question"};
    static const struct recall message = {"message", "People have sent messages to the agent"};
    const struct ending *ending = NULL;
    bool wait = false;
    *ret_recall = NULL;
    /* A pull request that the agent has opened is not changed behind its back. */
    if (remote_has_pr(flow))
        return RC_OK;
    if (question_is_open(flow)) {
        *ret_recall = &question;
        return RC_OK;
    }
    enum rc rc = messages_wait(ctx, flow, &wait);
    if (rc == RC_OK && wait)
        rc = pipeline_used_up(ctx, flow, &ending);
    if (rc == RC_OK && wait && ending == NULL)
        *ret_recall = &message;
    return rc;
}

enum rc pipeline_answered(struct context *ctx, struct flow *flow)
{
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    bool plan = blueprint_has(&config->blueprint, STEP_PLAN) && flow->run.plan_sha256 == NULL;
    ctx->round->admit = true; /* One question fewer is open. */
    rc = flow_move(ctx, flow, plan ? RUN_EV_ANSWER_PLAN : RUN_EV_ANSWER,
                   "The agent's question is closed");
    return rc == RC_OK ? pipeline_resume(ctx, flow) : rc;
}
