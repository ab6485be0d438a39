#include "core/run/question_spec.h"
#include "base/fields.h"
#include "core/text/prose.h"
#include <assert.h>
#include <string.h>

#define TIMEOUT_MS_MAX (INT64_C(30) * 24 * 3600 * 1000)
enum { OPTIONS_BYTES_MAX = 8 * 1024 };

static void read_plain(struct fields *fields, const char *key, enum field_need need,
                       const char **ret_text)
{
    fields_string(fields, key, need, &(struct field_text){.min = 1, .max = QUESTION_BYTES_MAX},
                  ret_text);
    if (fields->rc == RC_OK && *ret_text != NULL && !prose_is_plain(*ret_text))
        fields_fail(fields, key, "%s must be text, without control characters", key);
}

static bool is_option(const struct question_spec *spec, const char *text)
{
    for (size_t i = 0; i < spec->option_count; i++)
        if (strcmp(spec->options[i], text) == 0)
            return true;
    return false;
}

static void read_options(struct fields *fields, struct question_spec *spec)
{
    const struct js *array = NULL;
    fields_strings(fields, "options", FIELD_OPTIONAL, QUESTION_OPTIONS_MAX,
                   &(struct field_text){.min = 1, .max = OPTION_BYTES_MAX}, &array);
    for (size_t i = 0; fields->rc == RC_OK && i < js_count(array); i++) {
        const char *option = js_str(js_at(array, i), "");
        if (!prose_is_plain(option) || strpbrk(option, "\r\n") != NULL)
            fields_fail(fields, "options", "options must be lines of text");
        else if (is_option(spec, option))
            fields_fail(fields, "options", "options has \"%s\" twice", option);
        else
            spec->options[spec->option_count++] = option;
    }
}

enum rc question_spec_decode(const struct js *object, const char *path,
                             struct question_spec *ret_spec, struct err *err)
{
    struct question_spec spec = {0};
    struct fields fields;
    fields_open(&fields, object, path, err);
    read_plain(&fields, "text", FIELD_REQUIRED, &spec.text);
    read_options(&fields, &spec);
    read_plain(&fields, "default", FIELD_OPTIONAL, &spec.default_answer);
    fields_int(&fields, "timeoutMs", FIELD_OPTIONAL,
               &(struct field_range){QUESTION_MS_MIN, TIMEOUT_MS_MAX}, &spec.timeout_ms);
    if (fields.rc == RC_OK && spec.default_answer != NULL && spec.option_count > 0 &&
        !is_option(&spec, spec.default_answer))
        fields_fail(&fields, "default", "default must be one of options");
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        *ret_spec = spec;
    return rc;
}

void question_spec_add(struct question_spec *spec, const char *label, struct arena *arena)
{
    enum { NUMBER_BYTES = 8 };
    const char *line = prose_line(arena, label, OPTION_BYTES_MAX - NUMBER_BYTES);
    const char *option = line[0] != '\0' ? line : "-";
    assert(spec->option_count < QUESTION_OPTIONS_MAX);
    for (int i = 2; is_option(spec, option); i++)
        option = arena_printf(arena, "%s (%d)", line, i);
    spec->options[spec->option_count++] = option;
}

static void write_options(struct jw *jw, const struct question_spec *spec)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < spec->option_count; i++)
        jw_str(jw, spec->options[i]);
    jw_end(jw, ']');
}

void question_spec_write(struct jw *jw, const struct question_spec *spec)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "text", spec->text);
    if (spec->option_count > 0) {
        jw_key(jw, "options");
        write_options(jw, spec);
    }
    jw_optstr(jw, "default", spec->default_answer);
    if (spec->timeout_ms > 0)
        jw_kint(jw, "timeoutMs", spec->timeout_ms);
    jw_end(jw, '}');
}

struct str question_spec_options(const struct question_spec *spec, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, OPTIONS_BYTES_MAX);
    struct jw jw = jw_to(&text);
    if (spec->option_count == 0)
        return (struct str){0};
    write_options(&jw, spec);
    return str_of(arena_strdup(arena, buf_text(&text)));
}
