/*
 * problem.h - failures as HTTP answers: RFC 9457 application/problem+json.
 *
 *     {"type": "about:blank", "code": "INVALID_FIELD", "title": "Unprocessable Content",
 *      "status": 422, "detail": "priority must be between 0 and 1000, not -1",
 *      "field": "priority", "requestId": "..."}
 *
 * The only table from enum rc to HTTP status is in problem.c.
 */
#ifndef HTTP_PROBLEM_H
#define HTTP_PROBLEM_H
#include "base/jw.h"
#include "base/rc.h"

#define PROBLEM_CONTENT_TYPE "application/problem+json"

struct problem {
    int status;
    const char *code;
    const char *detail;
    const char *field;      /* NULL or "": none. */
    const char *request_id; /* NULL: none. */
    struct str errors;      /* JSON array of {path, message, line}, or empty. */
    int64_t retry_after_ms; /* When to retry; 0: by the status. */
    struct str policy;      /* The decision of a policy that refuses, as JSON; or empty. */
};

int problem_status(enum rc rc);              /* 500 for codes that no answer should have. */
const char *problem_code(enum rc rc);        /* For an err without a code: "NOT_FOUND", ... */
const char *problem_title(int status);       /* "Not Found" */
int problem_retry_after_seconds(int status); /* 0: the header is not sent. */
int64_t problem_retry_seconds(const struct problem *problem); /* The same, for this one. */

/* err may be empty; its strings are not copied. */
struct problem problem_of(enum rc rc, const struct err *err);
void problem_write(struct jw *jw, const struct problem *problem);
#endif
