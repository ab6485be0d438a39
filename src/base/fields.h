/*
 * fields.h - reads a JSON object field by field and refuses what does not fit,
 * by name.
 *
 *     struct form form;
 *     fields_open(&form, tree, "", err);
 *     fields_string(&form, "repository", FIELD_REQUIRED, &(struct field_text){.max = 200}, &name);
 *     fields_int(&form, "priority", FIELD_OPTIONAL, &(struct field_range){0, 1000}, &priority);
 *     rc = fields_close(&form);      // RC_INVALID also for every member that was not read
 *
 * The first error wins; later calls do nothing.  Outputs keep their old value
 * (the default) when a field is absent or null.  Strings live in the tree.
 */
#ifndef BASE_FIELDS_H
#define BASE_FIELDS_H
#include "base/js.h"

enum field_need { FIELD_OPTIONAL, FIELD_REQUIRED };
enum { FIELDS_MAX = 48 };

struct fields {
    const struct js *object;
    const char *path; /* Dotted prefix for messages: "", "agent", "verify[0]". */
    struct err *err;
    enum rc rc;
    const char *asked[FIELDS_MAX];
    size_t asked_count;
};
struct field_range {
    int64_t min, max;
};
struct field_real {
    double min, max;
};
struct field_text {
    size_t min, max; /* Bytes; max 0 means 4096. */
};

void fields_open(struct fields *fields, const struct js *object, const char *path, struct err *err);
void fields_string(struct fields *fields, const char *key, enum field_need need,
                   const struct field_text *limits, const char **ret_text);
void fields_int(struct fields *fields, const char *key, enum field_need need,
                const struct field_range *limits, int64_t *ret_value);
void fields_real(struct fields *fields, const char *key, enum field_need need,
                 const struct field_real *limits, double *ret_value);
void fields_bool(struct fields *fields, const char *key, enum field_need need, bool *ret_value);

/* One of the names (NULL-terminated list); the message lists what is allowed. */
void fields_choice(struct fields *fields, const char *key, enum field_need need,
                   const char *const *names, int *ret_index);
void fields_object(struct fields *fields, const char *key, enum field_need need,
                   const struct js **ret_object);
void fields_array(struct fields *fields, const char *key, enum field_need need, size_t count_max,
                  const struct js **ret_array);

/* An array of strings, each within the limits. */
void fields_strings(struct fields *fields, const char *key, enum field_need need, size_t count_max,
                    const struct field_text *each, const struct js **ret_array);

/* Any value, unchanged. */
void fields_any(struct fields *fields, const char *key, enum field_need need,
                const struct js **ret_value);

/* Lets the caller add an error of its own at a field. */
void fields_fail(struct fields *fields, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* RC_OK, or RC_INVALID with code INVALID_FIELD, MISSING_FIELD or UNKNOWN_FIELD. */
MUST_USE enum rc fields_close(struct fields *fields);
#endif
