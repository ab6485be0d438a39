/*
 * params.h - the parameters of a URL's query, read field by field like a form.
 *
 *     params_begin(params, err);
 *     params_int(params, "limit", &(struct param_range){1, 200}, &limit);
 *     rc = params_end(params);      // RC_MALFORMED also for every parameter that was not read
 *
 * The first error wins; later calls do nothing.  Outputs keep their old value (the default) when
 * a parameter is absent.  Pure.
 */
#ifndef HTTP_PARAMS_H
#define HTTP_PARAMS_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { PARAMS_MAX = 16 };

struct param_text {
    const char *name, *value; /* Decoded. */
    bool asked;
};
struct params {
    struct param_text items[PARAMS_MAX];
    size_t count;
    struct err *err;
    enum rc rc;
};
struct param_range {
    int64_t min, max;
};

/* Percent-decoding; false for a broken escape, a NUL, and invalid UTF-8. */
MUST_USE bool url_decode(struct str text, bool plus_is_space, struct arena *arena,
                         const char **ret_text);

/* RC_MALFORMED: broken escapes, a name twice, too many. */
MUST_USE enum rc params_parse(struct str text, struct arena *arena, struct params *ret_params,
                              struct err *err);

void params_begin(struct params *params, struct err *err);
void params_text(struct params *params, const char *name, size_t max, const char **ret_text);
void params_int(struct params *params, const char *name, const struct param_range *range,
                int64_t *ret_value);
/* One of the names (NULL-terminated list). */
void params_choice(struct params *params, const char *name, const char *const *names,
                   const char **ret_text);
void params_id(struct params *params, const char *name, struct id *ret_id);
void params_time(struct params *params, const char *name, int64_t *ret_us); /* RFC 3339 */
/* Lets the caller add an error of its own at a parameter. */
void params_fail(struct params *params, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* RC_OK, or RC_MALFORMED with code INVALID_PARAMETER or UNKNOWN_PARAMETER. */
MUST_USE enum rc params_end(struct params *params);
#endif
