#include "work/agent/acp_form.h"
#include "base/str.h"
#include "core/text/prose.h"
#include <math.h>
#include <string.h>

enum {
    LINE_BYTES = 500, /* Of a title or description. */
    MESSAGE_BYTES = 2000,
    VALUE_BYTES = 100, /* Of a value that is quoted or listed. */
    TRIES_MAX = 3,
};

static const char *line_of(const struct js *object, const char *key, struct arena *arena)
{
    return prose_line(arena, js_get_str(object, key, ""), LINE_BYTES);
}

/* ---- what is wanted ---- */

static bool is_required(const struct js *schema, const char *name)
{
    const struct js *required = js_get(schema, "required");
    size_t count = js_type(required) == JS_ARRAY ? js_count(required) : 0;
    for (size_t i = 0; i < count && i < ACP_FIELDS_MAX; i++)
        if (text_same(js_str(js_at(required, i), ""), name))
            return true;
    return false;
}

/* The only field, or the only one that is required; NULL: there is no such. */
static const struct js *find_property(const struct js *schema, const char **ret_name)
{
    const struct js *properties = js_get(schema, "properties"), *found = NULL, *value;
    const char *key;
    size_t count = js_type(properties) == JS_OBJECT ? js_count(properties) : 0, wanted = 0;
    if (count > ACP_FIELDS_MAX)
        return NULL;
    for (size_t at = 0; count > 0 && js_next(properties, &at, &key, &value);) {
        if (count > 1 && !is_required(schema, key))
            continue;
        wanted++;
        found = value;
        *ret_name = key;
    }
    return wanted == 1 ? found : NULL;
}

static bool is_short(const char *text)
{
    return strlen(text) <= ACP_VALUE_BYTES_MAX;
}

/* False: it is too much.  One without a value is left out. */
static bool add_choice(struct acp_form *form, const char *value, const char *title,
                       struct arena *arena)
{
    if (value == NULL)
        return true;
    if (!is_short(value) || form->choice_count == ACP_CHOICES_MAX)
        return false;
    form->choices[form->choice_count] = arena_strdup(arena, value);
    form->titles[form->choice_count++] = prose_line(arena, title, VALUE_BYTES);
    return true;
}

/* False: not all of them can be offered, or there are none. */
static bool read_choices(struct acp_form *form, const struct js *property, struct arena *arena)
{
    const struct js *plain = js_get(property, "enum"), *titled = js_get(property, "oneOf");
    bool good = true;
    for (size_t i = 0; js_type(plain) == JS_ARRAY && i < js_count(plain) && good; i++)
        good = add_choice(form, js_str(js_at(plain, i), NULL), js_str(js_at(plain, i), ""), arena);
    for (size_t i = 0; js_type(titled) == JS_ARRAY && i < js_count(titled) && good; i++) {
        const char *value = js_get_str(js_at(titled, i), "const", NULL);
        good = add_choice(form, value, js_get_str(js_at(titled, i), "title", value), arena);
    }
    return good && form->choice_count > 0;
}

static bool has_choices(const struct js *property)
{
    return js_type(js_get(property, "enum")) == JS_ARRAY ||
           js_type(js_get(property, "oneOf")) == JS_ARRAY;
}

/* False: not one value that a person could say. */
static bool read_property(struct acp_form *form, const struct js *property, struct arena *arena)
{
    static const char *const kinds[] = {[ACP_TEXT] = "string",
                                        [ACP_CHOICE] = "",
                                        [ACP_BOOL] = "boolean",
                                        [ACP_INT] = "integer",
                                        [ACP_NUMBER] = "number"};
    const char *type = js_get_str(property, "type", "-");
    size_t kind = 0;
    while (kind < COUNT_OF(kinds) && !text_same(kinds[kind], type))
        kind++;
    if (kind == COUNT_OF(kinds))
        return false;
    form->kind = (enum acp_value)kind;
    form->least = js_num(js_get(property, "minimum"), -INFINITY);
    form->most = js_num(js_get(property, "maximum"), INFINITY);
    form->shortest = js_get_int(property, "minLength", 0);
    form->longest = js_get_int(property, "maxLength", INT64_MAX);
    if (form->kind != ACP_TEXT || !has_choices(property))
        return true;
    form->kind = ACP_CHOICE;
    return read_choices(form, property, arena);
}

/* ---- the question ---- */

