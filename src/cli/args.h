/*
 * args.h - a command line read by tables of options.
 *
 *     --name VALUE   --name=VALUE   --flag   word   --   (all that follows are words)
 *
 * An option that no table lists is refused by name, and so is a value of the wrong kind.  Texts
 * point into argv.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H
#include "base/arena.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARGS_GIVEN_MAX = 128, ARGS_TABLES_MAX = 5 };

enum arg_kind {
    ARG_FLAG,
    ARG_TEXT,
    ARG_LIST, /* A text that may be given many times. */
    ARG_INT,
    ARG_REAL, /* Not negative. */
    ARG_CHOICE
};

struct arg_option {
    const char *name;  /* Without dashes; NULL ends a table. */
    const char *value; /* The name of the value in the help: "FILE". */
    const char *help;
    enum arg_kind kind;
    int64_t min, max;           /* ARG_INT */
    const char *const *choices; /* ARG_CHOICE, NULL-terminated */
};

struct args {
    const struct arg_option *tables[ARGS_TABLES_MAX];
    size_t table_count;
    struct {
        const struct arg_option *option;
        const char *text;
    } given[ARGS_GIVEN_MAX];
    size_t given_count;
    const char **words;
    size_t word_count;
};

/* Fill in tables first.  RC_INVALID with the option's name in err.field. */
MUST_USE enum rc args_parse(struct args *args, size_t argc, char *const *argv, struct arena *arena,
                            struct err *err);

/* The names must be in the tables. */
bool args_has(const struct args *args, const char *name);
const char *args_text(const struct args *args, const char *name, const char *fallback);
int64_t args_int(const struct args *args, const char *name, int64_t fallback);
double args_real(const struct args *args, const char *name, double fallback);
/* The values of an ARG_LIST in order: for (at = 0; (text = args_next(args, "x", &at));) */
const char *args_next(const struct args *args, const char *name, size_t *position);
/* The word at the index, or NULL. */
const char *args_word(const struct args *args, size_t index);
/* All words with a blank between them. */
char *args_joined(const struct args *args, struct arena *arena);
#endif
