/*
 * acp_asks.h - requests of an agent that people answer, each as a question
 * (core/run/question_spec.h): permissions of the Agent Client Protocol, and forms (acp_form.h).
 *
 *     request --> waits, first come first served --> answer, default, or none --> response
 *
 * A permission is asked for with the agent's own options.  Without an answer it is rejected: this
 * once, if the agent offers that.
 *
 * Everything in a request was written by the agent: texts are cut to size and are one line each.
 */
#ifndef WORK_AGENT_ACP_ASKS_H
#define WORK_AGENT_ACP_ASKS_H
#include "work/agent/acp_form.h"
#include "work/agent/adapter.h"

enum { ACP_ASKS_MAX = 16 };

struct acp_ask;
struct acp_asks { /* Zeroed: none. */
    struct acp_ask *waiting[ACP_ASKS_MAX];
    size_t count;
};
void acp_asks_release(struct acp_asks *asks);

struct acp_permission {
    const char *rpc_id;      /* JSON text. */
    const char *name;        /* Of the tool, or NULL. */
    const char *title;       /* Of the call, as it was announced, or NULL. */
    const struct js *params; /* Of session/request_permission. */
};
/* False: too many wait already, or there is nothing to choose. */
MUST_USE bool acp_asks_permission(struct acp_asks *asks, const struct acp_permission *request);
/* params of elicitation/create.  NULL: it waits; else why it cannot be asked. */
const char *acp_asks_form(struct acp_asks *asks, const char *rpc_id, const struct js *params);

/* The question of the first one, or NULL. */
const struct question_spec *acp_asks_first(const struct acp_asks *asks);
/* If that is a permission: the call of a tool as this answer allows or denies it.  Its texts live
   as long as the request. */
MUST_USE bool acp_asks_verdict(const struct acp_asks *asks, const char *answer,
                               struct tool_event *ret_event);
/* Its answer, or NULL: there is none.  Writes "id" and "result" into an open object, and the next
   one is the first.  False: it is to be asked again, and what was written counts for nothing. */
MUST_USE bool acp_asks_answer(struct acp_asks *asks, const char *answer, struct jw *jw);
/* The same for the turn that is cancelled. */
void acp_asks_cancel(struct acp_asks *asks, struct jw *jw);
/* The agent has given this request up, which may be answered already: false. */
MUST_USE bool acp_asks_drop(struct acp_asks *asks, const char *rpc_id);

/* The result of a request for permission; NULL: none of the options was chosen. */
void acp_write_outcome(struct jw *jw, const char *option_id);
/* The first option of this kind, or NULL. */
const char *acp_option(const struct js *options, const char *kind);
/* The option that rejects, this once if there is one; NULL: none does. */
const char *acp_rejection(const struct js *options);
#endif