/* Choices that are too many for options are typed. */
static void add_options(const struct acp_form *form, struct question_spec *spec,
                        struct arena *arena)
{
    if (form->kind == ACP_BOOL) {
        question_spec_add(spec, "yes", arena);
        question_spec_add(spec, "no", arena);
    }
    for (size_t i = 0; i < form->choice_count && form->choice_count < QUESTION_OPTIONS_MAX; i++)
        question_spec_add(spec, form->titles[i], arena);
    if (spec->option_count > 0)
        question_spec_add(spec, ACP_DECLINE, arena);
}

static void add_range(const struct acp_form *form, struct buf *text)
{
    buf_adds(text, form->kind == ACP_INT ? "A whole number" : "A number");
    if (isfinite(form->least))
        buf_addf(text, ", at least %.15g", form->least);
    if (isfinite(form->most))
        buf_addf(text, ", at most %.15g", form->most);
    buf_adds(text, ". ");
}

static void add_length(const struct acp_form *form, struct buf *text)
{
    if (form->shortest > 0)
        buf_addf(text, "At least %lld characters. ", (long long)form->shortest);
    if (form->longest < INT64_MAX)
        buf_addf(text, "At most %lld characters. ", (long long)form->longest);
}

/* What an answer has to be, where options do not show it.  Formats and patterns are the agent's to
   check. */
static void add_rules(const struct acp_form *form, const struct js *property, struct arena *arena,
                      struct buf *text)
{
    static const char *const shown[] = {"format", "pattern"};
    buf_addc(text, '\n');
    if (form->kind == ACP_INT || form->kind == ACP_NUMBER)
        add_range(form, text);
    if (form->kind == ACP_TEXT)
        add_length(form, text);
    for (size_t i = 0; form->kind == ACP_TEXT && i < COUNT_OF(shown); i++)
        if (!text_empty(js_get_str(property, shown[i], "")))
            buf_addf(text, "Its %s: %s. ", shown[i], line_of(property, shown[i], arena));
    for (size_t i = 0; i < form->choice_count; i++)
        buf_addf(text, "%s%s", i == 0 ? "One of: " : ", ", form->titles[i]);
    buf_addf(text, "%s" ACP_DECLINE " declines.", form->choice_count > 0 ? ". " : "");
}

static const char *fitted(const struct buf *text, struct arena *arena)
{
    return arena_strndup(arena, buf_text(text),
                         prose_fit(buf_text(text), text->len, QUESTION_BYTES_MAX));
}

static void write_text(struct acp_form *form, const struct js *params, const struct js *property,
                       struct arena *arena, struct question_spec *spec)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, QUESTION_BYTES_MAX * 4);
    const char *title = line_of(property, "title", arena);
    const char *more = line_of(property, "description", arena);
    buf_addf(&text, "The agent asks: %s\n%s",
             prose_line(arena, js_get_str(params, "message", ""), MESSAGE_BYTES),
             title[0] != '\0' ? title : prose_line(arena, form->property, LINE_BYTES));
    if (more[0] != '\0')
        buf_addf(&text, ": %s", more);
    if (spec->option_count == 0)
        add_rules(form, property, arena, &text);
    form->text = spec->text = fitted(&text, arena);
}

/* ---- what answers stand for ---- */

/* The place of the option; SIZE_MAX: it is none. */
static size_t option_at(const struct question_spec *spec, const char *answer)
{
    for (size_t i = 0; i < spec->option_count; i++)
        if (text_same(spec->options[i], answer))
            return i;
    return SIZE_MAX;
}

/* The value of a choice; NULL: it is none of them. */
static const char *choice_of(const struct acp_form *form, const struct question_spec *spec,
                             const char *answer)
{
    size_t at = option_at(spec, answer);
    if (at < form->choice_count)
        return form->choices[at];
    for (size_t i = 0; i < form->choice_count; i++)
        if (text_same(form->choices[i], answer) || text_same(form->titles[i], answer))
            return form->choices[i];
    return NULL;
}

