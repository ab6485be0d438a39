/*
 * problem.c - the table from enum rc to HTTP status, and the document that goes with it.
 */
#include "http/problem.h"
#include "base/str.h"
#include <assert.h>

static const struct outcome {
    int status;
    const char *code;
} outcomes[RC_COUNT] = {
    [RC_OK] = {500, "INTERNAL"},
    [RC_MALFORMED] = {400, "MALFORMED"},
    [RC_INVALID] = {422, "INVALID"},
    [RC_UNAUTHORIZED] = {401, "UNAUTHORIZED"},
    [RC_DENIED] = {403, "DENIED"},
    [RC_NOT_FOUND] = {404, "NOT_FOUND"},
    [RC_CONFLICT] = {409, "CONFLICT"},
    [RC_STALE] = {409, "LEASE_LOST"},
    [RC_TOO_LARGE] = {413, "TOO_LARGE"},
    [RC_LIMIT] = {429, "LIMIT"},
    [RC_BUSY] = {503, "BUSY"},
    [RC_TIMEOUT] = {504, "TIMEOUT"},
    [RC_CANCELLED] = {503, "CANCELLED"},
    [RC_UNREACHABLE] = {502, "UNREACHABLE"},
    [RC_IO] = {500, "IO"},
    [RC_CORRUPT] = {500, "CORRUPT"},
};

static const struct {
    int status;
    const char *title;
} titles[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

enum { RETRY_BUSY_SECONDS = 1, RETRY_LIMIT_SECONDS = 60 };

int problem_status(enum rc rc)
{
    assert(rc < RC_COUNT);
    return outcomes[rc].status;
}

const char *problem_code(enum rc rc)
{
    assert(rc < RC_COUNT);
    return outcomes[rc].code;
}

const char *problem_title(int status)
{
    for (size_t i = 0; i < COUNT_OF(titles); i++) {
        if (titles[i].status == status)
            return titles[i].title;
    }
    return "Unknown";
}

int problem_retry_after_seconds(int status)
{
    if (status == problem_status(RC_BUSY))
        return RETRY_BUSY_SECONDS;
    return status == problem_status(RC_LIMIT) ? RETRY_LIMIT_SECONDS : 0;
}

int64_t problem_retry_seconds(const struct problem *problem)
{
    if (problem->retry_after_ms <= 0)
        return problem_retry_after_seconds(problem->status);
    return (problem->retry_after_ms - 1) / 1000 + 1;
}

struct problem problem_of(enum rc rc, const struct err *err)
{
    bool said = err != NULL && err->code[0];
    /* An unreachable store is temporary: a client that retries is served. */
    bool store_away = rc == RC_UNREACHABLE && said &&
                      (text_starts(err->code, "STORE_") || text_same(err->code, "COMMIT_UNKNOWN"));
    return (struct problem){.status = problem_status(store_away ? RC_BUSY : rc),
                            .code = said ? err->code : problem_code(rc),
                            .detail = err != NULL && err->text[0] ? err->text : rc_name(rc),
                            .field = err != NULL ? err->field : NULL,
                            .retry_after_ms = err != NULL ? err->retry_ms : 0};
}

void problem_write(struct jw *jw, const struct problem *problem)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "about:blank");
    jw_kstr(jw, "code", problem->code);
    jw_kstr(jw, "title", problem_title(problem->status));
    jw_kint(jw, "status", problem->status);
    jw_kstr(jw, "detail", problem->detail);
    jw_optstr(jw, "field", problem->field);
    if (problem->errors.len > 0)
        jw_kraw(jw, "errors", problem->errors);
    if (problem->retry_after_ms > 0)
        jw_kint(jw, "retryAfterMs", problem->retry_after_ms);
    if (problem->policy.len > 0)
        jw_kraw(jw, "policy", problem->policy);
    jw_optstr(jw, "requestId", problem->request_id);
    jw_end(jw, '}');
}
