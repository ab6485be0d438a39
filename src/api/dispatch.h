/*
 * dispatch.h - how a request gets to its handler, and its answer back.
 *
 *   loop:  find the route, check the token, the rates and the body's type, then by kind
 *          instant --> answered here
 *          query   --> pool thread reads the store, fills the answer --> loop sends it
 *          command --> built here, posted to the committer --> done() --> loop answers
 *                      the call owns it from call_own on (call.h) to dispatch_finished
 *          stream  --> sse.c
 *          wait    --> its handler (event_wait.c; mcp/, which runs other routes by dispatch_inner)
 *
 * struct call (call.h) is one request in progress.  It starts with its struct http_request, and has
 * the same owner at every moment (http.h).
 */
#ifndef API_DISPATCH_H
#define API_DISPATCH_H
#include "api/call.h"

/* For struct http_options: handle, finished, gate with ctx = the api. */
void dispatch_handle(void *api, struct http_request *request);
void dispatch_finished(void *api, struct http_request *request);
bool dispatch_claim(void *api, const struct http_head *head, struct caps_key *ret_key);
bool dispatch_privileged(void *api, const struct http_head *head);
enum rc dispatch_gate(void *api, const struct http_head *head, struct http_body_plan *plan,
                      struct err *err);

/*
 * Runs a route for a call without a connection of its own (http_inner_new): checks the role and the
 * rates as for any other, and answers.  api, route, vars and who are filled in; the route is no
 * stream.  May answer before it returns.
 */
void dispatch_inner(struct call *inner);

/* Ends the streams and long polls of tokens that were revoked or have expired.  Any thread; for
   auth_watch. */
void dispatch_tokens_lost(void *api);

#endif
