#include "work/agent/refusal.h"
#include "base/rc.h"
#include "work/agent/quota.h"
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    UNAUTHORIZED = 401,
    PAYMENT_REQUIRED = 402,
    REQUEST_TIMEOUT = 408,
    TOO_MANY_REQUESTS = 429,
    SERVER_ERRORS = 500,
    SERVER_ERRORS_END = 600,
};

static const char *const credit_phrases[] = {
    "credit balance is too low", "insufficient credit", "insufficient_credit", "out of credits",
    "payment required",          "billing_error",
};

static const char *const login_phrases[] = {
    "401 unauthorized",      "status 401",        "status: 401",          "http 401",
    "api error: 401",        "error code: 401",   "authentication_error", "authentication_failed",
    "authentication failed", "invalid x-api-key", "invalid api key",      "invalid_api_key",
    "api key not valid",     "api_key_invalid",   "token has expired",    "token expired",
    "please run /login",     "not logged in",     "please log in",        "login again",
    "log in again",          "unauthenticated",
};

static const char *const overload_phrases[] = {
    "overloaded",          "status 500",
    "status 502",          "status 503",
    "status 504",          "status 529",
    "status: 500",         "status: 502",
    "status: 503",         "status: 504",
    "status: 529",         "api error: 50",
    "api error: 529",      "internal server error",
    "bad gateway",         "service unavailable",
    "gateway timeout",     "high demand",
    "stream disconnected", "connection error",
    "connection reset",    "connection refused",
    "connectionrefused",   "connection closed",
    "connection failed",   "connection lost",
    "unable to connect",   "econnreset",
    "econnrefused",        "etimedout",
    "enotfound",           "eai_again",
    "socket hang up",      "network error",
    "fetch failed",        "error sending request",
    "request timed out",   "server_error",
    "model is overloaded",
};

static bool has_one_of(const char *low, const char *const *phrases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(low, phrases[i]) != NULL)
            return true;
    }
    return false;
}

enum refusal refusal_of(int64_t status, const char *text)
{
    char low[QUOTA_TEXT_MAX];
    size_t len = strnlen(text, sizeof low - 1);
    for (size_t i = 0; i < len; i++)
        low[i] = (char)tolower((unsigned char)text[i]);
    low[len] = '\0';
    /* A refusal for want of money comes as 400, 402, 403 or 429. */
    if (status == PAYMENT_REQUIRED || has_one_of(low, credit_phrases, COUNT_OF(credit_phrases)))
        return REFUSAL_CREDIT;
    if (status == UNAUTHORIZED || has_one_of(low, login_phrases, COUNT_OF(login_phrases)))
        return REFUSAL_LOGIN;
    if (status == TOO_MANY_REQUESTS || quota_mentioned(text))
        return REFUSAL_QUOTA;
    bool server = status >= SERVER_ERRORS && status < SERVER_ERRORS_END;
    if (server || status == REQUEST_TIMEOUT ||
        has_one_of(low, overload_phrases, COUNT_OF(overload_phrases)))
        return REFUSAL_OVERLOAD;
    return REFUSAL_NONE;
}
