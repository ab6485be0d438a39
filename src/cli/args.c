#include "cli/args.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/suggest.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static const struct arg_option *find(const struct args *args, struct str name)
{
    for (size_t i = 0; i < args->table_count; i++) {
        for (const struct arg_option *each = args->tables[i]; each->name != NULL; each++) {
            if (str_is(name, each->name))
                return each;
        }
    }
    return NULL;
}

/* " (did you mean --watch?)", or "". */
static const char *suggestion(const struct args *args, struct str name, struct arena *arena)
{
    struct suggest suggest = suggest_for(str_dup(arena, name));
    for (size_t i = 0; i < args->table_count; i++) {
        for (const struct arg_option *each = args->tables[i]; each->name != NULL; each++)
            suggest_offer(&suggest, each->name);
    }
    return suggest.closest != NULL ? arena_printf(arena, " (did you mean --%s?)", suggest.closest)
                                   : "";
}

static enum rc refuse(struct err *err, const struct arg_option *option, const char *what)
{
    return err_field(err, RC_INVALID, "USAGE", option->name, "--%s %s", option->name, what);
}

static enum rc check_choice(const struct arg_option *option, const char *text, struct err *err)
{
    CLEANUP(buf_release) struct buf list;
    buf_init(&list, ERR_TEXT_MAX);
    for (const char *const *each = option->choices; *each != NULL; each++) {
        if (text_same(*each, text))
            return RC_OK;
        buf_addf(&list, "%s%s", each == option->choices ? "" : ", ", *each);
    }
    return err_field(err, RC_INVALID, "USAGE", option->name, "--%s takes one of: %s (not \"%s\")",
                     option->name, buf_text(&list), text);
}

static enum rc check_value(const struct arg_option *option, const char *text, struct err *err)
{
    int64_t number = 0;
    double real = 0;
    switch (option->kind) {
    case ARG_FLAG:
        return RC_OK;
    case ARG_TEXT:
    case ARG_LIST:
        return *text != '\0' ? RC_OK : refuse(err, option, "needs a value that is not empty");
    case ARG_INT:
        if (text_to_i64(text, &number) && number >= option->min && number <= option->max)
            return RC_OK;
        return err_field(err, RC_INVALID, "USAGE", option->name,
                         "--%s takes a whole number from %lld to %lld (not \"%s\")", option->name,
                         (long long)option->min, (long long)option->max, text);
    case ARG_REAL:
        if (text_to_double(text, &real) && isfinite(real) && real >= 0)
            return RC_OK;
        return err_field(err, RC_INVALID, "USAGE", option->name,
                         "--%s takes a number that is not negative (not \"%s\")", option->name,
                         text);
    case ARG_CHOICE:
        return check_choice(option, text, err);
    }
    return RC_OK;
}

/* argv[*at] begins with "--" and is longer; *at moves on when the value is the next word. */
static enum rc take_option(struct args *args, size_t argc, char *const *argv, size_t *at,
                           struct arena *arena, struct err *err)
{
    const char *body = argv[*at] + 2;
    struct str name = {body, strcspn(body, "=")};
    const char *value = body[name.len] == '=' ? body + name.len + 1 : NULL;
    const struct arg_option *option = find(args, name);
    if (option == NULL)
        return err_set(err, RC_INVALID, "USAGE", "there is no option --%.*s%s", (int)name.len, body,
                       suggestion(args, name, arena));
    if (option->kind == ARG_FLAG && value != NULL)
        return refuse(err, option, "takes no value");
    if (option->kind != ARG_LIST && args_has(args, option->name))
        return refuse(err, option, "was given twice");
    if (option->kind != ARG_FLAG && value == NULL) {
        if (*at + 1 >= argc)
            return err_field(err, RC_INVALID, "USAGE", option->name, "--%s needs a value: --%s %s",
                             option->name, option->name, option->value);
        value = argv[++*at];
    }
    enum rc rc = check_value(option, value, err);
    if (rc != RC_OK)
        return rc;
    if (args->given_count == ARGS_GIVEN_MAX)
        return err_set(err, RC_INVALID, "USAGE", "more than %d options", ARGS_GIVEN_MAX);
    args->given[args->given_count].option = option;
    args->given[args->given_count++].text = value;
    return RC_OK;
}

enum rc args_parse(struct args *args, size_t argc, char *const *argv, struct arena *arena,
                   struct err *err)
{
    bool words_only = false;
    args->words = arena_array(arena, argc + 1, sizeof *args->words);
    for (size_t i = 0; i < argc; i++) {
        const char *text = argv[i];
        if (words_only || text[0] != '-' || text[1] == '\0') {
            args->words[args->word_count++] = text; /* A lone dash is a word: stdin. */
        } else if (text_same(text, "--")) {
            words_only = true;
        } else if (text[1] != '-') {
            return err_set(err, RC_INVALID, "USAGE",
                           "there is no option %s%s; options are long (--name), and words that "
                           "begin with a dash come after --",
                           text, suggestion(args, str_of(text + 1), arena));
        } else {
            enum rc rc = take_option(args, argc, argv, &i, arena, err);
            if (rc != RC_OK)
                return rc;
        }
    }
    return RC_OK;
}

const char *args_next(const struct args *args, const char *name, size_t *position)
{
    assert(find(args, str_of(name)) != NULL);
    while (*position < args->given_count) {
        size_t i = (*position)++;
        if (text_same(args->given[i].option->name, name))
            return args->given[i].text != NULL ? args->given[i].text : "";
    }
    return NULL;
}

bool args_has(const struct args *args, const char *name)
{
    size_t position = 0;
    return args_next(args, name, &position) != NULL;
}

const char *args_text(const struct args *args, const char *name, const char *fallback)
{
    size_t position = 0;
    const char *text = args_next(args, name, &position);
    return text != NULL ? text : fallback;
}

int64_t args_int(const struct args *args, const char *name, int64_t fallback)
{
    int64_t value = fallback;
    const char *text = args_text(args, name, NULL);
    bool fine = text == NULL || text_to_i64(text, &value);
    assert(fine); /* Checked when it was read. */
    (void)fine;
    return value;
}

double args_real(const struct args *args, const char *name, double fallback)
{
    double value = fallback;
    const char *text = args_text(args, name, NULL);
    bool fine = text == NULL || text_to_double(text, &value);
    assert(fine);
    (void)fine;
    return value;
}

const char *args_word(const struct args *args, size_t index)
{
    return index < args->word_count ? args->words[index] : NULL;
}

char *args_joined(const struct args *args, struct arena *arena)
{
    size_t len = 1;
    for (size_t i = 0; i < args->word_count; i++)
        len += strlen(args->words[i]) + 1;
    char *text = arena_alloc(arena, len);
    char *at = text;
    for (size_t i = 0; i < args->word_count; i++) {
        if (i > 0)
            *at++ = ' ';
        size_t word_len = strlen(args->words[i]);
        memcpy(at, args->words[i], word_len);
        at += word_len;
    }
    return text;
}
