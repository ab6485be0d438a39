#include "core/report_shape.h"
#include "base/hash.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- values ---- */

bool report_is_commit(const char *text)
{
    size_t len = strspn(text, "0123456789abcdef");
    return text[len] == '\0' && (len == 40 || len == 64);
}

bool report_is_ref(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._/-";
    size_t len = strspn(text, plain);
    return text[len] == '\0' && len < LINE_MAX_BYTES && text_starts(text, "refs/") &&
           text[len - 1] != '/' && strstr(text, "..") == NULL && strstr(text, "//") == NULL &&
           strstr(text, "/-") == NULL && strstr(text, "/.") == NULL;
}

static bool is_line(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (*at < 0x20 || *at == 0x7f)
            return false;
    return true;
}

static bool is_choice(const char *const *choices, const char *text)
{
    for (; *choices != NULL; choices++)
        if (strcmp(*choices, text) == 0)
            return true;
    return false;
}

/* What is wrong with the text; NULL: nothing. */
static const char *text_problem(const struct report_field *field, const char *text)
{
    switch (field->kind) {
    case KIND_LINE:
        if (!is_line(text))
            return "must not have control characters";
        return strlen(text) > (size_t)field->max ? "is too long" : NULL;
    case KIND_SHA256:
        return sha256_text_valid(text) ? NULL : "must be a sha256 (64 lower-case hex digits)";
    case KIND_SHA256_0:
        return *text == '\0' || sha256_text_valid(text)
                   ? NULL
                   : "must be a sha256 (64 lower-case hex digits), or empty";
    case KIND_COMMIT:
        return report_is_commit(text) ? NULL
                                      : "must be a git hash (40 or 64 lower-case hex digits)";
    case KIND_REF:
        return report_is_ref(text) ? NULL : "must be the name of a ref";
    case KIND_PATH:
        if (*text != '/' || !is_line(text))
            return "must be an absolute path without control characters";
        return strlen(text) > PATH_TEXT_MAX ? "is too long" : NULL;
    case KIND_CHOICE:
        return is_choice(field->choices, text) ? NULL : "has a value that is not known";
    default:
        return strlen(text) > (size_t)field->max ? "is too long" : NULL;
    }
}

static const char *number_problem(const struct report_field *field, const struct js *value)
{
    enum js_type type = js_type(value);
    if (field->kind == KIND_NUMBER) {
        double number = js_num(value, -1);
        bool good = (type == JS_INT || type == JS_REAL) && isfinite(number) && number >= 0 &&
                    number <= (double)field->max;
        return good ? NULL : "must be a number within its range, and not negative";
    }
    if (type != JS_INT)
        return "must be an integer";
    int64_t number = js_int(value, -1);
    bool good = field->kind == KIND_INT || (number >= 0 && number <= field->max);
    return good ? NULL : "must be within its range, and not negative";
}

static const char *value_problem(const struct report_field *field, const struct js *value)
{
    enum js_type type = js_type(value);
    switch (field->kind) {
    case KIND_COUNT:
    case KIND_INT:
    case KIND_NUMBER:
        return number_problem(field, value);
    case KIND_BOOL:
        return type == JS_BOOL ? NULL : "must be true or false";
    case KIND_OBJECT:
        return type == JS_OBJECT ? NULL : "must be an object";
    case KIND_ARRAY:
    case KIND_LIST:
        if (type != JS_ARRAY)
            return "must be an array";
        return js_count(value) > (size_t)field->max ? "has too many elements" : NULL;
    default:
        return type == JS_STRING ? text_problem(field, js_str(value, "")) : "must be a string";
    }
}

/* ---- shapes ---- */

enum { FIELD_PATH_BYTES = 128, DEPTH_MAX = 4 };

struct place {
    const struct report_subject *subject;
    char path[FIELD_PATH_BYTES]; /* "" or "checks[0]." */
};

static enum rc check_shape_of(const struct report_shape *shape, const struct js *object,
                              const struct place *place, int depth, struct err *err);

static enum rc refuse(const struct place *place, const char *name, const char *problem,
                      struct err *err)
{
    char field[FIELD_PATH_BYTES + 64];
    (void)snprintf(field, sizeof field, "%s%s", place->path, name);
    return err_field(err, RC_INVALID, place->subject->code, field, "%s: %s %s",
                     place->subject->what, field, problem);
}

static enum rc check_inner(const struct report_field *field, const struct js *value,
                           const struct place *place, int depth, struct err *err)
{
    struct place inner = *place;
    if (field->kind == KIND_OBJECT) {
        (void)snprintf(inner.path, sizeof inner.path, "%.90s%s.", place->path, field->name);
        return check_shape_of(field->shape, value, &inner, depth + 1, err);
    }
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(value); i++) {
        const struct js *item = js_at(value, i);
        (void)snprintf(inner.path, sizeof inner.path, "%.70s%s[%zu].", place->path, field->name, i);
        if (js_type(item) != JS_OBJECT)
            return refuse(place, field->name, "must hold objects only", err);
        rc = check_shape_of(field->shape, item, &inner, depth + 1, err);
    }
    return rc;
}

/* Shapes hold shapes, DEPTH_MAX deep at most: the tables are static.
   NOLINTNEXTLINE(misc-no-recursion) */
static enum rc check_shape_of(const struct report_shape *shape, const struct js *object,
                              const struct place *place, int depth, struct err *err)
{
    if (depth > DEPTH_MAX)
        return refuse(place, "", "is nested too deeply", err);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < shape->count; i++) {
        const struct report_field *field = &shape->fields[i];
        const struct js *value = js_get(object, field->name);
        if (js_type(value) == JS_NULL) {
            if (field->required == REQUIRED)
                return refuse(place, field->name, "is missing", err);
            continue;
        }
        const char *problem = value_problem(field, value);
        if (problem != NULL)
            return refuse(place, field->name, problem, err);
        if (field->shape != NULL)
            rc = check_inner(field, value, place, depth, err);
    }
    return rc;
}

enum rc report_shape_check(const struct report_shape *shape, const struct js *object,
                           const struct report_subject *subject, struct err *err)
{
    struct place place = {.subject = subject};
    return check_shape_of(shape, object, &place, 0, err);
}
