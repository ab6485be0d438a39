/*
 * form.h - reads a JSON object field by field and refuses what does not fit,
 * by name.
 *
 *     struct form form;
 *     form_open(&form, tree, "", err);
 *     form_string(&form, "repository", FORM_REQUIRED, &(struct form_text){.max = 200}, &name);
 *     form_int(&form, "priority", FORM_OPTIONAL, &(struct form_range){0, 1000}, &priority);
 *     rc = form_close(&form);      // RC_INVALID also for every member that was not read
 *
 * The first error wins; later calls do nothing.  Outputs keep their old value
 * (the default) when a field is absent or null.  Strings live in the tree.
 */
#ifndef BASE_FORM_H
#define BASE_FORM_H
#include "base/js.h"

enum form_need { FORM_OPTIONAL, FORM_REQUIRED };
enum { FORM_FIELDS_MAX = 48 };

struct form {
    const struct js *object;
    const char *path; /* Dotted prefix for messages: "", "agent", "verify[0]". */
    struct err *err;
    enum rc rc;
    const char *asked[FORM_FIELDS_MAX];
    size_t asked_count;
};
struct form_range {
    int64_t min, max;
};
struct form_real {
    double min, max;
};
struct form_text {
    size_t min, max; /* Bytes; max 0 means 4096. */
};

void form_open(struct form *form, const struct js *object, const char *path, struct err *err);
void form_string(struct form *form, const char *key, enum form_need need,
                 const struct form_text *limits, const char **ret_text);
void form_int(struct form *form, const char *key, enum form_need need,
              const struct form_range *limits, int64_t *ret_value);
void form_real(struct form *form, const char *key, enum form_need need,
               const struct form_real *limits, double *ret_value);
void form_bool(struct form *form, const char *key, enum form_need need, bool *ret_value);

/* One of the names (NULL-terminated list); the message lists what is allowed. */
void form_choice(struct form *form, const char *key, enum form_need need, const char *const *names,
                 int *ret_index);
void form_object(struct form *form, const char *key, enum form_need need,
                 const struct js **ret_object);
void form_array(struct form *form, const char *key, enum form_need need, size_t count_max,
                const struct js **ret_array);

/* An array of strings, each within the limits. */
void form_strings(struct form *form, const char *key, enum form_need need, size_t count_max,
                  const struct form_text *each, const struct js **ret_array);

/* Any value, unchanged. */
void form_any(struct form *form, const char *key, enum form_need need, const struct js **ret_value);

/* Lets the caller add an error of its own at a field. */
void form_fail(struct form *form, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* RC_OK, or RC_INVALID with code INVALID_FIELD, MISSING_FIELD or UNKNOWN_FIELD. */
MUST_USE enum rc form_close(struct form *form);
#endif
