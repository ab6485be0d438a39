/*
 * api_script.h - an HTTP API that answers by a script, for tests of clients of one.
 *
 * Requests must come in the order of the script.  What came otherwise is told by api_script_done().
 */
#ifndef TESTS_UNIT_API_SCRIPT_H
#define TESTS_UNIT_API_SCRIPT_H
#include <stddef.h>

struct script_step {
    const char *request; /* "GET /repos/acme/billing HTTP": the start of it. */
    const char *has[4];  /* What must be in its head or body. */
    const char *lacks;   /* What must not; or NULL */
    const char *status;  /* NULL: "200 OK" */
    const char *headers; /* Lines with their ends; "{base}" is the server's address.  Or NULL */
    const char *body;    /* NULL: none */
    enum {
        SCRIPT_WHOLE,
        SCRIPT_CUT,  /* The body ends before its length. */
        SCRIPT_DROP, /* The connection ends without an answer. */
        SCRIPT_HANG, /* No answer until the script is stopped. */
    } how;
};

struct api_script;
struct api_script *api_script_start(const struct script_step *steps, size_t count);
#define API_SCRIPT(...)                                                  \
    api_script_start((const struct script_step[]){__VA_ARGS__},          \
                     sizeof((const struct script_step[]){__VA_ARGS__}) / \
                         sizeof(struct script_step))
const char *api_script_url(const struct api_script *script);
int api_script_connections(const struct api_script *script);
/* Stops it and fails the test unless every step was taken, in order, and nothing else came. */
void api_script_done(struct api_script *script);
#endif