static int64_t characters(const char *text)
{
    int64_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static bool is_number(const struct acp_form *form, const char *answer)
{
    int64_t whole;
    double number;
    return (form->kind != ACP_INT || text_to_i64(answer, &whole)) &&
           text_to_double(answer, &number) && isfinite(number) && number >= form->least &&
           number <= form->most;
}

/* NULL: the agent may have it; else what is wrong with it. */
static const char *find_fault(const struct acp_form *form, const struct question_spec *spec,
                              const char *answer)
{
    int64_t length = characters(answer);
    switch (form->kind) {
    case ACP_TEXT:
        return length >= form->shortest && length <= form->longest ? NULL
                                                                   : "its length does not fit";
    case ACP_CHOICE:
        return choice_of(form, spec, answer) != NULL ? NULL : "it is none of the values";
    case ACP_BOOL:
        return option_at(spec, answer) != SIZE_MAX ? NULL : "it is neither yes nor no";
    case ACP_INT:
    case ACP_NUMBER:
        break;
    }
    return is_number(form, answer) ? NULL : "it is no such number";
}

/* The value that the agent would take, as a person would answer it. */
static const char *default_of(const struct acp_form *form, const struct question_spec *spec,
                              const struct js *value, struct arena *arena)
{
    if (js_type(value) == JS_NULL)
        return NULL;
    if (form->kind == ACP_BOOL)
        return js_type(value) == JS_BOOL ? spec->options[js_bool(value, false) ? 0 : 1] : NULL;
    if (js_type(value) != JS_STRING && js_type(value) != JS_INT && js_type(value) != JS_REAL)
        return NULL;
    const char *text = js_type(value) == JS_STRING ? js_str(value, "") : js_text(value, arena);
    if (text_empty(text) || !prose_is_plain(text) || !is_short(text) ||
        find_fault(form, spec, text) != NULL)
        return NULL;
    for (size_t i = 0; i < form->choice_count && spec->option_count > 0; i++)
        if (text_same(form->choices[i], text))
            return spec->options[i];
    return arena_strdup(arena, text);
}

const char *acp_form_read(struct acp_form *form, const struct js *params, struct arena *arena,
                          struct question_spec *spec)
{
    const char *name = NULL;
    if (!text_same(js_get_str(params, "mode", ""), "form"))
        return "drover offers the mode form only";
    const struct js *property = find_property(js_get(params, "requestedSchema"), &name);
    if (property == NULL || !is_short(name))
        return "drover asks people for one field: the only one, or the only one that is required";
    form->property = arena_strdup(arena, name);
    if (!read_property(form, property, arena))
        return "drover asks people for a string, one of up to 100 short strings, a boolean or a "
               "number";
    add_options(form, spec, arena);
    write_text(form, params, property, arena, spec);
    spec->default_answer = default_of(form, spec, js_get(property, "default"), arena);
    return NULL;
}

/* ---- the result ---- */

static void write_value(const struct acp_form *form, const struct question_spec *spec,
                        const char *answer, struct jw *jw)
{
    int64_t whole = 0;
    double number = 0;
    switch (form->kind) {
    case ACP_TEXT:
        jw_str(jw, answer);
        return;
    case ACP_CHOICE:
        jw_str(jw, choice_of(form, spec, answer));
        return;
    case ACP_BOOL:
        jw_bool(jw, option_at(spec, answer) == 0);
        return;
    case ACP_INT:
        jw_int(jw, text_to_i64(answer, &whole) ? whole : 0);
        return;
    case ACP_NUMBER:
        jw_real(jw, text_to_double(answer, &number) ? number : 0);
        return;
    }
}

static void write_action(struct jw *jw, const char *action)
{
    jw_key(jw, "result");
    jw_begin(jw, '{');
    jw_kstr(jw, "action", action);
    jw_end(jw, '}');
}

void acp_form_cancel(struct jw *jw)
{
    write_action(jw, "cancel");
}

static void accept(const struct acp_form *form, const struct question_spec *spec,
                   const char *answer, struct jw *jw)
{
    jw_key(jw, "result");
    jw_begin(jw, '{');
    jw_kstr(jw, "action", "accept");
    jw_key(jw, "content");
    jw_begin(jw, '{');
    jw_key(jw, form->property);
    write_value(form, spec, answer, jw);
    jw_end(jw, '}');
    jw_end(jw, '}');
}

static void ask_again(const struct acp_form *form, const char *answer, const char *fault,
                      struct arena *arena, struct question_spec *spec)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, QUESTION_BYTES_MAX * 2);
    buf_addf(&text, "\"%s\" was not taken: %s.\n%s", prose_line(arena, answer, VALUE_BYTES), fault,
             form->text);
    spec->text = fitted(&text, arena);
}

bool acp_form_answer(struct acp_form *form, const char *answer, struct arena *arena,
                     struct question_spec *spec, struct jw *jw)
{
    bool declined = text_same(answer, ACP_DECLINE);
    const char *fault = answer != NULL && !declined ? find_fault(form, spec, answer) : NULL;
    if (fault != NULL && ++form->tries < TRIES_MAX) {
        ask_again(form, answer, fault, arena, spec);
        return false;
    }
    if (declined)
        write_action(jw, "decline");
    else if (answer == NULL || fault != NULL)
        write_action(jw, "cancel");
    else
        accept(form, spec, answer, jw);
    return true;
}
