/*
 * report_shape.h - the members that a JSON object must and may have: results of steps
 * (core/step_table.c) and progress events (core/run/worker_report.c).
 *
 * A member that a shape names has its type, its range and its set of values, or the object is
 * refused; null counts as absent.  Members that it does not name are ignored.
 */
#ifndef CORE_REPORT_SHAPE_H
#define CORE_REPORT_SHAPE_H
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdint.h>

enum report_kind {
    KIND_TEXT,     /* At most `max` bytes. */
    KIND_LINE,     /* The same without control characters. */
    KIND_SHA256,   /* Of an artifact. */
    KIND_SHA256_0, /* The same, or "". */
    KIND_COMMIT,   /* Or a tree. */
    KIND_REF,
    KIND_PATH,   /* Absolute, one line. */
    KIND_CHOICE, /* One of `choices`. */
    KIND_COUNT,  /* 0 to `max`. */
    KIND_INT,
    KIND_NUMBER, /* 0 to `max`. */
    KIND_BOOL,
    KIND_ARRAY,  /* At most `max` of anything. */
    KIND_OBJECT, /* Of `shape`, or of any. */
    KIND_LIST,   /* At most `max` objects of `shape`. */
};

enum { OPTIONAL, REQUIRED };

struct report_shape;
struct report_field {
    const char *name;
    enum report_kind kind;
    int required;
    int64_t max;
    const char *const *choices;
    const struct report_shape *shape;
};
struct report_shape {
    const struct report_field *fields;
    size_t count;
};
#define REPORT_SHAPE(table)      \
    {                            \
        (table), COUNT_OF(table) \
    }

/* Usual limits. */
enum { TEXT_MAX = 16 * 1024, LINE_MAX_BYTES = 1000, PATH_TEXT_MAX = 4096 };
#define COUNT_MAX (INT64_C(1) << 53)
#define MONEY_MAX INT64_C(1000000)

/* What is checked, for messages: "the result of verify", INVALID_RESULT. */
struct report_subject {
    const char *what;
    const char *code;
};
/* RC_INVALID with the code; err names the member.  An object. */
MUST_USE enum rc report_shape_check(const struct report_shape *shape, const struct js *object,
                                    const struct report_subject *subject, struct err *err);

/* 40 or 64 lower-case hexadecimal digits. */
bool report_is_commit(const char *text);
/* The path of a ref without anything that git or a shell could take for something else. */
bool report_is_ref(const char *text);
#endif
