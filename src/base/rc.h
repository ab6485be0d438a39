/*
 * rc.h - the one closed set of outcomes, and the text that goes with a failure.
 *
 * Every fallible function returns enum rc, which must be checked.  What people
 * read is in struct err: a machine-readable code, the field that was
 * wrong (if one was), and a sentence about what to do.  ret_ outputs are
 * untouched unless RC_OK is returned.
 */
#ifndef BASE_RC_H
#define BASE_RC_H
#include <stdint.h>

#define MUST_USE               __attribute__((warn_unused_result))
#define CLEANUP(fn)            __attribute__((cleanup(fn)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define COUNT_OF(array)        (sizeof(array) / sizeof((array)[0]))

enum rc {
    RC_OK = 0,
    RC_MALFORMED,    /* Cannot be parsed at all. */
    RC_INVALID,      /* Parsed, but a field is wrong. */
    RC_UNAUTHORIZED, /* No valid credentials. */
    RC_DENIED,       /* Known, but not allowed: role or policy. */
    RC_NOT_FOUND,
    RC_CONFLICT,    /* The present state does not allow it. */
    RC_STALE,       /* The lease was lost: another epoch owns the job. */
    RC_TOO_LARGE,   /* A size limit was passed. */
    RC_LIMIT,       /* A rate or budget is used up. */
    RC_BUSY,        /* A bounded queue is full: try again. */
    RC_TIMEOUT,     /* A deadline passed. */
    RC_CANCELLED,   /* A stop was requested. */
    RC_UNREACHABLE, /* Another server or service did not answer. */
    RC_IO,          /* The operating system or the database failed. */
    RC_CORRUPT,     /* Stored data breaks an invariant. */
    RC_COUNT
};

enum { ERR_CODE_MAX = 64, ERR_FIELD_MAX = 96, ERR_TEXT_MAX = 512 };

struct err {
    char code[ERR_CODE_MAX];   /* INVALID_FIELD, policy.execution_mode_not_allowed, ... */
    char field[ERR_FIELD_MAX]; /* Dotted path of the wrong field, or "". */
    char text[ERR_TEXT_MAX];   /* One or two sentences for a person. */
    int64_t retry_ms;          /* Worth another try after this time; 0: not known. */
};

/* "ok", "invalid", ...: for logs and tests. */
const char *rc_name(enum rc rc);

/* Fills err (which may be NULL) and returns rc, so that callers can `return err_set(...)`. */
enum rc err_set(struct err *err, enum rc rc, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* The same, naming the field that was wrong. */
enum rc err_field(struct err *err, enum rc rc, const char *code, const char *field, const char *fmt,
                  ...) PRINTF_LIKE(5, 6);

/* Puts "what: " in front of the text that is there already; returns rc. */
enum rc err_wrap(struct err *err, enum rc rc, const char *what);

void err_clear(struct err *err);
#endif
