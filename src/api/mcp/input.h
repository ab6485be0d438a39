/*
 * input.h - what a tool or prompt asks its client for before it can answer: a form for the person
 * at it, a completion by its model, its roots.
 *
 *   modern   the answer is `input_required` with the questions; the client sends the same request
 *            again, with the answers.  What the server must know then travels in requestState,
 *            signed, bound to its owner and to the request, and valid for some minutes.
 *   legacy   the questions are requests on the stream of the call; the client posts a response to
 *            each, and the call goes on when all are there.
 *
 * Either way the method runs again from its beginning, and finds the answers with input_given.
 */
#ifndef API_MCP_INPUT_H
#define API_MCP_INPUT_H
#include "api/mcp/rpc.h"

enum { INPUT_REQUESTS_MAX = 8 };

struct input_request {
    const char *key;
    const char *method; /* elicitation/create, sampling/createMessage or roots/list */
    struct str params;  /* A JSON object. */
};

struct input_wait;
void input_wait_free(struct input_wait *wait); /* NULL is fine. */

/* Reads inputResponses and requestState.  false: they are wrong, and the rpc is answered. */
bool input_read(struct rpc *rpc);
/* The answer to a question: an object, or NULL. */
const struct js *input_given(const struct rpc *rpc, const char *key);

/* The capability that a client needs for a question of this method. */
unsigned input_needs(const char *method);
/* Asks all questions that the client can answer; again: the method, for a legacy client.  state: a
   text for the next round; or NULL.  Without any that it can answer: MISSING_CAPABILITY. */
void input_ask(struct rpc *rpc, const struct input_request *requests, size_t count,
               const char *state, void (*again)(struct rpc *rpc));
/* Refuses: the client has not declared what the method needs. */
void input_missing(struct rpc *rpc, unsigned client);

/* The members of the form that asks a person this question of an agent (GET /v1/questions/{id}):
   its content has an answer. */
void input_write_question(struct jw *jw, const struct js *question);

/* A legacy client's response to a question.  false: none waits for it. */
bool input_take(struct rpc_list *rpcs, const struct rpc *from);
/* Ends what waits for too long. */
void input_tick(struct rpc_list *rpcs, int64_t now_us);
/* Ends all of them: the server stops. */
void input_end_all(struct rpc_list *rpcs);
bool input_waits(const struct rpc *rpc);
#endif
