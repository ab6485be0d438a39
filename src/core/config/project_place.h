/*
 * project_place.h - one directory of a checkout while its checks are looked for (project.h).
 */
#ifndef CORE_CONFIG_PROJECT_PLACE_H
#define CORE_CONFIG_PROJECT_PLACE_H
#include "core/config/project.h"

enum project_work {
    WORK_INSTALL,
    WORK_FORMAT,
    WORK_LINT,
    WORK_TYPES,
    WORK_BUILD,
    WORK_TEST,
    WORK_COUNT
};

struct project_place {
    const struct project_file *files; /* Of the whole checkout. */
    size_t count;
    const char *dir;  /* "" is the top; else without a slash at its end. */
    const char *tool; /* Whose files are looked at. */
    struct arena *arena;
    struct project *project;
    bool is_runner; /* The tool is a task runner. */
    /* The check of the task runner that does the work, by its name; NULL: none does. */
    const char *by_runner[WORK_COUNT];
    size_t first; /* Its checks begin here in the project. */
};

bool place_has(const struct project_place *place, const char *name);
/* The text of a file; empty when it is not there. */
struct str place_text(const struct project_place *place, const char *name);

struct place_check {
    enum project_work work;
    const char *file; /* That says so. */
    const char *why;  /* What it says: "has the target test". */
    const char *program;
    const char *command;      /* To be run in the directory. */
    const char *output;       /* In the directory; or NULL. */
    const char *const *hosts; /* NULL-terminated; NULL: none. */
    int64_t timeout_s;
};
/* When the task runner of the directory does that work, its check gets the hosts, and there is a
   note instead.  What installs goes before the other checks of the directory. */
void place_add(struct project_place *place, const struct place_check *check);
void place_note(struct project_place *place, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Has it a line [name] or [name.…], as in TOML and INI? */
bool text_has_table(struct str text, const char *name);
bool text_mentions(struct str text, const char *word);
#endif
